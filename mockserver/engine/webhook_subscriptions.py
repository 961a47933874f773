"""Webhook-subscription use cases: subscribe, read, list and end.

Source: docs/spec/published-facts.md, 1.1 rows 72-75, 2.14, 6.
"""

from collections.abc import Sequence

from mockserver.domain.addresses import is_web_address, never_called
from mockserver.domain.codes import Code
from mockserver.domain.errors import Faults
from mockserver.domain.states import PresenceEvent
from mockserver.domain.webhook_subscription import WebhookSubscription, WebhookType
from mockserver.engine.step import Step, finder

get = finder(WebhookSubscription, Code.UNABLE_TO_GET_WEBHOOK_SUBSCRIPTION)
"""A subscription, ended ones included. Raises ``NotFound`` (110)."""


def create(
    step: Step, url: str, authorization: str | None, types: Sequence[WebhookType] | None
) -> WebhookSubscription:
    """Subscribe; without types, to all of them. Raises ``Invalid`` (109) for an address that is not
    http or https, or that is never called."""
    faults = Faults()
    words: str | None = "wanted an absolute http or https address"
    if is_web_address(url):
        words = never_called(url)
    if words is not None:
        faults.add(Code.UNABLE_TO_CREATE_WEBHOOK_SUBSCRIPTION, "Url", words)
    faults.refuse()
    return step.add(
        WebhookSubscription(
            webhook_subscription_id=step.sandbox.ids.hex32("webhook_subscription"),
            url=url,
            authorization=authorization,
            types=tuple(dict.fromkeys(types or WebhookType)),
            added=step.sandbox.now,
        )
    )


def delete(step: Step, subscription_id: str) -> WebhookSubscription:
    """End a subscription. Raises ``NotFound`` (111), ``WrongState`` (111) when it has ended
    before."""
    row = step.found(
        WebhookSubscription, subscription_id, Code.UNABLE_TO_DELETE_WEBHOOK_SUBSCRIPTION
    )
    return step.change(row, row.after_removal(step.sandbox.now), PresenceEvent.REMOVED)
