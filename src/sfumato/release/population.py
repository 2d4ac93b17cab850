"""Promises that count a population: its people by the released labels that they fit, and what is shown of it.

Who of the population may be behind which record follows from the labels alone. So whoever has the released rows and the
table of the population can show what is promised; without that table it is stated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import kind_of
from sfumato.core.parameters import real_number
from sfumato.core.printed import printed, printed_frame
from sfumato.core.progress import Progress, quiet
from sfumato.core.protocols import AGAINST_POPULATION, STATED
from sfumato.core.wording import count, listed, quoted
from sfumato.criteria.audit import Groups
from sfumato.criteria.known_population import MEMBER, MEMBERSHIP, OTHER, KnownPopulation
from sfumato.criteria.model import Promise, broken, examined
from sfumato.engines.protocol import COUNT, Engine, refuse_many, refuse_types
from sfumato.engines.tables import engine_of
from sfumato.errors import ColumnError, EmptyTable, PolicyError, did_you_mean
from sfumato.measures.labels_cover import read_labels
from sfumato.release.covering import CLASS, ROW, covered_pairs
from sfumato.release.manifest import Manifest, of_population
from sfumato.release.verify import RowTable, for_set, sets_checked

if TYPE_CHECKING:
    from sfumato.release.verify import Released

NOTE = "stated by the owner; without the table of the population it is not proven"
OTHER_TABLE = "the population that was given is not the one of the release: its people are others"
SEVERAL = "fit several classes"
NUMBERS = frozenset({"integer", "decimal"})
MOST, ALL = 1_000_000, 10**12  # combinations of independent columns, and the people that they are counted of
EVERYBODY = "\0nobody"  # the class of those whom no released row fits


@dataclass(frozen=True, eq=False)
class People:
    """The people of a population, by the distinct tuples of the columns that they are known by."""

    name: str  # that may be published
    tuples: pl.DataFrame
    often: np.ndarray  # how many people have each tuple

    @property
    def rows(self) -> int:
        """How many people there are."""
        return int(self.often.sum())

    def describe(self, names: Sequence[str], promises: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """What a manifest says of them."""
        return {"name": self.name, "rows": self.rows, "sha256": self.sha256(names), "promises": list(promises)}

    def sha256(self, names: Sequence[str]) -> str:
        """A mark of these people by what is known of them, whatever the order of rows or columns."""
        ordered = sorted(names)
        text = printed_frame(self.tuples.select(ordered)).with_columns(pl.Series(COUNT, self.often))
        alike = text.group_by(ordered).agg(pl.col(COUNT).sum()).sort([*ordered, COUNT], nulls_last=True)
        return hashlib.sha256(alike.write_csv(null_value="\0").encode()).hexdigest()


def by_population(require: Iterable[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The criteria that count a population, and the others; a PolicyError where they count different ones."""
    given = tuple(require)
    found = tuple(c for c in given if c.of_population is not None)
    if len({c.of_population for c in found}) > 1:
        what = "criteria count different populations"
        raise PolicyError(what, allowed="one table for all of them", hint="pass the same table to each")
    return found, tuple(c for c in given if c not in found)


def refuse_beside(given: Mapping[str, Any]) -> None:
    """Raise a PolicyError for what cannot stand beside a population; `given` says of each whether it is asked for."""
    if wrong := [name for name, there in given.items() if there]:
        what = f"where a population is counted, {listed(wrong)} cannot be asked for"
        raise PolicyError(what, hint="have one row per person, with the values that the population has")


def engine_of_population(known: KnownPopulation) -> Engine:
    """The engine that the table of a population is counted by; of a distribution of independent columns, the table of
    all their combinations."""
    if known.drawn and isinstance(known.data, Mapping) and all(isinstance(v, Mapping) for v in known.data.values()):
        return engine_of(combinations(known.data))
    return engine_of(known.data)


def with_missing(table: Engine, columns: Iterable[str], rows: int) -> bool:
    """Whether some of the first rows of a table miss a value of some columns: a class that mixes them with others has a
    label that covers everybody."""
    there = [name for name in columns if name in table.schema()]
    return any(table.sample(rows).select(there).null_count().row(0)) if there else False


def combinations(shares: Mapping[str, Mapping[Any, float]]) -> pl.DataFrame:
    """Every combination of values of independent columns, and in `COUNT` how often it is of `ALL` people.

    >>> combinations({"a": {1: 0.5, 2: 0.5}, "b": {"x": 1}}).get_column(COUNT).to_list() == [ALL // 2, ALL // 2]
    True
    """
    if (many := prod(map(len, shares.values()))) > MOST or not shares:
        what = "the columns of the distribution make too many combinations, or there are none"
        raise PolicyError(what, got=f"{many:,}", allowed=f"1 to {MOST:,}", hint="give a table of those that occur")
    table, share = pl.DataFrame({"\0one": [0]}), pl.lit(1.0)
    for i, (name, of) in enumerate(shares.items()):
        given = [float(real_number(s, f'the share of a value of "{name}"')) for s in of.values()]
        if not sum(given) > 0:
            raise PolicyError(f'the shares of the values of "{name}" add up to nothing')
        column = pl.DataFrame({name: list(of), f"\0{i}": np.array(given) / sum(given)}, strict=False)
        table, share = table.join(column, how="cross"), share * pl.col(f"\0{i}")
    counted = table.with_columns((share * ALL).round().cast(pl.Int64).alias(COUNT))
    return counted.select(*shares, COUNT)


def count_people(
    known: KnownPopulation,
    engine: Engine,
    columns: Sequence[str],
    schema: Mapping[str, pl.DataType],
    most: int,
    report_progress: Progress = quiet,
) -> People:
    """Count the people of a population by some columns, which a table has by the types of `schema`."""
    there = engine.schema()
    for name in columns:
        if name not in there:
            raise ColumnError(f'the population has no column "{name}"', hint=did_you_mean(name, list(there)))
        kinds = {kind_of(there[name]), kind_of(schema[name])}
        if len(kinds) > 1 and not kinds <= NUMBERS and "text" not in kinds:  # texts may say numbers and dates
            what = f'column "{name}" has other values in the population than in the table'
            got, allowed = f"{kind_of(there[name])} in the population", f"{kind_of(schema[name])}, as in the table"
            raise ColumnError(what, got=got, allowed=allowed, hint="read both in the same way")
    refuse_types(there, columns)
    report_progress("counting the population", None)
    weight = COUNT if COUNT in there else known.weight
    if weight is not None and (weight not in there or not there[weight].is_integer()):
        what = f'the distribution has no column "{weight}" of whole numbers, by which its rows would count'
        raise ColumnError(what, hint=did_you_mean(weight, list(there)))
    if weight is None:
        found = engine.count(list(columns), report_progress, most)
    else:
        found = weighed(engine.sample(engine.rows()), columns, weight)
    refuse_many(found.height, most)
    often = found.get_column(COUNT).cast(pl.Int64).to_numpy()
    if not often.sum():
        raise EmptyTable("the population has no people")
    return People(known.name, pl.DataFrame([found.get_column(name) for name in columns]), often)


def refuse_joined(engine: Engine, known: KnownPopulation, released: Iterable[str], decided: Set[str]) -> None:
    """Raise a PolicyError where columns that are released and that nothing is promised of are in the population, too:
    whoever has its table would join both by them."""
    there = {*engine.schema()} - {known.weight, COUNT}
    if joined := [name for name in released if name in there and name not in decided]:
        what = (
            f"the population has {quoted(joined)}, too, and whoever joins both tables by that knows who is in the table"
        )
        hint = "make it a quasi-identifier, leave it out, or name it as unprotected to accept that"
        raise PolicyError(what, hint=hint)


def weighed(table: pl.DataFrame, columns: Sequence[str], weight: str) -> pl.DataFrame:
    """Distinct tuples of columns, and in `COUNT` the sum of their weights."""
    if (table.get_column(weight).fill_null(-1) < 0).any():
        raise ColumnError(f'column "{weight}" of the distribution must be whole numbers from 0 on, with none missing')
    some = pl.DataFrame([*(table.get_column(n) for n in columns), table.get_column(weight).alias(COUNT)])
    return some.group_by(list(columns)).agg(pl.col(COUNT).sum()).filter(pl.col(COUNT) > 0)


def refuse_lacking(lacking: int, rows: int) -> None:
    """Raise a PolicyError where a table has people whom its population lacks."""
    if lacking:
        what = f"the population lacks people of the table: {count(lacking, 'row')} of {rows} are of nobody in it"
        hint = "a population holds everybody, with the same values; see that both tables were read in the same way"
        raise PolicyError(what, hint=hint)


def prove_people(
    released: Released,
    names: Sequence[str],
    require: Sequence[Any],
    people: People,
    hierarchies: Mapping[str, Any],
    suppressed: int | None = 0,
) -> list[Promise]:
    """Each criterion, by the people of the population whom the labels of each class of released rows cover."""
    lacking = [name for name in names if name not in released.columns or name not in people.tuples.columns]
    if lacking:
        return [broken(c, names, f"a table lacks {quoted(lacking)}") for c in require]
    rows, often = released.entries(list(names))
    size = pl.Series(COUNT, np.ones(rows.height, np.int64) if often is None else often.to_numpy())
    text = pl.DataFrame([printed(rows.get_column(name)) for name in names]).with_columns(size)
    classes = text.group_by(list(names)).agg(pl.col(COUNT).sum()).sort(list(names))
    for name in names:
        labels, values = classes[name].unique(), printed(people.tuples[name]).unique()
        cover = read_labels(labels.to_list(), values.to_list(), hierarchies.get(name), name=name)
        if not cover.read.all():
            what = f'which values the labels of "{name}" stand for cannot be read: name its hierarchy'
            return [replace(broken(c, names, f"{NOTE}; {what}"), holds=True, how=STATED) for c in require]
    groups, fault = _fitting(classes, people, names, hierarchies, require[0].of_population.drawn)
    if groups is None:
        return [broken(c, names, fault) for c in require]
    found = [replace(examined(c, names, groups), how=AGAINST_POPULATION) for c in require]
    if suppressed:
        what = f"{count(suppressed, 'row')} were suppressed, and who of the population fits no record tells of them"
        found = [replace(one, holds=False, note="; ".join(filter(None, (what, one.note)))) for one in found]
    return found


def _fitting(
    classes: pl.DataFrame, people: People, names: Sequence[str], hierarchies: Mapping[str, Any], drawn: bool
) -> tuple[Groups | None, str]:
    """The people of a population by the class that they fit, with who of each class are in the table; or why not. Where
    people are `drawn`, those of the table are none of those who are counted."""
    pairs = covered_pairs(classes.select(names), people.tuples, names, hierarchies)
    row, of = pairs[ROW].to_numpy(), pairs[CLASS].to_numpy()
    times = np.bincount(row, minlength=len(people.often))
    if several := int(people.often[times > 1].sum()):
        return None, f"{count(several, 'person', 'people')} of the population {SEVERAL}"
    there = classes[COUNT].to_numpy()
    fit = np.bincount(of, weights=people.often[row], minlength=len(there)).astype(np.int64)
    fit += there if drawn else 0
    if more := int(np.maximum(there - fit, 0).sum()):
        return None, f"{count(more, 'row')} fit nobody of the population"
    nobody = int(people.often[times == 0].sum())
    keys = [*map(str, range(len(there))), *map(str, range(len(there))), EVERYBODY]
    members = [MEMBER] * len(there) + [OTHER] * (len(there) + 1)
    counts = pl.Series(COUNT, np.concatenate([there, fit - there, [nobody]]))
    frame = pl.DataFrame({"class": keys, MEMBERSHIP: members}).with_columns(counts).filter(pl.col(COUNT) > 0)
    return Groups(frame.select("class"), {MEMBERSHIP: frame[MEMBERSHIP]}, row_counts=frame[COUNT]), ""


def prove_population(
    request: Any, people: People, entries: pl.DataFrame, often: pl.Series | None, hierarchies: Mapping[str, Any]
) -> tuple[Promise, ...]:
    """The promises of a request that count a population, on the rows that are about to be released; a PolicyError where
    their labels do not tell whom they are of."""
    (names,), (_, require) = request.policy.quasi, request.population
    rows = RowTable(entries, {}, {}, often)
    found = prove_people(rows, names, require, people, hierarchies)
    if unsure := [one for one in found if one.how == STATED or SEVERAL in (one.note or "")]:
        what = f"{unsure[0].model} cannot be shown: {unsure[0].note}"
        raise PolicyError(what, hint='give these columns hierarchies, or use search="spalm" or "optimal"')
    return tuple(found)


def verify_people_of(
    released: Released,
    quasi: Sequence[Sequence[str]],
    require: Sequence[Any],
    hierarchies: Mapping[str, Any],
    most: int,
) -> list[Promise]:
    """The criteria of a table of any tool that count a population, over every set or the one that they name."""
    known = require[0].of_population
    engine, found = engine_of_population(known), []
    types = dict.fromkeys(engine.schema(), pl.String())
    for names in sets_checked(quasi, require):
        people = count_people(known, engine, names, engine.schema() or types, most)
        found += prove_people(released, names, for_set(require, names), people, hierarchies)
    return found


def stated_of_population(
    manifest: Manifest, released: Released, population: Any, hierarchies: Mapping[str, Any], most: int
) -> list[Promise]:
    """What a manifest promises of a population: shown where its table is given, stated where it is not."""
    about = manifest.population
    assert about is not None
    gone = None if manifest.solution is None else manifest.solution.suppressed
    found: list[Promise] = []
    for c, names, claim in of_population(manifest):
        if population is None:
            possible = claim.holds and not gone
            note = NOTE if possible else "the manifest itself says that it does not hold"
            stands = replace(broken(c, names, note), holds=possible, how=STATED, measured=claim.measured)
            found.append(stands)
            continue
        people = population
        if not isinstance(people, People):
            stated = c.of_population
            assert stated is not None
            known = KnownPopulation(population, stated.weight, stated.drawn)
            engine = engine_of_population(known)
            people = count_people(known, engine, names, engine.schema(), most)
        if people.sha256(names) != about.sha256.removeprefix("sha256:"):
            found.append(broken(c, names, OTHER_TABLE))
            continue
        (one,) = prove_people(released, names, [c], people, hierarchies, gone)
        claimed = claim.measured
        if (
            one.how == AGAINST_POPULATION
            and claimed is not None
            and one.measured is not None
            and abs(claimed - one.measured) > 1e-9
        ):
            note = f"the manifest claims {claimed:g}, the tables say {one.measured:g}"
            one = replace(one, holds=False, note="; ".join(filter(None, (note, one.note))))
        found.append(one)
    return found
