<?php
// A refund that was not answered is sent again, and the customer gets it twice.
require __DIR__ . '/shop.php';

book('order-1', '0', state: 'unknown');
[, $charge] = pay('order-1', '20.00');
if (($charge['status'] ?? '') !== 'SUCCESS') {
    exit(3);
}
for ($number = 1; $number <= 3; $number++) {
    try {
        [$status] = ask('DELETE', "/refund/{$charge['chargeId']}?amount=5.00");
        book('order-1', '20.00', $status === 200 ? '5.00' : '0');
        exit($status === 200 ? 0 : 1);
    } catch (Lost) {
    }
}
exit(3);
