<?php
// Each try of a payment has an idempotency key of its own, so none is known as the repeat that it is.
require __DIR__ . '/shop.php';

book('order-1', '0', state: 'unknown');
for ($number = 1; $number <= 3; $number++) {
    try {
        [, $charge] = pay('order-1', '20.00', [], 'Idempotency-Key: ' . bin2hex(random_bytes(16)));
        if (($charge['status'] ?? '') !== 'SUCCESS') {
            exit(1);
        }
        book('order-1', '20.00', state: 'paid');
        exit(0);
    } catch (Lost) {
    }
}
exit(3);
