"""sfumato mine: publish what is learned of people, and nothing about a few of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes, say, say_json, say_table
from sfumato.cli.options import PROMISES, ROLES, SEARCH, WRITING, option
from sfumato.cli.release_set import show_set
from sfumato.core.wording import percent

WAYS = ("itemsets right", "rules right", "support error")


def mine(
    source: options.Files = None,
    *,
    basket: Annotated[str | None, option("--basket", "Column that says whose item it is.", ROLES, "A")] = None,
    item: Annotated[str | None, option("--item", "Column of items.", ROLES, "A")] = None,
    features: Annotated[
        options.Texts, option("--features", "Columns of a table to learn from; all unless given.", ROLES, "A,B")
    ] = None,
    target: Annotated[str | None, option("--target", "Column to predict.", ROLES, "A")] = None,
    k: Annotated[int | None, option("--k", "People that a pattern or a leaf is of, at least.", PROMISES, "N")] = None,
    l: Annotated[int | None, option("--l", "Values of the target that a leaf has, at least.", PROMISES, "N")] = None,
    miner: Annotated[
        str | None,
        option("--miner", "frequent-itemsets, k-anonymous-tree or pooled-naive-bayes.", SEARCH, "NAME"),
    ] = None,
    support: Annotated[int | None, option("--support", "People that have an itemset, at least.", SEARCH, "N")] = None,
    confidence: Annotated[
        float | None, option("--confidence", "Share in which a rule is right, at least: 0.5.", SEARCH, "SHARE")
    ] = None,
    longest: Annotated[int | None, option("--longest", "Items of an itemset, at most.", SEARCH, "N")] = None,
    block: Annotated[str | None, option("--block", "additive or suppressive.", SEARCH, "NAME")] = None,
    depth: Annotated[int | None, option("--depth", "Conditions of a rule of a tree, at most: 6.", SEARCH, "N")] = None,
    counts: Annotated[
        bool | None, typer.Option("--counts/--no-counts", help="People of each leaf.", rich_help_panel=SEARCH)
    ] = None,
    bins: Annotated[int | None, option("--bins", "Ranges that numbers are put into: 10.", SEARCH, "N")] = None,
    hide: Annotated[
        list[str] | None, option("--hide", 'Rule not to publish, as "bread -> milk"; repeatable.', SEARCH, "RULE")
    ] = None,
    compare: Annotated[
        bool, option("--compare", "Also anonymise first and mine then, and print how right both ways are.", SEARCH)
    ] = False,
    output: Annotated[Path | None, options.output("The folder of the release, which is made.", "FOLDER")] = None,
    format: Annotated[str | None, options.FORMAT] = None,
    overwrite: Annotated[bool, option("--overwrite", "Replace an earlier release.", WRITING)] = False,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Mine baskets or a table, and publish what is learned, so that nothing which follows from it is about fewer than K
    people.

    Frequent itemsets and rules of baskets (--basket and --item) or of the values of a table; with --target a decision
    tree, or naive Bayes. What is right of it is printed; --compare also does it the other way, which takes longer, and
    prints both. In a policy file the same stands in [mine].
    """
    import sfumato as sf
    from sfumato.engines.atomic import check_target
    from sfumato.policyfile.mine import check_mine

    own = {
        "basket": basket, "item": item, "features": options.joined(features), "target": target, "k": k, "l": l,
        "miner": miner, "support": support, "confidence": confidence, "longest": longest, "block": block,
        "hide": hide or None, "depth": depth, "counts": counts, "bins": bins, "compare": compare or None,
    }  # fmt: skip
    given: dict[tuple[str | int, ...], Any] = {("mine", name): value for name, value in own.items()}
    out = {"path": None if output is None else str(output.absolute()), "format": format, "overwrite": overwrite or None}
    given |= {("output", name): value for name, value in out.items()}
    data = inputs.named(source, reading, policies=True)
    policy = check_mine(options.draft(data, given, (), ()))
    check_target(policy.output, policy.overwrite)
    with Progress("reading") as progress, notes() as told:
        table = inputs.table(Path(policy.source.paths[0]), policy.source.reader, other=False)
        found = sf.mine(table, **policy.keywords, progress=progress)
        found.save(policy.output, policy.format, overwrite=policy.overwrite)
    if as_json:
        say_json({
            "folder": str(output or policy.output), "tables": {part.name: part.frame.height for part in found.parts},
            "method": found.manifest["method"], "promises": found.manifest["promises"],
            "cost": found.solution.plain(), "compared": found.compared,
        })  # fmt: skip
        return 0
    show_set(found, output or policy.output, told, False)
    say("for you alone:")
    for line in found.solution.lines():
        say(f"  {line}")
    if found.compared:
        first = next(iter(found.compared.values()))
        head = WAYS if len(first) > 1 else ("right about people held out",)
        say_table(["", *head], [[way, *map(percent, one.values())] for way, one in found.compared.items()])
    return 0
