"""Notes: what a reader of the figures must know about how a release was read."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.core.wording import percent, quoted
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
        found.append(f"labels of {quoted(names)} could not be read and count as no information: {TELL}")
    if names := [column.name for column in columns if column.strange]:
        found.append(
            f"values of {quoted(names)} that the original does not have could not be read either and count as wrong "
            f"ones: {TELL}"
        )
    if names := [column.name for column in columns if column.learnt]:
        found.append(
            f"labels of {quoted(names)} could not be read and are taken for groups of the values that their rows have "
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
