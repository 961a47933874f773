<?php

declare(strict_types=1);

namespace Payfurl\Mockserver;

/** A control call was refused, a verification failed, or no server could be had. */
final class MockserverError extends \RuntimeException
{
}
