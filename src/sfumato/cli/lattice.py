"""sfumato lattice: which generalisations satisfy a policy, which of them are minimal, and a drawing of them all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes, refuse_existing, say, say_json, say_table, tell
from sfumato.cli.options import SEARCH, WRITING, option
from sfumato.core.wording import count, number, scalar

if TYPE_CHECKING:
    import polars as pl

    from sfumato.policyfile.file import PolicyFile
    from sfumato.search.lattice.incognito import Incognita
    from sfumato.search.lattice.minimal import Minimal
    from sfumato.search.problem import Problem, Solution

SHOWN = 40  # rows of a table told to people; machines get all
LISTED = 10_000  # nodes of a lattice that machines are told one by one


def lattice(
    source: options.Files = None,
    *,
    columns: options.LevelOptions,
    promises: options.PromiseOptions,
    suppression: options.Suppression = None,
    search: Annotated[
        str, option("--search", "Which search marks its choice: optimal (default).", SEARCH, "NAME")
    ] = "optimal",
    loss: options.Loss = None,
    subsets: Annotated[bool, option("--subsets", "Also what each set of the columns takes.", SEARCH)] = False,
    output: Annotated[Path | None, options.output("Draw the lattice, as SVG.", "FILE")] = None,
    overwrite: Annotated[bool, option("--overwrite", "Replace that drawing.", WRITING)] = False,
    reading: options.MemoryReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Show the minimal generalisations of a table: the level vectors that satisfy while no smaller one does.

    Nothing is released. With --subsets also what every combination of the columns takes, and which are dangerous.
    """
    from sfumato.core.progress import interruptible
    from sfumato.engines.atomic import atomic_file
    from sfumato.errors import OutputError
    from sfumato.losses import LOSSES
    from sfumato.report.charts.lattice import draw
    from sfumato.search import SEARCHES
    from sfumato.search.lattice.incognito import incognito
    from sfumato.search.lattice.minimal import minimal_nodes
    from sfumato.search.problem import refuse_unprunable

    refuse_existing(output, overwrite, "drawing")
    faults: list[str] = []
    given: dict[tuple[str | int, ...], Any] = {
        **columns.keys(faults),
        ("search", "method"): options.named(search, "method", SEARCHES, "--search", faults),
        ("search", "loss"): options.named(loss, "name", LOSSES, "--loss", faults),
        ("search", "suppression"): None if suppression is None else scalar(suppression),
        ("output", "path"): ".",  # no release is written
    }
    asked = promises.models(faults)
    if output is not None and output.suffix.lower() != ".svg":
        raise OutputError("the lattice is drawn as SVG", got=f'"{output.name}"', allowed="a name that ends in .svg")
    named = inputs.named(source, reading, policies=True)
    with Progress("reading") as progress, notes() as told:
        problem, policy = _pose(options.draft(named, given, asked, faults), progress)
        if subsets:
            refuse_unprunable(problem, "--subsets")

        def work(report: Any) -> tuple[Solution, Minimal, Incognita | None]:
            posed = replace(problem, progress=report)
            return _choose(posed, policy), minimal_nodes(posed), incognito(posed) if subsets else None

        solution, found, every = interruptible(work, progress)
    chosen = tuple((solution.levels or {}).values())
    if output is not None:
        with atomic_file(output, overwrite) as part:
            part.write_text(draw(found, chosen, _about(problem)), encoding="utf-8", newline="\n")
    if as_json:
        more = {"file": None if output is None else str(output), "notes": told}
        say_json(_document(problem, policy, found, solution, every) | more)
        return 0
    tell(told)
    _show(problem, policy, found, solution)
    if every is not None:
        _show_subsets(every)
    if output is not None:
        say(f"written: {output}")
    return 0


def _pose(draft: Any, progress: Any) -> tuple[Problem, PolicyFile]:
    """The table and the checked policy as the problem of a search."""
    table, checked = inputs.checked(draft, "lattice")
    return problem_of(table.data, checked, progress), checked


def problem_of(frame: pl.DataFrame, checked: PolicyFile, progress: Any) -> Problem:
    """A table and a policy as the problem of a search for a level vector."""
    from sfumato.core.policy import Policy
    from sfumato.core.printed import printed
    from sfumato.core.wording import quoted
    from sfumato.errors import ColumnError, PolicyError
    from sfumato.hierarchies.either import Either
    from sfumato.release.request import recipes_of, warn_of_codes, warn_of_unmeasured
    from sfumato.search.problem import make_problem

    policy = Policy(checked.roles.quasi, checked.require, checked.suppression, checked.loss)
    for name in (*policy.columns, *policy.needs):
        if printed(frame.get_column(name)).null_count() == frame.height:
            raise ColumnError(f'column "{name}" is empty: it has no value in any row', hint="leave it out")
    warn_of_unmeasured(frame, checked.roles.quasi, checked.roles.sensitive, checked.require)
    recipes = recipes_of(frame, checked.hierarchies, policy.columns)
    if several := [name for name, recipe in recipes.items() if isinstance(recipe, Either)]:
        what = f"a lattice has one hierarchy per column, and {quoted(several)} has alternatives"
        raise PolicyError(what, hint="draw the lattice of one of them")
    recipes = warn_of_codes(frame, recipes, checked.hierarchies, policy.columns)
    progress("counting", None)
    return make_problem(frame, policy, recipes, checked.levels, progress)


def _choose(problem: Problem, policy: PolicyFile) -> Solution:
    """What the search decides for; refused where that is no level vector."""
    from sfumato.errors import PolicyError
    from sfumato.search import SEARCHES, search_name

    name = search_name(policy.search)
    solution: Solution | None = policy.search(problem) if policy.search.code == "AG_TS" else None
    if solution is None or solution.levels is None:
        allowed = ", ".join(n for n, one in SEARCHES.items() if one.example.code == "AG_TS" and n != name)
        raise PolicyError(f"--search: {name} does not decide for a level vector", allowed=allowed)
    return solution


def _about(problem: Problem) -> str:
    """What is asked of a node, in a line; lists of values are counted, for they may come from the table."""
    from sfumato.comparing.points import required
    from sfumato.losses import loss_name

    told = f"{required(problem.policy.require)} on {number(problem.rows)} rows"
    limit = problem.limit
    told += f", of which up to {number(limit)} may be suppressed" if limit else ", none of which may be suppressed"
    return f"{told}; loss {loss_name(problem.policy.loss)}."


def _show(problem: Problem, policy: PolicyFile, found: Minimal, solution: Solution) -> None:
    from sfumato.search import search_name

    good, every, checked = int(found.satisfied.sum()), len(found.satisfied), int(found.checked.sum())
    say(_about(problem))
    say(f"{number(every)} level vectors: {number(good)} satisfy, {number(every - good)} do not")
    say(f"{number(checked)} of them were checked, {number(every - checked)} follow from those")
    say(f"{count(len(found.nodes), 'k-minimal generalisation')}:")
    ranked = sorted(found.nodes, key=lambda node: (node.loss, node.height, node.levels))
    chosen = tuple((solution.levels or {}).values())
    head = [*found.columns, "height", "suppressed", "loss", "classes", ""]
    rows = [
        [*n.levels, n.height, number(n.suppressed), number(n.loss), number(n.classes), "chosen" * (n.levels == chosen)]
        for n in ranked[:SHOWN]
    ]
    say_table(head, rows, right=range(len(head) - 1))
    if len(ranked) > SHOWN:
        say(f"and {number(len(ranked) - SHOWN)} that lose more; --json has them all")
    named = ", ".join(f"{column} {level}" for column, level in zip(found.columns, chosen, strict=True))
    minimal = "k-minimal" if chosen in {n.levels for n in found.nodes} else "not k-minimal: it suppresses less"
    verdict = solution.verdict
    say(f"{search_name(policy.search)} chooses {named} ({minimal})")
    say(f"  loss {number(verdict.loss)}, {number(verdict.suppressed)} rows suppressed")


def _show_subsets(every: Incognita) -> None:
    subsets, worst = list(every.subsets.values()), {s.columns for s in every.dangerous}
    risky = [s for s in subsets if not s.safe]
    safe = len(subsets) - len(risky)
    told = {0: "none satisfies as it is", 1: "1 satisfies as it is"}.get(safe, f"{number(safe)} satisfy as they are")
    say(f"{count(len(subsets), 'set')} of columns: {told}")
    if not risky:
        return
    say("the others, with what they take:")
    rows = [
        [
            ", ".join(s.columns),
            f"{number(int(s.good.sum()))} of {number(s.good.size)}",
            _vectors(s.minimal),
            "smallest that is dangerous" if s.columns in worst else "",
        ]
        for s in risky[:SHOWN]
    ]
    say_table(["columns", "satisfy", "minimal levels", ""], rows, right=(1,))
    if len(risky) > SHOWN:
        say(f"and {number(len(risky) - SHOWN)} larger sets; --json has them all")


def _vectors(nodes: tuple[tuple[int, ...], ...], most: int = 4) -> str:
    told = " ".join(",".join(map(str, node)) for node in nodes[:most])
    return told + (f" and {number(len(nodes) - most)} more" if len(nodes) > most else "") if nodes else "none"


def _document(
    problem: Problem, policy: PolicyFile, found: Minimal, solution: Solution, every: Incognita | None
) -> dict[str, Any]:
    from sfumato.losses import loss_name
    from sfumato.search import search_name

    chosen = tuple((solution.levels or {}).values())
    document: dict[str, Any] = {
        "rows": problem.rows,
        "suppression_limit": problem.limit,
        "loss": {"name": loss_name(policy.loss), **policy.loss.parameters()},
        "columns": list(found.columns),
        "nodes": len(found.satisfied),
        "satisfying": int(found.satisfied.sum()),
        "checks": found.checks,
        "minimal": [
            {
                "levels": dict(zip(found.columns, node.levels, strict=True)),
                "height": node.height,
                "suppressed": node.suppressed,
                "loss": node.loss,
                "classes": node.classes,
            }
            for node in found.nodes
        ],
        "chosen": {
            "search": search_name(policy.search),
            "levels": solution.levels,
            "suppressed": solution.verdict.suppressed,
            "loss": solution.verdict.loss,
            "minimal": chosen in {node.levels for node in found.nodes},
        },
        "lattice": None,
    }
    if len(found.satisfied) <= LISTED:
        listed = zip(found.lattice.nodes().tolist(), found.status(), found.satisfied.tolist(), strict=True)
        document["lattice"] = [{"vector": v, "status": status, "satisfies": good} for v, status, good in listed]
    if every is not None:
        worst = {subset.columns for subset in every.dangerous}
        document["subsets"] = [
            {
                "columns": list(subset.columns),
                "nodes": subset.good.size,
                "satisfying": int(subset.good.sum()),
                "minimal": [list(node) for node in subset.minimal],
                "safe": subset.safe,
                "smallest_dangerous": subset.columns in worst,
            }
            for subset in every.subsets.values()
        ]
    return document
