"""Payment-token operations."""

from __future__ import annotations

from mockserver.domain.token import Token
from mockserver.engine import searches, three_ds, tokens
from mockserver.web.endpoints.lists import ListOf
from mockserver.web.route import OperationCall
from mockserver.wire.tokens import TokenQuery, TokenReply, token_reply


def create_from_card(call: OperationCall) -> TokenReply:
    """Make a token from a card for a provider."""
    return shown(call, tokens.create_from_card(call.sandbox, call.body.command(provider_of(call) or "")))


def create_least_cost(call: OperationCall) -> TokenReply:
    """Make a token from a card for the provider that takes it for the least cost."""
    return shown(call, tokens.create_from_card(call.sandbox, call.body.command()))


def create_from_payto(call: OperationCall) -> TokenReply:
    """Make a token from a PayTo agreement."""
    return shown(call, tokens.create_from_payto(call.sandbox, call.body.command()))


def get(call: OperationCall) -> TokenReply:
    """Read a token."""
    return shown(call, tokens.get(call.sandbox, call.path["token"]))


def provider_of(call: OperationCall) -> str | None:
    """The provider that a call names in its header, its query or its body (published facts, 8 rows 18-19)."""
    named: str | None = call.headers.get("providerid") or call.query.provider_id or call.body.provider_id
    return named


def shown(call: OperationCall, token: Token) -> TokenReply:
    """A token in the voice of the sandbox."""
    agreement = call.sandbox.payto.get(token.payto_id) if token.payto_id else None
    return token_reply(
        token, call.profile, call.sandbox.account_id, agreement, three_ds.token_address(call.sandbox, token)
    )


search = ListOf("List tokens.", searches.TOKENS, TokenQuery, "tokens", shown)
