package com.payfurl.mockserver;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A mockserver that ends with this JVM, or the running one that MOCKSERVER_URL names. */
public final class Server {
    /** Major and minor version of the server that this client was made for. */
    public static final String VERSION = "0.1";

    private static final long START_MILLISECONDS = 30_000;
    private static final String HOW_TO_GET_IT = "Get it: pipx install /path/to/mockserver, its checkout or its wheel (needs Python 3.11 or later). "
        + "MOCKSERVER_COMMAND names another command, MOCKSERVER_URL a server that runs already.";
    private static Server shared;

    // No proxy reaches a server of this machine.
    private final HttpClient http =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).proxy(HttpClient.Builder.NO_PROXY).build();
    private final Process process;
    private final Path log;

    /** The address, without a slash at its end. */
    public final String url;

    private Server(String url, Process process, Path log) {
        this.url = url;
        this.process = process;
        this.log = log;
    }

    /** The server of this JVM: it is started, or joined, when it is first asked for. */
    public static synchronized Server shared() {
        if (shared == null) shared = variable("MOCKSERVER_URL").map(Server::join).orElseGet(Server::start);
        return shared;
    }

    /** A variable of the environment; an empty one is none. */
    private static Optional<String> variable(String name) {
        return Optional.ofNullable(System.getenv(name)).map(String::trim).filter(text -> !text.isEmpty());
    }

    /** Whether it was there before. */
    public boolean joined() {
        return process == null;
    }

    /** The process of a server that was started here. */
    public Optional<Process> process() {
        return Optional.ofNullable(process);
    }

    /** One request: status and body. */
    HttpResponse<String> send(String method, String path, Map<String, String> headers, String body) {
        HttpRequest.BodyPublisher sent = body == null
            ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body);
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path)).method(method, sent);
        headers.forEach(request::header);
        try {
            return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException problem) {
            throw new MockserverError(lost(problem));
        } catch (InterruptedException problem) {
            Thread.currentThread().interrupt();
            throw new MockserverError("interrupted");
        }
    }

    private String lost(IOException problem) {
        if (process == null) return "no mockserver answers at " + url + " (MOCKSERVER_URL): " + problem;
        return "the mockserver has ended or does not answer: " + problem + "\n" + read(log);
    }

    /** Starts a server with options of {@code mockserver serve} on a free port and waits until it is ready. */
    public static Server start(String... options) {
        String command = variable("MOCKSERVER_COMMAND").orElse("mockserver");
        List<String> words = new ArrayList<>(List.of(command.split("\\s+")));
        try {
            Path folder = Files.createTempDirectory("mockserver-");
            Path port = folder.resolve("port");
            Path log = folder.resolve("log");
            words.addAll(List.of("serve", "--tether", "--port", "0", "--port-file", port.toString()));
            words.addAll(List.of(options));
            // Its standard input is a pipe: when this JVM ends, however that is, it closes and the server stops.
            ProcessBuilder builder = new ProcessBuilder(words).redirectErrorStream(true).redirectOutput(log.toFile());
            builder.environment().keySet().removeIf(name -> name.startsWith("MOCKSERVER_"));
            return ready(builder.start(), port, log);
        } catch (IOException problem) {
            throw new MockserverError("cannot start " + words.get(0) + ": " + problem.getMessage() + ". " + HOW_TO_GET_IT);
        }
    }

    private static Server ready(Process process, Path port, Path log) {
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
        long end = System.currentTimeMillis() + START_MILLISECONDS;
        while (process.isAlive() && System.currentTimeMillis() < end) {
            String number = read(port);
            if (!number.isEmpty()) return new Server("http://127.0.0.1:" + number, process, log);
            try {
                Thread.sleep(10);
            } catch (InterruptedException problem) {
                Thread.currentThread().interrupt();
                break;
            }
        }
        process.destroy();
        throw new MockserverError("mockserver did not start: " + read(log));
    }

    /** Joins a server that runs already. */
    public static Server join(String url) {
        Server server = new Server(url.replaceAll("/+$", ""), null, null);
        String text = server.send("GET", "/healthz", Map.of(), null).body();
        Object found = Json.read(text) instanceof Map<?, ?> map ? map.get("version") : null;
        if (found == null || !(found + ".").startsWith(VERSION + ".")) {
            String what = found == null ? "no mockserver, or an old one," : "mockserver " + found;
            throw new MockserverError(what + " answers at " + url + " (MOCKSERVER_URL), wanted version " + VERSION
                + ": stop it, or update it");
        }
        return server;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).trim();
        } catch (IOException problem) {
            return "";
        }
    }
}
