<?php
// The page of a proxy says nothing about the payment: it is looked for, and made when the service does not have it.
require __DIR__ . '/../shop.php';

book('order-1', '', '', state: 'unknown');
for ($tries = 0; $tries < 3; $tries++) {
    try {
        $charge = ($tries > 0 ? look('order-1') : null) ?? pay('order-1', '20.00')[1];
        $isPaid = $charge['status'] === 'SUCCESS';
        book('order-1', $isPaid ? '20' : '0', state: $isPaid ? 'paid' : 'unpaid');
        break;
    } catch (Lost) {
    }
}
