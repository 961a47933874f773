"""The assumption table of a sandbox: what is in force, and overrides (``/__admin/assumptions``)."""

from __future__ import annotations

from collections.abc import Mapping

from mockserver.assumptions import ROWS, Assumed, Profile, read
from mockserver.domain.errors import Invalid
from mockserver.engine.sandbox import Sandbox
from mockserver.web.control.call import ControlCall
from mockserver.wire.folding import MOST_NAMED

_PROFILE = "profile"


def listing(call: ControlCall) -> tuple[int, object]:
    """Every row: question, value in force, value of each profile, evidence."""
    return 200, _shown(call.sandbox())


def override(call: ControlCall) -> tuple[int, object]:
    """Override rows of this sandbox: ``{key: value}``, null for the value of the profile; ``profile`` changes that.

    A row of null follows the profile again, unless a scenario overrides it: then it is held at the profile's value.
    Raises ``Invalid`` (90) naming every bad row; then nothing has changed.
    """
    sandbox = call.sandbox()
    values, faults = _values({key: value for key, value in call.document.items() if key != _PROFILE})
    profile: Profile = call.body_beside(faults).profile or sandbox.assumed.profile
    overrides = dict(sandbox.own.overrides) if sandbox.own is not None else {}
    for key, value in values.items():
        if value is not None:
            overrides[key] = value
            continue
        overrides.pop(key, None)
        if key in sandbox.config.assumed.overrides:
            overrides[key] = ROWS[key].kind.show(ROWS[key].value(profile))
    sandbox.settle(Assumed(profile, overrides))
    sandbox.journal.gap_reason = "assumptions were overridden"
    return 200, _shown(sandbox)


def _values(given: Mapping[str, object]) -> tuple[dict[str, object], dict[str, str]]:
    """The values of rows by key, None where the profile's counts again; and every fault."""
    values: dict[str, object] = {}
    faults: dict[str, str] = {}
    for key, value in given.items():
        # To look for the nearest names of thousands takes minutes.
        if len(faults) >= MOST_NAMED:
            break
        try:
            typed = read(key, value) if value is not None or key not in ROWS else None
            values[key] = None if value is None else ROWS[key].kind.show(typed)
        except Invalid as refused:
            faults.update(refused.details or {})
    return values, faults


def _shown(sandbox: Sandbox) -> dict[str, object]:
    return {
        "profile": sandbox.assumed.profile.value,
        "assumptions": [
            {
                "key": row.key,
                "question": row.question,
                "value": row.kind.show(sandbox.assumed[row.key]),
                "overridden": row.key in sandbox.assumed.overrides,
                "allowed": row.kind.allowed,
                "documented": row.kind.show(row.documented),
                "sdk": row.kind.show(row.sdk),
                "evidence": row.evidence,
            }
            for row in ROWS.values()
        ],
    }
