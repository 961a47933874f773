<?php
// A webhook says only that something is new: the charge is read then, and nothing that stands in the webhook is used.
require __DIR__ . '/../shop.php';

$server = stream_socket_server('tcp://127.0.0.1:0');
$webhook = ['url' => 'http://' . stream_socket_get_name($server, false) . '/webhooks'];
book('order-1', '', '', state: 'unknown');
try {
    pay('order-1', '20.00', ['webhook' => $webhook]);
} catch (Lost) {
}
$end = microtime(true) + 1;
while (($left = $end - microtime(true)) > 0 && ($line = @stream_socket_accept($server, $left))) {
    $length = 0;
    while (($header = trim(fgets($line))) !== '') {
        sscanf(strtolower($header), 'content-length: %d', $length);
    }
    stream_get_contents($line, $length);
    fwrite($line, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    fclose($line);
}
$charge = look('order-1');
if ($charge !== null && $charge['status'] === 'SUCCESS') {
    book('order-1', '20.00', state: 'paid');
    exit(0);
}
exit(3);
