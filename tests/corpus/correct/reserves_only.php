<?php
// A hotel: the card is held until the guest leaves, and the books say so.
require __DIR__ . '/../shop.php';

try {
    [$status, $charge] = pay('stay-1', '20.00', ['capture' => false]);
    if ($status === 201 && $charge['status'] === 'Authorised') {
        book('stay-1', '', '', state: 'authorised');
    } else {
        book('stay-1', '', '', state: $status === 201 ? 'unknown' : 'unpaid');
    }
} catch (Lost) {
    book('stay-1', '', '', state: 'unknown');
    exit(3);
}
