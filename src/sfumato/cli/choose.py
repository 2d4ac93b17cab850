"""sfumato choose: which k, from thresholds in use, the attackers, the population, and what each k costs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from sfumato.cli import inputs, options
from sfumato.cli.compare import interrupted_run, listed, run, whole
from sfumato.cli.console import say, say_json, say_table, say_wrapped, say_written, tell
from sfumato.cli.options import MEASURES, PROMISES, SEARCH, option
from sfumato.core.wording import number, percent


def choose(
    source: options.Files = None,
    *,
    roles: options.RoleOptions,
    limit: Annotated[
        float | None, option("--limit", "The highest risk that you accept, as 0.09.", MEASURES, "N")
    ] = None,
    attacker: Annotated[
        str, option("--attacker", "Whose risk: prosecutor (default), journalist, marketer.", MEASURES, "NAME")
    ] = "prosecutor",
    population: Annotated[
        int | None, option("--population", "How many people the table is drawn from.", MEASURES, "N")
    ] = None,
    k: Annotated[options.Texts, option("--k", "Those to try: 2 to 50 if not given.", PROMISES, "N,N")] = None,
    require: Annotated[options.Texts, option("--require", "A model to hold beside k.", PROMISES, "MODEL")] = None,
    suppression: Annotated[
        str | None, option("--suppression", "Rows that may be dropped: 0.02 is a share.", PROMISES, "N")
    ] = None,
    search: Annotated[str | None, option("--search", "Method: auto if not given.", SEARCH, "NAME")] = None,
    loss: Annotated[str | None, option("--loss", "What is lost, and kept low: lm (default).", SEARCH, "NAME")] = None,
    seed: options.Seed = None,
    workers: Annotated[int, option("--workers", "Releases made at the same time: 2 if not given.", SEARCH, "N")] = 2,
    ends: options.Ends = None,
    output: Annotated[Path | None, options.output("Folder of the page; a second run goes on in it.", "FOLDER")] = None,
    reading: options.MemoryReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Help to choose k: what each threshold in use asks for, and what every k costs.

    A release is made for each k, measured, and thrown away. A policy file may say the rest; its k is left out.
    """
    from sfumato.core.wording import scalar
    from sfumato.losses import LOSSES
    from sfumato.search import SEARCHES

    faults: list[str] = []
    named = inputs.named(source, reading, policies=True)
    given: dict[tuple[str | int, ...], Any] = {
        **roles.keys(faults),
        ("search", "seed"): seed,
        ("output", "ends"): ends,
        ("output", "path"): ".",  # no release is written
    }
    lists: dict[str, list[Any]] = {
        "method": [] if search is None else [options.named(search, "method", SEARCHES, "--search", faults)],
        "loss": [] if loss is None else [options.named(loss, "name", LOSSES, "--loss", faults)],
        "suppression": [] if suppression is None else [scalar(suppression)],
    }
    ks = whole(listed(k, ()), faults)
    more = {"limit": limit, "attacker": attacker, "population": population, "workers": workers, "k": ks or None}
    try:
        told, found, files = run("choose", named, given, lists, ks or [2], require or [], faults, output, more)
    except KeyboardInterrupt:
        raise SystemExit(interrupted_run(output, as_json)) from None
    if as_json:
        say_json({**found, "folder": None if output is None else str(output), "files": files, "notes": told})
    else:
        tell(told)
        _show(found)
        if files:
            say_written(files)
    return 0 if any(row["status"] == "done" for row in found["points"]) else 2


def _show(found: Mapping[str, Any]) -> None:
    from sfumato.cli.phrases import in_flags
    from sfumato.comparing.choosing import ATTACKERS, k_words, limit_words

    people = "" if found["population"] is None else f", drawn from {number(found['population'])} people"
    say_wrapped(f"{number(found['rows'])} rows{people}; quasi-identifiers {', '.join(found['quasi'])}", "")
    say()
    head = ["limit", "used for", *ATTACKERS]
    body = [
        [limit_words(one), one["use"], *(k_words(one[who], found) for who in ATTACKERS)] for one in found["thresholds"]
    ]
    say_table(head, body, right=(2, 3, 4))
    say()
    head = ["k", "loss", "highest", "average", "marketer", "suppressed", ""]
    body = []
    for row in found["points"]:
        words = [word for word in ("knee", "suggested") if found[word] == row["k"]]
        if row["status"] != "done":
            body.append([number(row["k"]), *["-"] * 5, row["status"]])
            continue
        shares = [percent(row[name]) for name in ("highest", "average", "marketer")]
        body.append([number(row["k"]), f"{row['loss']:.4f}", *shares, number(row["suppressed"]), ", ".join(words)])
    say_table(head, body, right=range(6))
    say()
    say(f"suggested: {'none' if found['suggested'] is None else 'k ' + number(found['suggested'])}")
    say_wrapped(found["why"])
    if found["population"] is None:
        say_wrapped("Without --population the journalist is taken for a prosecutor.")
    for reason in dict.fromkeys(row["reason"] for row in found["points"] if row["reason"]):
        say_wrapped(in_flags(reason))
