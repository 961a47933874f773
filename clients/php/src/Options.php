<?php

declare(strict_types=1);

namespace Payfurl\Mockserver;

/**
 * What the sandbox of a test, or of all tests of a class, begins with and is judged by.
 *
 * `scenario` is YAML text, the path of a file, a map, or the name of a shipped scenario; `clock` is real, manual, or the
 * instant at which it stands; `allow` names findings that the test may have; `findings` is the least severity that fails
 * it (off, note, warning, error); `books` names a method of the test that gives the shop's books when it has ended.
 */
#[\Attribute(\Attribute::TARGET_METHOD | \Attribute::TARGET_CLASS)]
final class Options
{
    /**
     * @param string|array<string, mixed>|null $scenario
     * @param list<string> $allow
     */
    public function __construct(
        public readonly string|array|null $scenario = null,
        public readonly ?string $profile = null,
        public readonly ?string $clock = null,
        public readonly array $allow = [],
        public readonly string $findings = 'error',
        public readonly ?string $books = null,
    ) {
    }
}
