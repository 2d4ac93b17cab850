"""The lattice of a project: which level vectors keep its promises, where each is drawn, and what one comes to."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from sfumato.core.labels import Labels
from sfumato.core.printed import printed
from sfumato.core.progress import interruptible
from sfumato.core.wording import number as worded
from sfumato.errors import PolicyError
from sfumato.release.people import refuse_people
from sfumato.search.lattice.minimal import Minimal, all_losses, heights, minimal_nodes
from sfumato.search.problem import Problem, group_labels, judge, level_columns
from sfumato.studio.tasks.search import ASKED
from sfumato.studio.tasks.table import checked, draft_of, file_marks

KEPT = 2  # lattices in memory
DRAWN_WITH_EDGES = 2_000  # nodes; of more, the rows alone are drawn
DRAWN = 20_000  # nodes; of more, one of several
SHADES = 6  # steps of the scale of losses
PAGE = 50  # nodes of a list
LOOKED_AT = 200  # rows of the table that are looked at for some that stay
ROWS = 8  # rows of the table that are shown as a node releases them
COLUMNS = 30  # columns of these rows
MOST_LETTERS = 60  # of a cell
# what is known of a node, the last that is true; "known" ones follow from others without a check
KINDS = ("violated", "violated_known", "satisfied", "satisfied_known", "minimal", "chosen")
_lattices: OrderedDict[Any, Enumerated] = OrderedDict()
_losses: WeakKeyDictionary[Enumerated, np.ndarray] = WeakKeyDictionary()  # of every node, measured when asked for


@dataclass(frozen=True, eq=False)
class Enumerated:
    """A problem, and what is known of each node of its lattice."""

    problem: Problem
    minimal: Minimal
    sample: pl.DataFrame  # some rows of the table
    others: tuple[str, ...]  # columns that are released as they are

    @cached_property
    def codes(self) -> np.ndarray:
        """The code of each quasi-identifier in the rows of the sample, [attributes, rows]."""
        found = []
        for attribute in self.problem.attributes:
            code = {text or "": i for i, text in enumerate(attribute.categories.text)}
            found.append([code[text or ""] for text in printed(self.sample.get_column(attribute.name))])
        return np.array(found, np.int32)

    @cached_property
    def cells(self) -> np.ndarray:
        """The cell of each row of the sample."""
        codes = self.problem.cells.codes.astype(np.int32)
        cell = {key.tobytes(): i for i, key in enumerate(np.ascontiguousarray(codes.T))}
        return np.array([cell[key.tobytes()] for key in np.ascontiguousarray(self.codes.T)], np.int64)

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
        refuse_people(policy, "lattice")
        if opened.stored:
            raise PolicyError("a lattice needs the table in memory", hint=INSTEAD["lattice"])
        problem, frame = problem_of(opened.data, policy, progress), opened.data
        minimal = interruptible(lambda tell: minimal_nodes(replace(problem, progress=tell)), progress)
        some = np.unique(np.linspace(0, frame.height - 1, min(LOOKED_AT, frame.height)).astype(np.int64))
        hidden = {*policy.roles.identifying, *problem.policy.columns}
        others = tuple(name for name in frame.columns if name not in hidden)
        _lattices[key] = Enumerated(problem, minimal, frame[some], others)
        while len(_lattices) > KEPT:
            _lattices.popitem(last=False)
    _lattices.move_to_end(key)
    return _lattices[key]


def picture(
    asked: Mapping[str, Any],
    filtered: Mapping[str, int],
    levels: Mapping[str, int] | None,
    by_loss: bool,
    progress: Any,
) -> dict[str, Any]:
    """Places of the nodes that have the levels asked for, by what is known of them; a row per height.

    `series` has, by kind, a flat list in JSON of twice the place across, the height and the number of each node; with
    `by_loss` those that keep the promises are told apart by the step of `scale` that their loss is in.
    """
    found = enumerated(asked, progress)
    whole, good = found.minimal.lattice, found.minimal.satisfied
    shown = found.among(filtered)
    with_edges, base = len(shown) <= DRAWN_WITH_EDGES, sum(whole.least)
    step, chosen = -(-len(shown) // DRAWN), found.chosen(levels)
    rows, drawn, across = [], [], []
    for h in range(int(found.height.max()) + 1):
        here = shown[found.height[shown] == h]
        if not len(here):
            continue
        rows.append({"height": h + base, "nodes": len(here), "satisfied": int(good[here].sum()),
                     "minimal": int(found.is_minimal[here].sum())})  # fmt: skip
        here = here if with_edges else here[np.argsort(good[here], kind="stable")]
        stay = (np.arange(len(here)) % step == 0) | (here == chosen)
        drawn.append(here[stay])
        across.append((2 * np.arange(len(here)) - len(here) + 1)[stay])
    nodes = np.concatenate([*drawn, shown[:0]])
    place = np.stack([np.concatenate([*across, shown[:0]]), found.height[nodes] + base, nodes], axis=1)
    known = ~found.minimal.checked[nodes]
    kind = np.where(found.is_minimal[nodes], 4, 2 * good[nodes] + known)
    kind = kind if chosen is None else np.where(nodes == chosen, 5, kind)
    scale: list[float] = []
    series = {name: place[kind == i] for i, name in enumerate(KINDS)}
    if by_loss:
        scale, shade = _shades(found, nodes, progress)
        for name, these in (("minimal", kind == 4), ("satisfied", (kind == 2) | (kind == 3))):
            series |= {f"{name}_{i}": place[these & (shade == i)] for i in range(SHADES)}
        series = {name: some for name, some in series.items() if name not in KINDS[2:5]}
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
        "one_of": step,
        "rows": rows,
        "scale": scale,
        "series": {name: json.dumps(some.ravel().tolist()) for name, some in series.items() if len(some)},
        "names": json.dumps(_names(found, nodes)) if with_edges else "",
        "edges": json.dumps(_edges(found, place)) if with_edges else "",
    }


def _shades(found: Enumerated, nodes: np.ndarray, progress: Any) -> tuple[list[float], np.ndarray]:
    """The ends of equal steps between the least and the greatest loss of any node, and the step that each is in."""
    if found not in _losses:
        _losses[found] = interruptible(
            lambda tell: all_losses(replace(found.problem, progress=tell), found.minimal), progress
        )
    losses = _losses[found]
    known = losses[np.isfinite(losses)]
    if not len(known):
        return [], np.full(len(nodes), -1)
    scale = np.linspace(known.min(), known.max(), SHADES + 1)
    return [float(end) for end in scale], np.searchsorted(scale[1:-1], losses[nodes], side="right")


def _names(found: Enumerated, shown: np.ndarray) -> dict[int, str]:
    """The levels of nodes, as they are written beside them."""
    return {int(n): ",".join(map(str, vector)) for n, vector in zip(shown, found.vectors[shown].tolist(), strict=True)}


def _edges(found: Enumerated, place: np.ndarray) -> list[int]:
    """Between a node and those that generalise it by one level of one column: per edge the number of its ends, and
    these."""
    at = {number: [across, height] for across, height, number in place.tolist()}
    strides, greatest = found.minimal.lattice.strides.tolist(), found.minimal.lattice.greatest
    edges = []
    for n, end in at.items():
        for stride, level, most in zip(strides, found.vectors[n].tolist(), greatest, strict=True):
            if level < most and n + stride in at:
                edges += [2, *end, *at[n + stride]]
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
    head, rows = _released(found, columns, kept)
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
        "head": head,
        "table": rows,
    }  # fmt: skip


def _released(
    found: Enumerated, columns: list[tuple[Labels, np.ndarray]], kept: np.ndarray
) -> tuple[list[str], list[list[str | None]]]:
    """The columns of a release, and some rows as they would stand in it."""
    from sfumato.release.recode import texts_of_labels

    stay = np.flatnonzero(kept[found.cells])
    if not len(stay):
        return [], []
    some = stay[np.unique(np.linspace(0, len(stay) - 1, min(ROWS, len(stay))).astype(np.int64))]
    texts: dict[str, list[str | None]] = {}
    for i, (labels, _) in enumerate(columns):
        words = texts_of_labels(labels, found.problem.cells.codes[i][kept])
        texts[labels.attribute.name] = [words[label] for label in labels.of[found.codes[i][some]]]
    for name in found.others[: COLUMNS - len(texts)]:
        texts[name] = printed(found.sample.get_column(name)[some]).to_list()
    cut = [[None if text is None else text[:MOST_LETTERS] for text in column] for column in texts.values()]
    return list(texts), [list(row) for row in zip(*cut, strict=True)]
