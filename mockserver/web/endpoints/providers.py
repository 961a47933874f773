"""Provider operations."""

from __future__ import annotations

from mockserver.domain.provider import Provider
from mockserver.engine import providers
from mockserver.web.route import Call
from mockserver.wire.providers import ProviderReply, provider_reply


def create(call: Call) -> ProviderReply:
    """Configure a provider."""
    return shown(call, providers.create(call.box, call.body.wish()))


def update(call: Call) -> ProviderReply:
    """Change a provider."""
    return shown(call, providers.update(call.box, call.path["provider_id"], call.body.wish()))


def delete(call: Call) -> ProviderReply:
    """Remove a provider from use."""
    return shown(call, providers.delete(call.box, call.path["provider_id"]))


def shown(call: Call, provider: Provider) -> ProviderReply:
    """A provider with whoever takes over from it."""
    fallback = call.box.providers.get(provider.fallback_provider_id) if provider.fallback_provider_id else None
    return provider_reply(provider, fallback)
