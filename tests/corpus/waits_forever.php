<?php
// A payment that is not answered is booked as pending, and nobody ever asks how it ended.
require 'shop.php';

try {
    [$status, $charge] = pay('order-1', '20.00');
    $isPaid = $status === 201 && $charge['status'] === 'SUCCESS';
    book('order-1', $isPaid ? '20.00' : '0', state: $isPaid ? 'paid' : 'failed');
} catch (Lost) {
    book('order-1', '', '', state: 'pending');
}
