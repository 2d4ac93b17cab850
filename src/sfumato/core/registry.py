"""Registry: the variants of one kind (criteria, losses, searches, hierarchies) by name, open to other packages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from sfumato.core.forms import Parameter, parameters_of
from sfumato.errors import PolicyError, did_you_mean

T = TypeVar("T", covariant=True)


@dataclass(frozen=True)
class Variant(Generic[T]):
    """A class, an example of it that stands in lists and tests, and the paper it comes from."""

    make: Callable[..., Any]
    example: T
    cite: str = ""
    words: str = ""  # what a report calls it, where its name alone would not do
    stops: str = ""  # of a criterion: the attack that it stops,
    leaves: str = ""  # and what it leaves open

    @property
    def name(self) -> str:
        """Its name in the table, which follows from that of the class or function."""
        return variant_name(self.make.__name__)

    @property
    def summary(self) -> str:
        """First paragraph of the class's docstring, in one line."""
        return " ".join((self.make.__doc__ or "").strip().split("\n\n")[0].split())

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters, as a form asks for them."""
        return parameters_of(self.make)


def variant_name(make: str) -> str:
    """The table name of a class or a function, by its own name.

    >>> variant_name("EntropyLDiversity"), variant_name("RecursiveCLDiversity"), variant_name("by_letter")
    ('entropy-l-diversity', 'recursive-cl-diversity', 'by-letter')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", make).lower().replace("_", "-")


def field_values(value: Any) -> dict[str, Any]:
    """The parameters of a variant: the fields of its dataclass, in order.

    >>> field_values(Variant(str, example="", cite="nobody"))
    {'make': <class 'str'>, 'example': '', 'cite': 'nobody', 'words': '', 'stops': '', 'leaves': ''}
    """
    return {field.name: getattr(value, field.name) for field in fields(value)}


class Registry(Mapping[str, Variant[T]]):
    """Variants of one kind by name: ours, those that were registered, and those of other packages.

    Other packages bring theirs by entry points of the group `sfumato.criteria` and so on, each the name of a variant
    and where its `Variant` is. Names are read when one is asked for that is not ours, and a variant is imported when it
    is asked for itself: a package that is broken breaks its own variants only. Our names cannot be taken.
    """

    def __init__(self, kind: str, what: str, contracts: tuple[type, ...], rows: Mapping[str, Variant[T]]) -> None:
        self.kind, self.what, self.contracts = kind, what, contracts
        self._rows = dict(rows)
        self._loaded: dict[str, Variant[T]] = {}

    @cached_property
    def _offered(self) -> dict[str, list[EntryPoint]]:
        """What other packages bring, by name."""
        found: dict[str, list[EntryPoint]] = {}
        for point in sorted(entry_points(group=f"sfumato.{self.kind}")):
            found.setdefault(point.name, []).append(point)
        return found

    def __getitem__(self, name: str) -> Variant[T]:
        if name in self._rows:
            return self._rows[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(self._offered[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows or name in self._offered

    def __iter__(self) -> Iterator[str]:
        return iter({**self._rows, **self._offered})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _load(self, points: list[EntryPoint]) -> Variant[T]:
        point, *others = points
        package, *more = [one.dist.name if one.dist is not None else one.module for one in points]
        where = f'the {self.what} "{point.name}" of the package "{package}"'
        if others:
            also = " and ".join(f'"{name}"' for name in more)
            raise PolicyError(f"{where} is brought by {also} too", hint="remove all but one of these packages")
        try:
            found = point.load()
        except Exception as error:  # whatever a package does when it is imported
            what = f"{where} cannot be loaded: {type(error).__name__}: {error}"
            raise PolicyError(what, hint=f'mend or remove the package "{package}"') from error
        if faults := self.faults(point.name, found):
            raise PolicyError(f"{where} does not keep its contract:", faults)
        return found

    def faults(self, name: str, variant: Any) -> list[str]:
        """What keeps a variant out of this table."""
        if not isinstance(variant, Variant):
            return [f"it is no sfumato.Variant but a {type(variant).__name__}"]
        make, example = variant.make, variant.example
        found = [] if name == variant.name else [f'{make.__name__} must be named "{variant.name}", not "{name}"']
        if not variant.summary:
            found.append(f"{make.__name__} has no docstring, whose first line stands in `sfumato list`")
        if isinstance(make, type):
            if not is_dataclass(make) or not make.__dataclass_params__.frozen:  # type: ignore[attr-defined]
                found.append(f"{make.__name__} is no frozen dataclass")
            if type(example) is not make:
                found.append(f"the example is a {type(example).__name__}, not a {make.__name__}")
        if lacking := self.lacking(example):
            found.append(f"as a {self.what} it lacks {', '.join(lacking)}")
        return found

    def lacking(self, value: Any) -> list[str]:
        """The members of the contract that a value does not have; of several contracts, those of the nearest."""
        found = ([name for name in members(contract) if not hasattr(value, name)] for contract in self.contracts)
        return min(found, key=len)

    def present(self, value: Any) -> int:
        """How many members of the contract a value has."""
        return max(sum(hasattr(value, name) for name in members(contract)) for contract in self.contracts)

    def add(self, name: str, variant: Variant[Any]) -> None:
        """Put a variant into the table, or say what keeps it out."""
        faults = self.faults(name, variant)
        if name in self and not _again(self[name].make, variant.make):
            faults.append(f'the name "{name}" is taken')
        if faults:
            raise PolicyError(f"{variant.make.__name__} cannot be registered as a {self.what}:", faults)
        if name in self._rows and self._rows[name].make is variant.make:  # once more: what is not said again stays
            old = field_values(self._rows[name])
            variant = Variant(**{key: value or old[key] for key, value in field_values(variant).items()})
        self._rows[name] = variant

    def remove(self, name: str) -> None:
        """Take a variant out that was registered."""
        del self._rows[name]

    def name_of(self, value: Any) -> str | None:
        """The name of the variant that a value is of; None where its class is in no row."""
        make = type(value)
        own = next((name for name, entry in self._rows.items() if entry.make is make), None)
        name = own or variant_name(make.__name__)
        return name if own or (name in self._offered and self[name].make is make) else None

    def value(self, spec: Any) -> T:
        """A value of the table from its name, or a value of one of its classes as it is."""
        if not isinstance(spec, str):
            if self.name_of(spec) is None:
                hint = None if self.lacking(spec) else f"sf.register makes a class a {self.what}"
                raise PolicyError(f"not a {self.what}", got=type(spec).__name__, allowed=", ".join(self), hint=hint)
            found: T = spec
            return found
        if spec not in self:
            what, hint = f"unknown {self.what}", did_you_mean(spec, self)
            raise PolicyError(what, got=repr(spec), allowed=", ".join(self), hint=hint)
        made: T = self[spec].make()
        return made


def _again(old: Callable[..., Any], new: Callable[..., Any]) -> bool:
    """Whether a class was defined once more, as a cell of a notebook does."""
    return (old.__module__, old.__qualname__) == (new.__module__, new.__qualname__)


def members(contract: type) -> list[str]:
    """What a contract asks for: the public members of it and of those that it extends, and whether it is called."""
    bases = [base for base in reversed(contract.__mro__) if base.__module__ == contract.__module__]
    asked = [name for base in bases for name in vars(base)]
    return [name for name in dict.fromkeys(asked) if not name.startswith("_") or name == "__call__"]
