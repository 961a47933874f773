"""What a client does while it cannot know how a call ended, from the facts themselves."""

from decimal import Decimal

import pytest

from mockserver.domain.charge import Refund
from mockserver.domain.clock import SECOND
from mockserver.domain.facts import UncertainResult
from mockserver.domain.record import replace
from mockserver.domain.sources import BankAccount, Instrument, PaymentType
from mockserver.domain.states import ChargeState, Event, Subject
from mockserver.findings.ledger import Evidence
from tests.charges import charge_in
from tests.findings.story import STORED, Story

TWICE = ["double-charge", "blind-retry"]


@pytest.mark.parametrize("hung_up", ["before", "after"])
def test_a_client_that_hangs_up_and_asks_again_is_in_doubt(story: Story, hung_up: str) -> None:
    first = story.pay("ch_1", is_open=True)
    if hung_up == "before":
        story.end(first, UncertainResult.HUNG_UP)
    story.pay("ch_2")
    assert story.found() == ([] if hung_up == "after" else TWICE)
    if hung_up == "after":
        story.end(first, UncertainResult.HUNG_UP)
    story.pay("ch_3")
    assert story.raised() == {"double-charge": 1, "blind-retry": 1}
    double, _ = story.watch.ledger
    assert double.evidence[0] == Evidence(
        "charge.create AUD ch_1: the client hung up before the answer", 1
    )


SEARCH = {"op": "charge.search", "subject": None, "answer": b'"ch_1"'}
SHOWN: dict[str, tuple[dict[str, object], dict[str, object], str]] = {
    "a read of it": ({"op": "charge.get"}, {}, "warning"),
    "a search by its reference": ({**SEARCH, "request": {"reference": "r"}}, {}, "warning"),
    "a search by another reference": ({**SEARCH, "request": {"reference": "s"}}, {}, "error"),
    "a list of everything": ({**SEARCH, "request": {}}, {}, "error"),
    "a search that does not have it": (
        {**SEARCH, "request": {"reference": "r"}, "answer": b"[]"},
        {},
        "error",
    ),
    "an answer that was cut": ({"op": "charge.get", "doubt": UncertainResult.CUT}, {}, "error"),
    "another payer": ({"op": "charge.get"}, {"email": "ann@example.test"}, ""),
    "another purpose": ({"op": "charge.get"}, {"metadata": {"part": "balance"}}, ""),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_client_that_saw_its_first_payment_may_mean_the_second(story: Story, name: str) -> None:
    look, unlike, severity = SHOWN[name]
    request = {"token": "tok", "reference": "r"}
    story.pay("ch_1", doubt=UncertainResult.RESET, request=request)
    story.call(**{"subject": "ch_1", **look})  # type: ignore[arg-type]
    story.charges["ch_2"] = charge_in(ChargeState.SUCCESS, "ch_2", **unlike)
    story.pay("ch_2", None, request=request)
    found = [one for one in story.watch.ledger if one.kind.name == "double-charge"]
    assert [one.severity.word for one in found] == ([severity] if severity else [])


def test_what_a_client_sees_later_does_not_excuse_it(story: Story) -> None:
    story.pay("ch_1", doubt=UncertainResult.RESET)
    story.pay("ch_2")
    story.call("charge.get", "ch_1")
    (double, _) = story.watch.ledger
    assert double.severity.word == "error"


def test_each_pair_of_a_chain_is_judged_alone(story: Story) -> None:
    story.pay("ch_1", doubt=UncertainResult.RESET)
    story.call("charge.get", "ch_1")
    story.pay("ch_2", doubt=UncertainResult.RESET)
    (double,) = story.watch.ledger
    assert double.severity.word == "warning"
    story.pay("ch_3")
    assert double.severity.word == "error"
    assert (double.count, double.is_informed) == (2, False)


def test_a_client_that_heard_of_its_payment_is_known_to_know(story: Story) -> None:
    story.pay("ch_1", doubt=UncertainResult.RESET)
    story.webhook()
    story.pay("ch_2")
    (double,) = story.watch.ledger
    assert (double.severity.word, double.is_informed) == ("error", True)


def test_an_answer_that_was_broken_off_does_not_become_whole(story: Story) -> None:
    story.end(story.pay("ch_1", doubt=UncertainResult.CUT, is_open=True))
    story.pay("ch_2")
    assert story.found() == TWICE


@pytest.mark.parametrize("ends", [UncertainResult.RESET, UncertainResult.HUNG_UP, None])
def test_a_call_that_is_held_back_and_sent_again_meanwhile(
    story: Story, ends: UncertainResult | None
) -> None:
    # Two are held back, and each is told by its own place when it is acted on.
    held, other = -1, -2
    story.watch.arrived(
        story.asked("charge.create", None, waited_as=held, request={"token": "tok"})
    )
    story.watch.arrived(
        story.asked("charge.create", None, waited_as=other, request={"token": "another"})
    )
    story.pay("ch_2")
    story.pay(None, waited_as=other, request={"token": "another"})
    is_reset = ends is UncertainResult.RESET
    first = story.pay(
        "ch_1", waited_as=held, is_open=not is_reset, doubt=ends if is_reset else None
    )
    if not is_reset:
        assert story.found() == []
        story.end(first, ends)
    assert story.found() == (TWICE if ends else [])
    story.pay("ch_3")
    assert story.raised() == ({"double-charge": 1, "blind-retry": 1} if ends else {})


def test_a_call_that_is_held_back_at_the_end_has_no_place_in_the_journal(story: Story) -> None:
    story.watch.arrived(
        story.asked("charge.create", None, entry=0, waited_as=-1, request={"token": "tok"})
    )
    story.pay("ch_2")
    story.finish()
    (finding,) = story.watch.ledger
    assert [line.entry for line in finding.evidence] == [None, 2]


def test_an_answer_that_has_not_come_when_the_story_ends_was_not_waited_for_by_a_client_that_asked_again(
    story: Story,
) -> None:
    first = story.pay("ch_1", is_open=True)
    story.pay("ch_2")
    story.finish()
    assert story.found() == TWICE
    story.end(first, UncertainResult.HUNG_UP)
    assert story.raised() == {"double-charge": 1, "blind-retry": 1}


def test_an_answer_that_has_not_come_when_the_story_ends_is_still_waited_for(story: Story) -> None:
    first = story.pay("ch_1", is_open=True)
    story.finish()
    story.pay("ch_2")
    assert story.found() == []
    story.end(first, UncertainResult.HUNG_UP)
    assert story.found() == TWICE


def test_two_equal_calls_at_once_that_are_both_answered(story: Story) -> None:
    calls = [story.pay("ch_1", is_open=True), story.pay("ch_2", is_open=True)]
    for call in calls:
        story.end(call)
    story.finish()
    assert story.found() == []


@pytest.mark.parametrize(
    ("second", "found"),
    [
        ({}, ["paid-at-once-twice"]),
        ({"email": "ben@example.test"}, []),
        ({"metadata": {"seat": "2"}}, []),
    ],
)
def test_one_order_that_is_paid_twice_at_once(
    story: Story, second: dict[str, object], found: list[str]
) -> None:
    request = {"token": "tok", "reference": "order-5"}
    calls = [story.pay(one, is_open=True, request=request) for one in ("ch_1", "ch_2")]
    story.charges["ch_1"] = replace(story.charges["ch_1"], email="ann@example.test")
    story.charges["ch_2"] = replace(
        story.charges["ch_2"], **{"email": "ann@example.test", **second}
    )
    for call in calls:
        story.end(call)
    assert story.found() == found


def test_calls_that_were_answered_are_no_retries_while_another_is_in_doubt(story: Story) -> None:
    story.pay(
        "ch_1", doubt=UncertainResult.RESET, request={"token": "another", "paymentInformation": {}}
    )
    story.pay("ch_2")
    story.pay("ch_3")
    assert story.found() == []


def test_an_idempotent_repeat_is_no_blind_retry_and_ends_the_doubt(story: Story) -> None:
    story.pay("ch_1", doubt=UncertainResult.RESET, retry_after=5 * SECOND)
    story.pay("ch_1", is_repeat=True)
    assert story.found() == ["retry-after-ignored"]
    story.call("charge.void", code=54, charge=story.charges["ch_1"])
    assert story.found() == ["retry-after-ignored", "wrong-state"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"currency": "aud"}, {"charge": "AUD"}),
        ({}, {"charge": "AUD"}),
        ({"charge": "AUD"}, {}),
        ({"reference": "order-5"}, {"reference": ""}),
        ({"reference": None}, {"reference": "order-5"}),
        ({"amount": "NaN"}, {"amount": "NaN"}),
        (
            {"token": None, "card": "4111 1111 1111 1111"},
            {"token": None, "card": "4111111111111111"},
        ),
        (
            {"token": None, "customerId": "c"},
            {"token": None, "customerId": "c", "paymentMethodId": "p"},
        ),
        ({"token": None, "networkTokenId": "n"}, {"token": None, "networkTokenId": "n"}),
    ],
)
def test_the_same_intent_in_other_words(
    first: dict[str, object], second: dict[str, object]
) -> None:
    for one, other in ((first, second), (second, first)):
        assert _judged_as_one(one, other)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"charge": "AUD"}, {"charge": "USD"}),
        ({"reference": "order-5"}, {"reference": "order-6"}),
        ({"amount": 20}, {"amount": None}),
        ({"token": "tok"}, {"token": "another"}),
    ],
)
def test_another_intent(first: dict[str, object], second: dict[str, object]) -> None:
    assert not _judged_as_one(first, second)


def _judged_as_one(*requests: dict[str, object]) -> bool:
    story = Story()
    for number, given in enumerate(requests):
        request = {"token": "tok", **given}
        currency, card = request.pop("charge", None), request.pop("card", None)
        if card is not None:
            request["paymentInformation"] = {"cardNumber": card}
        charge = charge_in(ChargeState.FAILED, currency=currency) if currency is not None else None
        story.call(
            "charge.create",
            None,
            request=request,
            charge=charge,
            doubt=None if number else UncertainResult.RESET,
        )
    return story.found() == ["blind-retry"]


ACCOUNT = Instrument(
    PaymentType.BANK_ACCOUNT, bank=BankAccount("123456", "00012345", "Ann Example")
)


@pytest.mark.parametrize(
    ("request_", "instrument"),
    [
        ({"bankPaymentInformation": {"bankCode": "123456", "accountNumber": "00012345"}}, ACCOUNT),
        ({"paymentMethodId": "pm_1"}, STORED),
        ({"paymentMethodId": "pm_1"}, replace(ACCOUNT, payment_method_id="pm_1")),
    ],
)
def test_the_same_source_by_another_way(
    request_: dict[str, object], instrument: Instrument
) -> None:
    story = Story()
    story.call("charge.create", None, request=request_, doubt=UncertainResult.RESET)
    charge = charge_in(ChargeState.SUCCESS, instrument=instrument)
    story.call("charge.create", "ch_2", request={"customerId": "c"}, charge=charge)
    assert story.found() == ["blind-retry"]


@pytest.mark.parametrize(
    "op",
    [
        *("charge.create", "charge.capture", "charge.void", "charge.refund"),
        *("batch.create", "subscription.create", "transfer.create"),
    ],
)
def test_operations_that_move_money(op: str) -> None:
    story = Story()
    for doubt in (UncertainResult.RESET, None):
        story.call(op, "ch_1", request={"token": "tok"}, doubt=doubt)
    assert story.found() == ["blind-retry"]


def test_what_moves_no_money_may_be_repeated(story: Story) -> None:
    for doubt in (UncertainResult.RESET, None):
        story.call("payment_method.create", None, request={"token": "tok"}, doubt=doubt)
    assert story.found() == []


def test_a_void_after_a_capture_in_doubt_is_no_retry(story: Story) -> None:
    story.call("charge.capture", doubt=UncertainResult.RESET)
    story.call("charge.void")
    assert story.found() == []


@pytest.mark.parametrize(
    ("facts", "is_look"),
    [
        ({}, True),
        ({"subject": "ch_2"}, False),
        ({"subject": None}, False),
        ({"status": 500}, False),
        ({"is_scripted": True}, False),
    ],
)
def test_a_webhook_about_a_charge_in_doubt_is_a_look(
    facts: dict[str, object], is_look: bool
) -> None:
    story = Story()
    story.call(doubt=UncertainResult.RESET)
    story.call(subject=None, path={"charge_id": "x"}, doubt=UncertainResult.RESET)
    story.webhook(**facts)
    story.call()
    story.call(subject=None, path={"charge_id": "x"})
    assert story.raised() == {"blind-retry": 1 if is_look else 2}


@pytest.mark.parametrize(
    ("op", "subject", "facts", "is_look"),
    [
        ("charge.get", "ch_1", {}, True),
        ("charge.get", "ch_1", {"is_ours": False}, False),
        ("charge.get", "ch_1", {"code": 84}, False),
        ("charge.get", "ch_2", {}, False),
        ("charge.search", None, {"answer": b'{"chargeId": "ch_1"}'}, True),
        # It seeks the charge, which is there and is not shown.
        ("charge.search", None, {"request": {"reference": "order-5"}}, False),
    ],
)
def test_what_shows_a_charge(
    op: str, subject: str, facts: dict[str, object], is_look: bool
) -> None:
    for ends in (None, UncertainResult.HUNG_UP, "at once"):
        story = Story()
        story.pay(
            "ch_1", request={"token": "tok", "reference": "order-5"}, doubt=UncertainResult.RESET
        )
        look = story.call(op, subject, **{"is_open": ends != "at once", **facts})
        if ends != "at once":
            story.end(look, ends)
        story.pay("ch_2")
        assert story.found() == (
            TWICE[:1] if is_look and ends is not UncertainResult.HUNG_UP else TWICE
        )


@pytest.mark.parametrize(
    ("op", "reference", "sought", "is_look"),
    [
        ("charge.search", "order-5", "order-5", True),
        ("charge.search", "order-5", None, True),
        ("charge.search", None, "order-6", True),
        ("charge.search", "order-5", "order-6", False),
        ("customer.search", "order-5", None, False),
    ],
)
def test_a_search_for_what_was_never_made(
    op: str, reference: object, sought: object, is_look: bool
) -> None:
    story = Story()
    story.pay(None, request={"token": "tok", "reference": reference}, doubt=UncertainResult.RESET)
    story.call(op, None, request={"reference": sought} if sought else {})
    story.pay("ch_2")
    assert story.found() == ([] if is_look else ["blind-retry"])


@pytest.mark.parametrize("kind", ["batch", "transfer"])
def test_a_search_of_its_kind_is_a_look(kind: str) -> None:
    for searched, found in ((kind, []), ("charge", ["blind-retry"])):
        story = Story()
        story.call(f"{kind}.create", None, doubt=UncertainResult.RESET)
        story.call(f"{searched}.search", None)
        story.call(f"{kind}.create", None)
        assert story.found() == found


@pytest.mark.parametrize(
    ("op", "subject", "reference", "is_misled"),
    [
        ("charge.get", "ch_1", None, True),
        ("charge.get", "ch_2", None, False),
        ("charge.search", None, "order-5", True),
        ("charge.search", None, "order-6", False),
        ("customer.search", None, None, False),
    ],
)
def test_a_retry_after_an_earlier_state_was_shown(
    op: str, subject: str, reference: object, is_misled: bool
) -> None:
    for made in ("ch_1", None):
        story = Story()
        story.pay(
            made, request={"token": "tok", "reference": "order-5"}, doubt=UncertainResult.RESET
        )
        story.call(op, subject, request={"reference": reference}, is_late=True, is_ours=False)
        story.pay(None)
        assert story.found() == (
            [] if is_misled and (made or op == "charge.search") else ["blind-retry"]
        )


@pytest.mark.parametrize(
    ("later", "found"),
    [
        ([], []),
        ([("charge.get", "ch_1", {})], ["wrong-state"]),
        ([("charge.get", "ch_1", {"is_ours": False})], []),
        ([("charge.get", "ch_1", {"doubt": UncertainResult.RESET})], []),
        ([("charge.get", "ch_2", {})], []),
        ([("charge.void", "ch_1", {"code": 54})], []),
        ("finish", ["wrong-state"]),
    ],
)
def test_a_wrong_move_after_an_earlier_state_was_shown(later: object, found: list[str]) -> None:
    for subject, again in (("ch_1", "ch_1"), (None, None)):
        story = Story()
        story.call(
            "charge.get" if subject else "charge.search", subject, is_late=True, is_ours=False
        )
        if later == "finish":
            story.finish()
        for op, read, facts in later if isinstance(later, list) else ():
            story.call(
                op, again if read == "ch_1" and op == "charge.get" else read, charge=None, **facts
            )
        story.call(code=54, charge=story.charges["ch_1"])
        assert story.found() == found


def test_an_earlier_state_of_one_charge_says_nothing_of_another(story: Story) -> None:
    story.call("charge.get", "ch_2", is_late=True, is_ours=False)
    story.call(code=54, charge=story.charges["ch_1"])
    assert story.found() == ["wrong-state"]


@pytest.mark.parametrize(
    ("about", "is_shown", "found"),
    [("ch_1", False, []), ("ch_1", True, ["wrong-state"]), ("ch_2", False, ["wrong-state"])],
)
def test_a_wrong_move_of_a_charge_in_doubt(about: str, is_shown: bool, found: list[str]) -> None:
    story = Story()
    story.call("charge.refund", about, doubt=UncertainResult.RESET)
    if is_shown:
        story.call("charge.get", about)
    story.call("charge.capture", code=54, charge=story.charges["ch_1"])
    assert story.found() == found


PENDING, PAID, FAILED = ChargeState.PENDING, ChargeState.SUCCESS, ChargeState.FAILED
WAITING = ChargeState.PENDING_CHECKOUT


@pytest.mark.parametrize(
    ("states", "moves", "count"),
    [
        ((WAITING, PAID), [("ch_1", "paid", PAID)], 1),
        ((WAITING, PAID), [("ch_1", "declined", FAILED)], 0),
        ((PAID, WAITING), [("ch_2", "pending", PENDING), ("ch_2", "settled", PAID)], 1),
        ((WAITING, WAITING), [("ch_1", "pending", PENDING)], 0),
        (
            (WAITING, WAITING),
            [("ch_1", "pending", PENDING), ("ch_2", "paid", PAID), ("ch_1", "settled", PAID)],
            1,
        ),
        # The first was given back before the second, and its provider has failed to do so.
        ((ChargeState.REFUND, PAID), [("ch_1", "last_refund_failed", PAID)], 0),
        ((WAITING, PAID), "finish", 0),
    ],
)
def test_charges_that_come_to_hold_money_later(
    states: list[ChargeState], moves: object, count: int
) -> None:
    story = Story()
    story.pay("ch_1", states[0], doubt=UncertainResult.RESET)
    story.pay("ch_2", states[1])
    if moves == "finish":
        story.finish()
        story.move("ch_1", "paid", PAID)
    for move in moves if isinstance(moves, list) else ():
        story.move(*move)
    assert story.raised() == {"blind-retry": 1, **({"double-charge": count} if count else {})}
    if count:
        double = next(
            finding for finding in story.watch.ledger if finding.kind.name == "double-charge"
        )
        assert double.about == {"charge": "ch_1"}
        assert double.evidence[-1].line.endswith(("the charge is SUCCESS", "the charge is PENDING"))


@pytest.mark.parametrize(
    "state", [ChargeState.AUTHORISED, PAID, PENDING, ChargeState.PARTIAL_REFUND]
)
def test_states_in_which_both_charges_hold_money(state: ChargeState) -> None:
    story = Story()
    story.pay("ch_1", state, doubt=UncertainResult.RESET)
    story.pay("ch_2", state)
    assert story.found() == TWICE


@pytest.mark.parametrize("state", [FAILED, ChargeState.AUTHORISE_CANCELLED, ChargeState.REFUND])
def test_states_in_which_the_first_charge_holds_none(state: ChargeState) -> None:
    story = Story()
    story.pay("ch_1", state, doubt=UncertainResult.RESET)
    story.call("charge.search", None)
    story.pay("ch_2")
    assert story.found() == []


def _refund(amount: int, at: int) -> Refund:
    return Refund(Decimal(amount), at, None)


@pytest.mark.parametrize(
    ("first", "second", "made", "is_double"),
    [
        (True, True, [1, 2], True),
        (True, True, [1], False),
        (True, True, [2], False),
        # What else was given back at the same instants was asked for by other calls.
        (False, True, [1, 2], False),
        (True, False, [1, 2], False),
    ],
)
def test_refunds_that_were_given_twice(
    first: bool, second: bool, made: list[int], is_double: bool
) -> None:
    story = Story()
    now = charge_in(ChargeState.PARTIAL_REFUND, refunds=tuple(_refund(5, at) for at in made))
    story.charges["ch_1"] = now
    asked = {"request": {"amount": 5}, "charge": now}
    given = Event(Subject.CHARGE, "ch_1", "partly_refunded", None, "PARTIAL_REFUND", 1)
    lost = story.call("charge.refund", at=1, is_open=True, events=[given] if first else (), **asked)
    story.call("charge.refund", at=2, events=[given] if second else (), **asked)
    story.end(lost, UncertainResult.HUNG_UP)
    assert story.found() == (["double-refund"] if is_double else []) + ["blind-retry"]


def test_refunds_that_are_not_shown_yet(story: Story) -> None:
    for at, doubt in ((1, UncertainResult.RESET), (2, None)):
        reserved = (_refund(3, 0), *(_refund(5, one) for one in range(1, at + 1)))
        story.charges["ch_1"] = charge_in(ChargeState.SUCCESS, reserved=reserved)
        story.call(
            "charge.refund", at=at, request={"amount": 5}, charge=story.charges["ch_1"], doubt=doubt
        )
    assert story.found() == ["double-refund", "blind-retry"]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("b_1", "b_2", ["batch-sent-twice", "blind-retry"]),
        ("b_1", "b_1", ["blind-retry"]),
        ("b_1", None, ["blind-retry"]),
        (None, "b_2", ["blind-retry"]),
    ],
)
def test_a_batch_that_is_accepted_twice(
    first: str | None, second: str | None, found: list[str]
) -> None:
    story = Story()
    story.call("batch.create", first, request={"batch": "rows\n"}, doubt=UncertainResult.RESET)
    story.call("batch.create", second, request={"batch": "rows"})
    assert story.found() == found
    assert [
        list(finding.about.values())
        for finding in story.watch.ledger
        if "batch-" in finding.kind.name
    ] in (
        [],
        [["b_1"]],
    )


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        (("g", "g"), ["blind-retry"]),
        (("g", None), ["blind-retry"]),
        ((None, "g"), ["blind-retry"]),
        (("g", "h"), []),
    ],
)
def test_transfers_of_one_group(groups: tuple[str | None, str | None], found: list[str]) -> None:
    story = Story()
    for group, doubt in zip(groups, (UncertainResult.RESET, None), strict=True):
        story.call(
            "transfer.create",
            None,
            request={"transfers": [1], "groupReference": group},
            doubt=doubt,
        )
    assert story.found() == found
    assert story.lines()[1:] == (["transfer.create: answered"] if found else [])


def test_a_chain_of_retries_is_about_the_first_charge_that_was_made(story: Story) -> None:
    for charge_id, doubt in (
        (None, UncertainResult.RESET),
        ("ch_1", UncertainResult.RESET),
        ("ch_2", None),
    ):
        story.pay(charge_id, doubt=doubt)
    found = [(finding.kind.name, finding.about, finding.count) for finding in story.watch.ledger]
    about = {"operation": "charge.create", "charge": "ch_1"}
    assert found == [("blind-retry", about, 2), ("double-charge", {"charge": "ch_1"}, 1)]


def test_a_retry_of_what_was_never_made_is_about_the_operation(story: Story) -> None:
    story.pay(None, doubt=UncertainResult.RESET)
    story.pay(None)
    assert [finding.about for finding in story.watch.ledger] == [{"operation": "charge.create"}]
