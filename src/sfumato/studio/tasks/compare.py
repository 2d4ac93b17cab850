"""Candidates of a project, made and measured beside the original; and the map of risk and utility of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sfumato.studio.tasks.table import checked, draft_of, rows_of
from sfumato.studio.tasks.trial import Trial, tried

QUERIES = 100  # random counts that the utility is measured by
TRIALS = 200  # records that each attack tries
BARS, CELLS = 24, 10  # bins of a distribution, and of each side of a heat map
LONGEST = 60  # letters of a value
BESIDE = ("loss", "suppression", "tidy", "max_cells", "account")  # keys of [search] that are of no method
COMPARED = ("quasi", "identifying", "sensitive", "insensitive", "weight", "normalise", "loss", "suppression",
            "hierarchies", "levels", "ends")  # fmt: skip


def measured(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """What a candidate loses, what the three attackers find, and what it is still good for."""
    import sfumato as sf

    found = tried(asked, progress)
    release = found.release
    risk = sf.risk(release, progress=progress)
    utility = sf.utility(release, queries=QUERIES, progress=progress)
    sides = {"prosecutor": "highest", "journalist": "highest", "marketer": "average"}
    verdict = release.solution.verdict if found.by == "recoding" else None
    rows = found.frame.height
    quasi = {name for names in release.roles.quasi for name in names}
    # classes of other values say nothing of people, unless promises count them
    blind = found.by == "masking" and quasi & set(release.perturbed) and not found.promised
    counted = {} if blind else risk
    return {
        "by": found.by,
        "search": _name(found),
        "rows": rows,
        "sampled": found.sampled,
        "suppressed": None if found.by == "synthesis" else rows - release.table.height,
        "loss": None if verdict is None else verdict.loss,
        "attackers": {name: counted[name][side] if name in counted else None for name, side in sides.items()},
        "smallest": counted["prosecutor"]["smallest"] if "prosecutor" in counted else None,
        "linkage": _beside(risk.get("distance_linkage"), "success"),
        "copied": _beside(_in(risk, "synthetic", "disclosure", "copied-uniques")),
        "membership": _beside(_in(risk, "synthetic", "disclosure", "synthetic-membership")),
        "utility": {
            "detail": _at(utility, "loss", "lm"),
            "distributions": _at(utility, "distributions", "total-variation"),
            "tables": _at(utility, "categories", "contingency"),
            "counts": _at(utility, "queries", "median"),
            "pairs": _at(utility, "synthetic", "utility", "marginals", "value"),
        },
        "notes": [*found.notes, *risk.get("notes", ()), *utility.get("notes", ())],
        "columns": [name for name in found.pair.shared if name in quasi]
        + [name for name in found.pair.shared if name not in quasi],
    }


def _name(found: Trial) -> str:
    from sfumato.core.registry import variant_name
    from sfumato.search import search_name

    if found.by == "recoding":
        return search_name(found.release.search)
    request = found.release.request
    steps = [request.generator] if found.by == "synthesis" else request.steps
    return " + ".join(variant_name(type(step).__name__) for step in steps)


def _in(found: Any, *names: str) -> Any:
    for name in names:
        found = (found or {}).get(name)
    return found


def _at(found: Any, *names: str) -> float | None:
    number = _in(found, *names)
    return number if isinstance(number, int | float) else None


def _beside(found: Any, name: str = "value") -> list[float | None] | None:
    """A measure, and what chance or guessing achieves."""
    value = _at(found, name)
    return None if value is None else [value, _at(found, "baseline")]


def attacked(asked: Mapping[str, Any], progress: Any) -> list[dict[str, Any]]:
    """Every attack on a candidate that can be tried, beside what guessing achieves."""
    import sfumato as sf

    found = sf.attack(tried(asked, progress).release, trials=TRIALS, progress=progress)
    return [
        {"name": name, "success": one["success"], "baseline": one["baseline"], "sentence": one["sentence"]}
        for name, one in found.items()
    ]


def distribution(asked: Mapping[str, Any], name: str, progress: Any) -> dict[str, Any]:
    """A column before and after, in shares of the rows; a label counts evenly for all values that it covers."""
    column = tried(asked, progress).pair.column(name)
    bins, words = _binned(column, BARS)
    return {
        "before": np.bincount(bins, column.before, len(words)).tolist(),
        "after": np.bincount(bins, column.after, len(words)).tolist(),
        "words": words,
    }


def heat(asked: Mapping[str, Any], across: str, down: str, progress: Any) -> dict[str, Any]:
    """Two columns together before and after, in shares of the rows."""
    pair = tried(asked, progress).pair
    columns = [pair.column(name) for name in (across, down)]
    bins, words = zip(*(_binned(column, CELLS) for column in columns), strict=True)
    tables = []
    for codes, share in (
        ([column.code for column in columns], [np.eye(len(w))[b] for b, w in zip(bins, words, strict=True)]),
        (
            [column.label for column in columns],
            [_spread(column, b, len(w)) for column, b, w in zip(columns, bins, words, strict=True)],
        ),
    ):
        keys, count = np.unique(codes[0].astype(np.int64) * len(share[1]) + codes[1], return_counts=True)
        first, second = keys // len(share[1]), keys % len(share[1])
        tables.append(share[1][second].T @ (share[0][first] * count[:, None]) / max(len(codes[0]), 1))
    return {"across": words[0], "down": words[1], "before": tables[0].tolist(), "after": tables[1].tolist()}


def _spread(column: Any, bins: np.ndarray, size: int) -> np.ndarray:
    """Per label, the share of its values in each bin."""
    found = np.zeros((len(column.text), size))
    of = np.repeat(np.arange(len(column.text)), column.size)
    np.add.at(found, (of, bins[column.members]), 1 / np.maximum(column.size, 1)[of])
    return found


def _binned(column: Any, most: int) -> tuple[np.ndarray, list[str]]:
    """The bin of each value of a column, and what the bins are called: ranges of numbers and dates, else the most
    frequent values and all others together."""
    names = ["–" if text is None else text[:LONGEST] for text in column.support]
    place = _places(column)
    if place is not None and len(names) > most and np.isfinite(place).any():
        known = np.isfinite(place)
        edges = np.linspace(place[known].min(), place[known].max(), most + 1)
        bins = np.full(len(names), most)
        bins[known] = np.clip(np.searchsorted(edges, place[known], "right") - 1, 0, most - 1)
        words = []
        for i in range(most):
            inside = np.flatnonzero(bins == i)
            ends = inside[np.argsort(place[inside])] if len(inside) else inside
            words.append("" if not len(ends) else f"{names[ends[0]]} – {names[ends[-1]]}"
                         if len(ends) > 1 else names[ends[0]])  # fmt: skip
        return bins, [*words, "–"] if not known.all() else words
    if len(names) <= most:
        return np.arange(len(names)), names
    order = np.argsort(-column.before, kind="stable")
    bins = np.full(len(names), most - 1)
    bins[order[: most - 1]] = np.arange(most - 1)
    return bins, [*(names[i] for i in order[: most - 1]), "…"]


def _places(column: Any) -> np.ndarray | None:
    """Where each value stands on a line, those that the original does not have included."""
    from sfumato.core.microdata import encode

    place = column.place
    if place is None or np.isfinite(place).all():
        return None if place is None else np.asarray(place)
    found, code = encode(pl.Series(column.support, dtype=pl.String))
    return np.asarray(place) if found.position is None else found.position[code]


def some_rows(asked: Mapping[str, Any], count: int, progress: Any) -> dict[str, Any]:
    """Some rows of the original, evenly through it, and what became of each; of a synthetic table its first rows."""
    from sfumato.core.printed import printed

    found = tried(asked, progress)
    names, release = list(found.release.table.columns), found.release

    def texts(frame: pl.DataFrame, rows: Sequence[int]) -> list[list[str | None]]:
        some = frame.select(pl.col(names).gather(list(rows)))
        return [list(row) for row in zip(*(printed(c).str.slice(0, LONGEST) for c in some.iter_columns()), strict=True)]

    if release.rows is None:
        shown = texts(release.table, range(min(count, release.table.height)))
        return {"columns": names, "rows": [{"number": i + 1, "before": None, "after": row}
                                           for i, row in enumerate(shown)]}  # fmt: skip
    chosen = np.unique(np.linspace(0, found.frame.height - 1, count).astype(int))
    place = {int(row): i for i, row in enumerate(release.rows)}
    there = [place[int(i)] for i in chosen if int(i) in place]
    after = iter(texts(release.table, there))
    before = texts(found.frame, chosen.tolist())
    return {
        "columns": names,
        "rows": [
            {"number": int(i) + 1, "before": row, "after": next(after) if int(i) in place else None}
            for i, row in zip(chosen, before, strict=True)
        ],
    }


def choices(progress: Any) -> dict[str, list[Any]]:
    """The searches that there are, and the highest risks that others accept."""
    from sfumato.measures.standards.thresholds import THRESHOLDS
    from sfumato.search import SEARCHES

    return {
        "searches": [name for name, one in SEARCHES.items() if not one.example.fragments],
        "thresholds": [[one.limit, one.use] for one in THRESHOLDS],
    }


def mapped(
    asked: Mapping[str, Any],
    searches: Sequence[str],
    ks: Sequence[int],
    masks: Sequence[Any],
    generators: Sequence[Any],
    progress: Any,
) -> dict[str, Any]:
    """The map of risk and utility over searches and k, maskings and generators; each point with its policy."""
    import sfumato as sf
    from sfumato.comparing.axes import AXES_OF_BOTH, USUAL_AXES
    from sfumato.verbs.compare import generator_forms
    from sfumato.verbs.steps import forms_of

    draft = draft_of(asked)
    given = dict(draft.tables)
    kept = {name: table for name, table in given.items() if name not in ("mask", "synthesis")}
    others = [one for one in kept.get("require", []) if one.get("model") != "k-anonymity"]
    draft.tables.clear()
    draft.tables.update(kept | {"output": {"path": "release"}, "require": [{"model": "k-anonymity", "k": 2}, *others]})
    _, policy = checked(draft)
    keywords = {name: value for name, value in policy.keywords().items() if name in COMPARED}
    beside = [one for one in policy.require if one.model != "k-anonymity"]
    frame, seed = rows_of(draft).frame, int(given.get("search", {}).get("seed", 0))
    found = sf.compare(
        frame, **keywords, search=list(searches), k=sorted(ks), require=beside, mask=list(masks),
        synthesize=list(generators), rest="release", seed=seed, progress=progress,
    )  # fmt: skip
    changed = [_masked(kept, form, frame, policy, seed) for form in (forms_of(list(masks)) if masks else [])]
    changed += [_drawn(kept, form, seed) for form in (generator_forms(list(generators)) if generators else [])]
    points = []
    for row in found.to_dicts():
        tables = _recoded(kept, row["search"], row["k"], others) if row["family"] == "recoding" else changed.pop(0)
        points.append({name: row[name] for name in ("family", "search", "parameters", "k", "risk", "utility", "loss",
                                                    "suppressed", "pareto", "status", "reason")}
                      | {"policy": tables})  # fmt: skip
    utility, risk = AXES_OF_BOTH if masks or generators else USUAL_AXES
    return {"points": points, "utility": utility, "risk": risk, "rows": frame.height}


def _recoded(tables: Mapping[str, Any], search: str, k: int, others: Sequence[Any]) -> dict[str, Any]:
    own = tables.get("search", {})
    kept = own if own.get("method") == search else {key: own[key] for key in BESIDE if key in own}
    required = [{"model": "k-anonymity", "k": k}, *others]
    return {**tables, "search": {**kept, "method": search}, "require": required}


def _masked(tables: Mapping[str, Any], form: Any, frame: pl.DataFrame, policy: Any, seed: int) -> dict[str, Any]:
    """The policy of a masking; steps that name no columns change the quasi-identifiers that fit them."""
    from sfumato.core.masked import typed
    from sfumato.masking.run import with_columns
    from sfumato.verbs.steps import steps_of, written

    quasi = {name for names in policy.roles.quasi for name in names}
    steps = []
    for one in form if isinstance(form, list) else [form]:
        table = written(one) if isinstance(one, str) else dict(one)
        [step] = steps_of([table])
        columns = with_columns(step, typed(frame), sorted(set(frame.columns) - quasi)).columns
        steps.append({**table, "columns": list(columns)} if "columns" not in table else table)
    return _without_search(tables, seed) | {"mask": steps}


def _drawn(tables: Mapping[str, Any], form: Any, seed: int) -> dict[str, Any]:
    from sfumato.verbs.synthesize import written

    return _without_search(tables, seed) | {
        "synthesis": {"generator": written(form) if isinstance(form, str) else form}
    }


def _without_search(tables: Mapping[str, Any], seed: int) -> dict[str, Any]:
    kept = {name: table for name, table in tables.items() if name not in ("require", "search", "levels")}
    return kept | {"search": {"seed": seed}}
