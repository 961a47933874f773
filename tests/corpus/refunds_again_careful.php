<?php
// As refunds_again.php, but the charge shows whether the refund was made before it is sent again.
require __DIR__ . '/shop.php';

[, $charge] = pay('order-1', '20.00');
book('order-1', '20.00', state: 'unknown');
for ($number = 1; $number <= 3; $number++) {
    try {
        ask('DELETE', "/refund/{$charge['chargeId']}?amount=5.00");
    } catch (Lost) {
    }
    try {
        [, $charge] = ask('GET', "/charge/{$charge['chargeId']}");
        book('order-1', '20.00', (string) $charge['refundedAmount']);
        if ($charge['refundedAmount'] > 0) {
            exit(0);
        }
    } catch (Lost) {
        exit(3);
    }
}
exit(3);
