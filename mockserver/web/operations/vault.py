"""The vault: card numbers on their own.

Source: docs/spec/service.md, Vault.
"""

from mockserver.engine import vault
from mockserver.web.operations import shown
from mockserver.web.operations.route import OperationCall, Route
from mockserver.wire.bodies.vault import VaultCreation
from mockserver.wire.replies import Members


def create(call: OperationCall[VaultCreation, None]) -> Members:
    """Create a vault item."""
    return shown.vault_item(call, vault.create(call.step, call.body.command()))


def get(call: OperationCall[None, None]) -> Members:
    """Get a vault item."""
    return shown.vault_secrets(call, vault.get(call.step, call.path["vault_id"]))


def delete(call: OperationCall[None, None]) -> Members:
    """Delete a vault item."""
    return shown.vault_item(call, vault.delete(call.step, call.path["vault_id"]))


ROUTES = (
    Route(
        "POST",
        "/vault",
        "vault.create",
        create,
        reply="VaultReply",
        body=VaultCreation,
        creates=True,
        summary="Create a vault item",
        source="service document, Vault",
    ),
    Route(
        "GET",
        "/vault/{vault_id}",
        "vault.get",
        get,
        reply="VaultSecretsReply",
        summary="Get a vault item",
        source="service document, Vault",
    ),
    Route(
        "DELETE",
        "/vault/{vault_id}",
        "vault.delete",
        delete,
        reply="VaultReply",
        summary="Delete a vault item",
        source="service document, Vault",
    ),
)
