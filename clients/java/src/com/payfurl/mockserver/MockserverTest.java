package com.payfurl.mockserver;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A sandbox for each test of a class, as a parameter of type {@link Sandbox}; on a method, what its sandbox begins with.
 * A test fails for what its client did wrong, and its failure ends with the report of its sandbox.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(MockserverExtension.class)
public @interface MockserverTest {
    /** YAML text, the path of a file, or the name of a shipped scenario. */
    String scenario() default "";

    /** {@code documented} or {@code sdk}. */
    String profile() default "";

    /** {@code real}, {@code manual}, or the instant at which it stands. */
    String clock() default "";

    /** Findings that the test may have. */
    String[] allow() default {};

    /** The least severity that fails the test: off, note, warning, error. */
    String findings() default "error";

    /** The method without parameters of the test class that gives the shop's books when the test has ended. */
    String books() default "";
}
