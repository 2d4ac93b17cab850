"""Parameters: what users pass, checked: numbers, choices, columns, paths, levels, weights and seeds.

A refusal says what is wrong, what was got, what is allowed, and what may have been meant; it never quotes a cell.
A parameter of a variant declares its check in its annotation, as `Annotated[int, Whole(1)]`: `check_fields` holds a
dataclass to it, and `core.forms` tells it to whoever asks for the parameter.
"""

from __future__ import annotations

import inspect
import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, wraps
from numbers import Integral
from numbers import Real as RealNumber
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, ParamSpec, TypeVar, get_args, get_origin

from sfumato.errors import ColumnError, OutputError, PolicyError, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

LARGEST = 2**53  # of whole numbers: more than any table has rows, and still exact as a float


def whole_number(value: Any, what: str, least: int = 1, most: int = LARGEST) -> int:
    """A whole number within bounds.

    >>> import numpy as np
    >>> whole_number(np.int64(3), "folds", 2)
    3
    """
    if not is_whole(value) or not least <= value <= most:
        known = most < LARGEST or (is_whole(value) and value > most)
        allowed = f"a whole number >= {least}" + (f" and <= {most}" if known else "")
        raise PolicyError(f"{what} is out of range", got=shown(value), allowed=allowed)
    return int(value)


def real_number(
    value: Any, what: str, least: float = 0, most: float = math.inf, *, above: bool = False, below: bool = False
) -> float | int:
    """A finite number within bounds, or `above` the lower and `below` the upper one; whole ones stay whole.

    >>> real_number(0.5, "share", 0, 1), real_number(2, "c", above=True)
    (0.5, 2)
    """
    if (
        not _is_finite(value)
        or value < least
        or value > most
        or (above and value == least)
        or (below and value == most)
    ):
        upper = f" and {'<' if below else '<='} {most:g}" if most < math.inf else ""
        allowed = f"a number {'>' if above else '>='} {least:g}{upper}"
        raise PolicyError(f"{what} is out of range", got=shown(value), allowed=allowed)
    return int(value) if is_whole(value) and value <= LARGEST else float(value)


def share_of(value: Any, what: str, *, above: bool = False) -> float:
    """A number from 0 to 1, or `above` 0.

    >>> share_of(1, "threshold")
    1.0
    """
    return float(real_number(value, what, 0, 1, above=above))


def settle(value: Any, **checked: Any) -> None:
    """Put checked parameters into a frozen value."""
    for name, one in checked.items():
        object.__setattr__(value, name, one)


def one_of(value: Any, what: str, options: Iterable[str]) -> str:
    """One of some names.

    >>> one_of("mean", "aggregate", ["mean", "sum"])
    'mean'
    """
    known = list(options)
    if not isinstance(value, str) or value not in known:
        hint = did_you_mean(value, known) if isinstance(value, str) else None
        raise PolicyError(f"unknown {what}", got=shown(value), allowed=", ".join(known), hint=hint)
    return value


def yes_or_no(value: Any, what: str) -> bool:
    """True or False, and nothing that merely counts as one."""
    if not isinstance(value, bool):
        raise PolicyError(f"{what} must be true or false", got=shown(value))
    return value


def column_name(value: Any, what: str) -> str:
    """The name of one column."""
    if not isinstance(value, str):
        raise PolicyError(f"{what} must be the name of a column", got=type(value).__name__)
    return value


def is_text(value: object) -> bool:
    """Whether a value is text that a table can hold: half characters (lone surrogates) are none."""
    try:
        return isinstance(value, str) and value.encode("utf-8") is not None
    except UnicodeEncodeError:
        return False


def known_columns(names: Iterable[str], columns: Collection[str], what: str = "the table") -> None:
    """Refuse names of columns that a table does not have."""
    for name in names:
        if not isinstance(name, str):
            raise PolicyError("a column is named by a text", got=type(name).__name__, allowed='"age"')
        if name not in columns:
            raise ColumnError(f'{what} has no column "{name}"', hint=did_you_mean(name, columns))


def shown(value: Any) -> str:
    """A parameter in a message: numbers and texts as they are, of anything else only the kind."""
    if isinstance(value, int) and abs(value) > 10**30:
        return f"a number of about {int(value.bit_length() * math.log10(2)) + 1} digits"
    return repr(value) if isinstance(value, str | int | float) else f"a value of type {type(value).__name__}"


def column_names(given: Any, what: str) -> tuple[str, ...]:
    """Column names as a tuple; one alone is a tuple of one. A set has no order, so it is refused."""
    if given is None:
        return ()
    if isinstance(given, str) or is_whole(given):
        return (str(given),)
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, set | frozenset | Mapping) else None
    if listed is None or not all(isinstance(name, str) or is_whole(name) for name in listed):
        raise PolicyError(f"{what} must be a list of column names", got=type(given).__name__, allowed='["age", "zip"]')
    return tuple(str(name) for name in listed)  # a pandas column may be named by a number


def column_set(given: Any, what: str) -> tuple[str, ...]:
    """Names of columns, at least one, and none twice."""
    found = column_names(given, what)
    if not found or len(set(found)) < len(found):
        got = "a column twice" if found else "no column"
        raise PolicyError(f"{what} must be a set of columns", got=got, allowed='["age", "zip"]')
    return found


def quasi_sets(given: Any) -> tuple[tuple[str, ...], ...]:
    """One set of quasi-identifiers, or several."""
    if isinstance(given, list | tuple) and given and not any(isinstance(x, str) or is_whole(x) for x in given):
        return tuple(column_names(names, "each set of quasi") for names in given)
    return (column_names(given, "quasi"),)


def levels_of(levels: Any, columns: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    """Column to (least, greatest) level; one level alone is both."""
    found = {}
    for name, bounds in mapping(levels, "levels").items():
        if name not in columns:
            what = f'levels are set for "{name}", which is not a quasi-identifier'
            raise ColumnError(what, hint=did_you_mean(name, columns))
        pair = (bounds, bounds) if is_whole(bounds) else tuple(bounds) if isinstance(bounds, list | tuple) else ()
        if len(pair) != 2 or not all(is_whole(level) for level in pair):
            what = f'levels of "{name}" must be a least and a greatest level'
            raise PolicyError(what, got=type(bounds).__name__, allowed="for example (1, 3)")
        found[name] = (int(pair[0]), int(pair[1]))
    return found


def mapping(
    given: Any, what: str, columns: Collection[str] | None = None, where: str = "the table"
) -> Mapping[str, Any]:
    """A mapping from column names, empty for None; where `columns` are given, from these alone."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise PolicyError(f"{what} must map column names", got=type(given).__name__, allowed='{"age": ...}')
    for name in given if columns is not None else ():
        if str(name) not in (columns or ()):
            what = f'{what} are given for the column "{name}", which {where} does not have'
            raise ColumnError(what, hint=did_you_mean(name, columns or ()))
    return {str(name): value for name, value in given.items()}


def weights_of(frame: pl.DataFrame, name: str | None) -> np.ndarray | None:
    """Survey weights: numbers above 0, none missing."""
    import polars as pl

    if name is None:
        return None
    column = frame.get_column(name)
    number = column.cast(pl.Float64, strict=False) if column.dtype.is_numeric() or column.dtype == pl.String else None
    if number is None or number.null_count() or not bool((number > 0).all()) or not bool(number.is_finite().all()):
        raise ColumnError(f'the weights in column "{name}" must be numbers above 0, with none missing')
    return number.to_numpy()


def check_weights(loss: Any, columns: tuple[str, ...]) -> None:
    """The weights of a loss must be for columns that are blurred."""
    for name in loss.weights or {}:
        if name not in columns:
            what = f'the loss has a weight for "{name}", which is not a quasi-identifier'
            raise PolicyError(what, hint=did_you_mean(name, columns))


def seed_of(seed: Any) -> int | None:
    """A seed as a plain integer."""
    if seed is not None and not is_whole(seed):
        raise PolicyError("seed must be an integer", got=type(seed).__name__)
    return None if seed is None else int(seed)


def max_cells_of(given: Any) -> int:
    """How many different combinations of values may be held in memory."""
    return whole_number(given, "max_cells", 1, sys.maxsize)


def check_progress(progress: Any) -> None:
    """What reports progress is called with a message and a share."""
    if progress is not None and not callable(progress):
        raise PolicyError("progress must be a function of a message and a share", got=type(progress).__name__)


def check_trace(trace: Any) -> None:
    """What is told the steps of a search is called with an event."""
    if trace is not None and not callable(trace):
        raise PolicyError("trace must be a function of an event", got=type(trace).__name__)


def path_of(given: Any) -> Path:
    """A path as the system can take it."""
    try:
        path = Path(given)
        os.fsencode(path)
        path.exists()
        if "\0" in str(path):
            raise ValueError
    except UnicodeEncodeError:
        raise OutputError("this is no path: it is not valid Unicode", hint="it has a lone surrogate") from None
    except (TypeError, ValueError, OSError):
        raise OutputError("this is no path", got=f"type {type(given).__name__}") from None
    return path


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number; true and false are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    try:
        return isinstance(value, RealNumber) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number that no float holds
        return False


@dataclass(frozen=True)
class Declared:
    """What a parameter may be, as its annotation says; called with a value and what to call it, it checks the value.

    `needed` is of a parameter that has a default for the order of fields alone, and must be given all the same.
    """

    type: ClassVar[str] = "value"
    needed: bool = field(default=False, kw_only=True)
    help: str = field(default="", kw_only=True)  # where the docstring has no line about it

    def __call__(self, value: Any, what: str) -> Any:
        """The value as it is used, or a PolicyError."""
        return value

    def called(self, name: str, of: str) -> str:
        """What a message calls the parameter of a variant."""
        return f"{of}: {name}" if of else name


@dataclass(frozen=True)
class Whole(Declared):
    """A whole number within bounds."""

    least: int = 1
    most: int = LARGEST
    type: ClassVar[str] = "whole number"

    def __call__(self, value: Any, what: str) -> int:
        return whole_number(value, what, self.least, self.most)


@dataclass(frozen=True)
class Real(Declared):
    """A number within bounds, whose ends may be open."""

    least: float = 0
    most: float = math.inf
    above: bool = field(default=False, kw_only=True)
    below: bool = field(default=False, kw_only=True)
    type: ClassVar[str] = "number"

    def __call__(self, value: Any, what: str) -> float | int:
        return real_number(value, what, self.least, self.most, above=self.above, below=self.below)


@dataclass(frozen=True)
class Share(Real):
    """A number from 0 to 1, which is a decimal."""

    most: float = 1

    def __call__(self, value: Any, what: str) -> float:
        return float(super().__call__(value, what))


@dataclass(frozen=True)
class OneOf(Declared):
    """One of some names, or what `other` takes."""

    options: tuple[str, ...] = ()
    other: Declared | None = None
    type: ClassVar[str] = "choice"

    def __call__(self, value: Any, what: str) -> Any:
        if self.other is not None and not isinstance(value, str):
            return self.other(value, what)
        return one_of(value, what, self.options)

    def called(self, name: str, of: str) -> str:
        """As in "unknown labels of mondrian"."""
        return f"{name} of {of}" if of else name


@dataclass(frozen=True)
class YesNo(Declared):
    """True or false."""

    type: ClassVar[str] = "yes or no"

    def __call__(self, value: Any, what: str) -> bool:
        return yes_or_no(value, what)


@dataclass(frozen=True)
class Column(Declared):
    """The name of a column, and which ones it is to be chosen from."""

    refers_to: str = "column"
    type: ClassVar[str] = "column"

    def __call__(self, value: Any, what: str) -> str:
        if not is_text(value) or not value:
            raise PolicyError(f"{what} must name a {self.refers_to}", got=shown(value), allowed="a text")
        return str(value)


@dataclass(frozen=True)
class ColumnNames(Declared):
    """Names of columns, and which ones they are to be chosen from."""

    refers_to: str = "column"
    type: ClassVar[str] = "columns"

    def __call__(self, value: Any, what: str) -> tuple[str, ...]:
        return column_names(value, what)


@dataclass(frozen=True)
class ColumnSet(ColumnNames):
    """Names of columns, at least one, and none twice."""

    def __call__(self, value: Any, what: str) -> tuple[str, ...]:
        return column_set(value, what)


@dataclass(frozen=True)
class PerColumn(Declared):
    """A value for each of some columns."""

    each: Declared = Declared()
    refers_to: str = "column"
    type: ClassVar[str] = "mapping"

    def __call__(self, value: Any, what: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise PolicyError(f"{what} must map columns to values", got=type(value).__name__, allowed='{"age": ...}')
        return {str(name): self.each(one, f'{what} of "{name}"') for name, one in value.items()}


@dataclass(frozen=True)
class PlainText(Declared):
    """A text."""

    type: ClassVar[str] = "text"

    def __call__(self, value: Any, what: str) -> str:
        if not isinstance(value, str):
            raise PolicyError(f"{what} must be a text", got=type(value).__name__)
        return value


@dataclass(frozen=True)
class Written(Declared):
    """What its variant reads and checks itself: a `kind` of value, and what may be chosen for it."""

    kind: str = "value"
    refers_to: str | None = None


def check_fields(value: Any, of: str) -> None:
    """Check the fields of a frozen value by what their annotations declare, and put in what that makes of them."""
    make: Callable[..., Any] = type(value)
    for name, declared in declared_by(make).items():
        given = getattr(value, name)
        if given is None and declared.optional:
            continue
        if declared.check is not None:
            settle(value, **{name: declared.check(given, declared.check.called(name, of))})


@dataclass(frozen=True)
class Annotation:
    """What stands beside a parameter: its type, its check, and whether None is a value of it."""

    hint: Any
    check: Declared | None
    optional: bool


@cache
def declared_by(make: Callable[..., Any]) -> dict[str, Annotation]:
    """The annotation of each parameter of a class or a function."""
    written: dict[str, tuple[Any, dict[str, Any]]] = {}
    for one in reversed(make.__mro__) if isinstance(make, type) else (make,):
        space = vars(sys.modules[one.__module__]) if one.__module__ in sys.modules else {}
        written |= {name: (hint, space) for name, hint in inspect.get_annotations(one).items()}
    found = {}
    for name, parameter in inspect.signature(make).parameters.items():
        hint, space = written.get(name, (Any, {}))
        try:
            known = eval(hint, space) if isinstance(hint, str) else hint
        except NameError:  # of what is imported for checking only
            known = Any
        checks = (
            [one for one in known.__metadata__ if isinstance(one, Declared)] if get_origin(known) is Annotated else []
        )
        plain = get_args(known)[0] if get_origin(known) is Annotated else known
        check = checks[0] if checks else None
        none = NoneType in get_args(plain) or parameter.default is None
        found[name] = Annotation(plain, check, none and not (check is not None and check.needed))
    return found


P = ParamSpec("P")
R = TypeVar("R")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose numbers, choices and flags are checked by their annotations before it is called; it looks at
    the names of columns itself, for it knows the table."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # which says what is missing in Python's own words
        for name, known in declared_by(function).items():
            value = given.arguments.get(name)
            said = name in given.arguments and not (value is None and known.optional)
            if said and isinstance(known.check, Whole | Real | OneOf | YesNo):
                given.arguments[name] = known.check(value, name)
        return function(*given.args, **given.kwargs)

    return call
