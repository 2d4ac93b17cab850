"""Exact answers under control, in the shell: a file and its log, and what a service says of such a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.cli import inputs
from sfumato.cli.console import Progress, notes, say, say_json
from sfumato.cli.options import option
from sfumato.core.wording import exact, number

CONTROL = "Control"
POLICY = option("--control", "Answer exactly, under the controls of this policy.", CONTROL, "FILE")
LOG = option("--log", "File that keeps what was asked and told.", CONTROL, "FILE")


def ask(files: Sequence[str], control: Path, log: Path | None, user: str, reader: Any) -> dict[str, Any]:
    """Ask a query of a file, under the controls of a policy."""
    from sfumato.control import StatisticalDatabase
    from sfumato.errors import PolicyError
    from sfumato.policyfile.control import read_control

    if len(files) != 2 or log is None:
        hint = 'sfumato query ask data.csv "sum wage where region = north" --control policy.toml --log queries.json'
        raise PolicyError("ask under control needs the data, a query, --control and --log", hint=hint)
    keywords = read_control(control)
    with Progress("reading"), notes():
        database = StatisticalDatabase(inputs.table(Path(files[0]), reader), **keywords, log=log)
        try:
            answer = database.ask(files[1], user)
        finally:
            database.close()
    return {"value": answer.value, "number": answer.number, "rounded": answer.rounded, "sampled": answer.sampled}


def tell(found: Mapping[str, Any], as_json: bool) -> int:
    """Say an exact answer; or of a service, that a query has no cost, and by which controls it is answered."""
    if as_json:
        say_json(dict(found))
    elif "value" in found:
        how = "" if found["rounded"] is None else f", rounded to multiples of {number(found['rounded'])}"
        how += "" if found["sampled"] is None else f", estimated from {number(100 * found['sampled'])}% of the people"
        say(f"{exact(found['value'])}{how}")
    else:
        for line in (found["control"], *found["controls"]):
            say(line)
    return 0
