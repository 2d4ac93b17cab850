"""The exceptions of Sfumato. Everything that Sfumato raises on purpose is one of these.

SfumatoError
├── InputError           the table that came in
│   ├── ReadError        a file cannot be read as a table
│   ├── ColumnError      a column is absent, named twice, empty, or in two roles
│   └── EmptyTable       the table has no rows
├── HierarchyError       a hierarchy is not a tree over the values
├── PolicyError          the policy asks for something that makes no sense
│   ├── TooManyCells     more combinations of values than memory was given for
│   ├── SqlRefused       a statement that private answers do not take; carries its place in the text
│   └── UndecidedColumns columns without a role look as if they told who somebody is
├── Infeasible           the policy cannot be met by any recoding; carries the closest verdict
├── BudgetSpent          an answer costs more than is left of a privacy budget; nothing was charged
├── QueryRefused         a statistical database does not answer this query; carries why
├── AnswerFailed         a private answer was charged and could not be drawn
├── OutputError          the release cannot be written where it should go
├── MissingExtra         an optional library is not installed
├── Cancelled            raised by a `progress` function, to end the run that calls it
└── BrokenPromise        verify refutes the release: a fault of Sfumato, or a tampered release

Messages say what, got, allowed and a hint. They name columns, parameters and files, never cell values.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import shlex
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any

HERE = Path(__file__).parent
SHOWN = 40  # columns that a message lists; its attributes have all


class SfumatoError(Exception):
    """What went wrong, what was got, what is allowed, and a hint."""

    def __init__(self, what: str, *, got: object = None, allowed: object = None, hint: str | None = None) -> None:
        self.what, self.got, self.allowed, self.hint = what, got, allowed, hint
        text = what
        if got is not None:
            text += f"; got {got}"
        if allowed is not None:
            text += f"; allowed: {allowed}"
        if hint:
            text += f". Hint: {hint}"
        super().__init__(text.encode("utf-8", "backslashreplace").decode())  # a lone surrogate could not be printed


class InputError(SfumatoError):
    """The table that came in."""


class ReadError(InputError):
    """A file cannot be read as a table."""


class ColumnError(InputError):
    """A column is absent, named twice, empty, or in two roles."""


class EmptyTable(InputError):
    """The table has no rows."""


class _Faults(SfumatoError):
    """Several faults, reported together."""

    def __init__(self, what: str, faults: Sequence[str] = (), **more: Any) -> None:
        self.faults = tuple(faults)
        if self.faults:
            what += "".join(f"\n  - {fault}" for fault in self.faults)
        super().__init__(what, **more)


class HierarchyError(_Faults):
    """A hierarchy is not a tree over the values; `faults` lists all that is wrong."""


class PolicyError(_Faults):
    """The policy asks for something that makes no sense; `faults` lists all that is wrong."""


class TooManyCells(PolicyError):
    """An out-of-core table has more combinations of values than memory was given for."""


class SqlRefused(PolicyError):
    """A statement that private answers do not take: why, and where in the text; line and column count from 1, the
    position of the character from 0."""

    def __init__(self, what: str, *, line: int, column: int, position: int, hint: str | None = None) -> None:
        self.line, self.column, self.position, self.why = line, column, position, what
        super().__init__(f"{what} (line {line}, column {column})", hint=hint)

    def __reduce__(self) -> tuple[Any, ...]:
        return _sql_refused, (self.why, self.line, self.column, self.position, self.hint)


def _sql_refused(what: str, line: int, column: int, position: int, hint: str | None) -> SqlRefused:
    return SqlRefused(what, line=line, column=column, position=position, hint=hint)


class UndecidedColumns(PolicyError):
    """Columns without a role look as if they told who somebody is; `undecided` has each with its reason.

    `words` says how a role is given where the message is read: "python", "shell" or "file".
    """

    def __init__(self, undecided: Sequence[Any], words: str = "python") -> None:
        self.undecided = tuple(undecided)
        names = [str(one.column) for one in self.undecided]
        what = "1 column has" if len(names) == 1 else f"{len(names)} columns have"
        faults = [f'"{one.column}": {one.reason.why}' for one in self.undecided[:SHOWN]]
        if len(names) > SHOWN:
            faults.append(f"and {len(names) - SHOWN} more")
        hint = _how_to_decide(names[:SHOWN], words)
        super().__init__(f"{what} no role, and may tell who somebody is:", faults, hint=hint)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.undecided,)

    def told_in(self, words: str) -> UndecidedColumns:
        """The same for readers elsewhere."""
        return UndecidedColumns(self.undecided, words)


def listed_in_shell(names: Sequence[str]) -> str:
    """Column names between commas, as a flag takes them."""
    row = io.StringIO()
    csv.writer(row, lineterminator="").writerow(names)
    return shlex.quote(row.getvalue())


def _how_to_decide(names: Sequence[str], words: str) -> str:
    """Which words give the columns a role, and which release them."""
    where, flag, equals = {"python": ("", "", "="), "file": ("in [roles], ", "", " = "), "shell": ("", "--", " ")}[
        words
    ]
    these, release = f"[{', '.join(json.dumps(name, ensure_ascii=False) for name in names)}]", '"release"'
    if words == "shell":
        these, release = listed_in_shell(names), "release"
    return (
        f"{where}name each in {flag}identifying (dropped), {flag}quasi (blurred), {flag}sensitive (kept, and protected "
        f"by what is required) or {flag}insensitive (released as it is): {flag}insensitive{equals}{these} releases "
        f"these, {flag}rest{equals}{release} all columns without a role"
    )


class Infeasible(SfumatoError):
    """No recoding meets the policy; `closest` is the verdict of the nearest one."""

    def __init__(self, what: str, *, closest: Any = None, **more: Any) -> None:
        self.closest = closest
        super().__init__(what, **more)


class BudgetSpent(SfumatoError):
    """An answer costs more than is left of a privacy budget; nothing was charged."""


class QueryRefused(SfumatoError):
    """A statistical database does not answer this query; `reason` says why, and `control` by which rule."""

    def __init__(self, what: str, *, reason: str = "", control: str = "", **more: Any) -> None:
        self.reason, self.control = reason, control
        super().__init__(what, **more)


class AnswerFailed(SfumatoError):
    """An answer was charged and could not be drawn. Why may depend on the rows, and is not told."""


class OutputError(SfumatoError):
    """The release cannot be written where it should go."""


class MissingExtra(SfumatoError):
    """An optional library is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        hint = f'pip install "sfumato[{extra}]"; in a checkout, make setup, or .venv/bin/pip install -e ".[{extra}]"'
        super().__init__(f"this needs {library}, which is not installed", hint=hint)


class Cancelled(SfumatoError):
    """Raise it in the function that a verb is given as `progress`: the verb ends within a fifth of a second, raises it,
    and leaves nothing half written."""

    def __init__(self, what: str = "cancelled", **more: Any) -> None:
        super().__init__(what, **more)


class BrokenPromise(SfumatoError):
    """Verify refutes the release."""


def did_you_mean(name: str, options: Iterable[str]) -> str | None:
    """A hint naming the options closest to `name`, or None.

    >>> did_you_mean("agee", ["age", "zip"])
    'did you mean "age"?'
    >>> print(did_you_mean("sex", ["sex ", "zip"]))
    did you mean "sex "? Mind the spaces: in a list of columns it is '"sex "'
    """
    close = difflib.get_close_matches(str(name), [str(option) for option in options], n=2, cutoff=0.6)
    if not close:
        return None
    hint = "did you mean " + " or ".join(f'"{c}"' for c in close) + "?"
    spaced = [c for c in close if c != c.strip()]
    return hint + (f""" Mind the spaces: in a list of columns it is '"{spaced[0]}"'""" if spaced else "")


CALLER: ContextVar[FrameType | None] = ContextVar("caller of a verb that works in a thread of its own", default=None)


def warn(warning: Warning) -> None:
    """Warn, at the line of the first caller that is no part of Sfumato: what is to be changed stands there."""
    frame = CALLER.get() or sys._getframe(1)
    while frame.f_back is not None and Path(frame.f_code.co_filename).is_relative_to(HERE):
        frame = frame.f_back
    known = frame.f_globals.setdefault("__warningregistry__", {})
    place = frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__")
    warnings.warn_explicit(warning, type(warning), *place, registry=known)
