"""What this product answers to a walk under some assumptions is the same in every test, so each
walk is played once."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import pytest

from mockserver.adapters.machine_clock import machine_now
from mockserver.drift import judging, peers, playing, walk
from mockserver.drift.differences import Run

RUN = Run("drift-5a1b2c3d4e", machine_now())
"""What every walk of a command is known by."""

open_sandboxes = cache(peers.opening)
_played: dict[str, playing.Played] = {}


def _opening(profile: str, instant: int) -> Callable[[Mapping[str, object]], object]:
    return lambda assumptions: (profile, instant, assumptions)


async def _play(
    steps: Sequence[walk.Step], sandbox: Any, name: str, *, undoes: bool
) -> playing.Played:
    profile, instant, assumptions = sandbox
    known = repr(
        (profile, instant, sorted(assumptions.items()), name, [str(step) for step in steps])
    )
    if known not in _played:
        peer = open_sandboxes(profile, instant)(assumptions)
        _played[known] = await playing.play(steps, peer, name, undoes=undoes)
    return _played[known]


@pytest.fixture(autouse=True)
def _plays_each_walk_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "opening", _opening)
    monkeypatch.setattr(judging, "play", _play)
    monkeypatch.setattr("mockserver.commands.drift.Run", lambda *_: RUN)
