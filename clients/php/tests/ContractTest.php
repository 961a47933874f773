<?php

declare(strict_types=1);

use Payfurl\Mockserver\MockserverError;
use Payfurl\Mockserver\Options;
use Payfurl\Mockserver\WithMockserver;
use PHPUnit\Framework\TestCase;

/** The situations of ../../contract.yaml. */
final class ContractTest extends TestCase
{
    use WithMockserver;

    private const ORDER = [
        'amount' => 20, 'currency' => 'AUD', 'providerId' => 'a26c371f-94f6-40da-add2-28ec8e9da8ed',
        'paymentInformation' => ['cardNumber' => '4111111111111111', 'expiryDate' => '12/40', 'ccv' => '123'],
    ];
    private const DECLINED = ['version' => 1, 'rules' => [
        ['id' => 'no-money', 'when' => ['op' => 'charge.create'], 'then' => ['decline' => 'insufficient_funds']],
    ]];
    private const LOST = "version: 1\nrules: [{id: lost, when: {op: charge.create, call: 1}, then: {transport: {at: answer, reset: true}}}]\n";
    private const EXPECTING = "version: 1\nrules: [{id: never-asked, when: {op: charge.capture}, then: {decline: do_not_honour}, expect: {min: 1}}]\n";

    /** What the shop under test does: one request of its own. */
    private function pay(array $more): array
    {
        $request = curl_init("{$this->mockserver->url}/charge/card");
        curl_setopt_array($request, [
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_POSTFIELDS => json_encode($more + self::ORDER),
            CURLOPT_HTTPHEADER => ["x-secretkey: {$this->mockserver->secretKey}", 'content-type: application/json'],
        ]);
        $answer = curl_exec($request);
        return $answer === false ? [] : json_decode($answer, true);
    }

    private function payTwice(): void
    {
        $this->pay(['reference' => 'order-1']) ?: $this->pay(['reference' => 'order-1']);
    }

    public function test_two_tests_see_nothing_of_each_other(): void
    {
        $this->pay(['reference' => 'order-1']);
        self::assertSame(1, $this->mockserver->call('GET', '/charge', query: ['Reference' => 'order-1'])['count']);
    }

    public function test_and_neither_does_the_other(): void
    {
        $this->test_two_tests_see_nothing_of_each_other();
    }

    #[Options(scenario: self::DECLINED)]
    public function test_a_scenario_is_chosen_by_annotation(): void
    {
        self::assertSame(15, $this->pay(['reference' => 'order-1'])['code']);
        self::assertSame(['no-money' => 1], array_intersect_key(array_column($this->mockserver->rules(), 'hits', 'id'), ['no-money' => 1]));
    }

    #[Options(clock: '2031-03-01T00:00:00Z')]
    public function test_the_clock_is_frozen_and_moved(): void
    {
        self::assertSame('2031-03-02T12:00:00', $this->mockserver->clock->advance('36h')->format('Y-m-d\TH:i:s'));
        $this->mockserver->clock->to(new DateTimeImmutable('2031-03-03T00:00:00Z'));
        self::assertSame('2031-03-03', $this->mockserver->clock->now()->format('Y-m-d'));
    }

    public function test_a_webhook_arrives_in_the_inbox(): void
    {
        $this->pay(['reference' => 'order-1', 'webhook' => ['url' => $this->mockserver->inbox->url('shop')]]);
        $this->mockserver->waitFor(['inbox' => 'shop']);
        self::assertSame('valid', $this->mockserver->inbox->messages('shop')[0]['signature']);
    }

    #[Options(scenario: 'bank-charge-bounces')]
    public function test_wait_for_a_charge_moving_the_clock(): void
    {
        $charge = $this->pay(['reference' => 'order-1'])['chargeId'];
        $this->mockserver->waitFor(['charge' => ['id' => $charge, 'status' => 'SUCCESS']], advance: true, within: '10d');
        try {
            $this->mockserver->waitFor(['inbox' => 'nowhere'], timeout: '10ms');
            self::fail('it waited for nothing');
        } catch (MockserverError $problem) {
            self::assertStringContainsString('inbox: ', $problem->getMessage());
        }
    }

    public function test_verify_what_was_asked(): void
    {
        $this->pay(['reference' => 'order-1']);
        $this->mockserver->verify(['op' => 'charge.create', 'where' => ['request.reference' => 'order-1'], 'count' => 1]);
        try {
            $this->mockserver->verify(['op' => 'charge.create', 'count' => 2]);
            self::fail('two requests were seen');
        } catch (MockserverError $problem) {
            self::assertStringContainsString('wanted exactly 2, got 1', $problem->getMessage());
        }
    }

    public function books(): array
    {
        return [['reference' => 'order-1', 'paid' => 20]];
    }

    #[Options(books: 'books')]
    public function test_books_that_agree_pass(): void
    {
        self::assertSame('SUCCESS', $this->pay(['reference' => 'order-1'])['status']);
    }

    #[Options(scenario: self::LOST, allow: ['double-charge', 'blind-retry'])]
    public function test_an_allowed_finding_passes(): void
    {
        $this->payTwice();
        self::assertSame(['double-charge'], array_column($this->mockserver->findings('error'), 'finding'));
    }

    public function otherBooks(): array
    {
        return [['reference' => 'order-books', 'paid' => 30]];
    }

    #[Options(books: 'otherBooks')]
    public function test_books_that_differ_fail_the_test(): void
    {
        self::assertSame('SUCCESS', $this->pay(['reference' => 'order-books'])['status']);
    }

    #[Options(scenario: self::LOST)]
    public function test_a_finding_fails_the_test(): void
    {
        $this->payTwice();
    }

    public function test_an_invariant_that_is_broken_fails_the_test(): void
    {
        $this->mockserver->invariant('net(*) <= 10');
        $this->pay(['reference' => 'order-1']);
    }

    #[Options(scenario: self::EXPECTING)]
    public function test_an_unmet_expectation_of_a_rule_fails_the_test(): void
    {
        $this->addToAssertionCount(1);
    }

    public function test_a_failing_test_of_another_sandbox(): void
    {
        self::assertSame('SUCCESS', $this->pay(['reference' => 'order-of-another-test'])['status']);
    }

    public function test_a_failing_test_shows_its_timeline_and_no_other(): void
    {
        $this->pay(['reference' => 'order-of-this-test']);
        self::assertSame(1, 2);
    }

    #[Options(scenario: "version: 1\nrules:\n  - {id: x, when: {op: charge.creat}}\n")]
    public function test_a_scenario_that_is_refused_says_its_line(): void
    {
        $this->addToAssertionCount(1);
    }

    #[Options(scenaroi: self::DECLINED)]
    public function test_an_unknown_option_is_refused(): void
    {
        $this->addToAssertionCount(1);
    }

    #[Options(findings: 'none')]
    public function test_an_unknown_level_of_findings_is_refused(): void
    {
        $this->addToAssertionCount(1);
    }

    #[Options(scenaroi: self::DECLINED)]
    private function misspeltOption(): void
    {
    }

    #[Options(findings: 'warnings')]
    private function misspeltLevel(): void
    {
    }

    #[Options(colour: 'red')]
    private function optionOfNothing(): void
    {
    }

    #[NotImported\Options(scenario: self::DECLINED)]
    private function attributeThatIsNotImported(): void
    {
    }

    #[Unrelated\Attribute(scenario: self::DECLINED)]
    private function attributeOfAnother(): void
    {
    }

    public function test_each_unknown_word_is_refused_with_the_nearest_known_one(): void
    {
        $refusals = [
            'misspeltOption' => "Options: got 'scenaroi' - did you mean 'scenario'?, allowed: scenario, profile, ",
            'misspeltLevel' => "findings: got 'warnings' - did you mean 'warning'?, allowed: off, ",
            'optionOfNothing' => "Options: got 'colour', allowed: scenario, ",
            'attributeThatIsNotImported' => 'there is no class NotImported\Options - did you mean Payfurl\Mockserver\Options?',
        ];
        foreach ($refusals as $method => $words) {
            try {
                self::optionsOf(new ReflectionMethod($this, $method));
                self::fail("the options of $method were taken");
            } catch (MockserverError $problem) {
                self::assertStringContainsString($words, $problem->getMessage());
            }
        }
        self::assertNull(self::optionsOf(new ReflectionMethod($this, 'attributeOfAnother')));
    }

    public function test_a_server_that_dies_is_named(): void
    {
        if (!getenv('CONTRACT_DIES')) {
            self::markTestSkipped('it ends the server of all tests');
        }
        posix_kill($this->mockserver->server->pid(), 9);
        usleep(100_000);
        $this->mockserver->rules();
    }

    public function test_the_server_ends_when_the_run_is_killed(): void
    {
        if (!getenv('CONTRACT_TELL')) {
            self::markTestSkipped('it waits to be killed');
        }
        file_put_contents(getenv('CONTRACT_TELL'), $this->mockserver->url);
        sleep(60);
    }
}
