"""The recipes for CI: their last command is run, with a naive shop in the place of ``make test``."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from tests import warm
from tests.test_docs import TEXTS, shown
from tools import docs

GITHUB, GITLAB = (yaml.safe_load(text) for text in shown("yml", TEXTS[docs.ROOT / "docs" / "run.md"]))
LAST = {
    "GitHub Actions": GITHUB["jobs"]["checkout"]["steps"][-1]["run"],
    "GitLab": GITLAB["checkout"]["script"][-1],
}
PAY = """
pay() {
    curl -s --fail "$MOCKSERVER_URL/charge/card" -H "x-secretkey: $MOCKSERVER_SECRET_KEY" -o /dev/null --json '{
      "amount": 20, "reference": "order-5", "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
      "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"}}'
}
pay || pay
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", LAST)
@pytest.mark.parametrize(("scenario", "code"), [([], 0), (["--scenario", "charged-but-unanswered"], 1)])
def test_the_last_command_of_a_recipe_judges_the_tests(
    name: str, scenario: list[str], code: int, tmp_path: Path
) -> None:
    words = shlex.split(LAST[name])
    assert (words[:2], words[-3:]) == (["mockserver", "run"], ["--", "make", "test"])
    summary = tmp_path / "summary"
    done = subprocess.run(
        [*warm.python(), "-m", "mockserver", "run", *scenario, *words[2:-2], "sh", "-c", PAY],
        cwd=tmp_path,
        env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, done.stderr
    if name == "GitHub Actions":
        assert ("::error title=double-charge" in done.stdout, summary.exists()) == (code == 1, code == 1)
    else:
        assert ("<failure" in (tmp_path / "findings.xml").read_text()) == (code == 1)
