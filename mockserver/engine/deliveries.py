"""Webhooks: from what happened to a plan, from the plan to tries on the sandbox's clock, from the
answers to an end.

Nothing is sent here: what is to be sent by now stands in the outbox, and the sender reports how
that went. A delivery (``states.md``, webhook) is planned in the step that causes it, and goes out
when that step has been answered, unless a scenario wants it to come first. Each try is due work,
so tests move the clock over all retries without waiting. Everything that can go wrong on the way is
a ``WebhookPlan`` of the scenario; without one a delivery follows the plan that says nothing.

Three things make deliveries wait for each other: one that is *held* waits to be overtaken by the
next to the same receiver; one that *blocks* keeps all later ones to its receiver until it has
ended; and one that is *unanswered* waits for the answer to its step. ``DeliveryLog`` remembers who
waits for whom.

Sources: docs/spec/published-facts.md, 6; assumptions ``webhook.*``;
docs/scenario-language.md, webhook.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, islice
from typing import NamedTuple
from urllib.parse import urlsplit

from mockserver.domain.addresses import is_web_address
from mockserver.domain.charge import Charge, WebhookTarget
from mockserver.domain.clock import MINUTE, Micros
from mockserver.domain.codes import Code
from mockserver.domain.delivery import Delivery, Notice, Try, WebhookMessage, previous_key, sign
from mockserver.domain.errors import Full, NotFound
from mockserver.domain.facts import WebhookTry
from mockserver.domain.record import replace
from mockserver.domain.states import (
    DELIVERY,
    ChargeState,
    DeliveryEvent,
    DeliveryState,
    Event,
    Presence,
    Subject,
)
from mockserver.domain.webhook_subscription import WebhookType
from mockserver.engine import inboxes
from mockserver.engine.delivery_log import MOST_UNDER_WAY
from mockserver.engine.inboxes import InboxMessage
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.engine.step import KINDS, Step, state_of
from mockserver.engine.webhook_content import (
    TYPES,
    ReportedEvent,
    content_of,
    notice_of,
    reported_events,
    word_of,
)
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.transport import HoldUntil
from mockserver.scenario.webhook_plan import WebhookPlan

MOST_OF_STEP = 500
"""Deliveries that one step causes at most: they are planned in one go, which keeps everybody else
waiting."""

LONGEST_HOLD = MINUTE
"""How long a held delivery waits for another to overtake it."""

_TAKEN, _NO_ROOM = 200, 507
"""How an inbox answers."""

_OP = "webhook.deliver"
_ORDINARY = WebhookPlan()
_STILL_TO_COME = frozenset({DeliveryState.HELD, DeliveryState.WAITING})


class _Target(NamedTuple):
    """A receiver, and the webhook subscription by which it is one."""

    receiver: WebhookTarget
    subscription_id: str | None = None


def plan(step: Step) -> None:
    """Plan the deliveries of everything that the present step has caused. They go out when the step
    has been answered (``release``), those that a scenario wants before that at once."""
    sandbox, planned = step.sandbox, len(step.result.webhooks)
    for event in step.result.events:
        if event.subject is Subject.WEBHOOK_SUBSCRIPTION and event.after == Presence.REMOVED:
            _withdraw(sandbox, event.subject_id)
        kind = TYPES.get(event.subject)
        if kind is None:
            continue
        # Most have no receiver: nothing need be put into words for them. An agreement names none
        # itself, its payment methods may.
        is_heard = event.subject is Subject.PAYTO or sandbox.webhook_subscriptions.rows
        if is_heard or _named(KINDS[event.subject].table(sandbox).get(event.subject_id), event):
            for reported in reported_events(sandbox, kind, event):
                planned += _plan_for(step, reported, MOST_OF_STEP - planned)


def release(sandbox: Sandbox, webhooks: Sequence[str]) -> None:
    """A step has been answered: let its deliveries go out. Those that went before it, or were
    withdrawn, are left."""
    sandbox.deliveries.unanswered.difference_update(webhooks)
    for delivery_id in webhooks:
        delivery = sandbox.deliveries.get(delivery_id)
        if delivery is not None and not delivery.tries and delivery.state in _STILL_TO_COME:
            _schedule(sandbox, delivery)


class Emitted(NamedTuple):
    """The deliveries of data of the caller's own, and whether there are more receivers than one
    step sends to."""

    deliveries: list[Delivery]
    has_more: bool


def emit(step: Step, message: WebhookMessage, data: object, to: WebhookTarget | None) -> Emitted:
    """Send data of the caller's own, to one receiver or to all subscriptions of its type, as many
    as one step may send."""
    targets: Iterable[_Target]
    if to is not None:
        targets = [_Target(to)]
    else:
        # A type of the caller's own, which no subscription can name, goes to nobody.
        kind = next((kind for kind in WebhookType if word_of(kind) == message.type), None)
        targets = _subscribed(step.sandbox, kind)
    notice = Notice(step.sandbox.now, data)
    rest = iter(targets)
    planned: list[Delivery] = []
    for target in islice(rest, MOST_OF_STEP):
        planned += _plan_one(step, message, target, _ORDINARY, notice)
    return Emitted(planned, has_more=next(rest, None) is not None)


def come_due(step: Step, delivery_id: str) -> None:
    """Make the next try: in the scenario's pretence, in an inbox of this server, or by the
    outbox."""
    sandbox = step.sandbox
    delivery = sandbox.deliveries.get(delivery_id)
    if delivery is None or delivery.state is not DeliveryState.WAITING:
        return
    # It was put off since, and has a later entry; or it is planned anew once its receiver is free
    # (``_unblock``).
    if delivery.due > sandbox.now or sandbox.deliveries.is_blocked(delivery):
        return
    if delivery.blocks:
        sandbox.deliveries.blocking[delivery.url] = delivery_id
    _move(sandbox, delivery, DeliveryEvent.CAME_DUE)
    number = len(delivery.tries)
    if number < len(delivery.script):
        _answer_for(step, delivery, delivery.script[number])
        return
    inbox = inboxes.name_in(delivery.url, sandbox.config.public_url)
    if inbox is not None:
        _put_in(sandbox, delivery, inbox)
        return
    sandbox.deliveries.outbox.append(delivery_id)
    for observer in sandbox.observers:
        observer.webhook_sent(delivery_id, sandbox.journal.last)


def _answer_for(step: Step, delivery: Delivery, answer: int | str) -> None:
    """The scenario's pretence answers with a status, or not in time."""
    if isinstance(answer, int):
        report(step.sandbox, delivery, Try(delivery.due, answer, scripted=True))
        return
    patience = step.assume("webhook.timeout")
    timed_out = Try(delivery.due, error="timeout", latency=patience, scripted=True)
    report(step.sandbox, delivery, timed_out)


def _put_in(sandbox: Sandbox, delivery: Delivery, inbox: str) -> None:
    """An inbox of this server is the receiver."""
    sent = InboxMessage(
        0,
        sandbox.now,
        "POST",
        inboxes.PREFIX + inbox,
        urlsplit(delivery.url).query,
        headers=delivery.headers(),
        body=delivery.content.raw,
    )
    arrival = sandbox.inboxes.put(sandbox.config.webhook_key, inbox, sent)
    status = _TAKEN if arrival is not None else _NO_ROOM
    report(sandbox, delivery, Try(delivery.due, status), in_inbox=True)


def report(
    sandbox: Sandbox, delivery: Delivery, tried: Try, *, final: bool = False, in_inbox: bool = False
) -> None:
    """A try has been made, of the client's receiver unless ``in_inbox``: the delivery has arrived,
    is tried again later, or is given up (at once when ``final``)."""
    if delivery.state is not DeliveryState.SENDING:
        return
    if delivery.holds and tried.is_accepted:
        # The receiver dies after it has taken the webhook, as far as it can tell, and before the
        # sender knows: everything waits, and the webhook comes again.
        delivery.holds = False
        sandbox.holding.begin(HoldUntil.ALL)
        tried = replace(tried, status=None, error="taken, which does not count: hold")
    delivery.tries.append(tried)
    delivery.series += 1
    pauses = sandbox.assumed["webhook.retry"]
    has_tries_left = delivery.series <= len(pauses)
    # Its receiver has refused it, or could not be reached: it is tried again after a pause.
    event = DeliveryEvent.FAILED
    if tried.is_accepted:
        event = DeliveryEvent.ACCEPTED
    elif final or not has_tries_left or _is_unsubscribed(sandbox, delivery):
        event = DeliveryEvent.EXHAUSTED
    _move(sandbox, delivery, event)
    sandbox.config.counts.webhooks[delivery.state.value] += 1
    if sandbox.observers:
        _tell_of_try(sandbox, delivery, is_scripted=tried.scripted or in_inbox)
    if event is DeliveryEvent.FAILED:
        delivery.due = tried.at + pauses[delivery.series - 1]
        sandbox.schedule.plan(delivery.due, Due.WEBHOOK, delivery.delivery_id)
    else:
        _unblock(sandbox, delivery)


def _is_unsubscribed(sandbox: Sandbox, delivery: Delivery) -> bool:
    """Whether the subscription of a delivery was deleted, while it was being sent: it is not tried
    again. The receiver that an object names itself has no subscription."""
    subscription = sandbox.webhook_subscriptions.get(delivery.subscription_id or "")
    return subscription is not None and subscription.state is Presence.REMOVED


def _tell_of_try(sandbox: Sandbox, delivery: Delivery, *, is_scripted: bool) -> None:
    """Tell observers of a try, and whether the receiver had reason to trust its signature: one that
    took a forged webhook is found so. What nobody has judged but a script counts as genuine."""
    is_genuine = True
    if not is_scripted:
        key, body = sandbox.config.webhook_key, delivery.content.raw
        # A receiver may know the key before the present one, as in the days after a change of keys.
        genuine = (sign(key, body), sign(previous_key(key), body))
        is_genuine = delivery.content.signature in genuine
    tried = WebhookTry(sandbox.now, delivery, is_genuine, is_scripted, sandbox.journal.last)
    for observer in sandbox.observers:
        observer.webhook_tried(tried)


def _unblock(sandbox: Sandbox, ended: Delivery) -> None:
    """Let those go out, in order, that have waited for the end of a delivery to their receiver.

    What came due meanwhile was passed over (``come_due``) and stands in no schedule any more, so it
    is planned again, for this instant. What is due later is still planned, and what waits for the
    answer to its step is planned with that (``release``)."""
    deliveries = sandbox.deliveries
    if deliveries.blocking.get(ended.url) != ended.delivery_id:
        return
    del deliveries.blocking[ended.url]
    for other in deliveries:
        has_waited = other.url == ended.url and other.state is DeliveryState.WAITING
        if not has_waited or other.delivery_id in deliveries.unanswered:
            continue
        if other.due <= sandbox.now:
            other.due = sandbox.now
            deliveries.note_changed(other)
            sandbox.schedule.plan(other.due, Due.WEBHOOK, other.delivery_id)


def release_held(sandbox: Sandbox, delivery_id: str) -> None:
    """No delivery has overtaken a held one in time: it goes out."""
    delivery = sandbox.deliveries.get(delivery_id)
    if delivery is not None and delivery.state is DeliveryState.HELD:
        copies = sandbox.deliveries.held.pop(delivery.overtaken_by, [])
        _release(sandbox, copies, delivery.ordering_key, sandbox.now)


def resend(sandbox: Sandbox, delivery_id: str) -> Delivery:
    """Send a delivery again, now: the same message, and a new series of tries. Raises ``NotFound``
    (61), ``WrongState`` (61) while it is being sent or held."""
    delivery = sandbox.deliveries.get(delivery_id)
    if delivery is None:
        raise NotFound(
            Code.INVALID_REFERENCE_ID,
            {"Id": f"no webhook '{delivery_id[:64]}' is kept in this sandbox"},
        )
    _move(sandbox, delivery, DeliveryEvent.RESENT)
    delivery.series = 0
    delivery.due = sandbox.now
    sandbox.schedule.plan(sandbox.now, Due.WEBHOOK, delivery_id)
    return delivery


def replay(sandbox: Sandbox, delivery: Delivery, url: str) -> Delivery:
    """Send what a delivery has sent to another receiver, now: the same bytes and signature, in a
    delivery of its own. That one may rightly refuse it. Raises ``Full`` (37) when too many are
    under way."""
    if not sandbox.deliveries.has_room:
        raise Full(
            Code.RETRY_LATER,
            {"Url": f"{MOST_UNDER_WAY} webhooks are under way, the most; ask again later"},
            1,
        )
    copy = replace(
        delivery,
        delivery_id=sandbox.ids.hex32("replay"),
        url=url,
        content=replace(delivery.content, is_ordinary=False),
        added=sandbox.now,
        due=sandbox.now,
        blocks=False,
        holds=False,
        script=(),
        tries=[],
        series=0,
        subscription_id=None,
        state=DELIVERY.begin(DeliveryEvent.PLANNED),
    )
    sandbox.deliveries.add(copy)
    sandbox.schedule.plan(copy.due, Due.WEBHOOK, copy.delivery_id)
    return copy


def _withdraw(sandbox: Sandbox, subscription_id: str) -> None:
    """A webhook subscription was deleted: nothing more is sent for it."""
    for delivery in sandbox.deliveries:
        # One that is being sent can be stopped no more.
        if delivery.subscription_id == subscription_id and delivery.state in _STILL_TO_COME:
            if delivery.state is DeliveryState.HELD:
                # All that wait with it are copies of it, and are withdrawn too.
                sandbox.deliveries.held.pop(delivery.overtaken_by, None)
            _move(sandbox, delivery, DeliveryEvent.WITHDRAWN)
            _unblock(sandbox, delivery)


def _named(subject: object, event: Event) -> list[_Target]:
    """The receivers that the object of an event names itself: its webhook, and of a charge whose
    3-D Secure challenge has ended its ``threeDSNotificationUrl``."""
    named: list[_Target] = []
    own: WebhookTarget | None = getattr(subject, "webhook", None)
    if own is not None:
        named.append(_Target(own))
    if isinstance(subject, Charge) and event.before == ChargeState.PENDING_CHECKOUT:
        url = subject.three_ds_notification_url
        if url is not None and is_web_address(url):
            named.append(_Target(WebhookTarget(url)))
    return named


def _subscribed(sandbox: Sandbox, kind: WebhookType | None) -> Iterator[_Target]:
    """The receivers of a type by their subscriptions, oldest first."""
    for row in sandbox.webhook_subscriptions.find("state", Presence.ACTIVE):
        if kind in row.types:
            receiver = WebhookTarget(row.url, row.authorization)
            yield _Target(receiver, row.webhook_subscription_id)


def _plan_for(step: Step, reported: ReportedEvent, room: int) -> int:
    """Plan the webhooks of one event, ``room`` at most; how many there are, with those that are
    refused because too many are under way: in a fork at an entry none has ended, and the rules must
    count the same there.

    A rule for the step itself says what becomes of all its webhooks; else each receiver's is asked
    of the rules for ``webhook.deliver``."""
    planned = 0
    scripted = _plan_of_step(step)

    @cache
    def notice(stale: bool) -> Notice:
        return notice_of(step.sandbox, reported, stale=stale)

    targets = chain(
        _named(reported.subject, reported.event), _subscribed(step.sandbox, reported.type)
    )
    for place, target in enumerate(targets):
        # Receivers whose webhook a rule drops count too: a step asks the rules for so many at most.
        if max(place, planned) >= room:
            _warn_of_more(step)
            break
        wanted = scripted or _planned_by_rule(step, reported, target.receiver.url, notice)
        if wanted.drop:
            continue
        copies = wanted.copies
        if planned + copies > room:
            copies = room - planned
            _warn_of_more(step)
        deliveries = list(
            _plan_one(
                step,
                reported.message,
                target,
                wanted,
                notice(wanted.stale),
                event=reported.event,
                copies=copies,
            )
        )
        if wanted.extra and planned + copies < room:
            # The one above was the wrong one more; this is the real one.
            deliveries += _plan_one(
                step, reported.message, target, _ORDINARY, notice(False), event=reported.event
            )
        # Those that were refused for want of room count too.
        planned += max(copies, len(deliveries))
        for delivery in deliveries:
            _let_out(step, delivery, is_urgent=wanted.before_answer)
    return planned


def _plan_of_step(step: Step) -> WebhookPlan | None:
    """What a rule for the step itself says of its webhooks."""
    for decision in step.result.decisions:
        if decision.rule is not None and decision.outcome.webhook is not None:
            return decision.outcome.webhook
    return None


def _let_out(step: Step, delivery: Delivery, *, is_urgent: bool) -> None:
    """Let a delivery of a step go out: at once when it is urgent or the step has been answered,
    else with the answer."""
    step.result.webhooks += (delivery.delivery_id,)
    step.result.urgent = step.result.urgent or is_urgent
    if is_urgent or step.result.answered:
        _schedule(step.sandbox, delivery)
    else:
        step.sandbox.deliveries.unanswered.add(delivery.delivery_id)


def _warn_of_more(step: Step) -> None:
    """Say in the journal that a step causes more than is sent."""
    # Of each such step, not once in the life of the sandbox: each has something that nobody hears
    # of.
    words = f"a step sends {MOST_OF_STEP} webhooks at most: what it causes beyond these is not sent"
    if words not in step.result.warnings:
        step.result.warnings += (words,)


def _planned_by_rule(
    step: Step, reported: ReportedEvent, url: str, notice: Callable[[bool], Notice]
) -> WebhookPlan:
    """What a rule for ``webhook.deliver`` makes of a delivery; one for the step itself counts
    before it."""
    sandbox = step.sandbox
    if (Stage.ARRIVAL, _OP) not in sandbox.config.rules.asked_at:
        return _ORDINARY
    message = reported.message
    own = {
        "type": message.type,
        "eventType": message.event_type,
        "url": url,
        "id": message.subject_id,
    }
    facts = own | sandbox.config.render("", message, notice(False), sandbox.assumed)
    # Work that comes due is about nothing else, and of several objects of a kind this is the one.
    about = {**step.result.about, reported.event.subject.value: reported.subject}
    state = partial(state_of, sandbox, step.asked, about)
    attempt = Attempt(_OP, sandbox.now, request=facts, state=state, subject=message.subject_id)
    decision = sandbox.decide(Stage.ARRIVAL, attempt)
    if decision.outcome.webhook is None:
        return _ORDINARY
    step.result.note(decision)
    return decision.outcome.webhook


def _plan_one(
    step: Step,
    message: WebhookMessage,
    target: _Target,
    wanted: WebhookPlan,
    notice: Notice,
    *,
    event: Event | None = None,
    copies: int = 1,
) -> Iterator[Delivery]:
    """The copies of one message to one receiver, as many as there is room for."""
    sandbox = step.sandbox
    message_id = sandbox.ids.hex32("webhook")
    content = content_of(step, message_id, message, notice, wanted)
    receiver, authorization = target.receiver, target.receiver.authorization
    if wanted.authorization is not None:
        authorization = wanted.authorization
    begun = DeliveryEvent.PLANNED
    if wanted.swap_with_next or wanted.waits_for_next:
        begun = DeliveryEvent.HELD_BACK
    for number in range(copies):
        if not sandbox.deliveries.has_room:
            sandbox.deliveries.refused += 1
            continue
        delivery_id = message_id if number == 0 else f"{message_id}-{number + 1}"
        delivery = Delivery(
            delivery_id=delivery_id,
            message_id=message_id,
            message=message,
            url=receiver.url,
            authorization=authorization,
            content=content,
            version=sandbox.assumed["webhook.version"],
            added=sandbox.now,
            due=sandbox.now + wanted.delay + number * wanted.gap,
            ordering_key=_ordering_key(message, message_id, delivery_id, wanted),
            together=wanted.together,
            blocks=wanted.blocks,
            state=DELIVERY.begin(begun),
            script=wanted.receiver,
            holds=wanted.hold,
            # The step that causes it gets its entry as it ends.
            entry=sandbox.journal.last + 1,
            reports=_state_told(event, wanted),
            subscription_id=target.subscription_id,
            held_for=wanted.held_for,
        )
        sandbox.deliveries.add(delivery)
        if event is None:
            _schedule(sandbox, delivery)
        yield delivery


def _ordering_key(
    message: WebhookMessage, message_id: str, delivery_id: str, wanted: WebhookPlan
) -> str:
    """What webhooks have in common that are sent one after the other: they are about one object.
    Copies that are sent together wait for none."""
    if wanted.together:
        return delivery_id
    return message.subject_id or message_id


def _state_told(event: Event | None, wanted: WebhookPlan) -> str | None:
    """The state that a webhook tells of its object; None where it tells none that is true."""
    if event is None or wanted.is_edited:
        return None
    if wanted.stale and event.before:
        return event.before
    return event.after


def _schedule(sandbox: Sandbox, delivery: Delivery) -> None:
    """Put a delivery on the schedule, or among those that wait to be overtaken by the next to the
    same receiver."""
    held = sandbox.deliveries.held
    if delivery.state is DeliveryState.HELD:
        waiting = held.setdefault(delivery.overtaken_by, [])
        if delivery.delivery_id in waiting:
            return
        # The first of a message has its id; when it waits, its copies wait with it.
        is_first = delivery.delivery_id == delivery.message_id
        begins_to_wait = is_first and not waiting
        waits_with_first = delivery.message_id in waiting
        if begins_to_wait or waits_with_first:
            if not waiting:
                until = sandbox.now + (delivery.held_for or LONGEST_HOLD)
                sandbox.schedule.plan(until, Due.WEBHOOK_HELD, delivery.delivery_id)
            waiting.append(delivery.delivery_id)
            return
        # It is the next after those that wait already: it overtakes them, and its copies follow it.
        _move(sandbox, delivery, DeliveryEvent.RELEASED)
    sandbox.schedule.plan(delivery.due, Due.WEBHOOK, delivery.delivery_id)
    about = f"{delivery.url} {delivery.message.subject_id}"
    for whose in (delivery.url, about):
        _release(sandbox, held.pop(whose, ()), delivery.ordering_key, delivery.due)


def _release(sandbox: Sandbox, copies: Sequence[str], ordering_key: str, earliest: Micros) -> None:
    """Let held copies of one message go out, the first not before ``earliest`` and the others by
    their gap later."""
    deliveries = [sandbox.deliveries.get(delivery_id) for delivery_id in copies]
    held = [
        delivery
        for delivery in deliveries
        if delivery is not None and delivery.state is DeliveryState.HELD
    ]
    if not held:
        # They were withdrawn while they waited.
        return
    late = max(0, earliest - held[0].due)
    for delivery in held:
        _move(sandbox, delivery, DeliveryEvent.RELEASED)
        if not delivery.together:
            delivery.ordering_key = ordering_key
        delivery.due += late
        sandbox.schedule.plan(delivery.due, Due.WEBHOOK, delivery.delivery_id)


def _move(sandbox: Sandbox, delivery: Delivery, event: DeliveryEvent) -> None:
    """Move by the state table; who follows the deliveries (a store, the page) hears of it. Raises
    ``WrongState`` (61)."""
    delivery.state = DELIVERY.advance(delivery.state, event)
    sandbox.deliveries.note_changed(delivery)
