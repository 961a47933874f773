<?php
// An exception that nobody catches ends the job, and nothing is written of the order that may be paid.
require 'shop.php';

[$status, $charge] = pay('order-1', '129.00');
if ($status !== 201 || $charge['status'] !== 'SUCCESS') {
    throw new RuntimeException($charge['message'] ?? $charge['status']);
}
book('order-1', '129.00', state: 'paid');
