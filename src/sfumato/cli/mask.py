"""sfumato mask: change the values of a table by steps, and say what can be checked of the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from sfumato.cli import changed, inputs, options
from sfumato.cli.console import say
from sfumato.cli.options import SEARCH, option
from sfumato.core.wording import number


def mask(
    source: options.Files = None,
    *,
    step: Annotated[
        options.Texts, option("--step", 'As "rank-swapping income,tax p=10"; repeated, in order.', SEARCH, "STEP")
    ] = None,
    roles: options.WeighedOptions,
    row_key: options.RowKey = None,
    promises: options.PromiseOptions,
    ledger: options.Ledger = None,
    budget: options.DatasetBudget = None,
    budget_delta: options.BudgetDelta = None,
    dataset: options.Dataset = None,
    seed: options.Seed = None,
    max_cells: options.MaxCells = None,
    writing: options.ReleaseOptions,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Change the values of a table by steps: noise, swapping, rounding, microaggregation, pseudonyms; or as the
    steps of a policy file say.

    A masked table promises nothing by itself: facts are checked that say what its steps did. With --k or --require,
    criteria must hold of the masked rows, and are promised. "sfumato list maskers" names the steps.

    Random numbers come from your secret key and the seed together, so that the published seed undoes nothing.
    """
    from sfumato.errors import PolicyError
    from sfumato.policyfile.paths import step_from
    from sfumato.verbs.steps import written

    faults: list[str] = []
    given: dict[tuple[str | int, ...], Any] = {
        **roles.keys(faults),
        ("roles", "row_key"): options.joined(row_key),
        ("search", "seed"): seed,
        ("search", "max_cells"): max_cells,
        **writing.keys(),
    }
    given |= options.account("search", ledger, budget, budget_delta, dataset, faults)
    steps = []
    for text in step or ():
        try:
            steps.append(step_from(written(text), Path.cwd()))
        except PolicyError as error:
            faults.append(f"--step: {error}")
    data = inputs.named(source, reading, policies=True)
    draft = options.draft(data, given, promises.models(faults), faults)
    asked = draft.tables.get("mask", [])
    if steps and isinstance(asked, list):
        draft = replace(draft, tables={**draft.tables, "mask": [*asked, *steps]})
    words = "shell" if data.policy is None else "file"
    found, folder, told = changed.released(draft, "masking", words)
    manifest = found.manifest
    own = {"pseudonymous": manifest["pseudonymous"]}
    changed.show(found, folder, told, as_json, own, lambda: _say_how(manifest))
    return 0


def _say_how(manifest: Mapping[str, Any]) -> None:
    """How many rows were released, what each step did, and what it leaves open."""
    of = "" if "privacy" in manifest else f" of {number(manifest['input']['rows'])}"
    say(f"{number(manifest['data']['rows'])}{of} rows released, masked:")
    for step in manifest["steps"]:
        say(f"  {step['step']} of {', '.join(step.get('columns', ())) or 'whole rows'}: {step['does']}")
        if step["leaves"]:
            say(f"      {step['leaves']}")
    if manifest["pseudonymous"]:
        say(manifest["pseudonymous"])
