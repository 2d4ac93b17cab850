"""The lattice of a project: which level vectors keep its promises, where each is drawn, and what one comes to."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.progress import interruptible
from sfumato.core.wording import number as worded
from sfumato.errors import PolicyError
from sfumato.search.lattice.minimal import Minimal, heights, minimal_nodes
from sfumato.search.problem import Problem, group_labels, judge, level_columns
from sfumato.studio.tasks.search import ASKED
from sfumato.studio.tasks.table import checked, draft_of, file_marks

KEPT = 2  # lattices in memory
DRAWN_WITH_EDGES = 2_000  # nodes; of more, the rows alone are drawn
PAGE = 50  # nodes of a list
_lattices: OrderedDict[Any, Enumerated] = OrderedDict()


@dataclass(frozen=True, eq=False)
class Enumerated:
    """A problem, and what is known of each node of its lattice."""

    problem: Problem
    minimal: Minimal

    @cached_property
    def vectors(self) -> np.ndarray:
        """The levels of each node."""
        return self.minimal.lattice.nodes()

    @cached_property
    def height(self) -> np.ndarray:
        """Of each node, above the least."""
        return heights(self.minimal.lattice).ravel()

    @cached_property
    def is_minimal(self) -> np.ndarray:
        """Whether each node is k-minimal."""
        found = np.zeros(len(self.vectors), np.bool_)
        found[[self.number(node.levels) for node in self.minimal.nodes]] = True
        return found

    def number(self, levels: Any) -> int:
        """The place of a level vector."""
        whole = self.minimal.lattice
        return int((np.array(levels) - np.array(whole.least)) @ whole.strides)

    def chosen(self, levels: Mapping[str, int] | None) -> int | None:
        """The place of the vector that a search chose, where it is one of this lattice."""
        if levels is None or set(levels) != set(self.minimal.columns):
            return None
        vector = [levels[name] for name in self.minimal.columns]
        whole = self.minimal.lattice
        inside = all(a <= b <= c for a, b, c in zip(whole.least, vector, whole.greatest, strict=True))
        return self.number(vector) if inside else None

    def among(self, filtered: Mapping[str, int]) -> np.ndarray:
        """The nodes whose columns have these levels."""
        keep = np.ones(len(self.vectors), np.bool_)
        for i, name in enumerate(self.minimal.columns):
            if name in filtered:
                keep &= self.vectors[:, i] == filtered[name]
        return np.flatnonzero(keep)


def enumerated(asked: Mapping[str, Any], progress: Any) -> Enumerated:
    """The lattice of the policy as it is; once."""
    from sfumato.cli.inputs import INSTEAD
    from sfumato.cli.lattice import problem_of

    draft = draft_of(asked)
    known = {name: asked["tables"].get(name) for name in ASKED}
    known["search"] = {key: value for key, value in (known["search"] or {}).items() if key in ("loss", "suppression")}
    key = file_marks(draft), json.dumps(known, sort_keys=True)
    if key not in _lattices:
        progress("reading", None)
        draft.tables["search"] = {**known["search"], "method": "optimal"}
        opened, policy = checked(draft)
        if opened.stored:
            raise PolicyError("a lattice needs the table in memory", hint=INSTEAD["lattice"])
        problem = problem_of(opened.data, policy, progress)
        _lattices[key] = Enumerated(
            problem, interruptible(lambda tell: minimal_nodes(replace(problem, progress=tell)), progress)
        )
        while len(_lattices) > KEPT:
            _lattices.popitem(last=False)
    _lattices.move_to_end(key)
    return _lattices[key]


def picture(
    asked: Mapping[str, Any], filtered: Mapping[str, int], levels: Mapping[str, int] | None, progress: Any
) -> dict[str, Any]:
    """Places of the nodes that have the levels asked for, by what is known of them; a row per height."""
    found = enumerated(asked, progress)
    whole, good = found.minimal.lattice, found.minimal.satisfied
    shown = found.among(filtered)
    height, x = found.height[shown], np.zeros(len(shown))
    rows = []
    for h in range(int(found.height.max()) + 1):
        here = np.flatnonzero(height == h)
        order = here[np.lexsort((shown[here], good[shown[here]]))] if len(shown) > DRAWN_WITH_EDGES else here
        x[order] = np.arange(len(here)) - (len(here) - 1) / 2
        if len(here):
            these = shown[here]
            rows.append({"height": h + sum(whole.least), "nodes": len(here), "satisfied": int(good[these].sum()),
                         "minimal": int(found.is_minimal[these].sum())})  # fmt: skip
    chosen = found.chosen(levels)
    kinds = np.where(good[shown], "satisfied", "violated")
    kinds = np.where(found.minimal.checked[shown], kinds, np.char.add(kinds, "_known"))
    kinds = np.where(found.is_minimal[shown], "minimal", kinds)
    kinds = np.where(shown == chosen, "chosen", kinds) if chosen is not None else kinds
    base = sum(whole.least)
    places = [[round(float(a), 1), int(h) + base, int(n)] for a, h, n in zip(x, height, shown, strict=True)]
    series: dict[str, list[Any]] = {}
    for kind, place in zip(kinds.tolist(), places, strict=True):
        series.setdefault(kind, []).append(place)
    return {
        "columns": list(found.minimal.columns),
        "levels": {
            name: [low, high]
            for name, low, high in zip(found.minimal.columns, whole.least, whole.greatest, strict=True)
        },
        "nodes": len(good),
        "satisfied": int(good.sum()),
        "minimal": len(found.minimal.nodes),
        "checked": int(found.minimal.checked.sum()),
        "shown": len(shown),
        "rows": rows,
        "series": series,
        "names": _names(found, shown) if len(shown) <= DRAWN_WITH_EDGES else {},
        "edges": _edges(found, shown, places) if len(shown) <= DRAWN_WITH_EDGES else [],
    }


def _names(found: Enumerated, shown: np.ndarray) -> dict[int, str]:
    """The levels of nodes, as they are written beside them."""
    return {int(n): ",".join(map(str, vector)) for n, vector in zip(shown, found.vectors[shown].tolist(), strict=True)}


def _edges(found: Enumerated, shown: np.ndarray, places: list[list[Any]]) -> list[list[list[float]]]:
    """Between a node and those that generalise it by one level of one column."""
    at = {int(n): place[:2] for n, place in zip(shown, places, strict=True)}
    strides, greatest = found.minimal.lattice.strides.tolist(), found.minimal.lattice.greatest
    edges = []
    for n, place in at.items():
        for stride, level, most in zip(strides, found.vectors[n].tolist(), greatest, strict=True):
            if level < most and n + stride in at:
                edges.append([place, at[n + stride]])
    return edges


def listed(
    asked: Mapping[str, Any],
    filtered: Mapping[str, int],
    height: int | None,
    page: int,
    levels: Mapping[str, int] | None,
    progress: Any,
) -> dict[str, Any]:
    """A page of the nodes of a height, or of the k-minimal ones, the least loss first where it is known."""
    found = enumerated(asked, progress)
    shown = found.among(filtered)
    base = sum(found.minimal.lattice.least)
    keep = found.is_minimal[shown] if height is None else found.height[shown] + base == height
    shown = shown[keep]
    shown = shown[np.lexsort((shown, found.minimal.loss[shown], ~found.minimal.satisfied[shown]))]
    chosen = found.chosen(levels)
    some = [_known(found, int(n), chosen) for n in shown[page * PAGE : (page + 1) * PAGE]]
    return {"nodes": some, "count": len(shown), "pages": -(-len(shown) // PAGE)}


def _known(found: Enumerated, n: int, chosen: int | None) -> dict[str, Any]:
    m = found.minimal
    return {
        "number": n,
        "vector": found.vectors[n].tolist(),
        "height": int(found.height[n]) + sum(m.lattice.least),
        "satisfies": bool(m.satisfied[n]),
        "checked": bool(m.checked[n]),
        "minimal": bool(found.is_minimal[n]),
        "chosen": n == chosen,
        "suppressed": int(m.suppressed[n]) if m.checked[n] and m.satisfied[n] else None,
        "loss": float(m.loss[n]) if np.isfinite(m.loss[n]) else None,
    }


def node(asked: Mapping[str, Any], n: int, levels: Mapping[str, int] | None, progress: Any) -> dict[str, Any]:
    """What a node comes to: rows suppressed, loss, classes and risk, and a label of each column."""
    from sfumato.release.verify import summary

    found = enumerated(asked, progress)
    problem, vector = found.problem, found.vectors[n].tolist()
    columns = level_columns(problem, vector)
    kept, verdict, _ = judge(problem, columns)
    classes = group_labels(problem, columns, problem.sets[0])
    sizes = np.bincount(classes.class_of_cell[kept], problem.cells.count[kept], len(classes.size)).astype(np.int64)
    seen = summary(pl.Series(sizes[sizes > 0]), found.minimal.columns)
    least = [int(label[0]) for _, label in columns]
    return _known(found, n, found.chosen(levels)) | {
        "suppressed": verdict.suppressed,
        "rows": problem.rows,
        "limit": problem.limit,
        "loss": verdict.loss,
        "classes": seen["classes"],
        "smallest": seen["smallest"],
        "risk": seen["risk"]["highest"],
        "average_risk": seen["risk"]["average"],
        "columns": [
            {"name": a.name, "level": level, "height": a.ladder.height, "label": labels.text[first],
             "labels": worded(len(set(labels.text)))}
            for a, level, (labels, _), first in zip(problem.attributes, vector, columns, least, strict=True)
        ],
    }  # fmt: skip
