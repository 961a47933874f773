"""Vault use cases: store, read, delete, expire, and the removal of the ccv.

Source: docs/spec/service.md, Vault; What the service does, 6-9.
"""

from __future__ import annotations

from mockserver.assumptions.table import VAULT_CCV_DELAY, VAULT_CCV_SPENT_BY, VAULT_GONE
from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import Instant
from mockserver.domain.codes import Code
from mockserver.domain.commands import NewVaultItem
from mockserver.domain.errors import Faults, NotFound
from mockserver.domain.events import Subject
from mockserver.domain.states import CcvEvent, CcvState, VaultEvent, VaultState
from mockserver.domain.vault import INDEPENDENT, VaultItem, check_expiry
from mockserver.engine import card_entry
from mockserver.engine.lookup import unknown
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due

CCV_INDEX = "card_with_ccv"
"""The index that every payment asks: a sandbox that comes with a vault learns it before the first."""


def create(sandbox: Sandbox, command: NewVaultItem) -> VaultItem:
    """Vault a card on its own. Raises ``Invalid`` 5 (number), 6 (ccv), 82 (both expiries), 83 (expiry not to come)."""
    faults = Faults()
    facts = card_entry.check_number(sandbox, command.number, faults)
    card_entry.check_ccv(command.ccv, facts, faults)
    expires = check_expiry(command.expiry, INDEPENDENT, sandbox.now, faults)
    faults.refuse()
    return store(sandbox, card_entry.sure(facts), command.number, command.ccv, expires)


def store(sandbox: Sandbox, facts: CardNumber, number: str, ccv: str | None, expires: Instant | None) -> VaultItem:
    """Keep a checked card, and plan its expiry and the removal of its ccv."""
    item = sandbox.vault.add(
        VaultItem(
            vault_id=sandbox.ids.hex32("vault"),
            facts=facts,
            added=sandbox.now,
            expires=expires,
            number=card_entry.bare(number),
            ccv=ccv,
            ccv_state=CcvState.HELD if ccv else CcvState.ABSENT,
        )
    )
    sandbox.emit(Subject.VAULT, item.vault_id, "stored", None, item.state)
    if expires is not None:
        sandbox.schedule.plan(expires, Due.VAULT_EXPIRY, item.vault_id)
    if ccv:
        sandbox.schedule.plan(sandbox.now + sandbox.assume(VAULT_CCV_DELAY), Due.CCV_DELAY, item.vault_id)
    return item


def get(sandbox: Sandbox, vault_id: str) -> VaultItem:
    """A stored item. Raises ``NotFound`` (62) for unknown, expired and deleted ones alike."""
    item = sandbox.vault.get(vault_id)
    if item is None or item.state is not VaultState.STORED:
        sandbox.assume(VAULT_GONE)
        raise NotFound(Code.INVALID_VAULT_ID, {"VaultId": unknown("vault", vault_id)})
    sandbox.step.about["vault"] = item
    return item


def delete(sandbox: Sandbox, vault_id: str) -> VaultItem:
    """Delete an item before it expires. Raises ``NotFound`` (62)."""
    return _end(sandbox, get(sandbox, vault_id), VaultEvent.DELETED)


def expire(sandbox: Sandbox, vault_id: str) -> None:
    """The time of an item has come."""
    item = sandbox.vault.get(vault_id)
    if item is not None and item.state is VaultState.STORED:
        _end(sandbox, item, VaultEvent.EXPIRED)


def expire_ccv(sandbox: Sandbox, vault_id: str) -> None:
    """The short delay has passed."""
    item = sandbox.vault.get(vault_id)
    if item is not None:
        _remove_ccv(sandbox, item, CcvEvent.DELAY_PASSED)


def spend_ccv(sandbox: Sandbox, facts: CardNumber, vault_id: str | None) -> None:
    """A payment occurred for a card: its ccv leaves the vault (assumption ``vault.ccv_spent_by``)."""
    if sandbox.assume(VAULT_CCV_SPENT_BY) == "same_card":
        for item in sandbox.vault.find(CCV_INDEX, facts.fingerprint):
            _remove_ccv(sandbox, item, CcvEvent.PAID)
    elif vault_id is not None:
        linked = sandbox.vault.get(vault_id)
        if linked is not None:
            _remove_ccv(sandbox, linked, CcvEvent.PAID)


def _remove_ccv(sandbox: Sandbox, item: VaultItem, event: CcvEvent) -> VaultItem:
    if item.ccv_state is not CcvState.HELD:
        return item
    after = sandbox.replace(sandbox.vault, item, item.after_ccv(event))
    sandbox.emit(Subject.CCV, item.vault_id, event, CcvState.HELD, after.ccv_state)
    return after


def _end(sandbox: Sandbox, item: VaultItem, event: VaultEvent) -> VaultItem:
    bare = _remove_ccv(sandbox, item, CcvEvent.ITEM_GONE)
    after = sandbox.replace(sandbox.vault, bare, bare.after_end(event))
    sandbox.emit(Subject.VAULT, item.vault_id, event, item.state, after.state)
    return after
