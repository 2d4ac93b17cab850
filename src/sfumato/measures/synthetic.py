"""The summary of a synthetic table: what it tells of people, and what it is good for, beside rows held out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.parameters import column_names, known_columns, one_of, whole_number
from sfumato.core.progress import check_cancelled
from sfumato.core.wording import listed, percent
from sfumato.errors import PolicyError, SfumatoError
from sfumato.measures.attacks.inference import inference
from sfumato.measures.attacks.linkability import across_splits
from sfumato.measures.attacks.result import TRIALS, Attack, sample
from sfumato.measures.attacks.singling_out import widest
from sfumato.measures.measure import Measure, Summary, finite, wilson
from sfumato.measures.risk.copied_uniques import copied_uniques
from sfumato.measures.risk.disco import disco
from sfumato.measures.risk.nearest_record import nearest_record
from sfumato.measures.risk.replicated_uniques import replicated_uniques
from sfumato.measures.risk.synthetic_membership import likely_but_absent, synthetic_membership
from sfumato.measures.risk.synthetic_tables import SyntheticTables, tables_of
from sfumato.measures.utility import UTILITIES

PARTS = ("disclosure", "attacks", "utility")
TOLD_BY_ABSENCE = 0.5  # the share of unique people who are absent, less that of combinations as likely
HOLES = (
    "unique people are told by their absence, for so many rows were drawn that most combinations as likely as theirs "
    "are there: draw fewer rows, or leave columns out or make them coarser"
)
ATTACKED = 50_000  # rows of a table that attacks on single people look at


def synthetic_summary(
    original: Any,
    synthetic: Any = None,
    *,
    hold_out: Any = None,
    quasi: Any = (),
    sensitive: Any = (),
    target: str | None = None,
    seed: int = 0,
    trials: int = TRIALS,
    parts: Sequence[str] = PARTS,
    as_drawn: Any = None,
) -> Summary:
    """What a synthetic table tells of people and what it is good for: every measure that its inputs allow.

    All figures compare with the original: they are for its owner, and no part of a release.

    Parameters
    ----------
    original, synthetic
        The rows that the model was fitted on, and those drawn from it, by whichever tool.
    hold_out
        Real rows of the same kind that the model never saw: the baselines. Without them it cannot be told what is
        copied and what is chance, as the notes then say.
    quasi, sensitive
        The columns that others may know of a person, and those that they should not learn. Without `quasi`, attacks
        use all columns; without `sensitive` the target stands for it.
    target
        A column to predict: adds models that are trained on synthetic rows and regressions.
    seed, trials
        The seed of what is drawn, and how many people, or predicates, each attack tries.
    parts
        Which of disclosure, attacks and utility.
    as_drawn
        The synthetic table before copies of real rows were taken out of it, for the baseline of copied uniques.

    Returns
    -------
    A mapping of plain values with the keys rows, quasi, sensitive, target; disclosure, attacks and utility: the value,
    baseline and interval of each measure by name; measures: all of them with range, sentence and details; and notes:
    what the figures alone do not say. The baseline of an attack is its success on the rows held out. Singling out tries
    as many rows of the original as are held out, for fewer rows are singled out more often.

    Examples
    --------
    >>> real, drawn = {"age": [20, 40, 60, 80]}, {"age": [20, 40, 70]}
    >>> synthetic_summary(real, drawn, hold_out={"age": [30, 70]})["disclosure"]["copied-uniques"]["value"]
    0.5
    """
    seed, trials = whole_number(seed, "seed", 0), whole_number(trials, "trials")
    tables = tables_of(original, synthetic, hold_out)
    keys, secrets = (
        tuple(dict.fromkeys(column_names(given, what))) for given, what in ((quasi, "quasi"), (sensitive, "sensitive"))
    )
    if target is not None and not secrets:
        secrets = (target,)
    known_columns((*keys, *secrets, *([] if target is None else [target])), tables.names, "the tables")
    if both := [name for name in secrets if name in keys]:
        raise PolicyError("a column is quasi-identifying and sensitive", got=listed(both), allowed="one role each")
    run = _Run(tables)
    for part in parts:
        one_of(part, "part", PARTS)
    disclosure = _disclosure(run, keys, secrets, seed, as_drawn) if "disclosure" in parts else []
    attacks = _attacks(run, keys, secrets, {"seed": seed, "trials": trials}) if "attacks" in parts else []
    utility = _utility(run, target, seed) if "utility" in parts else []
    of_people = "disclosure" in parts or "attacks" in parts
    if tables.hold_out is None:
        run.notes.insert(0, "no real rows were held out, so that copies cannot be told from what chance repeats")
    if of_people and not keys:
        run.notes.append("no quasi-identifiers are given: no replicated uniques and no DiSCO, and attackers know all")
    if of_people and not secrets:
        run.notes.append("no sensitive column is given: no DiSCO and no inference")
    return Summary(
        rows={
            "original": tables.original.height,
            "released": tables.synthetic.height,
            "hold_out": None if tables.hold_out is None else tables.hold_out.height,
        },
        quasi=list(keys),
        sensitive=list(secrets),
        target=target,
        disclosure=_figures(disclosure),
        attacks=_figures(attacks),
        utility=_figures(utility),
        measures=[measure.to_dict() for measure in (*disclosure, *attacks, *utility)],
        notes=run.notes,
    )


class _Run:
    """Measures one table after the other; what cannot be measured becomes a note."""

    def __init__(self, tables: SyntheticTables) -> None:
        self.tables, self.notes = tables, list[str]()

    def __call__(self, name: str, measure: Callable[..., Measure], *given: Any, **asked: Any) -> list[Measure]:
        check_cancelled()
        try:
            return [replace(measure(*given, **asked), name=name)]
        except SfumatoError as error:  # it names columns, never values; an extra that is missing, too
            self.notes.append(f"{name} is left out: {error}")
        return []


def _disclosure(run: _Run, keys: tuple[str, ...], secrets: tuple[str, ...], seed: int, as_drawn: Any) -> list[Measure]:
    tables = run.tables
    found = run("copied-uniques", copied_uniques, tables, as_drawn=as_drawn)
    if keys:
        found += run("replicated-uniques", replicated_uniques, tables, quasi=keys)
        for name, secret in _named("disco", secrets):
            found += run(name, disco, tables, quasi=keys, target=secret)
    if tables.hold_out is not None:
        found += run("nearest-record", nearest_record, tables, seed=seed)
        found += run("synthetic-membership", synthetic_membership, tables, seed=seed)
    else:
        run.notes.append("nearest records and membership are left out: they compare with rows held out")
    absent = run("likely-but-absent", likely_but_absent, tables)
    for shares in (measure.details["absent"] for measure in absent):
        if shares is not None and shares["people"] - shares["nobodys"] >= TOLD_BY_ABSENCE:
            run.notes.append(HOLES)
    return found + absent


def _attacks(run: _Run, keys: tuple[str, ...], secrets: tuple[str, ...], drawing: dict[str, int]) -> list[Measure]:
    rng, names = np.random.default_rng(drawing["seed"]), keys or run.tables.names
    if any(table.height > ATTACKED for table in run.tables.tables):
        run.notes.append(f"attacks look at a sample of {ATTACKED:,} rows of each table that has more")
    real, drawn, *others = (table[sample(rng, table.height, ATTACKED)] for table in _printed(run.tables))
    held = others[0] if others else None
    options: dict[str, Any] = {"holdout": held, **drawing}
    fewer = real if held is None else real[sample(rng, real.height, held.height)]
    control = None if held is None else held[sample(rng, held.height, fewer.height)]
    singled: dict[str, Any] = {"holdout": control, **drawing}
    found = run("singling-out", _against, held, widest, drawn, fewer, names, **singled)
    found += run("singling-out-univariate", _against, held, widest, drawn, fewer, names, mode="univariate", **singled)
    if set(names) != set(run.tables.names):
        every = run.tables.names
        found += run("singling-out on all columns", _against, held, widest, drawn, fewer, every, **singled)
    if len(run.tables.names) > 1:
        found += run("linkability", _against, held, across_splits, drawn, real, keys, **options)
    for name, secret in _named("inference", secrets):
        known = keys or tuple(column for column in names if column != secret)
        if known:
            found += run(name, _against, held, inference, drawn, real, known, secret, **options)
    return found


def _against(held: pl.DataFrame | None, attack: Callable[..., Attack], *given: Any, **options: Any) -> Measure:
    """An attack as a measure whose baseline is its success on the rows held out."""
    result = attack(*given, **options)
    found, control = result.measure(), result.details.get("control")
    if not result.details.get("examined", True):
        raise PolicyError(result.sentence.removesuffix("."))
    if held is None or control is None:
        return found
    trials = result.trials if "mode" in result.details else min(result.trials, held.height)
    details = {**found.details, "blind": found.baseline, "control_interval": wilson(round(control * trials), trials)}
    sentence = f"{found.sentence.removesuffix('.')}; on people whom the model never saw {percent(control)} succeed."
    return replace(found, baseline=control, details=details, sentence=sentence)


def _utility(run: _Run, target: str | None, seed: int) -> list[Measure]:
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("propensity", "propensity", {"seed": seed}),
        ("propensity of boosted trees", "propensity", {"model": "boosted", "seed": seed}),
        ("marginals", "marginals", {"seed": seed}),
        ("correlations", "correlations", {}),
    ]
    if target is not None:
        asked += [
            ("interval-overlap", "interval-overlap", {"outcome": target}),
            ("train-on-synthetic", "train-on-synthetic", {"target": target, "seed": seed}),
        ]
    found: list[Measure] = []
    for name, measure, options in asked:
        found += run(name, UTILITIES[measure].make, run.tables, **options)
    return found


def _named(measure: str, secrets: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    return [(measure if len(secrets) == 1 else f"{measure}: {secret}", secret) for secret in secrets]


def _printed(tables: SyntheticTables) -> list[pl.DataFrame]:
    """The tables with the same text for the same value, whatever type each has it in."""
    columns = []
    for name in tables.names:
        column = tables.column(name)
        columns.append(pl.Series(name, column.text, pl.String).gather(column.code))
    every, low, found = pl.DataFrame(columns), 0, []
    for table in tables.tables:
        found.append(every.slice(low, table.height))
        low += table.height
    return found


def _figures(measures: Iterable[Measure]) -> dict[str, Any]:
    return {
        measure.name: {
            "value": finite(measure.value),
            "baseline": None if measure.baseline is None else finite(measure.baseline),
            "interval": None if measure.interval is None else [finite(end) for end in measure.interval],
        }
        for measure in measures
    }
