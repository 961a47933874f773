<?php

declare(strict_types=1);

use Payfurl\Mockserver\Options;
use Payfurl\Mockserver\WithMockserver;
use PHPUnit\Framework\TestCase;

/** The shop of shop.php as a process of its own, which knows the sandbox of the test by its environment. */
final class ShopTest extends TestCase
{
    use WithMockserver;

    private const SECONDS = 10;

    /** @var resource|null */
    private $shop = null;

    protected function tearDown(): void
    {
        if ($this->shop !== null) {
            proc_terminate($this->shop);
            proc_close($this->shop);
        }
    }

    /** What the page of an order says. */
    private function buy(string $order, array $more = []): string
    {
        $free = stream_socket_server('tcp://127.0.0.1:0');
        $address = stream_socket_get_name($free, false);
        fclose($free);
        $environment = [...getenv(), ...$this->mockserver->env(), ...$more];
        $silent = [1 => ['file', '/dev/null', 'w'], 2 => ['file', '/dev/null', 'w']];
        $this->shop = proc_open([PHP_BINARY, '-S', $address, __DIR__ . '/shop.php'], $silent, $pipes, null, $environment);
        for ($end = microtime(true) + self::SECONDS; !@stream_socket_client("tcp://$address"); usleep(10_000)) {
            if (microtime(true) > $end) {
                self::fail('the shop did not start');
            }
        }
        return trim((string) file_get_contents("http://$address/orders/$order?amount=20.00"));
    }

    public static function orders(): array
    {
        return [['order-1'], ['order-2']];
    }

    /** @dataProvider orders */
    #[Options(scenario: 'charged-but-unanswered')]
    public function test_a_shop_that_looks_first_charges_once(string $order): void
    {
        self::assertSame('paid', $this->buy($order));
        $this->mockserver->verify(['op' => 'charge.create', 'where' => ['request.reference' => $order], 'count' => 1]);
    }

    #[Options(scenario: 'charged-but-unanswered', allow: ['double-charge', 'blind-retry'])]
    public function test_a_careless_shop_charges_twice_and_is_told(): void
    {
        self::assertSame('paid', $this->buy('order-3', ['CARELESS' => '1']));
        self::assertContains('double-charge', array_column($this->mockserver->findings('error'), 'finding'));
    }

    public function books(): array
    {
        return [['reference' => 'order-4', 'paid' => '20.00']];
    }

    #[Options(books: 'books')]
    public function test_an_order_is_in_the_books(): void
    {
        self::assertSame('paid', $this->buy('order-4'));
    }
}
