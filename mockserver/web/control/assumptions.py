"""The assumption table of a sandbox: what is in force, and overrides (``/__admin/assumptions``)."""

from __future__ import annotations

from mockserver.assumptions import ROWS, Assumed, Profile, read
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, nearest
from mockserver.engine.sandbox import Sandbox
from mockserver.web.control.call import ControlCall

_PROFILE = "profile"


def listing(call: ControlCall) -> tuple[int, object]:
    """Every row: question, value in force, value of each profile, evidence."""
    return 200, _shown(call.sandbox())


def override(call: ControlCall) -> tuple[int, object]:
    """Override rows of this sandbox: ``{key: value}``, null for the value of the profile; ``profile`` changes that.

    A row of null follows the profile again, unless a scenario overrides it: then it is held at the profile's value.
    Raises ``Invalid`` (90) naming every bad row; then nothing has changed.
    """
    sandbox, body = call.sandbox(), dict(call.body())
    faults: dict[str, str] = {}
    profile = sandbox.assumed.profile
    overrides = dict(sandbox.own.overrides) if sandbox.own is not None else {}
    if _PROFILE in body:
        try:
            profile = _profile(body.pop(_PROFILE))
        except Invalid as refused:
            faults.update(refused.details or {})
    for key, given in body.items():
        try:
            if given is None and key in ROWS:
                overrides.pop(key, None)
                if key in sandbox.config.assumed.overrides:
                    overrides[key] = ROWS[key].kind.show(ROWS[key].value(profile))
            else:
                overrides[key] = ROWS[key].kind.show(read(key, given)) if key in ROWS else read(key, given)
        except Invalid as refused:
            faults.update(refused.details or {})
    if faults:
        raise Invalid(Code.VALIDATION_ERROR, faults)
    sandbox.settle(Assumed(profile, overrides))
    sandbox.journal.gap_reason = "assumptions were overridden"
    return 200, _shown(sandbox)


def _profile(given: object) -> Profile:
    try:
        return Profile(str(given).lower())
    except ValueError:
        names = [profile.value for profile in Profile]
        hint = nearest(str(given), names)
        raise Invalid(Code.VALIDATION_ERROR, {"Profile": f"wanted one of {', '.join(names)}{hint}"}) from None


def _shown(sandbox: Sandbox) -> dict[str, object]:
    return {
        "profile": sandbox.assumed.profile.value,
        "assumptions": [
            {
                "key": row.key,
                "question": row.question,
                "value": row.kind.show(sandbox.assumed[row]),
                "overridden": row.key in sandbox.assumed.overrides,
                "allowed": row.kind.allowed,
                "documented": row.kind.show(row.documented),
                "sdk": row.kind.show(row.sdk),
                "evidence": row.evidence,
            }
            for row in ROWS.values()
        ],
    }
