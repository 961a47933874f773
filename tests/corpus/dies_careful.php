<?php
// As dies.php, but a handler of exceptions tells a person: exit code 3, and the order is known not to be known.
require 'shop.php';

set_exception_handler(function (Throwable $problem): void {
    echo "order-1: please look after it: ", $problem::class, "\n";
    book('order-1', '', '', state: 'unknown');
    exit(3);
});
[$status, $charge] = pay('order-1', '129.00');
if ($status !== 201 || $charge['status'] !== 'SUCCESS') {
    throw new RuntimeException($charge['message'] ?? $charge['status']);
}
book('order-1', '129.00', state: 'paid');
