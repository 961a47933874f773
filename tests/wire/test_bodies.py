"""Bodies hand on what they read: a field that a command has too is in the command."""

from dataclasses import fields
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest

from mockserver.web.routes import FORM_ROUTES, ROUTES
from mockserver.wire.fields import Body, nested_body, parts_of

MODELS = sorted(
    {route.body for route in (*ROUTES, *FORM_ROUTES.values()) if hasattr(route.body, "command")},
    key=lambda model: model.__name__,
)


def value_for(annotation: Any, unlike: object) -> object:
    """A value of a field's type that is not the default of the command's field."""
    nested = nested_body(annotation)
    kinds = [part for part in parts_of(annotation) if isinstance(part, type)]
    if nested is not None:
        filled = full(nested)
        return [filled] if list in kinds or "list" in str(annotation) else filled
    if bool in kinds:
        return unlike is not True
    if Decimal in kinds:
        return Decimal(7)
    if dict in kinds or "dict" in str(annotation):
        return {"a": "b"}
    if "list" in str(annotation):
        return ["card"]
    choices = next((kind for kind in kinds if issubclass(kind, Enum)), None)
    if choices is not None:
        return list(choices)[-1]
    return 7 if int in kinds else "text"


def full(model: type[Body], unlike: dict[str, object] | None = None) -> Body:
    """A body in which every field has a value."""
    defaults = unlike or {}
    return model.model_construct(
        **{
            name: value_for(field.annotation, defaults.get(name))
            for name, field in model.model_fields.items()
        }
    )


def command_of(model: Any, unlike: dict[str, object] | None = None) -> Any:
    """The command of a full body."""
    named = ("provider",) if model.__name__ in ("WalletCharge", "CardTokenCreation") else ()
    return full(model, unlike).command(*named)  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_field_that_the_command_has_too_is_handed_on(model: Any) -> None:
    defaults = {one.name: one.default for one in fields(command_of(model))}
    made = command_of(model, defaults)
    shared = defaults.keys() & model.model_fields.keys()
    left_out = [name for name in sorted(shared) if getattr(made, name) in (None, defaults[name])]
    assert left_out == [], f"{model.__name__}: command() does not hand on {left_out}"
