import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.payfurl.mockserver.Json;
import com.payfurl.mockserver.MockserverError;
import com.payfurl.mockserver.MockserverTest;
import com.payfurl.mockserver.Sandbox;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The situations of ../../contract.yaml. */
@MockserverTest
@Execution(ExecutionMode.CONCURRENT)
class ContractTest {
    static final String DECLINED = "version: 1\nrules: [{id: no-money, when: {op: charge.create}, then: {decline: insufficient_funds}}]\n";
    static final String LOST = "version: 1\nrules: [{id: lost, when: {op: charge.create, call: 1}, then: {transport: {at: answer, reset: true}}}]\n";
    static final String EXPECTING = "version: 1\nrules: [{id: never-asked, when: {op: charge.capture}, then: {decline: do_not_honour}, expect: {min: 1}}]\n";

    /** What the shop under test does: one request of its own. */
    @SuppressWarnings("unchecked")
    Map<String, Object> pay(Sandbox sandbox, Map<String, ?> more) {
        Map<String, Object> body = new HashMap<>(Map.of("amount", 20, "currency", "AUD",
            "providerId", "a26c371f-94f6-40da-add2-28ec8e9da8ed",
            "paymentInformation", Map.of("cardNumber", "4111111111111111", "expiryDate", "12/40", "ccv", "123")));
        body.putAll(more);
        HttpRequest request = HttpRequest.newBuilder(URI.create(sandbox.url + "/charge/card"))
            .header("x-secretkey", sandbox.secretKey).header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(Json.write(body))).build();
        try {
            HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
            return (Map<String, Object>) Json.read(http.send(request, HttpResponse.BodyHandlers.ofString()).body());
        } catch (IOException | InterruptedException problem) {
            return Map.of();
        }
    }

    void payTwice(Sandbox sandbox) {
        if (pay(sandbox, Map.of("reference", "order-1")).isEmpty()) pay(sandbox, Map.of("reference", "order-1"));
    }

    @Test
    void twoTestsSeeNothingOfEachOther(Sandbox sandbox) {
        pay(sandbox, Map.of("reference", "order-1"));
        Map<?, ?> found = (Map<?, ?>) sandbox.call("GET", "/charge?Reference=order-1", null);
        assertEquals("1", found.get("count").toString());
    }

    @Test
    void andNeitherDoesTheOther(Sandbox sandbox) {
        twoTestsSeeNothingOfEachOther(sandbox);
    }

    @Test
    @MockserverTest(scenario = DECLINED)
    void aScenarioIsChosenByAnnotation(Sandbox sandbox) {
        assertEquals("15", pay(sandbox, Map.of("reference", "order-1")).get("code").toString());
        assertTrue(sandbox.rules().stream().anyMatch(rule -> "no-money".equals(rule.get("id")) && "1".equals(rule.get("hits").toString())));
    }

    @Test
    @MockserverTest(clock = "2031-03-01T00:00:00Z")
    void theClockIsFrozenAndMoved(Sandbox sandbox) {
        assertEquals(Instant.parse("2031-03-02T12:00:00Z"), sandbox.clock.advance("36h"));
        sandbox.clock.to(Instant.parse("2031-03-03T00:00:00Z"));
        assertEquals(Instant.parse("2031-03-03T00:00:00Z"), sandbox.clock.now());
    }

    @Test
    void aWebhookArrivesInTheInbox(Sandbox sandbox) {
        pay(sandbox, Map.of("reference", "order-1", "webhook", Map.of("url", sandbox.inbox.url("shop"))));
        sandbox.waitFor(Map.of("inbox", "shop"), "5s");
        assertEquals("valid", sandbox.inbox.messages("shop").get(0).get("signature"));
    }

    @Test
    @MockserverTest(scenario = "bank-charge-bounces")
    void waitForAChargeMovingTheClock(Sandbox sandbox) {
        Object charge = pay(sandbox, Map.of("reference", "order-1")).get("chargeId");
        sandbox.advanceUntil(Map.of("charge", Map.of("id", charge, "status", "SUCCESS")), "10d");
        MockserverError late = assertThrows(MockserverError.class, () -> sandbox.waitFor(Map.of("inbox", "nowhere"), "10ms"));
        assertTrue(late.getMessage().contains("inbox: "));
    }

    @Test
    void verifyWhatWasAsked(Sandbox sandbox) {
        pay(sandbox, Map.of("reference", "order-1"));
        sandbox.verify("charge.create", Map.of("request.reference", "order-1"), 1);
        MockserverError wrong = assertThrows(MockserverError.class, () -> sandbox.verify("charge.create", Map.of(), 2));
        assertTrue(wrong.getMessage().contains("wanted exactly 2, got 1"));
    }

    List<Map<String, ?>> books() {
        return List.of(Map.of("reference", "order-1", "paid", 20));
    }

    @Test
    @MockserverTest(books = "books")
    void booksThatAgreePass(Sandbox sandbox) {
        pay(sandbox, Map.of("reference", "order-1"));
    }

    @Test
    @MockserverTest(scenario = LOST, allow = {"double-charge", "blind-retry"})
    void anAllowedFindingPasses(Sandbox sandbox) {
        payTwice(sandbox);
        assertEquals("double-charge", sandbox.findings("error").get(0).get("finding"));
    }

    List<Map<String, ?>> otherBooks() {
        return List.of(Map.of("reference", "order-books", "paid", 30));
    }

    @Test
    @MockserverTest(books = "otherBooks")
    void booksThatDifferFailTheTest(Sandbox sandbox) {
        pay(sandbox, Map.of("reference", "order-books"));
    }

    @Test
    @MockserverTest(scenario = LOST)
    void aFindingFailsTheTest(Sandbox sandbox) {
        payTwice(sandbox);
    }

    @Test
    void anInvariantThatIsBrokenFailsTheTest(Sandbox sandbox) {
        sandbox.invariant("net(*) <= 10");
        pay(sandbox, Map.of("reference", "order-1"));
    }

    @Test
    @MockserverTest(scenario = EXPECTING)
    void anUnmetExpectationOfARuleFailsTheTest(Sandbox sandbox) {}

    @Test
    void aFailingTestOfAnotherSandbox(Sandbox sandbox) {
        pay(sandbox, Map.of("reference", "order-of-another-test"));
    }

    @Test
    void aFailingTestShowsItsTimelineAndNoOther(Sandbox sandbox) {
        pay(sandbox, Map.of("reference", "order-of-this-test"));
        assertEquals(1, 2);
    }

    @Test
    @MockserverTest(scenario = "version: 1\nrules:\n  - {id: x, when: {op: charge.creat}}\n")
    void aScenarioThatIsRefusedSaysItsLine(Sandbox sandbox) {}

    /** What the compiler says of a test of a shop whose annotation is misspelt. */
    @Test
    void anUnknownOptionIsRefused(Sandbox sandbox) {
        String shop = "@com.payfurl.mockserver.MockserverTest(scenaroi = \"sample-shop\") class ShopTest {}";
        SimpleJavaFileObject source = new SimpleJavaFileObject(URI.create("string:///ShopTest.java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignored) {
                return shop;
            }
        };
        StringWriter said = new StringWriter();
        List<String> options = List.of("-proc:none", "-cp", System.getProperty("java.class.path"));
        boolean compiled = ToolProvider.getSystemJavaCompiler().getTask(said, null, null, options, null, List.of(source)).call();
        assertTrue(compiled, said.toString());
    }

    @Test
    @MockserverTest(findings = "none")
    void anUnknownLevelOfFindingsIsRefused(Sandbox sandbox) {}

    @Test
    void aServerThatDiesIsNamed(Sandbox sandbox) throws InterruptedException {
        assumeTrue(System.getenv("CONTRACT_DIES") != null, "it ends the server of all tests");
        sandbox.server.process().orElseThrow().destroyForcibly().waitFor();
        sandbox.rules();
    }

    @Test
    void theServerEndsWhenTheRunIsKilled(Sandbox sandbox) throws Exception {
        assumeTrue(System.getenv("CONTRACT_TELL") != null, "it waits to be killed");
        Files.writeString(Path.of(System.getenv("CONTRACT_TELL")), sandbox.url);
        Thread.sleep(60_000);
    }
}
