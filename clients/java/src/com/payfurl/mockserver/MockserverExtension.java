package com.payfurl.mockserver;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.junit.platform.commons.support.AnnotationSupport;
import org.opentest4j.TestAbortedException;

/** What {@link MockserverTest} brings: it opens the sandbox of a test, judges it and reports it. */
public final class MockserverExtension
    implements ParameterResolver, AfterTestExecutionCallback, TestExecutionExceptionHandler {
    private static final ExtensionContext.Namespace OWN = ExtensionContext.Namespace.create(MockserverExtension.class);
    private static final Map<String, Integer> RUNS = new ConcurrentHashMap<>();

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == Sandbox.class && context.getTestMethod().isPresent();
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        if (sandbox(context) == null) context.getStore(OWN).put(Sandbox.class, open(context));
        return sandbox(context);
    }

    private static Sandbox open(ExtensionContext context) {
        MockserverTest asked = asked(context);
        String test = context.getRequiredTestClass().getName() + "." + context.getRequiredTestMethod().getName() + context.getDisplayName();
        int run = RUNS.merge(test, 1, Integer::sum);
        return Sandbox.open(Server.shared(), test + " " + run, asked);
    }

    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable problem) throws Throwable {
        if (problem instanceof TestAbortedException || sandbox(context) == null) throw problem;
        throw reported(context, problem);
    }

    @Override
    public void afterTestExecution(ExtensionContext context) throws Exception {
        Sandbox sandbox = sandbox(context);
        if (sandbox == null || context.getExecutionException().isPresent()) return;
        MockserverTest asked = asked(context);
        try {
            if (!asked.books().isEmpty()) sandbox.books(books(context, asked.books()));
            sandbox.end(asked.findings(), List.of(asked.allow()));
        } catch (MockserverError problem) {
            throw reported(context, problem);
        }
    }

    @SuppressWarnings("unchecked")
    private static List<Map<String, ?>> books(ExtensionContext context, String name) throws ReflectiveOperationException {
        Method method = context.getRequiredTestClass().getDeclaredMethod(name);
        method.setAccessible(true);
        try {
            return (List<Map<String, ?>>) method.invoke(context.getRequiredTestInstance());
        } catch (InvocationTargetException problem) {
            throw new IllegalStateException("books: " + name, problem.getCause());
        }
    }

    private static MockserverError reported(ExtensionContext context, Throwable problem) {
        String report;
        try {
            report = sandbox(context).report();
        } catch (MockserverError gone) {
            report = gone.getMessage();
        }
        MockserverError error = new MockserverError(problem.getMessage() + "\n\nmockserver " + report);
        error.setStackTrace(problem.getStackTrace());
        if (!(problem instanceof AssertionError)) error.initCause(problem);
        return error;
    }

    private static Sandbox sandbox(ExtensionContext context) {
        return context.getStore(OWN).get(Sandbox.class, Sandbox.class);
    }

    private static MockserverTest asked(ExtensionContext context) {
        AnnotatedElement method = context.getRequiredTestMethod();
        return AnnotationSupport.findAnnotation(method, MockserverTest.class)
            .or(() -> AnnotationSupport.findAnnotation(context.getRequiredTestClass(), MockserverTest.class))
            .orElseThrow();
    }
}
