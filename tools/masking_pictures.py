"""Draws what each family of maskers does to a table, before and after: `python -m tools.masking_pictures`.

Each picture is made by the maskers themselves on a made-up table, with a fixed key and seed, and written to
`docs/images` as SVG that follows the light or dark of the reader.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
PICTURES = {  # and the page that shows it
    "masking-noise": "masking/noise.md",
    "masking-microaggregation": "masking/microaggregation.md",
    "masking-swapping": "masking/swapping.md",
    "masking-recoding": "masking/recoding.md",
    "masking-resampling": "masking/resampling.md",
    "masking-pseudonyms": "pseudonyms.md",
}
WIDE, HIGH, GAP, TOP = 300, 230, 28, 34
STYLE = (
    "text{font:13px sans-serif;fill:#3a352f}.small{font-size:11px;fill:#6a635b}.frame{fill:none;stroke:#cfc8bf}"
    ".before{fill:#8a8178}.after{fill:#2f6f8f}.moved{stroke:#c96f3b;stroke-width:1}.bar{fill:#8a8178}.new{fill:#2f6f8f}"
    "@media(prefers-color-scheme:dark){text{fill:#e8e2da}.small{fill:#a89f95}.frame{stroke:#5a534c}.before,.bar"
    "{fill:#a89f95}.after,.new{fill:#6fb3d2}.moved{stroke:#e0935f}}"
)
Panel = Callable[[float], str]  # what is drawn, from the left edge of its place


def people(rows: int) -> pl.DataFrame:
    """Years of work and pay, which go together, some of it far out."""
    rng = np.random.default_rng(11)
    years = np.clip(rng.gamma(3, 6, rows), 0, 45)
    pay = 1400 + 45 * years + 320 * rng.standard_normal(rows) + 1500 * (rng.random(rows) < 0.04)
    return pl.DataFrame({"years": years.round(1), "pay": pay.round(0)})


def masked(table: pl.DataFrame, *steps: object) -> pl.DataFrame:
    """The table after steps, row by row as it came."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sf.mask(table, list(steps), rest="release", order="input", seed=4).table


def scatter(title: str, table: pl.DataFrame, before: pl.DataFrame | None, under: str) -> Panel:
    """A point for each row; with `before`, a line from where it was."""

    def place(frame: pl.DataFrame, left: float) -> list[tuple[float, float]]:
        x = left + 10 + (WIDE - 20) * np.clip(frame["years"].cast(float).to_numpy() / 50, 0, 1)
        y = TOP + HIGH - 10 - (HIGH - 20) * np.clip(frame["pay"].cast(float).to_numpy() / 5200, 0, 1)
        return list(zip(x.tolist(), y.tolist(), strict=True))

    def draw(left: float) -> str:
        now = place(table, left)
        lines = "" if before is None else "".join(
            f'<line class="moved" x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}"/>'
            for (a, b), (c, d) in zip(place(before, left), now, strict=True)
        )  # fmt: skip
        kind = "before" if before is None and title == "before" else "after"
        dots = "".join(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>' for x, y in now)
        return _frame(left, title, under) + lines + dots

    return draw


def histogram(title: str, values: Sequence[float], under: str, kind: str = "new") -> Panel:
    """How many rows lie where."""

    def draw(left: float) -> str:
        counts, _ = np.histogram(values, 36, (0, 5200))
        step = (WIDE - 20) / 36
        tall = (HIGH - 20) * counts / counts.max()
        bars = "".join(
            f'<rect class="{kind}" x="{left + 10 + i * step:.1f}" width="{step - 1.5:.1f}" '
            f'y="{TOP + HIGH - 10 - high:.1f}" height="{high:.1f}"/>'
            for i, high in enumerate(tall.tolist())
        )
        return _frame(left, title, under) + bars

    return draw


def cells(title: str, table: pl.DataFrame, kind: str) -> Panel:
    """The first rows as text."""

    def draw(left: float) -> str:
        width, said = (WIDE - 16) / table.width, ""
        for c, name in enumerate(table.columns):
            for r, value in enumerate([name, *table[name].cast(pl.String).to_list()]):
                look = "" if r == 0 else f' class="{kind}"'
                said += (
                    f'<text{look} x="{left + 12 + c * width:.0f}" y="{TOP + 26 + r * 30}">{escape(str(value))}</text>'
                )
        return _frame(left, title, "") + said

    return draw


def _frame(left: float, title: str, under: str) -> str:
    return (
        f'<text x="{left}" y="22">{escape(title)}</text>'
        f'<rect class="frame" x="{left}" y="{TOP}" width="{WIDE}" height="{HIGH}" rx="4"/>'
        f'<text class="small" x="{left}" y="{TOP + HIGH + 18}">{escape(under)}</text>'
    )


def write(name: str, said: str, *panels: Panel) -> None:
    """Panels side by side, with what the picture says for those who hear it."""
    width, height = len(panels) * (WIDE + GAP) - GAP, TOP + HIGH + 30
    body = "".join(panel(i * (WIDE + GAP)) for i, panel in enumerate(panels))
    (IMAGES / f"{name}.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(said)}">'
        f"<style>{STYLE}</style>{body}</svg>\n",
        "utf-8",
    )


def _together(table: pl.DataFrame) -> str:
    r = float(np.corrcoef(table["years"].cast(float).to_numpy(), table["pay"].cast(float).to_numpy())[0, 1])
    return f"correlation of years and pay {r:.2f}"


def main() -> None:
    """Draw all pictures."""
    os.environ["SFUMATO_KEY"] = "of the pictures"
    table, few = people(220), people(60)
    noisy, exact = masked(table, "additive-noise share=0.5"), masked(table, "restricted-noise share=0.5")
    write(
        "masking-noise", "Noise spreads the points; restricted noise keeps means and covariances",
        scatter("before", table, None, _together(table)), scatter("additive noise, 0.5", noisy, None, _together(noisy)),
        scatter("restricted noise, 0.5", exact, None, _together(exact)),
    )  # fmt: skip
    grouped = masked(few, "mdav k=4")
    write(
        "masking-microaggregation", "Groups of four rows take their mean",
        scatter("before", few, None, "60 rows"),
        scatter("MDAV, k = 4", grouped, few, "each point stands for four rows or more"),
    )  # fmt: skip
    swapped, far = (masked(few, f"rank-swapping pay p={p}") for p in (5, 25))
    write(
        "masking-swapping", "Values of pay change places with others of near rank",
        scatter("before", few, None, "60 rows"),
        scatter("rank swapping, p = 5", swapped, few, "pay moves up or down a little"),
        scatter("rank swapping, p = 25", far, few, "further"),
    )  # fmt: skip
    many = people(900)
    coded, rounded = masked(many, "top-bottom-coding pay top=97 kind=percentile"), masked(many, "rounding pay base=500")
    write(
        "masking-recoding", "Top coding cuts the tail off; rounding leaves a few values",
        histogram("before: pay", many["pay"].to_list(), "900 rows", "bar"),
        histogram("top coded at the 97th percentile", coded["pay"].to_list(), "nobody stands out above"),
        histogram("rounded to 500", rounded["pay"].to_list(), "few values, many rows each"),
    )  # fmt: skip
    shuffled = masked(table, "shuffling pay given=years")
    write(
        "masking-resampling", "Shuffling gives each row the pay of another, in keeping with its years",
        scatter("before", table, None, _together(table)), scatter("shuffled", shuffled, None, _together(shuffled)),
    )  # fmt: skip
    patients = pl.DataFrame({"patient": ["718-204", "718-204", "330-981"], "surname": ["Ricci", "Ricci", "Moretti"],
                             "seen": ["2024-03-04", "2024-03-18", "2024-03-09"]})  # fmt: skip
    tokens = masked(
        patients, sf.FormatPreserving("patient", keep="-"),
        sf.Substitution("surname", kind="last_name", country="it_IT"),
        sf.DateShift("seen", person="patient"),
    )  # fmt: skip
    write(
        "masking-pseudonyms", "Numbers, names and dates are replaced; the same person stays the same",
        cells("before", patients, "before"), cells("after", tokens, "after"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
