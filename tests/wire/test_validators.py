"""The validators of bodies beside models of pydantic that are made from the same annotations."""

from __future__ import annotations

import types
from functools import cache
from typing import Annotated, Any, get_args, get_origin

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from mockserver.web.control.call import CONTROL_ROUTES
from mockserver.web.routes import ROUTES
from mockserver.wire.base import REQUIRED, Body, fields_of
from mockserver.wire.schemas import Schemas
from mockserver.wire.validators import of_any_spelling
from tests.wire.test_fields import bodies, values

ROWS = (*ROUTES, *CONTROL_ROUTES)
MODELS = sorted({model for row in ROWS for model in (row.body, row.query) if model}, key=lambda one: one.__name__)


@cache
def twin(body: type[Body]) -> type[BaseModel]:
    """The same body as pydantic makes it."""
    said: dict[str, Any] = {}
    for name, field in fields_of(body).items():
        default = ... if field.default is REQUIRED else field.default
        words = field.description or None
        info = Field(default, alias=field.alias, description=words)
        said[name] = (with_twins(field.annotation), info)
    config = ConfigDict(extra=body.extra, arbitrary_types_allowed=True)
    return create_model(body.__name__, __config__=config, __doc__=body.__doc__, **said)


def with_twins(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, Body):
        return twin(annotation)
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return Annotated[(with_twins(parts[0]), *parts[1:])]
    if get_origin(annotation) is list:
        return list[with_twins(parts[0])]  # type: ignore[misc]
    if types.NoneType in parts:
        return with_twins(parts[0]) | None
    return annotation


def outcome(read: Any) -> object:
    try:
        return read()
    except ValidationError as refused:
        faults = refused.errors(include_url=False, include_input=False)
        # What is no object is worded by its kind.
        return [
            (fault["loc"], "object" if fault["type"] in {"model_type", "dict_type"} else (fault["type"], fault["msg"]))
            for fault in faults
        ]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.slow
def test_bodies_are_read_as_models_of_pydantic_read_them(model: type[Body]) -> None:
    validator = of_any_spelling(model)
    for given in bodies(model, capitals=False):
        read = outcome(lambda given=given: values(model(validator.validate_python(given))))  # type: ignore[misc]
        assert read == outcome(lambda given=given: shown(model, twin(model).model_validate(given))), given  # type: ignore[misc]


def shown(body: type[Body], value: Any) -> object:
    """What a twin says, as :func:`values` shows it."""
    if isinstance(value, list | tuple):
        return [shown(body, one) for one in value]
    if not isinstance(value, BaseModel):
        return value
    return {name: shown(body, getattr(value, name)) for name in type(value).model_fields}


@pytest.mark.parametrize("model", MODELS)
def test_the_schema_of_a_body_is_that_of_pydantic(model: type[Body]) -> None:
    named = Schemas([model]).named
    wanted = twin(model).model_json_schema(ref_template="#/components/schemas/{model}")
    assert named.pop(model.__name__) == plain({name: part for name, part in wanted.items() if name != "$defs"})
    assert named == plain(wanted.get("$defs", {}))


def plain(schema: Any, *, named: bool = False) -> Any:
    """A schema without the titles that pydantic makes of names, and any object as the empty schema."""
    if isinstance(schema, list):
        return [plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: plain(one, named=name in ("properties", "$defs")) for name, one in schema.items()}
    if named:
        return found
    found = {name: one for name, one in found.items() if name != "title"}
    is_map = found.get("additionalProperties") is True and "properties" not in found
    return {**found, "additionalProperties": {}} if is_map else found
