"""What is taken for a card number: masked where it may be one, told where it can hardly be anything
else."""

import json
from itertools import count
from random import Random
from time import process_time
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest

from mockserver.domain.card_search import card_stands_in
from mockserver.domain.cards import passes_luhn
from mockserver.domain.facts import Call
from mockserver.domain.masking import mask_field, mask_text
from mockserver.findings.misplaced_cards import card_places, is_clean
from tests.depth import tries
from tests.driving import DUMMY, Api, card_charge

VISA = "4111111111111111"
BY_CHANCE = next(
    number for number in (f"49151{last:08d}" for last in count(1)) if passes_luhn(number)
)
"""A German mobile number whose check digit is right."""

BY_CHANCE_TOO = next(
    number for number in (f"62812{last:08d}" for last in count(1)) if passes_luhn(number)
)
"""An Indonesian one."""


def told(api: Api) -> list[str]:
    rows = api.get("/__admin/findings", finding="card-number-outside-its-field")["findings"]
    return [row["about"]["field"] for row in rows]


def shown(api: Api, entry: int = -1) -> dict[str, Any]:
    return api.get("/__admin/journal")["entries"][entry]["request"]["body"]


@pytest.mark.parametrize(
    ("phone", "is_told", "is_masked"),
    [
        *(
            (phone, False, False)
            for phone in (f"+{BY_CHANCE}", f"00{BY_CHANCE}", f"+{BY_CHANCE_TOO}")
        ),
        (f"+49 151 {BY_CHANCE[5:]}", False, False),
        (f"+49 (151) {BY_CHANCE[5:9]}-{BY_CHANCE[9:]}", False, False),
        (f"00 49 151/{BY_CHANCE[5:]}", False, False),
        (f"00-49-151-{BY_CHANCE[5:]}", False, False),
        ("+61 400 000 000", False, False),
        # Not surely for abroad, or as long as a card's: masked, and not accused.
        (BY_CHANCE, False, True),
        (f" 00 49 151 {BY_CHANCE[5:]}", False, True),
        (f"011 49 151 {BY_CHANCE[5:]}", False, True),
        ("+378282246310005", False, True),
        ("+30569309025904", False, True),
        # A card.
        (VISA, True, True),
        (f"+{VISA}", True, True),
        (f"00 {VISA}", True, True),
        ("+4111 1111 1111 1111", True, True),
        ("4111-1111-1111-1111", True, True),
        ("378282246310005", True, True),
        (f"+49 151 1, {VISA}", True, True),
        (f"+{BY_CHANCE} {BY_CHANCE}", True, True),
    ],
)
def test_a_phone_number(api: Api, phone: str, is_told: bool, is_masked: bool) -> None:
    api.post("/charge/card", card_charge(phone=phone, reference="r"))
    assert told(api) == (["phone"] if is_told else [])
    assert (shown(api)["phone"] != phone) is is_masked


def test_a_phone_number_is_read_wherever_its_field_is_known() -> None:
    phone = f"+{BY_CHANCE}"
    api = Api()
    person = {
        "providerId": DUMMY,
        "paymentInformation": {"cardNumber": VISA, "expiryDate": "12/40"},
        "phone": phone,
    }
    person["metadata"] = {"mobileNumber": phone, "Phone": phone}
    customer = api.post("/customer/card", person)["customerId"]
    assert told(api) == []
    entry = api.get("/__admin/journal")["entries"][0]
    assert entry["request"]["body"]["metadata"] == person["metadata"]
    assert entry["answer"]["phone"] == phone
    exported = api.get("/__admin/state")
    assert api.put("/__admin/state", exported.body).status == 200
    assert api.get(f"/customer/{customer}")["phone"] == phone


def test_where_no_field_for_phones_is_known_a_phone_number_is_masked_and_not_told(api: Api) -> None:
    api.post("/charge/card", card_charge(reference=f"+{BY_CHANCE}"))
    api.get(f"/customer?Search=%2B{BY_CHANCE}")
    assert told(api) == []
    assert shown(api, 0)["reference"] == "+" + mask_text(BY_CHANCE)
    api.get(f"/customer?Search={BY_CHANCE}")
    assert told(api) == ["search", "path or query"]


def test_names_that_only_look_like_those_of_phones() -> None:
    for name in ("phone", "customerPhone", "phone_number", "Mobile", "mobile-number", "msisdn"):
        assert mask_field(name, f"+{BY_CHANCE}") == f"+{BY_CHANCE}", name
    for name in ("phonecard", "megaphones", "hotel", "note", "cardNumber"):
        assert mask_field(name, f"+{BY_CHANCE}") != f"+{BY_CHANCE}", name


PARTED = [
    *("4111 1111 1111 1111", "4111-1111-1111-1111", "4 111 111 111 111 111", "4111.1111.1111.1111"),
    *(
        "4111_1111_1111_1111",
        "4111/1111/1111/1111",
        "4111\t1111\t1111\t1111",
        "4111\n1111\n1111\n1111",
    ),
    *(
        "4111\r\n1111\r\n1111\r\n1111",
        "4111\u00a01111\u00a01111\u00a01111",
        "4111\u20131111\u20131111\u20131111",
    ),
    *(
        "4111\u202f1111\u202f1111\u202f1111",
        "4111 - 1111 - 1111 - 1111",
        "3782.822463.10005",
        "3056.930902.5904",
    ),
    *(
        "\uff14" + "\uff11" * 15,
        "\u0664" + "\u0661" * 15,
        "%34111111111111111",
        "4111%0A1111%0A1111%0A1111",
    ),
    *(
        "card 4111.1111.1111.1111, thanks",
        "(4111111111111111)",
        "no.4111111111111111",
        "\u00e9 4111111111111111",
    ),
]


@pytest.mark.parametrize("text", PARTED)
def test_a_number_is_told_and_masked_whatever_parts_it(text: str) -> None:
    for is_ascii in (True, False):
        api = Api()
        for body, fields in (
            ({"note": text}, []),
            (card_charge(metadata={"note": text}), ["metadata.note"]),
        ):
            api.call("POST", "/charge/card", raw=json.dumps(body, ensure_ascii=is_ascii).encode())
            assert told(api) == fields
            assert text not in json.dumps(shown(api), ensure_ascii=False)
        assert text not in api.get("/__admin/journal").raw.decode()
    api = Api()
    api.get(f"/charge?Reference={quote(text)}")
    assert told(api) == ["reference", "path or query"]
    lines: list[str] = []
    api.app.world.log = lambda line: lines.extend(line.lines(as_json=False))
    api.get(f"/charge/{quote(text)}")
    assert not any("1111" * 2 in line or quote(text) in line or "822463" in line for line in lines)
    assert card_stands_in(text)
    assert mask_text(text) != text


MASKED_ONLY = [
    # Letters stand beside it, as in ids and tokens.
    *("ref4111111111111111x", "a4111111111111111", "4111111111111111\u00e9"),
    # Signs part it that are no card's, where no card is parted, or of two kinds.
    *("41.11.1111.1111.1111.11", "4111.1111.1111.1111.4", "4111.1111-1111.1111", "41111111\n11111111"),
    *("0.4111111111111111", "30.569309025904"),
    # Shorter than cards are that are issued.
    next(number for number in (f"6767{last:08d}" for last in count(1)) if passes_luhn(number)),
]  # fmt: skip


LONGER = [
    *("DE64 5001 0517 4933 8991 93", "9400 8897 3979 1279 3441 95", "2031 4111 1111 1111 1111"),
    *("AT61-4111-1111-1111-1111",),
]
"""Numbers in groups of four that have a card number by chance: of accounts and parcels."""


@pytest.mark.parametrize("text", [text for text in LONGER if mask_text(text) != text])
def test_a_part_of_a_longer_number_in_groups_is_not_told(text: str) -> None:
    assert not card_stands_in(text)
    assert card_stands_in(f"{VISA[:4]} {VISA[4:8]} {VISA[8:12]} {VISA[12:]} {text}")


OTHERS_VISA = "4929501277346182"
"""No published test number."""


@pytest.mark.parametrize(
    "text",
    [
        f.format(OTHERS_VISA)
        for f in ("00{}", "000{}", "+00{}", "0{}", "1{}", "{}1", "+{}1", "{}123", "{}12")
    ],
)
def test_no_digit_of_a_number_with_some_before_or_behind_it_is_shown(text: str) -> None:
    masked = "".join("*" if sign.isdigit() else sign for sign in text)
    assert mask_text(text) == masked
    assert mask_field("phone", text) == masked
    assert not card_stands_in(text)


def test_ids_that_tracers_add_are_not_told() -> None:
    for name in ("x-datadog-trace-id", "X-Datadog-Parent-Id", "traceparent", "x-b3-traceid"):
        api = Api()
        api.call("GET", "/charge", headers={name.lower(): VISA})
        assert told(api) == [], name
    api = Api()
    api.call("GET", "/charge", headers={"x-note": VISA})
    assert told(api) == ["header x-note"]


def test_the_first_ten_thousand_characters_are_looked_at() -> None:
    for before, fields in ((9_000, ["metadata.n"]), (10_000, [])):
        api = Api()
        api.post("/charge/card", card_charge(metadata={"a": "x" * before, "n": VISA}))
        assert told(api) == fields


@pytest.mark.parametrize("text", MASKED_ONLY)
def test_what_may_be_a_number_is_masked_and_not_told(api: Api, text: str) -> None:
    api.post("/charge/card", card_charge(metadata={"note": text}))
    assert told(api) == []
    assert shown(api)["metadata"]["note"] != text


INNOCENT = [
    *(
        "2031-03-01T10:00:00.000Z",
        "192.168.100.200",
        "1732237337123",
        "4111111111111112",
        "9999999999999995",
    ),
    *(
        "a26c371f-94f6-40da-add2-28ec8e9da8ed",
        "0e4a411111111111111141b7c2d3e4f5",
        "1.2.3.4.5.6.7.8.9.10.11",
    ),
    *("0E4A411111111111111141B7C2D3E4F5", "12345678901234567890", "20310301\n5912ab"),
]


@pytest.mark.parametrize("text", INNOCENT)
def test_other_texts_are_neither_told_nor_masked(api: Api, text: str) -> None:
    api.post("/charge/card", card_charge(metadata={"note": text}))
    assert told(api) == []
    assert shown(api)["metadata"]["note"] == text


def test_ids_and_tokens_are_not_told() -> None:
    """One long number in ten has a right check digit."""
    random = Random(1)
    letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/"
    for _ in range(tries(4_000, 200_000)):
        number = random.getrandbits(128)
        for text in (
            f"{number:032x}",
            f"{number:032X}",
            str(UUID(int=number)),
            str(UUID(int=number)).upper(),
        ):
            assert not card_stands_in(text), text
        token = "".join(random.choices(letters, k=43)) + "="
        assert not card_stands_in(token), token
        assert not card_stands_in(str(10**24 + number)), number


def test_rows_of_a_batch_with_numbers_beside_their_ends_are_shown_as_they_are() -> None:
    random = Random(2)
    rows = (
        f"{random.getrandbits(128):032x},5.00,AUD,{random.getrandbits(33)}"
        for _ in range(tries(2_000, 20_000))
    )
    for row, following in zip(rows, rows, strict=True):
        assert mask_text(f"{row}\n{following}") == f"{row}\n{following}"


PIECES = (
    *PARTED, *MASKED_ONLY, *INNOCENT, *INNOCENT, VISA, f"+{BY_CHANCE}", "\n", "\t", "\\", "%", "%25", "\u00e9",
    "\u4f60\u597d",
    *" -._/+,:;", "4111", "1111", "11", "1", "x", '"', "12/40", "20.50", "\u2028", "\U0001f600",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(tries(4, 60)))
def test_what_is_clean_at_a_glance_has_no_number(seed: int) -> None:
    random, cleans, finds = Random(seed), 0, 0
    for _ in range(1_000):
        texts = ["".join(random.choices(PIECES, k=random.choice([0, 1, 1, 2]))) for _ in range(2)]
        body: dict[str, Any] = {"reference": texts[0], "metadata": {"note": texts[1]}}
        place = random.choice([{"paymentInformation": {"cardNumber": VISA}}, {}, {"amount": 5}])
        body = {**place, **body} if random.random() < 0.5 else {**body, **place}
        separators = random.choice([None, (",", ":")])
        raw = json.dumps(body, ensure_ascii=random.random() < 0.5, separators=separators)
        call = Call(
            1,
            0,
            0,
            "charge.create",
            body,
            {},
            raw.replace("/", random.choice(["/", "\\/"])).encode(),
        )
        found = list(card_places(call))
        is_glanced = is_clean(call.text, "", {})
        assert not (found and is_glanced), raw
        assert not found or any(mask_text(text) != text for text in texts), raw
        cleans, finds = cleans + is_glanced, finds + bool(found)
    assert min(cleans, finds) > 150


UNITS = ["\n", "\t", "1\n", "1\n\n", "1111\n", "4111\r\n", " \n ", "1" * 19 + "\n", "\n1x", "%31", "1 (", "+1 ", "+49 ",
         "\u00e9", "4111.", "1.", "\u00a01", "\\n", "6" * 12 + "\n"]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_long_texts_take_time_in_proportion(unit: str) -> None:
    took = []
    for length in (50_000, 200_000):
        text = unit * (length // len(unit))
        before = process_time()
        mask_text(text)
        is_clean(json.dumps({"a": text}).encode(), text[:5_000], {})
        is_clean(json.dumps({"a": text}, ensure_ascii=False).encode(), "", {})
        card_stands_in(text[:5_000])
        took.append(process_time() - before)
    assert took[1] < 8 * took[0] + 0.1
    assert took[1] < 1
