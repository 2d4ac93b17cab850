"""Parameters: what users pass, checked: numbers, choices, columns, paths, levels, weights and seeds.

A refusal says what is wrong, what was got, what is allowed, and what may have been meant; it never quotes a cell.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Collection, Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import ColumnError, OutputError, PolicyError, did_you_mean

LARGEST = 2**53  # of whole numbers: more than any table has rows, and still exact as a float


def whole_number(value: Any, what: str, least: int = 1, most: int = LARGEST) -> int:
    """A whole number within bounds.

    >>> whole_number(np.int64(3), "folds", 2)
    3
    """
    if not is_whole(value) or not least <= value <= most:
        known = most < LARGEST or (is_whole(value) and value > most)
        allowed = f"a whole number >= {least}" + (f" and <= {most}" if known else "")
        raise PolicyError(f"{what} is out of range", got=shown(value), allowed=allowed)
    return int(value)


def real_number(value: Any, what: str, least: float = 0, most: float = math.inf, *, above: bool = False) -> float | int:
    """A finite number within bounds, or `above` the lower one; whole ones stay whole.

    >>> real_number(0.5, "share", 0, 1), real_number(2, "c", above=True)
    (0.5, 2)
    """
    if not _is_finite(value) or value < least or value > most or (above and value == least):
        allowed = f"a number {'>' if above else '>='} {least:g}" + (f" and <= {most:g}" if most < math.inf else "")
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
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number that no float holds
        return False
