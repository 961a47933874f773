"""Provider operations."""

from __future__ import annotations

from mockserver.domain.provider import Provider
from mockserver.engine import providers
from mockserver.web.route import OperationCall
from mockserver.wire.providers import ProviderReply, provider_reply


def create(call: OperationCall) -> ProviderReply:
    """Configure a provider."""
    return shown(call, providers.create(call.sandbox, call.body.details()))


def update(call: OperationCall) -> ProviderReply:
    """Change a provider."""
    return shown(call, providers.update(call.sandbox, call.path["provider_id"], call.body.details()))


def delete(call: OperationCall) -> ProviderReply:
    """Remove a provider from use."""
    return shown(call, providers.delete(call.sandbox, call.path["provider_id"]))


def shown(call: OperationCall, provider: Provider) -> ProviderReply:
    """A provider with its fallback."""
    fallback = call.sandbox.providers.get(provider.fallback_provider_id) if provider.fallback_provider_id else None
    return provider_reply(provider, fallback)
