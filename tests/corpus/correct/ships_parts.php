<?php
// A pre-order of two parcels: each has a hold of its own, which is captured when that parcel is dispatched. What is not
// dispatched is let go.
require __DIR__ . '/../shop.php';

const PARCELS = ['20.00', '15.00'];

if (($argv[1] ?? '') === 'reconcile') {
    square('order-1', ...array_map('floatval', PARCELS));
    exit;
}
if (@fopen(FOLDER . '/begun', 'x') === false) {
    exit;
}
book('order-1', '', '', state: 'unknown');
try {
    $holds = [];
    foreach (PARCELS as $price) {
        $charge = pay('order-1', $price, ['capture' => false])[1];
        if (($charge['status'] ?? '') !== 'Authorised') {
            exit;
        }
        $holds[] = $charge['chargeId'];
    }
    foreach ($holds as $place => $hold) {
        [$status, $charge] = ask('POST', "/charge/$hold", ['amount' => PARCELS[$place]]);
        if ($status !== 200 || $charge['status'] !== 'SUCCESS') {
            exit;
        }
    }
    book('order-1', '35', state: 'paid');
} catch (Lost) {
}
