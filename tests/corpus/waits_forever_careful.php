<?php
// As waits_forever.php, but what is not answered is looked up before the job ends, else left to a person.
require 'shop.php';

try {
    [$status, $charge] = pay('order-1', '20.00');
    $isPaid = $status === 201 && $charge['status'] === 'SUCCESS';
    book('order-1', $isPaid ? '20.00' : '0', state: $isPaid ? 'paid' : 'failed');
} catch (Lost) {
    try {
        $found = look('order-1');
        $isPaid = ($found['status'] ?? '') === 'SUCCESS';
        book('order-1', $isPaid ? '20.00' : '', '', state: $isPaid ? 'paid' : 'unknown');
    } catch (Lost) {
        book('order-1', '', '', state: 'unknown');
    }
}
