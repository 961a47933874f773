<?php
// As minor_units.php, but the books are in dollars too.
require __DIR__ . '/shop.php';

$cents = 2000;
$dollars = number_format($cents / 100, 2, '.', '');
book('order-1', '0', state: 'unknown');
[, $charge] = pay('order-1', $dollars);
if (($charge['status'] ?? '') === 'SUCCESS') {
    book('order-1', $dollars, state: 'paid');
}
