"""sfumato synth: draw a new table from a model of the old one, and say what is known of it."""

from __future__ import annotations

from typing import Annotated, Any

from sfumato.cli import changed, inputs, options
from sfumato.cli.console import say
from sfumato.cli.options import BUDGET, PUBLIC, SEARCH, option
from sfumato.core.wording import number, scalar


def synth(
    source: options.Files = None,
    *,
    generator: Annotated[
        str | None, option("--generator", 'The model, as "sequential-trees leaf=10".', SEARCH, "NAME")
    ] = None,
    rows: Annotated[int | None, option("--rows", "Rows to draw; as many as came in if not given.", SEARCH, "N")] = None,
    m: Annotated[int | None, option("--m", "Copies of the table, each drawn anew: 1 (default).", SEARCH, "N")] = None,
    copies: Annotated[
        str | None,
        option("--copies", "Of unique original rows: redraw (default), drop, keep.", SEARCH, "NAME"),
    ] = None,
    hold_out: Annotated[
        float | None, option("--hold-out", "Share that the model does not see: 0.1 (default); 0 for none.", SEARCH, "N")
    ] = None,
    sample: Annotated[
        int | None, option("--sample", "Rows of an out-of-core table to learn from: 200000 (default).", SEARCH, "N")
    ] = None,
    bounds: Annotated[
        options.Texts,
        option("--bounds", "Of a private model: as age=0:120, or cut points age=0:18:65:120.", PUBLIC, "A=LOW:HIGH"),
    ] = None,
    keys: Annotated[
        options.Texts, option("--keys", "Of a private model: as sex=F,M, all values that may be.", PUBLIC, "A=B,C")
    ] = None,
    ledger: options.Ledger = None,
    budget: options.DatasetBudget = None,
    budget_delta: options.BudgetDelta = None,
    dataset: options.Dataset = None,
    i_know: Annotated[bool, options.i_know(BUDGET)] = False,
    roles: options.DecidedOptions,
    promises: options.PromiseOptions,
    seed: options.Seed = None,
    max_cells: options.MaxCells = None,
    writing: options.ReleaseOptions,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Draw a new table from a model of the old one: by flags, or as [synthesis] of a policy file says.

    No row is a person's row, and that alone promises nothing: rows that repeat a unique original row are drawn again.
    With --k or --require, criteria must hold of the drawn rows, and are promised.

    Private models (mst, aim, priv-bayes) take --bounds and --keys of all columns, and are charged to a --ledger.

    "sfumato list generators" names the models. Random numbers come from your secret key and the seed together.
    """
    from sfumato.errors import PolicyError
    from sfumato.verbs.synthesize import written

    faults: list[str] = []
    given: dict[tuple[str | int, ...], Any] = {
        **roles.keys(faults),
        ("synthesis", "rows"): rows,
        ("synthesis", "m"): m,
        ("synthesis", "copies"): copies,
        ("synthesis", "hold_out"): hold_out,
        ("synthesis", "sample"): sample,
        ("search", "seed"): seed,
        ("search", "max_cells"): max_cells,
        **writing.keys(),
    }
    if generator is not None:
        try:
            given["synthesis", "generator"] = written(generator)
        except PolicyError as error:
            faults.append(f"--generator: {error}")
    public = _public(bounds, keys, i_know, faults)
    if public and ("synthesis", "generator") in given:
        given["synthesis", "generator"] |= public
    elif public:
        faults.append("--bounds, --keys and --i-know are of a private model; --generator names it")
    given |= options.account("synthesis", ledger, budget, budget_delta, dataset, faults)
    data = inputs.named(source, reading, policies=True)
    draft = options.draft(data, given, promises.models(faults), faults)
    words = "shell" if data.policy is None else "file"
    found, folder, told = changed.released(draft, "synthesis", words)
    manifest = found.manifest
    own = {"synthesis": manifest["synthesis"]}
    changed.show(found, folder, told, as_json, own, lambda: _say_how(found))
    return 0


def _public(bounds: options.Texts, keys: options.Texts, i_know: bool, faults: list[str]) -> dict[str, Any]:
    """What is public of a private model, as its parameters."""
    found: dict[str, Any] = {"i_know": True} if i_know else {}
    for name, texts, mark in (("bounds", bounds, ":"), ("keys", keys, ",")):
        pairs = options.pairs(texts, f"--{name}", faults)
        if pairs:
            found[name] = {column: [scalar(part) for part in text.split(mark)] for column, text in pairs.items()}
    return found


def _say_how(found: Any) -> None:
    """How many rows were drawn, by what, and what that leaves open."""
    from sfumato.core.masked import NOT_ANONYMOUS
    from sfumato.report.sections.synthesis import said_of_copies, said_of_rows

    manifest = found.manifest
    (step,), made = manifest["steps"], manifest["synthesis"]
    rows = f"{number(manifest['data']['rows'])} rows"
    rows += f" in {number(made['m'])} copies" if made["m"] > 1 else ""
    of = "made of" if made["partial"] or made["copies_people"] else "drawn from a model of"
    private = "privacy" in manifest
    seen = "noisy counts" if private else _seen(found)
    say(f"{rows} {of} {seen}, by {step['step']}: {step['does']}")
    said = f"{said_of_rows(manifest)}.", said_of_copies(manifest), step["leaves"], "" if private else NOT_ANONYMOUS
    for sentence in filter(None, dict.fromkeys(said)):
        say(f"  {sentence}")


def _seen(found: Any) -> str:
    """What the model was learnt from: no rows held out, nor any outside of the sample; of a partial table all rows."""
    asked, made = found.request, found.manifest["synthesis"]
    every = asked.frame.height if asked.stored is None else asked.stored.rows
    if made.get("fitted_to") == "counts":
        return f"counts of {number(every)}"
    learnt = every if made["partial"] else len(found.synthesis.learnt_from)
    return f"{number(learnt)} of {number(every)}" if learnt < every else number(every)
