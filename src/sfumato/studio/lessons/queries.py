"""Two sets of rows after some steps of the tracker: who is in them, and what was asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.studio.lessons.kinds import Told


@dataclass(frozen=True)
class QueriesSeen:
    """Who is looked for and who is in the tracker, the rows that the last question counts, and all questions so far.

    A question has its words, its answer, None where it was refused, and whether it is the last one.
    """

    rows: int = 0
    limits: tuple[int, int] = (0, 0)
    person: tuple[int, ...] = ()
    tracker: tuple[int, ...] | None = None
    tracker_name: str = ""
    counted: tuple[int, ...] = ()
    asked: tuple[tuple[str, int | None], ...] = ()
    sums: tuple[str, ...] = ()
    found: tuple[str, bool] | None = None


def queries_seen(events: Sequence[Told]) -> QueriesSeen:
    """The circles as they stand after some events."""
    seen: dict[str, object] = {}
    asked: list[tuple[str, int | None]] = []
    sums: list[str] = []
    for event in events:
        kind = event["kind"]
        seen["counted"] = tuple(event.get("rows_counted", ()))
        if kind == "control-set":
            seen |= {"rows": event["rows"], "limits": (event["least"], event["rows"] - event["least"])}
        elif kind == "count-refused":
            seen["person"] = tuple(event["rows_counted"])
            asked.append((event["what"], None))
        elif kind in ("tracker-rejected", "tracker-chosen"):
            seen |= {"tracker": tuple(event["rows_counted"]), "tracker_name": event["what"]}
        elif kind == "query-answered":
            asked.append((event["what"], event["answer"]))
        elif kind in ("everybody-counted", "person-counted", "value-tested"):
            sums.append(event["sum"])
            if kind == "value-tested" and event["has"]:
                seen["found"] = event["value"], True
    return QueriesSeen(**seen, asked=tuple(asked), sums=tuple(sums))  # type: ignore[arg-type]
