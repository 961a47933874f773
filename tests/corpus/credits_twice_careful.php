<?php
// As credits_twice.php, but a message that was handled is not handled again.
require __DIR__ . '/shop.php';

$server = stream_socket_server('tcp://127.0.0.1:0');
$webhook = ['url' => 'http://' . stream_socket_get_name($server, false) . '/webhooks'];
book('order-1', '0', state: 'unknown');
pay('order-1', '20.00', ['webhook' => $webhook]);
$credits = [];
webhooks($server, 1, function (array $message) use (&$credits) {
    if ($message['data']['status'] === 'SUCCESS') {
        $credits[$message['meta']['messageId']] = $message['data']['amount'];
        book($message['data']['reference'], (string) array_sum($credits), state: 'paid');
    }
});
