"""A release by its folder: where its rows are, in the folder or in a table of a database, and what it says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.measures.reach import Reach
    from sfumato.release.verify import Verification


FLAT = "a folder of files, without the manifest.json of a release"


def release_folder(target: Sequence[str] | None, asked: Sequence[str], stream: bool | None) -> Path | None:
    """The folder of a release, or None where the target is data.

    A folder without a manifest is data where something is asked of the files in it.
    """
    if not target or len(target) > 1 or not Path(target[0]).is_dir():
        return None
    folder = Path(target[0])
    return None if is_flat(folder) and (asked or stream) else folder


def is_flat(folder: Path) -> bool:
    """Whether a folder holds files, and no manifest that would make them a release."""
    return folder.is_dir() and not (folder / "manifest.json").exists() and any(folder.iterdir())


def manifest_of(folder: Path) -> dict[str, Any]:
    """What a release says of itself, where that can be read; empty where it cannot, which verify tells."""
    from sfumato.errors import ReadError
    from sfumato.release.manifest import load_manifest

    try:
        found = load_manifest(folder)
        return found if isinstance(found, dict) and isinstance(found.get("data"), dict) else {}
    except ReadError:
        return {}


def table_name(folder: Path) -> str | None:
    """The table that a release was kept as, or None where its rows are in the folder."""
    name = manifest_of(folder).get("data", {}).get("table")
    return name if isinstance(name, str) else None


def rows_of(folder: Path, place: Sequence[str] | None, table: str | None) -> Any:
    """The rows of a release: its folder where they are in it, else the table of the database that --input names."""
    from sfumato.cli.sources import database
    from sfumato.errors import PolicyError

    name = table_name(folder)
    if name is None:
        if place or table:
            flag = "--input" if place else "--table"
            raise PolicyError(f"{flag}: the rows of the release are in {folder} itself", hint="leave it out")
        return folder
    if not place or len(place) > 1:
        raise PolicyError(
            f'the rows of the release in {folder} are the table "{name}" of a database',
            hint="give its address, as in --input postgresql://host/db or --input hospital.duckdb",
        )
    return database(place[0], table or name)


def refuse_table(folder: Path, command: str) -> None:
    """Raise a PolicyError where a command needs the rows of a release that is a table of a database."""
    from sfumato.errors import PolicyError

    if (name := table_name(folder)) is not None:
        raise PolicyError(
            f'{command} needs the rows in memory, and those of the release in {folder} are the table "{name}"',
            hint=f"export the table, or some rows of it, to a file, and {command} that",
        )


def known(folder: Path) -> dict[str, Any]:
    """The roles of the columns, and k, of a release that is a table."""
    from sfumato.release.manifest import read_manifest, wanted

    manifest = read_manifest(folder)
    weight = next((column.name for column in manifest.data.columns if column.role == "weight"), None)
    k = next((c.bound for c, _ in wanted(manifest) if c.model == "k-anonymity"), None)
    return {"quasi": manifest.policy.quasi, "sensitive": manifest.policy.sensitive, "weight": weight, "k": k}


def target(
    names: Sequence[str] | None,
    place: Sequence[str] | None,
    table: str | None,
    stream: bool | None,
    asked: Sequence[str],
    reader: Mapping[str, Any],
) -> tuple[Any, dict[str, Any]]:
    """A table to measure, and the roles of its columns where it is a release that is a table of a database."""
    from sfumato.cli.sources import measured, named

    folder = release_folder(names, asked, stream)
    if folder is None:
        data = named(names, place, table, stream, what="TARGET", policies=False)
        return measured(data, reader), {}
    rows = rows_of(folder, place, table)
    return rows, {} if rows is folder else known(folder)


def released(
    target: str, place: Sequence[str] | None, stream: bool | None, reader: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """A release to compare: its folder, its table in the database of the original, or a table of any tool.

    Beside it, for a table of a database, what its folder says of it.
    """
    from sfumato.cli.figures import fitting
    from sfumato.cli.sources import measured, named

    folder = release_folder([target], (), stream)
    if folder is None:
        data = named([target], stream=stream, what="RELEASED", policies=False)
        return measured(data, fitting(Path(target), reader)), {}
    return (folder, {}) if table_name(folder) is None else (rows_of(folder, place, None), known(folder))


def verify(
    folder: Path, place: Sequence[str] | None, table: str | None, max_cells: int | None, signer: Path | None
) -> Verification:
    """Which promises of a release hold, of its own file or of its table, and who signed it."""
    from sfumato.errors import ReadError
    from sfumato.release.signature import signed
    from sfumato.release.verify import EVERY, verify_folder, verify_manifest

    if is_flat(folder):
        hint = "give --quasi and --k, or --require, to verify the files in it as one table"
        raise ReadError(f"{folder} is no release: there is no manifest.json in it", hint=hint)
    rows, most = rows_of(folder, place, table), EVERY if max_cells is None else max_cells
    found = verify_folder(folder, most) if rows is folder else verify_manifest(folder, rows, most)
    return signed(found, folder, signer)


def reach(folder: Path, found: Verification, place: Sequence[str] | None, table: str | None) -> Reach:
    """How far the promises of a release go: nothing is counted of rows that are not as they were."""
    from dataclasses import asdict

    from sfumato.engines.files.bytes import read_back
    from sfumato.measures.table import TupleCounts
    from sfumato.release.released import Streamed, data_place, is_streamed
    from sfumato.report.sections.headline import reach_from

    manifest = manifest_of(folder) | {"promises": [asdict(promise) for promise in found.promises]}
    if not all(promise.holds for promise in found.promises):
        return reach_from(manifest, None)
    if (rows := rows_of(folder, place, table)) is not folder:
        return reach_from(manifest, TupleCounts(rows))
    format, guarded = manifest["data"]["format"], manifest["data"].get("guarded", True)
    file = data_place(folder, manifest["data"]["file"], format)
    streamed = is_streamed(file, format, guarded)
    return reach_from(manifest, TupleCounts(Streamed(file, format)) if streamed else read_back(file, format, guarded))
