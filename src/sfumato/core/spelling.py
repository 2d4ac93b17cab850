"""Spelling: values that differ only by case, blanks, Unicode form or "1" against "1.0" are mostly one value.

A criterion counts what is printed, so a disease in two spellings counts as two diseases: a class in which everybody has
the same one passes for diverse. What is meant is for the owner of the table to say, by `normalise`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from sfumato.core.microdata import Microdata
from sfumato.core.printed import printed
from sfumato.core.roles import Roles
from sfumato.errors import PolicyError, did_you_mean, warn

NAMELESS = "[\u00ad\u200b\u2060\ufeff]"  # letters that are not seen: a soft hyphen, spaces of no width
TEXT = (pl.String, pl.Categorical, pl.Enum)
WHOLE = r"^([+-]?[0-9]+)\.0*$"
FRACTION = r"^([+-]?[0-9]*\.[0-9]*[1-9])0+$"


class SpellingWarning(UserWarning):
    """Values of a sensitive column differ only in their spelling, and count as different."""


def folded(text: pl.Expr) -> pl.Expr:
    """What a text has in common with its other spellings.

    >>> pl.select(folded(pl.lit(pl.Series(["Flu ", "FLU", "1.0", "01"])))).to_series().to_list()
    ['flu', 'flu', '1', '01']
    """
    for _ in range(2):  # small letters may compose anew
        text = text.str.replace_all(NAMELESS, "").str.normalize("NFKC").str.to_lowercase()
    return text.str.replace_all(r"\s+", " ").str.strip_chars(" ").str.replace(WHOLE, "$1").str.replace(FRACTION, "$1")


def warn_of_spellings(frame: pl.DataFrame, columns: Iterable[str]) -> None:
    """Name the columns some of whose values differ only in their spelling, and how many would merge; no values."""
    found = []
    for name in columns:
        if (column := frame.get_column(name)).dtype in TEXT:
            known = printed(column).drop_nulls().unique().to_frame("value")
            merged = known.height - known.select(folded(pl.col("value")).n_unique()).item()
            found += [f'"{name}" ({merged} would merge into others)'] if merged else []
    if found:
        message = (
            "values that differ only by case, blanks, Unicode form or as 1 and 1.0 count as different in "
            f"{', '.join(found)}. Name the columns in normalise to treat them as one"
        )
        warn(SpellingWarning(message))


def normalised(normalise: Any, frame: pl.DataFrame, roles: Roles, hierarchies: Iterable[str]) -> tuple[str, ...]:
    """The columns of text to be released in one spelling, checked: True stands for all that are sensitive."""
    listed = [normalise] if isinstance(normalise, str) else normalise
    if listed is None or listed is False:
        return ()
    if listed is not True and (not isinstance(listed, list | tuple) or not all(isinstance(n, str) for n in listed)):
        raise PolicyError("normalise must be True or list columns", got=type(normalise).__name__)
    blurred = {name for names in roles.quasi for name in names}
    names = [name for name in roles.sensitive if name not in blurred] if listed is True else list(dict.fromkeys(listed))
    for name in names if listed is not True else ():
        if name not in roles.sensitive:
            hint = did_you_mean(name, roles.sensitive)
            raise PolicyError(f'normalise names a column "{name}" that is not sensitive', hint=hint)
        if name in blurred:
            what = f'normalise names the column "{name}", which is a quasi-identifier too: its labels are released'
            raise PolicyError(what, hint="bring it to one spelling in the table, and leave it out of normalise")
        if name in hierarchies:
            what = f'normalise names the column "{name}", which has a hierarchy with a spelling of its own'
            raise PolicyError(what, hint="write the table in the spelling of the hierarchy, and leave normalise out")
    return tuple(name for name in names if name not in hierarchies and frame.get_column(name).dtype in TEXT)


def one_spelling(columns: Iterable[pl.Series], require: Sequence[Any]) -> dict[str, pl.Series]:
    """The columns with one spelling per value: one that a criterion names, else the most frequent, then the first.

    It depends on these rows alone: of released rows it tells nothing about the others.
    """
    found = {}
    for column in columns:
        name, text = column.name, printed(column)
        named = [value for c in require if name in c.needs for value in c.named_values]
        ranked = text.drop_nulls().alias("value").value_counts(name="rows")
        ranked = ranked.with_columns(folded(pl.col("value")).alias("meant"), named=pl.col("value").is_in(named))
        ranked = ranked.sort(["named", "rows", "value"], descending=[True, True, False])
        ranked = ranked.with_columns(pl.col("value").first().over("meant").alias("spelling"))
        spelling = ranked.get_column("spelling")
        found[name] = text.replace_strict(ranked.get_column("value"), spelling, default=None, return_dtype=pl.String)
    return found


def refuse_order(columns: Iterable[str], micro: Microdata, require: Iterable[Any]) -> None:
    """Raise a PolicyError where a distance runs along the order of texts, which the released spelling may change."""
    ordered = {name for c in require if c.uses_order for name in c.needs}
    for name in columns:
        if name in ordered and not micro.attribute(name).categories.ordered:
            what = f'normalise names the column "{name}", and a distance runs along the order of its spelling'
            raise PolicyError(what, hint="leave normalise out, or use another distance")


def respelled(counts: Mapping[str, int], before: pl.Series, after: pl.Series) -> dict[str, int]:
    """Counts by value in the spelling of the released rows; a value that no released row has keeps its own."""
    pairs = pl.DataFrame({"before": before, "after": after}).drop_nulls().unique()
    spelling = dict(pairs.iter_rows())
    return {spelling.get(value, value): rows for value, rows in counts.items()}
