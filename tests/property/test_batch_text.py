"""Any transactions survive the way into a batch and back out as results, however their text is
written."""

import csv
from decimal import Decimal
from io import StringIO

from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.domain.batch import (
    COLUMNS,
    RESULT_COLUMNS,
    Batch,
    BatchPace,
    BatchRow,
    PacePoint,
    read_lines,
    results_text,
)
from tests.depth import tries

IDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40) | st.sampled_from(
    ['"', ",", "a\nb", '""', "a\rb", "a\r\nb", "\r", "\n"]
)
AMOUNTS = st.decimals(0, 10**9, places=2)


def read_rows(text: str) -> tuple[list[BatchRow], dict[str, str]]:
    """The rows and faults of a text."""
    read = list(read_lines(text))
    faults = {
        f"Batch.Line{line}": f"line {line}: {words}"
        for line, words in read
        if isinstance(words, str)
    }
    return [row for _, row in read if isinstance(row, BatchRow)], faults


ROWS = st.lists(
    st.tuples(IDS, AMOUNTS, st.sampled_from(["AUD", "usd", ""]), TEXTS), min_size=1, max_size=8
)


@settings(max_examples=tries(40, 400))
@given(
    ROWS,
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.booleans(),
    st.integers(0, 3),
)
def test_transactions_come_in_and_go_out_as_they_are(
    rows: list[tuple[str, Decimal, str, str]],
    line_end: str,
    quoting: int,
    marked: bool,
    blanks: int,
) -> None:
    out = StringIO()
    returns = any("\r" in text for *_, text in rows)
    writer = csv.writer(out, lineterminator=line_end, quoting=csv.QUOTE_ALL if returns else quoting)
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    text = ("\ufeff" if marked else "") + out.getvalue() + line_end * blanks
    read, faults = read_rows(text)
    assert faults == {}
    assert [
        (row.payment_method_id, row.amount, row.currency, row.reference) for row in read
    ] == rows
    batch = Batch(
        "b", "", 0, BatchPace((PacePoint(0, 0), PacePoint(len(read), 1)), len(read)), read
    )
    shown = list(csv.reader(StringIO(results_text(batch), newline="")))
    assert shown[0] == list(RESULT_COLUMNS)
    assert [(row[0], Decimal(row[1]), row[2], row[3]) for row in shown[1:]] == rows
    assert {len(row) for row in shown} == {10}


@settings(max_examples=tries(40, 400))
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_by_line(text: str) -> None:
    rows, faults = read_rows(",".join(COLUMNS) + "\n" + text)
    assert all(isinstance(row, BatchRow) for row in rows)
    lines = text.count("\n") + text.count("\r") + 2
    assert all(1 <= int(place.removeprefix("Batch.Line")) <= lines for place in faults)


def test_a_line_that_is_too_long_is_not_parted() -> None:
    for text, line in (("," * 20_000, 1), (",".join(COLUMNS) + "\na,1,AUD,b\n" + "," * 20_000, 3)):
        assert read_rows(text)[1] == {
            f"Batch.Line{line}": f"line {line}: longer than 10000 characters"
        }


@given(
    st.integers(1, 500), st.lists(st.tuples(st.integers(0, 500), st.integers(0, 10**6)), max_size=4)
)
def test_a_pace_never_goes_back(count: int, points: list[tuple[int, int]]) -> None:
    steps, after = [PacePoint(0, 10)], 10
    for reach, wait in sorted(points):
        after += wait
        steps.append(PacePoint(min(reach, count), after))
    steps.append(PacePoint(count, after + 5))
    pace = BatchPace(tuple(steps), count)
    times = [pace.after(row) for row in range(1, count + 1)]
    assert times == sorted(times)
    assert times[0] >= 10
    assert times[-1] <= after + 5


def test_a_row_over_many_lines_is_no_longer_than_one_of_one_line() -> None:
    head, row = ",".join(COLUMNS) + "\n", "m,1,AUD,r\n"
    for text in ('"\n",' * 5_000, '"' + "\n" * 10_000 + '",1,AUD,r'):
        assert read_rows(head + row + text)[1] == {
            "Batch.Line3": "line 3: longer than 10000 characters"
        }
    assert read_rows(head + row * 5_000)[1] == {}
