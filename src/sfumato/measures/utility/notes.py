"""Notes: what a reader of the figures must know about how a release was read."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.measures.utility.column import ComparedColumn
from sfumato.measures.utility.pair import Pair

TELL = "their hierarchies would tell"
REORDERED = (
    "it is not known which released row came from which original row, for they seem to be in another order: what "
    "compares row by row is left out. A key, a column in both tables, would tell"
)


def notes_of(pair: Pair) -> list[str]:
    """A sentence on each thing that the figures alone do not say; column names, never cell values."""
    columns = [pair.column(name) for name in pair.shared]
    found = [REORDERED] if pair.reordered else []
    if names := [column.name for column in columns if column.unread]:
        found.append(f"labels of {listed(names)} could not be read and count as no information: {TELL}")
    if names := [column.name for column in columns if column.strange]:
        found.append(
            f"values of {listed(names)} that the original does not have could not be read either and count as wrong "
            f"ones: {TELL}"
        )
    if names := [column.name for column in columns if column.learnt]:
        found.append(
            f"labels of {listed(names)} could not be read and are taken for groups of the values that their rows have "
            f"in the original: {TELL}"
        )
    shares = {column.name: column.moved(pair.rows) for column in columns}
    if any(shares.values()):
        least = "" if pair.rows is not None else "at least "
        each = ", ".join(f'"{name}" ({least}{percent(share)})' for name, share in shares.items() if share)
        found.append(
            f"released cells that do not hold their original value, exactly or among others: {each}. Losses of detail, "
            "such as lm and ncp, do not count that; direct-comparison, errors of numbers and query-error do"
        )
    return found


def listed(names: Iterable[str]) -> str:
    """Column names as they stand in a sentence."""
    return ", ".join(f'"{name}"' for name in names)


def many(count: int, what: str = "column") -> str:
    """A number of things in words.

    >>> many(1), many(2, "numeric column")
    ('1 column', '2 numeric columns')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def percent(share: float) -> str:
    """A share above 0 never as 0.0%.

    >>> percent(0.25), percent(0.0001)
    ('25.0%', 'below 0.1%')
    """
    return f"{share * 100:.1f}%" if share >= 0.001 or share == 0 else "below 0.1%"


def moved_share(pair: Pair, columns: Iterable[ComparedColumn]) -> tuple[float, str]:
    """The share of cells that do not cover their original value, and a sentence where there are some."""
    shares = [column.moved(pair.rows) for column in columns]
    share = sum(shares) / len(shares) if shares else 0.0
    if not share:
        return 0.0, ""
    least = "" if pair.rows is not None else "at least "
    return share, (
        f" Besides, {least}{percent(share)} of the released cells do not hold their original value, exactly or among "
        "others (noise, swaps, mistakes): this measure does not count that."
    )


def unread_words(columns: Iterable[ComparedColumn]) -> tuple[dict[str, int], str]:
    """How many labels could not be read, by what they count as, and sentences where there are some."""
    read = list(columns)
    counts = {
        "unread_labels": sum(column.unread for column in read),
        "learnt_labels": sum(column.learnt for column in read),
        "strange_labels": sum(column.strange for column in read),
    }
    lost, learnt = counts["unread_labels"] + counts["strange_labels"], counts["learnt_labels"]
    words = f" Labels that could not be read and count as no information: {lost}." if lost else ""
    if learnt:
        words += f" Labels that could not be read and are taken for groups of what their rows had: {learnt}."
    return counts, words
