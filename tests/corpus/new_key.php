<?php
// Each try of a payment has an idempotency key of its own, so none is known as the repeat that it is.
require __DIR__ . '/shop.php';

for ($number = 1; $number <= 3; $number++) {
    try {
        [, $charge] = pay('order-1', '20.00', [], 'Idempotency-Key: ' . bin2hex(random_bytes(16)));
        $isPaid = ($charge['status'] ?? '') === 'SUCCESS';
        book('order-1', $isPaid ? '20.00' : '0', state: $isPaid ? 'paid' : 'failed');
        exit($isPaid ? 0 : 1);
    } catch (Lost) {
    }
}
exit(3);
