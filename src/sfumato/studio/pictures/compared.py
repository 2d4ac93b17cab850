"""Pictures of a table before and after: one column as bars, two columns as a heat map."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from sfumato.core.wording import percent


def both_bars(found: Mapping[str, Any]) -> str:
    """A distribution before, wide and pale, and after, narrow and dark.

    >>> both_bars({"before": [0.5, 0.5], "after": [1.0, 0.0], "words": ["a", "<b>"]}).count("<rect")
    4
    """
    before, after = found["before"], found["after"]
    most, wide = max(*before, *after, 1e-12), 100 / len(before)
    drawn = []
    for i, (old, new, word) in enumerate(zip(before, after, found["words"], strict=True)):
        title = f"<title>{escape(word)}: {percent(old)} → {percent(new)}</title>"
        drawn.append(f'<g>{title}<rect class="before" x="{i * wide + wide * 0.06:.2f}" y="{60 - 60 * old / most:.2f}" '
                     f'width="{wide * 0.88:.2f}" height="{60 * old / most:.2f}"/>'
                     f'<rect class="after" x="{i * wide + wide * 0.3:.2f}" y="{60 - 60 * new / most:.2f}" '
                     f'width="{wide * 0.4:.2f}" height="{60 * new / most:.2f}"/></g>')  # fmt: skip
    return f'<svg class="both-bars" viewBox="0 0 100 60" preserveAspectRatio="none">{"".join(drawn)}</svg>'


def heat_table(found: Mapping[str, Any], which: str, most: float) -> str:
    """Two columns together, a cell darker the more rows it has; its number is the percentage of the rows.

    >>> "&lt;b&gt;" in heat_table({"across": ["<b>"], "down": ["x"], "after": [[1.0]]}, "after", 1.0)
    True
    """
    head = "".join(f'<th scope="col" title="{escape(word)}">{escape(word)}</th>' for word in found["across"])
    body = []
    for word, row in zip(found["down"], found[which], strict=True):
        cells = "".join(f'<td style="--share: {value / (most or 1):.3f}">{100 * value:.1f}</td>' for value in row)
        body.append(f'<tr><th scope="row" title="{escape(word)}">{escape(word)}</th>{cells}</tr>')
    return f'<table class="heat"><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
