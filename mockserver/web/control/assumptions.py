"""What is assumed in a sandbox where the service's document leaves a question open
(``/__admin/assumptions``).

The value in force comes from three places, the nearest first: what a client has overridden here,
what the scenarios in force override, the profile. Source: docs/assumptions.md.
"""

from collections.abc import Mapping

from pydantic import Field

from mockserver.assumptions import ROWS, Assumed, Profile, read
from mockserver.domain.errors import MOST_FAULTS, Invalid
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute
from mockserver.wire.control_body import ControlBody, OpenBody
from mockserver.wire.field_types import ProfileWord
from mockserver.wire.replies import reply_of


class Overrides(OpenBody):
    """Values of assumptions by key; null follows the profile again."""

    profile: ProfileWord | None = Field(None, description="documented or sdk")


def assumptions(call: AnyCall) -> object:
    """Every question that is left open, with the answer in force and that of each profile, so that
    a reader sees what a change of profile would change."""
    assumed = call.sandbox().assumed
    rows = [
        reply_of(
            "AssumptionAnswer",
            row,
            value=row.kind.show(assumed[row.key]),
            overridden=row.key in assumed.overrides,
            documented=row.kind.show(row.documented),
            sdk=row.kind.show(row.sdk),
        )
        for row in ROWS.values()
    ]
    return {"profile": assumed.profile, "assumptions": rows}


def override(call: ControlCall[Overrides, ControlBody]) -> object:
    """Override rows of this sandbox: ``{key: value}``, null for the value of the profile;
    ``profile`` changes that.

    A row of null follows the profile again, unless a scenario overrides it: then it is held at the
    profile's value. Raises ``Invalid`` (90) naming every bad row; then nothing has changed.
    """
    sandbox = call.sandbox()
    new_values = dict(call.document)
    # It is a field of the body, and no row.
    new_values.pop("profile", None)
    values, faults = _values(new_values)
    profile: Profile = call.body_beside(faults).profile or sandbox.assumed.profile
    overrides: dict[str, object] = {}
    if sandbox.own is not None:
        overrides |= sandbox.own.overrides
    for key, value in values.items():
        if value is not None:
            overrides[key] = value
            continue
        overrides.pop(key, None)
        # Without an override of the client's that of the scenario would count again.
        if key in sandbox.config.assumed.overrides:
            overrides[key] = ROWS[key].kind.show(ROWS[key].value(profile))
    sandbox.settle(Assumed(profile, overrides))
    # No entry says so, and what comes after would be answered otherwise without it.
    sandbox.journal.gap_reason = "assumptions were overridden"
    return assumptions(call)


def _values(document: Mapping[str, object]) -> tuple[dict[str, object], dict[str, str]]:
    """What a body says of the rows: their values by key, as a scenario writes them, None where the
    profile's counts again; and every fault by its field."""
    values: dict[str, object] = {}
    faults: dict[str, str] = {}
    for key, value in document.items():
        # To look for the nearest names of thousands takes minutes.
        if len(faults) >= MOST_FAULTS:
            break
        if value is None and key in ROWS:
            values[key] = None
            continue
        try:
            # This refuses a key that no row has.
            typed = read(key, value)
            values[key] = ROWS[key].kind.show(typed)
        except Invalid as refused:
            faults.update(refused.details or {})
    return values, faults


ROUTES = (
    ControlRoute(
        "GET",
        "/__admin/assumptions",
        assumptions,
        keyed=True,
        reply="AssumptionsAnswer",
        summary="The assumption table of this sandbox",
    ),
    ControlRoute(
        "PUT",
        "/__admin/assumptions",
        override,
        body=Overrides,
        keyed=True,
        reply="AssumptionsAnswer",
        example={"body": {"vault.ccv_delay": "10s"}},
        summary="Override rows, or choose the profile",
    ),
)
