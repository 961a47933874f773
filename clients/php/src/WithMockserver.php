<?php

declare(strict_types=1);

namespace Payfurl\Mockserver;

use PHPUnit\Framework\AssertionFailedError;

/**
 * A sandbox for each test of a PHPUnit test case: $this->mockserver. It is opened when the test first asks for it, or
 * when the test has options; the test fails for what its client did wrong, and its failure ends with the report of its
 * sandbox.
 */
trait WithMockserver
{
    protected ?Sandbox $mockserver = null;

    /** @var array<string, int> */
    private static array $mockserverRuns = [];

    protected function runTest(): mixed
    {
        $options = $this->mockserverOptions();
        $test = static::class . '::' . (method_exists($this, 'nameWithDataSet') ? $this->nameWithDataSet() : $this->getName());
        $run = self::$mockserverRuns[$test] = (self::$mockserverRuns[$test] ?? 0) + 1;
        $this->mockserver = Sandbox::open(Server::shared(), "$test $run", $options);
        try {
            $result = parent::runTest();
            $books = $options->books;
            if ($books !== null) {
                $this->mockserver->books($this->$books());
            }
            if (($wrong = $this->mockserver->end($options)) !== '') {
                throw new AssertionFailedError($wrong);
            }
        } catch (\PHPUnit\Framework\SkippedTest | \PHPUnit\Framework\IncompleteTest $left) {
            throw $left;
        } catch (\Throwable $problem) {
            $cause = $problem instanceof AssertionFailedError || $problem instanceof MockserverError ? null : $problem;
            throw new AssertionFailedError("{$problem->getMessage()}\n\nmockserver {$this->mockserverReport()}", 0, $cause);
        }
        return $result;
    }

    private function mockserverReport(): string
    {
        try {
            return $this->mockserver->report();
        } catch (MockserverError $problem) {
            return $problem->getMessage();
        }
    }

    /** The options of the method, else those of its class. */
    private function mockserverOptions(): Options
    {
        $name = method_exists($this, 'name') ? $this->name() : $this->getName(false);
        $places = [new \ReflectionMethod($this, $name), new \ReflectionClass($this)];
        foreach ($places as $place) {
            if (($options = self::optionsOf($place)) !== null) {
                return $options;
            }
        }
        return new Options();
    }

    /** @param \ReflectionMethod|\ReflectionClass<object> $place */
    private static function optionsOf(\ReflectionMethod|\ReflectionClass $place): ?Options
    {
        foreach ($place->getAttributes() as $attribute) {
            self::refuseMistaken($attribute->getName());
        }
        $own = $place->getAttributes(Options::class);
        return $own ? Options::of($own[0]) : null;
    }

    /** PHP ignores an attribute of a class that does not exist: one that was meant for the sandbox must not be lost. */
    private static function refuseMistaken(string $attribute): void
    {
        $name = substr(strrchr("\\$attribute", '\\'), 1);
        if (levenshtein($name, 'Options') <= 2 && !class_exists($attribute)) {
            throw new MockserverError("#[$name]: there is no class $attribute - did you mean " . Options::class . '?');
        }
    }
}
