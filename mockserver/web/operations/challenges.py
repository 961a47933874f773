"""3-D Secure challenges, as the forms of their pages answer them: no other client can.

Source: docs/spec/service.md, Charge: threeDsRedirectUrl; docs/spec/published-facts.md, 7.1
(threeDSEmail).
"""

from mockserver.engine import three_ds
from mockserver.web.operations import shown
from mockserver.web.operations.route import OperationCall, Route
from mockserver.wire.bodies.charges import ChallengeInput
from mockserver.wire.replies import Members


def answer(call: OperationCall[ChallengeInput, None]) -> bytes:
    """Answer the challenge of a charge."""
    return shown.charge(call, three_ds.answer(call.step, call.path["charge_id"], call.body.result))


def answer_for_token(call: OperationCall[ChallengeInput, None]) -> Members:
    """Answer a challenge before a token is used."""
    return shown.token(
        call, three_ds.answer_for_token(call.step, call.path["token_id"], call.body.result)
    )


OF_CHARGE = Route(
    "POST",
    "/3ds/{charge_id}",
    "charge.challenge",
    answer,
    reply="ChargeReply",
    body=ChallengeInput,
    summary="Answer a 3-D Secure challenge",
    source="service document, Charge: threeDsRedirectUrl",
)

OF_TOKEN = Route(
    "POST",
    "/3ds/token/{token_id}",
    "token.challenge",
    answer_for_token,
    reply="TokenReply",
    body=ChallengeInput,
    summary="Answer a 3-D Secure challenge before a token is used",
    source="published facts, 7.1: threeDSEmail",
)
