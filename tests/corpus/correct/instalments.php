<?php
// Three equal instalments of one order. Each is paid once: after a lost answer the shop counts what has come.
require __DIR__ . '/../shop.php';

function paid(): int
{
    $said = ask('GET', '/charge?Reference=order-1')[1];
    return count(array_filter($said['charges'], fn($one) => $one['status'] === 'SUCCESS'));
}

$count = 0;
book('order-1', '', '', state: 'unknown');
while ($count < 3) {
    try {
        [$status, $charge] = pay('order-1', '10.00');
        if ($status !== 201 || $charge['status'] !== 'SUCCESS') {
            break;
        }
        $count++;
    } catch (Lost) {
        try {
            $count = paid();
        } catch (Lost) {
            echo "Please look how many instalments of order-1 have come.\n";
            exit(3);
        }
    }
}
if ($count === 0 || $count === 3) {
    book('order-1', number_format(10 * $count, 2, '.', ''), '0', state: $count ? 'paid' : 'unknown');
}
exit($count === 3 ? 0 : 3);
