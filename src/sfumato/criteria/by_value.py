"""Parameters that map printed values of a column to numbers, among them a distribution given from outside."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.parameters import LARGEST, is_text, is_whole, real_number, whole_number
from sfumato.core.protocols import HistogramView
from sfumato.core.wording import quoted
from sfumato.criteria.audit import in_order
from sfumato.criteria.model import Model
from sfumato.errors import PolicyError

# a mapping from printed values, "" for missing, which is kept as sorted pairs; a path where a file may hold it
ByValue = Mapping[str, float] | tuple[tuple[str, float], ...] | str | Path
MOST_VALUES = 100_000
NAMED = 3  # values with a bound of their own that a promise names
DELIMITERS = ",;|\t"


def pairs_of(
    of: Model, name: str, given: Any, least: float, most: float = math.inf, *, above: bool = False
) -> tuple[tuple[str, float], ...]:
    """A mapping from values to numbers within bounds, as sorted pairs: equal mappings make equal criteria."""
    if isinstance(given, tuple) and all(isinstance(one, tuple) and len(one) == 2 for one in given):
        given = dict(given)
    if not isinstance(given, Mapping) or not given or not all(is_text(value) or is_whole(value) for value in given):
        raise PolicyError(
            f"{of.model}: {name} must map values of the column, as they are printed, to numbers",
            got=f"a value of type {type(given).__name__}",
            allowed='for example {"flu": 0.6, "HIV": 0.4}',
        )
    if len(given) > MOST_VALUES:
        raise PolicyError(f"{of.model}: {name} has too many values", got=len(given), allowed=f"at most {MOST_VALUES}")
    what = f"{of.model}: a number of {name}"
    return tuple(sorted((str(value), real_number(n, what, least, most, above=above)) for value, n in given.items()))


def check_reference(of: Model) -> None:
    """Refuse a `reference` that is no distribution: a mapping to counts or shares, or a file with a line per value."""
    given: Any = getattr(of, "reference", None)
    if given is None:
        return
    found = pairs_of(of, "reference", _read(of, given) if isinstance(given, str | Path) else given, 0, LARGEST)
    total = math.fsum(n for _, n in found)
    if not 0 < total < math.inf:
        raise PolicyError(f"{of.model}: the numbers of reference have no total", allowed="one above 0, or more")
    of._settle("reference", found)


def _read(of: Model, path: str | Path) -> dict[str, float]:
    """The values of a file and the number of each; a first line whose second field is no number is a header."""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        what = f'{of.model}: the reference "{path}" cannot be read'
        raise PolicyError(what, allowed="a file of UTF-8 text, or a mapping from values to numbers") from None
    first = text.lstrip().split("\n", 1)[0]
    delimiter = max(DELIMITERS, key=first.count)
    found: dict[str, float] = {}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for place, fields in enumerate(fields for fields in reader if any(map(str.strip, fields))):
            number = _number(fields[1]) if len(fields) == 2 else None
            if number is None and place == 0 and len(fields) == 2:
                continue
            if number is None or fields[0] in found:
                why = "has a value that stood there before" if number is not None else "is not a value and a number"
                what = f'{of.model}: line {reader.line_num} of the reference "{path}" {why}'
                raise PolicyError(what, allowed='lines such as "flu,120", and a header')
            found[fields[0]] = number
    except csv.Error:
        raise PolicyError(f'{of.model}: the reference "{path}" is no delimited text') from None
    return found


def _number(text: str) -> float | int | None:
    try:
        return int(text) if text.strip().isdecimal() else float(text)
    except ValueError:
        return None


def check_per(of: Model, *, whole: bool = False, above: bool = False) -> None:
    """Refuse bounds `per` value that are no numbers, `whole` ones or `above` 0, or looser than the bound for all.

    A class is held to the strictest bound among its values, so that a looser one would be none.
    """
    given: Any = getattr(of, "per", None)
    if given is None:
        return
    least, most = (of.bound, LARGEST) if of.side == "at least" else (0, of.bound)
    found = pairs_of(of, "per", given, least, most, above=above)
    for _, n in found if whole else ():
        whole_number(n, f"{of.model}: a number of per")
    of._settle("per", found)


def bounds_of(of: Any, text: tuple[str | None, ...], otherwise: float) -> np.ndarray:
    """The bound of each value that occurs in the table, its own or another."""
    return _bounds(of.model, of.attribute, otherwise, of.per, text)


@lru_cache(maxsize=8)
def _bounds(
    model: str, attribute: str, otherwise: float, per: tuple[tuple[str, float], ...], text: tuple[str | None, ...]
) -> np.ndarray:
    own = {value or None: n for value, n in per}
    absent = len(own) - sum(value in own for value in text)
    if absent:
        what = f'{model}: {absent} of {len(own)} values in per do not occur in column "{attribute}"'
        raise PolicyError(what, hint="values are compared as they are printed, upper and lower case apart")
    return np.array([own.get(value, otherwise) for value in text], dtype=np.float64)


def stricter(per: Any) -> str:
    """The sentence on values with a bound of their own, which the policy publishes; empty where there are none.

    >>> stricter((("HIV", 5), ("flu", 3))), stricter((("", 2),))
    (' A stricter bound holds for "HIV" and "flu".', ' A stricter bound holds for "a missing value".')
    """
    if per is None:
        return ""
    names = [value.replace('"', "'") or "a missing value" for value, _ in per]
    if len(names) <= NAMED:
        return f" A stricter bound holds for {quoted(names)}."
    first = ", ".join(f'"{name}"' for name in names[:NAMED])
    return f" A stricter bound holds for {first} and {len(names) - NAMED} more."


def values_in(pairs: Any) -> tuple[str, ...]:
    """The values that checked pairs name, without the missing one."""
    return tuple(value for value, _ in pairs or () if value)


@dataclass(frozen=True, eq=False)
class Compared:
    """A `HistogramView` whose `overall` is a distribution given from outside, over its own values and those beside."""

    start: np.ndarray
    value: np.ndarray
    count: np.ndarray
    overall: np.ndarray
    text: tuple[str | None, ...]
    ancestor: np.ndarray | None = None


def against(histogram: HistogramView, of: Any, ordered: bool = False) -> tuple[HistogramView, np.ndarray]:
    """The histogram beside the reference of a criterion, and which of its entries have no place there.

    Where the distance is `ordered` the values of the reference are the line it runs along.
    """
    code, overall, text = _places(of, histogram.text, ordered)
    value = code[histogram.value]
    return Compared(histogram.start, np.maximum(value, 0), histogram.count, overall, text), value < 0


@lru_cache(maxsize=8)
def _places(
    of: Any, text: tuple[str | None, ...], ordered: bool
) -> tuple[np.ndarray, np.ndarray, tuple[str | None, ...]]:
    """The place of each value of the table on the line of values, -1 for none, and the reference along it."""
    share = {value or None: n for value, n in of.reference}
    if not any(value in share for value in text):
        what = f'{of.model}: no value of column "{of.attribute}" occurs in the reference'
        raise PolicyError(what, hint="values are compared as they are printed, upper and lower case apart")
    line = in_order(share) if ordered else [*text, *(value for value in share if value not in set(text))]
    place = {value: i for i, value in enumerate(line)}
    code = np.array([place.get(value, -1) for value in text], dtype=np.int64)
    if ordered and (np.diff(code[code >= 0]) < 0).any():
        what = f'{of.model}: the values of the reference are in another order than those of column "{of.attribute}"'
        raise PolicyError(what, hint="where the column has numbers or dates, the reference has nothing else")
    return code, np.array([share.get(value, 0) for value in line], dtype=np.float64), tuple(line)
