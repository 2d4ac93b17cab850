"""A lesson: a search over a small table, or another algorithm, with the steps that it tells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sfumato.errors import PolicyError
from sfumato.studio.lessons import LESSONS, LessonKind, LessonTable, Told

MOST_ROWS = 200


def lesson(name: str, table: Mapping[str, Any], parameters: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """The events of a lesson, each with its kind and sentence; of one on a search also what the library releases."""
    own, kind = LessonTable(**table), LESSONS[name]
    if len(own.rows) > MOST_ROWS:
        raise PolicyError("the table of a lesson is small", got=f"{len(own.rows)} rows", allowed=f"at most {MOST_ROWS}")
    if kind.search:
        return _searched(kind, own, parameters, progress)
    if not parameters["column"]:
        raise PolicyError("this lesson is about a sensitive column, and the table has none")
    from sfumato.studio.lessons.steps import steps

    return {"events": _told(steps(name, own, parameters))}


def _searched(kind: LessonKind, table: LessonTable, parameters: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """A search with its steps, the labels of every level, and the table that it releases."""
    import polars as pl

    import sfumato as sf
    from sfumato.search import SEARCHES

    frame = pl.DataFrame([list(row) for row in table.rows], schema=list(table.columns), orient="row",
                         infer_schema_length=None)  # fmt: skip
    events: list[Any] = []
    recipes = {name: recipe for name, recipe in table.hierarchies.items() if name in table.quasi and kind.over_levels}
    search = SEARCHES[kind.search].make(**kind.options) if kind.options else kind.search
    found = sf.anonymize(
        frame, quasi=list(table.quasi), insensitive=[name for name in table.columns if name not in table.quasi],
        k=parameters["k"], search=search, hierarchies=recipes, suppression=parameters["suppression"], ends="exact",
        tidy=False, trace=events.append, progress=progress, loss=kind.loss,
    )  # fmt: skip
    told, texts = _told(events), _texts(frame, table.quasi, recipes)
    _name_rows(told, list(zip(*(levels[0] for levels in texts.values()), strict=True)))
    return {
        "events": told,
        "labels": texts,
        "heights": {name: len(levels) - 1 for name, levels in texts.items()},
        "levels": getattr(found.solution, "levels", None) if kind.over_levels else None,
        "released": [list(map(str, row)) for row in found.table.rows()],
        "suppressed": found.solution.verdict.suppressed,
    }


def _told(events: Sequence[Any]) -> list[dict[str, Any]]:
    return [asdict(event) | {"kind": event.kind, "sentence": event.sentence()} for event in events]


def _texts(frame: Any, quasi: Sequence[str], recipes: Mapping[str, Any]) -> dict[str, list[list[str]]]:
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


def _name_rows(told: Sequence[dict[str, Any]], printed: Sequence[tuple[str, ...]]) -> None:
    """Tell of each record `at` which rows of the table it is: those with its values, or some of them where they were
    dealt to several records, in their order."""
    rows: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row, values in enumerate(printed):
        rows[values].append(row)
    records = [record for event in told for record in _records(event)]
    parts: dict[tuple[str, ...], dict[int, int]] = defaultdict(dict)
    for record in records:
        if record["rows"] < len(rows[_printed(record)]):
            parts[_printed(record)][record["number"]] = record["rows"]
    for record in records:
        own, dealt = rows[_printed(record)], parts[_printed(record)]
        first = sum(size for number, size in dealt.items() if number < record["number"])
        record["at"] = own if record["rows"] >= len(own) else own[first : first + record["rows"]]


def _records(told: Any) -> Iterator[dict[str, Any]]:
    """All records in an event."""
    if isinstance(told, dict) and told.keys() >= {"number", "values", "rows"}:
        yield told
    elif isinstance(told, dict | list | tuple):
        for one in told.values() if isinstance(told, dict) else told:
            yield from _records(one)


def _printed(record: Told) -> tuple[str, ...]:
    return tuple(map(str, record["values"]))


# What exercises ask of the library


def class_holds(
    name: str, table: Mapping[str, Any], parameters: Mapping[str, Any], rows: Sequence[int], progress: Any
) -> bool:
    """Whether a class keeps the promise that a lesson is about."""
    from sfumato.criteria import EntropyLDiversity, TCloseness
    from sfumato.studio.lessons.steps.classes import ClassesOfTable
    from sfumato.studio.lessons.steps.closeness import distance_of

    seen = ClassesOfTable(LessonTable(**table), parameters["column"])
    if name == "l-diversity":
        return EntropyLDiversity(seen.column, parameters["l"]).audit(seen.groups(rows)).holds
    return TCloseness(seen.column, parameters["t"], distance_of(seen)).audit(seen.groups(rows)).holds


def values_left(table: Mapping[str, Any], column: str, progress: Any) -> list[str]:
    """The values that the person of a table may have, to somebody who knows what their row prints."""
    import polars as pl

    from sfumato.measures.attacks.classes import view

    own = LessonTable(**table)
    labels = zip(*own.release_labels, strict=True)
    frame = pl.DataFrame({name: list(some) for name, some in zip(own.release_columns, labels, strict=True)})
    seen = view(frame.with_columns(pl.Series("value", own.values(column))), list(own.release_columns), "value")
    histogram, of = seen.histogram, int(seen.class_of_row[own.person])
    found = histogram.value[histogram.start[of] : histogram.start[of + 1]]
    return [str(seen.sensitive.categories.text[code]) for code in found]


def likelier_with(answer: int, true: int, scale: float, progress: Any) -> bool:
    """Whether an answer is likelier of the table with the person, whose true answer is one more."""
    from sfumato.studio.lessons.steps.laplace import likely

    return likely(answer, true, scale) > likely(answer, true - 1, scale)
