"""sfumato anonymize: a table in, a proven release out."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import guide, inputs, options
from sfumato.cli.console import Progress, complain, notes, say, say_command, say_json, say_written, tell
from sfumato.cli.options import PROMISES, ROLES, SEARCH, WRITING, option
from sfumato.cli.release_set import show_set, without_internal
from sfumato.core.wording import apart, as_flag, count, number, percent, scalar

if TYPE_CHECKING:
    from sfumato.measures.reach import Reach
    from sfumato.measures.suggestion import Suggested
    from sfumato.policyfile.file import Draft, PolicyFile
    from sfumato.report.sections.standards import HeldTo


FEW = 5  # entries of a mapping that a line of the terminal shows
LONG = 60  # letters of a parameter, beyond which its sentence says it
MUCH = 0.2  # of the loss, that ranges would save: worth a line


def anonymize(
    context: typer.Context,
    source: options.Files = None,
    *,
    roles: options.RoleOptions,
    unprotected: Annotated[
        options.Texts, option("--unprotected", "Sensitive columns that nothing protects, on purpose.", ROLES, "A,B")
    ] = None,
    row_key: options.RowKey = None,
    person: options.Person = None,
    household: options.Household = None,
    promises: options.PromiseOptions,
    population: options.Population = None,
    suppression: options.Suppression = None,
    search: Annotated[
        str | None, option("--search", 'auto (default) picks one; or as "optimal seconds=10".', SEARCH, "NAME")
    ] = None,
    keep: Annotated[
        str | None, option("--keep", "What auto shall keep: consistent-columns, one label per value.", SEARCH, "NAME")
    ] = None,
    labels: Annotated[
        str | None, option("--labels", "Of hierarchies given, of hierarchy in all, or ranges.", SEARCH, "NAME")
    ] = None,
    tidy: Annotated[
        bool | None, option("--tidy/--no-tidy", "Fewer labels, which nest; or a little less loss.", SEARCH)
    ] = None,
    loss: options.Loss = None,
    ledger: options.Ledger = None,
    budget: options.DatasetBudget = None,
    budget_delta: options.BudgetDelta = None,
    dataset: options.Dataset = None,
    seed: options.Seed = None,
    max_cells: options.MaxCells = None,
    writing: options.ReleaseOptions,
    output_table: Annotated[
        str | None, option("--output-table", "Release to this table of the database.", WRITING, "NAME")
    ] = None,
    ends: options.Ends = None,
    numbers: Annotated[
        str | None, option("--numbers", "Ranges as text (default), bounds, midpoint or draw.", WRITING, "NAME")
    ] = None,
    profile: Annotated[
        str | None, option("--profile", "Held to hipaa, clinical or gdpr: told, not enforced.", PROMISES, "NAME")
    ] = None,
    pdf: Annotated[bool | None, option("--pdf/--no-pdf", "Reports as PDF too, by Chromium.", WRITING)] = None,
    suggest: Annotated[
        bool, option("--suggest", "Suggest roles where none are given, and what protects sensitive columns.", PROMISES)
    ] = False,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Release a table so that it keeps its promises: by a policy file, or by flags.

    Flags beside a policy file override it. Everything is checked, and the release verified, before anything is written.

    Several files, a pattern or a folder are streamed; --input and --table name a table of a database.
    """
    from sfumato.errors import UndecidedColumns
    from sfumato.losses import LOSSES
    from sfumato.policyfile.file import check
    from sfumato.search import SEARCHES

    faults: list[str] = []
    given: dict[tuple[str | int, ...], Any] = {
        **roles.keys(faults),
        ("roles", "unprotected"): options.joined(unprotected),
        ("roles", "row_key"): options.joined(row_key),
        ("roles", "person"): person,
        ("roles", "household"): household,
        ("population", "path"): None if population is None else str(Path(population).absolute()),
        ("search", "method"): options.named(search, "method", SEARCHES, "--search", faults),
        ("search", "keep"): keep,
        ("search", "labels"): labels,
        ("search", "tidy"): tidy,
        ("search", "loss"): options.named(loss, "name", LOSSES, "--loss", faults),
        ("search", "suppression"): None if suppression is None else scalar(suppression),
        ("search", "seed"): seed,
        ("search", "max_cells"): max_cells,
        **writing.keys(),
        ("output", "table"): output_table,
        ("output", "ends"): ends,
        ("output", "numbers"): numbers,
        ("output", "profile"): profile,
        ("output", "pdf"): pdf,
    }
    given |= options.account("search", ledger, budget, budget_delta, dataset, faults)
    data = inputs.named(source, reading, policies=True)
    models = promises.models(faults, population)
    found = None
    if data.policy is None and not roles.quasi and not faults and not any("quasi" in one for one in models):
        found = guide.guide_of(data, roles, unprotected)
    if found is not None and not suggest:
        proposed = options.draft(data, given | found.keys(given), models or guide.LEAST, faults)
        check(proposed, found.every, stored=found.stored)  # other faults come first
        return guide.refuse(found, context.obj, bool(models), bool(writing.output or output_table), as_json)
    if found is not None:
        given |= found.keys(given)
        if not as_json:
            guide.say_suggested(found)
    draft = options.draft(data, given, models, faults)
    try:
        made = release(draft, "suggest" if suggest else "shell")
    except KeyboardInterrupt:
        raise SystemExit(_interrupted(draft, as_json)) from None
    except UndecidedColumns as error:
        raise error.told_in("shell" if data.policy is None else "file") from None
    if made[1].search.fragments:
        show_set(made[0], made[2], made[3], as_json)
    else:
        show(*made, as_json, _suggested(made[0]) if suggest else None, None if found is None else found.to_dict())
    return 0


def _suggested(found: Any) -> tuple[Suggested, ...] | str:
    """What would protect the unprotected columns, with its cost; a sentence where that is not known."""
    import sfumato as sf
    from sfumato.errors import SfumatoError

    try:
        with Progress("searching for what is suggested") as progress:
            return sf.suggest(found, cost=True, progress=progress)
    except SfumatoError as error:  # the release is made: that its protection cannot be costed does not undo it
        return str(error)


def release(draft: Draft, words: str = "shell") -> tuple[Any, PolicyFile, Path | None, list[str]]:
    """Check the policy against the table, anonymise, save; release, policy, folder, and notes in `words`."""
    import sfumato as sf
    from sfumato.engines.atomic import check_target
    from sfumato.engines.memory.table import MemoryTable
    from sfumato.report.files import check_reports

    with Progress("reading") as progress, notes(words) as told:
        opened, policy = inputs.checked(draft)
        if policy.output is not None:
            check_target(policy.output, policy.overwrite)  # before the work, not after
        if opened.stored:
            kept = sf.anonymize(opened.data, **policy.keywords(), **policy.stored(), progress=progress)
            return kept, policy, kept.path, told
        reports = reports_of(draft)
        if policy.search.fragments:
            without_internal(reports)
        check_reports(reports["internal_report"], policy.output, policy.overwrite, reports["pdf"])
        table = MemoryTable(opened.data, reading=opened.reading)
        found = sf.anonymize(table, **policy.keywords(), progress=progress)
        progress("writing", None)
        assert policy.output is not None
        if policy.search.fragments:
            reports = without_internal(reports)
        folder = found.save(policy.output, format=policy.format, overwrite=policy.overwrite, **reports)
    return found, policy, Path(folder), told


def _interrupted(draft: Draft, as_json: bool) -> int:
    """What an interrupted run left: counts of files, which the same command goes on from."""
    from sfumato.cli.exits import interrupted
    from sfumato.engines.atomic import PREFIX

    output = draft.tables.get("output", {}).get("path")
    target = None if not isinstance(output, str) else draft.folder / output
    counts = None if target is None else target.parent / f"{PREFIX}count-{target.name}"
    message = "interrupted, nothing written"
    if counts is not None and any(counts.glob("*/*.parquet")):
        message += f"; what was counted is kept in {counts}, and the same command goes on from there"
    return interrupted(message, as_json)


def reports_of(draft: Draft) -> dict[str, Any]:
    """Which reports are asked for; a path in a policy file starts at its folder."""
    asked = draft.tables.get("output", {})
    internal = asked.get("internal_report")
    return {"internal_report": None if internal is None else draft.folder / internal, "pdf": asked.get("pdf", False)}


def show(
    found: Any,
    policy: PolicyFile,
    folder: Path | None,
    told: list[str],
    as_json: bool,
    suggested: tuple[Suggested, ...] | str | None = None,
    roles: Mapping[str, Any] | None = None,
) -> None:
    """What was done and what it promises; `roles` are those that were suggested and taken."""
    from sfumato.report.manifest import by_people
    from sfumato.report.sections.headline import title
    from sfumato.report.sections.standards import held_to

    manifest = found.manifest
    held = held_to(manifest, found.standards)
    solution, promises = manifest["solution"], [*by_people(manifest), *manifest["promises"]]
    files = [] if folder is None else sorted(str(path) for path in folder.iterdir())
    if as_json:
        say_json(
            {
                "rows": manifest["data"]["rows"],
                "suppressed": solution.get("suppressed"),
                "search": manifest["policy"]["search"],
                "chosen": manifest["policy"].get("chosen"),
                "loss": {**manifest["policy"].get("loss", {}), "value": solution.get("loss")},
                "optimal": solution.get("optimal", False),
                "promises": promises,
                **({"privacy": manifest["privacy"]} if "privacy" in manifest else {}),
                "reach": found.reach.to_dict(),
                **({} if held is None else {"profile": held.to_dict()}),
                "folder": None if folder is None else str(folder),
                "files": files,
                "notes": told,
                **({} if policy.table is None else {"table": policy.table}),
                **({} if suggested is None else {"suggested": _plain(suggested)}),
                **({} if roles is None else {"suggested_roles": roles}),
            }
        )
        return
    tell(told)
    if "privacy" in manifest:
        _say_private(manifest)
    else:
        _say_figures(found, manifest)
    say(title(found.reach, held))
    say_promises(promises)
    say_reach(found.reach, held)
    if suggested is not None:
        _say_suggested(suggested)
    else:
        for one in found.reach.suggested:
            if one.column not in found.reach.accepted:
                say(f"    --require {shlex.quote(one.shell)} asks for it, --suggest tells what it costs,")
                say(f"    --unprotected {shlex.quote(one.column)} accepts that nothing protects it")
    say_written([*([] if policy.table is None else [f"table {policy.table}"]), *files])
    if (command := _verify(policy, folder, manifest)) is not None:
        say_command("verify it with", command)
    else:
        say("to verify it later, release it with -o FOLDER too: its manifest keeps what the promises are held against")


def _say_private(manifest: Mapping[str, Any]) -> None:
    """Of a private release, what was paid for: nothing else of the original may be told."""
    cost, levels = manifest["privacy"], manifest["solution"]["levels"]
    say(f"{count(manifest['data']['rows'], 'row')} released, of a sample of the rows")
    say(f"cost: epsilon {cost['epsilon']}, delta {cost['delta']}")
    for part in cost["accounting"]:
        own = [f"{name} {part[name]}" for name in ("beta", "k", "epsilon", "delta") if name in part]
        say(f"  {part['what']}: {', '.join(own)}")
    say(f"levels: {', '.join(f'{name} {level}' for name, level in levels.items())}")


def _say_figures(found: Any, manifest: Mapping[str, Any]) -> None:
    """Rows, method and loss."""
    solution = manifest["solution"]
    rows, of = manifest["data"]["rows"], manifest["input"]["rows"]
    say(f"{number(rows)} of {number(of)} rows released, {number(solution['suppressed'])} suppressed")
    best = ", the least there is" if solution["optimal"] else ""
    best += f"; proven: {solution['proven']}" if solution["proven"] else ""
    method, loss = manifest["policy"]["search"]["name"], manifest["policy"]["loss"]["name"]
    lost = "not told by the released labels" if solution["loss"] is None else number(solution["loss"])
    say(f"method {method}; loss {loss} {lost}{best}")
    had, finer = found.solution.verdict.loss, found.solution.as_ranges
    if finer is not None and finer < (1 - MUCH) * had:
        say(f"  ranges of their own would lose about {percent(1 - finer / had)} less: --labels ranges prints them")
    if found.solution.improving is not None and not manifest["policy"]["chosen"]:
        say(f"  the second half of its rounds lowered the loss by {percent(found.solution.improving)}")
    if chosen := manifest["policy"]["chosen"]:
        say(f"  picked because {chosen['why']}")
        say(f"  runner-up {chosen['runner_up']}")


def _verify(policy: PolicyFile, folder: Path | None, manifest: Mapping[str, Any]) -> str | None:
    """The command that verifies the release: a table without a folder is asked what the manifest would have said.

    None where a command cannot say it: values of the table, hierarchies, the distribution before rows were suppressed.
    """
    from sfumato.report.sections.method import flags_of

    asked = manifest["policy"]
    words = ["sfumato", "verify", *([] if folder is None else [str(folder)])]
    if policy.table is not None:
        words += ["--input", str(policy.input)]
    if policy.table is not None and folder is None:
        against = any(c.uses_overall_distribution for c in policy.require) and manifest["solution"]["suppressed"]
        stated = [value for model in asked["require"] for value in model.values()]
        listed = any(isinstance(value, list | tuple | dict) or value == "hierarchical" for value in stated)
        if against or listed:
            return None
        words += [
            "--table",
            policy.table,
            *(word for names in asked["quasi"] for word in ("--quasi", as_flag(names))),
        ]
        words += [word for flag in flags_of(manifest) for word in flag]
    return shlex.join(words)


def _say_suggested(found: tuple[Suggested, ...] | str) -> None:
    """What was suggested, and what another search says that it costs."""
    if isinstance(found, str):
        complain(f"note: what would protect it could not be tried: {found}")
        return
    if not found:
        say("nothing to suggest: every sensitive column is protected")
        return
    cost = found[0].cost
    assert cost is not None
    say("suggested: " + " ".join(f"--require {shlex.quote(one.shell)}" for one in found))
    (loss, more), (gone, away) = cost.loss, cost.suppressed
    say(
        f"  loss {number(loss)} would become {number(more)}, rows suppressed {number(gone)} would become {number(away)}"
    )
    for one in found:
        assert one.cost is not None
        for name, (now, then, guess) in one.cost.attacks.items():
            change = f"{percent(now)} would become {percent(then)}, guessing {percent(guess)}"
            say(f"  {name} of {one.column}: {change}")


def _plain(found: tuple[Suggested, ...] | str) -> Any:
    return found if isinstance(found, str) else [{"require": one.require, "cost": vars(one.cost)} for one in found]


def say_reach(reach: Reach, held: HeldTo | None = None) -> None:
    """Whether the standard is met that a release is held to, and how far the promises go, a line each."""
    from sfumato.report.sections.headline import lines, plain

    for term, parts in lines(reach, held):
        if term != "Proven":  # each promise has its own line
            say(f"  {term.lower()}: {plain(parts)}")


def say_promises(promises: Iterable[Mapping[str, Any]], holds: str = "holds") -> None:
    """One line per promise: does it hold, what was measured, what is asked."""
    from sfumato.core.protocols import STATED
    from sfumato.report.sections.headline import NOT_OF_ROWS

    for promise in promises:
        parameters = {name: value for name, value in promise["parameters"].items() if name != "quasi"}
        given = ", ".join(f"{name}={_parameter(name, value)}" for name, value in parameters.items())
        how = promise.get("how", "proven")
        by_construction = how == "by construction" and promise["holds"]
        verdict = "by construction" if by_construction else holds if promise["holds"] else "FAILS"
        if promise["holds"] and how in NOT_OF_ROWS:  # never as what is proven
            verdict = how if how == STATED else f"holds {how}"
        about = (f" ({given})" if given else "") + (f" on {', '.join(promise['quasi'])}" if promise["quasi"] else "")
        say(f"  {verdict}  {promise['model']}{about}")
        if by_construction:
            say(f"         {promise['sentence']}")
            continue
        note = f"; {promise['note']}" if promise["note"] else ""
        measured, bound = apart(promise["measured"], promise["bound"])
        if verdict == "stated":
            say(f"         {promise['sentence']} Stated {measured}, bound {bound}{note}.")
            continue
        say(f"         {promise['sentence']} Measured {measured}, bound {bound}{note}.")


def _parameter(name: str, value: object) -> str:
    if name == "per" and isinstance(value, dict) and len(value) <= FEW:
        return ", ".join(f"{name or 'missing'}={number(bound)}" for name, bound in value.items())
    if isinstance(value, str) and len(value) > LONG:
        return "as follows"
    return count(len(value), "value") if isinstance(value, list | tuple | dict) else number(value)
