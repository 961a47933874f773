<?php
// After a lost answer the payment is found and booked, and then the next try is not left out: both are booked.
require 'shop.php';

$paid = 0;
for ($try = 1; $try <= 2; $try++) {
    try {
        [$status, $charge] = pay('order-1', '20.00');
        if ($status === 201 && $charge['status'] === 'SUCCESS') {
            $paid += 20;
            break;
        }
        if (!($charge['isRetryable'] ?? false)) {
            break;
        }
    } catch (Lost) {
        $found = look('order-1');
        if ($found !== null && $found['status'] === 'SUCCESS') {
            $paid += 20;
            // Here it should stop.
        }
    }
}
book('order-1', number_format($paid, 2, '.', ''), state: $paid ? 'paid' : 'unknown');
