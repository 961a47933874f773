<?php

declare(strict_types=1);

namespace Payfurl\Mockserver;

/** A mockserver that ends with this process, or the running one that MOCKSERVER_URL names. */
final class Server
{
    /** Major and minor version of the server that this client was made for. */
    public const VERSION = '0.1';

    private const START_SECONDS = 30;
    private const HOW_TO_GET_IT = 'Get it: pipx install /path/to/mockserver, its checkout or its wheel (needs Python 3.11 or later). '
        . 'MOCKSERVER_COMMAND names another command, MOCKSERVER_URL a server that runs already.';

    private static ?self $shared = null;
    private \CurlHandle $curl;

    /** @param resource|null $process */
    private function __construct(
        public readonly string $url,
        private $process = null,
        private readonly ?string $log = null,
        private readonly array $pipes = [],
    ) {
        $this->curl = curl_init();
    }

    /** The server of this process: it is started, or joined, when it is first asked for. */
    public static function shared(): self
    {
        $url = trim((string) getenv('MOCKSERVER_URL'));
        return self::$shared ??= $url ? self::join($url) : self::start();
    }

    /** Whether it was there before. */
    public function joined(): bool
    {
        return $this->process === null;
    }

    /** The process id of a server that was started here. */
    public function pid(): int
    {
        return proc_get_status($this->process)['pid'];
    }

    /**
     * One request.
     *
     * @param list<string> $headers
     * @return array{int, string} status and body
     */
    public function send(string $method, string $path, array $headers = [], ?string $body = null): array
    {
        curl_setopt_array($this->curl, [
            CURLOPT_URL => $this->url . $path,
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => [...$headers, 'Expect:'],
            CURLOPT_POSTFIELDS => $body ?? '',
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_TCP_NODELAY => true,
            // No proxy reaches a server of this machine.
            CURLOPT_NOPROXY => '*',
        ]);
        $text = curl_exec($this->curl);
        if ($text === false) {
            throw new MockserverError($this->lost(curl_error($this->curl)));
        }
        return [curl_getinfo($this->curl, CURLINFO_RESPONSE_CODE), $text];
    }

    private function lost(string $problem): string
    {
        if ($this->process === null) {
            return "no mockserver answers at {$this->url} (MOCKSERVER_URL): $problem";
        }
        return "the mockserver has ended or does not answer: $problem\n" . substr((string) file_get_contents($this->log), -2000);
    }

    /** @param list<string> $args options of `mockserver serve` */
    public static function start(array $args = []): self
    {
        $folder = sys_get_temp_dir() . '/mockserver-' . bin2hex(random_bytes(8));
        mkdir($folder, 0700);
        [$port, $log] = ["$folder/port", "$folder/log"];
        // An empty one names no command, as if it were not set.
        $command = preg_split('/\s+/', trim((string) getenv('MOCKSERVER_COMMAND')) ?: 'mockserver');
        $words = [...$command, 'serve', '--tether', '--port', '0', '--port-file', $port, ...$args];
        $environment = array_filter(getenv(), fn ($name) => !str_starts_with($name, 'MOCKSERVER_'), ARRAY_FILTER_USE_KEY);
        $streams = [['pipe', 'r'], ['file', $log, 'w'], ['file', $log, 'a']];
        $process = @proc_open($words, $streams, $pipes, null, $environment);
        $status = $process === false ? ['running' => false, 'exitcode' => 127] : proc_get_status($process);
        for ($end = microtime(true) + self::START_SECONDS; $status['running'] && microtime(true) < $end; usleep(10_000)) {
            if (is_file($port) && ($number = trim((string) file_get_contents($port))) !== '') {
                // When this process ends, however that is, the pipe closes and the server stops.
                return new self("http://127.0.0.1:$number", $process, $log, $pipes);
            }
            $status = proc_get_status($process);
        }
        if ($status['exitcode'] === 127) {
            throw new MockserverError("cannot start {$command[0]}. " . self::HOW_TO_GET_IT);
        }
        throw new MockserverError("{$command[0]} did not start: " . @file_get_contents($log));
    }

    /** Joins a server that runs already. */
    public static function join(string $url): self
    {
        $server = new self(rtrim($url, '/'));
        [, $text] = $server->send('GET', '/healthz');
        $found = json_decode($text, true)['version'] ?? null;
        if ($found === null || !str_starts_with("$found.", self::VERSION . '.')) {
            $what = $found === null ? 'no mockserver, or an old one,' : "mockserver $found";
            $wanted = self::VERSION;
            throw new MockserverError("$what answers at $url (MOCKSERVER_URL), wanted version $wanted: stop it, or update it");
        }
        return $server;
    }
}
