"""The matrix of distance vectors: a row per outlier, a column per distinct tuple."""

from __future__ import annotations

from sfumato.studio.lessons import DistancesSeen
from sfumato.studio.pictures.svg import SIGNS, WIDTH, line, rect, short, svg, text
from sfumato.studio.texts import Texts

MOST = 16  # rows and columns that are drawn
LEFT, TOP, ROW, RIGHT = 138.0, 76.0, 32.0, 74.0


def matrix_picture(seen: DistancesSeen, words: Texts) -> str:
    """Distance vectors; those within the vector that is tried are filled, and counted on the right."""
    outliers, tuples = seen.outliers[:MOST], list(seen.tuples)[:MOST]
    step = min(64.0, (WIDTH - LEFT - RIGHT) / max(len(tuples), 1))
    end = LEFT + step * len(tuples)
    apart = "," if step > 40 else ""
    tried = "–" if seen.tried is None else _named(seen.columns, seen.tried)
    verdict = SIGNS[seen.verdict]
    parts = [
        text(words("teach.vector_tried", vector=tried), 6, 18, "start strong"),
        text(verdict, WIDTH - 20, 18, "strong good" if seen.verdict else "strong alarm"),
        text(words("teach.outliers"), 6, TOP - 12, "start quiet"),
        text(words("teach.rows_within"), end + 6, TOP - 12, "start quiet"),
    ]
    if seen.best is not None:
        parts.append(text(words("teach.vector_best", vector=_named(seen.columns, seen.best)), 6, 36, "start good"))
    for j, number in enumerate(tuples):
        parts.append(text(_rows(seen, number), LEFT + step * (j + 0.5), TOP - 12, "quiet"))
    for i, number in enumerate(outliers):
        y = TOP + ROW * i
        values = ", ".join(seen.tuples[number][0])
        parts.append(text(_rows(seen, number), 6, y + ROW / 2 + 4, "start small quiet"))
        parts.append(text(short(values, 19), 32, y + ROW / 2 + 4, "start small"))
        for j, other in enumerate(tuples):
            vector = (0,) * len(seen.columns) if number == other else seen.vectors.get((number, other))
            inside = seen.tried is not None and vector is not None
            inside = inside and all(a <= b for a, b in zip(vector, seen.tried, strict=True))  # type: ignore[arg-type]
            look = "cell" + (" within" if inside else "") + (" current" if (number, other) == seen.current else "")
            x = LEFT + step * j
            parts.append(rect(x + 1, y + 1, step - 2, ROW - 2, look))
            if vector is not None:
                said = "=" if number == other else apart.join(map(str, vector))
                parts.append(text(said, x + step / 2, y + ROW / 2 + 4, "small strong" if inside else "small"))
        if number in seen.counted:
            rows, enough = seen.counted[number]
            look = "start good" if enough else "start alarm"
            parts.append(text(f"{rows} {SIGNS[enough]}", end + 6, y + ROW / 2 + 4, look))
    bottom = TOP + ROW * len(outliers)
    parts.append(line(LEFT, TOP, end, TOP, "axis"))
    left_out = max(len(seen.outliers) - MOST, 0), max(len(seen.tuples) - MOST, 0)
    if any(left_out):
        parts.append(
            text(words("teach.not_drawn", rows=left_out[0], columns=left_out[1]), 6, bottom + 18, "start quiet")
        )
    parts.append(text(words("teach.distance_vector", columns=", ".join(seen.columns)), WIDTH / 2, bottom + 38, "quiet"))
    return svg(parts, words("teach.picture_matrix"), bottom + 50)


def _rows(seen: DistancesSeen, number: int) -> str:
    """The rows of the table that a tuple stands for."""
    return short(", ".join(str(row + 1) for row in seen.tuples[number][1]), 7)


def _named(columns: tuple[str, ...], vector: tuple[int, ...]) -> str:
    return ", ".join(f"{column} {level}" for column, level in zip(columns, vector, strict=True))
