<?php
// Three equal instalments of one plan, under one reference. One that is not answered is looked for; the next is taken
// when the service shows all before it.
require __DIR__ . '/../shop.php';

const INSTALMENT = 10;

function shown(): int
{
    $charges = ask('GET', '/charge?Reference=plan-1')[1]['charges'] ?? throw new Lost();
    return count(array_filter($charges, fn ($one) => $one['status'] === 'SUCCESS' && $one['amount'] == INSTALMENT));
}

function take(int $number): bool
{
    try {
        pay('plan-1', '10.00');
    } catch (Lost) {
    }
    return shown() === $number;
}

if (($argv[1] ?? '') === 'reconcile') {
    square('plan-1', INSTALMENT, INSTALMENT, INSTALMENT);
    exit;
}
if (@fopen(FOLDER . '/begun', 'x') === false) {
    exit;
}
book('plan-1', '', '', state: 'unknown');
try {
    if (take(1) && take(2) && take(3)) {
        book('plan-1', '30', state: 'paid');
    }
} catch (Lost) {
}
