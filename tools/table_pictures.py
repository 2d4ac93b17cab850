"""Draws how tables leak, three pictures: `python -m tools.table_pictures`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
PICTURES = dict.fromkeys(("tables-subtraction", "tables-insider", "tables-linked"), "tables/index.md")  # and their page
WIDE, HIGH, TOP = 84, 34, 10
STYLE = (
    "text{font:14px sans-serif;fill:#3a352f}.head{font-weight:600}.small{font-size:13px;fill:#6a635b}"
    "rect{fill:none;stroke:#b3aaa0}.hidden{fill:#8a81784d}.known{fill:#c96f3b66;stroke:#c96f3b;stroke-width:2}"
    "@media(prefers-color-scheme:dark){text{fill:#e8e2da}.small{fill:#a89f95}rect{stroke:#5a534c}"
    ".hidden{fill:#a89f9540}.known{fill:#e0935f66;stroke:#e0935f}}"
)
Marks = Mapping[tuple[int, int], str]


def table(left: int, rows: Sequence[Sequence[str]], marks: Marks) -> str:
    """A table whose marked cells stand out."""
    found = []
    for r, row in enumerate(rows):
        for c, text in enumerate(row):
            x, y = left + c * WIDE, TOP + r * HIGH
            head = ' class="head"' if r == 0 or c == 0 else ""
            mark = f' class="{marks[r, c]}"' if (r, c) in marks else ""
            found.append(f'<rect{mark} x="{x}" y="{y}" width="{WIDE}" height="{HIGH}"/>')
            found.append(f'<text{head} x="{x + WIDE // 2}" y="{y + 22}" text-anchor="middle">{text}</text>')
    return "".join(found)


def lines(left: int, texts: Sequence[str]) -> str:
    """Lines of text beside a table."""
    return "".join(f'<text class="small" x="{left}" y="{62 + 26 * i}">{text}</text>' for i, text in enumerate(texts))


def write(name: str, width: int, title: str, *parts: str) -> None:
    """A picture into its file."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 160" width="{width}" height="160" role="img">'
    body = f"<title>{title}</title><style>{STYLE}</style>{''.join(parts)}</svg>\n"
    (IMAGES / f"{name}.svg").write_text(head + body, encoding="utf-8")


def main() -> None:
    """Draw all of them."""
    rows = [["", "flu", "HIV", "all"], ["Rome", "10", "–", "11"], ["Oslo", "8", "4", "12"], ["all", "18", "5", "23"]]
    said = ["One cell is hidden.", "11 − 10 = 1, and 5 − 4 = 1:", "the totals give it back, twice."]
    drawn = table(10, rows, {(1, 2): "known"})
    write("tables-subtraction", 600, "A hidden cell that its row and column give back", drawn, lines(370, said))
    rows = [
        ["", "A", "B", "M", "all"], ["row 1", "–", "–", "–", "10"], ["row 2", "–", "0", "–", "11"],
        ["all", "–", "–", "3", "21"],
    ]  # fmt: skip
    marks = dict.fromkeys([(1, 1), (1, 3), (2, 1), (2, 3), (3, 1)], "hidden") | {(1, 2): "known", (3, 2): "known"}
    said = [
        "Nobody outside can tell B from A.",
        "The one person in (row 1, B) can:",
        "“that is me, so all of B is me”.",
    ]
    write("tables-insider", 700, "A pattern that is safe from outside, and not from inside", table(10, rows, marks),
          lines(450, said))  # fmt: skip
    counties = [["county", "cases"], ["1", "–"], ["4", "–"], ["10", "13"]]
    sizes = [["size", "cases"], ["big", "18"], ["small", "16"]]
    said = ["Two tables of the same regions.", "Each is protected by itself;", "16 − 13 = 3 is one region alone."]
    drawn = table(10, counties, {(1, 1): "hidden", (2, 1): "hidden"}) + table(210, sizes, {})
    write("tables-linked", 640, "Two tables that give away together what neither does alone", drawn, lines(410, said))


if __name__ == "__main__":
    main()
