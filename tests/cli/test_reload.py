"""Changed scenario files take effect while the server runs: after SIGHUP, as users of the image
send it, or with ``--watch``. A bad file leaves the old rules in force and says why."""

import signal
import sys
from pathlib import Path

import pytest

from tests.served import CHARGE, Process, serve
from tests.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGHUP"),
]

RULE = "version: 1\nrules:\n  - {id: all, when: {op: charge.create}, then: {decline: %s}}\n"


def outcome(server: Process) -> object:
    """The state of a new charge, or the code of its refusal."""
    answer = server.call("POST", "/charge/card", CHARGE)[1]
    return answer.get("code") or answer["status"]


@pytest.mark.parametrize("options", [(), ("--watch",)], ids=["signal", "watch"])
def test_a_changed_folder_takes_effect_and_a_bad_file_changes_nothing(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    server = serve("--scenario", str(tmp_path), *options)

    def reload(name: str) -> None:
        (tmp_path / "rule.yaml").write_text(RULE % name)
        if not options:
            server.process.send_signal(signal.SIGHUP)

    try:
        assert outcome(server) == "SUCCESS"
        reload("expired_card")
        until(lambda: outcome(server) == 14)
        reload("expired_kard")
        until(lambda: server.call("GET", "/readyz")[0] == 503)
        (reason,) = server.call("GET", "/readyz")[1]["reasons"]
        assert "rule.yaml:3" in reason
        assert "did you mean 'expired_card'" in reason
        assert outcome(server) == 14
        reload("lost_card")
        until(lambda: outcome(server) == 941)
        assert server.call("GET", "/readyz")[0] == 200
    finally:
        assert server.stop() == 0
