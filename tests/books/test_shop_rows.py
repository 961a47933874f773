"""The shop's books as text: what is read, and what is refused with its line."""

from decimal import Decimal

import pytest

from mockserver.books.shop_rows import BadRow, Claim, mapping_of, read_row
from mockserver.books.shop_text import checked_rows

FORMS = {
    "array": '[\n {"reference": "order-5", "paid": 20.00, "currency": "aud", "state": '
    '"Paid"},\n\n {"charge": "ch_1"}]',
    "lines": '{"reference": "order-5", "paid": "20.00", "currency": "AUD", "state": '
    '"Paid"}\n\n\n{"charge": "ch_1"}\n',
    "csv": "reference,charge,paid,currency,state,note\norder-5,,20.00,AUD,Paid,a\n\n,ch_1,,,,b\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_three_forms_say_the_same(form: str) -> None:
    rows = [read_row(row) for _, row in checked_rows(FORMS[form].encode())]
    assert rows[0].key == ("reference", "order-5")
    assert (rows[0].paid, rows[0].currency, rows[0].claim) == (Decimal(20), "AUD", Claim.TAKEN)
    assert rows[1].key == ("charge", "ch_1")
    assert rows[1].paid is None


def test_no_orders_are_an_answer_and_nothing_is_not() -> None:
    assert checked_rows(b"[]") == []
    assert checked_rows(b"reference,paid\n") == []
    with pytest.raises(BadRow, match="line 1: books: got nothing"):
        checked_rows(b" \n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"reference": 1,\n "paid": }]', "line 2: books: got JSON that cannot be read"),
        (
            '[{"reference": "a"}\n {"reference": "b"}]',
            "line 2: books: got JSON that cannot be read: Expecting ',' delimiter",
        ),
        ('[{"reference": "a"}', "line 1: books: got JSON that cannot be read"),
        ('[{"reference": "a"}]\n[]', "line 2: books: got JSON that cannot be read: Extra data"),
        ('[{"reference": "a", "paid": NaN}]', "got NaN, which is not a number of JSON"),
        ('{"reference": "a"}\n{"reference": ', "line 2: books: got JSON that cannot be read"),
        ("Traceback (most recent call last):\n", "line 1: books: got 'traceback"),
        (
            "reference;paid\na;1\n",
            "got 'reference;paid', which is not JSON, nor CSV whose first line has reference - "
            "semic",
        ),
        (
            "reference\tpaid\na\t1\n",
            "got 'reference\\tpaid', which is not JSON, nor CSV whose first line has ref",
        ),
        ("sep=,\nreference,paid\na,1\n", "spreadsheet programs alone: leave it out"),
        (
            "\ufeff\ufeffreference,paid\na,1\n",
            "a second byte order mark stands before it: write one or none",
        ),
        (
            "\ufeff\ufeffpaid,reference\n1,a\n",
            "a second byte order mark stands before it: write one or none",
        ),
        (
            '\ufeff\ufeff[{"reference": "a"}]',
            "a second byte order mark stands before it: write one or none",
        ),
        ("refrence,paid\na,1\n", "did you mean 'reference'?"),
        ("reference,paid\na,1\nb,2,3\n", "line 3: books: got another number of values than the 2"),
        ('reference,paid\n"a"b,1\n', "line 2: books: got CSV that cannot be read"),
        ("[" * 100_000, "nested too deep"),
        (
            '[{"reference": "a", "paid": 1},\n\n {"reference": "b", "paid": "lots"}]',
            "line 3: paid: got 'lots'",
        ),
        (
            '\n{"reference": "a"}\n{"reference": "b", "paid": -1e999999999}',
            "line 3: books: got -1e999999999, which is too",
        ),
        (
            '{"reference": "a"}\n]\n{"reference": "b"}',
            "line 2: books: got JSON that cannot be read",
        ),
    ],
)
def test_unreadable_books_are_refused_with_their_line(text: str, words: str) -> None:
    with pytest.raises(BadRow) as refused:
        checked_rows(text.encode())
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"paid": 20}, "reference: missing, wanted one of charge, subscription, reference"),
        ([1], "row: got a list, wanted an object"),
        ({"reference": {}}, "reference: got an object, wanted a text"),
        ({"reference": "a", "paid": "lots"}, "paid: got 'lots', wanted a number such as 12.50"),
        ({"reference": "a", "paid": True}, "paid: got true or false"),
        ({"reference": "a", "paid": float("nan")}, "paid: got a number, wanted a number"),
        ({"reference": "a", "paid": 10**30}, "paid: got 31 digits before the point, at most 15"),
        ({"reference": "a", "paid": -1}, "paid: got -1, wanted 0 or more"),
        (
            {"reference": "a", "paid": "20.005", "currency": "AUD"},
            "paid: got 20.005, AUD has 2 digits",
        ),
        (
            {"reference": "a", "paid": "20.5", "currency": "JPY"},
            "paid: got 20.5, JPY has no digits",
        ),
        (
            {"reference": "a", "currency": "AUDD"},
            "currency: got 'AUDD', wanted an ISO 4217 code such as AUD - did you",
        ),
        ({"reference": "a", "currency": 5}, "currency: got a number"),
        ({"reference": "a", "state": 5}, "state: got a number"),
    ],
)
def test_wrong_rows_say_what_was_got_and_what_is_allowed(row: object, words: str) -> None:
    with pytest.raises(BadRow) as refused:
        read_row(row)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "reference,amount,status\na,20,paid\n",
            "got amount, status; no row says paid, refunded, held or state - did",
        ),
        (
            '{"reference": "a", "Payed": 20}',
            "got payed; no row says paid, refunded, held or state - did you mean 'paid'",
        ),
        ('[{"reference": "a", "4111111111111111": 1}]', "got 4111********1111; no row"),
    ],
)
def test_books_of_which_nothing_is_compared_are_refused(text: str, words: str) -> None:
    with pytest.raises(BadRow) as refused:
        checked_rows(text.encode())
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        '[{"reference": "a", "payed": 20, "state": null}, {"reference": "b"}]',
        "reference,currency\na,AUD\n",
        "reference,colour,paid\na,red,\n",
        '[{"reference": "a", "colour": "red"}, {"reference": "b", "Held": 0}]',
        '[{"reference": "a"}]',
        "[]",
    ],
)
def test_rows_that_claim_nothing_by_themselves_are_read(text: str) -> None:
    assert len(checked_rows(text.encode())) == text.count('"reference"') + text.count("\na,")


def test_states_of_the_shop_are_mapped() -> None:
    mapped = mapping_of(["Processing=pending", "done= Paid "])
    assert read_row({"reference": "a", "state": "processing"}, mapped).claim is Claim.PENDING
    assert read_row({"reference": "a", "state": "DONE"}, mapped).claim is Claim.TAKEN
    assert read_row({"reference": "a", "state": "else"}, mapped).claim is None


@pytest.mark.parametrize("word", ["processing", "=paid", "a=payed"])
def test_a_wrong_mapping_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r"wanted|did you mean 'paid'"):
        mapping_of([word])
