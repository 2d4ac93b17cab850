"""sfumato report: the report of a release folder, or of a table that another tool released."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from sfumato.cli import inputs, options
from sfumato.cli.anonymize import say_promises
from sfumato.cli.console import Progress, say, say_json, say_written
from sfumato.cli.options import READING, WRITING, option
from sfumato.cli.verify import verdict_of
from sfumato.core.wording import count


def report(
    targets: options.Targets = None,
    *,
    original: Annotated[
        Path | None, option("--original", "Compare with this table: an internal report.", READING, "FILE")
    ] = None,
    columns: options.ColumnOptions,
    promises: options.PromiseOptions,
    output: Annotated[Path | None, options.output("The report; in the folder if not given.", "FILE")] = None,
    pdf: Annotated[bool, option("--pdf", "As PDF too, by Chromium.", WRITING)] = False,
    language: options.Language = None,
    overwrite: Annotated[bool, option("--overwrite", "Replace an earlier report.", WRITING)] = False,
    reading: options.MemoryReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Write the report that a data protection officer signs: of a release folder, or of another tool's file.

    With --original it compares with the table behind the release, and only its owner can read it: never publish it.
    """
    from sfumato.core import compiled as kernels
    from sfumato.errors import PolicyError, ReadError
    from sfumato.report import files as sources
    from sfumato.report.translation import language_of

    spoken = None if language is None else language_of(language)
    target = inputs.in_memory("report", targets, reading)
    if not target.exists():
        raise ReadError(f"{target} does not exist", allowed="the folder of a release, or a data file")
    folder = target.is_dir()
    given = {
        "--quasi": columns.quasi,
        "--sensitive": columns.sensitive,
        "--k": promises.k,
        "--require": promises.require,
    }
    asked = [name for name, value in given.items() if value]
    if folder and asked:
        raise PolicyError(f"a release folder says itself what it promises; got {', '.join(asked)}")
    file = _place(target, output, original is not None)
    replaced = overwrite or (folder and output is None)  # the folder's own report is made anew from the same bytes
    _check(file, target if folder else None, original is not None, replaced, pdf)
    with Progress("measuring") as progress:
        kernels.warn_of_compiling(progress)
        several = sources.of_several(target, spoken) if folder else None
        if several is not None and original is not None:
            raise PolicyError("--original is for the release of one table", hint="leave it out")
        before = inputs.table(original, reading.reader)
        if several is not None:
            page, promised, found = several
            sources.refuse_listed(file, page)
            _place_page(file, page, replaced, pdf)
            manifest: Any = {"data": {"rows": found.rows}, "promises": promised}
        elif folder:
            manifest, frame, found = sources.of_folder(target)
        else:
            frame = inputs.table(target, reading.reader, other=False)
            manifest, found = sources.of_table(target, frame, **_asked(frame, columns, promises))
        if several is None:
            _write(file, manifest, frame, before, replaced, pdf, spoken)
    files = [str(file), *([str(file.with_suffix(".pdf"))] if pdf else [])]
    if as_json:
        told = {
            "outcome": found.outcome,
            "holds": found.holds,
            "rows": manifest["data"]["rows"],
            "internal": original is not None,
        }
        say_json(told | {"promises": manifest["promises"], "files": files})
        return 1 if found.outcome == "broken" else 0
    verdict = "measured, nothing was promised" if found.outcome == "nothing promised" else verdict_of(found)
    say(f"{count(manifest['data']['rows'], 'row')}: {verdict}")
    say_promises(manifest["promises"])
    say_written(files, " (internal, do not publish)" if original is not None else "")
    return 1 if found.outcome == "broken" else 0


def _place(target: Path, output: Path | None, internal: bool) -> Path:
    from sfumato.errors import PolicyError

    if output is None and internal:
        raise PolicyError("an internal report needs a place outside of the release", hint="give -o FILE")
    return output or (target / "report.html" if target.is_dir() else Path("report.html"))


def _check(place: Path, release: Path | None, internal: bool, replaced: bool, pdf: bool) -> None:
    """Whether the files can be written, before the work."""
    from sfumato.errors import OutputError
    from sfumato.report.files import check_reports

    check_reports(place if internal else None, release, replaced, pdf)
    for one in (place, place.with_suffix(".pdf")) if pdf else (place,):
        if one.is_dir():
            raise OutputError(f"{one} is a folder, not a file", hint="name a file, such as report.html")
        if one.exists() and not replaced:
            raise OutputError(f"{one} exists", hint="choose another place with -o, or --overwrite it")


def _asked(frame: Any, columns: options.ColumnOptions, promises: options.PromiseOptions) -> dict[str, Any]:
    """The checked questions to the table of another tool."""
    from sfumato.core.microdata import encode
    from sfumato.core.policy import sets_required
    from sfumato.criteria import criterion
    from sfumato.errors import PolicyError
    from sfumato.release.request import roles_of, sets_named

    faults: list[str] = []
    models = promises.models(faults)
    if faults:
        raise PolicyError("what is asked makes no sense:", faults)
    built = [criterion(str(model.pop("model")), **model) for model in models]
    if not columns.quasi and not any(one.quasi for one in built):
        raise PolicyError("a file of another tool needs its quasi-identifying columns", hint="give --quasi")
    needed = [name for one in built for name in one.needs]
    secrets = options.joined(columns.sensitive) or ()
    roles = roles_of(frame, sets_named(options.names(columns.quasi), built), (), secrets, (), None, needed)
    sets, asked = sets_required(roles.quasi, built)
    recipes = columns.recipes() or {}
    hierarchies = {name: recipe.build(encode(frame.get_column(name))[0]) for name, recipe in recipes.items()}
    return {"quasi": sets, "sensitive": roles.sensitive, "require": asked, "hierarchies": hierarchies or None}


def _write(
    place: Path, manifest: Any, frame: Any, before: Any, overwrite: bool, pdf: bool, language: str | None
) -> None:
    """The public report, or with the original the internal one."""
    from sfumato.report import internal_report
    from sfumato.report import report as public_report
    from sfumato.report.files import aligned, private_report

    if before is not None:
        with private_report(place, None, overwrite, pdf) as keep:
            found = aligned(manifest, frame, before)
            keep(internal_report(manifest, frame, before, rows=found, language=language))
        return
    _place_page(place, public_report(manifest, frame, language=language), overwrite, pdf)


def _place_page(place: Path, page: str, overwrite: bool, pdf: bool) -> None:
    """Put a public page into its place, and its PDF beside it."""
    from sfumato.engines.atomic import atomic_file
    from sfumato.report.page import pdf_of

    _keep_signature(place, page, pdf)
    with atomic_file(place, overwrite) as file:
        file.write_text(page, encoding="utf-8")
    if pdf:
        with atomic_file(place.with_suffix(".pdf"), overwrite) as file:
            file.write_bytes(pdf_of(page))


def _keep_signature(place: Path, page: str, pdf: bool) -> None:
    """Refuse a report that would break the signature of the folder it goes into."""
    from sfumato.errors import OutputError

    folder = place.parent
    if not (folder / "signature.json").exists() or not (folder / "manifest.json").exists():
        return
    if pdf or not place.is_file() or place.read_text("utf-8", errors="replace") != page:
        hint = "choose another place with -o, or delete signature.json and sign again"
        raise OutputError(f"{folder} is signed, and this report would break the signature", hint=hint)
