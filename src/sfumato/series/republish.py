"""Republish a table that changes: each release follows the one before, and all of them together tell no value apart.

Xiao and Tao, "m-Invariance: towards privacy preserving re-publication of dynamic datasets", SIGMOD 2007.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from sfumato.core.parameters import (
    OneOf,
    Whole,
    checked,
    column_names,
    column_set,
    known_columns,
    mapping,
    path_of,
    seed_of,
)
from sfumato.core.progress import Progress, cancellable, quiet
from sfumato.core.wording import quoted
from sfumato.criteria.sets import MInvariance, MUniqueness
from sfumato.criteria.sets.published import TableLink
from sfumato.engines.files.bytes import sha256
from sfumato.engines.memory.table import MemoryTable, leave
from sfumato.errors import InputError, OutputError, PolicyError, ReadError
from sfumato.release.about import about_of
from sfumato.release.release_set import ReleaseSet, SetTable, in_order, make_set
from sfumato.release.request import recipes_of
from sfumato.release.set_manifest import read_set
from sfumato.series import state as states
from sfumato.series.release import KEEP, LEAVE, next_release
from sfumato.series.state import Secret, State
from sfumato.series.values import COUNTERFEITS, DATA, GROUP, Turnover

MADE_BY = "republication"
DEFAULT_M = 3


@dataclass(frozen=True)
class SeriesState:
    """Where the state of a series is kept, and with which key."""

    place: Path
    secret: Secret
    state: State


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Republished(ReleaseSet):
    """A release of a series: `tables["data"]` and `tables["counterfeits"]`.

    `turnover` says in numbers who came and went, for the owner alone. `left_out` are columns of the input that are
    neither quasi-identifiers nor sensitive, and not published. A copy of it cannot be saved: it lacks the state.
    """

    turnover: Turnover
    left_out: tuple[str, ...] = ()
    kept: SeriesState | None = field(default=None, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: what leaves, without the key."""
        return {**super().__getstate__(), "kept": None}

    @cancellable
    def save(
        self,
        path: str | Path,
        format: str | None = None,
        overwrite: bool = False,
        pdf: bool = False,
        *,
        progress: Progress | None = None,
    ) -> Path:
        """Write the folder as any release of several tables is, and put the state that belongs to it in the place of
        the one before.

        A run that is killed leaves both as they were, or both new: the new state stands beside the old one until the
        folder is in place, and whoever reads it next finishes what was left to do.

        Raises
        ------
        OutputError
            The state meanwhile belongs to another release, or would stand in the folder.
        """
        if self.kept is None:
            raise OutputError("a copy of a release does not have its state", hint="save the release itself")
        place, secret, state = self.kept.place, self.kept.secret, self.kept.state
        target = path_of(path).expanduser()
        states.place_of(place, target)
        with states.alone(place):
            before = states.read(place, secret)
            serial = None if before is None else before.serial
            again = before is not None and serial == state.serial
            if not again and serial != state.before:
                what = f'the state "{place}" belongs to another release than the one before this one'
                raise OutputError(what, hint="each release follows the one that was saved last; save them in turn")
            known = before.manifests if again and before is not None else ()
            states.write(states.beside(place), replace(state, manifests=known, target=str(target.resolve())), secret)
            super().save(target, format, overwrite, pdf, progress=progress)
            digest = states.manifest_hash(target)
            assert digest is not None
            states.write(place, replace(state, manifests=tuple(dict.fromkeys((*known, digest)))), secret)
            with suppress(FileNotFoundError):
                states.beside(place).unlink()
        return target


@cancellable
@checked
def republish(
    previous: Any,
    new: Any,
    *,
    m: Annotated[int | None, Whole(2)] = None,
    state: Any,
    person: str | None = None,
    quasi: Sequence[str] | None = None,
    sensitive: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    changed: Annotated[str, OneOf((KEEP, LEAVE))] = KEEP,
    values: Sequence[Any] = (),
    key: Any = None,
    seed: int | None = None,
    about: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Republished:
    """Publish a table again after people arrived and left, so that all releases together pin nobody's value.

    Every group of a release has at least `m` rows, each with another sensitive value, and all rows of a group look
    alike. A person is in groups of the same values in every release; where somebody who left would be missed, a
    counterfeit stands in for them, and a second table says how many each group has. People who arrive never do: that
    would tell who knows it the values of those beside counterfeits.

    Parameters
    ----------
    previous: the release before, as a folder or as an earlier call gave it; None for the first.
    new: the whole table as it is now, one row a person: a frame of any library, or a file.
    m: the least number of different values of a group; that of the release before, or 3.
    state: the file that remembers who stands under which signature, encrypted with the key; it is made by the first
        release, belongs to the latest one, and must never be published. It is replaced where the release is saved.
    person, quasi, sensitive: the columns that say who is who, that others may know, and that nobody may learn; those of
        the release before where they are left out. Other columns are not published.
    hierarchies: column to hierarchy: a group then prints the lowest node above its values, else their range.
    changed: of people whose sensitive value changed: "keep" publishes the old one again, "leave" leaves them out.
    values: sensitive values that counterfeits may have though nobody was seen with them.
    key: a file whose bytes are the key; the owner's key unless given. seed: of what is drawn by chance; with one, the
        same table makes the same release again. about: as for `anonymize`. progress: as for `anonymize`.

    Raises
    ------
    Infeasible: one value is too frequent for a first release, or there are fewer values than m.
    ColumnError: a person has two rows, or a row no person or value.
    ReadError: the state is of another release or key, or the release before was changed.

    >>> import sfumato as sf
    >>> table = {"id": ["Ann", "Bob"], "age": [30, 32], "disease": ["flu", "ulcer"]}
    >>> first = sf.republish(None, table, m=2, state="s.bin", person="id", quasi=["age"], sensitive="disease")
    >>> table = {"id": ["Ann", "Cid"], "age": [30, 40], "disease": ["flu", "cold"]}
    >>> sf.republish(first, table, state="s.bin").tables["counterfeits"]["counterfeits"]
    [1, 1]
    """
    report_progress = progress or quiet
    seed, extra = seed_of(seed), tuple(str(one) for one in _listed(values))
    place, secret = states.place_of(state), states.secret_from(key)
    report_progress("reading the state", None)
    before, link = _before(previous, place, secret)
    m = _m(m, before)
    table = MemoryTable(new)
    person, names, value = _roles(before, person, quasi, sensitive)
    known_columns((person, *names, value), table.frame.columns)
    left_out = tuple(name for name in table.frame.columns if name not in (person, *names, value))
    given = mapping(hierarchies, "hierarchies")
    recipes = recipes_of(table.frame, given, names)
    report_progress("grouping", None)
    made, after, turnover = next_release(
        table.frame, person, names, value, m, before, secret,
        recipes=recipes, values=extra, changed=LEAVE if changed == LEAVE else KEEP, seed=seed,
    )  # fmt: skip
    fingerprint = table.fingerprint(secret.key)
    after = replace(after, serial=_serial(secret, seed, after, fingerprint))
    report_progress("verifying", None)
    tables = {name: in_order(frame) for name, frame in made.tables.items()}
    parts = [_part(name, frame, made.roles[name], table) for name, frame in tables.items()]
    links = [TableLink("join", (DATA, COUNTERFEITS), (GROUP,))]
    if link is not None:
        links.append(TableLink("earlier release", (DATA,), (), link))
    found = make_set(
        MADE_BY,
        parts,
        links,
        [MUniqueness(value, m), MInvariance(value, m)],
        policy={
            "identifying": [person],
            "quasi": list(names),
            "sensitive": [value],
            "require": [{"model": "m-invariance", "attribute": value, "m": m}],
            "hierarchies": {name: recipe.describe() for name, recipe in recipes.items() if name in names},
        },
        method={
            "series": after.serial,
            "release": turnover.number,
            "groups": turnover.groups,
            "counterfeits": turnover.counterfeits,
        },
        before=None,  # with those who left for a change of value it would tell how many there are
        seed=seed,
        fingerprint=fingerprint,
        reading=table.reading,
        about=about_of(about, {name: dtype for frame in tables.values() for name, dtype in frame.schema.items()}),
    )
    known = {one.name: getattr(found, one.name) for one in fields(found)}
    return Republished(**known, turnover=turnover, left_out=left_out, kept=SeriesState(place, secret, after))


def _listed(values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise PolicyError("values must be a list of sensitive values", got=type(values).__name__)
    return list(values)


def _before(previous: Any, place: Path, secret: Secret) -> tuple[State | None, str | None]:
    """The state of the release before, and the hash of its manifest where it was saved; None for the first."""
    kept = None
    if place.parent.exists():
        with states.alone(place):
            kept = states.read(place, secret)
    if previous is None:
        if kept is not None:
            what = f'the state "{place}" belongs to release {kept.number} of a series'
            raise OutputError(what, hint="name that release as the previous one, or another file for a new series")
        return None, None
    if isinstance(previous, Republished):
        if previous.kept is None:
            raise PolicyError("a copy of a release does not have its state", hint="name its folder")
        own = previous.kept.state
        saved = kept is not None and kept.serial == own.serial
        return own, kept.manifests[-1] if saved and kept is not None and kept.manifests else None
    if not isinstance(previous, str | Path):
        what = "previous must be a release of this series: its folder, or what republish gave"
        raise PolicyError(what, got=type(previous).__name__, allowed='previous="first/", or None for the first')
    folder = path_of(previous).expanduser()
    digest = states.manifest_hash(folder)
    if digest is None:
        raise ReadError(f'"{folder}" is not a release: it has no manifest.json')
    if kept is None:
        raise ReadError(f'there is no state "{place}"', hint="name the file that the release before was made with")
    if digest not in kept.manifests:
        what = f'the state "{place}" does not belong to the release in "{folder}"'
        hint = "it belongs to the latest release of its series, whose manifest nobody may have changed"
        raise ReadError(what, got=f"the state of release {kept.number}", hint=hint)
    for file in read_set(folder).files:
        try:
            same = sha256(folder / file.file) == file.sha256.removeprefix("sha256:")
        except (OSError, InputError):
            same = False
        if not same:
            hint = "take the release from a backup"
            raise ReadError(f'{file.file} in "{folder}" is not the file that its manifest describes', hint=hint)
    return kept, digest


def _m(given: int | None, before: State | None) -> int:
    if before is None:
        return DEFAULT_M if given is None else given
    if given not in (None, before.m):
        hint = "people keep the signatures that they have, so m stays; a new series may have another"
        raise PolicyError("m is another than that of the release before", got=given, allowed=before.m, hint=hint)
    return before.m


def _roles(before: State | None, person: Any, quasi: Any, sensitive: Any) -> tuple[str, tuple[str, ...], str]:
    """The three roles: those given, or those of the release before, which they must be."""
    if before is None:
        lacking = [w for w, v in (("person", person), ("quasi", quasi), ("sensitive", sensitive)) if v is None]
        if lacking:
            allowed = 'person="id", quasi=["age", "zip"], sensitive="disease"'
            raise PolicyError(f"the first release needs {quoted(lacking)}", allowed=allowed)
        names, values = column_set(quasi, "quasi"), column_names(sensitive, "sensitive")
        people = column_names(person, "person")
    else:
        names = before.quasi if quasi is None else column_set(quasi, "quasi")
        values = (before.sensitive,) if sensitive is None else column_names(sensitive, "sensitive")
        people = (before.person,) if person is None else column_names(person, "person")
        if (people, set(names), values) != ((before.person,), set(before.quasi), (before.sensitive,)):
            hint = "a series keeps its columns; leave them out, or begin a new series"
            raise PolicyError("the columns are others than those of the release before", hint=hint)
        names = before.quasi
    if len(values) != 1 or len(people) != 1:
        raise PolicyError("one column says who is who, and one is sensitive", got=f"{len(people)} and {len(values)}")
    if len({*people, *names, *values}) < len(names) + 2:
        raise PolicyError("person, quasi and sensitive are different columns", got="one in two roles")
    return people[0], names, values[0]


def _serial(secret: Secret, seed: int | None, after: State, fingerprint: str | None) -> str:
    """A number that names a release and tells nothing; with a seed the same again for the same table."""
    given = secrets.token_hex(32) if seed is None else str(seed)
    told = json.dumps([given, after.number, after.before, after.m, list(after.quasi), after.sensitive, fingerprint])
    return hmac.new(secret.of("serial"), told.encode(), hashlib.sha256).hexdigest()[:32]


def _part(name: str, frame: pl.DataFrame, roles: Mapping[str, str], table: MemoryTable) -> SetTable:
    """A table of the set, handed back as the kind of frame that came in."""
    return SetTable(name, frame, roles, lambda: leave(frame, table.data, table.kind, None, ()))
