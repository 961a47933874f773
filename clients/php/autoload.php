<?php

declare(strict_types=1);

// With Composer: require 'vendor/autoload.php';
spl_autoload_register(static function (string $class): void {
    $file = __DIR__ . '/src/' . str_replace('\\', '/', substr($class, strlen('Payfurl\\Mockserver\\'))) . '.php';
    if (str_starts_with($class, 'Payfurl\\Mockserver\\') && is_file($file)) {
        require $file;
    }
});
