"""What a rule says must be able to happen, and what it looks at must exist: else it is refused at
load."""

import pytest

from mockserver.domain.reading import camel
from mockserver.engine.step import KINDS
from mockserver.scenario.attempt import Stage
from mockserver.scenario.operations import ABOUT_ONE, OPERATIONS, PROVIDER_OPERATIONS, STATE
from mockserver.scenario.request_fields import fields_of
from mockserver.web.routes import ROUTES
from tests.driving import DUMMY, Api, card, card_charge
from tests.scenario.telling import ask, directing, fault, fires, one, told
from tests.scenario.test_cookbook import story

NO_PAYMENTS = sorted(
    PROVIDER_OPERATIONS - {"charge.create", "batch.row", "payment_link.pay", "subscription.renew"}
)
LATER = [
    *(("pending: {}", f"charge.{name}") for name in ("challenge", "capture", "refund")),
    ("challenge: {}", "token.create"),
]
CELLS = [
    (then, op)
    for then in ("pending: {}", "challenge: {}", "partial_approve: 5")
    for op in NO_PAYMENTS
    if (then, op) not in LATER
]


@pytest.mark.parametrize(("then", "op"), CELLS)
def test_what_only_a_payment_can_be_is_refused_elsewhere(then: str, op: str) -> None:
    word = then.partition(":")[0]
    words = fault(one(f"{{op: {op}}}", f"then: {{{then}}}"))
    assert f"rules[0].when.op: {word} means nothing in {op}; it fits batch.row, charge." in words
    assert "charge.create" in words
    assert "subscription.renew" in words


@pytest.mark.parametrize(
    "op", ["charge.create", "batch.row", "payment_link.pay", "subscription.renew"]
)
@pytest.mark.parametrize("then", ["pending: {}", "challenge: {}", "partial_approve: 5"])
def test_it_fits_every_way_to_pay(then: str, op: str) -> None:
    (rule,) = told(one(f"{{op: {op}}}", f"then: {{{then}}}")).rules
    assert rule.operations == {op}


MISFITS = [
    (
        "charge.get",
        "webhook: {drop: true}",
        "webhook means nothing in charge.get; it fits batch.create",
    ),
    ("vault.create", "webhook: {drop: true}", "webhook means nothing in vault.create"),
    ("[charge.create, charge.get]", "decline: lost_card", "no provider is asked in charge.get"),
    ("[charge.create, charge.void]", "pending: {}", "pending means nothing in charge.void"),
    ("batch.row", "latency: 1s", "latency means nothing in batch.row"),
    ("webhook.deliver", "later: [{after: 1s, void: {}}]", "a delivery takes only webhook outcomes"),
    (
        "charge.create",
        "later: [{after: 1s, delete: {}}]",
        "later: delete means nothing in charge.create; it fits customer.",
    ),
    (
        "customer.create",
        "later: [{after: 1s, refund: {}}]",
        "later: refund means nothing in customer.create",
    ),
    (
        "vault.create",
        "later: [{after: 1s, settle: FAILED}]",
        "later: settle means nothing in vault.create",
    ),
    (
        "vault.create",
        "later: [{after: 1s, set: {payto.status: ACTIVE}}]",
        "later: set payto.status means nothing",
    ),
    (
        "charge.create",
        "later: [{after: 1s, set: {subscription.status: Active}}]",
        "later: set subscription.status",
    ),
    ("payment_method.*", "batch: {end: FAILED}", "use op: batch.create"),
]


@pytest.mark.parametrize(("op", "then", "words"), MISFITS)
def test_an_outcome_that_cannot_happen_is_refused(op: str, then: str, words: str) -> None:
    assert words in fault(one(f"{{op: {op}}}", f"then: {{{then}}}"))


@pytest.mark.parametrize(
    ("op", "then", "fits"),
    [
        ("'charge.*'", "webhook: {drop: true}", "capture challenge create refund void"),
        ("'charge.*'", "pending: {}", "challenge create"),
        (
            "'charge.*'",
            "later: [{after: 1s, void: {}}]",
            "capture challenge create get refund void",
        ),
    ],
)
def test_a_glob_means_the_operations_that_fit(op: str, then: str, fits: str) -> None:
    (rule,) = told(one(f"{{op: {op}}}", f"then: {{{then}}}")).rules
    assert rule.operations == {f"charge.{name}" for name in fits.split()}


def test_every_step_must_fit() -> None:
    steps = "sequence: [{decline: lost_card}, {pending: {}}]"
    assert "pending means nothing in charge.void" in fault(one("{op: charge.void}", steps))
    chance = "chance: [{weight: 1, then: {pending: {}}}, {weight: 1, then: {decline: lost_card}}]"
    assert "pending means nothing in charge.void" in fault(one("{op: charge.void}", chance))


@pytest.mark.parametrize("op", ["batch.row", "subscription.renew"])
def test_what_nobody_asks_for_is_decided_with_its_provider(op: str) -> None:
    director = directing(told(one(f"{{op: {op}}}", "then: {webhook: {drop: true}}")))
    assert ask(director, Stage.PROVIDER, also=op).rule == "r"
    assert "a rule that looks at no provider means nothing in batch.row" in fault(
        one("{op: [charge.create, batch.row]}", "then: {webhook: {drop: true}}")
    )


def test_the_source_is_known_when_the_provider_is_asked() -> None:
    director = directing(
        told(one("{source: card}", "then: {transport: {at: receive, status: 503}}"))
    )
    assert ask(director, Stage.ARRIVAL).rule is None
    assert ask(director, Stage.PROVIDER, source="card").rule == "r"
    rule = "{id: r, when: {source: card}, then: {transport: {at: receive, status: 503}}}"
    api = Api(scenario=f"version: 1\nname: s\nrules: [{rule}]")
    assert api.post("/charge/card", card_charge()).status == 503


NOWHERE = [
    ("request.amount: abc", "rules[0].when.request.amount: got 'abc', wanted a number"),
    ("request.amount: {in: [5, abc]}", "got 'abc', wanted a number"),
    ("request.amount: {gt: '5,5'}", "got '5,5', wanted a number"),
    ("request.capture: yes", "got 'yes', wanted true or false"),
    ("request.capture: {gt: 1}", "got gt, and true or false is neither more nor less than another"),
    (
        "request.initiator: MERCHNT",
        "got 'MERCHNT', wanted a known word, allowed: CUSTOMER, MERCHANT - did you mean",
    ),
    (
        "request.order.items.0.amont: 5",
        "which is not a field of a request (names are camelCase) - did you mean 'amount'?",
    ),
    ("request.order.colour: red", "in request.order there is discountAmount, duty"),
    ("request.metadata.a.b.c: 5", None),
    ("request.amount.value: 5", "in request.amount there is nothing"),
    ("state.day: 5", "wanted state.<kind>.<field> with one of charge, vault"),
    ("state.chrge.status: SUCCESS", "did you mean 'charge'?"),
    ("state.charge.amont: 5", "no such field - did you mean 'amount'?"),
    ("state.charge.amount: abc", "got 'abc', wanted a number"),
    ("state.charge.status: SUCESS", "did you mean 'SUCCESS'?"),
    ("state.charge.status: {in: [Authorised, SUCCESS]}", None),
    ("state.charge.payer.firstName: Ann", None),
    ("state.charge.id: x", "did you mean 'chargeId'?"),
    ("state.charge: {exists: true}", None),
    ("op: charge.refund, request.capture: false", "in charge.refund there is amount, comment"),
    ("op: charge.void, request.amount: 5", "in charge.void there is nothing"),
    (
        "op: batch.row, header.x-run: 5",
        "no request comes in for batch.row, so there are no headers",
    ),
    ("op: batch.row, request.capture: true", "in batch.row there is amount, currency, metadata"),
    (
        "op: charge.refund, state.customer.reference: X",
        "in charge.refund there is no customer: there is state.charge",
    ),
    (
        "op: [charge.void, charge.capture], state.paymentMethod: {exists: true}",
        "in charge.capture or charge.void there is no payment method: there is state.charge",
    ),
    ("op: [charge.create, charge.refund], state.customer.reference: X", None),
    ("op: charge.refund, overlaps: customer", "there is no customer: there is state.charge"),
    ("op: charge.refund, overlaps: charge", None),
    ("op: charge.refund, age: {above: 1d}", None),
    ("op: charge.refund, state.customer: {exists: false}", "there is no customer"),
]


@pytest.mark.parametrize(("when", "words"), NOWHERE)
def test_a_test_that_nothing_can_meet_is_refused(when: str, words: str | None) -> None:
    if words is None:
        told(one(f"{{{when}}}"))
    else:
        assert words in fault(one(f"{{{when}}}"))


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("state.day", "rules[0].key[0]: got 'state.day', wanted state.<kind>.<field>"),
        ("state.charge.refrence", "did you mean 'reference'?"),
        ("request.refrence", "did you mean 'reference'?"),
        (
            "request.expireSeconds",
            "which is not a field of a request (names are camelCase) - did you mean 'vaultExpire",
        ),
        (
            "request.colour",
            "which is not a field of a request (names are camelCase), of no operation that the "
            "rule names",
        ),
    ],
)
def test_a_key_that_nothing_has_is_refused(key: str, words: str) -> None:
    assert words in fault(one(more=f"key: [{key}]"))


def test_a_row_of_a_batch_has_numbers_for_amounts() -> None:
    rows = "then: {batch: {rows: [{where: {amount: abc}, decline: lost_card}]}}"
    assert "got 'abc', wanted a number" in fault(one("{op: batch.create}", rows))


@pytest.mark.parametrize(
    "sent", [100, "100", "1e2", "+100", " 100 ", "0100", "100.00", "1E+2", "10e1"]
)
@pytest.mark.parametrize(
    "wanted",
    ["100", "'1e2'", "{in: [5, '+100']}", "{gte: '0100', lt: 101}", "{between: [99, 100]}"],
)
def test_amounts_are_compared_as_the_api_reads_them(sent: object, wanted: str) -> None:
    assert fires(f"{{request.amount: {wanted}}}", request={"amount": sent})
    assert not fires(f"{{request.amount: {wanted}}}", request={"amount": "1000"})


@pytest.mark.parametrize(
    ("when", "taken", "left"),
    [
        ("request.capture: false", [False, "false", "False", "FALSE"], [True, "no", None, 0]),
        ("request.initiator: MERCHANT", ["MERCHANT", "merchant", 1, "1"], ["CUSTOMER", 0, None, 7]),
        ("request.initiator: merchant", ["MERCHANT", "merchant"], ["CUSTOMER"]),
    ],
)
def test_flags_and_choices_are_compared_as_the_api_reads_them(
    when: str, taken: list[object], left: list[object]
) -> None:
    name = when[len("request.") :].partition(":")[0]
    assert [value for value in taken if not fires(f"{{{when}}}", request={name: value})] == []
    assert [value for value in left if fires(f"{{{when}}}", request={name: value})] == []


def test_equal_amounts_are_one_key() -> None:
    director = directing(told(one("{nth: 2}", more="key: [request.amount]")))
    seen = [
        ask(director, request={"amount": amount}).rule
        for amount in (100, "1e2", "100.00", "50", " 50 ")
    ]
    assert seen == [None, "r", None, None, "r"]


RULE = (
    "version: 1\nname: s\nrules: [{id: r, when: {op: charge.create, request.amount: 100}, "
    "then: {decline: lost_card}}]"
)


@pytest.mark.parametrize("amount", [100, "1e2", "+100", " 100 ", "0100"])
def test_the_sandbox_declines_what_the_rule_means(amount: object) -> None:
    assert Api(scenario=RULE).post("/charge/card", card_charge(amount=amount))["code"] == 941


@pytest.mark.parametrize(
    "amount", ["1e400", '"1e400"', "1" * 400, '"' + "1" * 400 + '"', "1e99", '"1e99"']
)
def test_a_number_is_refused_for_the_same_reason_as_its_text(amount: str) -> None:
    raw = f'{{"amount": {amount}, "providerId": "{DUMMY}", "paymentInformation": {{"cardNumber": "4111111111111111", '
    refused = Api().send("POST", "/charge/card", raw.encode() + b'"expiryDate": "12/40"}}')
    assert (refused.status, refused["code"]) == (400, 2)


def test_a_named_outcome_that_means_nothing_there_is_refused() -> None:
    rule = "{id: r, when: {op: payment_method.create}, then: {outcome_from: request.metadata.mock}}"
    api = Api(scenario=f"version: 1\nname: s\nrules: [{rule}]")
    body = {"providerId": DUMMY, "paymentInformation": card(), "metadata": {"mock": "pending"}}
    refused = api.post("/payment_method/card", body)
    assert (refused.status, refused["code"]) == (400, 90)
    assert (
        refused["message"]
        == "request.metadata.mock: got 'pending', which means nothing in payment_method.create"
    )


@pytest.mark.parametrize(
    ("op", "statuses"),
    [
        ("charge.get", [503, 200, 503, 200]),
        ("charge.*", [503, 200, 200, 200]),
        ("'*'", [503, 200, 200, 200]),
    ],
)
def test_reads_are_counted_by_the_object_where_all_of_a_rule_are_about_one(
    op: str, statuses: list[int]
) -> None:
    api = Api(scenario=None)
    ids = [api.charge()["chargeId"] for _ in range(2)]
    assert (
        api.put("/__admin/scenarios", {"version": 1, "rules": [_first_call(op.strip("'"))]}).status
        == 200
    )
    assert [api.get(f"/charge/{ids[index]}").status for index in (0, 0, 1, 1)] == statuses


def _first_call(op: str) -> dict[str, object]:
    then = {"transport": {"at": "receive", "status": 503}}
    return {"id": "r", "when": {"op": op, "nth": 1}, "then": then}


def test_the_operations_about_one_object_are_those_whose_path_names_one() -> None:
    of_another = {"payment_method.create", "customer.create", "info.get"}
    named = {
        route.op for route in ROUTES if "{" in route.path and route.op in OPERATIONS
    } - of_another
    assert named == ABOUT_ONE - {"webhook.deliver"}


def test_more_copies_than_fit_at_once_are_refused() -> None:
    together = "then: {{webhook: {{together: true, copies: {}}}}}"
    assert "at most 10 go out at one instant" in fault(
        one("{op: charge.create}", together.format(11))
    )
    told(one("{op: charge.create}", together.format(10)))


def test_rows_of_a_batch_that_fails_are_said_where_some_are_reached() -> None:
    rows = "rows: [{at: [2], stall: {}}], end: FAILED"
    assert "no row is ever reached" in fault(
        one("{op: batch.create}", f"then: {{batch: {{{rows}}}}}")
    )
    told(
        one(
            "{op: batch.create}",
            f"then: {{batch: {{{rows}, progress: [{{reach: 0.5, after: 1m}}]}}}}",
        )
    )


REPLAY = "then: {replay: true}"


@pytest.mark.parametrize(
    ("when", "what", "more"),
    [
        ("{op: charge.create}", REPLAY, "limit: 1"),
        ("{op: charge.create}", REPLAY, "limit: {times: 1, per: key}"),
        ("{op: charge.create, nth: 2}", REPLAY, ""),
        ("{op: charge.create}", "sequence: [{replay: true}]", ""),
        ("{op: charge.create}", "then: {replay: true, transport: {at: receive, status: 503}}", ""),
    ],
)
def test_a_replay_that_can_give_nothing_again_is_refused(when: str, what: str, more: str) -> None:
    assert "got replay with" in fault(one(when, f"key: [request.reference]\n    {what}", more))


@pytest.mark.parametrize(
    ("when", "what", "more"),
    [
        ("{op: charge.create}", REPLAY, "limit: 2"),
        ("{op: charge.create, nth: {gte: 2}}", REPLAY, ""),
        ("{op: charge.create}", "sequence: [{replay: true, times: 2}]", ""),
        ("{op: charge.create}", "sequence: [{replay: true}]", "at_end: hold"),
        ("{op: charge.create}", "then: {replay: true, transport: {at: receive, delay: 1s}}", ""),
        ("{op: charge.create}", "then: {replay: true, transport: {at: answer, reset: true}}", ""),
    ],
)
def test_a_replay_of_two_calls_or_more_is_taken(when: str, what: str, more: str) -> None:
    told(one(when, f"key: [request.reference]\n    {what}", more))


def test_an_operation_about_no_object_has_no_state_and_no_age() -> None:
    breaks = "then: {transport: {at: receive, status: 503}}"
    refused = fault(one("{op: settlement.search, state.charge.status: SUCCESS}", breaks))
    assert "in settlement.search there is no charge: there is no stored object" in refused
    refused = fault(one("{op: settlement.search, age: {above: 1d}}", breaks))
    assert "in settlement.search there is no object, so nothing has an age" in refused
    told(one("{op: [settlement.search, charge.get], age: {above: 1d}}", breaks))
    told(
        one("{op: webhook.deliver, state.transfer.status: SUCCESS}", "then: {webhook: {copies: 2}}")
    )


def test_a_key_of_an_object_that_is_not_there_is_refused() -> None:
    rule = one("{op: charge.refund}", more="key: [state.customer.reference]")
    assert "in charge.refund there is no customer" in fault(rule)
    told(one("{op: charge.refund}", more="key: [state.charge.reference]"))


def test_the_table_of_operations_has_every_object_that_a_route_or_a_request_names() -> None:
    for op, there in STATE.items():
        paths = [route.path for route in ROUTES if route.op == op]
        for kind, of in KINDS.items():
            is_in_path = any(f"{{{of.id_name}}}" in path for path in paths)
            if is_in_path or camel(of.id_name) in fields_of({op}):
                assert kind in there, (op, kind)


def test_the_table_of_operations_has_every_object_that_a_long_story_is_about() -> None:
    api = Api(scenario=None, skips=True)
    story(api)
    seen = set()
    (sandbox,) = api.app.world.sandboxes.in_memory.values()
    for entry in sandbox.journal.entries:
        about = {kind for kind, _ in entry.about}
        for decision in [each for each in entry.decisions if each.is_about_request]:
            op = decision.also or decision.op
            seen.add(op)
            for name in (op, decision.op):
                assert about <= STATE[name], (name, about)
    assert {"charge.create", "charge.refund", "subscription.renew"} <= seen
