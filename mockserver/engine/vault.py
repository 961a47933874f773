"""Vault use cases: store, read, delete, expire, and the removal of the ccv.

A ccv is not kept for long: it leaves the vault with the first payment by its card, with its item,
or after a time, whichever comes first (``remove_ccv``).

Source: docs/spec/service.md, Vault; What the service does, 6-9.
"""

from mockserver.domain.cards import CardNumber, clean
from mockserver.domain.clock import Instant
from mockserver.domain.codes import Code
from mockserver.domain.commands import NewVaultItem
from mockserver.domain.errors import Faults, NotFound
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.sources import Instrument
from mockserver.domain.states import CcvEvent, CcvState, Subject, VaultEvent, VaultState
from mockserver.domain.token import Token
from mockserver.domain.vault import VaultItem, check_expiry
from mockserver.engine import intake
from mockserver.engine.schedule import Due
from mockserver.engine.step import Step, unknown


def create(step: Step, command: NewVaultItem) -> VaultItem:
    """Vault a card on its own. Raises ``Invalid`` 5 (number), 6 (ccv), 82 (both expiries), 83
    (expiry not to come)."""
    faults = Faults()
    facts = faults.attempt(intake.check_number, step, command.number)
    intake.check_ccv(command.ccv, facts, faults)
    expires = check_expiry(command.expiry, step.sandbox.now, faults, with_card=False)
    return store(step, faults.sure(facts), command.number, command.ccv, expires)


def store(
    step: Step, facts: CardNumber, number: str, ccv: str | None, expires: Instant | None
) -> VaultItem:
    """Keep a checked card, and plan its expiry and the removal of its ccv."""
    sandbox = step.sandbox
    item = step.add(
        VaultItem(
            vault_id=sandbox.ids.hex32("vault"),
            facts=facts,
            added=sandbox.now,
            expires=expires,
            number=clean(number) or number,
            ccv=ccv,
            ccv_state=CcvState.HELD if ccv else CcvState.ABSENT,
        ),
        "stored",
    )
    if expires is not None:
        sandbox.schedule.plan(expires, Due.VAULT_EXPIRY, item.vault_id)
    if ccv:
        removal = sandbox.now + step.assume("vault.ccv_delay")
        sandbox.schedule.plan(removal, Due.CCV_DELAY, item.vault_id)
    return item


def get(step: Step, vault_id: str) -> VaultItem:
    """A stored item. Raises ``NotFound`` (62) for unknown, expired and deleted ones alike: nobody
    learns that there was a card (settled fact ``vault.gone``)."""
    item = step.sandbox.vault.get(vault_id)
    if item is None or item.state is not VaultState.STORED:
        raise NotFound(Code.INVALID_VAULT_ID, {"VaultId": unknown("vault", vault_id)})
    step.result.about["vault"] = item
    return item


def delete(step: Step, vault_id: str) -> VaultItem:
    """Delete an item before it expires. Raises ``NotFound`` (62)."""
    return end(step, get(step, vault_id), VaultEvent.DELETED)


def spend_ccv(step: Step, paid: Instrument) -> None:
    """A payment occurred for a card: its ccv leaves the vault (assumption
    ``vault.ccv_spent_by``), from all items of the card's number, or from that alone by which was
    paid."""
    sandbox = step.sandbox
    if paid.card is None:
        return
    if step.assume("vault.ccv_spent_by") == "same_card":
        for item in sandbox.vault.find("card_with_ccv", paid.card.number.fingerprint):
            remove_ccv(step, item, CcvEvent.PAID)
        return
    used: PaymentMethod | Token | None = sandbox.payment_methods.get(paid.payment_method_id or "")
    if used is None:
        used = sandbox.tokens.get(paid.token_id or "")
    if used is None:
        # The card itself came with the request: none of the vault was paid by.
        return
    linked = sandbox.vault.get(used.vault_id or "")
    if linked is not None:
        remove_ccv(step, linked, CcvEvent.PAID)


def remove_ccv(step: Step, item: VaultItem, event: CcvEvent) -> VaultItem:
    """The item without the ccv that it holds, if any. It is an event of its own: a shop that needs
    the ccv for another provider must see from when it has it no more."""
    if item.ccv_state is not CcvState.HELD:
        return item
    after = step.change(item, item.after_ccv(event))
    step.emit(Subject.CCV, item.vault_id, event, CcvState.HELD, after.ccv_state)
    return after


def end(step: Step, item: VaultItem, event: VaultEvent) -> VaultItem:
    """The item is deleted or has expired, and its ccv is gone."""
    bare = remove_ccv(step, item, CcvEvent.ITEM_GONE)
    return step.change(bare, bare.after_end(event), event)
