"""The formula guard: a spreadsheet that opens a released file shows text, it never runs it."""

from __future__ import annotations

import polars as pl

from sfumato.engines.printed import printed

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
    risky = _risky(series)
    return ("'" + series).zip_with(risky, series) if risky.any() else series


def unguard(series: pl.Series) -> pl.Series:
    """The exact inverse of `guard`.

    >>> unguard(pl.Series(["'=1+1", "-5", "''=x", "'s-Hertogenbosch"])).to_list()
    ['=1+1', '-5', "'=x", "'s-Hertogenbosch"]
    """
    quoted = series.str.starts_with("'").fill_null(False)
    if not quoted.any():
        return series
    bare = series.str.slice(1)
    return bare.zip_with(quoted & _risky(bare), series)


def guarded_text(series: pl.Series) -> pl.Series:
    """A column of any type as it stands in a file for spreadsheets: printed, then guarded."""
    text = printed(series)
    return text if series.dtype.is_integer() else guard(text)  # no whole number needs it


def guard_names(names: list[str]) -> list[str]:
    """Column names as they stand in the header of a file."""
    return guard(pl.Series(names, dtype=pl.String)).to_list()


def unguard_names(names: list[str]) -> list[str]:
    """Column names as they were before `guard_names`."""
    return unguard(pl.Series(names, dtype=pl.String)).to_list()


def _risky(series: pl.Series) -> pl.Series:
    start = series.str.contains(START).fill_null(False)
    return start & ~series.str.contains(NUMBER).fill_null(False) if start.any() else start
