"""Verify a release folder from its files alone, or a table that lies elsewhere against the manifest of its folder."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.printed import printed_frame
from sfumato.core.progress import Progress, quiet
from sfumato.criteria.audit import Groups
from sfumato.criteria.model import Promise, broken, examined
from sfumato.engines.files.count import BATCH, CHANGED, singled
from sfumato.engines.files.source import written
from sfumato.engines.files.table import FileTable, ScannedFile
from sfumato.engines.labelled import labelled
from sfumato.engines.numbers import NumberForms
from sfumato.engines.order import CANONICAL, is_canonical, sorted_by
from sfumato.engines.protocol import COUNT, refuse_many
from sfumato.errors import InputError, PolicyError, ReadError
from sfumato.measures.table import Counting, TupleCounts
from sfumato.release.data_files import has_several
from sfumato.release.facts import FactFinding, check_private, check_public, is_private, unchecked
from sfumato.release.manifest import SYNTHESIS, Claim, Manifest, counted, of_population, read_manifest, wanted
from sfumato.release.marginals import holds_marginals, verify_marginals
from sfumato.release.population import stated_of_population
from sfumato.release.privacy import DIFFERENTIAL_PRIVACY, privacy_promise
from sfumato.release.set_folder import verify_set
from sfumato.release.stated import stated
from sfumato.release.verify import (
    INTEGRITY,
    CountedTable,
    Released,
    RowTable,
    Verification,
    by_wildcards,
    once,
    summary,
    where_apart,
    where_missing_matches,
)

UNSORTED = "its rows are not in canonical order"
EVERY = 1 << 40  # what is promised is verified, however many classes there are
SIZES = ("classes", "smallest", "largest", "sizes")  # what a manifest that has class sizes must say
LARGE = 200_000_000  # bytes of a file above which it is not read into memory
MANY = 20_000_000  # cells of a Parquet file, whose bytes tell little, above which it is not
STREAMED = ("parquet", "csv", "tsv")


def verify_folder(
    path: str | Path,
    most: int = EVERY,
    original: pl.DataFrame | None = None,
    people: Mapping[str, str] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    population: Any = None,
) -> Verification:
    """Check a release folder from its files alone: the data file against the manifest, and every promise on its rows.

    The first promise, "integrity", is that the file is the one that the manifest describes: same bytes, rows, columns,
    class sizes and order of rows, and no identifying column. The others are those of the manifest; one whose measured
    value is not what the rows say does not hold. Distances compare with the distribution in the manifest (`whole`)
    where it has one, else with the released rows, and the note says so. Facts of a masked table are checked on its
    rows, and those that compare it with its `original` where that is given. What is promised of people, who do not
    leave with the rows, is stated; with the `original`, and the column of it that names the "person" or "household" of
    each row in `people`, it is shown, reading labels by `hierarchies`; so is what is promised of a `population` where
    its table is given. Of large data at most `most` different tuples
    are held.

    Raises
    ------
    ReadError
        There is no manifest, it is malformed, or the data file is missing, unreadable or outside of the folder.
    """
    from sfumato.engines.files.bytes import hashed_runs, read_runs, sha256

    folder = Path(path)
    if has_several(folder):
        return verify_marginals(folder) if holds_marginals(folder) else verify_set(folder)
    manifest = read_manifest(folder)
    data = manifest.data
    if data.file is None:
        raise ReadError(
            f'the data that "{folder / "manifest.json"}" describes are no file of this folder',
            hint="pass the table itself, with the folder of its manifest",
        )
    place = data_place(folder, data.file, data.format)
    streams = is_streamed(place, data.format, data.guarded)
    found, runs = (sha256(place), None) if streams else hashed_runs(place, data.format)
    faults = [] if found == data.sha256.removeprefix("sha256:").lower() else ["its sha256 is another"]
    whole, paths = manifest.whole or {}, manifest.sensitive_hierarchies or {}
    owner = original, people, hierarchies, population, most
    try:
        if streams:
            streamed = Streamed(place, data.format, data.forms)
            faults += streamed.faults()
            faults += [] if data.order != CANONICAL or streamed.is_canonical(_quasi(manifest)) else [UNSORTED]
            counts = TupleCounts(labelled(streamed, data.forms), most)
            released: Released = CountedTable(counts, whole, paths)
            return _checked(manifest, released, faults, "data file", *owner)
        table, often = read_runs(place, data.format, data.guarded, runs)
        faults += data.forms.faults(table)
        table = data.forms.read(table)
        released = RowTable(table, whole, paths, often, apart=not manifest.policy.wildcard)
        if data.order == CANONICAL and not is_canonical(table, sorted_by(table.columns, _quasi(manifest))):
            faults.append(UNSORTED)
    except InputError:
        if not faults:
            raise
        # the bytes were changed until they are no table any more: that is an answer, not an error
        lost = [broken(c, names, "the data file cannot be read as a table") for c, names in wanted(manifest)]
        lost += _constructed(manifest)
        lost += [broken(c, names, "the data file cannot be read as a table") for c, names, _, _ in counted(manifest)]
        lost += [broken(c, names, "the data file cannot be read as a table") for c, names, _ in of_population(manifest)]
        return Verification(0, (_integrity([*faults, "it cannot be read as a table"], "data file"), *lost), ())
    return _checked(manifest, released, faults, "data file", *owner)


def verify_manifest(
    path: str | Path,
    table: Counting | TupleCounts | pl.DataFrame,
    most: int = EVERY,
    population: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> Verification:
    """Check a table that lies elsewhere, as in a database, against the manifest in a folder.

    Its number of rows, its columns and its class sizes are compared with those of the manifest, and every promise is
    checked on it. Whether its other values are those that were released cannot be told.

    Parameters: `path`, the folder; `table`, out-of-core or a frame as it was written, or counts of its labels; `most`,
    how many different tuples of an out-of-core one are held; `population` and `hierarchies` are as for a folder.
    """
    beside: dict[str, Any] = {"population": population, "hierarchies": hierarchies, "most": most}
    manifest = read_manifest(Path(path))
    whole, paths = manifest.whole or {}, manifest.sensitive_hierarchies or {}
    forms, faults = manifest.data.forms, list[str]()
    if not isinstance(table, TupleCounts):
        names = table.columns if isinstance(table, pl.DataFrame) else list(table.schema())
        if lacks := [n for column in forms.form for n in forms.names(column) if n not in names]:  # which is an answer
            forms, faults = NumberForms(), [f"it lacks {_listed(lacks)}, which numbers were written to"]
    if isinstance(table, pl.DataFrame):
        faults += forms.faults(table)
        rows = RowTable(forms.read(table), whole, paths, apart=not manifest.policy.wildcard)
        return _checked(manifest, rows, faults, "table", **beside)
    if not isinstance(table, TupleCounts):
        there = labelled(table, forms)
        faults += there.faults(quiet, most) if forms.form else []
        table = TupleCounts(there, most)
    return _checked(manifest, CountedTable(table, whole, paths), faults, "table", **beside)


def _checked(
    manifest: Manifest,
    released: Released,
    faults: Sequence[str],
    what: str,
    original: pl.DataFrame | None = None,
    people: Mapping[str, str] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    population: Any = None,
    most: int = EVERY,
) -> Verification:
    """Integrity, every promise and every fact of a manifest, on released rows."""
    asked = wanted(manifest)
    found = [*faults, *_shape_faults(manifest, released)]
    promises, classes = [], []
    known = {name for names in (*manifest.policy.quasi, *(names for _, names in asked)) for name in names}
    for names in dict.fromkeys([*map(once, manifest.policy.quasi), *(names for _, names in asked)]):
        mine = {c: claim for (c, of), claim in asked.items() if of == names}
        absent = [name for name in names if name not in released.columns]
        if absent:
            promises += [broken(c, names, f"the {what} lacks {_listed(absent)}") for c in mine]
            continue
        needed = once(a for c in mine for a in c.needs if a in released.columns)
        groups_of = released.grouped(names, needed)
        classes.append(summary(groups_of(()).sizes["size"], names))
        matches_of = by_wildcards(groups_of)
        for c, claim in mine.items():
            wildcard, text = manifest.policy.wildcard, groups_of(c.needs).text
            if not wildcard:
                one = _against(claim, c, names, groups_of(c.needs), what)
            elif c.wildcard:
                one = where_missing_matches(_against(claim, c, names, matches_of(c.needs), what))
            else:
                one = broken(c, names, "it is not defined where a missing value matches any value")
            promises.append(where_apart(one, {n: text[n] for n in c.needs if n in known and n in text}, wildcard))
    found += _size_faults(manifest, classes) + _whole_faults(manifest, released)
    texts = {column.name for column in manifest.data.columns if column.kind == "text"}
    facts = tuple(_fact(asdict(fact), released, original, manifest.changed, texts) for fact in manifest.facts)
    promises += _constructed(manifest)
    if manifest.people is not None:
        promises += stated(manifest, released, original, people, hierarchies)
    if manifest.population is not None:
        promises += stated_of_population(manifest, released, population, hierarchies or {}, most)
    return Verification(released.rows, (_integrity(found, what), *promises), tuple(classes), facts)


def _constructed(manifest: Manifest) -> list[Promise]:
    """What is promised by construction: stated as such, and broken where it contradicts itself."""
    if manifest.privacy is None:
        return []
    counted = [claim for claim in manifest.promises if claim.model == DIFFERENTIAL_PRIVACY and claim.quasi]
    if counted:  # which the rows can refute; beside that, it must be what the manifest says that it cost
        return [one for claim in counted if not (one := privacy_promise(manifest.privacy, claim)).holds]
    claims: list[Claim | None] = [claim for claim in manifest.promises if claim.by_construction]
    return [privacy_promise(manifest.privacy, claim) for claim in claims or [None]]


def _fact(
    fact: Mapping[str, Any],
    released: Released,
    original: pl.DataFrame | None,
    changed: Sequence[str],
    texts: Collection[str],
) -> FactFinding:
    """A fact of the manifest on released rows, and on the original where it compares with that."""
    if not is_private(fact):
        names = [n for n in fact["columns"] if n in released.columns]
        return check_public(*released.entries(names or released.columns[:1]), fact)  # a fact of rows has no column
    if original is None:
        return unchecked(fact, "it compares with the original")
    if not isinstance(released, RowTable):
        return unchecked(fact, "the release is too large to be compared row by row")
    table, often = released.entries(released.columns)
    rows = table if often is None else table[np.repeat(np.arange(table.height), often.to_numpy())]
    return check_private(original, rows, fact, changed, texts)


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
    elif (
        manifest.made_by != SYNTHESIS
        and manifest.privacy is None
        and manifest.input is not None
        and manifest.data.rows > (manifest.input.rows or 0)
    ):
        faults.append("it has more rows than the input")
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


def data_place(folder: Path, name: str, format: str) -> Path:
    """The data file, or the folder of its parts, which must lie in the folder itself, under its own name, no link."""
    try:
        place = folder / name
        fits = Path(name).name == name and not place.is_symlink()
        if place.is_dir():  # nothing may lie in it that is not counted
            parts = list(place.iterdir())
            fits = fits and format in STREAMED and bool(parts)
            fits = fits and all(p.is_file() and not p.is_symlink() and _is_part(p, format) for p in parts)
        else:
            fits = fits and place.is_file()
    except (OSError, ValueError):
        fits = False
    if not fits:
        raise ReadError(f'the data file that "{folder / "manifest.json"}" names is not in the folder')
    return place


def _is_part(file: Path, format: str) -> bool:
    return file.name.startswith("part-") and file.suffix == f".{format}"


def is_streamed(place: Path, format: str, guarded: bool) -> bool:
    """Whether the data are counted where they lie: parts, and files too large to be read into memory."""
    if place.is_dir():
        return True
    if format not in STREAMED or (format != "parquet" and not guarded):
        return False
    return place.stat().st_size > LARGE or (format == "parquet" and _cells(place) > MANY)


def _cells(file: Path) -> int:
    """Rows times columns of a Parquet file; 0 where it is none, which its reader will tell."""
    try:
        frame = pl.scan_parquet(file, glob=False, hive_partitioning=False)
        return int(frame.select(pl.len()).collect().item()) * len(frame.collect_schema())
    except (pl.exceptions.PolarsError, OSError):
        return 0


def _alike(dtype: pl.DataType) -> bool:
    """Whether a cluster sorts values of a type as their printed texts are sorted."""
    return dtype.is_integer() or isinstance(dtype, pl.String | pl.Boolean | pl.Date | pl.Datetime)


def _batches(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    return frame.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming")


def _sorted(frame: pl.LazyFrame, by: Sequence[str], forms: NumberForms) -> bool:
    forms, last = forms.some(by), None
    for batch in _batches(frame.select(n for name in by for n in forms.counted(name))):
        text = printed_frame(forms.read(batch))
        if not is_canonical(text if last is None else pl.concat([last, text]), by):
            return False
        last = text.tail(1) if text.height else last
    return True


class Streamed:
    """A released file, or a folder of parts, by the printed texts of its cells; `forms` says what stands for labels."""

    def __init__(self, place: Path, format: str, forms: NumberForms | None = None) -> None:
        self.place, self.format, self.forms = place, format, forms or NumberForms()

    @cached_property
    def _parts(self) -> list[FileTable | ScannedFile]:
        if self.format == "parquet":
            return [FileTable(self.place, format="parquet")]
        files = sorted(self.place.glob("part-*")) if self.place.is_dir() else [self.place]
        return [ScannedFile(file, self.format) for file in files]  # which takes the guard of text away

    def is_canonical(self, quasi: Sequence[str]) -> bool:
        """Whether the rows of each file stand in canonical order.

        Parts are sorted by a cluster, which prints some types in its own way: they are compared by the columns before
        the first of these, and parts of text not at all.
        """
        parts = self.place.is_dir()
        if parts and self.format != "parquet":
            return True
        try:
            for file in sorted(self.place.glob("part-*")) if parts else [self.place]:
                frame = written(file, self.format)
                types = self.forms.read(pl.DataFrame(schema=frame.collect_schema())).schema
                by = sorted_by(types, quasi)
                other = [name for name in by if not _alike(types[name])]
                by = by[: by.index(other[0])] if parts and other else by
                if by and not _sorted(frame, by, self.forms):
                    return False
        except (pl.exceptions.PolarsError, OSError):  # its message may hold cells
            raise ReadError(CHANGED) from None
        return True

    def faults(self) -> list[str]:
        """What is wrong with drawn values."""
        drawn = [n for name, form in self.forms.form.items() if form == "draw" for n in self.forms.names(name)]
        found: dict[str, None] = {}
        for part in self._parts if drawn else ():
            asked = [name for name in part.schema() if name in drawn]
            for batch in _batches(part.frame.select(asked)):
                found |= dict.fromkeys(self.forms.faults(batch))
        return list(found)

    def schema(self) -> dict[str, pl.DataType]:
        """Column to text, in order; all parts must have the same."""
        first, *others = (list(part.schema()) for part in self._parts)
        if any(names != first for names in others):
            raise ReadError(f'the parts in "{self.place}" do not have the same columns')
        return {name: pl.String() for name in first}

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""
        return singled(pl.concat([part.frame for part in self._parts]), sets)

    def count(self, columns: Sequence[str], report_progress: Progress, most: int) -> pl.DataFrame:
        """Distinct tuples of printed texts, and in `COUNT` how many rows have them."""
        names, cells = list(columns), []
        for part in self._parts:
            found = part.count(names, report_progress, most)
            cells.append(printed_frame(found.select(names)).with_columns(found.get_column(COUNT)))
        every = cells[0] if len(cells) == 1 else pl.concat(cells).group_by(names).agg(pl.col(COUNT).sum())
        refuse_many(every.height, most)
        return every
