"""The command line from outside: a million rows of CSV to a release, the first run ever, and the help.

Beside them the processor time of the same release, as times that of Polars alone, and that of reading CSV as it is
quoted.
"""

from __future__ import annotations

import sysconfig
import tempfile
import warnings
from pathlib import Path

import polars as pl

import sfumato as sf
from benchmarks.figures import Figure, cpu, figure, warm
from benchmarks.launch import launch
from benchmarks.tables import MILLION, nine, resample

GROUP = "command line"
SFUMATO = str(Path(sysconfig.get_path("scripts")) / "sfumato")


def run() -> list[Figure]:
    """Start-up, compilation, then the whole way from file to file."""
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as name:
        folder = Path(name)
        return [*_start(folder), *_first(folder), *_whole(folder), *_processor(folder), *_quoted(folder)]


def _start(folder: Path) -> list[Figure]:
    runs = warm(lambda: launch([SFUMATO, "--help"], folder).seconds, 5)
    return [figure(GROUP, "sfumato --help", runs, target=0.4)]


def _first(folder: Path) -> list[Figure]:
    """With no compiled kernel on the machine."""
    _, files = nine()
    source = next(iter(files.values()))
    small = str(Path(source).with_name("adult.csv"))
    commands = {
        "first run ever, sfumato demo": [SFUMATO, "demo", "-o", "demo"],
        "first run ever, optimal on Adult": [SFUMATO, "anonymize", small, *_flags(files, True), "-o", "first"],
    }
    figures = []
    for about, command in commands.items():
        with tempfile.TemporaryDirectory(dir=folder) as empty:
            done = launch(command, folder, {"NUMBA_CACHE_DIR": empty})
        says = "compiling" in done.printed
        figures.append(figure(GROUP, about, [done.seconds], target=20, says_that_it_compiles=says))
    return figures


def _whole(folder: Path) -> list[Figure]:
    """CSV to CSV, by both searches; every run reads, searches, recodes, verifies, writes and verifies again."""
    table, files = nine()
    resample(table, MILLION).write_csv(folder / "million.csv")
    figures = []
    for about, optimal in (("mondrian", False), ("optimal with suppression 4%", True)):
        command = [SFUMATO, "anonymize", "million.csv", *_flags(files, optimal), "-o", "release", "--overwrite"]
        runs = warm(lambda command=command: launch(command, folder), 3)  # type: ignore[misc]
        about = f"CSV to CSV, 1M rows, 9 columns, k=5, {about}"
        figures.append(figure(GROUP, f"{about}: wall", [run.seconds for run in runs], target=6))
        figures.append(figure(GROUP, f"{about}: peak memory", [run.peak_gib for run in runs], "GiB", 1.5))
    return figures


def _processor(folder: Path) -> list[Figure]:
    """What `_whole` costs the processor, as times what Polars alone takes to read, write and read back the table."""
    _, files = nine()
    source, copy = folder / "million.csv", folder / "copy.csv"

    def floor() -> None:
        pl.read_csv(source).write_csv(copy)
        pl.read_csv(copy)

    figures = []
    for search, more in (("mondrian", {}), ("optimal", {"suppression": 0.04, "hierarchies": dict(files)})):
        asked = {
            "quasi": list(files),
            "k": 5,
            "search": search,
            "to": sf.Folder(folder / "own", overwrite=True),
            **more,
        }
        times, seconds = [], []
        for _ in range(3):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seconds.append(cpu(lambda asked=asked: sf.anonymize(source, **asked))[0])  # type: ignore[misc]
            times.append(seconds[-1] / cpu(floor)[0])
        about = f"CSV to CSV, 1M rows, 9 columns, k=5, {search}: CPU, times that of Polars alone"
        figures.append(figure(GROUP, about, times, "", 3, seconds=min(seconds)))
    return figures


def _quoted(folder: Path) -> list[Figure]:
    """Reading a quoted file with a blank line, or with a space after each comma, as times the same without."""
    text = pl.read_csv(folder / "million.csv", infer_schema=False).write_csv(quote_style="always")
    half = text.index("\n", len(text) // 2)
    forms = {
        "as it is": text,
        "with a blank line": f"{text[:half]}\n{text[half:]}",
        "with a space after each comma": text.replace('","', '", "'),
    }
    plain, figures = [], []
    for about, form in forms.items():
        (folder / "quoted.csv").write_text(form, encoding="utf-8")
        found = [cpu(lambda: sf.read(folder / "quoted.csv"))[0] for _ in range(3)]
        plain = plain or found
        times = [seconds / min(plain) for seconds in found]
        if found is not plain:
            figures.append(
                figure(GROUP, f"reading quoted CSV, 1M rows, {about}: CPU, times that without", times, "", 1.2)
            )
    return figures


def _flags(files: dict[str, str], optimal: bool) -> list[str]:
    flags = ["--quasi", ",".join(files), "--k", "5"]
    if not optimal:
        flags += ["--search", "mondrian"]
    else:
        flags += ["--search", "optimal", "--suppression", "0.04"]
        for column, file in files.items():
            flags += ["--hierarchy", f"{column}={file}"]
    return flags
