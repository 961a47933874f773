"""An operation of the payments API: what it reads, whom it lets in, what it does and how it
answers. And the set-up calls of a scenario, which are operations that run in the moment a sandbox
opens, or when somebody asks for them.

A request goes through these stations, at each of which a rule of a scenario may decide:

1. Its head has come: a fault may strike while the body is sent (``interrupted``).
2. It has arrived and is read (``arrive``): a fault may refuse it, delay it, hold it or send it
   twice, before anything has happened (``_act_held_up``).
3. It acts (``carry_out``): the provider is asked, objects change.
4. It is answered: a fault may spoil the answer to what has happened (``_fault_of_answer``).

What happens between the rules of arrival and the reply is synchronous, at one instant of the
sandbox's clock: that is the transaction. Time that a scenario asks for is spent before it or after
it, never inside. An answer may lag behind the present state (``lag``) or repeat an earlier one
(``replay``). Source: docs/scenario-language.md, outcome.

Nearly every request waits for nothing. Then ``act`` answers without a coroutine; what must wait is
a function of its own, called where it is needed.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from mockserver.domain.clock import SECOND, Micros, duration_text
from mockserver.domain.codes import Code
from mockserver.domain.errors import (
    Invalid,
    Problem,
    ProviderRefused,
    Refused,
    UnknownPath,
    UnsupportedMedia,
    invalid,
    problem,
)
from mockserver.domain.masking import mask_text
from mockserver.domain.record import replace
from mockserver.engine import due, idempotency, later, step_effects
from mockserver.engine.result import Asked, Unreached
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.scenario.answers import ready, unexpected
from mockserver.scenario.attempt import Stage
from mockserver.scenario.director import SILENCE
from mockserver.scenario.operations import MONEY
from mockserver.scenario.scenario import CallMap, ReplyMap, Scenario
from mockserver.scenario.transport import At, Transport
from mockserver.web import holds, watching
from mockserver.web.operations.route import OperationCall, Route
from mockserver.web.request import (
    JSON_TYPE,
    NOSNIFF,
    Reply,
    Request,
    Unanswerable,
    call_app,
    refusal,
    retry_after,
    tidied,
)
from mockserver.web.route_lookup import RouteLookup
from mockserver.web.shell import Endpoint
from mockserver.web.transport_faults import Cut, body_before_cut, slowly, upload_decision
from mockserver.web.watching import SENT_BY
from mockserver.web.world import World
from mockserver.wire import content, refusals
from mockserver.wire.fields import NO_FIELDS, Body, Fields, no_fields, pascal, stray_fields
from mockserver.wire.jsonio import MalformedJson, dumps, loads
from mockserver.wire.profile import profile_of
from mockserver.wire.query_checks import MisreadParameter, misread_in, refused_among

_SILENCE = (SILENCE[Stage.ARRIVAL],)


class OperationEndpoint(Endpoint):
    """One row of the route table."""

    route: Route[Any, Any]

    def __init__(self, world: World, route: Route[Any, Any]) -> None:
        super().__init__(world, route)
        self.op = route.op
        self.name = route.name
        self.largest = max(route.largest or 0, world.settings.max_body)

    def _misplaced(self, request: Request) -> Mapping[str, str]:
        """Where fields belong that stand in a body or a query of an operation that reads none, by
        name: the amount of a refund in a body is not read, and all the money would go back."""
        places: dict[str, str] = {}
        if self.route.body is None:
            places |= request.body_fields.misplaced(self.route.query)
        if self.route.query is None:
            places |= request.query_fields.misplaced(self.route.body)
        return places

    def authenticate(self, request: Request) -> Sandbox:
        """The sandbox of the key. Raises ``Unauthorised`` (40)."""
        directory, headers = self.world.directory, request.headers
        if self.route.is_public:
            return directory.of_either_key(headers)
        return directory.of_secret_key(headers)

    async def interrupted(self, request: Request) -> Reply | None:
        """Let the rules decide that know the head of a request, before its body is read. In process
        each request is a connection of its own, which a rule may refuse."""
        if request.is_in_process and self.world.directory.refuses_connection():
            raise Cut("scripted fault: the connection is reset as it is made")
        try:
            await self.fetch(request)
            sandbox = request.known = self.authenticate(request)
        except Refused:
            # Whoever has no sandbox is told so once the body has come, as always.
            return None
        await self.world.runner.catch_up(sandbox)
        decision = request.decided = upload_decision(sandbox, self.route.op, request.headers)
        fault = decision.outcome.transport if decision is not None else None
        if fault is None:
            return None
        if fault.is_reading:
            request.receive = slowly(request.receive, fault)
            return None
        # Nothing acts, but journal and findings shall know what was being sent.
        request.raw = await body_before_cut(request.receive)
        with suppress(MalformedJson):
            self._read(request, sandbox)
        return Reply(None, b"", self._begin(request, sandbox, request.body_fields), fault)

    def act(self, request: Request) -> Reply | Awaitable[Reply]:
        """Let the rules of arrival decide, wait as they say, and carry the operation out."""
        sandbox, limit = request.sandbox, self.world.rate_limit
        if limit is not None:
            wait = limit.take(sandbox.key, self.world.real_clock())
            if wait:
                return self._refuse_for_rate(request, wait)
        holding = sandbox.holding
        if holding.is_all:
            return self._act_when_released(request)
        if holding.waiting and self.op in MONEY:
            # A rule holds others until another call moves money: this is one.
            holding.came += 1
            self.world.runner.activity.notify(sandbox.key)
        step, arrived = self.arrive(request, sandbox)
        # Webhooks wait for the answer.
        step.result.answered = False
        if isinstance(arrived, Reply):
            return arrived
        if arrived is not None:
            return self._act_held_up(arrived, request, step)
        preparation = self._begin_preparation(step)
        if preparation is not None:
            return self._act_prepared(preparation, request, step)
        return self.carry_out(request, step)

    async def _act_when_released(self, request: Request) -> Reply:
        """Act once nothing is held any more in the sandbox: a test that holds everything looks at
        what is under way before it lets it happen."""
        await holds.let_go(self.world, request)
        acted = self.act(request)
        return acted if isinstance(acted, Reply) else await acted

    def _begin_preparation(self, step: Step) -> Awaitable[object] | None:
        """The long work that an operation needs before its step, begun, such as a search through
        very many rows; None where there is little of it. A step must not take it upon itself:
        nobody else is served as long as a step lasts."""
        ahead = self.route.ahead
        return None if ahead is None else ahead(self.world.runner, step)

    async def _act_prepared(
        self, preparation: Awaitable[object], request: Request, step: Step
    ) -> Reply:
        """Carry a request out once what it needs is ready. Time has passed meanwhile, and the step
        is taken in the present."""
        ready = await preparation
        await self.world.runner.catch_up(step.sandbox)
        return self.carry_out(request, step, ready)

    async def _act_held_up(self, fault: Transport, request: Request, step: Step) -> Reply:
        """Carry a request out after what holds it up: its client may run into a timeout and ask
        again while the first request is still to act. One whose client leaves while it is held is
        not acted on."""
        watching.arrived(step, self.world.real_clock())
        await self._delay_and_copy(fault, request, step)
        stays = fault.hold is None or await holds.held(self.world, request, fault)
        if not stays or not await holds.released(self.world, request):
            return Reply(None, b"", step, fault)
        await self.world.runner.catch_up(step.sandbox)
        preparation = self._begin_preparation(step)
        if preparation is not None:
            return await self._act_prepared(preparation, request, step)
        return self.carry_out(request, step)

    async def _delay_and_copy(self, fault: Transport, request: Request, step: Step) -> None:
        """Let the time of a fault pass, then send the copies of the request, as a proxy does that
        has waited too long for an answer. A copy is not copied again."""
        if fault.virtual:
            await self.world.runner.advance(step.sandbox, fault.delay)
        elif fault.delay:
            await asyncio.sleep(fault.delay / SECOND)
        if SENT_BY not in request.headers:
            # The request itself is the last of them.
            for _ in range(1, fault.copies or 1):
                await self.send(request, "proxy")

    async def send(self, request: Request, by: str) -> tuple[int | None, bytes]:
        """Take the same request once more, marked with who sends it: the status and the answer;
        None and what came of it when the connection broke."""
        try:
            answer = await call_app(
                self,
                request.method,
                request.resource,
                request.query,
                {**request.headers, SENT_BY: by},
                request.raw,
                path_params=dict(request.path),
            )
        except ConnectionError:
            return None, b""
        return answer.status, answer.raw

    def _refuse_for_rate(self, request: Request, wait: Micros) -> Reply:
        """Refuse a request unread, as its sandbox has used up its calls for ``wait``. It is not
        counted, or rules that hit the third call would depend on how fast a machine is; and its
        entry of the journal cannot be sent again."""
        limit = self.world.settings.rate_limit
        reason = (
            f"got more than {limit} calls in a second, allowed: {limit} for each sandbox "
            "(--rate-limit); "
            f"the next one is accepted in {duration_text(wait)}"
        )
        step = self._begin(request, request.sandbox, is_counted=False)
        seconds = math.ceil(wait / SECOND)
        step.result.pause = seconds * SECOND
        code = Code.RATE_LIMITING_APPLIED
        body = problem(
            429, code, code.message, request.resource, {"RateLimit": reason}, is_retryable=True
        )
        headers = (JSON_TYPE, NOSNIFF, (b"retry-after", b"%d" % seconds))
        return Reply(429, body, step=step, repeatable=False, headers=headers)

    def _begin(
        self,
        request: Request,
        sandbox: Sandbox,
        fields: Mapping[str, object] = NO_FIELDS,
        *,
        is_counted: bool = True,
    ) -> Step:
        """The step of a request in its sandbox. Rules may ask for the number of a call, its
        connection, and which calls overlap it: the latter two are noted only where one does."""
        director = sandbox.director
        call = director.count(self.op) if is_counted else None
        asked = Asked(
            self.op,
            True,
            request.headers,
            request.path,
            fields,
            call,
            is_setup=director.is_setting_up,
        )
        if sandbox.config.rules.connections and request.client is not None:
            asked = replace(asked, connection=f"{request.client[0]}:{request.client[1]}")
        request.step = step = Step(sandbox, asked)
        if sandbox.config.rules.overlaps and call is not None:
            sandbox.holding.in_flight[id(step)] = step
        if request.decided is not None:
            step.result.note(request.decided)
        return step

    def arrive(self, request: Request, sandbox: Sandbox) -> tuple[Step, Transport | Reply | None]:
        """Read the request and ask the rules of arrival: its step, and what holds it up or what it
        is answered already."""
        try:
            _check_coding(request)
            if _is_as_documented(request):
                step = self._begin(request, sandbox, self._read(request, sandbox))
            else:
                # Whether it is taken in another form, an assumption says, which the step notes: so
                # the step is there before its fields.
                step = self._begin(request, sandbox)
                _check_form(request, step)
                step.learn(self._read(request, sandbox))
            if (Stage.ARRIVAL, self.op) not in sandbox.config.rules.asked_at:
                # No rule listens: the journal says so without an attempt made for it.
                step.result.decisions += _SILENCE
                return step, None
            attempt = step.attempt(self.op, subject=step.asked.named)
            fault = step.ask(Stage.ARRIVAL, attempt).outcome.transport
        except Unanswerable as refused:
            step = request.step or self._begin(request, sandbox)
            self._note_ignored(step, request)
            return step, self._refused(request, step, refused)
        # A fault of the answer strikes when the operation has acted.
        if fault is None or fault.at is not At.RECEIVE:
            return step, None
        self._note_ignored(step, request)
        if fault.goes_on:
            return step, fault
        return step, Reply(None, b"", step, fault)

    def _read(self, request: Request, sandbox: Sandbox) -> Fields:
        """Read body and query; what rules see of them: the fields of the body, or without any those
        of the query. Raises ``MalformedJson``.

        Where the route takes none, the fields are read all the same: as unknown ones they are
        reported to the developer."""
        profile = profile_of(sandbox.assumed)
        body, seen_by_rules = self.route.body, NO_FIELDS
        if body is not None:
            request.body_fields = seen_by_rules = Fields.of_body(
                body, request.raw, profile.json_depth, profile.reads_commas
            )
        elif request.raw:
            request.body_fields = Fields.of_unread(request.raw, profile.json_depth)
        query = self.route.query or Body
        if not request.query:
            request.query_fields = no_fields(query)
            return seen_by_rules
        request.query_fields = Fields.of_query(query, request.query, profile.reads_commas)
        request.misread = misread_in(query, request.query)
        return seen_by_rules or request.query_fields

    def _unless_repeated(self, act: Callable[[], Reply], request: Request, step: Step) -> Reply:
        """An earlier answer, where a rule or the request's idempotency key wants that, else the
        reply of ``act``. A rule comes first: it plays a service that repeats itself whatever the
        key."""
        sandbox = step.sandbox
        # To read again changes nothing, so a key says nothing there.
        by_key = idempotency.HEADER in request.headers and self.route.method != "GET"
        if by_key and sandbox.assumed["request.idempotency"] == "by_header":
            act = partial(self._once_by_key, act, request, step)
        if not sandbox.config.rules.replays:
            return act()
        first = idempotency.replayed(step)
        if first is not None:
            return _earlier_answer(step, first.status, first.text, _fault_of_answer(step))
        reply = act()
        if reply.status is not None:
            idempotency.keep_for_replay(step, reply.status, reply.text())
        return reply

    def _once_by_key(self, act: Callable[[], Reply], request: Request, step: Step) -> Reply:
        """The first answer under the request's idempotency key, or a new one (assumption
        ``request.idempotency``). A key of another request, or of one that is still being answered,
        is refused."""
        step.result.assumed.append("request.idempotency")
        key = request.headers[idempotency.HEADER]
        same_if_equal = (request.resource, request.query, request.raw)
        try:
            first = idempotency.first(step, key, same_if_equal)
        except Refused as refused:
            reply = self._refused(request, step, refused)
            reply.is_repeat = step.result.is_repeat
            # That the first one is still being answered depends on when this one came.
            reply.repeatable = refused.code is not Code.DUPLICATE_TRANSACTION
            return reply
        if first is not None:
            return _earlier_answer(step, first.status, first.answer)
        reply = act()
        if reply.status is not None:
            idempotency.keep(step, key, same_if_equal, reply.status, reply.text())
        return reply

    def carry_out(
        self, request: Request, step: Step, ready: object = None, *, is_new: bool = False
    ) -> Reply:
        """Do what a request asks that has arrived, in its step, unless it repeats one (``is_new``:
        it is known not to); ``ready`` is what was made ahead of it."""
        sandbox = step.sandbox
        if not is_new and (sandbox.config.rules.replays or idempotency.HEADER in request.headers):
            act = partial(self.carry_out, request, step, ready, is_new=True)
            return self._unless_repeated(act, request, step)
        profile = profile_of(sandbox.assumed)
        body, query = request.body_fields.model_as_sent, request.query_fields.model_as_sent
        try:
            if body is None or query is None or request.misread:
                is_strict = sandbox.config.strict or profile.refuses_unknown
                body, query = self._validated(is_strict, request, step)
            taken_body = body if self.route.body is not None else None
            call = OperationCall(step, profile, taken_body, query, request.resource, ready)
            reply = step.seen(partial(self.route.handle, call))
            step_effects.plan(step)
        except Refused as refused:
            if isinstance(refused, ProviderRefused):
                # What a rule lets follow a decline, such as its webhook, follows this one too.
                later.plan(step, is_declined=True)
            step.result.assumed += refusals.shaped_by(refused)
            return self._refused(request, step, refused, _fault_of_answer(step))
        except Unreached as unreached:
            return Reply(None, b"", step, unreached.fault)
        if isinstance(reply, Reply):
            return Reply(reply.status, reply.body, step, _fault_of_answer(step))
        status = 200
        if self.route.creates:
            step.result.assumed.append("response.created_status")
            status = profile.created_status
        fault = _fault_of_answer(step) if step.result.ruled else None
        return Reply(status, reply, step, fault)

    def _refused(
        self, request: Request, step: Step, refused: Exception, fault: Transport | None = None
    ) -> Reply:
        """The error for a request that is refused, in the voice of its sandbox."""
        status, problem = refusal(refused, request.resource, request.sandbox.assumed)
        headers = (*self.headers, *retry_after(refused))
        return Reply(status, problem, step, fault, headers=headers)

    def _note_ignored(self, step: Step, request: Request) -> None:
        """Note the fields that the operation does not read, for the findings each with a hint: a
        misspelt ``captrue`` would take the money at once, and nothing would say so."""
        names = (*request.body_fields.unknown, *request.query_fields.unknown)
        if names:
            step.result.ignored = names
            if step.sandbox.observers:
                model = self.route.body or self.route.query
                request.unknown = watching.hints(step, model, self._misplaced(request))

    def _validated(
        self, strict: bool, request: Request, step: Step
    ) -> tuple[Body | None, Body | None]:
        """Body and query as models, where they are not just as they should be. Raises ``Invalid``
        (90) with every fault of form in both: no provider is asked before the form is sound
        (settled fact ``error.validation``)."""
        faults: dict[str, str] = {}
        query = self._typed(request.query_fields, self.route.query, strict, faults)
        body = self._typed(request.body_fields, self.route.body, strict, faults)
        self._note_ignored(step, request)
        for parameter in self._refused_parameters(request, step):
            faults.setdefault(pascal([parameter.name]), parameter.refusal)
        if strict:
            places = self._misplaced(request)
            for name in stray_fields(self.op, places):
                faults[pascal([name])] = f"unknown field - it belongs {places[name]}"
        if faults:
            raise Invalid(Code.VALIDATION_ERROR, faults)
        return body, query

    def _refused_parameters(self, request: Request, step: Step) -> Sequence[MisreadParameter]:
        """The parameters that are refused because they would be read other than they are
        written."""
        if not request.misread:
            return ()
        step.result.assumed += dict.fromkeys(parameter.assumption for parameter in request.misread)
        config, profile = step.sandbox.config, profile_of(step.sandbox.assumed)
        return refused_among(
            request.misread, profile.blank_query, profile.raw_plus, strict=config.strict
        )

    def _typed(
        self, given: Fields, model: type[Body] | None, strict: bool, faults: dict[str, str]
    ) -> Body | None:
        """The model of some fields, None where the route has none; their faults are added to
        ``faults``, so that a client is told all of them at once."""
        unknown = stray_fields(self.op, given.unknown) if strict else ()
        if model is None and not unknown:
            return None
        try:
            return given.typed(model or Body, refused=unknown)
        except Invalid as wrong:
            faults.update(wrong.details or {})
            return None


def _check_coding(request: Request) -> None:
    """Raises ``UnsupportedMedia`` for a body that is compressed, which is never read: a small one
    may become so large that it fills the memory."""
    coding = request.headers.get("content-encoding")
    if coding is None or not request.raw:
        return
    fault = content.coding_fault(coding)
    if fault is not None:
        raise UnsupportedMedia("ContentEncoding", fault)


def _is_as_documented(request: Request) -> bool:
    """Whether path and body are sent in the form of the document, as most are: then no assumption
    need be asked."""
    if "//" in request.resource:
        return False
    return not request.raw or content.is_json(request.headers.get("content-type", ""))


def _check_form(request: Request, step: Step) -> None:
    """Take what is sent in another form than the document's, or refuse it, as the assumptions say.

    Raises ``UnknownPath``, ``UnsupportedMedia``.
    """
    if "//" in request.resource:
        words = f"got doubled slashes, wanted {mask_text(tidied(request.resource))}"
        is_merged = step.assume("request.doubled_slashes") == "merged"
        if not step.takes("Path", words, by_assumption=is_merged):
            raise UnknownPath(words)
    media = request.headers.get("content-type", "")
    if request.raw.strip() and not content.is_json(media):
        words = content.media_words(media)
        is_ignored = step.assume("request.content_type") == "ignored"
        if not step.takes("ContentType", words, by_assumption=is_ignored):
            raise UnsupportedMedia("ContentType", words)


def _fault_of_answer(step: Step) -> Transport | None:
    """The fault that strikes the answer of a step that has happened; of two rules the one that was
    asked first decides."""
    for decision in step.result.decisions:
        fault = decision.outcome.transport
        if fault is not None and fault.at is At.ANSWER:
            return fault
    return None


def _earlier_answer(step: Step, status: int, text: str, fault: Transport | None = None) -> Reply:
    """The reply with the text of an earlier answer, byte for byte."""
    if status >= 400 and step.result.problem is None:
        # Of an answer out of a state document or a store the text alone is known.
        step.result.problem = cast(Problem, loads(text.encode()))
    return Reply(status, text.encode(), step, fault)


# Set-up calls: a scenario begins with objects that it needs, such as a customer with a card. They
# are made in the process, without a connection, at one instant.

_ANSWER_HEADERS = {"content-type": "application/json; charset=utf-8"}
_ANY_SUCCESS = ReplyMap()
_NO_OPERATION = "a set-up call must be an operation of the payments API"
_HINT = (
    "no rule of a scenario hears a set-up call: a test value makes one fail, such as "
    "metadata.mock: expired_card"
)


def prepare(world: World, lookup: RouteLookup, sandbox: Sandbox) -> None:
    """Run the set-up calls of every scenario in force and keep their answers. Raises ``Invalid``
    (90) naming the first call whose answer is not as expected, and the answer it got."""
    for scenario in sandbox.config.scenarios:
        answers: dict[str, object] = {}
        with sandbox.director.during_set_up():
            for name, wanted in _calls(scenario, answers):
                due.run_due(sandbox, sandbox.clock.read(world.real_clock()))
                status, answer = _make_call(sandbox, lookup, wanted)
                _check_and_keep(name, wanted, status, answer, scenario, answers)
        if answers:
            sandbox.setup[scenario.name] = answers


async def set_up(
    world: World, lookup: RouteLookup, sandbox: Sandbox, scenario: Scenario, by: str
) -> list[dict[str, object]]:
    """Make the set-up calls of a scenario now, at one instant, as requests that the journal says
    were sent ``by`` something: each call with its status. Raises as ``prepare`` does; what was done
    before the call that is refused stays, as it would of requests."""
    answers, made = dict[str, object](), list[dict[str, object]]()
    # What others have made due is no part of it.
    await world.runner.catch_up(sandbox)
    # A reset may have put another in its place meanwhile.
    present = world.sandboxes.present(sandbox)
    with present.director.during_set_up():
        for name, wanted in _calls(scenario, answers):
            status, answer = _make_call(present, lookup, wanted, by)
            _check_and_keep(name, wanted, status, answer, scenario, answers)
            made.append({"call": str(wanted), "status": status})
    await world.runner.catch_up(present)
    return made


def _calls(scenario: Scenario, answers: Mapping[str, object]) -> Iterator[tuple[str, CallMap]]:
    """The calls of a scenario by their names, each with what it takes of the ``answers`` before
    it, such as the id of the customer that a charge is for. A generator: the next call is made
    ready when the answer before it is there."""
    for place, call in enumerate(scenario.said.setup):
        name = f"Setup.{call.id or place}"
        try:
            yield name, ready(call, answers)
        except LookupError as missing:
            raise invalid({name: f"{missing}{_in_setup_of(scenario)}"}) from None


def _in_setup_of(scenario: Scenario) -> str:
    """Whose set-up it is, as several scenarios may have one."""
    return f" (set-up of {scenario.name})"


def _check_and_keep(
    name: str,
    wanted: CallMap,
    status: int,
    answer: object,
    scenario: Scenario,
    answers: dict[str, object],
) -> None:
    """Keep the answer to a set-up call under the call's id, by which later calls name it. Raises
    ``Invalid`` (90) where it is not as the scenario expects: a test must not go on with half of
    what it needs."""
    expected = wanted.expect or _ANY_SUCCESS
    faults = unexpected(expected, status, _ANSWER_HEADERS, answer)
    if faults and wanted.expect is None and isinstance(answer, dict):
        # The error itself says more than that no error was expected.
        reason = f"{answer.get('code')} {answer.get('message')} {answer.get('details') or ''}"
        raise invalid({name: f"{wanted} answered {status}: {reason}{_in_setup_of(scenario)}"})
    if faults:
        should_fail = status < 400 <= (expected.status or 0)
        if should_fail:
            # Most likely a rule was meant to refuse it.
            faults = [*faults, _HINT]
        raise invalid({name: f"{wanted}: {'; '.join(faults)}{_in_setup_of(scenario)}"})
    if wanted.id is not None:
        answers[wanted.id] = answer


def _make_call(
    sandbox: Sandbox, lookup: RouteLookup, call: CallMap, by: str | None = None
) -> tuple[int, object]:
    """Make a set-up call, and what is due at once because of it: status and body of the answer,
    read as a client reads them. The journal keeps one that was sent ``by`` something."""
    target = urlsplit(call.path)
    path = unquote(target.path)
    found = lookup.at(path)
    endpoint = found.endpoints.by_method.get(call.method) if found is not None else None
    if found is None or not isinstance(endpoint, OperationEndpoint):
        return 404, problem(
            404, Code.UNKNOWN_ERROR, "Not Found", call.path, {"Path": _NO_OPERATION}
        )
    headers = {**(call.headers or {}), "x-secretkey": sandbox.key}
    raw = b"" if call.body is None else dumps(call.body)
    if by is not None:
        headers[SENT_BY] = by
    query = target.query.encode()
    request = Request(call.method, path, found.placeholders, query, headers, raw=raw, known=sandbox)
    step, arrived = endpoint.arrive(request, sandbox)
    reply = arrived if isinstance(arrived, Reply) else endpoint.carry_out(request, step)
    text = reply.text()
    if by is not None:
        endpoint.note(request, step, reply, text)
    due.run_due(sandbox, sandbox.now)
    # No rule of a scenario hears it, and built-in test values spoil no answer: there is always one.
    return cast(int, reply.status), loads(text)
