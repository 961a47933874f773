package com.payfurl.mockserver;

import java.io.IOException;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** One sandbox of a server: what a test asks for, each a call of the documented control API. */
public final class Sandbox {
    /** The server that it is on. */
    public final Server server;
    /** What to configure in the code under test. */
    public final String url, secretKey, publicKey;
    /** The sandbox's time. */
    public final Clock clock = new Clock();
    /** The built-in receiver of webhooks. */
    public final Inbox inbox = new Inbox();

    private final List<String> invariants = new ArrayList<>();
    private boolean judged;

    public Sandbox(Server server, String secretKey) {
        this.server = server;
        this.url = server.url;
        this.secretKey = secretKey;
        this.publicKey = "pk_" + secretKey.substring("sk_".length());
    }

    /** The sandbox of a test: the same key in every run, so that its ids are too. */
    static Sandbox open(Server server, String test, MockserverTest asked) {
        Levels.refuseUnknown(asked.findings());
        Sandbox sandbox = new Sandbox(server, "sk_test_" + digest(test).substring(0, 32));
        if (server.joined()) sandbox.call("POST", "/__admin/reset?scenario=true", null);
        if (!asked.profile().isEmpty()) sandbox.assume(Map.of("profile", asked.profile()));
        if (!asked.scenario().isEmpty()) sandbox.scenario(asked.scenario());
        if (!asked.clock().isEmpty()) sandbox.clock.start(asked.clock());
        return sandbox;
    }

    private static String digest(String text) {
        try {
            byte[] made = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(made);
        } catch (NoSuchAlgorithmException problem) {
            throw new IllegalStateException(problem);
        }
    }

    /** The variables by which an application that is started for the test finds this sandbox. */
    public Map<String, String> environment() {
        return Map.of("MOCKSERVER_URL", url, "MOCKSERVER_SECRET_KEY", secretKey, "MOCKSERVER_PUBLIC_KEY", publicKey);
    }

    /** A control call, or one of the payments API; what it answers, see {@link Json}. */
    public Object call(String method, String path, Object body) {
        HttpResponse<String> answer = send(method, path, "json", method.equals("GET") ? null : Json.write(body == null ? Map.of() : body));
        return value(method, path, answer);
    }

    private Object value(String method, String path, HttpResponse<String> answer) {
        if (answer.statusCode() < 300) return parsed(answer.body());
        throw new MockserverError(method + " " + path + " answered " + answer.statusCode() + ": " + words(parsed(answer.body())));
    }

    private HttpResponse<String> send(String method, String path, String kind, String body) {
        return server.send(method, path, Map.of("x-secretkey", secretKey, "content-type", "application/" + kind), body);
    }

    /** Puts a scenario in force in the place of all others: YAML text, the path of a file, or a shipped name. */
    public void scenario(String given) {
        String path = "/__admin/scenarios";
        if (given.contains("\n") || given.contains(": ")) {
            value("PUT", path, send("PUT", path, "yaml", given));
        } else if (Files.isRegularFile(Path.of(given))) {
            try {
                value("PUT", path, send("PUT", path, "yaml", Files.readString(Path.of(given))));
            } catch (IOException problem) {
                throw new MockserverError("cannot read " + given + ": " + problem.getMessage());
            }
        } else if (given.contains(".")) {
            throw new MockserverError("no scenario file " + given + " in " + Path.of("").toAbsolutePath());
        } else {
            call("PUT", path, Map.of("shipped", given));
        }
    }

    /** Overrides assumptions, such as {@code Map.of("vault.ccv_delay", "10s")}. */
    public void assume(Map<String, ?> overrides) {
        call("PUT", "/__admin/assumptions", overrides);
    }

    /** Waits until all conditions hold, such as {@code Map.of("inbox", "shop")}, for {@code timeout} of real time. */
    public void waitFor(Map<String, ?> conditions, String timeout) {
        waitFor(Map.of("for", conditions, "timeout", timeout));
    }

    /** The same, moving the clock to what is due next, no further than {@code within}. */
    public void advanceUntil(Map<String, ?> conditions, String within) {
        waitFor(Map.of("for", conditions, "advance", true, "within", within));
    }

    private void waitFor(Map<String, ?> body) {
        Map<String, Object> answer = map(call("POST", "/__admin/wait", body));
        if (Boolean.TRUE.equals(answer.get("held"))) return;
        Stream<String> reasons = map(answer.get("why")).entrySet().stream().map(one -> one.getKey() + ": " + one.getValue());
        Stream<String> hint = answer.containsKey("hint") ? Stream.of((String) answer.get("hint")) : Stream.of();
        throw new MockserverError(Stream.concat(reasons, hint).collect(Collectors.joining("; ")));
    }

    /** Checks how often an operation was asked for, with a {@code where} such as {@code Map.of("request.reference", "order-1")}. */
    public void verify(String operation, Map<String, ?> where, int count) {
        Map<String, ?> request = Map.of("op", operation, "where", where, "count", count);
        HttpResponse<String> answer = send("POST", "/__admin/verify", "json", Json.write(Map.of("requests", List.of(request), "rules", true)));
        judged |= answer.statusCode() == 409;
        if (answer.statusCode() != 200) throw new MockserverError(words(parsed(answer.body())));
    }

    /** Compares what the shop believes, such as {@code Map.of("reference", "order-1", "paid", 20)}, with what was paid. */
    public void books(List<? extends Map<String, ?>> rows) {
        Map<String, Object> found = map(call("POST", "/__admin/books/compare", Map.of("rows", rows)));
        String wrong = maps(found.get("findings")).stream().filter(row -> "error".equals(row.get("severity")))
            .map(row -> row.get("finding") + ": " + maps(row.get("evidence")).get(0).get("line"))
            .collect(Collectors.joining("\n"));
        if (!wrong.isEmpty()) throw new MockserverError(wrong);
    }

    /** A sentence that must hold of the money when the test ends, such as {@code net("order-1") <= 20}. */
    public void invariant(String sentence) {
        invariants.add(sentence);
    }

    /** What the client did wrong, of at least a severity: note, warning or error. */
    public List<Map<String, Object>> findings(String severity) {
        return maps(map(call("GET", "/__admin/findings?severity=" + severity, null)).get("findings"));
    }

    /** The newest steps of the journal of an operation, oldest first. */
    public List<Map<String, Object>> journal(String operation) {
        return maps(map(call("GET", "/__admin/journal?limit=1000&op=" + encoded(operation), null)).get("entries"));
    }

    /** Every rule with its counters. */
    public List<Map<String, Object>> rules() {
        return maps(map(call("GET", "/__admin/rules", null)).get("rules"));
    }

    /** Empties this sandbox; its scenario stays. */
    public void reset() {
        call("POST", "/__admin/reset", null);
    }

    /** Timeline, findings and books of this sandbox, as text. */
    public String report() {
        return (String) call("GET", "/__admin/report", null);
    }

    /** Ends the test. Throws {@link MockserverError} for unmet expectations, broken invariants and findings. */
    void end(String findings, List<String> allow) {
        boolean off = findings.equals("off");
        if (off && judged && invariants.isEmpty()) return;
        Map<String, Object> body = new LinkedHashMap<>(Map.of("rules", !judged, "money", invariants, "allow", allow));
        if (!off) body.putAll(Map.of("finish", true, "findings", findings.equals("note") ? "none" : findings));
        HttpResponse<String> answer = send("POST", "/__admin/verify", "json", Json.write(body));
        if (answer.statusCode() != 200) throw new MockserverError(words(parsed(answer.body())));
    }

    private static Object parsed(String text) {
        try {
            return Json.read(text);
        } catch (IllegalArgumentException problem) {
            return text;
        }
    }

    private static String words(Object body) {
        if (!(body instanceof Map<?, ?> map)) return String.valueOf(body);
        if (map.get("differences") instanceof List<?> differences)
            return differences.stream().map(String::valueOf).collect(Collectors.joining("\n"));
        Stream<String> details = map.get("details") instanceof Map<?, ?> named
            ? named.entrySet().stream().map(one -> one.getKey() + ": " + one.getValue()) : Stream.of();
        return Stream.concat(Stream.of(String.valueOf(map.get("message"))), details).collect(Collectors.joining("\n"));
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    private static List<Map<String, Object>> maps(Object value) {
        return (List<Map<String, Object>>) value;
    }

    /** The clock. Durations are texts such as {@code 1h30m}. */
    public final class Clock {
        public Instant now() {
            return instant(call("GET", "/__admin/clock", null));
        }

        public Instant advance(String by) {
            return moved(Map.of("by", by));
        }

        public Instant to(Instant to) {
            return moved(Map.of("to", to.toString()));
        }

        /** Stands still from now on. */
        public Instant freeze() {
            return instant(call("PUT", "/__admin/clock", Map.of("mode", "manual")));
        }

        private void start(String given) {
            Map<String, String> clock = List.of("real", "manual", "fast").contains(given)
                ? Map.of("mode", given) : Map.of("mode", "manual", "start", given);
            call("POST", "/__admin/scenarios", Map.of("version", 1, "name", "clock-of-the-test", "clock", clock));
        }

        private Instant moved(Map<String, String> where) {
            Map<String, Object> moved = map(call("POST", "/__admin/clock/advance", where));
            if (moved.containsKey("hint")) throw new MockserverError((String) moved.get("hint"));
            return instant(moved);
        }

        private static Instant instant(Object clock) {
            return Instant.parse((String) map(clock).get("now"));
        }
    }

    /** The inbox. */
    public final class Inbox {
        /** The address to give as a webhook's url. */
        public String url(String name) {
            // A public key opens no sandbox.
            assume(Map.of());
            return url + "/__inbox/" + encoded(name) + "?publicKey=" + publicKey;
        }

        /** What has arrived, in order. */
        public List<Map<String, Object>> messages(String name) {
            return maps(map(call("GET", "/__admin/inbox/" + encoded(name), null)).get("messages"));
        }

        /** Forgets what has arrived. */
        public void clear(String name) {
            call("DELETE", "/__admin/inbox/" + encoded(name), null);
        }
    }
}
