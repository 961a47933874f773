"""Reloaded scenario files reach every sandbox."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from mockserver import Settings, create_app
from mockserver.web.app import Application
from tests.driving import NOW, Api

RULE = """
version: 1
name: rule
rules: [{{id: one, when: {{op: charge.create}}, then: {{decline: {0}}}}}]
"""


def serving(path: Path, keys: int) -> Api:
    """A server with rules from a file, and some sandboxes."""
    path.write_text(RULE.format("expired_card"))
    api = Api(waits=True)
    api.app = create_app(Settings(scenario=(str(path),), seed=42), real_clock=lambda: NOW)
    assert {api.try_charge(key=f"sk_{number}")["code"] for number in range(keys)} == {14}
    return api


def reload(app: Application, during: Callable[[int], None] = lambda turn: None) -> None:
    """Read the files again, with something else in each turn that others have meanwhile."""

    async def run() -> None:
        work, turns = asyncio.ensure_future(app.world.directory.reload()), 0
        while not work.done():
            await asyncio.sleep(0)
            during(turns)
            turns += 1
        await work

    asyncio.run(run())


def test_every_sandbox_gets_them(tmp_path: Path) -> None:
    api = serving(tmp_path / "rule.yaml", 100)
    (tmp_path / "rule.yaml").write_text(RULE.format("lost_card"))
    reload(api.app)
    assert {api.try_charge(key=f"sk_{number}")["code"] for number in range(101)} == {941}
    assert api.app.world.directory.ready_problems == []


def test_sandboxes_that_are_reset_and_copied_meanwhile_get_them_too(tmp_path: Path) -> None:
    api = serving(tmp_path / "rule.yaml", 100)
    (tmp_path / "rule.yaml").write_text(RULE.format("lost_card"))
    world = api.app.world

    def change(turn: int) -> None:
        last = world.sandboxes.open("sk_99", NOW)
        world.sandboxes.reopen("sk_99", last.beginning, NOW)
        if "sk_copy" not in world.sandboxes.in_memory:
            from mockserver.engine.state_reading import copied

            world.sandboxes.install(copied(last, "sk_copy", NOW)())

    reload(api.app, change)
    assert {api.try_charge(key=key)["code"] for key in ("sk_0", "sk_99", "sk_copy")} == {941}


def test_bad_files_leave_the_old_rules_in_force(tmp_path: Path) -> None:
    api = serving(tmp_path / "rule.yaml", 3)
    (tmp_path / "rule.yaml").write_text(RULE.format("lost_kard"))
    reload(api.app)
    assert "lost_kard" in api.app.world.directory.ready_problems[0]
    assert {api.try_charge(key=f"sk_{number}")["code"] for number in range(4)} == {14}


def test_a_sandbox_with_rules_of_its_own_keeps_them(tmp_path: Path) -> None:
    api = serving(tmp_path / "rule.yaml", 1)
    own = {"version": 1, "name": "own", "rules": [
        {"id": "own", "when": {"op": "charge.create"}, "then": {"decline": "insufficient_funds"}}]}  # fmt: skip
    assert api.call("PUT", "/__admin/scenarios", own, key="sk_0").status == 200
    before = api.try_charge(key="sk_0")["code"]
    (tmp_path / "rule.yaml").write_text(RULE.format("lost_card"))
    reload(api.app)
    assert (api.try_charge(key="sk_0")["code"], api.try_charge(key="sk_1")["code"]) == (before, 941)
