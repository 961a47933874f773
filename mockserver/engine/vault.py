"""Vault use cases: store, read, delete, expire, and the removal of the ccv.

Source: service document, Vault; What the service does, 6-9.
"""

from __future__ import annotations

from mockserver.assumptions.table import VAULT_CCV_DELAY, VAULT_CCV_SPENT_BY, VAULT_GONE
from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import Instant
from mockserver.domain.codes import Code
from mockserver.domain.commands import NewVaultItem
from mockserver.domain.errors import NotFound
from mockserver.domain.events import Subject
from mockserver.domain.states import CCV, VAULT, CcvEvent, CcvState, VaultEvent, VaultState
from mockserver.domain.vault import INDEPENDENT, VaultItem, check_expiry
from mockserver.engine import card_entry
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due


def create(box: Sandbox, command: NewVaultItem) -> VaultItem:
    """Vault a card on its own. Raises ``Invalid`` 5 (number), 6 (ccv), 82 (both expiries), 83 (expiry not to come)."""
    faults = box.faults()
    facts = card_entry.check_number(box, command.number, "CardNumber", faults)
    card_entry.check_ccv(command.ccv, "Ccv", facts, faults)
    expires = check_expiry(command.expiry, INDEPENDENT, box.now, faults)
    faults.refuse()
    return store(box, card_entry.sure(facts), command.number, command.ccv, expires)


def store(box: Sandbox, facts: CardNumber, number: str, ccv: str | None, expires: Instant | None) -> VaultItem:
    """Keep a checked card, and plan its expiry and the removal of its ccv."""
    item = box.vault.add(
        VaultItem(
            vault_id=box.ids.hex32("vault"),
            facts=facts,
            added=box.now,
            expires=expires,
            number=card_entry.bare(number),
            ccv=ccv,
            ccv_state=CcvState.HELD if ccv else CcvState.ABSENT,
        )
    )
    box.emit(Subject.VAULT, item.vault_id, "stored", None, item.state)
    if expires is not None:
        box.schedule.plan(expires, Due.VAULT_EXPIRY, item.vault_id)
    if ccv:
        box.schedule.plan(box.now + box.assume(VAULT_CCV_DELAY), Due.CCV_DELAY, item.vault_id)
    return item


def get(box: Sandbox, vault_id: str) -> VaultItem:
    """A stored item. Raises ``NotFound`` (62) for unknown, expired and deleted ones alike."""
    item = box.vault.get(vault_id)
    if item is None or item.state is not VaultState.STORED:
        box.assume(VAULT_GONE)
        raise NotFound(Code.INVALID_VAULT_ID, {"VaultId": f"no vault item '{vault_id[:64]}' in this sandbox"})
    box.turn.about["vault"] = item
    return item


def delete(box: Sandbox, vault_id: str) -> VaultItem:
    """Delete an item before it expires. Raises ``NotFound`` (62)."""
    item = get(box, vault_id)
    _end(box, item, VaultEvent.DELETED)
    return item


def expire(box: Sandbox, vault_id: str) -> None:
    """The time of an item has come."""
    item = box.vault.get(vault_id)
    if item is not None and item.state is VaultState.STORED:
        _end(box, item, VaultEvent.EXPIRED)


def lapse_ccv(box: Sandbox, vault_id: str) -> None:
    """The short delay has passed."""
    item = box.vault.get(vault_id)
    if item is not None:
        _remove_ccv(box, item, CcvEvent.DELAY_PASSED)


def spend_ccv(box: Sandbox, facts: CardNumber, vault_id: str | None) -> None:
    """A payment occurred for a card: its ccv leaves the vault (assumption ``vault.ccv_spent_by``)."""
    if box.assume(VAULT_CCV_SPENT_BY) == "same_card":
        for item in box.vault.find("card_with_ccv", facts.fingerprint):
            _remove_ccv(box, item, CcvEvent.PAID)
    elif vault_id is not None:
        linked = box.vault.get(vault_id)
        if linked is not None:
            _remove_ccv(box, linked, CcvEvent.PAID)


def _remove_ccv(box: Sandbox, item: VaultItem, event: CcvEvent) -> None:
    if item.ccv_state is not CcvState.HELD:
        return
    after = CCV.advance(item.ccv_state, event)
    box.vault.change(item, {"ccv": None, "ccv_state": after})
    box.emit(Subject.CCV, item.vault_id, event, CcvState.HELD, after)


def _end(box: Sandbox, item: VaultItem, event: VaultEvent) -> None:
    before = item.state
    after = VAULT.advance(before, event)
    _remove_ccv(box, item, CcvEvent.ITEM_GONE)
    box.vault.change(item, {"state": after, "number": None})
    box.emit(Subject.VAULT, item.vault_id, event, before, after)
