"""A lesson: a search over a small table, with the steps that it tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sfumato.errors import PolicyError

MOST_ROWS = 200


def searches(progress: Any) -> list[str]:
    """The searches that tell their steps."""
    from sfumato.search import SEARCHES

    return [name for name, one in SEARCHES.items() if one.example.traces]


def lesson(
    search: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], quasi: Sequence[str], k: int,
    hierarchies: Mapping[str, Any], suppression: int, progress: Any,
) -> dict[str, Any]:  # fmt: skip
    """Events, the labels of every level, and the table that the library releases by the same search."""
    import polars as pl

    import sfumato as sf
    from sfumato.search import SEARCHES

    if len(rows) > MOST_ROWS:
        raise PolicyError("the table of a lesson is small", got=f"{len(rows)} rows", allowed=f"at most {MOST_ROWS}")
    if search not in SEARCHES or not SEARCHES[search].example.traces:
        raise PolicyError("this search does not tell its steps", allowed=", ".join(searches(progress)))
    frame = pl.DataFrame([list(row) for row in rows], schema=list(columns), orient="row", infer_schema_length=None)
    events: list[Any] = []
    own = {name: recipe for name, recipe in hierarchies.items() if name in quasi}
    found = sf.anonymize(
        frame, quasi=list(quasi), insensitive=[name for name in columns if name not in quasi], k=k, search=search,
        hierarchies=own, suppression=suppression, ends="exact", tidy=False, trace=events.append, progress=progress,
    )  # fmt: skip
    told = [asdict(event) | {"kind": event.kind, "sentence": event.sentence()} for event in events]
    labels = _labels(frame, quasi, own)
    return {
        "events": told,
        "labels": labels,
        "heights": {name: len(levels) - 1 for name, levels in labels.items()},
        "levels": found.solution.levels,
        "released": [list(map(str, row)) for row in found.table.rows()],
        "suppressed": found.solution.verdict.suppressed,
    }


def _labels(frame: Any, quasi: Sequence[str], recipes: Mapping[str, Any]) -> dict[str, list[list[str]]]:
    """Per column and level the label of each row."""
    from sfumato.core.microdata import microdata
    from sfumato.release.request import recipes_of

    micro = microdata(frame, dict.fromkeys(quasi, "quasi"), recipes_of(frame, recipes, list(quasi)))
    found = {}
    for name in quasi:
        attribute, codes = micro.attribute(name), micro.codes[name]
        ladder = attribute.ladder
        found[name] = [[str(ladder.text[level][ladder.of[level][code]]) for code in codes]
                       for level in range(ladder.height + 1)]  # fmt: skip
    return found
