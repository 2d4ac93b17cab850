"""Turning pseudonyms back, and giving people new ones: what the owner of a key or a vault can do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.masked import Context
from sfumato.core.parameters import known_columns
from sfumato.core.private import private_file
from sfumato.core.protocols import Masker
from sfumato.core.random_stream import RandomStream
from sfumato.core.registry import variant_name
from sfumato.engines.memory.table import enter, leave
from sfumato.errors import PolicyError
from sfumato.pseudonyms import key_file, vault
from sfumato.pseudonyms.format_preserving import FormatPreserving
from sfumato.pseudonyms.random_tokens import RandomTokens

SQLITE = b"SQLite format 3\0"
Reversible = FormatPreserving | RandomTokens


def reverse(data: Any, step: Masker) -> Any:
    """A table with the originals in place of the pseudonyms that a step made, for the owner's eyes.

    data: a frame, a dict of lists or the path of a file, with the columns of the step. step: as it was when they were
    made, format-preserving or random tokens; a token that the vault does not know has no original, and under another
    key format-preserving pseudonyms give other texts, without notice.
    """
    given = reversible(step)
    frame, kind = enter(data)
    known_columns(given.columns, frame.columns)
    found = frame.with_columns(given.reverse(frame.select(given.columns)).iter_columns())
    return leave(found, data, kind, None, ())


def rotate(path: str | Path) -> dict[str, int]:
    """Make a new generation in a key file, or in every domain of a vault; the old ones stay, and still reverse.

    Gives the latest generation, of a vault by domain, of a key file under "key". Steps use it from now on.
    """
    place = private_file(path, "a key or a vault")
    if place.is_file() and _begins(place) == SQLITE:
        return vault.add_generation(place)
    return {"key": len(key_file.add_generation(place).keys)}


def renew(data: Any, step: Masker, since: int | None = None) -> Any:
    """A table with the latest pseudonyms in place of older ones, after a rotation.

    since: the generation of the key that the table has, the last but one if not said; a vault knows by itself.
    """
    given = reversible(step)
    frame, kind = enter(data)
    known_columns(given.columns, frame.columns)
    old: Reversible = given
    if isinstance(given, FormatPreserving):
        if given.key is None:
            raise PolicyError("the owner's key has no generations", hint="name a key file: key=study.key")
        latest = len(key_file.read(given.key).keys)
        if latest < 2 and since is None:
            raise PolicyError("the key file has one generation only", hint="rotate it first")
        old, given = replace(given, generation=latest - 1 if since is None else since), replace(given, generation=None)
    before = frame.select(given.columns)
    originals = old.reverse(before)
    unknown = [name for name in before.columns if originals[name].null_count() > before[name].null_count()]
    if unknown:
        raise PolicyError(f'column "{unknown[0]}" has tokens that the vault does not know', hint="name their own vault")
    made = given.apply(originals, Context(originals, RandomStream(bytes(32))))
    return leave(frame.with_columns(made.columns.iter_columns()), data, kind, None, ())


def reversible(step: Masker) -> Reversible:
    """A step whose pseudonyms lead back, or a refusal."""
    if not isinstance(step, Reversible):
        raise PolicyError(
            f"{variant_name(type(step).__name__)} leads nowhere back, not even with its key",
            allowed="format-preserving, random-tokens",
            hint="keep the original table, and mask it again for new pseudonyms",
        )
    return step


def _begins(place: Path) -> bytes:
    with place.open("rb") as file:
        return file.read(len(SQLITE))


def table_of(tokens: list[str], step: Masker) -> pl.DataFrame:
    """Tokens and their originals, one a row."""
    given = reversible(step)
    [column, *others] = given.columns
    if others:
        raise PolicyError("single tokens are reversed for one column", got=", ".join(given.columns))
    frame = pl.DataFrame({column: tokens}, schema={column: pl.String})
    return pl.DataFrame({"token": tokens, "original": given.reverse(frame).get_column(column)})
