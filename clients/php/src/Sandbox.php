<?php

declare(strict_types=1);

namespace Payfurl\Mockserver;

/** One sandbox of a server: what a test asks for, each a call of the documented control API. */
final class Sandbox
{
    public readonly string $url;
    public readonly string $publicKey;
    public readonly Clock $clock;
    public readonly Inbox $inbox;

    /** @var list<string> */
    private array $invariants = [];
    private bool $judged = false;

    public function __construct(public readonly Server $server, public readonly string $secretKey)
    {
        $this->url = $server->url;
        $this->publicKey = 'pk_' . substr($secretKey, strlen('sk_'));
        $this->clock = new Clock($this);
        $this->inbox = new Inbox($this);
    }

    /** The sandbox of a test: the same key in every run, so that its ids are too. */
    public static function open(Server $server, string $test, Options $options): self
    {
        $sandbox = new self($server, 'sk_test_' . substr(hash('sha256', $test), 0, 32));
        if ($server->joined()) {
            $sandbox->call('POST', '/__admin/reset', query: ['scenario' => 'true']);
        }
        if ($options->profile !== null) {
            $sandbox->assume(['profile' => $options->profile]);
        }
        if ($options->scenario !== null) {
            $sandbox->scenario($options->scenario);
        }
        if ($options->clock !== null) {
            $sandbox->clock->start($options->clock);
        }
        return $sandbox;
    }

    /**
     * The variables by which an application that is started for the test finds this sandbox.
     *
     * @return array<string, string>
     */
    public function env(): array
    {
        return [
            'MOCKSERVER_URL' => $this->url,
            'MOCKSERVER_SECRET_KEY' => $this->secretKey,
            'MOCKSERVER_PUBLIC_KEY' => $this->publicKey,
        ];
    }

    /** A control call, or one of the payments API; what it answers. */
    public function call(string $method, string $path, mixed $body = null, array $query = [], ?string $yaml = null): mixed
    {
        [$status, $value] = $this->answer($method, $path, $body, $query, $yaml);
        if ($status >= 300) {
            throw new MockserverError("$method $path answered $status: " . self::words($value));
        }
        return $value;
    }

    /** @return array{int, mixed} */
    private function answer(string $method, string $path, mixed $body = null, array $query = [], ?string $yaml = null): array
    {
        $headers = ["x-secretkey: {$this->secretKey}", 'content-type: application/' . ($yaml === null ? 'json' : 'yaml')];
        $sent = $yaml ?? ($method === 'GET' ? null : json_encode($body ?? new \stdClass(), JSON_THROW_ON_ERROR));
        $target = $path . ($query ? '?' . http_build_query($query) : '');
        [$status, $text] = $this->server->send($method, $target, $headers, $sent);
        return [$status, json_decode($text, true) ?? $text];
    }

    /**
     * Puts a scenario in force in the place of all others.
     *
     * @param string|array<string, mixed> $given a map, YAML text, the path of a file, or the name of a shipped scenario
     */
    public function scenario(string|array $given): void
    {
        $path = '/__admin/scenarios';
        if (is_array($given)) {
            $this->call('PUT', $path, $given);
        } elseif (str_contains($given, "\n") || str_contains($given, ': ')) {
            $this->call('PUT', $path, yaml: $given);
        } elseif (is_file($given)) {
            $this->call('PUT', $path, yaml: (string) file_get_contents($given));
        } elseif (pathinfo($given, PATHINFO_EXTENSION) !== '') {
            throw new MockserverError("no scenario file $given in " . getcwd());
        } else {
            $this->call('PUT', $path, ['shipped' => $given]);
        }
    }

    /** @param array<string, mixed> $overrides of assumptions, such as ['vault.ccv_delay' => '10s'] */
    public function assume(array $overrides): void
    {
        $this->call('PUT', '/__admin/assumptions', (object) $overrides);
    }

    /**
     * Waits until all conditions hold: ['charge' => ['id' => ..., 'status' => 'SUCCESS']], ['inbox' => 'shop'].
     *
     * @param array<string, mixed> $conditions
     * @return array<string, mixed>
     */
    public function waitFor(array $conditions, string $timeout = '5s', bool $advance = false, ?string $within = null): array
    {
        $more = $within === null ? [] : ['within' => $within];
        $body = ['for' => $conditions, 'timeout' => $timeout, 'advance' => $advance, ...$more];
        $answer = $this->call('POST', '/__admin/wait', $body);
        if ($answer['held']) {
            return $answer;
        }
        $reasons = array_map(fn ($name, $why) => "$name: $why", array_keys($answer['why']), $answer['why']);
        throw new MockserverError(implode('; ', array_filter([...$reasons, $answer['hint'] ?? null])));
    }

    /** Checks what was asked: ['op' => 'charge.create', 'where' => [...], 'count' => 1], or the name of an operation. */
    public function verify(string|array ...$requests): void
    {
        [$status, $value] = $this->answer('POST', '/__admin/verify', ['requests' => $requests, 'rules' => true]);
        if ($status !== 200) {
            $this->judged = $status === 409;
            throw new MockserverError(self::words($value));
        }
    }

    /**
     * Compares what the shop believes with what was paid.
     *
     * @param list<array<string, mixed>> $rows such as ['reference' => 'order-1', 'paid' => 20]
     * @param array<string, string> $states what the shop's own states mean
     */
    public function books(array $rows, array $states = []): void
    {
        $found = $this->call('POST', '/__admin/books/compare', ['rows' => $rows, 'states' => (object) $states]);
        $wrong = array_filter($found['findings'], fn ($row) => $row['severity'] === 'error');
        if ($wrong) {
            throw new MockserverError(implode("\n", array_map(
                fn ($row) => "{$row['finding']}: {$row['evidence'][0]['line']}",
                $wrong,
            )));
        }
    }

    /** A sentence that must hold of the money when the test ends, such as net("order-1") <= 20. */
    public function invariant(string $sentence): void
    {
        $this->invariants[] = $sentence;
    }

    /** @return list<array<string, mixed>> what the client did wrong, of at least a severity */
    public function findings(string $severity = 'note'): array
    {
        return $this->call('GET', '/__admin/findings', query: ['severity' => $severity])['findings'];
    }

    /** @return list<array<string, mixed>> the newest steps of the journal that pass filters, oldest first */
    public function journal(array $filters = []): array
    {
        return $this->call('GET', '/__admin/journal', query: ['limit' => 1000, ...$filters])['entries'];
    }

    /** @return list<array<string, mixed>> every rule with its counters */
    public function rules(): array
    {
        return $this->call('GET', '/__admin/rules')['rules'];
    }

    /** Empties this sandbox; its scenario stays. */
    public function reset(): void
    {
        $this->call('POST', '/__admin/reset');
    }

    /** Timeline, findings and books of this sandbox, as text. */
    public function report(): string
    {
        return (string) $this->call('GET', '/__admin/report');
    }

    /** Ends the test: what it did wrong, empty when nothing. */
    public function end(Options $options): string
    {
        $least = $options->findings === 'note' ? 'none' : $options->findings;
        $body = ['rules' => !$this->judged, 'money' => $this->invariants, 'allow' => $options->allow];
        $body += $least === 'off' ? [] : ['finish' => true, 'findings' => $least];
        if ($this->judged && $least === 'off' && !$this->invariants) {
            return '';
        }
        [$status, $value] = $this->answer('POST', '/__admin/verify', $body);
        return $status === 200 ? '' : self::words($value);
    }

    private static function words(mixed $body): string
    {
        if (!is_array($body)) {
            return (string) $body;
        }
        if (isset($body['differences'])) {
            return implode("\n", $body['differences']);
        }
        $details = $body['details'] ?? [];
        $lines = array_map(fn ($name, $text) => "$name: $text", array_keys($details), $details);
        return implode("\n", [$body['message'] ?? json_encode($body), ...$lines]);
    }
}
