<?php
// The shop counts in cents and the service in dollars: the books have a hundred times what was paid.
require __DIR__ . '/shop.php';

$cents = 2000;
book('order-1', '0', state: 'unknown');
[, $charge] = pay('order-1', number_format($cents / 100, 2, '.', ''));
if (($charge['status'] ?? '') === 'SUCCESS') {
    book('order-1', (string) $cents, state: 'paid');
}
