"""Every assumption that a walk can show is found by what differs, and the profile that is written
cures it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from mockserver.adapters.scenario_files import read_text
from mockserver.assumptions import ROWS
from mockserver.domain.clock import parse_instant
from mockserver.domain.record import read_table
from mockserver.drift import judging, walk
from mockserver.drift.differences import Run, Tier, compare
from mockserver.drift.judging import DriftReport, judge
from mockserver.drift.playing import Played
from mockserver.drift.recordings import Recording
from tests import needs
from tests.depth import tries

pytestmark = pytest.mark.slow

RUN = Run("drift-5a1b2c3d4e", parse_instant("2031-03-01T00:00:00Z"))
WALK = walk.steps()
UNSEEN = dict(read_table("unseen", lambda key, reason: (key, reason), Path(walk.__file__).parent))

VALUES: Mapping[str, tuple[object, ...]] = {
    "amount.minimum": ("0.05", "3"),
    "amount.maximum": ("50", "2000"),
    "batch.maximum": (1,),
    "card.iin_digits": (3, 4),
    "charge.authorisation_expires_after": ("0s",),
    "charge.pending_settles_after": ("0s",),
    "currency.default": ("NZD",),
    "error.not_found": (400,),
    "error.wrong_state": (400, 404),
    "link.image_maximum": (1,),
    "paging.default": (50,),
    "paging.maximum": (50, 100_000),
    "payto.active_after": ("5m",),
    "request.json_depth": (8, 200),
    "response.created_status": (200,),
    "token.lifetime": ("0s",),
    "token.uses": (3,),
    "vault.ccv_delay": ("0s",),
    "version.number": ("2.0.0",),
    "version.released": ("2024-01-01T00:00:00.0000000Z",),
}
"""Other answers of rows that do not list theirs."""


def other_values(key: str) -> list[object]:
    row = ROWS[key]
    listed = (
        [*row.kind.allowed.split(" | ")] if " | " in row.kind.allowed else [*VALUES.get(key, ())]
    )
    return [value for value in listed if row.kind.read(value) != row.documented]


CASES = [
    (key, value)
    for key in ROWS
    for value in other_values(key)
    if key not in UNSEEN or key in VALUES
]


def played(overrides: Mapping[str, object]) -> Played:
    sandbox = judging.opening("documented", RUN.instant)(overrides)
    return asyncio.run(judging.play(WALK, sandbox, RUN.name, undoes=False))


def judged(overrides: Mapping[str, object]) -> DriftReport:
    return asyncio.run(judge(Recording("http://127.0.0.1:9", RUN, played(overrides)), "documented"))


def check_cured(found: DriftReport) -> None:
    """The written profile is a scenario under which both answer alike."""
    assert (found.left, found.alone) == ([], set()), str(found)
    assumptions = read_text(found.written(), "drift.yaml").said.assumptions
    cured = played(assumptions)
    assert compare(cured, found.recording.played, RUN) == []
    assert cured.answers.keys() == found.recording.played.answers.keys()


@pytest.mark.parametrize(("key", "value"), CASES[:: tries(12, 1)])
def test_an_assumption_is_named_and_the_profile_cures_it(key: str, value: object) -> None:
    found = judged({key: value})
    assert not found.is_equal
    assert [*found.overrides] == [key], str(found)
    assert f"({key}: {found.overrides[key]})" in str(found)
    check_cured(found)


def test_equal_servers_have_no_difference() -> None:
    found = judged({})
    assert found.is_equal
    assert str(found).endswith(f"{len(walk.calls_of(WALK))} calls, no difference")


@pytest.mark.parametrize(
    ("key", "value", "tier"),
    [
        ("response.created_status", 200, Tier.BREAKS),
        ("charge.status.authorised", "AUTHORISE", Tier.BREAKS),
        ("paging.order", "oldest_first", Tier.BREAKS),
        ("card.masking", "last4", Tier.SHAPE),
        ("version.number", "2.0.0", Tier.SHAPE),
        ("removed.customer_methods", "no", Tier.SHAPE),
    ],
)
def test_a_difference_is_put_in_its_tier(key: str, value: object, tier: Tier) -> None:
    found = judged({key: value})
    assert tier in {one.tier for one, _ in found.by_key}
    assert f"{tier}:\n" in str(found)


@needs.DEEP
@pytest.mark.parametrize("seed", range(20))
def test_a_mixture_of_assumptions_is_cured(seed: int) -> None:
    random = Random(seed)
    cases = random.sample(
        [case for case in CASES if case[0] not in ("amount.minimum", "amount.maximum")], 6
    )
    check_cured(judged(dict(cases)))
