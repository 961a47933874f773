"""Two explorations with one seed on one server leave each other's sandboxes alone; one alone always
has the same."""

import os
from pathlib import Path

import pytest
from httpx import HTTPError

from mockserver.explore.command import Commands
from mockserver.explore.trial import TrialRunner, isolated

pytestmark = pytest.mark.slow

SCENARIO = {"version": 1, "name": "baseline-1"}
TELLS = ("sh", "-c", "echo $MOCKSERVER_PUBLIC_KEY")


def lab(url: str, folder: Path, run: str, seed: int = 1) -> TrialRunner:
    (folder / run).mkdir(parents=True, exist_ok=True)
    return TrialRunner(url, TELLS, Commands(os.environ), folder / run, seed, run)


def test_alone_it_stays_as_it_is_run_after_run(url: str, tmp_path: Path) -> None:
    for run in ("a", "b"):
        with isolated(lab(url, tmp_path, run)) as got:
            assert got.salt == ""


def test_beside_another_of_the_same_seed_it_has_sandboxes_of_its_own(
    url: str, tmp_path: Path
) -> None:
    with (
        isolated(lab(url, tmp_path, "a")) as first,
        isolated(lab(url, tmp_path, "b")) as second,
        isolated(lab(url, tmp_path, "c", seed=2)) as elsewhere,
    ):
        assert (first.salt, second.salt, elsewhere.salt) == ("", "b", "")
        told = [
            one.try_out("baseline-1", SCENARIO, 20).printed() for one in (first, second, elsewhere)
        ]
    assert all(key.startswith("pk_") for key in told)
    assert len(set(told)) == 3
    with isolated(lab(url, tmp_path, "d")) as later:
        assert (later.salt, later.try_out("baseline-1", SCENARIO, 20).printed()) == ("", told[0])


def test_one_that_outlives_the_first_keeps_the_next_apart(url: str, tmp_path: Path) -> None:
    first = isolated(lab(url, tmp_path, "a"))
    first.__enter__()
    with isolated(lab(url, tmp_path, "b")):
        first.__exit__(None, None, None)
        with isolated(lab(url, tmp_path, "c")) as third:
            assert third.salt == "c"


def test_a_server_that_is_gone_is_reported(tmp_path: Path) -> None:
    with pytest.raises(HTTPError), isolated(lab("http://127.0.0.1:9", tmp_path, "a")):
        pass
