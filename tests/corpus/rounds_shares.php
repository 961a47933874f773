<?php
// Three friends share a bill of 100.00. Each pays a third, and the shop books the whole.
require __DIR__ . '/shop.php';

book('order-1', '0', state: 'unknown');
foreach ([VISA, '5555555555554444', '6011111111111117'] as $card) {
    [, $charge] = pay('order-1', number_format(100 / 3, 2), ['card' => $card]);
    if (($charge['status'] ?? '') !== 'SUCCESS') {
        exit(3);
    }
}
book('order-1', '100.00', state: 'paid');
