"""Provider operations."""

from __future__ import annotations

from mockserver.domain.provider import Provider
from mockserver.engine import providers
from mockserver.web.endpoints.use_cases import UseCase
from mockserver.web.routes import OperationCall
from mockserver.wire.providers import provider_reply
from mockserver.wire.replies import Members


def shown(call: OperationCall, provider: Provider) -> Members:
    """A provider with its fallback."""
    fallback = call.sandbox.providers.get(provider.fallback_provider_id) if provider.fallback_provider_id else None
    return provider_reply(provider, fallback)


create = UseCase("Configure a provider.", providers.create, shown)
update = UseCase("Change a provider.", providers.update, shown)
delete = UseCase("Remove a provider from use.", providers.delete, shown)
