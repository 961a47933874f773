<?php
// What the first provider did not take is taken through a second one, after a look, under a reference of its own.
require __DIR__ . '/../shop.php';

[, $backup] = ask('POST', '/provider', ['type' => 'dummy', 'name' => 'Backup', 'currency' => 'AUD']);
foreach (['order-1' => PROVIDER, 'order-1-b' => $backup['providerId']] as $reference => $provider) {
    book($reference, '0', state: 'unknown');
    try {
        [, $charge] = pay($reference, '20.00', ['providerId' => $provider]);
    } catch (Lost) {
        $charge = look($reference);
    }
    if (in_array($charge['status'] ?? '', ['PENDING', 'PENDING_CHECKOUT'])) {
        exit(3);
    }
    $isPaid = ($charge['status'] ?? '') === 'SUCCESS';
    book($reference, $isPaid ? '20.00' : '0', state: $isPaid ? 'paid' : 'failed');
    if ($isPaid) {
        exit(0);
    }
}
exit(1);
