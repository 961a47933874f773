"""Which answers one commit serves: those that are ready, and those of clients that the last one answered together."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mockserver.store import writer
from tests.driving import CARD, DUMMY
from tests.store.twins import Kept

CHARGE = {"amount": 5, "currency": "AUD", "providerId": DUMMY, "paymentInformation": CARD}
ROUNDS = 20


def commits_of(api: Kept, clients: int) -> int:
    """The commits for clients that ask one thing after the other, half of whom begin while the others' first commit is
    written."""
    store: Any = api.app.world.store

    async def client() -> None:
        for _ in range(ROUNDS):
            assert (await api.calling("POST", "/charge/card", CHARGE)).status == 201

    async def all_clients() -> None:
        first = [asyncio.create_task(client()) for _ in range(clients // 2)]
        while not store._batch:
            await asyncio.sleep(0)
        await asyncio.gather(*first, *(client() for _ in range(clients // 2)))

    asyncio.run(all_clients())
    found: int = store.commits
    api.kill()
    return found


def test_clients_that_were_answered_together_share_the_next_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "COMPANY", 0.05)
    assert ROUNDS <= commits_of(Kept(tmp_path / "s.db"), 8) <= ROUNDS + 5


def test_of_two_clients_none_waits_for_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "COMPANY", 600.0)
    assert commits_of(Kept(tmp_path / "s.db"), 2) >= ROUNDS
