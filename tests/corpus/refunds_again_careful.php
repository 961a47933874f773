<?php
// As refunds_again.php, but the charge shows whether the refund was made before it is sent again.
require __DIR__ . '/shop.php';

book('order-1', '0', state: 'unknown');
[, $charge] = pay('order-1', '20.00');
if (($charge['status'] ?? '') !== 'SUCCESS') {
    exit(3);
}
for ($number = 1; $number <= 3; $number++) {
    try {
        ask('DELETE', "/refund/{$charge['chargeId']}?amount=5.00");
    } catch (Lost) {
    }
    [$status, $seen] = ask('GET', "/charge/{$charge['chargeId']}");
    if ($status !== 200) {
        exit(3);
    }
    if ($seen['refundedAmount'] > 0) {
        book('order-1', '20.00', (string) $seen['refundedAmount']);
        exit(0);
    }
}
exit(3);
