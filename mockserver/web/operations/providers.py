"""Providers: configure one, change it, take it away.

Source: docs/spec/published-facts.md, 1.1 (rows 55-57).
"""

from mockserver.engine import providers
from mockserver.web.operations import shown
from mockserver.web.operations.route import OperationCall, Route
from mockserver.wire.bodies.providers import ProviderFields
from mockserver.wire.replies import Members


def create(call: OperationCall[ProviderFields, None]) -> Members:
    """Create a provider."""
    return shown.provider(call, providers.create(call.step, call.body.command()))


def update(call: OperationCall[ProviderFields, None]) -> Members:
    """Update a provider."""
    provider_id, changes = call.path["provider_id"], call.body.command()
    return shown.provider(call, providers.update(call.step, provider_id, changes))


def delete(call: OperationCall[None, None]) -> Members:
    """Delete a provider."""
    return shown.provider(call, providers.delete(call.step, call.path["provider_id"]))


ROUTES = (
    Route(
        "POST",
        "/provider",
        "provider.create",
        create,
        reply="ProviderReply",
        body=ProviderFields,
        creates=True,
        summary="Create a provider",
        source="published facts, 1.1 row 55",
    ),
    Route(
        "PUT",
        "/provider/{provider_id}",
        "provider.update",
        update,
        reply="ProviderReply",
        body=ProviderFields,
        summary="Update a provider",
        source="published facts, 1.1 row 56",
    ),
    Route(
        "DELETE",
        "/provider/{provider_id}",
        "provider.delete",
        delete,
        reply="ProviderReply",
        summary="Delete a provider",
        source="published facts, 1.1 row 57",
    ),
)
