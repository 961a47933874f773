<?php
// A payment that was lost is looked for once, and made again when that question is lost too.
require __DIR__ . '/shop.php';

book('order-1', '0', state: 'unknown');
$charge = null;
try {
    $charge = pay('order-1', '20.00')[1];
} catch (Lost) {
    try {
        $charge = look('order-1');
    } catch (Lost) {
    }
    try {
        $charge ??= pay('order-1', '20.00')[1];
    } catch (Lost) {
        exit(3);
    }
}
if (($charge['status'] ?? '') === 'SUCCESS') {
    book('order-1', '20', state: 'paid');
}
