"""The verb `explain`: what was done to a table and what remains, for a lay reader."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.parameters import path_of
from sfumato.core.protocols import PROVEN
from sfumato.core.wording import count, quoted
from sfumato.criteria.sets import SET_PROMISES
from sfumato.engines.files.bytes import read_back
from sfumato.engines.labelled import labelled
from sfumato.errors import PolicyError
from sfumato.measures.table import TupleCounts
from sfumato.release.data_files import has_several
from sfumato.release.folder import Streamed, data_place, is_streamed, verify_folder, verify_manifest
from sfumato.release.manifest import load_manifest, read_manifest
from sfumato.release.release import Release
from sfumato.release.release_set import ReleaseSet
from sfumato.release.stream_folder import holds_stream, verify_stream
from sfumato.release.verify import INTEGRITY, Verification
from sfumato.report.explanation import Explanation, explanation
from sfumato.report.files import as_verified
from sfumato.report.manifest import spoken
from sfumato.report.sections.headline import reach_from
from sfumato.report.translation import language_of, translated

__all__ = ["explain"]


def explain(release: Any, *, language: str | None = None) -> Explanation:
    """What was done to a table, what is promised of it, and what remains, in about ten lines for a lay reader.

    All of it comes from the manifest and the released rows. What is proven, what holds by construction and what was
    measured are told apart. The promises of a folder are derived again from its rows before they are called proven.

    Parameters
    ----------
    release: what `anonymize`, `mask` or `synthesize` gave, or a release folder. language: "en" or "it"; else as its
        policy says.

    Raises
    ------
    PolicyError: it is no release. ReadError: the folder cannot be read.

    >>> import sfumato as sf
    >>> table = {"age": [31, 32, 58, 59], "sex": ["F", "F", "M", "M"]}
    >>> print(str(sf.explain(sf.anonymize(table, quasi=["age", "sex"], k=2))).splitlines()[2])
    Proven: whoever looks for a person in it by "age" and "sex" finds at least 2 rows that fit, never one alone.
    """
    if isinstance(release, Release):
        manifest, chosen = release.manifest, None if language is None else language_of(language)
        rows = release.table if release.in_memory else release.counts
        where = None if release.path is None else str(release.path)
        said = chosen or spoken(manifest)
        return explanation(manifest, rows, release.reach, checked=True, where=where, language=said)
    if isinstance(release, ReleaseSet):
        chosen = None if language is None else language_of(language)
        return _explained(release.verification, release.manifest, None, chosen or spoken(release.manifest))
    if not isinstance(release, str | Path):
        hint = "pass what anonymize, mask or synthesize gives, or the folder of a release"
        raise PolicyError("explain looks at a release", got=type(release).__name__, hint=hint)
    return explain_folder(path_of(release), language)[0]


def explain_folder(
    folder: Path, language: str | None = None, table: Any = None
) -> tuple[Explanation, Verification | None]:
    """The explanation of a folder, and what verify says of it.

    `table` has the rows, where they are a table of a database; without it those are not looked at, and verify is None.
    """
    manifest: dict[str, Any] = load_manifest(folder)
    chosen = None if language is None else language_of(language)
    if has_several(folder):
        found = verify_folder(folder)
        return _explained(found, manifest, str(folder), chosen or spoken(manifest)), found
    if holds_stream(folder):
        found = verify_stream(folder)
        return _explained_stream(found, manifest, str(folder), chosen or spoken(manifest)), found
    data = read_manifest(folder).data
    chosen = chosen or spoken(manifest)
    if data.file is None and table is None:
        reach = reach_from(manifest, None)
        return explanation(manifest, None, reach, checked=False, where=str(folder), language=chosen), None
    found = verify_folder(folder) if data.file is not None else verify_manifest(folder, table)
    manifest = as_verified(manifest, found)
    rows: pl.DataFrame | TupleCounts | None = None
    intact = found.outcome != "broken"
    if intact and data.file is None:
        rows = TupleCounts(labelled(table, data.forms))
    elif intact and data.file is not None:
        file = data_place(folder, data.file, data.format)
        if is_streamed(file, data.format, data.guarded):
            rows = TupleCounts(labelled(Streamed(file, data.format), data.forms))
        else:
            rows = data.forms.read(read_back(file, data.format, data.guarded))
    reach = reach_from(manifest, rows)
    return explanation(manifest, rows, reach, checked=True, where=str(folder), language=chosen), found


def _explained_stream(found: Verification, manifest: Mapping[str, Any], where: str, language: str) -> Explanation:
    """The same of a stream."""
    files, done = count(len(manifest["files"]), "file"), "finished" if manifest.get("finished") is True else "going on"
    lines = [("What it is", f"{count(found.rows, 'row')} of a stream in {files}, released while they came; {done}.")]
    for promise in found.promises:
        if promise.model != INTEGRITY or not promise.holds:
            said = promise.sentence if promise.holds or promise.note is None else f"{promise.sentence} {promise.note}"
            lines.append((promise.how.capitalize() if promise.holds else "NOT KEPT", said))
    if manifest["counts"] == "rows":
        lines.append(
            ("It leaves open", "Rows are counted, and not people: somebody with several rows counts as several.")
        )
    lines.append(
        ("It leaves open", "When each row left tells about when it came, and files side by side tell more than one.")
    )
    lines.append(("To check it", f"sfumato verify {shlex.quote(where)}"))
    return _in_language(lines, language)


def _explained(found: Verification, manifest: Mapping[str, Any], where: str | None, language: str) -> Explanation:
    """The same of tables that are published together: what is promised of all of them is what counts."""
    names = [str(one.get("name") or one["file"]) for one in manifest["tables"]]
    lines = [("What it is", f"{count(len(names), 'table')} published together: {quoted(names)}.")]
    for promise in found.promises:
        if promise.model == INTEGRITY:
            continue
        known = PROVEN.capitalize() if promise.how == PROVEN else promise.how.capitalize()
        lines.append((known if promise.holds else "NOT KEPT", promise.sentence))
        if promise.holds and promise.model in SET_PROMISES:
            variant = SET_PROMISES[promise.model]
            lines += [("It stops", variant.stops), ("It leaves open", variant.leaves)]
    if where is not None:
        lines.append(("To check it", f"sfumato verify {shlex.quote(where)}"))
    return _in_language(lines, language)


def _in_language(lines: Sequence[tuple[str, str]], language: str) -> Explanation:
    return Explanation(
        tuple((translated(term, language), translated(said, language)) for term, said in lines), language
    )
