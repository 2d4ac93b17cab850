"""The formula guard: a spreadsheet that opens a released file shows text, it never runs it."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from sfumato.core.printed import printed, printed_frame

Of = Callable[[pl.Expr], pl.Expr]

# What a spreadsheet may take for a formula; also behind spaces, which some programs trim on import.
START = r"\A'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])"
NUMBER = r"\A *[+\-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+\-]?[0-9]+)? *\z"


def guard(series: pl.Series) -> pl.Series:
    """The column with one apostrophe put before each text that a spreadsheet could run.

    Guarded is a text that starts with ``= + - @`` or their full-width forms, also behind spaces, or with a tab or a
    line break; and such a text behind apostrophes, so that `unguard` gives back exactly what went in. Plain numbers
    (``-5``, ``+5.2``) stay as they are.

    Parameters
    ----------
    series
        A String column.

    Examples
    --------
    >>> guard(pl.Series(["=1+1", "-5", "'=x", "[20, 30)"])).to_list()
    ["'=1+1", '-5', "''=x", '[20, 30)']

    References
    ----------
    OWASP, "CSV injection", https://owasp.org/www-community/attacks/CSV_Injection
    """
    return _changed([series], _opens, _guarded)[0]


def unguard(series: pl.Series) -> pl.Series:
    """The exact inverse of `guard`.

    >>> unguard(pl.Series(["'=1+1", "-5", "''=x", "'s-Hertogenbosch"])).to_list()
    ['=1+1', '-5', "'=x", "'s-Hertogenbosch"]
    """
    return _changed([series], _quoted, _unguarded)[0]


def guarded_text(series: pl.Series) -> pl.Series:
    """A column of any type as it stands in a file for spreadsheets: printed, then guarded."""
    text = printed(series)
    return text if series.dtype.is_integer() else guard(text)  # no whole number needs it


def guarded_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Every column of a frame as `guarded_text` gives it."""
    text = printed_frame(frame)
    risky = [text.get_column(name) for name, dtype in frame.schema.items() if not dtype.is_integer()]
    return text.with_columns(_changed(risky, _opens, _guarded))


def unguarded_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Every column of a frame of text without the guard."""
    return frame.with_columns(_changed(frame.get_columns(), _quoted, _unguarded))


def guard_names(names: list[str]) -> list[str]:
    """Column names as they stand in the header of a file."""
    return guard(pl.Series(names, dtype=pl.String)).to_list()


def unguard_names(names: list[str]) -> list[str]:
    """Column names as they were before `guard_names`."""
    return unguard(pl.Series(names, dtype=pl.String)).to_list()


def _changed(columns: list[pl.Series], concerns: Of, change: Of) -> list[pl.Series]:
    """The columns, those changed in which it concerns a text: looked at together, for there may be many.

    One after the other, because this also runs inside a query of Polars.
    """
    if not columns:
        return []
    frame = pl.DataFrame({str(i): column for i, column in enumerate(columns)})
    found = frame.select_seq(concerns(pl.all()).any()).row(0)
    frame = frame.with_columns_seq(change(pl.col(str(i))).alias(str(i)) for i, there in enumerate(found) if there)
    return [now.alias(column.name) for now, column in zip(frame.iter_columns(), columns, strict=True)]


def _opens(text: pl.Expr) -> pl.Expr:
    return text.str.contains(START)


def _quoted(text: pl.Expr) -> pl.Expr:
    return text.str.starts_with("'")


def _guarded(text: pl.Expr) -> pl.Expr:
    return pl.when(_risky(text)).then("'" + text).otherwise(text)


def _unguarded(text: pl.Expr) -> pl.Expr:
    bare = text.str.slice(1)
    return pl.when(_quoted(text) & _risky(bare)).then(bare).otherwise(text)


def _risky(text: pl.Expr) -> pl.Expr:
    return _opens(text) & ~text.str.contains(NUMBER)
