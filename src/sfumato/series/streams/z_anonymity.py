"""z-anonymity: N. Jha, T. Favale, L. Vassio, M. Trevisan, M. Mellia, z-anonymity: zero-delay anonymization for data
streams, IEEE Big Data 2020."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Real, Whole
from sfumato.core.roles import Roles
from sfumato.errors import ColumnError, PolicyError
from sfumato.series.streams.columns import QuasiColumns, Trees, numbers, restored
from sfumato.series.streams.request import StreamRequest
from sfumato.series.streams.run import Door, hashed
from sfumato.series.streams.values import Stored, StreamAlgorithm, StreamRun


@dataclass(frozen=True)
class ZAnonymity(StreamAlgorithm):
    """A value is passed on at once if at least z - 1 other people showed it within the last dt; else it is dropped.

    With a hierarchy the most specific label that passes is released, up to but not with the root. One attribute is
    released, without any sensitive one: values that pass one by one would, side by side, still single people out.
    This is no k-anonymity: the first z - 1 people who show a value are dropped, and who knows that somebody just
    appeared knows their value.

    Parameters: `z`, how many people show a value, the one in question among them; `dt`, how long ago at most, in the
    unit of the time column (days for dates, else seconds), or in rows where there is none.
    """

    z: Annotated[int, Whole(2)] = 10
    dt: Annotated[float, Real(above=True)] = 10_000

    waits: ClassVar[bool] = False

    def check(self, roles: Roles, person: str | None) -> None:
        """One attribute, and a person column."""
        if person is None:
            raise PolicyError("z-anonymity counts people: it needs a person column", hint='person="patient"')
        if len(roles.quasi[0]) != 1 or roles.sensitive:
            what = "z-anonymity releases one attribute, as quasi, and no sensitive one"
            raise PolicyError(what, got=f"{len(roles.quasi[0])} and {len(roles.sensitive)}")

    def run(self, request: StreamRequest) -> StreamRun:
        """A run over a stream."""
        return ZRun(request, self)


class ZRun:
    """Rows of a stream in; out at once those whose value passes."""

    def __init__(self, request: StreamRequest, algorithm: ZAnonymity) -> None:
        self.request, self.algorithm = request, algorithm
        self.door = Door(request)
        self.trees: Trees | None = None
        self.arrived = self.released = self.suppressed = 0
        self.lost = 0.0
        self.shown = np.empty((3, 0))  # node, person and time of what was shown within the last dt
        self.now = -np.inf

    def take(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        """Let rows arrive, one after the other; those whose value passes."""
        rows = self.door.enter(frame)
        column = rows.get_column(self.request.quasi[0])
        time = self._times(rows)
        if self.trees is None:
            trees = Trees(self.request.recipes)
            trees.plant(column)
            self.trees = trees
        trees = self.trees
        leaf = trees.place(column).astype(np.int64)
        parent, root = np.array(trees.parent), trees.root[column.name]
        nodes = [leaf]
        while bool((nodes[-1] != root).any()):
            nodes.append(parent[nodes[-1]])
        person = hashed(rows.get_column(str(self.request.person)))
        count = self._people(np.array(nodes[:-1]), person, time, root)
        self.now = float(time[-1])
        self.arrived += rows.height
        passes = count >= self.algorithm.z
        level = np.argmax(passes, axis=0)  # the most specific one
        some = passes.any(axis=0)
        many = int(some.sum())
        self.released += many
        self.suppressed += rows.height - many
        if many == 0:
            return None
        node = np.array(nodes)[level[some], np.flatnonzero(some)]
        self.lost += float(np.array(trees.cost)[node].sum())
        labels, kept = trees.labels(column.name, node), rows.filter(pl.Series(some))
        names = [name for name in self.door.order if name in self.request.released]
        found = pl.DataFrame([labels if name == column.name else kept.get_column(name) for name in names])
        return found.sort([column.name, *self.request.insensitive], nulls_last=True)

    def finish(self) -> pl.DataFrame | None:
        """Nothing waits."""
        return None

    def _times(self, rows: pl.DataFrame) -> np.ndarray:
        """When each row came, never before the row before it."""
        name = self.request.time
        if name is None:
            return np.arange(self.arrived, self.arrived + rows.height, dtype=np.float64)
        column = rows.get_column(name)
        kind, found = numbers(column)
        if kind not in ("integer", "decimal", "date", "datetime"):
            raise ColumnError(f'column "{name}" has no times', got=str(column.dtype), allowed="times, dates or numbers")
        if found.null_count() or not bool(found.is_finite().all()):
            raise ColumnError(f'column "{name}" does not say of each row when it came')
        time = found.to_numpy()
        if time[0] < self.now or bool((np.diff(time) < 0).any()):
            what = f'column "{name}" goes back in time: a row is older than one before it'
            raise ColumnError(what, hint="sort the rows, or leave late ones out")
        return time

    def _people(self, nodes: np.ndarray, person: np.ndarray, time: np.ndarray, root: int) -> np.ndarray:
        """How many different people showed each label within the last dt, the row itself included; a line per level.

        An event counts until its person shows the label again, or until dt has gone by: of those up to a row, all
        counted are those that neither happened to.
        """
        old, dt = self.shown.shape[1], float(self.algorithm.dt)
        levels, rows = nodes.shape
        arrival = np.tile(np.arange(rows), levels)
        node = np.concatenate([self.shown[0].astype(np.int64), nodes.ravel()])
        who = np.concatenate([self.shown[1].view(np.int64), np.tile(person, levels)])
        when = np.concatenate([self.shown[2], np.tile(time, levels)])
        order = np.lexsort((np.concatenate([np.arange(old) - old, arrival]), node))
        node, who, when = node[order], who[order], when[order]
        place = np.arange(len(node))
        start = np.searchsorted(node, node)  # where the events of each label begin
        again = np.lexsort((place, who, node))
        same = (node[again][1:] == node[again][:-1]) & (who[again][1:] == who[again][:-1])
        after = np.full(len(node), len(node))  # the next event of the same person and label
        after[again[:-1][same]] = again[1:][same]
        soon = after < len(node)
        soon[soon] = when[after[soon]] - when[soon] < dt
        ended = np.zeros(len(node) + 1, np.int64)
        np.add.at(ended, after[soon], 1)  # replaced at that event
        moments = np.unique(np.concatenate([when, when + dt]))
        gone = np.searchsorted(moments, when + dt)[~soon]
        key = np.sort(node[~soon] * (len(moments) + 1) + gone)  # in each label, by when it is over
        at = node * (len(moments) + 1) + np.searchsorted(moments, when)
        over = np.searchsorted(key, at, side="right") - np.searchsorted(key, node * (len(moments) + 1))
        replaced = np.cumsum(ended[:-1])
        before = np.where(start > 0, replaced[start - 1], 0)
        count = place - start + 1 - (replaced - before) - over
        back = np.empty(len(node), np.int64)
        back[order] = count
        new = ~(when <= when.max() - dt)
        self.shown = np.array([node[new].astype(np.float64), who[new].view(np.float64), when[new]])
        found = back[old:].reshape(levels, rows)
        found[nodes == root] = 0  # the root says nothing
        return found

    def stored(self) -> Stored:
        """All that the run is."""
        plain = {key: getattr(self, key) for key in ("arrived", "released", "suppressed", "lost")}
        trees = None if self.trees is None else QuasiColumns(self.request.quasi, {}, self.trees).stored()
        plain |= {"now": None if self.now == -np.inf else self.now, "columns": trees}
        tables = {} if self.door.schema is None else {"rows": pl.DataFrame(schema=self.door.schema)}
        return plain, {"shown": self.shown.view(np.int64)}, tables

    def restore(
        self, plain: Mapping[str, Any], arrays: Mapping[str, np.ndarray], tables: Mapping[str, pl.DataFrame]
    ) -> None:
        """Go on from what was stored."""
        self.arrived, self.released = plain["arrived"], plain["released"]
        self.suppressed, self.lost = plain["suppressed"], plain["lost"]
        self.now = -np.inf if plain["now"] is None else plain["now"]
        self.shown = np.array(arrays["shown"]).view(np.float64)
        if "rows" in tables:
            self.door = Door(self.request, tables["rows"].schema)
        if plain["columns"] is not None:
            self.trees = restored(self.request.quasi, self.request.recipes, plain["columns"]).trees
