"""The sweeps and the random draws as SVG: the same results give the same bytes, legible on light and on dark pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

GREY = "#7d838c"  # stands out from white and from slate alike
BLUE, ORANGE, GREEN, RED = "#3f86c9", "#d98324", "#2f9e72", "#d64f5f"
STYLE = {
    "svg.hashsalt": "sfumato",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": GREY,
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "axes.titlecolor": GREY,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "grid.color": GREY,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}
LOOKS = {
    "Samarati": (BLUE, "o", "-"),
    "Samarati by distance vectors": (ORANGE, "^", "-"),
    "least loss": (GREEN, "s", "-"),
    "plain cut": (BLUE, "o", "-"),
    "plain cut, first column": (ORANGE, "^", "-"),
    "balanced cut": (GREEN, "s", "-"),
}
FULL_DOMAIN = ["Samarati", "Samarati by distance vectors", "least loss"]
MONDRIAN = ["plain cut", "plain cut, first column", "balanced cut"]
NAMES = {
    "Samarati": "Samarati, first vector",
    "least loss": "least loss of the lattice",
    "plain cut": "v <= median, widest column",
    "plain cut, first column": "v <= median, first column",
    "balanced cut": "balanced cut, widest column",
}


def draw(found: Mapping[str, Any], folder: Path) -> list[Path]:
    """All plots of a results document."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        made = {
            "samarati-k": lambda: panels(found, FULL_DOMAIN, "k"),
            "samarati-maxsup": lambda: panels(found, FULL_DOMAIN, "maxsup"),
            "mondrian-k": lambda: panels(found, MONDRIAN, "k"),
            "mondrian-chance": lambda: chance(found),
        }
        return [save(make, folder / f"{name}.svg") for name, make in made.items()]


def save(make: Callable[[], Figure], path: Path) -> Path:
    """A figure as SVG, without a date or a version in it."""
    figure = make()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return path


def panels(found: Mapping[str, Any], methods: Sequence[str], over: str) -> Figure:
    """Loss above, time below; Adult left, Bank right."""
    figure, axes = plt.subplots(2, 2, figsize=(8.4, 5.4), sharex="col", layout="constrained")
    for column, data in enumerate(("Adult", "Bank")):
        top, bottom = axes[:, column]
        for method in methods:
            points = [p for p in found["sweeps"] if (p["data"], p["method"], p["over"]) == (data, method, over)]
            at, (colour, marker, line) = [p["at"] for p in points], LOOKS[method]
            look = {"color": colour, "marker": marker, "linestyle": line, "label": NAMES.get(method, method)}
            if method != "Samarati by distance vectors":  # its vectors are those of Samarati
                top.plot(at, [p["loss"] for p in points], **look)
            bottom.plot(at, [1000 * p["seconds"] for p in points], **look)
        if data == "Bank" and methods is FULL_DOMAIN:
            as_published(top, found, over)
        top.set_title(title(found, data, methods, over), loc="left")
        top.set_ylim(bottom=0)
        milliseconds(bottom)
        bottom.set_xlabel(over if over == "k" else "maxsup (rows that may be suppressed)")
        for ax in (top, bottom):
            ax.grid(axis="y")
    axes[0, 0].set_ylabel("LM, sum over the columns")
    axes[1, 0].set_ylabel("search, ms (log scale)")
    legend(figure, axes)
    return figure


def milliseconds(ax: Axes) -> None:
    """A logarithmic axis, a factor of ten long at least, that says 1, 2, 5 and not powers of ten."""
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    middle = (low * high) ** 0.5
    ax.set_ylim(min(low, middle / 10**0.5), max(high, middle * 10**0.5))
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def as_published(ax: Axes, found: Mapping[str, Any], over: str) -> None:
    """Bank as the study's program ran it; crosses where its table is not k-anonymous."""
    points = [p for p in found["sweeps"] if (p["method"], p["over"]) == ("as published", over)]
    good, bad = [p for p in points if p["valid"]], [p for p in points if not p["valid"]]
    ax.plot([p["at"] for p in points], [p["loss"] for p in points], ":", color=RED, linewidth=1.2)
    ring = {"color": RED, "mfc": "none", "markersize": 9, "label": "Bank as published"}  # a ring: others lie within
    ax.plot([p["at"] for p in good], [p["loss"] for p in good], "o", **ring)
    if bad:
        name = "Bank as published, not k-anonymous"
        ax.plot([p["at"] for p in bad], [p["loss"] for p in bad], "x", color=RED, markersize=6, label=name)


def title(found: Mapping[str, Any], data: str, methods: Sequence[str], over: str) -> str:
    """What a column of panels shows."""
    if methods is MONDRIAN:
        return f"{data}: " + {"Adult": "age, education_num", "Bank": "age, job"}[data]
    fixed = {("Adult", "k"): "maxsup=20", ("Bank", "k"): "maxsup=10", ("Adult", "maxsup"): "k=10"}
    return f"{data}, {fixed.get((data, over), 'k=3')}"


def legend(figure: Figure, axes: Any) -> None:
    """One legend for all panels, each name once."""
    named = {}
    for ax in axes.flat:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=3)


def chance(found: Mapping[str, Any]) -> Figure:
    """Seeded draws of the random choice, with the published one and the deterministic rules."""
    published, ours = found["random"][0]["published"], found["random"][0]["ours"]
    figure, ax = plt.subplots(figsize=(8.4, 2.8), layout="constrained")
    ax.stairs(ours["counts"], ours["edges"], fill=True, color=BLUE, alpha=0.55)
    tall = max(ours["counts"])
    widest, first = (row["ours"]["loss"] for row in found["mondrian"][:2])
    marks = [
        ("widest column ", widest, GREEN, "right"),
        (" as published", published, RED, "left"),
        (" first column", first, ORANGE, "left"),
    ]
    for name, at, colour, side in marks:
        ax.axvline(at, color=colour, linewidth=1.4)
        ax.text(at, tall * 1.06, name, color=colour, ha=side, va="bottom")
    for name in ("least", "greatest"):
        ax.axvline(ours[name], color=GREY, linewidth=1, linestyle="--")
    ax.set_ylim(0, tall * 1.2)
    ax.set_xlabel("LM, sum over age and education_num (dashed: the least and the greatest that any choices give)")
    ax.set_ylabel(f"of {ours['draws']:,} draws")
    return figure
