"""Markdown tables, and how counts, level vectors and losses print in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Found = Mapping[str, Any]
YES = {True: "yes", False: "**no**", None: ""}


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A Markdown table; the columns of `right` stand to the right."""
    rule = ["---:" if i in right else "---" for i in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def show(value: int | Sequence[int] | None) -> str:
    """A count, or a level vector; nothing for nothing."""
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else "(" + ",".join(map(str, value)) + ")"


def loss(value: float) -> str:
    """A loss with the digits that the study prints."""
    return f"{value:.13f}"


def told_loss(value: float) -> str:
    """A loss of the study, which gives some with fewer digits."""
    return loss(value).rstrip("0")
