"""A state document that was edited by hand: what makes no sense is refused, with every place, and
changes nothing."""

import types
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import pytest

from mockserver.domain.constraints import CodeOfCurrency, IdIn, InCurrency, Within
from mockserver.engine.schedule import Due
from mockserver.engine.tables import ROW_CLASSES
from tests.control.test_state import fill, fill_everything
from tests.driving import DUMMY, NOW, Api

Document = dict[str, Any]
BATCH = "PaymentMethodId,Amount,Currency,Reference\nnobody,5,AUD,a\nnobody,6,AUD,b\n"


def rich() -> tuple[Api, Document]:
    """A sandbox with rows in every table, and its export."""
    api = Api()
    then = {"later": [{"after": "1d", "capture": {"amount": 3}}]}
    rows = {"batch": {"rows": [{"at": [2], "decline": "lost_card"}]}}
    rules = [
        {
            "id": "later",
            "when": {"op": "charge.create", "request.reference": "later"},
            "then": then,
        },
        {"id": "rows", "when": {"op": "batch.create"}, "then": rows},
    ]
    assert (
        api.call("PUT", "/__admin/scenarios", {"version": 1, "name": "s", "rules": rules}).status
        == 200
    )
    fill(api)
    fill_everything(api)
    assert api.try_charge(4, capture=False, reference="later").status == 201
    body = {"count": 2, "description": "d", "batch": BATCH}
    assert api.call("POST", "/batch/transaction/payment_method", body).status < 300
    return api, api.call("GET", "/__admin/state?secrets=true").body


@pytest.fixture(scope="module")
def prepared() -> tuple[Api, bytes]:
    api, _ = rich()
    return api, api.call("GET", "/__admin/state?secrets=true").raw


def refused(prepared: tuple[Api, bytes], change: Callable[[Document], Any]) -> dict[str, str]:
    """What is told of an export that was changed; it must be refused and change nothing."""
    api, raw = prepared
    document = api.call("GET", "/__admin/state?secrets=true").body
    change(document)
    reply = api.call("PUT", "/__admin/state", document)
    assert (reply.status, reply.body["code"]) == (400, 90), reply.raw
    assert api.call("GET", "/__admin/state?secrets=true").raw == raw
    return reply.body["details"]


def at(*path: str | int) -> Callable[[object], Callable[[Document], None]]:
    """Sets what stands at a path."""

    def to(value: object) -> Callable[[Document], None]:
        def change(document: Document) -> None:
            found: Any = document
            for part in path[:-1]:
                found = found[part]
            found[path[-1]] = value(found[path[-1]]) if callable(value) else value

        return change

    return to


def entry(document: Document, what: str) -> int:
    return next(
        place for place, row in enumerate(document["schedule"]["entries"]) if row[2] == what
    )


def scheduled(what: str, part: int, value: object) -> Callable[[Document], None]:
    return lambda document: at("schedule", "entries", entry(document, what), part)(value)(document)


CHARGE = ("tables", "charges", 0)
SENSELESS: dict[str, tuple[Callable[[Document], Any], str, str]] = {
    "a provider that is not there": (
        at(*CHARGE, "provider", "provider_id")("x"),
        "Tables.charges.0.provider.provider_id",
        "got 'x', wanted the id of a row of tables.providers",
    ),
    "a default method that is not there": (
        at("tables", "customers", 0, "default_payment_method_id")("x"),
        "Tables.customers.0.default_payment_method_id",
        "got 'x', wanted the id of a row of tables.payment_methods",
    ),
    "a method of another customer": (
        lambda document: at("tables", "customers", 0, "default_payment_method_id")(
            document["tables"]["customers"][1]["default_payment_method_id"]
        )(document),
        "Tables.customers.0.default_payment_method_id",
        "of another customer",
    ),
    "a negative amount": (
        at(*CHARGE, "authorised")("-1"),
        "Tables.charges.0.authorised",
        "got -1, wanted 0 or more",
    ),
    "too many decimals": (
        at(*CHARGE, "authorised")("1.234"),
        "Tables.charges.0.authorised",
        "AUD has 2 digits",
    ),
    "too many digits": (
        at(*CHARGE, "authorised")("1" * 17),
        "Tables.charges.0.authorised",
        "at most 15",
    ),
    "an unknown currency": (
        at(*CHARGE, "currency")("AUX"),
        "Tables.charges.0.currency",
        "did you mean 'AUD'?",
    ),
    "a currency in small letters": (
        at(*CHARGE, "currency")("aud"),
        "Tables.charges.0.currency",
        "capital letters",
    ),
    "a provider's currency": (
        at("tables", "providers", 0, "currency")("X"),
        "Tables.providers.0.currency",
        "ISO 4217",
    ),
    "an unknown state": (
        at(*CHARGE, "status")("PAYED"),
        "Tables.charges.0.status",
        "PARTIAL_REFUND",
    ),
    "refunds that do not add up": (
        at(*CHARGE, "refunded")("5"),
        "Tables.charges.0.refunded",
        "come to 5.25",
    ),
    "a refund in a state without": (
        at(*CHARGE, "status")("SUCCESS"),
        "Tables.charges.0.refunded",
        "wanted nothing",
    ),
    "a part where all was refunded": (
        at(*CHARGE, "status")("REFUND"),
        "Tables.charges.0.refunded",
        "all of the amount",
    ),
    "an id given twice": (
        lambda document: document["tables"]["vault"].append(document["tables"]["vault"][-1]),
        "Tables.vault.3.vault_id",
        "wanted an id that no row before it has",
    ),
    "an empty id": (at("tables", "vault", 0, "vault_id")(""), "Tables.vault.0.vault_id", "got ''"),
    "rows in another order": (
        at(*CHARGE, "added")(lambda added: added + 1),
        "Tables.charges.0.added",
        "the clock stands at 2031-03-01T00:00:00",
    ),
    "a row before the one above it": (
        at("tables", "charges", 1, "added")(lambda added: added - 1),
        "Tables.charges.1.added",
        "in the order in which they were added",
    ),
    "a counter that lags behind": (
        at("counters", "charge")(1),
        "Counters.charge",
        "ids are never reused",
    ),
    "a negative counter": (at("counters", "card")(-1), "Counters.card", "got -1, wanted 0 to"),
    "a schedule for nobody": (
        scheduled("vault_expiry", 3, "x"),
        "Schedule.entries.*.3",
        "got 'x', wanted the id of a row of tables.vault",
    ),
    "an order given twice": (
        lambda document: at("schedule", "entries", 0, 1)(document["schedule"]["entries"][1][1])(
            document
        ),
        "Schedule.entries.1.1",
        "of its own",
    ),
    "an order beyond the last": (
        scheduled("vault_expiry", 1, 10**6),
        "Schedule.entries.*.1",
        "a number from 1 to",
    ),
    "no kind of later": (
        scheduled("later", 4, "chrage|capture|3|"),
        "Schedule.entries.*.4",
        "got 'chrage'",
    ),
    "no move of later": (
        scheduled("later", 4, "charge|captured|3|"),
        "Schedule.entries.*.4",
        "got 'captured'",
    ),
    "no amount of later": (
        scheduled("later", 4, "charge|capture|x|"),
        "Schedule.entries.*.4",
        "got 'x|'",
    ),
    "nothing of later": (scheduled("later", 4, ""), "Schedule.entries.*.4", "got ''"),
    "an event of later without data": (
        scheduled("later", 4, "charge|emit|dispute.created|[]"),
        "Schedule.entries.*.4",
        "wanted event|data",
    ),
    "an event of later whose data is a number": (
        scheduled("later", 4, 'charge|emit|dispute.created|{"$kind":"Decimal","value":"1"}'),
        "Schedule.entries.*.4",
        "wanted event|data",
    ),
    "an event of later with what is no number": (
        scheduled("later", 4, 'charge|emit|dispute.created|{"a":{"$kind":"Decimal","value":"x"}}'),
        "Schedule.entries.*.4",
        "wanted event|data",
    ),
    "an event of later that is too deep": (
        scheduled("later", 4, 'charge|emit|dispute.created|{"a":' + "[" * 64 + "]" * 64 + "}"),
        "Schedule.entries.*.4",
        "wanted event|data",
    ),
    "an event of later that no reader gets to the end of": (
        scheduled("later", 4, 'charge|emit|dispute.created|{"a":' + "[" * 100_000),
        "Schedule.entries.*.4",
        "wanted event|data",
    ),
    "a batch without rows": (
        at("tables", "batches", 1, "rows")([]),
        "Tables.batches.1.rows",
        "one or more",
    ),
    "a count of rows": (
        at("tables", "batches", 1, "success")(1),
        "Tables.batches.1.success",
        "got 1, wanted 0",
    ),
    "a row ahead of its batch": (
        at("tables", "batches", 1, "rows", 1, "status")("CREATED"),
        "Tables.batches.1.rows.1.status",
        "got CREATED, wanted RECEIVED in a batch in RECEIVED",
    ),
    "a pace without end": (
        at("tables", "batches", 1, "pace", "steps")([]),
        "Tables.batches.1.pace.steps",
        "0 to 2",
    ),
    "a pace beyond the end": (
        at("tables", "batches", 1, "pace", "last")(3),
        "Tables.batches.1.pace.last",
        "at most 2",
    ),
    "a script for no row": (
        lambda document: next(iter(document["records"]["scripts"].values())).update(
            {"3": {"$kind": "Approve"}}
        ),
        "Records.scripts.*.3",
        "a row from 1 to 1",
    ),
    "a counter of a rule": (
        at("rules", "rules", "rows", "calls")(-1),
        "Rules.rules.rows.calls",
        "got -1, wanted 0 to",
    ),
    "a counter of a rule that is none": (
        at("rules", "rules", "rows", "calls")(None),
        "Rules.rules.rows.calls",
        "whole",
    ),
    "a latency that ends before it begins": (
        at("tables", "providers", 0, "latency")([2, 1]),
        "Tables.providers.0.latency",
        "the shorter first",
    ),
    "an unknown type of provider": (
        at("tables", "providers", 0, "summary", "type")("dumy"),
        "Tables.providers.0.summary.type",
        "did you mean 'dummy'?",
    ),
    "an agreement without bounds": (
        at("tables", "payto", 0, "maximum_amount")(10_000),
        "Tables.payto.0.maximum_amount",
        "got 10000, wanted 1 to 9999",
    ),
    "a used token that is active": (
        at("tables", "tokens", 0, "uses")(0),
        "Tables.tokens.0.uses",
        "1 or more",
    ),
    "an answer that nobody asked for": (
        at("tables", "tokens", 0, "answer")("pass"),
        "Tables.tokens.0.answer",
        "none",
    ),
    "a link that counts another's payments": (
        at("tables", "payment_links", 0, "payments")(1),
        "Tables.payment_links.0.payments",
        "got 1, wanted 0: so many of its charges are paid",
    ),
    "a subscription that waits for nothing": (
        at("tables", "subscriptions", 0, "open_payments")(1),
        "Tables.subscriptions.0.open_payments",
        "got 1, wanted 0: so many of its charges are under way",
    ),
    "a misspelt field": (
        lambda document: document["tables"]["charges"][0].update({"refrence": "x"}),
        "Tables.charges.0.refrence",
        "unknown field - did you mean 'reference'?",
    ),
}


@pytest.mark.parametrize("name", SENSELESS)
def test_what_makes_no_sense_is_refused_with_its_place(
    prepared: tuple[Api, bytes], name: str
) -> None:
    change, place, words = SENSELESS[name]
    details = refused(prepared, change)
    head, star, tail = place.partition("*")
    found = [
        told for where, told in details.items() if where.startswith(head) and where.endswith(tail)
    ]
    assert found if star else place in details, details
    assert any(words in told for told in (found if star else [details[place]])), details


def test_all_faults_are_reported_at_once(prepared: tuple[Api, bytes]) -> None:
    def spoil(document: Document) -> None:
        document["tables"]["charges"][0]["provider"]["provider_id"] = "x"
        document["tables"]["charges"][1]["currency"] = "AUX"
        document["tables"]["vault"][0]["vault_id"] = ""
        document["counters"]["charge"] = 0

    places = [
        "Tables.charges.0.provider.provider_id",
        "Tables.charges.1.currency",
        "Tables.vault.0.vault_id",
    ]
    assert {*places, "Counters.charge"} <= set(refused(prepared, spoil))


def test_all_misfits_are_reported_at_once_and_not_without_end(prepared: tuple[Api, bytes]) -> None:
    def spoil(document: Document) -> None:
        del document["tables"]["charges"][0]["amount"]
        document["tables"]["charges"][1]["amount"] = 5
        document["tables"]["vault"][0]["state"] = "kept"

    details = refused(prepared, spoil)
    assert set(details) == {
        "Tables.charges.0.amount",
        "Tables.charges.1.amount",
        "Tables.vault.0.state",
    }
    assert details["Tables.charges.0.amount"] == "missing, a state document has it"
    many = refused(prepared, at("tables", "charges")([{"x": 1}] * 500))
    assert 20 <= len(many) <= 60


def test_a_card_number_in_a_faulty_place_is_masked(prepared: tuple[Api, bytes]) -> None:
    number = "4539578763621486"
    details = refused(prepared, at(*CHARGE, "provider", "provider_id")(number))
    assert number not in str(details)


SENSIBLE: dict[str, Callable[[Document], Any]] = {
    "nothing": lambda document: None,
    "another reference": at(*CHARGE, "reference")("mended"),
    "an earlier beginning": at(*CHARGE, "added")(lambda added: added - 3_600_000_000),
    "a customer renamed": at("tables", "customers", 0, "first_name")("Zoë"),
    "a higher counter": at("counters", "charge")(1_000),
    "no schedule": at("schedule", "entries")([]),
    "an event of later as deep as a body": scheduled(
        "later",
        4,
        'charge|emit|dispute.created|{"n":{"$kind":"Decimal","value":"1"},"a":'
        + ("[" * 63 + "]" * 63 + "}"),
    ),
    "an agreement that was taken back": at("tables", "payto", 0, "status")("CANCELLED"),
}


@pytest.mark.parametrize("name", SENSIBLE)
def test_what_makes_sense_is_taken_and_comes_out_again(name: str) -> None:
    api, document = rich()
    SENSIBLE[name](document)
    assert api.call("PUT", "/__admin/state", document).status == 200
    assert api.call("GET", "/__admin/state?secrets=true").body == document


def test_a_document_of_a_machine_whose_clock_is_ahead_is_taken() -> None:
    ahead, behind = Api(clock="real"), Api(clock="real", real_clock=lambda: NOW - 60_000_000)
    ahead.try_charge(reference="early")
    assert (
        behind.call("PUT", "/__admin/state", raw=ahead.call("GET", "/__admin/state").raw).status
        == 200
    )
    assert behind.try_charge(reference="late").status == 201
    again = behind.call("GET", "/__admin/state").raw
    assert behind.call("PUT", "/__admin/state", raw=again).status == 200
    assert [row["reference"] for row in behind.call("GET", "/charge").body["charges"]] == [
        "late",
        "early",
    ]


# What the types of the rows say of ids, amounts and currencies.

FOREIGN = {
    "charges.provider_charge_id": "the provider's",
    "charges.three_ds_server_trans_id": "a 3-D Secure server's",
    "charges.instrument.card.three_ds_server_trans_id": "a 3-D Secure server's",
    "payment_methods.instrument.card.three_ds_server_trans_id": "a 3-D Secure server's",
    "tokens.instrument.card.three_ds_server_trans_id": "a 3-D Secure server's",
    "network_tokens.card.three_ds_server_trans_id": "a 3-D Secure server's",
    "payment_methods.provider_payment_method_id": "the provider's",
    "tokens.gateway_token_id": "the provider's",
    "network_tokens.scheme_token_id": "the scheme's",
    "providers.three_ds_provider_id": "free text, as when a provider is made",
    "payment_links.invoice_id": "the shop's",
    "batches.rows.*.payment_method_id": "a row may name none that is known, and fails then",
    "payto.pay_id.pay_id": "the payer's",
}
"""Ids that name nothing in the document, and whose they are."""

FREE = {
    "subscriptions.open_amount": "follows its charges, and one may be captured for less than was "
    "open",
    "batches.rows.*.amount": "as handed in: a row with a wrong amount fails",
    **{
        f"providers.{list_name}.*.{bound}_than": "as given"
        for list_name in ("hide", "require")
        for bound in ("less", "greater")
    },
}
"""Numbers without bounds."""


def leaves(annotation: Any, path: str) -> Iterator[tuple[str, Any, tuple[object, ...]]]:
    """Every field of a class and of the classes inside it, by its path, with its type and its
    constraints."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        for arg in args:
            yield from leaves(arg, path)
    elif origin is Annotated:
        yield path, args[0], args[1:]
    elif is_dataclass(annotation):
        hints = get_type_hints(annotation, include_extras=True)
        for field in fields(annotation):
            if field.init and field.name != "seq":
                yield from leaves(hints[field.name], f"{path}.{field.name}")
    elif origin in (tuple, list) or (origin is not None and len(args) == 1):
        yield from leaves(args[0], f"{path}.*")
    elif annotation is not types.NoneType:
        yield path, annotation, ()


LEAVES = [leaf for name, row in ROW_CLASSES.items() for leaf in leaves(row, name)]


def test_every_id_is_a_reference_or_named_as_none() -> None:
    own = {f"{name}.{fields(row)[0].name}" for name, row in ROW_CLASSES.items()}  # type: ignore[arg-type]
    ids = {path: rules for path, _, rules in LEAVES if path.endswith("_id")}
    assert {
        path for path, rules in ids.items() if not any(isinstance(rule, IdIn) for rule in rules)
    } == {
        *own,
        *FOREIGN,
    }
    named = {rule.table for _, _, rules in LEAVES for rule in rules if isinstance(rule, IdIn)}
    assert named | {one.table for one in Due if one.table is not None} <= ROW_CLASSES.keys()


def test_every_amount_has_bounds_or_a_reason_for_none() -> None:
    bounds = {path: rules for path, kind, rules in LEAVES if kind is Decimal}
    free = {
        path
        for path, rules in bounds.items()
        if not any(isinstance(rule, InCurrency | Within) for rule in rules)
    }
    assert free == FREE.keys()
    currencies = {
        path: CodeOfCurrency() in rules for path, _, rules in LEAVES if path.endswith(".currency")
    }
    assert {path for path, known in currencies.items() if not known} == {
        "batches.rows.*.currency",
        "providers.hide.*.currency",
        "providers.require.*.currency",
    }
    for path in (path for path, rules in bounds.items() if InCurrency() in rules):
        assert f"{path.partition('.')[0]}.currency" in currencies


def test_every_object_is_listed_by_its_kind() -> None:
    api, document = rich()
    counts = api.call("GET", "/__admin/objects").body["counts"]
    for kind, count in counts.items():
        reply = api.call("GET", f"/__admin/objects?kind={kind}")
        assert (reply.status, reply.body["count"]) == (200, count), kind
        for row in reply.body["objects"]:
            assert api.call("GET", f"/__admin/objects/{kind}/{row['id']}").status == 200, (
                kind,
                row["id"],
            )
    assert counts["provider"] == len(document["tables"]["providers"])
    assert DUMMY in [row["provider_id"] for row in document["tables"]["providers"]]


@pytest.mark.parametrize(("number", "taken"), [(1e30, True), (1e308, False)])
def test_a_number_of_a_carried_scenario_that_could_not_be_exported_again_is_refused(
    prepared: tuple[Api, bytes], number: float, taken: bool
) -> None:
    def change(document: Document) -> None:
        (carried,) = (one for one in document["scenarios"] if one["data"]["name"] == "s")
        carried["data"]["rules"][0]["when"]["request.reference"] = number

    if not taken:
        assert "a number written as a text" in " ".join(refused(prepared, change).values())
        return
    api, document = rich()
    change(document)
    assert api.call("PUT", "/__admin/state", document).status == 200
    assert (
        api.call(
            "PUT", "/__admin/state", raw=api.call("GET", "/__admin/state?secrets=true").raw
        ).status
        == 200
    )
