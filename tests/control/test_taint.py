"""A marked card number and a marked ccv in every field of every operation: in no log, journal,
export, error, page, description or exception are they ever found.
"""

import json
import re
import types
from collections.abc import Iterator
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import Annotated, Any, Union, get_args, get_origin
from urllib.parse import quote

import pytest

from mockserver.domain.errors import Refused
from mockserver.web.control import description
from mockserver.web.control.routes import CONTROL_ROUTES
from mockserver.web.operations.route import Route
from mockserver.web.pages import PAGE_ROUTES
from mockserver.web.routes import ROUTES
from mockserver.wire.fields import Body
from tests.depth import tries
from tests.driving import CARD, DUMMY, Api, names_of

NUMBER, CCV = "4539578763621486", "9371"
STRIDE = tries(8, 1)
"""Of the fields of an operation, one in so many is marked alone; all at once each time."""
SPACED = "4539 5787 6362 1486"
_FOUND = re.compile(rf"{NUMBER}|{SPACED}|4539-5787-6362-1486|(?<![0-9A-Za-z]){CCV}(?![0-9A-Za-z])")
_CCV_FIELD = re.compile("ccv|cvv", re.IGNORECASE)


def sample(annotation: Any, name: str, mark: str | None) -> Any:
    """A value that fits an annotation; ``mark`` in every text of it."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return sample(args[0], name, mark)
    if origin in (Union, types.UnionType):
        return sample(next(arg for arg in args if arg is not type(None)), name, mark)
    if origin is dict:
        return {"tier": mark or "gold"}
    if origin in (list, tuple):
        return [sample(args[0], name, mark)]
    if isinstance(annotation, type) and issubclass(annotation, Body):
        return filled(annotation, mark)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return next(iter(annotation)).value
    if annotation is str:
        return CCV if _CCV_FIELD.fullmatch(name) else mark or PLAIN.get(name, "text")
    if annotation is Decimal:
        return 5
    return {bool: True, int: 5}.get(annotation, mark or "text")


PLAIN = {
    "cardNumber": CARD["cardNumber"],
    "expiryDate": "12/40",
    "providerId": DUMMY,
    "currency": "AUD",
    "url": "http://127.0.0.1:9/never",
    "threeDSServerTransID": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
}


def filled(model: type[Body], mark: str | None) -> dict[str, Any]:
    fields = {str(field.alias): field.annotation for field in model.model_fields.values()}
    return {name: sample(annotation, name, mark) for name, annotation in fields.items()}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the leaves of a value are."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from places(item, (*path, place))
    else:
        yield path


def tainted(value: Any, path: tuple[Any, ...], mark: Any) -> Any:
    """The value with ``mark`` in one place."""
    copy = json.loads(json.dumps(value))
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = mark
    return copy


def bodies(route: Route) -> Iterator[bytes]:
    if route.body is None:
        yield json.dumps({"cardNumber": NUMBER, "Ccv": CCV}).encode()
        return
    sound = filled(route.body, None)
    # Operations share most of their fields, and each begins with another one.
    for path in islice(places(sound), ROUTES.index(route) % STRIDE, None, STRIDE):
        yield json.dumps(
            tainted(sound, path, CCV if _CCV_FIELD.fullmatch(str(path[-1])) else NUMBER)
        ).encode()
    yield json.dumps(filled(route.body, NUMBER)).encode()
    yield json.dumps(filled(route.body, SPACED)).encode()
    shouted = {key.upper(): value for key, value in filled(route.body, NUMBER).items()}
    yield json.dumps(
        {**shouted, "CCV": int(CCV), "unknown": {"CardNumber": int(NUMBER), NUMBER: [NUMBER]}}
    ).encode()
    yield f'{{"cardNumber": "{NUMBER}", "ccv": "{CCV}", '.encode()
    yield f"cardNumber={NUMBER}&ccv={CCV}".encode()
    yield f'["{NUMBER}", {{"ccv": "{CCV}"}}]'.encode()
    yield f'{{"cardNumber": "{NUMBER}", "ccv": "{CCV}", "n": NaN, "x": "\xff"}}'.encode("latin-1")


def queries(route: Route) -> Iterator[str]:
    names = names_of(route.query)
    for name in [*names, "cardNumber", "CARDNUMBER", "unknown"]:
        yield f"{name}={NUMBER}"
        yield f"{name}={quote(SPACED)}"
    yield f"ccv={CCV}&Cvv={CCV}&{NUMBER}=1"


class Kept:
    """A log that keeps every line in both forms."""

    def __init__(self) -> None:
        self.text = ""

    def __call__(self, told: Any) -> None:
        self.text += "\n".join([*told.lines(as_json=False), *told.lines(as_json=True), ""])


@pytest.fixture
def log() -> Kept:
    return Kept()


@pytest.fixture
def api(log: Kept) -> Api:
    api = Api(journal_limit=100_000)
    api.app.world.log = log
    return api


def clean(text: str, what: str) -> None:
    found = _FOUND.search(text)
    assert found is None, (
        f"{what} tells it: ...{text[max(found.start() - 120, 0) : found.end() + 20]}..."
    )


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_no_operation_leaks(
    route: Route, api: Api, log: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[str] = []
    born = Refused.__init__

    def remembered(self: Refused, *args: Any, **more: Any) -> None:
        born(self, *args, **more)
        raised.append(f"{self} {self.details} {self.args}")

    monkeypatch.setattr(Refused, "__init__", remembered)
    sound = re.sub(r"\{\w+\}", "0" * 31 + "a", route.path)
    marked = re.sub(r"\{\w+\}", NUMBER, route.path)
    headers = {"x-card": NUMBER, "x-note": f"pays with {SPACED}", "cookie": NUMBER}
    if route.is_public:
        headers["x-publickey"] = "pk_tests"
    api.call("POST", "/vault", {"cardNumber": NUMBER, "ccv": CCV})
    for raw in bodies(route):
        refused_is_clean(api, route, sound, raw, headers)
    for query in queries(route):
        refused_is_clean(api, route, f"{sound}?{query}", b"", headers)
    refused_is_clean(api, route, marked, b"{}", headers)
    refused_is_clean(api, route, f"{marked}?{NUMBER}=x", b"{}", {**headers, "content-type": NUMBER})
    clean(log.text, "the log")
    for text in raised:
        clean(text, "an exception")
    api.call("POST", "/__admin/clock/advance", {"by": "1m"})
    for row in CONTROL_ROUTES:
        # The descriptions are made of tables and assumptions alone: the next test reads them.
        if (
            row.method == "GET"
            and "{" not in row.path
            and row.handle.__module__ != description.__name__
        ):
            clean(api.call("GET", f"{row.path}").raw.decode(), row.path)
    last = api.call("GET", "/__admin/journal").body["last"]
    for after in range(0, last, 1000):
        clean(
            api.call("GET", f"/__admin/journal?after={after}&limit=1000").raw.decode(),
            "the journal",
        )
    for number in range(1, last + 1):
        clean(
            api.call("GET", f"/__admin/journal/{number}/request").raw.decode(),
            "a request to be sent again",
        )


def refused_is_clean(
    api: Api, route: Route, target: str, raw: bytes, headers: dict[str, str]
) -> None:
    reply = api.call(route.method, target, raw=raw, headers=headers)
    assert reply.status < 500, (route.path, target, raw[:300], reply.raw)
    if reply.status >= 400:
        clean(reply.raw.decode(), f"the refusal of {route.method} {target} {raw[:200]!r}")


def test_no_control_call_and_no_unknown_path_leaks(api: Api, log: Kept) -> None:
    api.try_charge()
    for row in CONTROL_ROUTES:
        path = re.sub(r"\{\w+\}", NUMBER, row.path)
        for raw in (
            json.dumps(
                {**dict.fromkeys(names_of(row.body), NUMBER), NUMBER: NUMBER, "ccv": CCV}
            ).encode(),
            f'{{"cardNumber": "{NUMBER}", "ccv": "{CCV}"'.encode(),
        ):
            for query in (
                "",
                *(f"?{name}={NUMBER}" for name in names_of(row.query)),
                f"?{NUMBER}=1",
            ):
                reply = api.call(row.method, path + query, raw=raw)
                assert reply.status < 500
                clean(reply.raw.decode(), f"{row.method} {path}{query}")
    for method in ("GET", "POST", "PATCH"):
        clean(api.call(method, f"/{NUMBER}/{SPACED}?ccv={CCV}").raw.decode(), "an unknown path")
    clean(log.text, "the log")


def test_no_page_leaks(api: Api, log: Kept) -> None:
    created = api.try_charge(
        5,
        number="4000000000003220",
        reference=NUMBER,
        descriptor=NUMBER,
        firstName=NUMBER,
        metadata={"a": NUMBER},
    )
    for row in PAGE_ROUTES:
        if (
            row.method != "GET" or row.path == "/__admin/events-stream"
        ):  # tells counts, and does not end
            continue
        for value in (NUMBER, str(created.body.get("chargeId"))):
            reply = api.call("GET", re.sub(r"\{\w+\}", value, row.path))
            assert reply.status < 500
            clean(reply.raw.decode("utf-8", "replace"), row.path)
    clean(log.text, "the log")


# What else may part a number: tests/control/test_journal.py.
DISGUISES = [
    "4539.5787.6362.1486",
    "4539%205787%206362%201486",
    "%34539578763621486",
    "\uff14\uff15\uff13\uff19\uff15\uff17\uff18\uff17\uff16\uff13\uff16\uff12\uff11\uff14\uff18\uff16",
]


@pytest.mark.parametrize("number", DISGUISES)
def test_a_number_in_disguise_and_a_given_authorisation_are_known(
    api: Api, log: Kept, number: str
) -> None:
    token = "Bearer taken-from-the-shop"
    hook = {"url": f"http://127.0.0.1:4111/__inbox/x?note={quote(number)}", "authorization": token}
    given: dict[str, Any] = {
        "webhook": hook,
        "metadata": {"note": number, "ccv": CCV},
        "reference": number,
    }
    charge_id = api.try_charge(**given, firstName=number, descriptor=number).body["chargeId"]
    api.call("POST", "/webhook/subscription", hook)
    link = api.call(
        "POST",
        "/payment_link",
        {"title": number, "amount": 5, "currency": "AUD", "metadata": {"ccv": CCV}},
    )
    api.call(
        "GET",
        f"/charge/{quote(number)}?search={quote(number)}",
        headers={"x-note": number.encode().decode("latin-1")},
    )
    api.call(
        "GET", f"/nowhere/{quote(number)}", headers={"referer": f"http://localhost/{quote(number)}"}
    )
    api.call("POST", "/charge/card", raw=f"cardNumber={number}".encode())
    targets = [row.path for row in CONTROL_ROUTES if row.method == "GET" and "{" not in row.path]
    targets += [
        f"/__admin/objects?kind={kind}"
        for kind in ("charge", "payment_link", "webhook_subscription")
    ]
    targets += [f"/__admin/journal/{entry}/request" for entry in range(1, 6)]
    targets += [f"/__admin/objects/charge/{charge_id}", f"/pay/{link.body['paymentLinkId']}"]
    for target in targets:
        text = api.call("GET", target).raw.decode()
        assert not [
            secret for secret in (number, quote(number), token, f'"{CCV}"') if secret in text
        ], target
    assert number not in log.text
    assert quote(number) not in log.text
    assert token in api.call("GET", "/__admin/inbox/x").raw.decode(), (
        "what a receiver is told it may see"
    )
    assert token in api.call("GET", "/__admin/state?secrets=true").raw.decode()


def test_an_export_without_secrets_can_be_imported_and_says_the_same(api: Api) -> None:
    hook = {"url": "http://127.0.0.1:9/x", "authorization": "Bearer x"}
    api.try_charge(webhook=hook, metadata={"ccv": CCV, "a": "4539.5787.6362.1486"})
    api.call("POST", "/webhook/subscription", hook)
    exported = api.call("GET", "/__admin/state")
    assert api.call("PUT", "/__admin/state", raw=exported.raw).status == 200
    assert api.call("GET", "/__admin/state").raw == exported.raw


def test_secrets_are_where_they_belong(api: Api) -> None:
    """The marks above can be found at all: the vault's own GET and an export with secrets do tell
    them."""
    vault = api.call("POST", "/vault", {"cardNumber": NUMBER, "ccv": CCV}).body["vaultId"]
    assert NUMBER in api.call("GET", f"/vault/{vault}").raw.decode()
    with pytest.raises(AssertionError):
        clean(api.call("GET", "/__admin/state?secrets=true").raw.decode(), "the export")
    assert CCV in api.call("GET", "/__admin/state?secrets=true").raw.decode()
