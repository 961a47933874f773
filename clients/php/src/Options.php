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
    private const LEVELS = ['off', 'note', 'warning', 'error'];

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
        self::known('findings', $findings, self::LEVELS);
    }

    /**
     * What an attribute asks for. PHP would refuse an unknown option too, without the nearest known one.
     *
     * @param \ReflectionAttribute<self> $attribute
     */
    public static function of(\ReflectionAttribute $attribute): self
    {
        $options = array_column((new \ReflectionMethod(self::class, '__construct'))->getParameters(), 'name');
        foreach (array_filter(array_keys($attribute->getArguments()), 'is_string') as $name) {
            self::known('Options', $name, $options);
        }
        return $attribute->newInstance();
    }

    /**
     * Throws for a word that is none of the allowed ones, with the nearest of them.
     *
     * @param list<string> $allowed
     */
    private static function known(string $what, string $got, array $allowed): void
    {
        if (in_array($got, $allowed, true)) {
            return;
        }
        $distances = array_map(fn (string $one) => levenshtein(strtolower($got), $one), array_combine($allowed, $allowed));
        asort($distances);
        $nearest = array_key_first($distances);
        $hint = $distances[$nearest] <= strlen($got) / 3 ? " - did you mean '$nearest'?" : '';
        throw new MockserverError("$what: got '$got'$hint, allowed: " . implode(', ', $allowed));
    }
}
