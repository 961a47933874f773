"""``mockserver shrink``: by which seed the faults of its scenario are drawn."""

from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner

from mockserver.adapters.exit_codes import Exit
from mockserver.cli import main
from mockserver.explore.baseline import NoBaseline

RULE = "rules:\n  - {id: slow, when: {op: charge.create}, chance: {p: 0.5, then: {latency: 5ms}}}\n"


@pytest.mark.parametrize(
    ("of_scenario", "options", "drawn_by"),
    [
        ("", (), 1),
        ("seed: 3\n", (), 3),
        # A seed as any other, not one that is missing.
        ("seed: 0\n", (), 0),
        ("seed: 3\n", ("--seed", "0"), 0),
    ],
)
def test_the_option_goes_before_the_scenario_and_that_before_the_default(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    of_scenario: str,
    options: tuple[str, ...],
    drawn_by: int,
) -> None:
    seeds = []

    def trial_runner(url: str, admin_token: None, argv: tuple[str, ...], seed: int) -> NoReturn:
        seeds.append(seed)
        raise NoBaseline("this is enough")

    monkeypatch.setattr("mockserver.commands.shrink.trial_runner", trial_runner)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(f"version: 1\n{of_scenario}{RULE}")
    done = CliRunner().invoke(main, ["shrink", "--scenario", "s.yaml", *options, "--", "true"])
    assert (done.exit_code, seeds) == (Exit.BASELINE, [drawn_by]), done.output
