"""Values as classes with slots: records, which never change, and others, which do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
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
    return _made(cls, _hash)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """A slots dataclass."""
    return _made(cls, None)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def entity(cls: type[T]) -> type[T]:
    """A slots dataclass that is equal to itself alone, and that weak references may be made to."""
    return _made(cls, object.__hash__, __eq__=object.__eq__, __slots__=(*_own(cls), "__weakref__"))


def _made(cls: type[T], hashed: Callable[[Any], int] | None, **further: object) -> type[T]:
    """The class with slots for its fields, whose annotations are texts.

    Comparison and representation are shared, and so is the code of constructors of one shape. Constructors, and what
    describes the fields, are made when they are first asked for: a server that starts and answers asks for few, and to
    make all of them takes an eighth of that time.
    """
    own = _own(cls)
    names = dict(cls.__dict__)
    for name in ("__dict__", "__weakref__", *own):
        names.pop(name, None)
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    methods = {"__repr__": _shown, "__eq__": _is_equal, "__hash__": hashed}
    described = {
        "__doc__": cls.__doc__ or cls.__name__,
        "__qualname__": cls.__qualname__,
        "__slots__": tuple(name for name in own if name not in inherited) if inherited else tuple(own),
        _OWN: own,
    }
    kind: Any = type(cls)
    made: type[T] = kind(cls.__name__, cls.__bases__, {**_LATE, **methods, **names, **described, **further})
    return made


_OWN = "_own_fields"


def _own(cls: type) -> dict[str, tuple[Any, bool]]:
    """What each field that a class adds is given there, and whether it is set by name alone."""
    found: dict[str, tuple[Any, bool]] = {}
    is_keyword = False
    given = cls.__dict__
    for name, kind in cls.__annotations__.items():
        if kind.startswith("KW_ONLY"):
            is_keyword = True
        elif not kind.startswith("ClassVar["):
            found[name] = given.get(name, MISSING), is_keyword
    return found


def _every(cls: type) -> dict[str, tuple[Any, bool]]:
    """The same of all its fields. The objects with which the standard library describes fields take five times as long
    to make as a constructor."""
    return {name: one for base in cls.__mro__[::-1] for name, one in base.__dict__.get(_OWN, {}).items()}


class _Late:
    """An attribute of a class that is made when it is first asked for."""

    def __init__(self, name: str, make: Callable[[type], object]) -> None:
        self._name = name
        self._make = make

    def __get__(self, instance: object, owner: type) -> Any:
        holder = next((cls for cls in owner.__mro__ if cls.__dict__.get(self._name) is self), None)
        # Another thread may have made it meanwhile.
        if holder is not None:
            setattr(holder, self._name, self._make(holder))
        found = getattr(owner if instance is None else instance, self._name)
        # ``inspect`` of Python 3.13 asks for what is bound to the class.
        is_bound = isinstance(instance, type) and isinstance(found, FunctionType)
        return found.__get__(instance) if is_bound else found


def _standard(cls: type) -> Any:
    """A class with the same fields of its own, as the standard library makes it."""
    given = {name: value for name, (value, _) in cls.__dict__[_OWN].items() if value is not MISSING}
    # Without a text of its own a dataclass gets its signature, which takes longer than the rest.
    names = {"__module__": cls.__module__, "__doc__": " ", "__annotations__": cls.__annotations__}
    return dataclass(init=False, repr=False, eq=False)(type(cls.__name__, (), {**names, **given}))


def _fields(cls: type) -> dict[str, Field[Any]]:
    inherited = [base.__dataclass_fields__ for base in cls.__mro__[:0:-1] if is_dataclass(base)]
    return {name: one for found in (*inherited, _standard(cls).__dataclass_fields__) for name, one in found.items()}


def _match_args(cls: type) -> tuple[str, ...]:
    return tuple(name for name, (given, is_keyword) in _every(cls).items() if _is_taken(given) and not is_keyword)


def _is_taken(given: Any) -> bool:
    """Whether the constructor takes a field."""
    return not isinstance(given, Field) or given.init


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
    for number, (own, (given, is_keyword)) in enumerate(_every(cls).items()):
        name = value = f"f{number}"
        names[name] = own
        is_plain = not isinstance(given, Field)
        default, factory = (given, MISSING) if is_plain else (given.default, given.default_factory)
        if taken := is_plain or given.init:
            (keywords if is_keyword else places).append(name)
            if factory is not MISSING or default is not MISSING:
                defaults[name] = default if factory is MISSING else _ABSENT
        elif default is not MISSING:
            scope[f"default_{name}"] = default
            value = f"default_{name}"
        elif factory is MISSING:
            continue
        if factory is not MISSING:
            scope[f"make_{name}"] = factory
            value = f"{name} if {name} is not ABSENT else make_{name}()" if taken else f"make_{name}()"
        lines.append(f"    self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    arguments = ", ".join(["self", *places, *(["*", *keywords] if keywords else [])])
    shape = _compiled("\n".join([f"def __init__({arguments}):", *(lines or ["    pass"])]))
    code = shape.replace(
        co_names=tuple(names.get(name, name) for name in shape.co_names),
        co_varnames=tuple(names.get(name, name) for name in shape.co_varnames),
        co_qualname=f"{cls.__qualname__}.__init__",
    )
    made = FunctionType(code, scope, "__init__", tuple(defaults[name] for name in places if name in defaults))
    made.__kwdefaults__ = {names[name]: defaults[name] for name in keywords if name in defaults}
    return made


_MAKERS: dict[str, Callable[[type], object]] = {
    "__init__": _constructor,
    "__dataclass_fields__": _fields,
    "__dataclass_params__": lambda cls: _standard(cls).__dataclass_params__,
    "__match_args__": _match_args,
}
_LATE = {name: _Late(name, make) for name, make in _MAKERS.items()}


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
    names = [name for name, (given, _) in _every(cls).items() if not isinstance(given, Field) or given.compare]
    return attrgetter(*names) if names else None


def declared(cls: type) -> dict[str, Any]:
    """What each field is given where it is declared: its default, a ``field``, or MISSING. A tenth of what it takes to
    have the standard library describe them."""
    return {name: given for name, (given, _) in _every(cls).items()}


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
        return attrgetter(*(name for name, (given, _) in _every(cls).items() if _is_taken(given)))


def updated(value: T, given: Any) -> T:
    """A copy with what a request gives: its fields of the same names, those that are None apart."""
    changes = {one.name: found for one in fields(given) if (found := getattr(given, one.name)) is not None}
    return replace(value, **{name: found for name, found in changes.items() if hasattr(value, name)})  # type: ignore[type-var]
