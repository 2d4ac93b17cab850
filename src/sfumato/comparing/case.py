"""Case: one release beside its original, as the axes of the map measure it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import PolicyError


@dataclass(frozen=True, eq=False)
class Case:
    """A released table, the original, the original row of each released row, and what the policy says of columns."""

    original: pl.DataFrame
    released: pl.DataFrame
    rows: np.ndarray
    quasi: tuple[tuple[str, ...], ...]
    sensitive: tuple[str, ...]
    weight: str | None
    hierarchies: Mapping[str, Any]
    seed: int
    k: int | None = None
    told: Callable[[Any], float | None] | None = (
        None  # a loss from the released rows alone; None where they do not tell
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """All quasi-identifiers, each once."""
        return tuple(dict.fromkeys(name for names in self.quasi for name in names))


@dataclass(frozen=True)
class Asked:
    """A measure as it is asked for: its name and its options."""

    name: str
    options: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The shell form."""
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.options.items())])

    def only(self, *allowed: str) -> dict[str, Any]:
        """The options, refused where there are others than these."""
        from sfumato.errors import did_you_mean

        for key in self.options:
            if key not in allowed:
                takes = ", ".join(allowed) or "no options"
                raise PolicyError(f'{self.name} has no option "{key}"', allowed=takes, hint=did_you_mean(key, allowed))
        return dict(self.options)


def asked(text: str, what: str) -> Asked:
    """A measure from its shell form, a name and options as key=value.

    >>> asked("skewness threshold=0.3", "risk")
    Asked(name='skewness', options={'threshold': 0.3})
    """
    try:
        name, *words = shlex.split(text)
    except ValueError:
        raise PolicyError(f'{what} must be a name and options, as in "skewness threshold=0.3"') from None
    options: dict[str, Any] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key.isidentifier():
            raise PolicyError(f"{what} {name}: options are written key=value", allowed="as in threshold=0.3")
        options[key] = _typed(value)
    return Asked(name, options)


def _typed(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def one_column(given: Mapping[str, Any], option: str, among: tuple[str, ...], measure: str) -> str:
    """The column that a measure is about: the option, or the only sensitive column."""
    if option in given:
        return str(given[option])
    if len(among) != 1:
        what = f'{measure} needs to know which column: write "{measure} {option}=..."'
        raise PolicyError(what, got=f"{len(among)} sensitive columns", allowed="one, or the option")
    return among[0]
