"""Points: which releases are compared, how each is made and measured, and the ledger that a second run goes on from."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import shlex
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field, fields, replace
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import polars as pl

from sfumato.core.generators import Generator
from sfumato.core.progress import TICK, check_cancelled, end_run
from sfumato.core.protocols import Masker, Search
from sfumato.core.registry import field_values, variant_name
from sfumato.core.wording import scalar
from sfumato.criteria import KAnonymity
from sfumato.errors import BrokenPromise, Infeasible, MissingExtra, OutputError, PolicyError, SfumatoError
from sfumato.losses import loss as parse_loss
from sfumato.losses import loss_name
from sfumato.release.request import criteria
from sfumato.search import search as parse_search
from sfumato.search import search_name


@dataclass(frozen=True, eq=False)
class Case:
    """A released table, the original, the original row of each released row, None where it comes from none, and what
    the policy says of columns."""

    original: pl.DataFrame
    released: pl.DataFrame
    rows: np.ndarray | None
    quasi: tuple[tuple[str, ...], ...]
    sensitive: tuple[str, ...]
    weight: str | None
    hierarchies: Mapping[str, Any]
    seed: int
    k: int | None = None
    told: Callable[[Any], float | None] | None = (
        None  # a loss from the released rows alone; None where they do not tell
    )

    analysed: tuple[str, ...] = ()  # what users of the release ask about: quasi-identifiers, and what goes with them
    perturbed: tuple[str, ...] = ()  # columns whose values were changed into others
    windows: Mapping[str, float] = field(default_factory=dict)  # percent of the ranks that a column was swapped within
    sampled: bool = False  # whether rows that are missing were left out by chance, as users of the release know
    learnt_from: pl.DataFrame | None = None  # of a synthetic table, the original rows that its model saw
    hold_out: pl.DataFrame | None = None  # and those that it did not

    @property
    def columns(self) -> tuple[str, ...]:
        """All quasi-identifiers, each once."""
        return tuple(dict.fromkeys(name for names in self.quasi for name in names))


@dataclass(frozen=True)
class MeasureRequest:
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


def parse_measure(text: str, what: str) -> MeasureRequest:
    """A measure from its shell form, a name and options as key=value.

    >>> parse_measure("skewness threshold=0.3", "risk")
    MeasureRequest(name='skewness', options={'threshold': 0.3})
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
        options[key] = scalar(value)
    return MeasureRequest(name, options)


def one_column(given: Mapping[str, Any], option: str, among: tuple[str, ...], measure: str) -> str:
    """The column that a measure is about: the option, or the only sensitive column."""
    if option in given:
        return str(given[option])
    if len(among) != 1:
        what = f'{measure} needs to know which column: write "{measure} {option}=..."'
        raise PolicyError(what, got=f"{len(among)} sensitive columns", allowed="one, or the option")
    return among[0]


RECODING, MASKING, SYNTHESIS = FAMILIES = "recoding", "masking", "synthesis"
USUAL = (2, 5, 10)  # k, where nothing else is asked
SWEPT = ("k", "require", "suppression", "loss")  # the first of them with several values runs along a line


@dataclass(frozen=True)
class Point:
    """One release to make: a search, what it keeps low, and what is required of it."""

    search: Any
    loss: Any
    require: tuple[Any, ...]  # beside k
    suppression: float | int
    k: int | None
    family: ClassVar[str] = RECODING

    @property
    def criteria(self) -> tuple[Any, ...]:
        """All that is required."""
        return self.require if self.k is None else (KAnonymity(self.k), *self.require)

    def words(self) -> dict[str, Any]:
        """How the point is named: plain values, none of them from the table."""
        return {
            "family": self.family,
            "search": search_name(self.search),
            "parameters": parameters(self.search),
            "minimised": " ".join(filter(None, (loss_name(self.loss), parameters(self.loss)))),
            "k": self.k,
            "require": required(self.require),
            "suppression": self.suppression,
        }

    def identity(self) -> dict[str, Any]:
        """Everything that tells the point from others, values of parameters included: for fingerprints only."""
        return {
            "search": repr(self.search),
            "loss": repr(self.loss),
            "require": [_identity(criterion) for criterion in self.criteria],
            "suppression": repr(self.suppression),
        }


@dataclass(frozen=True)
class ChangedPoint:
    """One release to make by steps of masking, or by a generator. Nothing is required of it: rows whose values are
    others than people's have no classes to count."""

    family: str
    steps: tuple[Masker | Generator, ...]
    require: tuple[Any, ...] = ()
    criteria: tuple[Any, ...] = ()
    told: tuple[frozenset[str], ...] = field(default=(), repr=False, compare=False)  # parameters to name, by step

    def words(self) -> dict[str, Any]:
        """How the point is named, as that of a search is."""
        names = [variant_name(type(step).__name__) for step in self.steps]
        own = "; ".join(filter(None, map(_step_words, self.steps, self.told or repeat(frozenset()))))
        none = dict.fromkeys(("k", "suppression"))
        return {
            "family": self.family,
            "search": " + ".join(names),
            "parameters": own,
            "minimised": "",
            "require": "",
            **none,
        }

    def identity(self) -> dict[str, Any]:
        """Everything that tells the point from others: for fingerprints only."""
        return {"steps": [[type(step).__name__, repr(step.parameters()), _identity(step)] for step in self.steps]}


@dataclass(frozen=True)
class ComparisonPlan:
    """The points, and which parameter runs along a line of the map."""

    points: tuple[Point | ChangedPoint, ...]
    swept: str


def plan(
    search: Any, loss: Any, require: Any, suppression: Any, k: Any, changed: Sequence[ChangedPoint] = ()
) -> ComparisonPlan:
    """Every search with every loss, alternative of `require`, suppression and k; then what else is compared."""
    none = bool(changed) and isinstance(search, list | tuple) and not search
    searches = [] if none else _once(parse_search(one) for one in several(search, "search"))
    losses = _once(parse_loss(one) for one in several(loss, "loss"))
    alternatives = _alternatives(require)
    shares = several(suppression, "suppression")
    ks = _ks(k, alternatives)
    if any(isinstance(c, KAnonymity) for one in alternatives for c in one) and ks != [None]:
        hint = "leave k out, or KAnonymity"
        raise PolicyError("k and a KAnonymity in require both say how many rows look alike", hint=hint)
    points: list[Point | ChangedPoint] = [
        Point(s, l, r, share, number) for s in searches for l in losses for r in alternatives for share in shares
        for number in ks
    ]  # fmt: skip
    points += _told_apart(_once(changed))
    counts = {"k": len(ks), "require": len(alternatives), "suppression": len(shares), "loss": len(losses)}
    return ComparisonPlan(tuple(points), next((name for name in SWEPT if counts[name] > 1), "k"))


def _told_apart(points: Sequence[ChangedPoint]) -> list[ChangedPoint]:
    """The points, naming the parameters in which those of the same steps on the same columns differ as well."""
    alike: dict[Any, list[ChangedPoint]] = {}
    for point in points:
        alike.setdefault(_kinds(point), []).append(point)
    found = []
    for point in points:
        differ = [
            frozenset(name for name in field_values(steps[0]) if len({repr(getattr(s, name)) for s in steps}) > 1)
            for steps in zip(*(one.steps for one in alike[_kinds(point)]), strict=True)
        ]
        told = point.told or (frozenset[str](),) * len(differ)
        found.append(replace(point, told=tuple(a | b for a, b in zip(told, differ, strict=True))))
    return found


def _kinds(point: ChangedPoint) -> tuple[Any, ...]:
    return tuple((type(step), tuple(getattr(step, "columns", ()))) for step in point.steps)


def several(given: Any, what: str) -> list[Any]:
    """One value as a list of one; a list, tuple or range as it is, each value once."""
    listed = list(given) if isinstance(given, list | tuple | range | np.ndarray) else [given]
    if not listed:
        raise PolicyError(f"{what} is empty", allowed="one value or more")
    return _once(value.item() if isinstance(value, np.generic) else value for value in listed)


def parameters(value: Any) -> str:
    """The parameters of a search or loss that are not as usual; lists and mappings are counted, not shown.

    >>> from sfumato.search import Optimal
    >>> parameters(Optimal(seconds=10))
    'seconds=10'
    """
    usual = [field for field in fields(value) if getattr(value, field.name) != field.default]
    return " ".join(f"{field.name}={_shown(getattr(value, field.name))}" for field in usual)


def _step_words(step: Any, told: frozenset[str]) -> str:
    """The columns of a step or a generator, and its parameters that are not as usual or that are to be named."""
    usual = {field.name: field.default for field in fields(step)}
    values = {name: value for name, value in field_values(step).items() if name != "columns"}
    given = {
        name: v
        for name, v in values.items()
        if v != usual[name] or (name in told and isinstance(v, str | bool | int | float))
    }
    own = [f"{name}={','.join(map(str, v)) if name == 'by' else _shown(v)}" for name, v in given.items()]
    columns = getattr(step, "columns", ())
    return " ".join([*([",".join(columns)] if columns else []), *own])


def required(criteria: Iterable[Any]) -> str:
    """Criteria in words; lists of values are counted, not shown.

    >>> from sfumato.criteria import TCloseness
    >>> required([TCloseness("disease", 0.2)])
    't-closeness disease 0.2 equal'
    """
    return "; ".join(_asked(c) for c in criteria)


def _asked(criterion: Any) -> str:
    given = {name: value for name, value in criterion.parameters().items() if name != "quasi"}
    over = f" over {', '.join(criterion.quasi)}" if criterion.quasi else ""
    return " ".join([criterion.model, *map(_shown, given.values())]) + over


def _identity(criterion: Any) -> str:
    """How a criterion prints, with the parameters that its repr leaves out."""
    left_out = {f.name: v for f in fields(criterion) if not f.repr and (v := getattr(criterion, f.name)) is not None}
    return f"{criterion!r} {left_out}" if left_out else repr(criterion)


def _once(values: Iterable[Any]) -> list[Any]:
    """Each value once, by how it prints: 1 is a count, 1.0 a share; and not all values can be hashed."""
    return list({repr(value): value for value in values}.values())


def _shown(value: Any) -> str:
    if isinstance(value, Search):  # a search within a search
        own = parameters(value)
        return f"({search_name(value)} {own})" if own else search_name(value)
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str):
        return f"({len(value)} entries)"
    return str(value) if isinstance(value, str | bool | int | float) else type(value).__name__


def _alternatives(require: Any) -> list[tuple[Any, ...]]:
    """Lists of criteria: one list, or where the entries are lists themselves, several to compare."""
    if require is None or (isinstance(require, list | tuple) and not require):
        return [()]
    if isinstance(require, list | tuple) and all(isinstance(one, list | tuple) for one in require):
        found = [criteria(one) if one else () for one in require]
        return list({tuple(map(_identity, one)): one for one in found}.values())
    return [criteria(require)]


def _ks(k: Any, alternatives: list[tuple[Any, ...]]) -> list[int | None]:
    if k is not None:
        return [KAnonymity(one).k for one in several(k, "k")]
    return list(USUAL) if () in alternatives else [None]


FILE = "points.jsonl"
MAPS = ("map.json", "map.svg", "map.html", "map.png", "choice.json", "choice.svg", "choice.html", "choice.png")
FORMAT = "sfumato points 1"


@dataclass
class Ledger:
    """The finished points of a comparison by their fingerprint; in a file, where there is an output folder."""

    path: Path | None
    known: dict[str, dict[str, Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, row: Mapping[str, Any]) -> None:
        """Keep a finished point: one line, written in one go and on disk when this returns."""
        with self._lock:
            self.known[name] = dict(row)
            if self.path is not None:
                _append(self.path, {"point": name, **row})


def identity(secret: bytes, parts: Mapping[str, Any]) -> str:
    """A keyed fingerprint of plain values: equal parts give equal names, and nobody can guess parts from a name."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hmac.new(secret, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:32]


def open_ledger(folder: Path | None, source: str) -> tuple[Ledger, str | None]:
    """The ledger of a folder, and where it starts anew, why.

    `source` names the input. Points of another input are dropped, with the maps drawn from them.
    """
    if folder is None:
        return Ledger(None), None
    check_folder(folder)
    path, why = folder / FILE, None
    header, points = _read(path)
    if header.get("input") != source:
        if path.exists() or any((folder / name).exists() for name in MAPS):
            why = "the points in the folder are of another input, or of another version: starting anew"
        _start(folder, {"format": FORMAT, "input": source})
        points = {}
    return Ledger(path, points), why


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds anything that is no part of a map."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise OutputError(f"{folder} is not a folder", hint="choose another place")
    if not folder.exists():
        return
    foreign = sorted(p.name for p in folder.iterdir() if p.name not in (FILE, *MAPS) and not _left_over(p.name))
    if foreign:
        what = f"{folder} holds files that are no part of a map: {', '.join(foreign[:5])}"
        raise OutputError(what, hint="choose another folder")


def _left_over(name: str) -> bool:
    """What a killed run leaves behind."""
    return name.startswith(".sfumato-")


def _read(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The header and the points; a line that was cut off, or is none of ours, is passed over."""
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return {}, {}
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {error.strerror}") from None
    found = [entry for entry in map(_entry, lines) if entry]
    header = found[0] if found and found[0].get("format") == FORMAT else {}
    return header, {entry.pop("point"): entry for entry in found if isinstance(entry.get("point"), str)}


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _start(folder: Path, header: Mapping[str, Any]) -> None:
    """An empty ledger, and no map of other points beside it."""
    from sfumato.engines.atomic import atomic_file

    try:
        for name in MAPS:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}") from None
    with atomic_file(folder / FILE, overwrite=True) as place:
        place.write_text(json.dumps(header) + "\n", encoding="utf-8", newline="\n")


def _append(path: Path, entry: Mapping[str, Any]) -> None:
    line = json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))
        try:
            size = os.fstat(handle).st_size
            if size and os.lseek(handle, size - 1, os.SEEK_SET) >= 0 and os.read(handle, 1) != b"\n":
                line = "\n" + line  # the line before was cut off: it must not spoil this one
            os.write(handle, line.encode("utf-8"))
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from None


T = TypeVar("T")
Row = dict[str, Any]
NOTHING: Mapping[str, Any] = dict.fromkeys(("risk", "utility", "loss", "suppressed", "classes", "seconds"))
SETTLED = ("done", "infeasible", "refused")  # a point that failed is tried again


def attempt(work: Callable[[], Mapping[str, Any]]) -> Row:
    """The figures of a point, or why there are none. A missing library and a full disk end the whole run."""
    try:
        return {"status": "done", "reason": None, **work()}
    except (MissingExtra, OutputError):
        raise
    except BrokenPromise as error:
        return {**NOTHING, "status": "failed", "reason": error.what}
    except SfumatoError as error:
        status = "infeasible" if isinstance(error, Infeasible) else "refused"
        return {**NOTHING, "status": status, "reason": str(error)}
    except Exception as error:  # the message may quote values: only the place is told
        place = _place(error)
        return {**NOTHING, "status": "failed", "reason": f"a fault of Sfumato: {type(error).__name__} at {place}"}


def finite(value: float) -> float | None:
    """A number that JSON knows."""
    return float(value) if math.isfinite(value) else None


def in_parallel(works: Sequence[Callable[[], T]], workers: int, done: Callable[[T], None]) -> list[T]:
    """The results of `works` in their order; `done` hears of each here, in this thread. All belong to the run that this
    is part of: one that fails ends it, and what works stops at its next sign of progress."""
    found: dict[int, T] = {}
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="compare")
    try:
        futures = {pool.submit(copy_context().run, work): i for i, work in enumerate(works)}
        left = set(futures)
        while left:
            ready, left = wait(left, timeout=TICK, return_when=FIRST_COMPLETED)
            check_cancelled()
            for future in sorted(ready, key=futures.__getitem__):
                found[futures[future]] = future.result()
                done(found[futures[future]])
    except BaseException:
        end_run()
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    pool.shutdown()
    return [found[i] for i in range(len(works))]


def _place(error: BaseException) -> str:
    root = Path(__file__).resolve().parents[1]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).resolve().is_relative_to(root)]
    if not ours:
        return "an unknown place"
    return f"{Path(ours[-1].filename).resolve().relative_to(root.parent)}:{ours[-1].lineno}"
