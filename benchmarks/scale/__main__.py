"""Run the benchmark: `python -m benchmarks.scale`, or one group with `--only`, at other sizes with `--rows`.

What is measured takes the place of the same in benchmarks/scale.json and scale.md; the rest stays.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from benchmarks.figures import say
from benchmarks.machine import facts
from benchmarks.scale import duckdb, files, masking, peers, postgresql, spark, synthesis
from benchmarks.scale.measured import yardstick
from benchmarks.scale.results import HERE, document, markdown, merged, save, saved

GROUPS = {
    "files": files,
    "masking": masking,
    "synthesis": synthesis,
    "duckdb": duckdb,
    "postgresql": postgresql,
    "spark": spark,
    "peers": peers,
}


def main(words: list[str] | None = None) -> None:
    """Make tables, measure, write, delete the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--only", choices=GROUPS, action="append", help="one group; may be given again")
    parser.add_argument("--rows", type=int, action="append", help="a number of rows; may be given again")
    parser.add_argument("--folder", type=Path, help="where tables are made; they are deleted afterwards")
    parser.add_argument("--into", type=Path, default=HERE, help="where scale.json and scale.md are written")
    given = parser.parse_args(words)
    sorts, runs, left = {}, [], {}
    work = Path(tempfile.mkdtemp(prefix="sfumato-scale-", dir=given.folder))
    try:
        files.warm(work)
        for name in given.only or GROUPS:
            group = GROUPS[name]
            why = group.lacking() if hasattr(group, "lacking") else None
            if why:
                left[name] = why
                say(f"{name}: left out: {why}")
                continue
            sorts[name] = yardstick()
            say(f"{name}: np.sort of ten million float64 takes {sorts[name]:.2f} s")
            try:
                runs += [run.plain() for run in group.run(work, given.rows or group.ROWS)]
            except Exception as error:
                left[name] = "the run failed"  # the other groups are measured all the same
                say(f"{name}: failed: {error}")
                continue
            found = merged(saved(given.into), document(facts(), sorts, runs, left))
            save(found, given.into)  # after each group: an hour of work is not lost
    finally:
        shutil.rmtree(work, ignore_errors=True)
    found = merged(saved(given.into), document(facts(), sorts, runs, left))
    save(found, given.into)
    print(markdown(found), end="")
    if "the run failed" in left.values():
        raise SystemExit("benchmarks: a run failed, see above")


if __name__ == "__main__":
    main()
