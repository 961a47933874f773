<?php
// Three orders in three currencies, one of them without cents.
require __DIR__ . '/../shop.php';

$orders = [['order-1', '20.00', 'AUD'], ['order-2', '31.50', 'USD'], ['order-3', '2500', 'JPY']];
foreach ($orders as [$reference, $amount, $currency]) {
    book($reference, '0', '0', $currency, 'unknown');
    try {
        [, $charge] = pay($reference, $amount, ['currency' => $currency]);
    } catch (Lost) {
        $charge = look($reference);
    }
    if (in_array($charge['status'] ?? '', ['PENDING', 'PENDING_CHECKOUT'])) {
        exit(3);
    }
    $isPaid = ($charge['status'] ?? '') === 'SUCCESS';
    book($reference, $isPaid ? $amount : '0', '0', $currency, $isPaid ? 'paid' : 'failed');
}
