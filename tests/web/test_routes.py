"""The routes, and the types that mypy follows from a body to the function that acts."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from mockserver.web.control.routes import CONTROL_ROUTES
from mockserver.web.operations.lists import ListOf
from mockserver.web.operations.route import Route
from mockserver.web.pages import PAGE_ROUTES
from mockserver.web.routes import FORM_ROUTES, ROUTES
from mockserver.wire.control_body import ControlBody
from mockserver.wire.replies import reply_type
from tests import needs
from tests.rows import at_row

OPERATIONS: Sequence[Route[Any, Any]] = (*ROUTES, *FORM_ROUTES.values())
ROOT = Path(__file__).resolve().parents[2]


def taken_by(handle: Any) -> tuple[Any, Any]:
    """What a function says that the body and the query of its call are."""
    [call, *_] = get_type_hints(handle).values()
    body, query = get_args(call)
    return body, query


def fits(model: Any, said: Any, nothing: Any) -> bool:
    """Whether a route's body or query is what its function takes: a class of its own, or a
    protocol."""
    if model is None:
        return said in (nothing, object)
    return (
        said is object
        or getattr(get_origin(said) or said, "_is_protocol", False)
        or issubclass(model, said)
    )


def test_an_operation_is_given_the_body_and_the_query_that_its_function_takes() -> None:
    for route in OPERATIONS:
        with at_row(f"{route.method} {route.path}"):
            if isinstance(route.handle, ListOf):
                assert (route.body, route.query) == (None, route.handle.query)
                continue
            body, query = taken_by(route.handle)
            assert fits(route.body, body, type(None))
            assert fits(route.query, query, type(None))


def test_a_control_call_is_given_the_body_and_the_query_that_its_function_takes() -> None:
    for route in CONTROL_ROUTES:
        with at_row(f"{route.method} {route.path}"):
            body, query = taken_by(route.handle)
            assert fits(route.body, body, ControlBody)
            assert fits(route.query, query, ControlBody)


def test_every_reply_is_a_row_of_the_tables() -> None:
    for route in ROUTES:
        assert reply_type(route.reply.removeprefix("list of ")).fields


def test_no_two_rows_have_one_method_and_path() -> None:
    places = [(route.method, route.path) for route in (*ROUTES, *CONTROL_ROUTES, *PAGE_ROUTES)]
    assert len(places) == len(set(places))


MISSPELT = """
from mockserver.web.control.call import ControlCall
from mockserver.web.control.clock import ClockAdvance
from mockserver.web.operations.charges import refund
from mockserver.web.operations.route import OperationCall, Route
from mockserver.wire.bodies.charges import Capture, CardCharge, RefundQuery
from mockserver.wire.control_body import ControlBody

def body(given: CardCharge) -> str | None:
    return given.{descriptor}

def query(call: OperationCall[None, RefundQuery]) -> object:
    return call.query.{amount}

def control(call: ControlCall[ClockAdvance, ControlBody]) -> object:
    return call.body.{by}

ROUTE = Route("DELETE", "/x", "x", refund, reply="ChargeReply", query={model}, summary="", source="")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({}, None),
        ({"descriptor": "descripter"}, 10),
        ({"amount": "amout"}, 13),
        ({"by": "bye"}, 16),
        ({"model": "Capture"}, 18),
    ],
)
def test_a_misspelt_field_and_a_wrong_model_fail_the_type_check(
    wrong: dict[str, str], line: int | None, tmp_path: Path
) -> None:
    needs.library("mypy")
    words = {
        "descriptor": "descriptor",
        "amount": "amount",
        "by": "by",
        "model": "RefundQuery",
    } | wrong
    (tmp_path / "wrong.py").write_text(MISSPELT.format(**words), "utf-8")
    checked = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            ROOT / "pyproject.toml",
            tmp_path / "wrong.py",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert f"wrong.py:{line}: error" in checked.stdout if line else checked.returncode == 0, (
        checked.stdout
    )
