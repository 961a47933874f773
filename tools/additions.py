"""Additions that users may ask for, each as the texts that it puts into the files of the package.

``tests/test_additions.py`` makes all of them in a copy and uses them. CONTRIBUTING.md shows five as
diffs; ``python -m tools.docs --tables`` prints them against the code of today, so that they go on
applying to it.
"""

from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path

from tools.imports import PACKAGE

ROOT = PACKAGE.parent

Insertion = tuple[str, str]
"""A text, and what it goes before; at the end of the file where that is empty."""

_CONTROL = "mockserver/web/control"
ADDITIONS: Mapping[str, Mapping[str, list[Insertion]]] = {
    "an outcome of a provider, by name": {
        "mockserver/scenario/outcomes.csv": [
            (
                "issuer_on_holiday,PROVIDER_SERVICE_ERROR,Z9,Gone fishing,yes,nobody is at the "
                "issuer\n",
                "",
            )
        ]
    },
    "a new kind of provider outcome": {
        "mockserver/scenario/provider_outcome.py": [
            (
                """@file_model
class WholeUnits(OutcomeTraits):
    \"\"\"The provider approves no cents.\"\"\"

    word = "whole_units"
    fits = TAKING

    def approved(self, amount: Decimal) -> Decimal:
        return amount // 1

    @property
    def words(self) -> str:
        return "approve whole units only"


""",
                "ProviderOutcome = ",
            ),
            (" | WholeUnits", "\nBY_NAME: "),
        ],
        "mockserver/scenario/outcome.py": [
            ("    WholeUnits,\n", ")\nfrom mockserver.scenario.scalars import"),
            ('    "whole_units",\n', ")\n\n\n@file_model\nclass OutcomeMap"),
            (
                "    whole_units: WholeUnits | None = None\n",
                "    latency: LatencyWord | None = None\n",
            ),
        ],
        "mockserver/scenario/reference.md": [
            (
                '| `whole_units` | cents are not approved | the usual outcome | `{"whole_units": '
                "{}}` |\n",
                "| `partial_approve` | ",
            )
        ],
    },
    "a transport fault": {
        "mockserver/scenario/transport.py": [
            ("SHOUT ", "SLOW COPIES EDIT"),
            ("    FaultKind.SHOUT: _KindRow(_ANSWER),\n", "    FaultKind.SLOW: _KindRow("),
            ("    shout: Switch = False\n", "    kind: FaultKind = field("),
        ],
        "mockserver/web/transport_faults.py": [
            (
                """            case FaultKind.SHOUT:
                await self._answer(self.body.upper())
""",
                "            case FaultKind.SLOW |",
            )
        ],
        "mockserver/scenario/reference.md": [
            (
                '| `shout` | capitals only | | `{"at": "answer", "shout": true}` |\n',
                "| `truncate` | ",
            )
        ],
    },
    "a payment source": {
        "mockserver/domain/sources.py": [
            (
                """@record
class VoucherSource:
    \"\"\"A voucher of a shop.\"\"\"

    word = "voucher"

    voucher_code: str
    provider_id: str


""",
                "ChargeSource = (",
            ),
            ("    | VoucherSource\n", ")\nSOURCE_WORDS"),
        ],
        "mockserver/engine/sources.py": [
            (
                """            case sources.VoucherSource():
                provider = providers.named(step.sandbox, source.provider_id, Capability.WALLET)
                instrument = sources.Instrument(
                    sources.PaymentType.WALLET, display_type="voucher"
                )
                return ChargePlan(provider, instrument)
""",
                "            case _:\n                assert_never(source)",
            )
        ],
        "mockserver/wire/bodies/charges.py": [
            ("    VoucherSource,\n", "    WalletSource,\n)"),
            (
                """class VoucherCharge(ChargeFields):
    \"\"\"Charge a voucher.\"\"\"

    voucher_code: NonEmpty
    provider_id: NonEmpty

    def command(self) -> NewCharge:
        source = VoucherSource(voucher_code=self.voucher_code, provider_id=self.provider_id)
        return self.charge(source)


""",
                "class RefundQuery(",
            ),
        ],
        "mockserver/web/operations/charges.py": [
            ("    VoucherCharge,\n", "    WalletCharge,\n)"),
            (
                """    Route(
        "POST",
        "/charge/voucher",
        "charge.create",
        create,
        reply="ChargeReply",
        body=VoucherCharge,
        creates=True,
        summary="Charge a voucher",
        source="an example",
    ),
""",
                """    Route(
        "POST",
        "/charge/checkout",""",
            ),
        ],
    },
    "a field of a charge": {
        "mockserver/wire/bodies/charges.py": [
            ("    terminal: Text | None = None\n", "    descriptor: Text"),
            ("            terminal=self.terminal,\n", "            descriptor=self.descriptor"),
        ],
        "mockserver/domain/commands.py": [
            ("    terminal: str | None = None\n", "    descriptor: str"),
        ],
        "mockserver/domain/charge.py": [
            ("    terminal: str | None = None\n", "    seq: int = -1\n\n    def waits_for_hold"),
        ],
        "mockserver/engine/charges.py": [
            ("        terminal=command.terminal,\n", "        descriptor=command.descriptor"),
        ],
        "mockserver/wire/replies.csv": [
            ("ChargeReply,terminal,text or null,,\n", "ChargeReply,descriptor"),
        ],
        "mockserver/wire/resources.py": [
            ('        "terminal": charge.terminal,\n', '        "descriptor": charge'),
        ],
    },
    "an error code": {
        "mockserver/domain/codes.py": [
            ("    UNLUCKY_AMOUNT = 118\n", "    VALIDATION_ERROR = 90\n")
        ],
        "mockserver/engine/intake.py": [
            (
                """        if amount == 13:
            faults.add(Code.UNLUCKY_AMOUNT, "Amount", "got 13, wanted another")
            return None
""",
                "        return Money(exact(",
            )
        ],
    },
    "a control operation": {
        "mockserver/wire/control_answers.csv": [
            ("GreetingAnswer,,,,A greeting.\nGreetingAnswer,greeting,text,,\n", "")
        ],
        f"{_CONTROL}/greeting.py": [
            (
                """from mockserver.web.control.call import ControlCall, ControlRoute
from mockserver.wire.control_body import ControlBody


class Greeting(ControlBody):
    \"\"\"Whom to greet.\"\"\"

    name: str


def greet(call: ControlCall[Greeting, ControlBody]) -> object:
    return {"greeting": f"Hello, {call.body.name}"}


ROUTES = (
    ControlRoute(
        "POST",
        "/__admin/greeting",
        greet,
        body=Greeting,
        keyed=True,
        reply="GreetingAnswer",
        example={"body": {"name": "Ann"}},
        summary="Be greeted",
    ),
)
""",
                "",
            )
        ],
        f"{_CONTROL}/routes.py": [
            ("    greeting,\n", "    journal,\n"),
            ("    *greeting.ROUTES,\n", "    *webhooks.ROUTES,\n"),
        ],
    },
    "an assumption": {
        "mockserver/assumptions/table.csv": [
            ("link.untitled,taken,,taken | refuse,payment links without a title,an example\n", "")
        ],
        "mockserver/engine/payment_links.py": [
            (
                """    if not command.title and step.assume("link.untitled") == "refuse":
        faults.add(Code.VALIDATION_ERROR, "Title", "required")
""",
                "    faults.refuse()\n",
            )
        ],
        "mockserver/drift/walk.yaml": [
            (
                "  - {id: link-untitled, call: POST /payment_link, body: {amount: 1, currency: "
                "AUD}}\n",
                "  - {id: link-read,",
            )
        ],
    },
    "work that comes due": {
        "mockserver/engine/schedule.py": [
            (
                '    LINK_AGED = "link_aged", "payment_links", "a payment link is old"\n',
                "    TOKEN_EXPIRY = ",
            )
        ],
        "mockserver/engine/due.py": [
            ("    payment_links,\n", "    payto,\n    step_effects,"),
            ("    Due.LINK_AGED: _while(None, payment_links.age),\n", "    Due.TOKEN_EXPIRY: "),
        ],
        "mockserver/engine/payment_links.py": [
            ("from mockserver.domain.clock import DAY\n", "from mockserver.domain.codes"),
            ("from mockserver.engine.schedule import Due\n", "from mockserver.engine.step"),
            (
                """def age(step: Step, link: PaymentLink) -> None:
    step.change(link, replace(link, title=f"{link.title} (old)"))


""",
                "def create(step: Step",
            ),
            (
                """    aged = sandbox.now + DAY
    step.sandbox.schedule.plan(aged, Due.LINK_AGED, bare.payment_link_id)
""",
                "    return step.add(\n        replace(updated(bare, command)",
            ),
        ],
    },
    "an event that time causes": {
        "mockserver/engine/schedule.py": [
            (
                '    CUSTOMER_GREETED = "customer_greeted", "customers", "a customer is greeted"\n',
                "    CUSTOMER_SHOWN = ",
            )
        ],
        "mockserver/engine/due.py": [
            (
                "    Due.CUSTOMER_GREETED: _while(states.Presence.ACTIVE, customers.greet),\n",
                "    Due.CUSTOMER_SHOWN: ",
            )
        ],
        "mockserver/engine/customers.py": [
            ("from mockserver.domain.clock import HOUR\n", "from mockserver.domain.codes"),
            (
                """def greet(step: Step, customer: Customer) -> None:
    step.change(customer, replace(customer), "greeted")


""",
                "def create(step: Step",
            ),
            (
                "    sandbox.schedule.plan(sandbox.now + HOUR, Due.CUSTOMER_GREETED, "
                "bare.customer_id)\n",
                "    customer = updated(bare, command.details)",
            ),
        ],
        "mockserver/web/webhooks.csv": [(" customer.greeted", ",CustomerReply,")],
    },
    "an index that an operation asks": {
        "mockserver/engine/tables.py": [
            (
                '        *_by(is_asked=True, phone="phone"),\n',
                '        index_by("email",',
            )
        ],
        "mockserver/engine/customers.py": [
            (
                """    phone = command.details.phone
    if phone is not None and sandbox.customers.count("phone", phone):
        raise Invalid(Code.VALIDATION_ERROR, {"Phone": "another customer has it"})
""",
                '    payment_methods.ask(step, "customer.create",',
            )
        ],
    },
    "a setting": {
        "mockserver/settings.csv": [
            (
                '--least-amount,1 to 1000,"a whole number, 1 to 1000",N,,Smallest amount that is '
                "charged.\n",
                "",
            )
        ],
        "mockserver/settings.py": [("    least_amount: int = 1\n", "    sandbox_idle: str")],
        "mockserver/engine/config.py": [("    least_amount: int = 1\n", "    webhook_key: str")],
        "mockserver/engine/intake.py": [
            (
                """        if amount < (least := step.sandbox.config.least_amount):
            faults.wrong("Amount", f"got {amount}, wanted at least {least}")
            return None
""",
                "        return Money(exact(",
            )
        ],
    },
    "a finding": {
        "mockserver/findings/catalogue.md": [
            (
                """## large-amount

- severity: note
- title: A large amount was charged
- why: Large payments are looked at by hand.
- advice: Charge less.
- raised: A charge of 5000 or more is made.
- wrong: {"amount": 5000}
- right: {"amount": 4999}

""",
                "## polled-hard",
            )
        ],
        "mockserver/findings/request_checks.py": [
            (
                """        if call.charge is not None and call.charge.amount >= 5000:
            evidence = Evidence(f"{call.charge.amount}", entry=call.entry)
            self._ledger.add("large-amount", call.at, (evidence,), operation=call.op)
""",
                "        charge = call.charge\n        if charge is not None",
            )
        ],
    },
    "one who watches every sandbox": {
        "mockserver/findings/call_count.py": [
            (
                """from mockserver.domain.facts import Call
from mockserver.engine.observer import Observer
from mockserver.engine.tables import Tables


class CallCount(Observer):
    def __init__(self, tables: Tables) -> None:
        self.calls = 0

    def called(self, call: Call) -> None:
        self.calls += 1
""",
                "",
            )
        ],
        "mockserver/web/app.py": [
            (
                "from mockserver.findings.call_count import CallCount\n",
                "from mockserver.findings.watch import",
            ),
            ("        observers = (*observers, CallCount)\n", "        self.world = world ="),
        ],
    },
    "a fault of explore": {
        "mockserver/explore/faults.csv": [
            (
                'teapot,answer,it is done,5,,,,,,,,"{""transport"": {""at"": ""answer"", '
                '""status"": 418}}"\n',
                "",
            )
        ]
    },
    "a page": {
        "mockserver/web/pages.py": [
            ("    hello,\n", "    hosted,\n    page,\n"),
            (
                '    PageRoute("GET", "/hello/{name}", hello.page, "Says hello"),\n',
                '    PageRoute("GET", "/demo",',
            ),
        ],
        "mockserver/web/hello.py": [
            (
                """from mockserver.web.page import PageCall, html
from mockserver.web.request import Reply


def page(call: PageCall) -> Reply:
    return html(200, "hello.html", who=call.path["name"])
""",
                "",
            )
        ],
        "mockserver/web/templates/hello.html": [
            (
                '{% extends "layout.html" %}\n{% block main %}<h1>Hello, {{ who }}</h1>{% '
                "endblock %}\n",
                "",
            )
        ],
    },
}
"""By the name of its row in the table: the texts that an addition puts into each file."""


def added_to(text: str, insertions: list[Insertion], path: str) -> str:
    """``text`` with the insertions; ``path`` names it where one of their places is not in it."""
    for new, place in insertions:
        before, at_place, after = text.partition(place) if place else (text, "", "")
        assert not place or at_place, f"{path} has no {place!r}"
        text = f"{before}{new}{at_place}{after}"
    return text


def text_of(path: Path) -> str:
    """What a file holds; nothing where there is none yet."""
    return path.read_text("utf-8") if path.exists() else ""


def diff_of(what: str) -> str:
    """An addition as a diff that ``git apply`` takes, with a line of context on either side."""
    return "".join(
        line
        for path, insertions in ADDITIONS[what].items()
        for line in _file_diff(path, insertions)
    )


def _file_diff(path: str, insertions: list[Insertion]) -> list[str]:
    """The part of a diff that changes one file, or makes it."""
    now = text_of(ROOT / path)
    then = added_to(now, insertions, path)
    old_name = f"a/{path}" if now else "/dev/null"
    return list(
        unified_diff(
            now.splitlines(keepends=True),
            then.splitlines(keepends=True),
            old_name,
            f"b/{path}",
            n=1,
        )
    )
