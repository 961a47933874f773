"""What a request says by field: the short way to a typed body gives what the long way gives, for
every operation."""

import json
from collections.abc import Iterator
from itertools import islice, product
from random import Random
from typing import Any

import pytest

from mockserver.domain.errors import Invalid
from mockserver.web.routes import ROUTES
from mockserver.wire import fields
from mockserver.wire.bodies.charges import CardCharge as CARD_CHARGE
from mockserver.wire.bodies.charges import ProviderCardCharge as PROVIDER_CARD_CHARGE
from mockserver.wire.fields import MOST_FIELDS, Body, Fields, fold, nested_body, validate
from mockserver.wire.jsonio import MalformedJson, loads
from tests.depth import tries

MODELS = sorted(
    {model for row in ROUTES for model in (row.body, row.query) if model},
    key=lambda one: one.__name__,
)
STRIDE = tries(13, 1)
"""Of the objects in objects, one in so many; each field of them still meets a value or two, in turn
of every kind."""
VALUES: tuple[object, ...] = (
    *(
        "x",
        "5",
        "",
        "AUD",
        "true",
        "2031-03-01",
        "https://example.test/hook",
        "12/40",
        5,
        1.25,
        -1,
        True,
        None,
    ),
    *({}, [], ["x"], {"a": "b"}, {"A": 1}, [{"amount": 1}], {"url": "https://example.test/hook"}),
)


def spelt(name: str, capitals: bool) -> str:
    return name[:1].upper() + name[1:] if capitals else name


def names(model: type[Body], capitals: bool) -> dict[str, str]:
    return {field: spelt(str(info.alias), capitals) for field, info in model.model_fields.items()}


def bodies(model: type[Body], capitals: bool) -> Iterator[dict[str, Any]]:
    """One field at a time with every value, all fields with the same value, and objects in
    objects."""
    known = names(model, capitals)
    for name, value in product(known.values(), VALUES):
        yield {name: value}
    for value in VALUES:
        yield dict.fromkeys(known.values(), value)
    for field, name in known.items():
        inner = nested_body(model.model_fields[field].annotation)
        for below in islice(bodies(inner, capitals), 0, None, STRIDE) if inner is not None else ():
            yield {name: below}
            yield {name: [below]}


def outcome(typed: Any) -> object:
    try:
        return typed()
    except Invalid as refused:
        return refused.details
    except MalformedJson as fault:
        return str(fault)


@pytest.mark.parametrize("capitals", [False, True])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.slow
def test_both_ways_agree(model: type[Body], capitals: bool) -> None:
    for body in bodies(model, capitals):
        text = json.dumps(body).encode()
        for strict in (False, True):
            said = Fields.of_body(model, text, 64)
            wanted = fold(model, loads(text))
            refused = wanted.unknown if strict else []
            assert outcome(lambda s=said, r=refused: s.typed(model, refused=r)) == outcome(
                lambda w=wanted, r=refused: validate(model, w, refused=r)
            ), body
            assert list(said.unknown) == wanted.unknown
            assert {name: said.get(name, ...) for name in names(model, False).values()} == {
                name: wanted.values.get(name, ...) for name in names(model, False).values()
            }


NUMBERS = (
    *(
        "5",
        "-5",
        "-0",
        "1.25",
        "1.50",
        "1.0",
        "-0.0",
        "1e2",
        "1.5E1",
        "150e-2",
        "1.5e-1",
        "0.000001",
        "0.0000012",
    ),
    *(
        "0.1000000000000000055",
        "1000000000000000055e-19",
        "1000000000000000055E-19",
        "999999999.5",
        "1000000000.5",
    ),
    *(
        "12345678901234567.5",
        "1e400",
        "1e-400",
        "1e401",
        "NaN",
        "-Infinity",
        "05",
        "5.",
        ".5",
        "+5",
        "9" * 30,
    ),
    *("123456789012345678e-0017", "1e+401", "1e-401", "-" + "9" * 400, "9" * 400 + ".5"),
    *("9" * 401, "9" * 5_000, '"1.50"', '" 5 "', '"1,5"', "true", "null", "[]"),
)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_keeps_every_digit_and_one_that_is_replaced_is_read_all_the_same(
    number: str,
) -> None:
    for place in (
        '{"Amount":%s}',
        '{"amount": 7, "order": {"freightAmount": %s, "items": [{"amount":%s}]}}',
    ):
        assert_alike(CARD_CHARGE, place.replace("%s", number).encode())
    for place in (b"[%s ]", b"%s", b'{"a":%s\n}', b"[1, %s]", b'["e",[%s\t, 1]]'):
        replaced = place % number.encode()
        assert_alike(CARD_CHARGE, b'{"amount": 5, "reference": %b, "reference": "x"}' % replaced)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        b" {} ",
        b"{} x",
        b"null",
        b'"',
        b'{"',
        b"\xef\xbb\xbf{}",
        b"[1]",
        b'{"Amount":5,"Amount":"6"}',
    ],
)
def test_a_text_that_is_hardly_a_body(text: bytes) -> None:
    assert_alike(CARD_CHARGE, text)


@pytest.mark.parametrize("seed", range(tries(4, 40)))
def test_a_text_that_is_spoilt_somewhere(seed: int) -> None:
    draw = Random(seed)
    body = {
        **CHARGE,
        "amount": 12.5,
        "reference": "\\ \u00e9 \U0001f600",
        "order": {"freightAmount": 0.25, "items": [{"amount": 1}]},
    }
    text = json.dumps(body, ensure_ascii=bool(seed % 2), indent=seed % 3 or None).encode()
    for _ in range(250):
        place, end = draw.randrange(len(text)), draw.randrange(3)
        put = bytes(draw.choices(b'"\\{}[]:,.-+eE019aN \n\x00\x7f\xc3\xff', k=draw.randrange(3)))
        assert_alike(PROVIDER_CARD_CHARGE, text[:place] + put + text[place + end :])


def assert_alike(model: type[Body], text: bytes) -> None:
    """Fields read from the text at once are what its value says, which the plain reader makes."""

    def plainly() -> object:
        value = loads(text) if text.strip() else {}
        if not isinstance(value, dict) and value != []:
            raise MalformedJson("wanted a JSON object", 1, 1)
        wanted = fold(model, value or {})
        return validate(model, wanted), wanted.unknown, wanted.values

    def at_once() -> object:
        said = Fields.of_body(model, text, 64)
        return said.typed(model), list(said.unknown), {name: said[name] for name in said}

    assert outcome(at_once) == outcome(plainly), text


def read(body: object, model: type[Body] = PROVIDER_CARD_CHARGE) -> Fields:
    return Fields.of_body(model, json.dumps(body).encode(), 64)


CARD = {"cardNumber": "4111111111111111", "expiryDate": "12/40"}
CHARGE = {"amount": 5, "providerId": "p", "paymentInformation": CARD, "metadata": {"Shop": "x"}}


def test_a_body_in_the_usual_spelling_is_typed_without_being_folded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = read(CHARGE)
    monkeypatch.setattr(fields, "fold", None)
    typed = said.typed(PROVIDER_CARD_CHARGE, refused=said.unknown)
    assert (typed.provider_id, typed.command().source.number) == ("p", CARD["cardNumber"])
    assert list(said.unknown) == []
    monkeypatch.undo()
    assert said.get("metadata") == {"Shop": "x"}
    assert said.get("reference") is None


@pytest.mark.parametrize(
    "body",
    [
        {**CHARGE, "Currency": "AUD"},
        {**CHARGE, "CURRENCY": "AUD"},
        {**CHARGE, "currency": "AUD", "new": 1},
        {**CHARGE, "paymentInformation": {**CARD, "CCV": "123"}},
        {**CHARGE, "order": []},
    ],
)
def test_other_spellings_take_the_long_way(body: dict[str, Any]) -> None:
    said = read(body)
    assert said.typed(PROVIDER_CARD_CHARGE).amount == 5
    assert list(said.unknown) == (["new"] if "new" in body else [])


def test_a_field_given_in_two_spellings_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        read({**CHARGE, "Amount": 6}).typed(PROVIDER_CARD_CHARGE)
    assert refused.value.details == {"Amount": "given twice in different letter case"}


def test_the_text_alone_tells_what_was_said() -> None:
    body = {"Amount": 5, "PaymentInformation": {"CardNumber": "1"}, "new": True}
    said = Fields(CARD_CHARGE, json.dumps(body).encode(), is_body=True)
    told = {"amount": 5, "paymentInformation": {"cardNumber": "1"}}
    assert dict(said) == dict(read(body, CARD_CHARGE)) == told
    assert said["amount"] == 5
    assert list(said.unknown) == ["new"]
    with pytest.raises(KeyError):
        said["new"]


def test_a_query_is_read_again_too() -> None:
    said = Fields(CARD_CHARGE, b"Amount=5&firstname=Ann&Currency=", is_body=False)
    assert dict(said) == {"amount": "5", "firstName": "Ann"}


def test_a_body_of_too_many_fields_is_refused_unread() -> None:
    many = {f"number-{number}": number for number in range(MOST_FIELDS)}
    items = {"order": {"items": [{}] * (MOST_FIELDS - len(CHARGE))}}
    words = "got {count} or more, wanted at most 2000 fields and items of lists"
    for body, count in (
        ({**CHARGE, **many}, 2_004),
        ({**CHARGE, "metadata": many}, 2_006),
        ({**CHARGE, **items}, 2_005),
    ):
        with pytest.raises(Invalid) as refused:
            read(body).typed(PROVIDER_CARD_CHARGE)
        assert refused.value.details == {"Body": words.format(count=count)}


def test_a_body_of_as_many_fields_as_are_read_is_taken() -> None:
    line = {"description": "a shirt of cotton"}
    fields = {**CHARGE, "order": {"items": [line] * 900}}
    assert read({**fields, "metadata": {f"n{number}": number for number in range(190)}}).typed(
        PROVIDER_CARD_CHARGE
    )


@pytest.mark.parametrize(
    "given", [{}, {"ip": "127.0.0.1", "capture": False, "initiator": "MERCHANT", "phone": "1"}]
)
def test_a_charge_has_what_its_body_has(given: dict[str, object]) -> None:
    body = read(CHARGE | given).typed(PROVIDER_CARD_CHARGE)
    asked = body.command()
    source = asked.source
    for name in (
        "amount",
        "currency",
        "reference",
        "ip",
        "metadata",
        "descriptor",
        "three_ds_notification_url",
    ):
        assert getattr(asked, name) == getattr(body, name)
    assert asked.capture is (body.capture is not False)
    assert asked.initiator == (body.initiator.value if body.initiator else None)
    assert (asked.payer.phone if asked.payer else None) == body.phone
    assert (source.number, source.expiry, source.ccv) == (
        CARD["cardNumber"],
        CARD["expiryDate"],
        None,
    )
    assert (source.provider_id, source.is_given) == ("p", True)
