<?php
// What the shops in PHP share: calls of the service, webhooks, and books of one CSV file for each order.
// `php SHOP.php` does the shop's business, `php SHOP.php books` prints its books.

const PROVIDER = 'a26c371f-94f6-40da-add2-28ec8e9da8ed';
const VISA = '4111111111111111';

// The answer did not come whole: nobody knows what has happened.
class Lost extends Exception {}

define('FOLDER', getenv('MOCKSERVER_RUN_DIR') ?: sys_get_temp_dir() . '/shop-' . getmypid());
is_dir(FOLDER) || mkdir(FOLDER);
if (($argv[1] ?? '') === 'books') {
    echo "reference,paid,refunded,currency,state\n" . implode(array_map('file_get_contents', glob(FOLDER . '/*.csv')));
    exit;
}

/** One call of the service: the status of its answer, and what it says. */
function ask(string $method, string $path, ?array $body = null, string ...$headers): array
{
    $headers = ['x-secretkey: ' . getenv('MOCKSERVER_SECRET_KEY'), 'content-type: application/json', ...$headers];
    $call = ['method' => $method, 'header' => $headers, 'content' => $body === null ? '' : json_encode($body)];
    $http = stream_context_create(['http' => $call + ['timeout' => 5, 'ignore_errors' => true]]);
    $said = json_decode((string) @file_get_contents(getenv('MOCKSERVER_URL') . $path, false, $http), true);
    $status = (int) explode(' ', $http_response_header[0] ?? '- 0')[1];
    if (!is_array($said) || ($status >= 500 && !isset($said['code']))) {
        throw new Lost();
    }
    return [$status, $said];
}

/** Charge a card. */
function pay(string $reference, string $amount, array $more = [], string ...$headers): array
{
    $card = ['cardNumber' => $more['card'] ?? VISA, 'expiryDate' => '12/40', 'ccv' => '123'];
    unset($more['card']);
    $body = ['providerId' => PROVIDER, 'reference' => $reference, 'amount' => $amount, 'paymentInformation' => $card];
    return ask('POST', '/charge/card', $more + $body, ...$headers);
}

/** The charge of an order that holds money, if there is one. */
function look(string $reference): ?array
{
    foreach (ask('GET', "/charge?Reference=$reference")[1]['charges'] as $charge) {
        if (in_array($charge['status'], ['Authorised', 'SUCCESS', 'PENDING', 'PARTIAL_REFUND'])) {
            return $charge;
        }
    }
    return null;
}

/** Write down what the shop believes of an order. */
function book(string $order, string $paid, string $refunded = '0', string $currency = 'AUD', string $state = ''): void
{
    file_put_contents(FOLDER . "/$order.csv", "$order,$paid,$refunded,$currency,$state\n");
}

/** Take the first signed webhook and those that come within some seconds then: each is given to $take as data. */
function webhooks($server, float $seconds, callable $take): void
{
    $end = microtime(true) + 5;
    $isFirst = true;
    while (($left = $end - microtime(true)) > 0 && ($line = @stream_socket_accept($server, $left))) {
        $end = $isFirst ? microtime(true) + $seconds : $end;
        $isFirst = false;
        $length = 0;
        $signature = '';
        while (($header = trim(fgets($line))) !== '') {
            sscanf(strtolower($header), 'content-length: %d', $length);
            sscanf($header, 'X-Payfurl-Signature: %s', $signature);
        }
        $body = stream_get_contents($line, $length);
        $isSigned = $signature === base64_encode(hash_hmac('sha256', $body, 'mockserver-webhook-key', true));
        $answer = $isSigned ? '200 OK' : '401 Unauthorized';
        fwrite($line, "HTTP/1.1 $answer\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        fclose($line);
        if ($isSigned) {
            $take(json_decode($body, true));
        }
    }
}

function askUntilAnswered(string $method, string $path): array
{
    for ($tries = 0; $tries < 8; $tries++) {
        try {
            $answer = ask($method, $path);
            if ($answer[0] === 200) {
                return $answer;
            }
        } catch (Lost) {
        }
    }
    throw new Lost();
}

/** What was given back of a charge, or is on its way. */
function refundsOf(array $charge): float
{
    return array_sum(array_column($charge['refunds'], 'amount'));
}

/** Write down what the charges of an order say together, of which so much is wanted. */
function bookFigures(string $reference, array $charges, float $wanted): void
{
    $taken = array_filter($charges, fn ($one) => in_array($one['status'], ['SUCCESS', 'PARTIAL_REFUND', 'REFUND']));
    $undone = array_filter($charges, fn ($one) => in_array($one['status'], ['FAILED', 'AUTHORISE_CANCELLED', 'VOIDED']));
    $paid = array_sum(array_column($taken, 'amount'));
    $refunded = array_sum(array_map('refundsOf', $taken));
    $state = match (true) {
        count($taken) + count($undone) < count($charges) => $paid ? 'unknown' : 'pending',
        $paid == 0 => 'unpaid',
        $paid - $refunded == $wanted => 'paid',
        $paid == $refunded => 'refunded',
        default => '',
    };
    $isOpen = in_array($state, ['unknown', 'pending']);
    $isOpen ? book($reference, '', '', state: $state) : book($reference, "$paid", "$refunded", state: $state);
}

/** What a careful shop does at night: an order is paid by one charge of each amount, and whatever else is taken or held
 * for it is given back. */
function square(string $reference, float ...$amounts): void
{
    $tried = [];
    for ($tries = 0; $tries < 8; $tries++) {
        $charges = array_reverse(askUntilAnswered('GET', "/charge?Reference=$reference")[1]['charges']);
        $due = $amounts;
        $spare = null;
        foreach ($charges as $charge) {
            $isHeld = $charge['status'] === 'Authorised';
            if ((!$isHeld && ($charge['status'] !== 'SUCCESS' || refundsOf($charge))) || in_array($charge['chargeId'], $tried)) {
                continue;
            }
            $place = $isHeld ? false : array_search($charge['amount'], $due);
            if ($place === false) {
                $spare = $charge;
                break;
            }
            unset($due[$place]);
        }
        if ($spare === null) {
            bookFigures($reference, $charges, array_sum($amounts));
            return;
        }
        try {
            $isHeld = $spare['status'] === 'Authorised';
            ask('DELETE', $isHeld ? "/charge/$spare[chargeId]/void" : "/refund/$spare[chargeId]?amount=$spare[amount]");
            $tried[] = $spare['chargeId'];
        } catch (Lost) {
        }
    }
    throw new Lost();
}
