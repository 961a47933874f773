"""Payment tokens.

Source: docs/spec/published-facts.md, 1.1 (rows 50-54).
"""

from mockserver.engine import searches, tokens
from mockserver.web.operations import shown
from mockserver.web.operations.lists import ListOf
from mockserver.web.operations.route import OperationCall, Route, named_provider
from mockserver.wire.bodies.payment_methods import NewPayToAgreement
from mockserver.wire.bodies.shared import ProviderQuery
from mockserver.wire.bodies.tokens import CardTokenCreation, LeastCostTokenCreation, TokenQuery
from mockserver.wire.replies import Members


def create(call: OperationCall[CardTokenCreation, ProviderQuery]) -> Members:
    """Make a token from a card for the provider that the header, the query or the body names."""
    provider_id = named_provider(call)
    return shown.token(
        call, tokens.create_from_card(call.step, call.body.command(provider_id or ""))
    )


def create_for_least_cost(call: OperationCall[LeastCostTokenCreation, None]) -> Members:
    """Make a token from a card, provider chosen by cost."""
    return shown.token(call, tokens.create_from_card(call.step, call.body.command()))


def create_from_payto(call: OperationCall[NewPayToAgreement, None]) -> Members:
    """Make a token from a PayTo agreement."""
    return shown.token(call, tokens.create_from_payto(call.step, call.body.command()))


def get(call: OperationCall[None, None]) -> Members:
    """Get a token."""
    return shown.token(call, tokens.get(call.step, call.path["token"]))


LIST = ListOf(searches.TOKENS, "TokensReply", TokenQuery, shown.token)


ROUTES = (
    Route(
        "POST",
        "/token/card",
        "token.create",
        create,
        reply="TokenReply",
        body=CardTokenCreation,
        query=ProviderQuery,
        creates=True,
        is_public=True,
        headers=("ProviderId",),
        summary="Create a token from a card",
        source="published facts, 1.1 row 50",
    ),
    Route(
        "POST",
        "/token/card/least_cost",
        "token.create",
        create_for_least_cost,
        reply="TokenReply",
        body=LeastCostTokenCreation,
        creates=True,
        is_public=True,
        summary="Create a token from a card, provider chosen by cost",
        source="published facts, 1.1 row 51",
    ),
    Route(
        "POST",
        "/token/payto",
        "token.create",
        create_from_payto,
        reply="TokenReply",
        body=NewPayToAgreement,
        creates=True,
        is_public=True,
        summary="Create a token from a PayTo agreement",
        source="published facts, 1.1 row 52",
    ),
    Route(
        "GET",
        "/token/{token}",
        "token.get",
        get,
        reply="TokenReply",
        summary="Get a token",
        source="published facts, 1.1 row 53",
    ),
    Route(
        "GET",
        "/token",
        "token.search",
        LIST,
        reply="TokensReply",
        query=TokenQuery,
        ahead=LIST.find,
        summary="Search tokens",
        source="published facts, 1.1 row 54",
    ),
)
