"""Parameters: what users pass, checked: names of columns, paths, levels, weights and seeds."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import ColumnError, OutputError, PolicyError, did_you_mean


def column_names(given: Any, what: str) -> tuple[str, ...]:
    """Column names as a tuple; one alone is a tuple of one. A set has no order, so it is refused."""
    if given is None:
        return ()
    if isinstance(given, str) or _is_number(given):
        return (str(given),)
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, set | frozenset | Mapping) else None
    if listed is None or not all(isinstance(name, str) or _is_number(name) for name in listed):
        raise PolicyError(f"{what} must be a list of column names", got=type(given).__name__, allowed='["age", "zip"]')
    return tuple(str(name) for name in listed)  # a pandas column may be named by a number


def quasi_sets(given: Any) -> tuple[tuple[str, ...], ...]:
    """One set of quasi-identifiers, or several."""
    if isinstance(given, list | tuple) and given and not any(isinstance(x, str) or _is_number(x) for x in given):
        return tuple(column_names(names, "each set of quasi") for names in given)
    return (column_names(given, "quasi"),)


def levels_of(levels: Any, columns: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    """Column to (least, greatest) level; one level alone is both."""
    found = {}
    for name, bounds in mapping(levels, "levels").items():
        if name not in columns:
            what = f'levels are set for "{name}", which is not a quasi-identifier'
            raise ColumnError(what, hint=did_you_mean(name, columns))
        pair = (bounds, bounds) if _is_number(bounds) else tuple(bounds) if isinstance(bounds, list | tuple) else ()
        if len(pair) != 2 or not all(_is_number(level) for level in pair):
            what = f'levels of "{name}" must be a least and a greatest level'
            raise PolicyError(what, got=type(bounds).__name__, allowed="for example (1, 3)")
        found[name] = (int(pair[0]), int(pair[1]))
    return found


def mapping(given: Any, what: str) -> Mapping[str, Any]:
    """A mapping from column names, empty for None."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise PolicyError(f"{what} must map column names", got=type(given).__name__, allowed='{"age": ...}')
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
    for name in getattr(loss, "weights", None) or {}:
        if name not in columns:
            what = f'the loss has a weight for "{name}", which is not a quasi-identifier'
            raise PolicyError(what, hint=did_you_mean(name, columns))


def seed_of(seed: Any) -> int | None:
    """A seed as a plain integer."""
    if seed is not None and not _is_number(seed):
        raise PolicyError("seed must be an integer", got=type(seed).__name__)
    return None if seed is None else operator.index(seed)


def max_cells_of(given: Any) -> int:
    """How many different combinations of values may be held in memory."""
    if type(given) is not int or given < 1:
        raise PolicyError("max_cells must be a whole number above 0", got=repr(given))
    return given


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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
