"""Verify: which promises a released table keeps, from its rows alone, by code that shares nothing with the search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NewType, Protocol

import numpy as np
import polars as pl

from sfumato.core.hierarchy import kind_of
from sfumato.core.microdata import microdata
from sfumato.core.printed import categories, new_rows, printed, printed_frame, told_apart
from sfumato.core.protocols import AGAINST_ORIGINAL, AGAINST_POPULATION, BY_CONSTRUCTION, STATED
from sfumato.core.wording import Described, apart, count
from sfumato.criteria.audit import Counts as Whole
from sfumato.criteria.audit import Groups, Wide, WildcardGroups
from sfumato.criteria.model import Promise, examined
from sfumato.engines.protocol import COUNT, Engine
from sfumato.errors import BrokenPromise, ColumnError, PolicyError, did_you_mean
from sfumato.measures.table import DEFAULT_MAX_CELLS, SAMPLE, TupleCounts, estimate
from sfumato.release.overlap import OVERLAP, overlap

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy, Recipe
    from sfumato.release.facts import FactFinding
    from sfumato.release.signature import Signature

STANDS = {True: "checked", False: "NOT SO", None: "not checked"}  # of facts: they hold nothing for anybody
INTEGRITY = "integrity"  # that the data are those of the manifest: no promise about people
Outcome = Literal["holds", "broken", "nothing promised", "by construction", "stated"]
# a record's risk is 1/n: it is strictly above the threshold where its class has fewer than so many records
THRESHOLDS = {"0.05": 20, "0.1": 10, "0.2": 5}


@dataclass(frozen=True, repr=False)
class Verification(Described):
    """What the rows say, promise by promise, and the class sizes, one entry per set of quasi-identifiers."""

    rows: int
    promises: tuple[Promise, ...]
    classes: tuple[dict[str, Any], ...]
    facts: tuple[FactFinding, ...] = ()  # of a masked table: no promises about people
    signature: Signature | None = None  # of a release folder that has one, or should
    caveat: str | None = None  # what cannot be known of a release folder
    may_be_empty: bool = False  # where nothing was released, as of a stream whose rows were all suppressed

    @property
    def outcome(self) -> Outcome:
        """Every promise holds, one is broken, or there is none: a table that promises nothing never "holds". Where all
        that is promised is so by construction, nothing is proven, and that is what it says. Where something is stated
        by the owner and cannot be shown from the rows, as whose they are, the outcome is "stated", whatever else holds.

        A fact that is not so, or a signature that is not valid, is a broken promise too.
        """
        if not all(promise.holds for promise in self.promises) or any(fact.holds is False for fact in self.facts):
            return "broken"
        if self.signature is not None and self.signature.valid is False:
            return "broken"
        if not (asked := [promise for promise in self.promises if promise.model != INTEGRITY]):
            return "nothing promised"
        if any(promise.how == STATED for promise in asked) and self.rows > 0:
            return "stated"
        if all(promise.how == BY_CONSTRUCTION for promise in asked) and self.rows > 0:
            return "by construction"
        return "holds" if self.rows > 0 or self.may_be_empty else "broken"

    @property
    def holds(self) -> bool:
        """Whether something was promised, and all of it holds."""
        return self.outcome == "holds"

    def word(self, holds: bool) -> str:
        """What is said of a promise; where nothing is promised of people, never that it holds."""
        proves = self.outcome not in ("nothing promised", BY_CONSTRUCTION)
        return "FAILS" if not holds else "holds" if proves else "intact"

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """The outcome, and what was measured of each promise."""
        facts = []
        for promise in self.promises:
            if promise.how == BY_CONSTRUCTION and promise.holds:
                facts.append((promise.model, f"{BY_CONSTRUCTION}: {promise.sentence}"))
                continue
            if promise.how == STATED and promise.holds:
                facts.append((promise.model, f"{STATED}, not proven: {promise.sentence}"))
                continue
            measured, bound = apart(promise.measured, promise.bound)
            over = f"over {', '.join(promise.quasi)}" if len(self.classes) > 1 and promise.quasi else None
            about = " ".join(filter(None, (promise.model, promise.parameters.get("attribute"), over)))
            word = self.word(promise.holds)
            word = f"{word} {promise.how}" if promise.how in (AGAINST_ORIGINAL, AGAINST_POPULATION) else word
            facts.append((about, f"{word}, measured {measured}, bound {bound}"))
        facts += [(fact.fact, f"{STANDS[fact.holds]}: {fact.sentence}") for fact in self.facts]
        return f"{count(self.rows, 'row')}: {self.outcome}", facts

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as --json prints them."""
        found = {"outcome": self.outcome, "holds": self.holds, **asdict(self)}
        del found["may_be_empty"]
        return found


Audit = NewType("Audit", Verification)  # of the released rows against what is published of others


def verify_table(
    released: pl.DataFrame,
    quasi: Sequence[Sequence[str]],
    require: Sequence[Any],
    *,
    row_counts: pl.Series | None = None,
    whole: Mapping[str, Whole] | None = None,
    hierarchies: Mapping[str, Hierarchy | Wide] | None = None,
    wildcard: bool = False,
    wildcards: Sequence[str] = (),
) -> Verification:
    """Check every criterion over every set of quasi-identifiers, or the set it names, on the printed text of released
    rows.

    A class is the rows whose quasi-identifiers print alike and cannot be told apart otherwise, as null and NaN, null
    and the empty text, or the two zeros can in a frame and in Parquet; in sensitive attributes these are one value.
    With `wildcard`, null, NaN and the empty text are missing, and a missing quasi-identifier matches any: two rows
    match where each quasi-identifier is equal or missing in at least one of them, the class of a row is the rows that
    match it, itself included, and a criterion holds where it does for the class of every row. That reading exists for
    k-anonymity and distinct l-diversity only; the class sizes of the result stay those of equal rows.

    Parameters
    ----------
    released
        The rows as released; suppressed rows are absent. A table without rows keeps no promise.
    quasi
        The sets of quasi-identifying columns.
    require
        The criteria.
    row_counts
        How many rows each row stands for, where an engine counted them.
    whole
        For each sensitive attribute the count of each printed value in the table before suppression (missing as None or
        the empty text). An attribute that is not given is compared with its distribution in the released rows, and the
        note of the promise says so.
    hierarchies
        For each attribute of a hierarchical distance its hierarchy, or a row of labels per value, from it to the root.
    wildcard, wildcards
        Whether missing quasi-identifiers match any value, and printed values that do as well, such as "*".

    Raises
    ------
    ColumnError
        A column is absent.
    PolicyError
        A criterion that the wildcard reading, or a missing hierarchy, leaves undefined.

    Examples
    --------
    >>> from sfumato.criteria import KAnonymity
    >>> found = verify_table(pl.DataFrame({"age": ["2*", "2*", "3*"]}), [["age"]], [KAnonymity(2)])
    >>> found.holds, found.promises[0].measured, found.promises[0].note
    (False, 1, '1 of 2 classes fails')
    """
    paths = {a: wide_of(h) for a, h in (hierarchies or {}).items()}
    asked = {name for names in (*sets_checked(quasi, require), *(c.needs for c in require)) for name in names}
    looked_at = pl.DataFrame([column for column in released.iter_columns() if column.name in asked])
    if row_counts is None and (new := new_rows(looked_at)) is not None:  # rows that are alike are looked at once
        released = released.filter(new)
        row_counts = pl.Series(np.diff(np.flatnonzero(new), append=len(new)))
    rows = RowTable(released, whole or {}, paths, row_counts, apart=not wildcard)
    return verify_released(rows, quasi, require, wildcard=wildcard, wildcards=wildcards)


def verify_released(
    released: Released,
    quasi: Sequence[Sequence[str]],
    require: Sequence[Any],
    *,
    wildcard: bool = False,
    wildcards: Sequence[str] = (),
) -> Verification:
    """The same of rows in memory, or of distinct tuples that were counted."""
    sets = sets_checked(quasi, require)
    for name in [name for names in sets for name in names] + [name for c in require for name in c.needs]:
        if name not in released.columns:
            raise ColumnError(f'the table has no column "{name}"', hint=did_you_mean(name, released.columns))
    if wildcard:
        for c in require:
            if not c.wildcard:
                raise PolicyError(
                    f"{c.model} is not defined where a missing value matches any value",
                    allowed="k-anonymity, distinct-l-diversity",
                    hint="verify without wildcard: a missing value is then a value of its own",
                )
    promises, classes = [], []
    known = {name for names in sets for name in names}
    for names in sets:
        mine = for_set(require, names)
        groups_of = released.grouped(names, once(name for c in mine for name in c.needs))
        classes.append(summary(groups_of(()).sizes["size"], names))
        if wildcard:
            matches_of = by_wildcards(groups_of, wildcards)
            found = [where_missing_matches(examined(c, names, matches_of(c.needs))) for c in mine]
        else:
            found = [examined(c, names, groups_of(c.needs)) for c in mine]
        own = [{n: groups_of(c.needs).text[n] for n in c.needs if n in known} for c in mine]
        promises += [where_apart(*one, wildcard) for one in zip(found, own, strict=True)]
    return Verification(released.rows, tuple(promises), tuple(classes))


def with_facts(found: Verification, masking: Any, released: pl.DataFrame, suppressed: int) -> Verification:
    """A verification of released rows with the facts of the steps before and after the search that still are facts.

    Rows that were suppressed take all that compares with the original, or counts rows; a fact that is not so any more
    is a fault of ours.
    """
    from sfumato.release.facts import FACTS, check_private, check_public, of_rows

    facts, changed = [], masking.told["changed"]
    texts = {name for name, dtype in released.schema.items() if kind_of(dtype) == "text"}
    for fact in masking.facts:
        rule = FACTS[fact["fact"]]
        if suppressed and (rule.private or not rule.of_values):
            continue
        if suppressed:
            fact = {**fact, "parameters": of_rows(fact["fact"], fact["columns"], fact["parameters"], released)}
            if not fact["parameters"]:
                continue
        facts.append(
            check_private(masking.original, released, fact, changed, texts)
            if rule.private
            else check_public(released, None, fact)
        )
    refuse_false(facts)
    return replace(found, facts=tuple(facts))


def refuse_false(facts: Iterable[FactFinding]) -> None:
    """Raise a BrokenPromise for a fact that is not so."""
    for one in facts:
        if one.holds is False:
            what = f"the release is not what its steps say: {one.sentence} ({one.note})"
            raise BrokenPromise(f"{what}. It is not released; this is a fault of Sfumato")


def verify_engine(
    store: Engine,
    quasi: Sequence[Sequence[str]],
    require: Sequence[Any],
    *,
    recipes: Mapping[str, Recipe] | None = None,
    wildcard: bool = False,
    max_cells: int = DEFAULT_MAX_CELLS,
) -> Verification:
    """The same of an out-of-core table.

    The engine counts the distinct tuples of each set of quasi-identifiers, with each sensitive attribute that a
    criterion looks at; more than `max_cells` of them are refused, or audited in parts where the engine can. `recipes`
    are the hierarchies that distances run along. A quasi-identifier with null beside NaN or the empty text is refused
    where the engine counts them as one, unless missing values match any with `wildcard`.

    >>> from sfumato.criteria import KAnonymity
    >>> from sfumato.engines.files.table import FileTable
    >>> verify_engine(FileTable("out/*.parquet"), [["age"]], [KAnonymity(5)]).holds  # doctest: +SKIP
    True
    """
    schema, sensitive = store.schema(), {a for c in require for a in c.needs}
    texts = once(n for names in quasi for n in names if schema[n].is_float() or schema[n] == pl.String)
    if texts and not wildcard and (several := store.mixed(texts)):
        store = Engine.told_apart(store, several) if sensitive & {*several} else store.told_apart(several)
    counts = TupleCounts(store, max_cells)
    if store.in_parts and not wildcard and not recipes:
        needed, rows, sample = [a for c in require for a in c.needs], store.rows(), store.sample(SAMPLE)
        together = [once((*names, *needed)) for names in quasi]
        if max(estimate(sample, columns, counts.schema, rows) for columns in together) > max_cells:
            from sfumato.release.parts.verify import verify_on

            return verify_on(store.frame, quasi, require)  # type: ignore[attr-defined]
    paths = {}
    for name, recipe in (recipes or {}).items():
        frame, row_counts = counts.entries([name])
        tree = recipe.build(microdata(frame, {name: "sensitive"}, {}, row_counts=row_counts).attribute(name).categories)
        paths[name] = wide_of(tree)
    return verify_released(CountedTable(counts, {}, paths), quasi, require, wildcard=wildcard)


def class_sizes(released: pl.DataFrame, quasi: Sequence[str]) -> dict[str, Any]:
    """How large the equivalence classes are, and how at risk their records.

    A class is the rows whose quasi-identifiers print alike; missing is a value. The risk of a record is 1/n, with n
    the size of its class (the prosecutor's): the highest, the average (classes per row), and the share of records whose
    risk is strictly above a threshold.

    Parameters: `released`, a table; `quasi`, its quasi-identifying columns.

    >>> sizes = class_sizes(pl.DataFrame({"age": [20, 20, 20, 30]}), ["age"])
    >>> sizes["classes"], sizes["smallest"], sizes["sizes"], sizes["risk"]["average"]
    (2, 1, {'1': 1, '3': 1}, 0.5)
    """
    names = list(dict.fromkeys(quasi))
    keys = pl.DataFrame([printed(released.get_column(name)).alias(f"q{i}") for i, name in enumerate(names)])
    return summary(keys.group_by(keys.columns).agg(size=pl.len()).get_column("size"), names)


def summary(sizes: pl.Series, quasi: Sequence[str]) -> dict[str, Any]:
    """The same from the sizes themselves."""
    size, often = np.unique(sizes.cast(pl.Int64).to_numpy(), return_counts=True)
    classes, rows = len(sizes), int((size * often).sum())
    at_risk = {name: int((size * often)[size < n].sum()) for name, n in THRESHOLDS.items()}
    middle: Any = sizes.median() or 0
    smallest, largest = (int(size[i]) if classes else 0 for i in (0, -1))
    return {
        "quasi": list(quasi),
        "classes": classes,
        "smallest": smallest,
        "median": int(middle) if middle == int(middle) else float(middle),
        "average": rows / classes if classes else 0.0,
        "largest": largest,
        "sizes": {str(n): count for n, count in zip(size.tolist(), often.tolist(), strict=True)},
        "risk": {
            "highest": 1 / smallest if classes else 0.0,
            "average": classes / rows if rows else 0.0,
            "records_above": {name: count / rows if rows else 0.0 for name, count in at_risk.items()},
        },
    }


GroupsOf = Callable[[Sequence[str]], Groups]


class Released(Protocol):
    """A released table."""

    @property
    def columns(self) -> list[str]:
        """The names of its columns, in order."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    def grouped(self, names: Sequence[str], attributes: Sequence[str]) -> GroupsOf:
        """Its groups by these columns; of the function that gives them, for some of the attributes."""

    def marginal(self, name: str) -> dict[str | None, int]:
        """The rows of each printed value of a column."""

    def entries(self, names: Sequence[str]) -> tuple[pl.DataFrame, pl.Series | None]:
        """Values of columns, and how many rows have them; None where each entry is a row."""


class RowTable:
    """Released rows, each column printed once; with `row_counts` each stands for so many. With `apart` classes differ
    where readers of the table can tell values apart that print alike."""

    def __init__(
        self,
        table: pl.DataFrame,
        whole: Mapping[str, Whole],
        hierarchies: Mapping[str, Wide],
        row_counts: pl.Series | None = None,
        apart: bool = False,
    ) -> None:
        self.table, self.whole, self.hierarchies, self.row_counts = table, whole, hierarchies, row_counts
        self.apart = apart
        self._text: dict[str, pl.Series] = {}

    @property
    def columns(self) -> list[str]:
        """The names of its columns, in order."""
        return self.table.columns

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.table.height if self.row_counts is None else int(self.row_counts.sum())

    def _printed(self, name: str) -> pl.Series:
        if name not in self._text:
            self._text[name] = printed(self.table.get_column(name))
        return self._text[name]

    def _key(self, name: str) -> pl.Series:
        """The same; an Enum as it is, whose texts are printed already."""
        column = self.table.get_column(name)
        if categories(column) is not None:
            return column
        return told_apart(column) if self.apart else self._printed(name)

    def grouped(self, names: Sequence[str], attributes: Sequence[str]) -> GroupsOf:
        """One grouping, for all attributes."""
        keys = pl.DataFrame([self._key(name) for name in names])
        groups = Groups(keys, {a: self._printed(a) for a in attributes}, self.whole, self.hierarchies, self.row_counts)
        return lambda needs: groups

    def marginal(self, name: str) -> dict[str | None, int]:
        """The rows of each printed value of a column."""
        rows = pl.repeat(1, self.table.height, eager=True) if self.row_counts is None else self.row_counts
        table = pl.DataFrame({"value": self._printed(name), "rows": rows})
        return dict(table.group_by("value").agg(pl.col("rows").sum()).iter_rows())

    def entries(self, names: Sequence[str]) -> tuple[pl.DataFrame, pl.Series | None]:
        """The columns as they are."""
        return self.table.select(names), self.row_counts


class CountedTable:
    """Released rows by their distinct tuples: each attribute is counted with the groups, never two together."""

    def __init__(self, counts: TupleCounts, whole: Mapping[str, Whole], hierarchies: Mapping[str, Wide]) -> None:
        self.counts, self.whole, self.hierarchies = counts, whole, hierarchies

    @property
    def columns(self) -> list[str]:
        """The names of its columns, in order."""
        return self.counts.columns

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.counts.rows

    def grouped(self, names: Sequence[str], attributes: Sequence[str]) -> GroupsOf:
        """A grouping for each set of attributes that is asked for; one count answers for all where there is one."""
        if len(attributes) == 1:
            self.counts.entries([*names, *attributes])
        made: dict[tuple[str, ...], Groups] = {}

        def groups(needs: Sequence[str]) -> Groups:
            mine = tuple(a for a in needs if a in attributes)
            if mine not in made:
                frame, row_counts = self.counts.entries([*names, *mine])
                text = printed_frame(frame)
                of = {a: text.get_column(a) for a in mine}
                made[mine] = Groups(text.select(names), of, self.whole, self.hierarchies, pl.Series(COUNT, row_counts))
            return made[mine]

        return groups

    def marginal(self, name: str) -> dict[str | None, int]:
        """The rows of each printed value of a column."""
        frame, row_counts = self.counts.entries([name])
        return dict(zip(printed(frame.get_column(name)).to_list(), row_counts.tolist(), strict=True))

    def entries(self, names: Sequence[str]) -> tuple[pl.DataFrame, pl.Series | None]:
        """The distinct tuples of columns."""
        frame, row_counts = self.counts.entries(names)
        return frame.select(names), pl.Series(COUNT, row_counts)


def by_wildcards(groups_of: GroupsOf, wildcards: Sequence[str] = ()) -> GroupsOf:
    """The groups where a missing value, and these, match any value; each made once."""
    made: dict[int, tuple[Groups, WildcardGroups]] = {}

    def matches_of(needs: Sequence[str]) -> Groups:
        g = groups_of(needs)
        if id(g) not in made:
            made[id(g)] = g, WildcardGroups(_starred(g.keys, wildcards), g.text, g.given, g.hierarchies, g.row_counts)
        return made[id(g)][1]

    return matches_of


def where_missing_matches(promise: Promise) -> Promise:
    """A promise under the reading where a missing value matches any value, which its sentence says."""
    return replace(promise, sentence=promise.sentence.removesuffix(".") + ", where a missing value matches any value.")


def for_set(require: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """The criteria that are promised for a set of quasi-identifiers: those for it alone, and those for every set."""
    return [c for c in require if c.quasi is None or set(c.quasi) == set(names)]


def where_apart(promise: Promise, blurred: Mapping[str, Iterable[str | None]], wildcard: bool = False) -> Promise:
    """A promise about columns that are `blurred`, being quasi-identifying too: broken where two of their labels may be
    of one value. With `wildcard`, a missing label may be of any."""
    for name, labels in blurred.items():
        shown = set(labels)
        if overlap(shown) or (wildcard and None in shown and len(shown) > 1):
            note = f'{OVERLAP}: two of "{name}" may stand for the same value'
            return replace(promise, holds=False, note="; ".join(filter(None, (note, promise.note))))
    return promise


def sets_checked(quasi: Sequence[Sequence[str]], require: Sequence[Any] = ()) -> list[tuple[str, ...]]:
    """The sets given, and those that criteria name, each once."""
    flat: list[Any] = [quasi] if isinstance(quasi, str) else list(quasi)
    sets = [flat] if flat and all(isinstance(name, str) for name in flat) else flat  # one set, given bare
    found = [once(names) for names in sets]
    for c in require:
        if c.quasi is not None and not any(set(names) == set(c.quasi) for names in found):
            found.append(once(c.quasi))
    if not found or not all(found):
        raise PolicyError(
            "no quasi-identifying column is given", allowed="one set of columns or more, none of them empty"
        )
    return found


def wide_of(hierarchy: Hierarchy | Wide) -> Wide:
    """A row of labels per leaf, from it to the root."""
    labels: Any = getattr(hierarchy, "labels", None)
    if labels is None:
        return hierarchy  # type: ignore[return-value]
    ancestor = hierarchy.ancestor  # type: ignore[union-attr]
    return list(zip(*([of[i] for i in line] for of, line in zip(labels, ancestor.tolist(), strict=True)), strict=True))


def _starred(keys: pl.DataFrame, wildcards: Sequence[str]) -> pl.DataFrame:
    text = pl.all().cast(pl.String)
    return keys.select(pl.when(~text.is_in(list(wildcards))).then(text)) if wildcards else keys


def once(names: Iterable[str]) -> tuple[str, ...]:
    """Names, each once, in order."""
    return tuple(dict.fromkeys(names))
