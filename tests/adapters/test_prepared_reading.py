"""The scenario that comes with the server is read ahead: just what the reader of YAML makes of
it."""

from mockserver.adapters.scenario_files import PREPARED, TEST_VALUES, load, shipped_file
from tools.derived import prepared_reading


def test_what_is_prepared_is_what_is_read() -> None:
    assert PREPARED.read_text("utf-8") == prepared_reading(), (
        "python -m tools.docs --tables prepares it again"
    )
    (scenario,) = load([], test_values=True)
    assert scenario.text == shipped_file(TEST_VALUES).read_text("utf-8")
    assert len({rule.line for rule in scenario.rules}) == len(scenario.rules)
