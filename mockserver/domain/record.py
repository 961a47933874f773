"""Values as classes with slots: records, which never change, and others, which do."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from operator import attrgetter
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A slots dataclass that the type checker treats as frozen.

    A frozen dataclass sets each field through a call, which triples the cost of making one; a charge makes a dozen.
    """
    made: Any = mutable(cls)
    if "__hash__" not in cls.__dict__:
        made.__hash__ = _hash
    kind: type[T] = made
    return kind


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """A slots dataclass.

    Comparison and representation are shared, and so is the code of constructors of one shape: to write and compile
    them for each class takes ten times the time of all else that is done for it, at every start.
    """
    # Without a text of its own a dataclass gets its signature, which takes longer than the rest.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made: Any = dataclass(slots=True, init=False, repr=False, eq=False)(cls)
    for name, method in (("__init__", _constructor(made)), ("__repr__", _shown), ("__eq__", _is_equal)):
        if name not in cls.__dict__:
            setattr(made, name, method)
    if "__hash__" not in cls.__dict__:
        made.__hash__ = None
    kind: type[T] = made
    return kind


_ABSENT = object()
"""What a constructor gets for a field with a factory that is not given."""


def _constructor(cls: type) -> FunctionType:
    """The ``__init__`` of a dataclass: the code of its shape, with the names of its fields."""
    names: dict[str, str] = {}
    scope: dict[str, Any] = {"__name__": cls.__module__, "ABSENT": _ABSENT}
    places: list[str] = []
    keywords: list[str] = []
    lines: list[str] = []
    defaults: dict[str, Any] = {}
    for number, one in enumerate(fields(cls)):
        name = value = f"f{number}"
        names[name] = one.name
        has_factory = one.default_factory is not MISSING
        if one.init:
            (keywords if one.kw_only else places).append(name)
            if has_factory or one.default is not MISSING:
                defaults[name] = _ABSENT if has_factory else one.default
        elif one.default is not MISSING:
            scope[f"default_{name}"] = one.default
            value = f"default_{name}"
        elif not has_factory:
            continue
        if has_factory:
            scope[f"make_{name}"] = one.default_factory
            value = f"{name} if {name} is not ABSENT else make_{name}()" if one.init else f"make_{name}()"
        lines.append(f"    self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    taken = ", ".join(["self", *places, *(["*", *keywords] if keywords else [])])
    shape = _compiled("\n".join([f"def __init__({taken}):", *(lines or ["    pass"])]))
    code = shape.replace(
        co_names=tuple(names.get(name, name) for name in shape.co_names),
        co_varnames=tuple(names.get(name, name) for name in shape.co_varnames),
        co_qualname=f"{cls.__qualname__}.__init__",
    )
    made = FunctionType(code, scope, "__init__", tuple(defaults[name] for name in places if name in defaults))
    made.__kwdefaults__ = {names[name]: defaults[name] for name in keywords if name in defaults}
    return made


@cache
def _compiled(text: str) -> CodeType:
    found: CodeType = next(one for one in compile(text, "<record>", "exec").co_consts if isinstance(one, CodeType))
    return found


def _hash(self: Any) -> int:
    compared = _compared(type(self))  # type: ignore[arg-type]
    return hash(compared(self) if compared else None)


def _shown(self: Any) -> str:
    parts = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(parts)})"


def _is_equal(self: Any, other: Any) -> Any:
    cls: type = type(self)
    if type(other) is not cls:
        return NotImplemented
    compared = _compared(cls)  # type: ignore[arg-type]
    return compared is None or compared(self) == compared(other)


@cache
def _compared(cls: type) -> attrgetter[Any] | None:
    names = [one.name for one in fields(cls) if one.compare]
    return attrgetter(*names) if names else None


def or_kept(given: T | None, kept: T) -> T:
    """What a request gives, else what there is: None leaves a field as it is."""
    return kept if given is None else given


if TYPE_CHECKING:
    from dataclasses import replace as replace
else:

    def replace(value: T, **changes: Any) -> T:
        """A copy of a record of two fields or more with other values in some: a charge in a third of the time that
        ``dataclasses.replace`` takes for it."""
        cls = type(value)
        made = cls(*_values_of(cls)(value))
        for name, given in changes.items():
            setattr(made, name, given)
        return made

    @cache
    def _values_of(cls: type) -> attrgetter:
        return attrgetter(*(field.name for field in fields(cls) if field.init))


def updated(value: T, given: Any) -> T:
    """A copy with what a request gives: its fields of the same names, those that are None apart."""
    changes = {one.name: found for one in fields(given) if (found := getattr(given, one.name)) is not None}
    return replace(value, **{name: found for name, found in changes.items() if hasattr(value, name)})  # type: ignore[type-var]
