"""Files of views: a TOML file with the private table, the association, k, the views and what an attacker knows."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.parameters import whole_number, yes_or_no
from sfumato.core.wording import count
from sfumato.errors import PolicyError, SfumatoError, did_you_mean
from sfumato.fragments.views.values import (
    Dependency,
    TableView,
    association_of,
    dependencies_of,
    views_of,
)

KEYS = ("table", "association", "k", "view", "dependency", "size_known")
EXAMPLE = 'table = "patients.csv", association = ["name", "disease"], k = 4, and [[view]] tables'


@dataclass(frozen=True)
class ViewsFile:
    """What a file of views asks for; its path of the table starts at its own folder."""

    table: Path
    association: tuple[str, str]
    k: int
    views: tuple[TableView, ...]
    dependencies: tuple[Dependency, ...] = ()
    size_known: bool = True

    def keywords(self) -> dict[str, Any]:
        """Keyword arguments of `check_views`."""
        names = ("views", "association", "k", "dependencies", "size_known")
        return {name: getattr(self, name) for name in names}


def read_views(path: str | Path) -> ViewsFile:
    """Read a file of views; PolicyError with all its faults where it has any."""
    path = Path(path)
    tables = _tables(path)
    faults: list[str] = []

    def checked(key: str, check: Any, default: Any = None) -> Any:
        if key not in tables:
            if default is None:
                faults.append(f"{key} is missing")
            return default
        try:
            return check(tables[key])
        except SfumatoError as error:
            faults.append(str(error))
            return default

    for key in tables:
        if key not in KEYS:
            hint = did_you_mean(key, KEYS)
            faults.append(f'"{key}" is not known' + (f": {hint}" if hint else f"; allowed: {', '.join(KEYS)}"))
    table = checked("table", _path)
    association = checked("association", association_of)
    k = checked("k", lambda given: whole_number(given, "k", 2))
    views = _each(tables.get("view", []), "view", views_of, faults)
    if "view" not in tables:
        faults.append("there is no [[view]]")
    elif isinstance(tables["view"], list) and len(views) == len(tables["view"]):
        checked("view", lambda _: views_of(views))  # no name twice
    dependencies = _each(tables.get("dependency", []), "dependency", dependencies_of, faults)
    known = checked("size_known", lambda given: yes_or_no(given, "size_known"), True)
    if faults:
        hint = f"a file of views has {EXAMPLE}" if {"table", "association", "k", "view"} - {*tables} else None
        raise PolicyError(f'the file "{path}" has {count(len(faults), "fault")}:', faults, hint=hint)
    return ViewsFile(path.parent / table, association, k, tuple(views), tuple(dependencies), known)


def _each(given: Any, noun: str, make: Any, faults: list[str]) -> list[Any]:
    """What each table of a kind makes; those at fault are told and left out."""
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        faults.append(f"{noun} must be [[{noun}]] tables")
        return []
    found = []
    for number, one in enumerate(given, 1):
        try:
            found += make([one])
        except SfumatoError as error:
            faults.append(f"[[{noun}]] {number}: {error}")
    return found


def _path(given: Any) -> str:
    if not isinstance(given, str) or not given:
        raise PolicyError("table must be the path of a file", got=type(given).__name__)
    return given


def _tables(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PolicyError(f'the file "{path}" cannot be read', got=error.strerror) from None
    except UnicodeDecodeError:
        raise PolicyError(f'the file "{path}" is not UTF-8 text') from None
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f'the file "{path}" is not TOML', got=re.sub(r"['\"].*?['\"]", "...", str(error))) from None
    except (ValueError, RecursionError):
        raise PolicyError(f'the file "{path}" is not TOML that can be read') from None
