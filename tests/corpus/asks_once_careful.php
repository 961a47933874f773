<?php
// As asks_once.php, but nothing is paid again while the question is open.
require __DIR__ . '/shop.php';

book('order-1', '0', state: 'unknown');
$charge = null;
try {
    $charge = pay('order-1', '20.00')[1];
} catch (Lost) {
    try {
        $charge = look('order-1') ?? pay('order-1', '20.00')[1];
    } catch (Lost) {
        exit(3);
    }
}
if (($charge['status'] ?? '') === 'SUCCESS') {
    book('order-1', '20', state: 'paid');
}
