"""Vault operations."""

from __future__ import annotations

from mockserver.engine import vault
from mockserver.web.route import OperationCall
from mockserver.wire.vault import VaultReply, VaultSecretsReply, vault_reply, vault_secrets_reply


def create(call: OperationCall) -> VaultReply:
    """Vault a card number."""
    return vault_reply(vault.create(call.sandbox, call.body.command()), call.profile)


def get(call: OperationCall) -> VaultSecretsReply:
    """Read a vault item, number included."""
    return vault_secrets_reply(vault.get(call.sandbox, call.path["vault_id"]), call.profile)


def delete(call: OperationCall) -> VaultReply:
    """Delete a vault item."""
    return vault_reply(vault.delete(call.sandbox, call.path["vault_id"]), call.profile)
