<?php
// As books_both.php, but a payment that was found ends the tries.
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
            break;
        }
    }
}
book('order-1', number_format($paid, 2, '.', ''), state: $paid ? 'paid' : 'unknown');
