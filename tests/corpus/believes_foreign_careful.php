<?php
// As believes_foreign.php, but the charge must be that of the order.
require __DIR__ . '/shop.php';

foreach (['order-1', 'order-2'] as $order) {
    $server = stream_socket_server('tcp://127.0.0.1:0');
    $webhook = ['url' => 'http://' . stream_socket_get_name($server, false) . '/webhooks'];
    book($order, '0', state: 'unpaid');
    pay($order, '20.00', ['webhook' => $webhook]);
    webhooks($server, 0.4, function (array $message) use ($order) {
        [$status, $charge] = ask('GET', "/charge/{$message['data']['chargeId']}");
        if ($status === 200 && $charge['status'] === 'SUCCESS' && $charge['reference'] === $order) {
            book($order, '20', state: 'paid');
        }
    });
}
