"""sfumato attack: what somebody can find out from a release, and whose records are most exposed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato.cli import figures, options
from sfumato.cli.console import number, say, say_json
from sfumato.cli.options import option

if TYPE_CHECKING:
    from sfumato.measures.attacks.summary import AttackResults

ATTACKS = "Attacks"
NOT_TRIED = {  # the first of several attacks, what they are, and what they need
    "homogeneity": ("homogeneity, background knowledge, skewness and similarity", "--sensitive"),
    "singling-out": ("singling out, linkability, inference and the order of the rows", "--original"),
    "deterministic-linkage": ("linking to a table of people", "--external"),
    "membership": ("membership", "--original and --holdout"),
    "intersection": ("the intersection of several releases", "--original and --release"),
}


def attack(
    target: options.Targets = None,
    external: Annotated[
        Path | None, option("--external", help="A table of people an attacker knows.", panel=ATTACKS, shape="FILE")
    ] = None,
    original: Annotated[
        Path | None, option("--original", help="The table behind the release.", panel=ATTACKS, shape="FILE")
    ] = None,
    holdout: Annotated[
        Path | None, option("--holdout", help="People like those, who are not in it.", panel=ATTACKS, shape="FILE")
    ] = None,
    releases: Annotated[
        list[Path] | None,
        option("--release", help="Another release about the same people; repeatable.", panel=ATTACKS, shape="TARGET"),
    ] = None,
    key: Annotated[
        str | None,
        option("--key", help="Column that tells who is who, in both; or A=B.", panel=ATTACKS, shape="A"),
    ] = None,
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    hierarchy: options.Hierarchies = None,
    wildcard: Annotated[
        bool, option("--wildcard", help="A missing value matches any value.", panel=ATTACKS, shape="")
    ] = False,
    seed: Annotated[int, option("--seed", help="Of what is drawn: 0 (default).", panel=ATTACKS, shape="N")] = 0,
    trials: Annotated[
        int, option("--trials", help="Records that an attack tries: 1000 (default).", panel=ATTACKS, shape="N")
    ] = 1000,
    most: Annotated[
        int, option("--most", help="Row numbers that it names: 20 (default).", panel=ATTACKS, shape="N")
    ] = 20,
    upper: Annotated[
        float, option("--upper", help="Match probability of a link: 0.9 (default).", panel=ATTACKS, shape="P")
    ] = 0.9,
    lower: Annotated[
        float, option("--lower", help="And of a pair for review: 0.5 (default).", panel=ATTACKS, shape="P")
    ] = 0.5,
    output: figures.Output = None,
    overwrite: figures.Overwrite = False,
    place: options.NoInput = None,
    table: options.NoTable = None,
    stream: options.NoStream = None,
    separator: options.Separator = None,
    quote: options.Quote = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    sheet: options.Sheet = None,
    as_json: options.Json = False,
) -> int:
    """Try the attacks of the literature on a release, each beside what guessing achieves.

    The records most exposed are named by row number, never by content.

    A release folder knows its quasi-identifiers and sensitive columns; a file needs --quasi.
    """
    import sfumato as sf
    from sfumato.cli import options as flags
    from sfumato.cli import sources
    from sfumato.cli.console import Progress, notes
    from sfumato.core import compiled as kernels
    from sfumato.errors import PolicyError

    if key is not None and external is None:
        raise PolicyError("--key tells who is who in the table of --external, and there is none")
    path = sources.in_memory("attack", target, place, table, stream)
    figures.check_output(output, overwrite)
    given = figures.chosen(options.reading(separator, quote, encoding, header, sheet))
    with Progress("reading") as progress, notes() as told:
        data = figures.table(path, given)
        people, known, others = (
            None if file is None else figures.table(file, given, other=True) for file in (original, external, holdout)
        )
        kernels.warn_of_compiling(progress)
        progress("attacking", None)
        found = sf.attack(
            data,
            known,
            people,
            quasi=flags.names(quasi),
            sensitive=flags.joined(sensitive),
            truth=None if key is None else tuple((key.split("=", 1) * 2)[:2]),
            holdout=others,
            releases=[figures.table(file, given, other=True) for file in releases or ()],
            hierarchies=figures.recipes(hierarchy),
            wildcard=wildcard or None,
            seed=seed,
            trials=trials,
            most=most,
            upper=upper,
            lower=lower,
        )
    figures.write(found, output, overwrite)
    if as_json:
        say_json(found)
        return 0
    figures.tell(told)
    _show(found, external is not None)
    if output is not None:
        say(f"written: {output}")
    return 0


def _show(found: AttackResults, external: bool) -> None:
    say("attacks, those that gain most over guessing first; rows are counted from 0, the first after the header")
    for name, tried in sorted(found.items(), key=lambda item: -item[1]["advantage"]):
        low, high = map(figures.percent, tried["interval"])
        guess = f"{figures.percent(tried['baseline'])} by guessing"
        count = f"95 % interval {low} to {high}; {number(tried['trials'])} tried"
        say(f"  {name}: {figures.percent(tried['success'])} succeed, {guess} ({count})")
        say(f"      {tried['sentence']}")
        if tried["exposed"]:
            say(f"      most exposed rows of the {tried['rows_of']} table: {', '.join(map(str, tried['exposed']))}")
    families = {name.partition(" on ")[0].partition(": ")[0] for name in found}
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
