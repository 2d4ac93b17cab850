"""Promises that count people: whose each row is, how many rows a person has, and what is shown of it.

A person may have many rows, so that a class of rows may be a single person. Criteria then count the people of a class,
or its households. Who that is does not leave with the release: its rows show what follows for records, and the rest is
shown against the table of its owner.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.parameters import column_name, known_columns
from sfumato.core.printed import printed, told_apart
from sfumato.core.protocols import AGAINST_ORIGINAL, PROVEN
from sfumato.core.wording import count
from sfumato.criteria.model import CONCENTRATED, Promise, examined
from sfumato.criteria.people_groups import PeopleGroups
from sfumato.errors import ColumnError, Infeasible, PolicyError, warn
from sfumato.release.verify import Verification, for_set, sets_checked, summary

if TYPE_CHECKING:
    from sfumato.engines.protocol import Engine
    from sfumato.release.request import Request

UNITS = ("person", "household")
NOUNS = {"person": "people", "household": "households"}
ALLOWED = (
    "k-anonymity; distinct, entropy and recursive l-diversity; (alpha,k)-anonymity; (X,Y)-anonymity and linkability"
)


LISTED = 3  # columns that a warning names
OFTEN = 0.2  # of the rows: where so many share a value of a column that names people, these have several rows


class RepeatedPersonWarning(UserWarning):
    """A column that tells who somebody is has values that many rows share, and nobody said that people are counted."""

    def __init__(self, what: str, column: str) -> None:
        super().__init__(f'{what}: person="{column}" counts people')
        self.in_file = f'{what}: with "{column}" named as person, people are counted'

    def told_in(self, words: str) -> str:
        """In the words of Python, or of a policy file."""
        return self.in_file if words == "file" else str(self)


def may_name(kind: pl.DataType) -> bool:
    """Whether values of a type may say whose a row is: two people may weigh the same, or be born on one day."""
    return not (kind.is_float() or kind.is_decimal() or kind.is_temporal())


def warn_of_repeats(frame: pl.DataFrame, identifying: Iterable[str]) -> None:
    """Name in a warning the identifying columns by which people seem to have several rows."""
    found, schema = [], frame.schema
    for name in identifying:
        if not may_name(schema[name]):
            continue
        times = frame.get_column(name).drop_nulls().value_counts(name="rows").get_column("rows")
        several = int(times.filter(times > 1).sum())
        if len(times) > 1 and several > OFTEN * frame.height:
            found.append((name, int(times.max())))  # type: ignore[arg-type]
    if found:
        listed = ", ".join(f'"{name}" (up to {most} rows share a value)' for name, most in found[:LISTED])
        listed += f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
        what = f"people seem to have several rows, by {listed}. Classes are of rows, and may be fewer people"
        warn(RepeatedPersonWarning(what, found[0][0]))


@dataclass(frozen=True)
class PeopleColumn:
    """What is counted: the persons, or the households, that a column names."""

    kind: str  # one of UNITS
    column: str

    @property
    def noun(self) -> str:
        """What is counted, in words."""
        return NOUNS[self.kind]


def units_of(
    person: Any, household: Any, columns: Collection[str], others: Mapping[str, Iterable[str]] | None = None
) -> tuple[PeopleColumn, ...]:
    """The columns of persons and of households that are given, checked against the table and the roles of `others`."""
    given = [(kind, name) for kind, name in zip(UNITS, (person, household), strict=True) if name is not None]
    found = tuple(PeopleColumn(kind, column_name(name, kind)) for kind, name in given)
    known_columns((unit.column for unit in found), columns)
    if len(found) == 2 and found[0].column == found[1].column:
        raise ColumnError(f'column "{found[0].column}" cannot name persons and households at once')
    for unit in found:
        for role, names in (others or {}).items():
            if unit.column in names:
                what = f'column "{unit.column}" cannot be {role} and say whose a row is at once'
                raise ColumnError(what, hint=f"name it as {unit.kind} alone: it is identifying")
    return found


def owned(person: Any, household: Any, original: pl.DataFrame | None) -> dict[str, str]:
    """The columns of an original that say whose its rows are, by their kind; a PolicyError where there is none."""
    if original is None and (person is not None or household is not None):
        what = "a release folder says itself whom it counts, and does not tell whose its rows are"
        raise PolicyError(what, hint="pass the original too, to have it shown that promises hold for people")
    return (
        {} if original is None else {unit.kind: unit.column for unit in units_of(person, household, original.columns)}
    )


def refuse_uncounted(require: Iterable[Any], units: Sequence[PeopleColumn], wildcard: bool = False) -> None:
    """Raise a PolicyError for criteria that have no reading by people, and for the reading of missing values that would
    count the people of a class more than once."""
    if not units:
        return
    wrong = list(dict.fromkeys(c.model for c in require if c.by_people is None))
    if wrong:
        raise PolicyError(
            f"{', '.join(wrong)} cannot count {units[0].noun}",
            got=f"{units[0].kind} column",
            allowed=ALLOWED,
            hint=f"ask for one of these, or leave {units[0].kind} out and have one row per person",
        )
    if wildcard:
        raise PolicyError(
            f"{units[0].noun} cannot be counted where a missing value matches any value",
            hint="leave wildcard out: a missing value is then a value of its own",
        )


def for_records(require: Sequence[Any]) -> tuple[Any, ...]:
    """What follows for records where criteria hold for people; not what promises nothing, beside something."""
    found = tuple(dict.fromkeys(c.of_records for c in require))
    telling = tuple(c for c in found if c.least_size > 1 or c.quasi is not None)
    return telling if any(c.quasi is None for c in telling) else found


def refuse_people(policy: Any, command: str) -> None:
    """Raise a PolicyError where a policy counts people, of the table or of a population, and what is to be done with it
    counts rows."""
    if any(one.of_population is not None for one in policy.require):
        what = f"{command} counts rows, and this policy counts the people of a population"
        raise PolicyError(what, hint="run anonymize with it, or leave delta-presence and counted k-map out")
    if policy.person is not None or policy.household is not None:
        what = f"{command} counts rows, and this policy counts people"
        raise PolicyError(what, hint="run anonymize with it, or leave person and household out of [roles]")


def refuse_blurred(require: Iterable[Any], quasi: Iterable[Sequence[str]], units: Sequence[PeopleColumn]) -> None:
    """Raise a PolicyError for a criterion about a quasi-identifier, whose labels would be counted."""
    known = {name for names in quasi for name in names}
    for c in require:
        if blurred := known.intersection(c.needs):
            what = f'{c.model} of "{min(blurred)}" cannot count {units[0].noun}: it is quasi-identifying too'
            raise PolicyError(what, hint="name it as quasi or as sensitive, not as both")


def whose(column: pl.Series, unit: PeopleColumn) -> np.ndarray:
    """A number for the person of each row; a ColumnError where some rows do not say whose they are.

    >>> whose(pl.Series("id", ["b", "a", "b"]), PeopleColumn("person", "id")).tolist()
    [1, 0, 1]
    """
    text = printed(column)
    lacking = text.null_count() + int((text == "").sum())
    if lacking:
        what = f'column "{unit.column}" does not say whose {count(lacking, "row")} {"is" if lacking == 1 else "are"}'
        raise ColumnError(what, got=f"{lacking} missing of {len(column)}", hint="give each a person, or leave them out")
    return text.rank("dense").cast(pl.Int64).to_numpy() - 1


def most_rows(people: np.ndarray) -> int:
    """How many rows a person has at most."""
    return int(np.bincount(people).max(initial=0))


def promise_of(c: Any, names: Sequence[str], groups: PeopleGroups, unit: PeopleColumn, how: str = PROVEN) -> Promise:
    """One criterion by people over one set of quasi-identifiers, as the rows keep or break it."""
    groups = replace(groups, concentrated=c.by_people == CONCENTRATED)
    found = examined(c, names, groups)
    note = None if c.model == "alpha-k" else found.note  # which speaks of records
    return replace(found, note=note, how=how, **worded(c, unit))


def worded(c: Any, unit: PeopleColumn) -> dict[str, Any]:
    """The parameters and the sentence of a criterion that counts people."""
    sentence = f'Counted in {unit.noun} ("{unit.column}"), not in records. {c.sentence()}'
    return {"parameters": {**c.parameters(), unit.kind: unit.column}, "sentence": sentence}


def people_groups(
    released: pl.DataFrame, names: Sequence[str], attributes: Iterable[str], people: np.ndarray
) -> PeopleGroups:
    """The groups of released rows by these columns, whose people are counted."""
    keys = pl.DataFrame([told_apart(released.get_column(name)) for name in names])
    text = {name: printed(released.get_column(name)) for name in attributes}
    return PeopleGroups(keys, text, people=pl.Series(people))


def verify_people(
    released: pl.DataFrame,
    quasi: Sequence[Sequence[str]],
    require: Sequence[Any],
    people: Sequence[tuple[PeopleColumn, np.ndarray]],
    how: str = PROVEN,
) -> Verification:
    """Check every criterion by the people of released rows, over every set of quasi-identifiers or the one it names.

    `people` are the units, each with the number of whom each row belongs to. The class sizes of the result are those of
    the first of them.

    >>> from sfumato.criteria import KAnonymity
    >>> rows = pl.DataFrame({"age": ["3*"] * 5})
    >>> verify_people(rows, [["age"]], [KAnonymity(2)], [(PeopleColumn("person", "id"), np.zeros(5, int))]).holds
    False
    """
    sets = sets_checked(quasi, require)
    known_columns((name for names in sets for name in names), released.columns)
    known_columns((name for c in require for name in c.needs), released.columns)
    refuse_uncounted(require, [unit for unit, _ in people])
    promises, classes = [], []
    for names in sets:
        mine = for_set(require, names)
        for unit, codes in people:
            groups = people_groups(released, names, dict.fromkeys(a for c in mine for a in c.needs), codes)
            if unit is people[0][0]:
                classes.append(summary(groups.sizes["size"], names))
            promises += [promise_of(c, names, groups, unit, how) for c in mine]
    return Verification(released.height, tuple(promises), tuple(classes))


def people_of(request: Request, engine: Engine) -> list[tuple[PeopleColumn, np.ndarray]]:
    """Whose each row of a table in memory is, by its owner's columns; an Infeasible where there are too few people.

    Steps before the search may have given the columns pseudonyms: whose a row is, the table before them tells."""
    masking = request.masking
    frame = engine.sample(engine.rows()) if masking is None else masking.original[masking.rows.tolist()]
    found = [(unit, whose(frame.get_column(unit.column), unit)) for unit in request.people]
    for unit, codes in found:
        there = int(codes.max(initial=-1)) + 1
        for c in request.by_people:
            if c.least_size > there:
                raise Infeasible(
                    f"{type(c).__name__} asks for classes of at least {c.least_size} {unit.noun}",
                    got=f"a table of {there}",
                    allowed=f"at most {there}",
                    closest={"suppressed": engine.rows()},
                )
    return found


def prove_people(
    request: Request, engine: Engine, released: pl.DataFrame, rows: np.ndarray
) -> tuple[tuple[Promise, ...], tuple[dict[str, Any], ...]]:
    """The promises that count people, shown on the released rows by whose they are, and what is published beside them.

    A column of people that leaves under pseudonyms, one for each person, is told: then its rows show them alone.
    """
    people = [(unit, codes[rows]) for unit, codes in people_of(request, engine)]
    found = verify_people(released, request.policy.quasi, request.by_people, people, AGAINST_ORIGINAL)
    told = []
    sets = sets_checked(request.policy.quasi, request.by_people)
    for unit, codes in people:
        leaves = unit.column in released.columns and one_to_one(codes, whose(released.get_column(unit.column), unit))
        told.append(
            {"unit": unit.kind, "column": unit.column, "people": len(np.unique(codes)), "most_rows": most_rows(codes)}
            | {"smallest": min(smallest(released, names, codes) for names in sets), "released": bool(leaves)}
        )
    return found.promises, tuple(told)


def smallest(released: pl.DataFrame, names: Sequence[str], people: np.ndarray) -> int:
    """How many people the smallest class has."""
    return int(people_groups(released, names, (), people).sizes["size"].min())  # type: ignore[arg-type]


def one_to_one(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether rows have equal numbers in one where they have equal numbers in the other.

    >>> one_to_one(np.array([0, 0, 1]), np.array([7, 7, 3])), one_to_one(np.array([0, 0, 1]), np.array([7, 8, 3]))
    (True, False)
    """
    pairs = pl.DataFrame({"one": one, "other": other}).unique()
    return pairs.height == pairs["one"].n_unique() == pairs["other"].n_unique()
