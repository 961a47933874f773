<?php
// Each webhook of a payment is credited, also one that comes a second time.
require __DIR__ . '/shop.php';

$server = stream_socket_server('tcp://127.0.0.1:0');
$webhook = ['url' => 'http://' . stream_socket_get_name($server, false) . '/webhooks'];
book('order-1', '0', state: 'unknown');
pay('order-1', '20.00', ['webhook' => $webhook]);
$credit = 0;
webhooks($server, 1, function (array $message) use (&$credit) {
    if ($message['data']['status'] === 'SUCCESS') {
        $credit += $message['data']['amount'];
        book($message['data']['reference'], (string) $credit, state: 'paid');
    }
});
