"""Vault operations."""

from __future__ import annotations

from mockserver.domain.vault import VaultItem
from mockserver.engine import vault
from mockserver.web.endpoints.use_cases import UseCase
from mockserver.web.routes import OperationCall
from mockserver.wire.replies import Members
from mockserver.wire.vault import vault_reply, vault_secrets_reply


def _shown(call: OperationCall, item: VaultItem) -> Members:
    return vault_reply(item, call.profile)


create = UseCase("Vault a card number.", vault.create, _shown)
get = UseCase(
    "Read a vault item, number included.", vault.get, lambda call, item: vault_secrets_reply(item, call.profile)
)
delete = UseCase("Delete a vault item.", vault.delete, _shown)
