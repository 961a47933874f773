<?php

declare(strict_types=1);

namespace Payfurl\Mockserver;

/** The clock of a sandbox. Durations are texts such as 1h30m. */
final class Clock
{
    public function __construct(private readonly Sandbox $sandbox)
    {
    }

    public function now(): \DateTimeImmutable
    {
        return self::instant($this->sandbox->call('GET', '/__admin/clock'));
    }

    public function advance(string $by): \DateTimeImmutable
    {
        return $this->moved(['by' => $by]);
    }

    public function to(\DateTimeInterface|string $to): \DateTimeImmutable
    {
        return $this->moved(['to' => $to instanceof \DateTimeInterface ? $to->format(DATE_ATOM) : $to]);
    }

    /** Stands still from now on. */
    public function freeze(): \DateTimeImmutable
    {
        return self::instant($this->sandbox->call('PUT', '/__admin/clock', ['mode' => 'manual']));
    }

    /** real, manual, or the instant at which an unused sandbox begins and stands. */
    public function start(string $given): void
    {
        $isMode = in_array($given, ['real', 'manual', 'fast'], true);
        $clock = $isMode ? ['mode' => $given] : ['mode' => 'manual', 'start' => $given];
        $scenario = ['version' => 1, 'name' => 'clock-of-the-test', 'clock' => $clock];
        $this->sandbox->call('POST', '/__admin/scenarios', $scenario);
    }

    /** @param array<string, string> $where */
    private function moved(array $where): \DateTimeImmutable
    {
        $moved = $this->sandbox->call('POST', '/__admin/clock/advance', $where);
        if (isset($moved['hint'])) {
            throw new MockserverError($moved['hint']);
        }
        return self::instant($moved);
    }

    /** @param array<string, mixed> $clock */
    private static function instant(array $clock): \DateTimeImmutable
    {
        // Seven digits of a second are sent; PHP knows six.
        return new \DateTimeImmutable(substr($clock['now'], 0, 26) . 'Z');
    }
}
