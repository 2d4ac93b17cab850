"""Verify: which promises a released table keeps, from its rows alone, by code that shares nothing with the search."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.criteria import Model, criterion
from sfumato.criteria.audit import Counts, Groups, Wide
from sfumato.criteria.promise import Promise, broken, examined
from sfumato.criteria.wildcard import WildcardGroups
from sfumato.engines.printed import printed
from sfumato.errors import ColumnError, PolicyError, ReadError, SfumatoError, did_you_mean
from sfumato.measures.class_sizes import summary

if TYPE_CHECKING:
    from sfumato.hierarchy import Hierarchy


@dataclass(frozen=True)
class Verification:
    """Whether every promise holds, promise by promise, and the class sizes, one entry per set of quasi-identifiers."""

    holds: bool
    rows: int
    promises: tuple[Promise, ...]
    classes: tuple[dict[str, Any], ...]


def verify_table(
    released: pl.DataFrame,
    quasi: Sequence[Sequence[str]],
    require: Sequence[Any],
    *,
    whole: Mapping[str, Counts] | None = None,
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
    rows = _Rows(released, whole or {}, {a: _wide(h) for a, h in (hierarchies or {}).items()})
    stars = tuple(wildcards) if wildcard else None
    promises, classes = [], []
    for names in sets:
        groups = rows.groups(names, {a for c in require for a in c.needs})
        classes.append(summary(groups.sizes["size"], names))
        if stars is None:
            promises += [examined(c, names, groups) for c in require]
        else:
            groups = WildcardGroups(_starred(groups.keys, stars), groups.text, groups.given, groups.trees)
            promises += [_matching(examined(c, names, groups)) for c in require]
    return _verification(released.height, promises, classes)


def verify_folder(path: str | Path) -> Verification:
    """Check a release folder from its files alone: the data file against the manifest, and every promise on its rows.

    The first promise, "integrity", is that the file is the one that the manifest describes: same bytes, rows, columns
    and class sizes, and no identifying column. The others are those of the manifest; one whose measured value is not
    what the rows say does not hold. Distances compare with the distribution in the manifest (`whole`) where it has one,
    else with the released rows, and the note says so.

    Raises
    ------
    ReadError
        There is no manifest, it is malformed, or the data file is missing, unreadable or outside of the folder.
    """
    from sfumato.engines.write import read_back

    folder = Path(path)
    manifest = _manifest(folder)
    data = manifest.data
    file = _inside(folder, data.file)
    faults = [] if _sha256(file) == data.sha256.removeprefix("sha256:").lower() else ["its sha256 is another"]
    wanted = _wanted(manifest)
    try:
        table = read_back(file, data.format, data.guarded)
    except SfumatoError:
        if not faults:
            raise
        # the bytes were changed until they are no table any more: that is an answer, not an error
        lost = [broken(c, names, "the data file cannot be read as a table") for c, names in wanted]
        return _verification(0, [_integrity([*faults, "it cannot be read as a table"]), *lost], [])
    faults += _shape_faults(manifest, table)
    rows = _Rows(table, manifest.whole or {}, manifest.sensitive_hierarchies or {})
    promises, classes = [], []
    for names in dict.fromkeys([*map(_once, manifest.policy.quasi), *(names for _, names in wanted)]):
        mine = {c: claim for (c, of), claim in wanted.items() if of == names}
        absent = [name for name in names if name not in table.columns]
        if absent:
            promises += [broken(c, names, f"the data file lacks {_listed(absent)}") for c in mine]
            continue
        groups = rows.groups(names, {a for c in mine for a in c.needs if a in table.columns})
        classes.append(summary(groups.sizes["size"], names))
        if not manifest.policy.wildcard:
            promises += [_against(claim, c, names, groups) for c, claim in mine.items()]
            continue
        groups = WildcardGroups(groups.keys, groups.text, groups.given, groups.trees)
        for c, claim in mine.items():
            undefined = broken(c, names, "it is not defined where a missing value matches any value")
            promises.append(_matching(_against(claim, c, names, groups)) if c.wildcard else undefined)
    faults += _size_faults(manifest, classes) + _whole_faults(manifest, table)
    return _verification(table.height, [_integrity(faults), *promises], classes)


class _Rows:
    """Released rows, each column printed once."""

    def __init__(self, table: pl.DataFrame, whole: Mapping[str, Counts], trees: Mapping[str, Wide]) -> None:
        self.table, self.whole, self.trees = table, whole, trees
        self._text: dict[str, pl.Series] = {}

    def text(self, name: str) -> pl.Series:
        if name not in self._text:
            self._text[name] = printed(self.table.get_column(name))
        return self._text[name]

    def groups(self, names: Sequence[str], attributes: Iterable[str]) -> Groups:
        keys = pl.DataFrame([self.text(name) for name in names])
        return Groups(keys, {a: self.text(a) for a in attributes}, self.whole, self.trees)


def _matching(promise: Promise) -> Promise:
    """A promise under the reading where a missing value matches any value, which its sentence says."""
    return replace(promise, sentence=promise.sentence.removesuffix(".") + ", where a missing value matches any value.")


def _verification(rows: int, promises: Sequence[Promise], classes: Sequence[dict[str, Any]]) -> Verification:
    return Verification(rows > 0 and all(p.holds for p in promises), rows, tuple(promises), tuple(classes))


def _sets(quasi: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    flat: list[Any] = [quasi] if isinstance(quasi, str) else list(quasi)
    sets = [flat] if flat and all(isinstance(name, str) for name in flat) else flat  # one set, given bare
    found = [_once(names) for names in sets]
    if not found or not all(found):
        raise PolicyError(
            "no quasi-identifying column is given", allowed="one set of columns or more, none of them empty"
        )
    return found


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _wide(hierarchy: Hierarchy | Wide) -> Wide:
    labels: Any = getattr(hierarchy, "labels", None)
    if labels is None:
        return hierarchy  # type: ignore[return-value]
    ancestor = hierarchy.ancestor  # type: ignore[union-attr]
    return list(zip(*([of[i] for i in line] for of, line in zip(labels, ancestor.tolist(), strict=True)), strict=True))


def _starred(keys: pl.DataFrame, wildcards: Sequence[str]) -> pl.DataFrame:
    return keys.select(pl.when(~pl.all().is_in(list(wildcards))).then(pl.all())) if wildcards else keys


@dataclass(frozen=True)
class _Column:
    name: str


@dataclass(frozen=True)
class _Data:
    file: str
    format: str
    sha256: str
    rows: int
    columns: list[_Column]
    guarded: bool = True


@dataclass(frozen=True)
class _Policy:
    quasi: list[list[str]]
    require: list[dict[str, Any]]
    identifying: list[str] = field(default_factory=list)
    wildcard: bool = False


@dataclass(frozen=True)
class _Claim:
    model: str
    parameters: dict[str, Any]
    quasi: list[str]
    measured: float | None = None


@dataclass(frozen=True)
class _Input:
    rows: int


@dataclass(frozen=True)
class _Manifest:
    """What verify reads of a manifest."""

    format: int
    data: _Data
    policy: _Policy
    input: _Input | None = None
    promises: list[_Claim] = field(default_factory=list)
    measured: list[dict[str, Any]] = field(default_factory=list)
    whole: dict[str, dict[str, int]] | None = None
    sensitive_hierarchies: dict[str, list[list[str]]] | None = None


def _manifest(folder: Path) -> _Manifest:
    from pydantic import TypeAdapter, ValidationError

    file = folder / "manifest.json"
    try:
        text = file.read_bytes()
    except OSError:
        hint = "name the folder that holds the data and its manifest"
        raise ReadError(f'"{folder}" is no release: there is no manifest.json to read in it', hint=hint) from None
    try:
        manifest = TypeAdapter(_Manifest).validate_json(text, strict=True)
    except ValidationError as error:
        faults = []
        for e in error.errors(include_input=False, include_url=False)[:5]:
            place = e["loc"][:2] if e["loc"][:1] == ("whole",) else e["loc"]  # deeper down are values
            faults.append(": ".join(filter(None, [".".join(map(str, place)), e["msg"]])))
        raise ReadError(f'"{file}" is no manifest of a release: {"; ".join(faults)}') from None
    if manifest.format != 1:
        raise ReadError(f'"{file}" has a format that this version does not know', got=manifest.format, allowed=1)
    if not manifest.policy.quasi or not all(manifest.policy.quasi):
        raise ReadError(f'"{file}" is no manifest of a release: policy.quasi has no columns')
    return manifest


def _inside(folder: Path, name: str) -> Path:
    """The data file, which must lie inside the folder, also behind links."""
    try:
        file = (folder / name).resolve()
        fits = file.is_relative_to(folder.resolve()) and file.is_file()
    except (OSError, ValueError):
        fits = False
    if not fits:
        raise ReadError(f'the data file that "{folder / "manifest.json"}" names is not in the folder')
    return file


def _sha256(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        raise ReadError(f'"{file}" cannot be read') from None


def _wanted(manifest: _Manifest) -> dict[tuple[Model, tuple[str, ...]], _Claim | None]:
    """Every criterion over every set of quasi-identifiers, of the policy and of the promises, with what is claimed."""

    def built(where: str, model: object, parameters: Mapping[str, Any]) -> Any:
        try:
            return criterion(str(model), **parameters)
        except PolicyError as error:
            raise ReadError(f"manifest.json: {where} makes no sense: {error.what}") from None

    sets = [_once(names) for names in manifest.policy.quasi]
    found: dict[tuple[Model, tuple[str, ...]], _Claim | None] = {}
    for i, entry in enumerate(manifest.policy.require):
        rest = {key: value for key, value in entry.items() if key != "model"}
        made = built(f"policy.require.{i}", entry.get("model"), rest)
        found |= {(made, names): None for names in sets}
    for i, claim in enumerate(manifest.promises):
        found[built(f"promises.{i}", claim.model, claim.parameters), _once(claim.quasi)] = claim
    return found


def _against(claim: _Claim | None, c: Any, names: Sequence[str], groups: Groups) -> Promise:
    """The promise as the rows keep it, and broken where the manifest claims another measured value."""
    absent = [a for a in c.needs if a not in groups.text]
    if absent:
        return broken(c, names, f"the data file lacks {_listed(absent)}")
    try:
        promise = examined(c, names, groups)
    except PolicyError as error:
        return broken(c, names, f"cannot be checked: {error.what}")
    given = not c.against_whole or all(a in groups.given for a in c.needs)  # else q is not the one of the claim
    if claim is None or claim.measured is None or promise.measured is None or not given:
        return promise
    if math.isclose(claim.measured, promise.measured, rel_tol=1e-9, abs_tol=1e-9):
        return promise
    note = f"the manifest claims {claim.measured:g}, the rows say {promise.measured:g}"
    return replace(promise, holds=False, note="; ".join(filter(None, [note, promise.note])))


def _integrity(faults: Sequence[str]) -> Promise:
    sentence = "The data file is the one that the manifest describes, and has no identifying column."
    return Promise("integrity", {}, (), not faults, len(faults), 0, sentence, "; ".join(faults) or None)


def _shape_faults(manifest: _Manifest, table: pl.DataFrame) -> list[str]:
    faults, names = [], [column.name for column in manifest.data.columns]
    if table.height != manifest.data.rows:
        faults.append(f"it has {table.height} rows, the manifest says {manifest.data.rows}")
    if table.columns != names:
        lacks, more = [n for n in names if n not in table.columns], [n for n in table.columns if n not in names]
        how = [f"{verb} {_listed(those)}" for verb, those in (("lacks", lacks), ("adds", more)) if those]
        faults.append("its columns are not those of the manifest: it " + " and ".join(how or ["has another order"]))
    identifying = [name for name in manifest.policy.identifying if name in table.columns]
    if identifying:
        faults.append(f"it has identifying columns: {_listed(identifying)}")
    return faults


def _size_faults(manifest: _Manifest, classes: Sequence[Mapping[str, Any]]) -> list[str]:
    faults = []
    for claimed in manifest.measured:
        for found in classes:
            if claimed.get("quasi", found["quasi"]) == found["quasi"]:
                other = [key for key in ("classes", "smallest", "largest", "sizes") if claimed.get(key) != found[key]]
                faults += [f"its class sizes are not those of the manifest: {_listed(other)}"] if other else []
    return faults


def _whole_faults(manifest: _Manifest, table: pl.DataFrame) -> list[str]:
    """The table before suppression cannot have fewer records of a value than the release."""
    faults = []
    for name, counts in (manifest.whole or {}).items():
        released = (
            dict(printed(table.get_column(name)).alias("value").value_counts(name="number of rows").iter_rows())
            if name in table.columns
            else {}
        )
        short = sum(n > counts.get(value or "", 0) for value, n in released.items())
        if short or (manifest.input is not None and sum(counts.values()) != manifest.input.rows):
            faults.append(f'the manifest\'s distribution of "{name}" before suppression contradicts the rows')
    return faults


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
