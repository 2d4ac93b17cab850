"""The tree of splits of k-Optimize after some steps: its nodes, what they cost, and which are pruned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.studio.lessons.kinds import Told

Splits = tuple[tuple[str, str | None], ...]  # column and value, in the order in which they were added


@dataclass(frozen=True)
class SplitNode:
    """A node that was opened: its cost, a bound on all below it, and its state: open, pruned or done."""

    splits: Splits
    cost: int
    bound: int | None = None
    state: str = "open"


@dataclass(frozen=True)
class SplitsSeen:
    """The nodes in the order of the tree, the one looked at, and the best so far."""

    nodes: Mapping[Splits, SplitNode]
    current: Splits
    best: Splits | None
    least: int | None


def splits_seen(events: Sequence[Told]) -> SplitsSeen:
    """The tree as it stands after some events."""
    nodes: dict[Splits, SplitNode] = {}
    current: Splits = ()
    best: Splits | None = None
    least: int | None = None
    for event in events:
        if "splits" not in event:
            continue
        kind, current = event["kind"], tuple(map(tuple, event["splits"]))
        if kind == "splits-opened":
            nodes[current] = SplitNode(current, event["cost"])
        elif kind == "bound-taken":
            nodes[current] = replace(nodes[current], bound=event["bound"])
        elif kind == "subtree-pruned":
            kept = event["best"] is not None and event["bound"] < event["best"]
            nodes[current] = replace(nodes[current], state="done" if kept else "pruned")
        elif kind in ("least-cost-found", "splits-chosen"):
            best, least = current, event["cost"]
    return SplitsSeen({path: nodes[path] for path in in_order(nodes)}, current, best, least)


def in_order(nodes: Mapping[Splits, SplitNode]) -> list[Splits]:
    """The nodes of a tree, each before its children, which come as they were opened."""
    children: dict[Splits, list[Splits]] = {}
    for path in nodes:
        children.setdefault(path[:-1], []).append(path)
    found, left = list[Splits](), [()] if () in nodes else list[Splits]()
    while left:
        found.append(path := left.pop())
        left += [child for child in reversed(children.get(path, [])) if child]
    return found


def intervals(values: Sequence[Any], splits: Splits, column: str) -> list[str]:
    """What the rows of a column print where it is split at some of its values, which are in order."""
    begins = {value for name, value in splits if name == column}
    part, parts = 0, dict[Any, int]()
    for value in sorted(set(values)):
        part += str(value) in begins
        parts[value] = part
    ends = [[value for value, own in parts.items() if own == one] for one in range(part + 1)]
    named = [str(own[0]) if len(own) == 1 else f"{own[0]}..{own[-1]}" for own in ends if own]
    return [named[parts[value] - min(parts.values())] for value in values]
