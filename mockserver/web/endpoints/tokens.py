"""Payment-token operations."""

from __future__ import annotations

from mockserver.domain.token import Token
from mockserver.engine import searches, three_ds, tokens
from mockserver.web.endpoints.use_cases import ListOf, UseCase
from mockserver.web.routes import OperationCall
from mockserver.wire.replies import Members
from mockserver.wire.tokens import token_reply


def create_from_card(call: OperationCall) -> Members:
    """Make a token from a card for a provider."""
    return shown(call, tokens.create_from_card(call.step, call.body.of_provider(call.provider or "")))


def shown(call: OperationCall, token: Token) -> Members:
    """A token in the voice of the sandbox."""
    agreement = call.sandbox.payto.get(token.payto_id) if token.payto_id else None
    return token_reply(token, call.profile, call.sandbox.account_id, agreement, three_ds.address(call.sandbox, token))


create_least_cost = UseCase(
    "Make a token from a card for the provider that takes it for the least cost.", tokens.create_from_card, shown
)
create_from_payto = UseCase("Make a token from a PayTo agreement.", tokens.create_from_payto, shown)
get = UseCase("Read a token.", tokens.get, shown)
answer_challenge = UseCase("Answer a challenge before a token is used.", three_ds.answer_for_token, shown)
search = ListOf("List tokens.", searches.TOKENS, "TokenQuery", "tokens", shown)
