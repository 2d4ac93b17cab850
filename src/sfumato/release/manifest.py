"""The manifest of a release: every value that is published enters it here, and whoever verifies reads it here.

What is measured comes from a `Shown`: counts of the released rows, and how many others there were. The rest is the
policy and how the release was made. The table behind the release is out of reach: nothing here can ask for it.

Manifests outlive versions. `FORMAT` is the number of the form that is written, `READ` are those that are read: a number
once written is read for good. A field may be added within a format, where a reader that ignores it still verifies all
that is promised. What changes the meaning of a field, or takes one away, gets a new number. A manifest whose number is
not known is refused, not half understood.

A released stream has a manifest of another form (`series/streams`), which grows with each batch. Its number is
`STREAM`, under "stream" and not "format", and follows the same rules; each reader refuses the manifest of the other.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from sfumato.core.hierarchy import Recipe, kind_of
from sfumato.core.protocols import BY_CONSTRUCTION, PROVEN
from sfumato.criteria import CRITERIA, Model, criterion
from sfumato.criteria.audit import Wide
from sfumato.engines.documents import MANIFEST, canonical, read_document
from sfumato.engines.numbers import NumberForms, forms_written
from sfumato.errors import PolicyError, ReadError
from sfumato.release.privacy import DIFFERENTIAL_PRIVACY

if TYPE_CHECKING:
    from sfumato.core.policy import Policy
    from sfumato.core.roles import Roles
    from sfumato.losses.released import Losses, ReleasedColumn
    from sfumato.release.verify import Audit

NAME = MANIFEST
FORMAT = 2  # that is written
STREAM = 1  # of a stream, under "stream": its own number
READ = (1, 2)  # that are read; in format 1, `data` names its one file, and every release is a recoding
RECODING, SYNTHESIS = "recoding", "synthesis"  # of the words for what made a release, those that matter here
MARGINALS = "marginals"  # tables of counts, which `release/marginals.py` reads
COPY = "copy"  # the column that numbers the copies of a synthetic table, and its role
FILE = ("file", "format", "sha256", "guarded")  # what is said of a data file
MOST_ROWS = 1 << 53  # of any table
MOST_PROMISES = 100_000
MOST_TABLES = 1000  # of a release
MOST_LEVELS = 100


@dataclass(frozen=True, eq=False)
class Shown:
    """What released rows show: their types, the labels of the columns that matter, class sizes, and promises."""

    schema: Mapping[str, pl.DataType]
    columns: Mapping[str, ReleasedColumn]  # quasi-identifiers, and attributes that criteria look at
    sizes: Mapping[int, int]  # size to number of classes, by all quasi-identifiers together
    audit: Audit
    suppressed: int
    whole: Mapping[str, Mapping[str, int]] | None  # distributions of the whole table that may be published
    paths: Mapping[str, Wide]  # of the hierarchies that a distance runs along, those of released values


@dataclass(frozen=True)
class Method:
    """How a release was made."""

    search: Mapping[str, Any]
    chosen: tuple[str, str] | None  # why the search was picked, and the runner-up
    recoding: str
    levels: Mapping[str, int | None] | None  # None for a level of a hierarchy that was made from the table
    optimal: bool
    proven: str | None
    reproducible: bool
    wildcard: bool
    normalise: tuple[str, ...]  # sensitive columns in one spelling per value
    order: str  # of the released rows
    loss: Mapping[str, Any]  # its name and parameters
    row_key: tuple[str, ...] = ()  # columns by which rows with equal values are dealt to classes, out of core


def released(
    made_by: str, rows: int, columns: Sequence[Mapping[str, Any]], order: str, before: int | None, seed: int | None,
    fingerprint: str | None, place: Mapping[str, Any], reading: Mapping[str, Any],
    about: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What the manifest of every release says, whatever made it: no clock, no duration, so that the same input gives
    the same bytes.

    `made_by` is an open word: "recoding", "masking", ... `place` is what is known of where the rows are; `fingerprint`
    that of the input, keyed, and `before` its rows, where they may be told; `reading` how its file was read where that
    was not as written; `about` the owner's words.
    """
    data = {"data": {"rows": rows, "columns": list(columns), "order": order}}
    return placed(common(made_by, data, before, seed, fingerprint, reading, about), place)


def common(
    made_by: str, published: Mapping[str, Any], before: int | None, seed: int | None, fingerprint: str | None,
    reading: Mapping[str, Any], about: Mapping[str, Any] | None,
) -> dict[str, Any]:  # fmt: skip
    """What every manifest says, around what is `published`."""
    return {
        "sfumato": version("sfumato"),
        "format": FORMAT,
        "made_by": made_by,
        **({"about": dict(about)} if about else {}),
        "files": [],
        **published,
        "seed": seed,
        "input": {"rows": before, "fingerprint": fingerprint, **({"reading": dict(reading)} if reading else {})},
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("numba", "numpy", "polars")},
    }


def placed(manifest: Mapping[str, Any], place: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest with where the data are: a file of the folder, or a table elsewhere.

    >>> placed({"data": {"rows": 3}}, {"file": "data.csv", "format": "csv", "sha256": "0", "guarded": True})["files"]
    [{'file': 'data.csv', 'format': 'csv', 'sha256': '0', 'guarded': True}]
    """
    files, other = list(manifest.get("files", ())), {name: value for name, value in place.items() if name not in FILE}
    if "file" in place:
        files = [{name: place[name] for name in FILE}]
    else:
        other = dict(place)
    return {**manifest, "files": files, "data": {**other, **manifest["data"]}}


def data_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What a manifest of any format says of its data, with their file beside it where there is one.

    >>> data_of({"format": 2, "files": [{"file": "data.csv"}], "data": {"rows": 3}})
    {'file': 'data.csv', 'rows': 3}
    """
    files, data = manifest.get("files"), manifest.get("data")
    first = files[0] if isinstance(files, list) and files and isinstance(files[0], Mapping) else {}
    return {**first, **(data if isinstance(data, Mapping) else {})}


def manifest(
    shown: Shown, policy: Policy, roles: Roles, recipes: Mapping[str, Recipe], levels: Mapping[str, tuple[int, int]],
    method: Method, losses: Losses, seed: int | None, fingerprint: str | None, data: Mapping[str, Any],
    reading: Mapping[str, Any], about: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The manifest of a recoding."""
    role = dict.fromkeys(roles.sensitive, "sensitive") | dict.fromkeys(policy.columns, "quasi")
    if roles.weight:
        role[roles.weight] = "weight"
    kinds = {name: kind_of(dtype) for name, dtype in shown.schema.items()}
    kinds |= {name: column.kind for name, column in shown.columns.items()}
    columns = [{"name": n, "role": role.get(n, "insensitive"), "kind": kinds[n]} for n in shown.schema]
    before = shown.audit.rows + shown.suppressed
    common = released(
        RECODING, shown.audit.rows, columns, method.order, before, seed, fingerprint, data, reading, about
    )  # fmt: skip
    return {
        **common,
        "policy": {
            "identifying": list(roles.identifying),
            "quasi": [list(names) for names in policy.quasi],
            "sensitive": list(roles.sensitive),
            "unprotected": list(roles.unprotected),
            "insensitive": [c["name"] for c in columns if c["role"] == "insensitive"],
            "rest": roles.rest,
            "require": [{"model": c.model, **c.parameters()} for c in policy.require],
            "suppression": policy.suppression,
            "wildcard": method.wildcard,
            "loss": dict(method.loss),
            "search": dict(method.search),
            "chosen": None if method.chosen is None else dict(zip(("why", "runner_up"), method.chosen, strict=True)),
            "hierarchies": {name: recipe.describe() for name, recipe in recipes.items()},
            "levels": {name: list(bounds) for name, bounds in levels.items()},
            "ends": policy.ends,
            "tidy": policy.tidy,
            **({"normalise": list(method.normalise)} if method.normalise else {}),
            **({"profile": policy.profile} if policy.profile else {}),
            **({"row_key": list(method.row_key)} if method.row_key else {}),
        },
        "solution": {
            "recoding": method.recoding,
            "levels": None if method.levels is None else dict(method.levels),
            "optimal": method.optimal,
            "proven": method.proven,
            "reproducible": method.reproducible,
            "suppressed": shown.suppressed,
            "suppression_limit": policy.limit(before),
            "loss": losses[0],
            "loss_per_attribute": losses[1],
        },
        "promises": [asdict(promise) for promise in shown.audit.promises],
        "measured": list(shown.audit.classes),
        "whole": shown.whole,
        "sensitive_hierarchies": {name: [list(path) for path in paths] for name, paths in shown.paths.items()},
    }  # fmt: skip


@dataclass(frozen=True)
class ManifestColumn:
    name: str
    role: str = ""
    kind: str = ""


@dataclass(frozen=True)
class DataFile:
    """A data file of the folder."""

    file: str
    format: str
    sha256: str
    guarded: bool = True


@dataclass(frozen=True)
class Data:
    """The released table: a file of the folder, or, without `file`, a table that lies elsewhere."""

    rows: int
    columns: list[ManifestColumn]
    format: str = ""
    file: str | None = None
    sha256: str = ""
    guarded: bool = True
    order: Literal["canonical", "random", "input"] | None = None
    numbers: dict[str, dict[str, str]] = field(default_factory=dict)  # columns that are not written as labels

    @property
    def forms(self) -> NumberForms:
        """How labels are read off the columns that are written."""
        return forms_written(self.numbers)


@dataclass(frozen=True)
class ManifestPolicy:
    quasi: list[list[str]]
    require: list[dict[str, Any]]
    identifying: list[str] = field(default_factory=list)
    sensitive: list[str] = field(default_factory=list)
    wildcard: bool = False


@dataclass(frozen=True)
class Claim:
    model: str
    parameters: dict[str, Any]
    quasi: list[str]
    measured: float | None = None
    bound: float | None = None
    holds: bool = True
    how: str = PROVEN

    @property
    def by_construction(self) -> bool:
        """Whether it is a promise that no rows can show, nor refute: of no other model may that be said."""
        return self.how == BY_CONSTRUCTION and self.model == DIFFERENTIAL_PRIVACY and not self.quasi


@dataclass(frozen=True)
class ManifestUnit:
    """Whom promises count: the persons or households that a column of the original names.

    `released` says whether the column leaves, with one pseudonym for each of them."""

    unit: Literal["person", "household"]
    column: str
    released: bool = False


@dataclass(frozen=True)
class ManifestPeople:
    """What is promised of people and not of rows."""

    counted: list[ManifestUnit]
    promises: list[Claim]


@dataclass(frozen=True)
class ManifestPopulation:
    """The population that promises count: what its table is called, how many people it has, and a mark of what is known
    of them."""

    name: str
    rows: int
    sha256: str
    promises: list[Claim]


@dataclass(frozen=True)
class StatedFact:
    """A fact of a masked table, which `release.facts` checks."""

    fact: str
    columns: list[str]
    parameters: dict[str, Any] = field(default_factory=dict)
    step: int | None = None


@dataclass(frozen=True)
class ManifestInput:
    rows: int | None = None  # None where a synthetic table does not tell
    fingerprint: str | None = None


@dataclass(frozen=True)
class ManifestSynthesis:
    """How the rows of a synthetic table were drawn."""

    m: int = 1
    hold_out: float = 0.0
    partial: bool = False  # rows are those of people, with some columns made anew
    copies_people: bool = False  # every row is a person's
    mixes_people: bool = False  # every row is a person's in part
    copies: str = "keep"  # what became of rows that repeat a unique original row
    fitted_to: str | None = None  # of an out-of-core table: a sample, or counts
    unit: str | None = None  # the column of rows that were drawn together


@dataclass(frozen=True)
class ManifestSolution:
    suppressed: int | None = None
    suppression_limit: int | None = None


@dataclass(frozen=True)
class Manifest:
    """What verify reads of a manifest."""

    format: int
    data: Data
    policy: ManifestPolicy
    made_by: str = RECODING
    files: list[DataFile] = field(default_factory=list)
    facts: list[StatedFact] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)  # columns whose values steps changed
    perturbed: list[str] = field(default_factory=list)  # and those of them that hold other values now
    seed: int | None = None
    synthesis: ManifestSynthesis | None = None
    input: ManifestInput | None = None
    solution: ManifestSolution | None = None
    promises: list[Claim] = field(default_factory=list)
    measured: list[dict[str, Any]] = field(default_factory=list)
    whole: dict[str, dict[str, int]] | None = None
    sensitive_hierarchies: dict[str, list[list[str]]] | None = None
    people: ManifestPeople | None = None  # whom promises count, where a person may have several rows
    population: ManifestPopulation | None = None  # that promises count beside the released rows
    privacy: dict[str, Any] | None = None  # of a differentially private release: its cost, and what it is made of


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Put a manifest into a folder: the same one always as the same bytes."""
    text = json.dumps(manifest, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    (folder / NAME).write_text(text, encoding="utf-8")


def load_manifest(folder: Path) -> dict[str, Any]:
    """What the manifest of a folder says, as it stands; a ReadError where there is none, or no JSON."""
    if not (folder / NAME).exists():
        hint = "name the folder that holds the data and its manifest"
        raise ReadError(f'"{folder}" is not a release: it has no {NAME}', hint=hint)
    found: dict[str, Any] = read_document(folder / NAME)
    return found


def is_release(folder: Path) -> bool:
    """Whether a folder has a manifest that Sfumato wrote.

    >>> is_release(Path("/"))
    False
    """
    try:
        return "sfumato" in load_manifest(folder)
    except (ReadError, TypeError):
        return False


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a release folder, or a ReadError that says what is wrong with it."""
    file = folder / NAME
    found = load_manifest(folder)
    if isinstance(found, Mapping) and "tables" in found:
        tables = found["tables"]
        held = "several tables, not one"
        if found.get("made_by") == MARGINALS:
            held = "tables of counts, not rows"
        elif isinstance(tables, list) and len(tables) == 1:
            held = "baskets or patterns, not rows of people"
        raise ReadError(f'"{folder}" holds {held}', hint="verify the folder, or name one of its files")
    if isinstance(found, Mapping) and "stream" in found:
        raise ReadError(f'"{folder}" holds a stream, not one table', hint="verify the folder, or name one of its files")
    manifest = validated(Manifest, found, file, "a release")
    if manifest.format > 1:
        if len(manifest.files) > 1:
            raise ReadError(f'"{file}" lists several data files, and this version knows releases of one')
        stray = [name for name in FILE if getattr(manifest.data, name) != getattr(Data, name)]
        if manifest.files and stray:
            raise ReadError(f'"{file}" is no manifest of a release: data.{stray[0]} belongs to its file')
        one = {} if not manifest.files else vars(manifest.files[0])
        manifest = replace(manifest, data=replace(manifest.data, **one))
    if fault := _fault(manifest):
        raise ReadError(f'"{file}" is no manifest of a release: {fault}')
    return manifest


def validated(kind: Any, found: Any, file: Path, what: str) -> Any:
    """A manifest of some kind, of a format that is known, or a ReadError that says what is wrong with it."""
    from pydantic import ValidationError

    try:
        manifest = _adapter(kind).validate_json(canonical(found), strict=True)
    except ValidationError as error:
        faults = []
        for e in error.errors(include_input=False, include_url=False)[:5]:
            place = e["loc"][:2] if e["loc"][:1] in (("whole",), ("values",)) else e["loc"]  # deeper down are values
            faults.append(": ".join(filter(None, [".".join(map(str, place)), e["msg"]])))
        raise ReadError(f'"{file}" is no manifest of {what}: {"; ".join(faults)}') from None
    if manifest.format not in READ:
        allowed = ", ".join(map(str, READ))
        raise ReadError(f'"{file}" has a format that this version does not know', got=manifest.format, allowed=allowed)
    return manifest


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _fault(manifest: Manifest) -> str | None:
    """What no release says of itself, though its types are right; None where there is nothing of the kind."""
    data, policy = manifest.data, manifest.policy
    lacking = [name for name in ("format", "sha256") if not getattr(data, name)]
    if data.file is not None and lacking:
        return f"data.{lacking[0]}: Field required"
    proven = [claim for claim in manifest.promises if not claim.by_construction]
    promising = manifest.made_by == RECODING or policy.require or proven  # others may promise nothing
    private = [claim for claim in manifest.promises if claim.model == DIFFERENTIAL_PRIVACY]
    if private and manifest.privacy is None:
        return "it promises privacy by construction, and does not say what of: privacy is missing"
    if manifest.privacy is not None and (told := _told_of_original(manifest)):
        return f"it is private by construction, and {told[0]} tells of the original"
    if not all(policy.quasi) or not all(claim.quasi for claim in proven) or (promising and not policy.quasi):
        return "policy.quasi or a promise has no columns"
    if len(manifest.facts) > MOST_PROMISES:
        return f"it states more than {MOST_PROMISES} facts"
    if len(manifest.promises) + len(policy.require) * len(policy.quasi) > MOST_PROMISES:
        return f"it makes more than {MOST_PROMISES} promises"
    untold = manifest.made_by == SYNTHESIS or manifest.privacy is not None
    if manifest.input is not None and manifest.input.rows is None and not untold:
        return "input.rows is missing"
    counts = {"data.rows": data.rows, "input.rows": (manifest.input.rows or 0) if manifest.input is not None else 0}
    counts |= {f"solution.{name}": n or 0 for name, n in vars(manifest.solution or ManifestSolution()).items()}
    for name, of in (manifest.whole or {}).items():
        counts |= {f"whole.{name}": n for n in (sum(of.values()), *of.values()) if not 0 <= n <= MOST_ROWS}
        if not any(of.values()):
            return f"whole.{name} counts no rows"
    beyond = [name for name, n in counts.items() if not 0 <= n <= MOST_ROWS]
    if beyond:
        return f"{beyond[0]} is no number of rows"
    return next((f for item in (manifest.sensitive_hierarchies or {}).items() if (f := _tree_fault(*item))), None)


def _told_of_original(manifest: Manifest) -> list[str]:
    """What a manifest tells of the table behind the release, and that of a private one does not."""
    parts = {"input": manifest.input or ManifestInput(), "solution": manifest.solution or ManifestSolution()}
    told = [f"{part}.{name}" for part, of in parts.items() for name, value in vars(of).items() if value is not None]
    return told + (["whole"] if manifest.whole else [])


def _tree_fault(name: str, rows: Sequence[Sequence[str]]) -> str | None:
    """Why the rows, a label per level from the value to the root, are no tree; None where they are one."""
    where = f"sensitive_hierarchies.{name}"
    if not rows or not rows[0]:
        return f"{where} is empty"
    if len(rows[0]) > MOST_LEVELS or any(len(row) != len(rows[0]) for row in rows):
        return f"{where} must have rows of one length, of at most {MOST_LEVELS} levels"
    if len({row[0] for row in rows}) < len(rows):
        return f"{where} has a value twice"
    if len({row[-1] for row in rows}) > 1:
        return f"{where} has more than one root"
    for level in range(len(rows[0]) - 1):
        if len({(row[level], row[level + 1]) for row in rows}) > len({row[level] for row in rows}):
            return f"{where} is not nested: labels that are equal at level {level} differ at level {level + 1}"
    return None


def counted(manifest: Manifest) -> list[tuple[Model, tuple[str, ...], ManifestUnit, Claim]]:
    """Every promise that counts people: its criterion, set of quasi-identifiers, whom it counts, what is claimed."""
    if manifest.people is None:
        return []
    units = {one.unit: one for one in manifest.people.counted}
    found = []
    for i, claim in enumerate(manifest.people.promises):
        kinds = [kind for kind in units if claim.parameters.get(kind) == units[kind].column]
        own = {key: value for key, value in claim.parameters.items() if key not in units}
        if len(kinds) != 1 or claim.model not in CRITERIA or not claim.quasi:
            raise ReadError(f"manifest.json: people.promises.{i} does not say what is counted, or of what model")
        try:
            made: Any = criterion(claim.model, **own)
        except PolicyError as error:
            raise ReadError(f"manifest.json: people.promises.{i} makes no sense: {error.what[:300]}") from None
        if made.by_people is None:
            raise ReadError(f"manifest.json: people.promises.{i} is of a model that does not count people")
        found.append((made, tuple(dict.fromkeys(claim.quasi)), units[kinds[0]], claim))
    return found


def of_population(manifest: Manifest) -> list[tuple[Model, tuple[str, ...], Claim]]:
    """Every promise that counts a population: its criterion, set of quasi-identifiers, and what is claimed."""
    found = []
    for i, claim in enumerate([] if manifest.population is None else manifest.population.promises):
        where = f"manifest.json: population.promises.{i}"
        if claim.model not in CRITERIA or not claim.quasi:
            raise ReadError(f"{where} does not say what is promised of what columns")
        try:
            made: Any = criterion(claim.model, **claim.parameters)
        except PolicyError as error:
            raise ReadError(f"{where} makes no sense: {error.what[:300]}") from None
        if made.of_population is None:
            raise ReadError(f"{where} is of a model that does not count a population")
        found.append((made, tuple(dict.fromkeys(claim.quasi)), claim))
    return found


def wanted(manifest: Manifest) -> dict[tuple[Model, tuple[str, ...]], Claim | None]:
    """Every criterion over every set of quasi-identifiers, or over its own, of policy and promises, with what is
    claimed."""

    def built(where: str, model: object, parameters: Mapping[str, Any]) -> Any:
        if str(model) not in CRITERIA:
            what = f'manifest.json: {where} promises "{str(model)[:100]}", a privacy model that is not known here'
            raise ReadError(what, hint="if another package brings it, install that package; nothing is verified")
        if isinstance(parameters.get("reference"), str):  # which would be a file of whoever verifies
            raise ReadError(f"manifest.json: {where} makes no sense: a reference is a mapping")
        try:
            made = criterion(str(model), **parameters)
        except PolicyError as error:
            raise ReadError(f"manifest.json: {where} makes no sense: {error.what[:300]}") from None
        if made.of_population is not None:
            raise ReadError(f"manifest.json: {where} counts a population, and does not stand among those")
        return made

    sets = [tuple(dict.fromkeys(names)) for names in manifest.policy.quasi]
    found: dict[tuple[Model, tuple[str, ...]], Claim | None] = {}
    for i, entry in enumerate(manifest.policy.require):
        rest = {key: value for key, value in entry.items() if key != "model"}
        made = built(f"policy.require.{i}", entry.get("model"), rest)
        found |= {(made, names): None for names in (sets if made.quasi is None else [made.quasi])}
    for i, claim in enumerate(manifest.promises):
        if claim.by_construction:  # nothing of it can be checked on rows
            continue
        made, names = built(f"promises.{i}", claim.model, claim.parameters), tuple(dict.fromkeys(claim.quasi))
        if made.quasi not in (None, names):
            raise ReadError(f"manifest.json: promises.{i} makes no sense: it is for one set, and measured over another")
        found[made, names] = claim
    return found
