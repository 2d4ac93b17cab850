"""Draws what breaks query control, three pictures: `python -m tools.query_pictures`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from tools.table_pictures import IMAGES, STYLE

from sfumato.control.attacks import rebuilt_share
from sfumato.core.wording import number, percent

PICTURES = dict.fromkeys(("queries-tracker", "queries-overlap", "queries-rebuilt"), "control/attacks.md")
MORE = (
    "polyline{fill:none;stroke-width:2.5}.a{stroke:#c96f3b}.b{stroke:#6a8f5a}.c{stroke:#5a7fa8}line{stroke:#b3aaa0}"
    ".on{fill:#c96f3b66;stroke:#c96f3b}.her{fill:#5a7fa8aa;stroke:#5a7fa8}"
)
ERRORS = (0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4)  # in half roots of the number of people
ANSWERS = (0.5, 1, 4)  # per person
REBUILT = 200  # people


def curve() -> dict[float, list[float]]:
    """The share of a column of 0 and 1 that is rebuilt, by answers per person and error."""
    secret = np.random.default_rng(5).random(REBUILT) < 0.5
    half = REBUILT**0.5 / 2
    return {
        per: [
            float(np.mean([rebuilt_share(secret, int(per * REBUILT), e * half, seed=s) for s in range(5)]))
            for e in ERRORS
        ]
        for per in ANSWERS
    }


def strips(name: str, title: str, rows: Sequence[tuple[str, Sequence[int], str]], people: int, her: int) -> None:
    """People in columns, query sets in rows."""
    side, left, top = 34, 200, 36
    parts = [
        f'<text class="small" x="{left + i * side + side // 2}" y="24" text-anchor="middle">{i + 1}</text>'
        for i in range(people)
    ]
    for r, (label, members, answer) in enumerate(rows):
        y = top + r * (side + 8)
        parts.append(f'<text x="10" y="{y + 22}">{label}</text>')
        for i in range(people):
            mark = ' class="her"' if i == her and i in members else ' class="on"' if i in members else ""
            parts.append(f'<rect{mark} x="{left + i * side}" y="{y}" width="{side - 4}" height="{side - 4}"/>')
        parts.append(f'<text x="{left + people * side + 12}" y="{y + 22}">{answer}</text>')
    draw(name, title, left + people * side + 190, top + len(rows) * (side + 8) + 6, parts)


def lines_of(name: str, title: str, found: Mapping[float, Sequence[float]]) -> None:
    """A chart of the curve."""
    left, top, wide, high = 70, 20, 420, 220

    def at(error: float, share: float) -> str:
        return f"{left + wide * error / ERRORS[-1]:.1f},{top + high * (1 - (share - 0.4) / 0.6):.1f}"

    parts = []
    for share in (0.4, 0.6, 0.8, 1.0):
        y = at(0, share).split(",")[1]
        parts.append(f'<line x1="{left}" x2="{left + wide}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="small" x="{left - 8}" y="{float(y) + 4}" text-anchor="end">{percent(share)}</text>')
    for error in (0, 1, 2, 3, 4):
        x = at(error, 0.4).split(",")[0]
        parts.append(f'<text class="small" x="{x}" y="{top + high + 20}" text-anchor="middle">{error}</text>')
    parts.append(f'<text class="small" x="{left}" y="{top + high + 42}">error of an answer, in √n / 2</text>')
    for mark, (per, shares) in zip("abc", found.items(), strict=True):
        points = " ".join(at(error, share) for error, share in zip(ERRORS, shares, strict=True))
        end = float(at(0, shares[-1]).split(",")[1]) + 4
        parts.append(f'<polyline class="{mark}" points="{points}"/>')
        parts.append(f'<text class="small" x="{left + wide + 8}" y="{end}">{number(per)} n answers</text>')
    draw(name, title, left + wide + 130, top + high + 56, parts)


def draw(name: str, title: str, width: int, height: int, parts: Sequence[str]) -> None:
    """A picture into its file."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
    body = f'role="img"><title>{title}</title><style>{STYLE}{MORE}</style>{"".join(parts)}</svg>\n'
    (IMAGES / f"{name}.svg").write_text(head + body, encoding="utf-8")


def main() -> None:
    """Draw all of them."""
    women, men = range(4), range(4, 10)
    rows = [
        ("C: she alone", [0], "refused"), ("T: women", list(women), "4"), ("not T: men", list(men), "6"),
        ("C or T", list(women), "4"), ("C or not T", [0, *men], "7"), ("", [0], "4 + 7 − 4 − 6 = 1"),
    ]  # fmt: skip
    strips("queries-tracker", "A general tracker: allowed sets that add up to one person", rows, 10, 0)
    rows = [
        ("q1", [0, 1, 2], ""), ("q2", [2, 3, 4], "shares 1 with q1"), ("q3", [0, 1, 3, 4], "shares 2 with each"),
        ("(q1 + q2 − q3) / 2", [2], "person 3"),
    ]  # fmt: skip
    strips("queries-overlap", "Sets that share two people at most, and determine the third", rows, 5, 2)
    lines_of("queries-rebuilt", "The share of a column that is rebuilt, by the error of answers", curve())


if __name__ == "__main__":
    main()
