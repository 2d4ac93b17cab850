"""Verify: which promises a released table keeps, from its rows alone, by code that shares nothing with the search."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NewType

import polars as pl

from sfumato.core.microdata import microdata
from sfumato.criteria.audit import Counts as Whole
from sfumato.criteria.audit import Groups, Wide, WildcardGroups
from sfumato.criteria.model import Promise, broken, examined
from sfumato.engines.order import CANONICAL, is_canonical, sorted_by
from sfumato.engines.protocol import Engine, Progress
from sfumato.errors import ColumnError, InputError, PolicyError, ReadError, did_you_mean
from sfumato.measures.table import DEFAULT_MAX_CELLS, SAMPLE, Counting, TupleCounts, estimate, quiet
from sfumato.release import arguments
from sfumato.release.manifest import Claim, Manifest, once, read_manifest, wanted
from sfumato.release.released import (
    CountedTable,
    GroupsOf,
    Released,
    RowTable,
    Streamed,
    data_place,
    is_streamed,
    summary,
)

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy
    from sfumato.release.signature import Signature


UNSORTED = "its rows are not in canonical order"
EVERY = 1 << 40  # what is promised is verified, however many classes there are


Outcome = Literal["holds", "broken", "nothing promised"]
SIZES = ("classes", "smallest", "largest", "sizes")  # what a manifest that has class sizes must say
INTEGRITY = "integrity"  # that the data are those of the manifest: no promise about people


@dataclass(frozen=True)
class Verification:
    """What the rows say, promise by promise, and the class sizes, one entry per set of quasi-identifiers."""

    rows: int
    promises: tuple[Promise, ...]
    classes: tuple[dict[str, Any], ...]
    signature: Signature | None = None  # of a release folder that has one, or should
    caveat: str | None = None  # what cannot be known of a release folder

    @property
    def outcome(self) -> Outcome:
        """Every promise holds, one is broken, or there is none: a table that promises nothing never "holds".

        A signature that is not valid is a broken promise too.
        """
        if not all(promise.holds for promise in self.promises):
            return "broken"
        if self.signature is not None and self.signature.valid is False:
            return "broken"
        if all(promise.model == INTEGRITY for promise in self.promises):
            return "nothing promised"
        return "holds" if self.rows > 0 else "broken"

    @property
    def holds(self) -> bool:
        """Whether something was promised, and all of it holds."""
        return self.outcome == "holds"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as --json prints them."""
        return {"outcome": self.outcome, "holds": self.holds, **asdict(self)}


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
    """Check every criterion over every set of quasi-identifiers on the printed text of released rows.

    A class is the rows whose quasi-identifiers print alike; null, NaN and the empty text are one missing value. With
    `wildcard`, a missing quasi-identifier matches any value: two rows match where each quasi-identifier is equal or
    missing in at least one of them, the class of a row is the rows that match it, itself included, and a criterion
    holds where it does for the class of every row. That reading exists for k-anonymity and distinct l-diversity only;
    the class sizes of the result stay those of equal rows.

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
    trees = {a: wide_of(h) for a, h in (hierarchies or {}).items()}
    rows = RowTable(released, whole or {}, trees, row_counts)
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
    sets = _sets(quasi)
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
    needed = once(name for c in require for name in c.needs)
    promises, classes = [], []
    for names in sets:
        groups_of = released.grouped(names, needed)
        classes.append(summary(groups_of(()).sizes["size"], names))
        if wildcard:
            matches_of = _wild(groups_of, wildcards)
            promises += [_matching(examined(c, names, matches_of(c.needs))) for c in require]
        else:
            promises += [examined(c, names, groups_of(c.needs)) for c in require]
    return Verification(released.rows, tuple(promises), tuple(classes))


def verify_folder(path: str | Path, most: int = EVERY) -> Verification:
    """Check a release folder from its files alone: the data file against the manifest, and every promise on its rows.

    The first promise, "integrity", is that the file is the one that the manifest describes: same bytes, rows, columns,
    class sizes and order of rows, and no identifying column. The others are those of the manifest; one whose measured
    value is not what the rows say does not hold. Distances compare with the distribution in the manifest (`whole`)
    where it has one, else with the released rows, and the note says so. Of large data at most `most` different tuples
    are held.

    Raises
    ------
    ReadError
        There is no manifest, it is malformed, or the data file is missing, unreadable or outside of the folder.
    """
    from sfumato.engines.files.bytes import read_back, sha256

    folder = Path(path)
    manifest = read_manifest(folder)
    data = manifest.data
    if data.file is None:
        raise ReadError(
            f'the data that "{folder / "manifest.json"}" describes are no file of this folder',
            hint="pass the table itself, with the folder of its manifest",
        )
    place = data_place(folder, data.file, data.format)
    faults = [] if sha256(place) == data.sha256.removeprefix("sha256:").lower() else ["its sha256 is another"]
    whole, trees = manifest.whole or {}, manifest.sensitive_hierarchies or {}
    try:
        if is_streamed(place, data.format, data.guarded):
            streamed = Streamed(place, data.format)
            faults += [] if data.order != CANONICAL or streamed.is_canonical(_quasi(manifest)) else [UNSORTED]
            released: Released = CountedTable(TupleCounts(streamed, most), whole, trees)
            return _checked(manifest, released, faults, "data file")
        table = read_back(place, data.format, data.guarded)
        released = RowTable(table, whole, trees)
        if data.order == CANONICAL and not is_canonical(table, sorted_by(table.columns, _quasi(manifest))):
            faults.append(UNSORTED)
    except InputError:
        if not faults:
            raise
        # the bytes were changed until they are no table any more: that is an answer, not an error
        lost = [broken(c, names, "the data file cannot be read as a table") for c, names in wanted(manifest)]
        return Verification(0, (_integrity([*faults, "it cannot be read as a table"], "data file"), *lost), ())
    return _checked(manifest, released, faults, "data file")


def verify_manifest(path: str | Path, table: Counting | TupleCounts | pl.DataFrame, most: int = EVERY) -> Verification:
    """Check a table that lies elsewhere, as in a database, against the manifest in a folder.

    Its number of rows, its columns and its class sizes are compared with those of the manifest, and every promise is
    checked on it. Whether its other values are those that were released cannot be told.

    Parameters: `path`, the folder; `table`, a store or a frame; `most`, how many different tuples of a store are held.
    """
    manifest = read_manifest(Path(path))
    whole, trees = manifest.whole or {}, manifest.sensitive_hierarchies or {}
    if isinstance(table, pl.DataFrame):
        return _checked(manifest, RowTable(table, whole, trees), [], "table")
    counts = table if isinstance(table, TupleCounts) else TupleCounts(table, most)
    return _checked(manifest, CountedTable(counts, whole, trees), [], "table")


def _checked(manifest: Manifest, released: Released, faults: Sequence[str], what: str) -> Verification:
    """Integrity and every promise of a manifest, on released rows."""
    asked = wanted(manifest)
    found = [*faults, *_shape_faults(manifest, released)]
    promises, classes = [], []
    for names in dict.fromkeys([*map(once, manifest.policy.quasi), *(names for _, names in asked)]):
        mine = {c: claim for (c, of), claim in asked.items() if of == names}
        absent = [name for name in names if name not in released.columns]
        if absent:
            promises += [broken(c, names, f"the {what} lacks {_listed(absent)}") for c in mine]
            continue
        needed = once(a for c in mine for a in c.needs if a in released.columns)
        groups_of = released.grouped(names, needed)
        classes.append(summary(groups_of(()).sizes["size"], names))
        matches_of = _wild(groups_of)
        for c, claim in mine.items():
            if not manifest.policy.wildcard:
                promises.append(_against(claim, c, names, groups_of(c.needs), what))
            elif c.wildcard:
                promises.append(_matching(_against(claim, c, names, matches_of(c.needs), what)))
            else:
                promises.append(broken(c, names, "it is not defined where a missing value matches any value"))
    found += _size_faults(manifest, classes) + _whole_faults(manifest, released)
    return Verification(released.rows, (_integrity(found, what), *promises), tuple(classes))


def _wild(groups_of: GroupsOf, wildcards: Sequence[str] = ()) -> GroupsOf:
    """The groups where a missing value, and these, match any value; each made once."""
    made: dict[int, tuple[Groups, WildcardGroups]] = {}

    def matches_of(needs: Sequence[str]) -> Groups:
        g = groups_of(needs)
        if id(g) not in made:
            made[id(g)] = g, WildcardGroups(_starred(g.keys, wildcards), g.text, g.given, g.trees, g.times)
        return made[id(g)][1]

    return matches_of


def _matching(promise: Promise) -> Promise:
    """A promise under the reading where a missing value matches any value, which its sentence says."""
    return replace(promise, sentence=promise.sentence.removesuffix(".") + ", where a missing value matches any value.")


def _sets(quasi: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    flat: list[Any] = [quasi] if isinstance(quasi, str) else list(quasi)
    sets = [flat] if flat and all(isinstance(name, str) for name in flat) else flat  # one set, given bare
    found = [once(names) for names in sets]
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
    return keys.select(pl.when(~pl.all().is_in(list(wildcards))).then(pl.all())) if wildcards else keys


def _against(claim: Claim | None, c: Any, names: Sequence[str], groups: Groups, what: str) -> Promise:
    """The promise as the rows keep it, and broken where the manifest claims another measured value."""
    absent = [a for a in c.needs if a not in groups.text]
    if absent:
        return broken(c, names, f"the {what} lacks {_listed(absent)}")
    try:
        promise = examined(c, names, groups)
    except PolicyError as error:
        return broken(c, names, f"cannot be checked: {error.what}")
    if claim is None:
        return promise
    notes = [] if claim.holds else ["the manifest itself says that it does not hold"]
    if claim.bound is not None and not _close(claim.bound, c.bound):
        notes.append(f"the manifest claims a bound of {claim.bound:g}")
    claimed, measured = claim.measured, promise.measured
    if claimed is not None and measured is not None and not _close(claimed, measured):
        notes.append(f"the manifest claims {claimed:g}, the rows say {measured:g}")
    if not notes:
        return promise
    return replace(promise, holds=False, note="; ".join([*notes, *filter(None, [promise.note])]))


def _close(claimed: float, found: float) -> bool:
    return math.isclose(claimed, found, rel_tol=1e-9, abs_tol=1e-9)


def _integrity(faults: Sequence[str], what: str) -> Promise:
    sentence = {
        "data file": "The data file is the one that the manifest describes, and has no identifying column.",
        "table": "The table has the columns, rows and class sizes that the manifest describes.",
    }[what]
    return Promise(INTEGRITY, {}, (), not faults, len(faults), 0, sentence, "; ".join(faults) or None)


def _shape_faults(manifest: Manifest, released: Released) -> list[str]:
    faults, names = [], [column.name for column in manifest.data.columns]
    gone = None if manifest.solution is None else manifest.solution.suppressed
    here, there = dict.fromkeys(released.columns), dict.fromkeys(names)
    if released.rows != manifest.data.rows:
        faults.append(f"it has {released.rows} rows, the manifest says {manifest.data.rows}")
    elif gone is not None and manifest.input is not None and manifest.data.rows + gone != manifest.input.rows:
        faults.append("the rows released and suppressed do not add up to those of the input")
    if released.columns != names:
        lacks, more = [n for n in there if n not in here], [n for n in here if n not in there]
        how = [f"{verb} {_listed(those)}" for verb, those in (("lacks", lacks), ("adds", more)) if those]
        faults.append("its columns are not those of the manifest: it " + " and ".join(how or ["has another order"]))
    identifying = [name for name in manifest.policy.identifying if name in here]
    if identifying:
        faults.append(f"it has identifying columns: {_listed(identifying)}")
    return faults


def _quasi(manifest: Manifest) -> list[str]:
    return [name for names in manifest.policy.quasi for name in names]


def _size_faults(manifest: Manifest, classes: Sequence[Mapping[str, Any]]) -> list[str]:
    faults = []
    for claimed in manifest.measured:
        mine = [found for found in classes if claimed.get("quasi", found["quasi"]) == found["quasi"]]
        if not mine:
            faults.append("the manifest has class sizes of columns that it does not name as quasi-identifying")
        for found in mine:
            other = [key for key in found if claimed.get(key, None if key in SIZES else found[key]) != found[key]]
            faults += [f"its class sizes are not those of the manifest: {_listed(other)}"] if other else []
    return faults


def _whole_faults(manifest: Manifest, released: Released) -> list[str]:
    """The table before suppression cannot have fewer records of a value than the release."""
    faults = []
    for name, counts in (manifest.whole or {}).items():
        here = released.marginal(name) if name in released.columns else {}
        short = sum(n > counts.get(value or "", 0) for value, n in here.items())
        if short or (manifest.input is not None and sum(counts.values()) != manifest.input.rows):
            faults.append(f'the manifest\'s distribution of "{name}" before suppression contradicts the rows')
    return faults


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def verify_store(
    store: Engine,
    *,
    quasi: Sequence[str] | Sequence[Sequence[str]],
    require: Iterable[Any] | Any,
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool = False,
    max_cells: int = DEFAULT_MAX_CELLS,
    say: Progress = quiet,
) -> Verification:
    """Which promises an out-of-core table keeps: what `sfumato.verify` says of it in memory.

    The store counts the distinct tuples of each set of quasi-identifiers, with each sensitive attribute that a
    criterion looks at; more than `max_cells` of them are refused, or audited in parts where the engine can.

    >>> from sfumato.engines.files.table import FileTable
    >>> verify_store(FileTable("out/*.parquet"), quasi=["age"], require="k-anonymity 5").holds  # doctest: +SKIP
    True
    """
    counts, promised = TupleCounts(store, max_cells, say), arguments.criteria(require)
    nothing = pl.DataFrame(schema=counts.schema)
    needed = [name for criterion in promised for name in criterion.needs]
    roles = arguments.roles_of(nothing, quasi, (), sensitive, (), None, needed)
    if store.in_parts and not wildcard and not hierarchies:
        sample, rows = store.sample(SAMPLE), store.rows()
        together = [tuple(dict.fromkeys((*names, *needed))) for names in roles.quasi]
        if max(estimate(sample, columns, counts.schema, rows) for columns in together) > max_cells:
            from sfumato.release.parts.verify import verify_on

            return verify_on(store.frame, roles.quasi, promised)  # type: ignore[attr-defined]
    trees = {}
    for name, recipe in arguments.recipes_of(nothing, hierarchies).items():
        frame, times = counts.entries([name])
        tree = recipe.build(microdata(frame, {name: "sensitive"}, {}, times=times).attribute(name).categories)
        trees[name] = wide_of(tree)
    return verify_released(CountedTable(counts, {}, trees), roles.quasi, promised, wildcard=wildcard)
