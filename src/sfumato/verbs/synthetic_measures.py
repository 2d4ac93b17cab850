"""Measures of a synthetic table: what the owner of the original can say of it, beside rows that its model never saw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.fingerprint import key
from sfumato.core.printed import printed
from sfumato.core.wording import count
from sfumato.engines.memory.table import MemoryTable, enter
from sfumato.errors import PolicyError
from sfumato.measures.measure import Summary
from sfumato.measures.source import MeasuredTable, SyntheticSource, first_copy
from sfumato.measures.synthetic import synthetic_summary
from sfumato.measures.table import rows_of
from sfumato.release.manifest import ManifestSynthesis
from sfumato.synthetic.synthesized_release import SynthesizedRelease, split_rows

NO_ROWS = "its rows were drawn from a model, and none comes from a row of the original"
MIXED_ROWS = "each of its rows is a person's, mixed with one drawn from a model, and which is whose is not recorded"
NO_CLASSES = "{}: classes of equal rows say nothing of people, and nothing is compared row by row"
NEAR_ROWS = "how near its rows come to those of people, nearest records and membership say"
NO_ORIGINAL = "what it tells of people is measured against the original, which was not given"
UNKNOWN_SPLIT = (
    "which rows were held out is told only by the very table that the release was made of, under the key that it was "
    "made with: copies cannot be told from what chance repeats"
)
AFTER_COPIES = (
    "what chance repeats was counted after copies were taken out, those of rows held out included, so that it is too "
    "little: what was drawn before that is known to the release, and not to its folder"
)
OF_A_SAMPLE = "its model saw a sample, or counts, of a larger table: copies cannot be told from what chance repeats"
OF_PEOPLE = ("disclosure", "attacks")


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """The rows that a model was fitted on, those that it never saw, and the numbers of the former in the original."""

    learnt: pl.DataFrame
    held: pl.DataFrame | None
    numbers: np.ndarray | None = None  # None: they are the original
    notes: tuple[str, ...] = ()


def split_of(source: MeasuredTable, original: pl.DataFrame, holdout: Any) -> Split:
    """How the original of a synthetic table was split: a release that is at hand knows; of a folder it follows from the
    original, the seed and the owner's key, where these are the same."""
    told = source.synthetic
    if holdout is not None:
        return Split(original, enter(holdout)[0])
    if told is None or not told.how.hold_out:
        return Split(original, None)
    if told.how.fitted_to is not None:
        return Split(original, None, notes=(OF_A_SAMPLE,))
    if source.split is not None:
        held, learnt = source.split
    elif told.fingerprint is None or MemoryTable(original).fingerprint(key()) != told.fingerprint:
        return Split(original, None, notes=(UNKNOWN_SPLIT,))
    else:
        frame = original.select(name for name in original.columns if name in source.table.columns)
        held, learnt = split_rows(frame, told.how.hold_out, told.seed, told.how.unit)
    return Split(original[learnt], original[held], learnt)


def whose(source: MeasuredTable) -> str:
    """Why nothing of a synthetic table is compared row by row."""
    return MIXED_ROWS if source.synthetic is not None and source.synthetic.how.mixes_people else NO_ROWS


def compared(
    source: MeasuredTable,
    original: pl.DataFrame,
    holdout: Any,
    parts: Sequence[str],
    quasi: Iterable[str],
    sensitive: Iterable[str],
    **more: Any,
) -> dict[str, Any]:
    """Some parts of the summary of a synthetic table, its measures and notes."""
    keys = list(dict.fromkeys(quasi))
    secrets = [name for name in dict.fromkeys(sensitive) if name not in keys]
    split = split_of(source, original, holdout)
    table, notes = source.frame("what a synthetic table tells"), list(split.notes)
    if source.synthetic is not None and source.synthetic.how.unit in table.columns:
        table = table.drop(source.synthetic.how.unit)  # new numbers, which are compared with nothing
    found = synthetic_summary(
        split.learnt, table, hold_out=split.held, quasi=keys, sensitive=secrets, parts=parts,
        as_drawn=source.as_drawn, **more,
    )  # fmt: skip
    if split.numbers is not None and source.split is None and "disclosure" in parts:
        notes += [AFTER_COPIES] * (source.synthetic is not None and source.synthetic.how.copies != "keep")
    if source.synthetic is not None and source.synthetic.how.m > 1:
        notes.append(f"measured of the first of {count(source.synthetic.how.m, 'table')}")
    return {
        "synthetic": {"rows": found["rows"], **{part: found[part] for part in parts}},
        "measures": found["measures"],
        "notes": [*notes, *found["notes"][bool(split.notes) :]],  # that nothing was held out is said already
    }


def risk_of_drawn(
    source: MeasuredTable,
    original: pl.DataFrame | None,
    holdout: Any,
    quasi: Iterable[str],
    sensitive: Iterable[str],
    asked: Mapping[str, Any],
) -> Summary:
    """What rows that are nobody's tell of people: no classes, but what they repeat and what attacks gain by them."""
    if strange := [name for name, given in asked.items() if given]:
        verb = "looks" if len(strange) == 1 else "look"
        what = f"{' and '.join(strange)} {verb} at rows of people as they are, and this table has none: {whose(source)}"
        raise PolicyError(what, hint="measure what it repeats, against the original")
    keys = list(dict.fromkeys(quasi))
    found: dict[str, Any] = {"rows": rows_of(source.table), "quasi": keys, "measures": [], "notes": []}
    if original is not None:
        found |= compared(source, original, holdout, OF_PEOPLE, keys, sensitive)
    notes = [NO_CLASSES.format(whose(source)), *([NO_ORIGINAL] if original is None else [])]
    if original is not None and whose(source) == MIXED_ROWS:
        notes.append(NEAR_ROWS)
    return Summary(found | {"notes": [*notes, *found["notes"]]})


def with_compared(found: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """A summary with what was compared of a synthetic table."""
    joined = {name: [*found.get(name, ()), *more[name]] for name in ("measures", "notes")}
    return {**found, "synthetic": more["synthetic"], **joined}


def of_numbers(found: Mapping[str, Any], notes: Sequence[str]) -> dict[str, Any]:
    """Of a summary of utility what is for synthetic rows too: means and how numbers vary. No detail was lost, and
    values that nobody had are no labels of others: measures for synthetic tables say the rest."""
    blurred = {*found["loss"], *found["categories"], *found["distributions"]}
    kept = [measure for measure in found["measures"] if measure["name"] not in blurred]
    return {**found, "loss": {}, "categories": {}, "distributions": {}, "measures": kept, "notes": list(notes)}


def of_synthesized(release: SynthesizedRelease, known: MeasuredTable) -> MeasuredTable:
    """What is known of a synthetic release at hand: which rows were held out, and where its rows are those of people
    also which these are."""
    asked, generator = release.request, release.request.generator
    how = ManifestSynthesis(
        asked.m, asked.hold_out, generator.changes is not None, generator.copies_people, generator.mixes_people,
        asked.copies, unit=generator.unit,
    )  # fmt: skip
    taken_out = release.synthesis.repeated > 0 and asked.copies != "keep"
    return first_copy(
        replace(
            known,
            changed=release.changed,
            perturbed=release.perturbed,
            synthetic=SyntheticSource(how),
            original=release.original,
            split=(release.synthesis.held_out, release.synthesis.learnt_from),
            as_drawn=release.synthesis.first if taken_out else None,
            rows=_rows_of_people(release) if how.partial and how.m == 1 and asked.copies != "drop" else None,
            order=asked.order,
            untouched=tuple(name for name in known.table.columns if name not in release.changed),
        )
    )


def _rows_of_people(release: SynthesizedRelease) -> np.ndarray | None:
    """The original row of each row of a table that was made anew in place and then put in order."""
    made, released = release.synthesis.table, release.table
    places = release.request.row_order.places(made)
    texts = (
        (printed(made.get_column(name).gather(places)), printed(released.get_column(name))) for name in made.columns
    )
    return places if all(bool(one.eq_missing(other).all()) for one, other in texts) else None


def declared(source: MeasuredTable, synthetic: bool) -> MeasuredTable:
    """A table of which it was said that its rows were drawn from a model."""
    return source if source.synthetic is not None or not synthetic else replace(source, synthetic=SyntheticSource())


def in_original(tried: Mapping[str, Any], numbers: np.ndarray) -> None:
    """Exposed rows of the people that a model was fitted on by their numbers in the original."""
    for attack in tried.values():
        if attack["rows_of"] == "original":
            attack["exposed"] = numbers[attack["exposed"]].tolist()
