"""The table of faults: each row is a rule of the language that strikes at its call and nowhere
else."""

import re

import pytest

from mockserver.adapters.scenario_files import read_text
from mockserver.adapters.strict_yaml import scenario_text
from mockserver.domain.clock import SECOND
from mockserver.domain.record import replace
from mockserver.explore.failures import FAULTS, Fault, InjectionPoint, fault
from mockserver.explore.fault_table import (
    Injection,
    Trial,
    compensated,
    faults_of,
    followed,
    named,
    trials,
)
from mockserver.explore.run_calls import differences, points_of

CHARGE, SEARCH, BATCH = (
    InjectionPoint("charge.create", 1, notifies=True),
    InjectionPoint("charge.search", 1),
    InjectionPoint("batch.create", 2, True, rows=5),
)
OTHERS = (
    InjectionPoint("charge.capture", 1, True, uses="hold"),
    InjectionPoint("charge.create", 1, uses="token"),
    InjectionPoint("vault.get", 1, uses="vault"),
    InjectionPoint("subscription.renew", 1),
    InjectionPoint("batch.row", 2),
    InjectionPoint("webhook.deliver", 3, notifies=True),
)


def fitting(point: InjectionPoint) -> list[str]:
    return [name for name, row in FAULTS.items() if row.fits(point)]


@pytest.mark.parametrize("row", FAULTS.values(), ids=FAULTS)
def test_each_fault_is_a_rule_that_a_scenario_file_may_hold_wherever_it_fits(row: Fault) -> None:
    points = [point for point in (CHARGE, SEARCH, BATCH, *OTHERS) if row.fits(point)]
    assert points
    for point in points:
        text = scenario_text({"version": 1, "name": "story", "rules": [row.timed().rule(point)]})
        [rule] = read_text(text, "story.yaml").rules
        assert row.is_at_start or rule.operations == {point.op}


def test_a_charge_can_fail_in_every_way_but_that_of_a_batch() -> None:
    elsewhere = {name for name, row in FAULTS.items() if row.at in ("batch", "read", "clock")}
    assert fitting(CHARGE) == [
        name for name in FAULTS if name not in elsewhere | {"renewal_failed", "renewal_twice"}
    ]


def test_a_read_meets_the_faults_of_the_network_only() -> None:
    usual = [name for name in fitting(SEARCH) if name != "twice_at_start"]
    assert {FAULTS[name].at for name in usual} == {"receive", "answer", "read"}
    assert "page_lost" not in fitting(InjectionPoint("charge.get", 1))


def test_a_batch_has_rows_that_fail_and_a_webhook_but_no_provider_of_its_own() -> None:
    assert "row_failed" in fitting(BATCH)
    assert {FAULTS[name].at for name in fitting(BATCH)} == {
        *("batch", "receive", "answer", "notify", "crash", "twice")
    }


ROWS = [
    ("row_middle_failed", 3, {"batch": {"rows": [{"at": [2], "decline": "do_not_honour"}]}}),
    ("row_middle_failed", 2, None),
    ("row_last_failed", 7, {"batch": {"rows": [{"at": [7], "decline": "do_not_honour"}]}}),
    ("row_last_failed", 1, None),
    ("batch_cut", 1, None),
]


@pytest.mark.parametrize(("name", "rows", "then"), ROWS)
def test_a_batch_fails_in_the_middle_and_in_the_end_where_it_has_one(
    name: str, rows: int, then: object
) -> None:
    point = InjectionPoint("batch.create", 1, rows=rows)
    assert FAULTS[name].fits(point) is (then is not None)
    assert then is None or FAULTS[name].rule(point)["then"] == then


def test_a_lost_card_stays_lost_and_another_one_is_taken() -> None:
    paid = InjectionPoint("charge.create", 2, card="4111111111")
    assert fault("declined_hard").rule(paid)["when"] == {
        "op": "charge.create",
        "call": {"gte": 2},
        "card": {"bin": "411111", "last4": "1111"},
    }
    assert fault("declined_soft").rule(paid)["when"] == {"op": "charge.create", "call": 2}
    assert fault("declined_hard").rule(OTHERS[0])["when"] == {"op": "charge.capture", "call": 1}


@pytest.mark.parametrize(
    ("name", "point", "other"),
    [
        ("hold_lapsed", OTHERS[0], CHARGE),
        ("token_expired", OTHERS[1], CHARGE),
        ("vault_expired", OTHERS[2], SEARCH),
        ("renewal_twice", OTHERS[3], CHARGE),
        ("pending_failed", OTHERS[4], SEARCH),
        ("webhook_lost", OTHERS[5], OTHERS[4]),
    ],
)
def test_what_fails_only_where_it_is_used(
    name: str, point: InjectionPoint, other: InjectionPoint
) -> None:
    assert FAULTS[name].fits(point)
    assert not FAULTS[name].fits(other)


@pytest.mark.parametrize("point", OTHERS[3:], ids=str)
def test_what_comes_due_without_a_call_is_counted_by_the_rule(point: InjectionPoint) -> None:
    name = next(
        name
        for name in ("renewal_twice", "pending_failed", "webhook_lost")
        if FAULTS[name].fits(point)
    )
    rule = FAULTS[name].rule(point)
    assert (rule["key"], rule["when"]["nth"]) == (["op"], point.nth)


def test_a_webhook_that_was_not_sent_cannot_be_spoilt() -> None:
    assert "webhook_lost" in fitting(CHARGE)
    assert "webhook_lost" not in fitting(InjectionPoint("charge.create", 1))


def test_what_comes_too_late_comes_a_second_after_the_patience_of_the_client() -> None:
    rule = fault("too_slow").timed(2 * SECOND).rule(CHARGE)
    assert rule["then"] == {"transport": {"at": "answer", "delay": "3s"}}


def test_an_unknown_fault_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        ValueError, match="got 'lost_anser', which is not a fault - did you mean 'lost_answer'"
    ):
        fault("lost_anser")


@pytest.mark.parametrize(
    ("chosen", "are_in", "are_out"),
    [
        ("all,-sent_twice", {"bounced", "lost_answer"}, {"sent_twice", "crash_before"}),
        ("-webhook_lost", {"lost_answer"}, {"webhook_lost", "bounced"}),
        ("lost_answer, bounced,-bounced", {"lost_answer"}, {"bounced", "lost_request"}),
    ],
)
def test_a_fault_with_a_minus_is_not_tried(
    chosen: str, are_in: set[str], are_out: set[str]
) -> None:
    names = {row.name for row in faults_of(chosen)}
    assert names >= are_in
    assert names.isdisjoint(are_out)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ("all,-sent_twise", "got 'sent_twise', which is not a fault - did you mean 'sent_twice'"),
        ("bounced,-bounced", "got 'bounced,-bounced', which leaves no fault to try"),
    ],
)
def test_a_minus_before_nothing_that_is_tried_is_refused(chosen: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        faults_of(chosen)


def test_the_weightiest_comes_first() -> None:
    names = [one.file for one in trials([SEARCH, CHARGE], faults_of(None))]
    assert names[:2] == ["charge.create-1-lost_answer", "charge.create-1-error_after"]
    assert names.index("charge.create-1-lost_answer") < names.index("charge.create-1-too_slow")
    assert names[-1] == "charge.search-1-too_slow"
    assert len(names) == len(set(names))


def test_a_second_fault_strikes_what_is_called_after_the_first_also_what_recovers() -> None:
    first = Trial((Injection(CHARGE, fault("lost_answer")),))
    retry = InjectionPoint("charge.create", 2)
    found = followed(
        first,
        [SEARCH, CHARGE, retry],
        [fault("lost_answer"), fault("row_failed"), fault("pending")],
    )
    assert [one.file for one in found] == [
        "charge.create-1-lost_answer--charge.create-2-lost_answer",
        "charge.create-1-lost_answer--charge.create-2-pending",
    ]
    assert (found[0].point, found[0].fault) == (
        "charge.create#1+charge.create#2",
        "lost_answer+lost_answer",
    )
    assert followed(first, [SEARCH], FAULTS.values()) == []


def test_a_command_is_held_once_in_a_run() -> None:
    killed, doubled = fault("crash_between"), fault("twice_at_request")
    retry, at_start = InjectionPoint("charge.create", 2), fault("twice_at_start")
    others = [killed, doubled, at_start, fault("lost_answer")]
    for first in (killed, doubled):
        made = followed(Trial((Injection(CHARGE, first),)), [CHARGE, retry], others)
        assert [one.injections[1][1].name for one in made] == ["lost_answer"]
    made = followed(Trial((Injection(CHARGE, fault("lost_answer")),)), [CHARGE, retry], others)
    names = ["crash_between", "twice_at_request", "lost_answer"]
    assert [one.injections[1][1].name for one in made] == names
    name = "charge.create#1/crash_between+charge.create#2/twice_at_request"
    with pytest.raises(ValueError, match="twice_at_request cannot come after crash_between"):
        named(name, [CHARGE, retry], FAULTS.values())


REFUND = InjectionPoint("charge.refund", 1)


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        ([CHARGE], ["charge.refund#1/lost_answer", "charge.refund#2/lost_answer"]),
        ([CHARGE, REFUND], ["charge.refund#2/lost_answer"]),
    ],
)
def test_a_second_fault_strikes_refunds_that_only_make_good(
    known: list[InjectionPoint], wanted: list[str]
) -> None:
    first = Trial((Injection(CHARGE, fault("lost_answer")),))
    calls = [CHARGE, SEARCH, REFUND, InjectionPoint("charge.refund", 2)]
    faults = [fault("lost_answer"), fault("row_failed"), fault("crash_before")]
    made = compensated(first, calls, known, faults)
    assert [one.name for one in made] == [f"charge.create#1/lost_answer+{name}" for name in wanted]


def test_two_runs_start_at_once_one_time_whatever_the_first_call_is() -> None:
    made = trials([SEARCH, CHARGE], [fault("twice_at_start")])
    assert [one.name for one in made] == ["charge.search#1/twice_at_start"]
    assert made[0].rules[0]["when"] == {"nth": {"lte": 2}}


def test_the_webhook_of_a_payment_that_was_refused_may_come_after_the_next_try() -> None:
    late = [fault("webhook_late"), fault("lost_answer")]
    refused = followed(Trial((Injection(CHARGE, fault("declined_soft")),)), [CHARGE], late)
    assert [one.name for one in refused] == [
        "charge.create#1/declined_soft+charge.create#1/webhook_late"
    ]
    assert named(refused[0].name, [CHARGE], FAULTS.values()) == refused[0]
    # Of a call that was lost the webhook tells how it ended; one that none follows has none.
    assert followed(Trial((Injection(CHARGE, fault("lost_answer")),)), [CHARGE], late) == []
    silent = replace(CHARGE, notifies=False)
    assert followed(Trial((Injection(silent, fault("declined_soft")),)), [silent], late) == []


@pytest.mark.parametrize(
    "name",
    ["charge.create#1/lost_answer", "charge.create#1/lost_request+charge.create#2/declined_hard"],
)
def test_a_trial_is_known_by_its_name(name: str) -> None:
    assert named(name, [CHARGE, SEARCH], FAULTS.values()).name == name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "charge.create#2/lost_answer",
            "the command does not make - did you mean 'charge.create#1'?; its calls:",
        ),
        ("charge.create#1/lost_anser", "is not a fault - did you mean 'lost_answer'"),
        ("charge.search#1/declined_hard", "declined_hard makes no sense at charge.search#1"),
        (
            "charge.create#1/lost_answer+charge.crate#2/lost_answer",
            "got 'charge.crate#2', which the command does",
        ),
    ],
)
def test_a_name_that_says_nothing_to_try_is_refused(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        named(name, [CHARGE, SEARCH], FAULTS.values())


def entry(
    op: str, call: int | None, status: int = 200, webhooks: int = 0, **more: object
) -> dict[str, object]:
    usual = {"path": "/", "token": False, "card": "", "rows": 0}
    return {"op": op, "call": call, "status": status, "webhooks": webhooks, **usual, **more}


def test_rows_renewals_and_later_webhooks_are_points_too() -> None:
    batch = entry("batch.create", 1, rows=5)
    later = [
        entry("clock.batch_rows", None),
        entry("clock.settlement", None, webhooks=1),
        entry("clock.subscription_renewal", None),
    ]
    journal = [entry("charge.create", 1, webhooks=1), batch, *later, *later[2:]]
    assert "batch.row#1" not in [str(point) for point in points_of([batch])]
    assert [str(point) for point in points_of(journal)] == [
        *("charge.create#1", "batch.create#1", "batch.row#1", "batch.row#3", "batch.row#5"),
        *("webhook.deliver#2", "subscription.renew#1", "subscription.renew#2"),
    ]


def test_what_comes_later_has_its_rule_first_as_no_rule_counts_what_another_has_decided() -> None:
    renewals = [InjectionPoint("subscription.renew", nth) for nth in (1, 2)]
    trial = Trial(tuple(Injection(point, FAULTS["renewal_failed"]) for point in renewals))
    assert [rule["when"]["nth"] for rule in trial.rules] == [2, 1]


def test_a_point_knows_what_the_call_needed_and_which_card_paid() -> None:
    paid = entry("charge.create", 1, token=True, card="4111111111")
    [point] = points_of([paid])
    assert (point.uses, point.card) == ("token", "4111111111")
    [read] = points_of([entry("vault.get", 1, path="/vault/v1")])
    assert (read.uses, read.card) == ("vault", "")
    [captured] = points_of([entry("charge.capture", 1)])
    assert captured.uses == "hold"


def test_points_are_the_calls_of_a_journal_and_nothing_else() -> None:
    journal = [
        entry("charge.create", 1, webhooks=1),
        entry("clock.advance", None),
        entry("charge.search", None, 429),
        entry("charge.create", 2),
    ]
    assert points_of(journal) == [
        InjectionPoint("charge.create", 1, True),
        InjectionPoint("charge.create", 2),
    ]
    assert [str(point) for point in points_of(journal)] == ["charge.create#1", "charge.create#2"]


def test_runs_are_the_same_when_the_same_calls_were_answered_alike_in_any_order() -> None:
    first = [entry("charge.create", 1, 201), entry("charge.get", 1)]
    assert differences(first, first[::-1]) == []
    assert differences(first, [*first, entry("none", None, 404)]) == []
    assert differences(first, [*first, entry("charge.get", 2), entry("charge.get", 3)]) == []
    refused = [
        entry("charge.create", 1, 400),
        entry("charge.get", 1, 404),
        entry("charge.create", 2, 400),
    ]
    assert differences(first, refused) == [
        "charge.create answered 201: once in the first run, never in the second",
        "charge.get answered 200: once in the first run, never in the second",
        "charge.create answered 400: never in the first run, twice in the second",
        "charge.get answered 404: never in the first run, once in the second",
    ]
