"""sfumato attack: what somebody can find out from a release, and whose records are most exposed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes, publish, refuse_existing, say
from sfumato.cli.options import option
from sfumato.core.wording import number, percent, scalar

if TYPE_CHECKING:
    from sfumato.measures.attacks.summary import AttackResults

ATTACKS = "Attacks"
QUERIES = 5  # rows whose queries are shown
NOT_TRIED = {  # the first of several attacks, what they are, and what they need
    "homogeneity": ("homogeneity, background knowledge, skewness and similarity", "--sensitive"),
    "singling-out": ("singling out, linkability, inference and the order of the rows", "--original"),
    "deterministic-linkage": ("linking to a table of people", "--external"),
    "membership": ("membership", "--original and --holdout"),
    "intersection": ("the intersection of several releases", "--original and --release"),
}


def attack(
    target: options.Targets = None,
    *,
    external: Annotated[
        Path | None, option("--external", "A table of people an attacker knows.", ATTACKS, "FILE")
    ] = None,
    original: Annotated[
        list[Path] | None, option("--original", "The table behind the release; of a series, one each.", ATTACKS, "FILE")
    ] = None,
    holdout: Annotated[
        Path | None, option("--holdout", "People like those, who are not in it.", ATTACKS, "FILE")
    ] = None,
    releases: Annotated[
        list[Path] | None, option("--release", "Another release about the same people; repeatable.", ATTACKS, "TARGET")
    ] = None,
    series: Annotated[
        str | None, option("--releases", "A series: this release, and the TARGETs after it.", ATTACKS, "TARGET")
    ] = None,
    person: Annotated[
        str | None, option("--person", "Of a series: who is who in the tables of --original.", ATTACKS, "A")
    ] = None,
    m: Annotated[int, option("--m", "Of a series: values that should be left: 2 (default).", ATTACKS, "N")] = 2,
    key: Annotated[str | None, option("--key", "Column that tells who is who, in both; or A=B.", ATTACKS, "A")] = None,
    columns: options.ColumnOptions,
    wildcard: Annotated[bool, option("--wildcard", "A missing value matches any value.", ATTACKS)] = False,
    data: Annotated[
        Path | None, option("--data", "Of a log of queries: the table behind it, one row per person.", ATTACKS, "FILE")
    ] = None,
    bounds: Annotated[
        options.Texts, option("--bounds", "Of a log: as age=0:120; may be repeated.", ATTACKS, "A=LOW:HIGH")
    ] = None,
    seed: Annotated[int, option("--seed", "Of what is drawn: 0 (default).", ATTACKS, "N")] = 0,
    trials: Annotated[int, option("--trials", "Records that an attack tries: 1000 (default).", ATTACKS, "N")] = 1000,
    most: Annotated[int, option("--most", "Row numbers that it names: 20 (default).", ATTACKS, "N")] = 20,
    upper: Annotated[float, option("--upper", "Match probability of a link: 0.9 (default).", ATTACKS, "P")] = 0.9,
    lower: Annotated[float, option("--lower", "And of a pair for review: 0.5 (default).", ATTACKS, "P")] = 0.5,
    document: options.DocumentOptions,
    reading: options.MemoryReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Try the attacks of the literature on a release, each beside what guessing achieves; or on the log of a
    statistical database, as `sfumato attack queries LOG`.

    The records most exposed are named by row number, never by content.

    A release folder knows its quasi-identifiers and sensitive columns; a file needs --quasi.
    """
    import sfumato as sf
    from sfumato.core import compiled as kernels
    from sfumato.errors import PolicyError

    if target and target[0] == "queries" and (len(target) > 1 or not Path("queries").exists()):
        return _attack_queries(target[1:], locals())
    if data is not None or bounds is not None:
        flag = "--bounds" if data is None else "--data"
        raise PolicyError(f"{flag} is for the log of a statistical database", hint="sfumato attack queries log.json")
    if series is not None or person is not None:
        return _attack_series([*([] if series is None else [series]), *(target or ())], locals())
    if key is not None and external is None:
        raise PolicyError("--key tells who is who in the table of --external, and there is none")
    if original is not None and len(original) > 1:
        raise PolicyError("several tables of --original are those behind the --releases of a series")
    path = inputs.in_memory("attack", target, reading)
    refuse_existing(document.output, document.overwrite)
    with Progress("reading") as progress, notes() as told:
        released = inputs.table(path, reading.reader, other=False)
        before = original[0] if original else None
        people, known, others = (inputs.table(file, reading.reader) for file in (before, external, holdout))
        kernels.warn_of_compiling(progress)
        found = sf.attack(
            released,
            known,
            people,
            quasi=options.names(columns.quasi),
            sensitive=options.joined(columns.sensitive),
            truth=None if key is None else tuple((key.split("=", 1) * 2)[:2]),
            holdout=others,
            releases=[inputs.table(file, reading.reader) for file in releases or ()],
            hierarchies=columns.recipes(),
            wildcard=wildcard or None,
            seed=seed,
            trials=trials,
            most=most,
            upper=upper,
            lower=lower,
            progress=progress,
        )
    publish(found, document, told, as_json, lambda: _show(found, external is not None))
    return 0


def _attack_series(releases: list[str], asked: Mapping[str, Any]) -> int:
    """The attack on a series: the intersection of its releases, by who was in which."""
    import sfumato as sf
    from sfumato.errors import PolicyError

    others = {"--external": "external", "--holdout": "holdout", "--release": "releases", "--key": "key"}
    if given := [flag for flag, name in others.items() if asked[name]]:
        raise PolicyError(f"{given[0]} is for the attacks on one release", hint="leave it out for a series")
    if asked["person"] is None or not asked["original"]:
        hint = "--person id --original january.csv --original february.csv"
        raise PolicyError("an attack on a series needs the tables behind the releases, and who is who", hint=hint)
    document, columns, reading = asked["document"], asked["columns"], asked["reading"]
    refuse_existing(document.output, document.overwrite)
    with Progress("reading") as progress, notes() as told:
        known = options.names(columns.quasi)
        found = sf.attack(
            None,
            None,
            [inputs.table(file, reading.reader) for file in asked["original"]],
            quasi=None if known is None else [n for part in known for n in ([part] if isinstance(part, str) else part)],
            sensitive=options.joined(columns.sensitive),
            releases=[inputs.table(Path(one), reading.reader) for one in releases],
            person=asked["person"],
            m=asked["m"],
            hierarchies=columns.recipes(),
            wildcard=asked["wildcard"] or None,
            seed=asked["seed"],
            trials=asked["trials"],
            most=asked["most"],
            progress=progress,
        )
    publish(found, document, told, asked["as_json"], lambda: _show_series(found))
    return 0


def _attack_queries(logs: list[str], asked: Mapping[str, Any]) -> int:
    """The attacks on the log of a statistical database."""
    import sfumato as sf
    from sfumato.cli.query import read_bounds
    from sfumato.errors import PolicyError

    others = {"--external": "external", "--original": "original", "--holdout": "holdout", "--release": "releases"}
    others |= {"--releases": "series", "--person": "person", "--key": "key"}
    if given := [flag for flag, name in others.items() if asked[name]]:
        raise PolicyError(f"{given[0]} is for the attacks on a release", hint="the table behind a log is its --data")
    if len(logs) != 1:
        raise PolicyError("an attack on queries needs one log", got=str(len(logs)), allowed="queries log.json")
    document, reading = asked["document"], asked["reading"]
    refuse_existing(document.output, document.overwrite)
    with Progress("reading") as progress, notes() as told:
        found = sf.attack_queries(
            Path(logs[0]),
            None if asked["data"] is None else inputs.table(asked["data"], reading.reader),
            sensitive=options.joined(asked["columns"].sensitive),
            bounds={name: tuple(map(scalar, ends)) for name, ends in read_bounds(asked["bounds"]).items()},
            trials=asked["trials"],
            seed=asked["seed"],
            most=asked["most"],
            progress=progress,
        )
    publish(found, document, told, asked["as_json"], lambda: _show_queries(found))
    return 0


def _show_queries(found: AttackResults) -> None:
    say("attacks on the log; rows are counted from 0")
    for name, tried in found.items():
        say(f"  {name}: {tried['sentence']}")
        if tried["exposed"]:
            say(f"      exposed rows: {', '.join(map(str, tried['exposed']))}")
        for row, numbers in list(tried["details"].get("queries", {}).items())[:QUERIES]:
            say(f"      row {row} by queries {', '.join(map(str, numbers))}")
        for told in tried["details"].get("told", ())[:QUERIES]:
            say(f"      query {told['refused']}, refused, by queries {', '.join(map(str, told['by']))}")
        if users := {user: often for user, often in tried["details"].get("by user", {}).items() if often}:
            alone = ", ".join(f"{user or 'nobody named'} {number(often)}" for user, often in users.items())
            say(f"      users alone: {alone}")
    for name, why in found.skipped.items():
        say(f"not tried: {name}: {why}")


def _show_series(found: AttackResults) -> None:
    for name, tried in found.items():
        low, high = map(percent, tried["interval"])
        say(f"{name}: {percent(tried['success'])} pinned, {percent(tried['baseline'])} by guessing")
        say(f"  95% interval {low} to {high}; {number(tried['trials'])} people tried")
        say(f"  {tried['sentence']}")
        if many := tried["details"].get("people in small groups"):
            share = percent(tried["details"]["greatest share of worlds"])
            say(f"  all worlds of {number(many)} of them, in small groups: one value of a person has up to {share}")
        if tried["exposed"]:
            say(f"  most exposed rows of the last original: {', '.join(map(str, tried['exposed']))}")


def _show(found: AttackResults, external: bool) -> None:
    say("attacks, those that gain most over guessing first; rows are counted from 0, the first after the header")
    for name, tried in sorted(found.items(), key=lambda item: -item[1]["advantage"]):
        low, high = map(percent, tried["interval"])
        guess = f"{percent(tried['baseline'])} by guessing"
        count = f"95% interval {low} to {high}; {number(tried['trials'])} tried"
        say(f"  {name}: {percent(tried['success'])} succeed, {guess} ({count})")
        say(f"      {tried['sentence']}")
        if tried["exposed"]:
            say(f"      most exposed rows of the {tried['rows_of']} table: {', '.join(map(str, tried['exposed']))}")
    families = {name.partition(" on ")[0].partition(": ")[0] for name in (*found, *found.skipped)}
    if "cluster-linkage" in families:
        families.add("deterministic-linkage")
    elif external and "deterministic-linkage" not in families:
        families.add("deterministic-linkage")
        say("not tried: linking to the external table, which has no quasi-identifier, nor a row for each released one")
    for name, why in found.skipped.items():
        say(f"not tried: {name}: {why.rstrip('.')}")
    for first, (words, need) in NOT_TRIED.items():
        if first not in families:
            say(f"not tried: {words}, which need{'s' * (first not in ('homogeneity', 'singling-out'))} {need}")
