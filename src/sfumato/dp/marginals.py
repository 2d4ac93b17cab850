"""Marginals: private counts over the public values of some columns, as tables that agree with each other.

Each table has its noise once (Dwork, McSherry, Nissim and Smith 2006; Canonne, Kamath and Steinke 2020), and there is
one for each level of a public hierarchy (Hay, Rastogi, Miklau and Suciu 2010); `dp/consistency.py` makes them agree.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from importlib.metadata import version
from itertools import product
from math import prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core import parameters
from sfumato.core.accounting import (
    PrivacyCost,
    epsilon_of,
    exact,
    gaussian_rho,
    least_epsilon,
)
from sfumato.core.mechanisms import opendp
from sfumato.core.microdata import encode
from sfumato.core.wording import Described, count
from sfumato.dp.account import Account
from sfumato.dp.consistency import NoisyTable, consistent, refuse_large
from sfumato.dp.noise import Drawing, Noise
from sfumato.dp.queries.contingency_table import BINS, ContingencyTable
from sfumato.dp.queries.query import Part
from sfumato.dp.rows import PrivateRows, RowView
from sfumato.dp.session import delta_of_budget
from sfumato.dp.values import Public, Unit
from sfumato.engines.files.bytes import GUARDED, atomic_folder, sha256, write_table
from sfumato.engines.tables import private_engine
from sfumato.errors import BrokenPromise, ColumnError, PolicyError
from sfumato.hierarchies import parse as parse_hierarchy
from sfumato.release.manifest import FORMAT, MARGINALS, MOST_TABLES, write_manifest
from sfumato.release.marginals import COUNT, WHOLE, verify_marginals
from sfumato.release.privacy import privacy_promise, privacy_section

FITTED = "non-negative least squares over the table of all columns that hang together"


@dataclass(frozen=True)
class MarginLevels:
    """Columns that are counted together, each at a level of its hierarchy: 0 are its own values."""

    columns: tuple[str, ...]
    levels: tuple[int, ...]

    @property
    def name(self) -> str:
        """Columns, and levels above 0: "sex,town:1"."""
        both = zip(self.columns, self.levels, strict=True)
        return ",".join(f"{name}:{level}" if level else name for name, level in both)


@dataclass(frozen=True, eq=False, repr=False)
class MarginalRelease(Described):
    """Tables of private counts that agree with each other, by the names of their margins, and what they cost.

    All of it may be published: but for the noisy numbers, nothing of it depends on the rows. `scale` is that of the
    noise of one count, before tables were made to agree.
    """

    tables: Mapping[str, pl.DataFrame]
    margins: tuple[MarginLevels, ...]
    values: Mapping[str, list[list[str]]]  # of each column a row per value: it, and its groups above
    cost: PrivacyCost
    unit: Unit
    mechanism: str
    scale: float
    shares: tuple[Decimal, ...]  # what each table has of the cost
    whole: bool

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """The cost, and the cells of each table."""
        rows = [(name, count(table.height, "cell")) for name, table in self.tables.items()]
        return f"{count(len(self.tables), 'private table')}, {self.cost}", rows

    @cached_property
    def privacy(self) -> dict[str, Any]:
        """What it costs, of what, and in which parts."""
        spent = "rho" if self.cost.rho else "epsilon"
        parts = [
            {"what": f"counts of {name}", "mechanism": self.mechanism, "times": table.height, spent: f"{share:f}"}
            for (name, table), share in zip(self.tables.items(), self.shares, strict=True)
        ]
        kind = "row" if self.unit.person is None else "person"
        found = privacy_section(self.cost, parts, kind, self.unit.neighbours)
        limit = {} if self.unit.person is None else {"rows_per_person": self.unit.rows}
        return {**found, **limit}

    def save(self, path: str | Path, format: str = "csv", *, overwrite: bool = False) -> Path:
        """Write a folder with a file for each table, the manifest and a report; it appears whole or not at all."""
        from sfumato.report.marginals import marginals_report

        target = parameters.path_of(path)
        with atomic_folder(target, overwrite) as folder:
            files = []
            for file, frame in zip(self._files(format), self.tables.values(), strict=True):
                write_table(frame, folder / file, format)
                guarded = format in GUARDED
                files.append({"file": file, "format": format, "sha256": sha256(folder / file), "guarded": guarded})
            manifest = self._manifest(files)
            write_manifest(folder, manifest)
            (folder / "report.html").write_text(marginals_report(manifest, self.tables), encoding="utf-8")
            if verify_marginals(folder).outcome == "broken":
                raise BrokenPromise("the tables do not agree as they should. This is a fault of Sfumato")
        return target

    def _files(self, format: str) -> list[str]:
        """A name for the file of each table: of plain letters, and no two alike."""
        found: list[str] = []
        for margin in self.margins:
            name = re.sub(r"[^A-Za-z0-9]+", "_", margin.name).strip("_").lower()[:60] or "table"
            name = name if f"{name}.{format}" not in found else f"{name}_{len(found) + 1}"
            found.append(f"{name}.{format}")
        return found

    def _manifest(self, files: list[dict[str, Any]]) -> dict[str, Any]:
        from dataclasses import asdict

        names = [one["file"] for one in files]
        return {
            "sfumato": version("sfumato"),
            "format": FORMAT,
            "made_by": MARGINALS,
            "files": files,
            "tables": [
                {"file": name, "columns": list(margin.columns), "levels": list(margin.levels)}
                for name, margin in zip(names, self.margins, strict=True)
            ],
            "values": {name: [list(row) for row in rows] for name, rows in self.values.items()},
            "counts": WHOLE if self.whole else "real",
            "noise": {"mechanism": self.mechanism, "scale": self.scale},
            "consistency": FITTED,
            "privacy": self.privacy,
            "promises": [asdict(privacy_promise(self.privacy))],
            "versions": {"python": platform.python_version()}
            | {name: version(name) for name in ("numpy", "opendp", "polars")},
        }


def release_marginals(
    data: Any,
    margins: Sequence[Sequence[str] | str],
    epsilon: Any = None,
    delta: Any = 0,
    rho: Any = None,
    *,
    bounds: Mapping[str, Sequence[float]] | None = None,
    keys: Mapping[str, Sequence[Any]] | None = None,
    bins: Any = BINS,
    hierarchies: Mapping[str, Any] | None = None,
    person: str | None = None,
    rows_per_person: int = 1,
    neighbours: str = "add-remove",
    whole: bool = True,
    account: Account | None = None,
    i_know: bool = False,
) -> MarginalRelease:
    """Private counts over some sets of columns, as tables that agree with each other.

    A row counts where each of the columns has one of its public values, or a number in one of its bins: the same rows
    in every table. Each table gets noise of its own, with an equal share of the cost. Then the table over all columns
    is found that is nowhere negative and fits them best, and its sums are released: totals are equal, tables agree over
    the columns that they share, and hierarchies add up.

    Parameters
    ----------
    data: a frame, the path of a file, or an out-of-core table.
    margins: sets of columns, such as [["sex"], ["sex", "age"]].
    epsilon, delta, rho: what it costs in all: an epsilon alone buys Laplace noise, with a delta Gaussian noise; a rho
        with a delta is the same, stated in zero-concentrated terms. i_know: whether an epsilon above 20 is meant.
    bounds, keys, bins: as of a session: the ends of numbers and the values of categories, from outside of the table;
        bins are edges, or how many, for all columns with bounds or by column.
    hierarchies: of columns, as for `anonymize`; a table is also made for each level above the values. They are built
        over the public values, never from the rows.
    person, rows_per_person, neighbours: what is protected.
    whole: whether counts are whole numbers.
    account: the ledger that it is charged to, before noise is drawn.

    >>> import sfumato as sf
    >>> found = sf.dp.release_marginals(
    ...     {"sex": ["F", "M", "F"], "ill": ["y", "n", "n"]}, [["sex"], ["sex", "ill"]], epsilon=1,
    ...     keys={"sex": ["F", "M"], "ill": ["y", "n"]},
    ... )
    >>> found.tables["sex,ill"].columns, found.tables["sex"]["count"].sum() == found.tables["sex,ill"]["count"].sum()
    (['sex', 'ill', 'count'], True)
    """
    opendp()
    parameters.yes_or_no(whole, "whole")
    with private_engine(data).snapshot(write=False) as engine:
        unit = Unit(person, rows_per_person, neighbours)
        public = Public.of(engine.schema(), bounds, keys)
        columns, asked = _asked(margins, public)
        tables = {name: ContingencyTable(name, _bins_of(bins, name)) for name in columns}
        values = _values(tables, public, hierarchies)
        wanted = _wanted(asked, values)
        refuse_large(asked, {name: len(rows) for name, rows in values.items()})
        groups = {name: _groups(rows) for name, rows in values.items()}
        shapes = [[int(groups[n][l].max()) + 1 for n, l in zip(m.columns, m.levels, strict=True)] for m in wanted]
        changes = unit.rows * unit.times
        parts = [Part(prod(shape), changes, l2=sqrt(changes * unit.rows)) for shape in shapes]
        cost, noise = _noise(epsilon, delta, rho, i_know)
        noise.refuse_wide(parts)
        if person is not None:
            parameters.known_columns([person], public.schema)
            if person in columns:
                raise ColumnError(f'"{person}" says whose row it is, and is not counted by', hint="leave it out")
            if engine.missing([person])[0]:
                what = f'some rows of "{person}" name no person'
                raise ColumnError(what, hint="whose rows are they? name or drop them")
        drawn = Drawing(noise, parts)

        def draw() -> list[list[float]]:
            rows = PrivateRows(engine, public, unit).of(columns, ())
            codes = {name: tables[name].places(rows) for name in columns}
            there = np.logical_and.reduce([code >= 0 for code in codes.values()])
            return [
                drawn(_counted(rows, margin, shape, codes, there, groups))
                for margin, shape in zip(wanted, shapes, strict=True)
            ]

        if account is None:
            noisy = draw()
        else:
            told = {"marginals": [m.name for m in wanted], "unit": unit.form(), **noise.form()}
            with account.charge(cost, told):
                noisy = draw()
    scales = drawn.finished()
    variances = [scale * scale * (1 if cost.rho else 2) for scale in scales]
    fitted = consistent(
        [
            NoisyTable(m.columns, tuple(groups[n][l] for n, l in zip(m.columns, m.levels, strict=True)),
                       np.array(numbers, float).reshape(shape), variance)
            for m, numbers, shape, variance in zip(wanted, noisy, shapes, variances, strict=True)
        ],
        whole,
    )  # fmt: skip
    frames = {m.name: _frame(m, found, values) for m, found in zip(wanted, fitted, strict=True)}
    shares = tuple(noise.share(part, parts) for part in parts)
    return MarginalRelease(
        frames, tuple(wanted), values, cost, unit, drawn.mechanism, float(max(scales)), shares, whole
    )


def _asked(margins: Any, public: Public) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """All columns, and those of each margin, checked."""
    if isinstance(margins, str) or not isinstance(margins, Sequence) or not margins:
        allowed = '[["sex"], ["sex", "age"]]'
        raise PolicyError("margins must be a list of sets of columns", got=type(margins).__name__, allowed=allowed)
    found = [parameters.column_set(margin, "a margin") for margin in margins]
    if len({frozenset(names) for names in found}) < len(found):
        raise PolicyError("a margin is asked for twice")
    columns = tuple(dict.fromkeys(name for names in found for name in names))
    parameters.known_columns(columns, public.schema)
    return columns, found


def _bins_of(bins: Any, name: str) -> Any:
    return bins.get(name, BINS) if isinstance(bins, Mapping) else bins


def _values(tables: Mapping[str, ContingencyTable], public: Public, hierarchies: Any) -> dict[str, list[list[str]]]:
    """Of each column a row per public value: it, and its groups at the levels above, but for the root."""
    recipes = {name: parse_hierarchy(spec) for name, spec in parameters.mapping(hierarchies, "hierarchies").items()}
    parameters.known_columns(recipes, tables, "the margins")
    found = {}
    for name, table in tables.items():
        own = table.labelled(public).get_column(name).to_list()
        if name not in recipes:
            found[name] = [[label] for label in own]
            continue
        hierarchy = recipes[name].build(encode(pl.Series(name, own, pl.String))[0]).restrict(own)
        levels = [level for level in range(hierarchy.height + 1) if level == 0 or len(hierarchy.labels[level]) > 1]
        sizes = [len(hierarchy.labels[level]) for level in levels]
        kept = [level for i, level in enumerate(levels) if i == 0 or sizes[i] < sizes[i - 1]]
        found[name] = [[path[level] for level in kept] for path in hierarchy.paths()]
    return found


def _groups(rows: Sequence[Sequence[str]]) -> list[np.ndarray]:
    """The number of the group of each value, at each level; groups in the order of their first values."""
    found = []
    for level in zip(*rows, strict=True):
        number = {label: i for i, label in enumerate(dict.fromkeys(level))}
        found.append(np.array([number[label] for label in level]))
    return found


def _wanted(asked: Sequence[tuple[str, ...]], values: Mapping[str, list[list[str]]]) -> list[MarginLevels]:
    """The margins at every level of their hierarchies, the values themselves first."""
    found = [
        MarginLevels(names, levels) for names in asked for levels in product(*(range(len(values[n][0])) for n in names))
    ]
    if len(found) > MOST_TABLES:
        raise PolicyError("there are too many tables", got=f"{len(found):,}", allowed=f"{MOST_TABLES:,}")
    return found


def _noise(epsilon: Any, delta: Any, rho: Any, i_know: bool) -> tuple[PrivacyCost, Noise]:
    """What the release costs, and the noise that this buys."""
    if (epsilon is None) == (rho is None):
        got = "both" if rho is not None else "none"
        raise PolicyError("marginals cost an epsilon, or a rho with a delta", got=got, allowed="epsilon=1")
    own = delta_of_budget(delta, "delta", None)
    if rho is not None:
        if not own:
            raise PolicyError("a rho needs a delta, for which it gives an epsilon", allowed="rho=0.02, delta=1e-6")
        spent = exact(rho, "rho")
        cost = PrivacyCost(epsilon_of(least_epsilon(spent, own), i_know), own, spent)
        return cost, Noise(cost, rho=spent)
    found = epsilon_of(epsilon, i_know)
    if not own:
        return PrivacyCost(found), Noise(PrivacyCost(found), epsilon=found)
    cost = PrivacyCost(found, own, gaussian_rho(found, own))
    if not cost.rho:
        hint = "ask for a larger epsilon, or without a delta"
        raise PolicyError("no Gaussian noise is so large", got=f"{cost}", hint=hint)
    return cost, Noise(cost, rho=cost.rho)


def _counted(
    rows: RowView, margin: MarginLevels, shape: Sequence[int], codes: Mapping[str, np.ndarray], there: np.ndarray,
    groups: Mapping[str, list[np.ndarray]],
) -> np.ndarray:  # fmt: skip
    """The rows of each cell of a margin."""
    place = np.zeros(rows.height, np.int64)
    for name, level, size in zip(margin.columns, margin.levels, shape, strict=True):
        place = place * size + groups[name][level][codes[name]]
    return rows.per_cell(np.where(there, place, -1), prod(shape))


def _frame(margin: MarginLevels, counts: np.ndarray, values: Mapping[str, list[list[str]]]) -> pl.DataFrame:
    labels = [
        list(dict.fromkeys(row[level] for row in values[name]))
        for name, level in zip(margin.columns, margin.levels, strict=True)
    ]
    grid = np.indices(counts.shape).reshape(counts.ndim, -1)
    columns = [
        pl.Series(name, [own[i] for i in at], pl.String)
        for name, own, at in zip(margin.columns, labels, grid.tolist(), strict=True)
    ]
    return pl.DataFrame([*columns, pl.Series(COUNT, counts.ravel())])
