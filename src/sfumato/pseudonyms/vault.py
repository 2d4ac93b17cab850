"""The vault: which token stands for which original, in a SQLite file that its owner alone may read.

It grows with each table, so that a person keeps the token; every change is one transaction, whole or not at all. A
domain has generations: after a rotation every original has a new token, and the old ones still lead back.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.core.private import private_file, refuse_open
from sfumato.errors import OutputError, PolicyError, ReadError
from sfumato.pseudonyms.keyed_tokens import spelled

ID = 0x5F0A7017  # in the header of the file: it is a vault
CACHE = 1 << 18  # KiB at most
SECONDS = 60  # to wait for another run that writes
TABLE = """create table pseudonyms (
    domain text not null, generation integer not null, original text not null, token text not null,
    primary key (domain, generation, original)) without rowid"""
DRAWS = 100  # until tokens that are too short for a vault are given up


@contextmanager
def _opened(path: str | Path, make: bool = False) -> Iterator[sqlite3.Connection]:
    """A vault in one transaction, which is undone where the block fails."""
    place = private_file(path, "a vault")
    if not place.exists():
        if not make:
            raise ReadError(f'there is no vault "{place}"', hint="name the one that the tokens were made with")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(place, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise OutputError(f"{place} cannot be written: {error.strerror or type(error).__name__}") from None
    refuse_open(place, "the vault")
    try:
        with closing(sqlite3.connect(place, timeout=SECONDS, isolation_level=None)) as connection:
            connection.execute(f"pragma cache_size = -{CACHE}")
            connection.execute("begin immediate")
            [[found]] = connection.execute("pragma application_id")
            if not found and make and not connection.execute("select 1 from sqlite_master").fetchall():
                connection.execute(TABLE)
                connection.execute(f"pragma application_id = {ID}")
            elif found != ID:
                raise ReadError(f'"{place}" is no vault', hint="name a new file, or the vault of an earlier table")
            yield connection
            connection.execute("commit")
    except sqlite3.DatabaseError as error:
        if "file is not a database" in str(error):
            raise ReadError(f'"{place}" is no vault', hint="name a new file") from None
        raise OutputError(f'the vault "{place}" cannot be used: {error}') from None


def tokens_for(path: str | Path, domain: str, texts: pl.Series, length: int) -> pl.Series:
    """The token of each text, of the latest generation of the domain; new ones are drawn by chance and kept."""
    with _opened(path, make=True) as vault:
        generation = _latest(vault, domain) or 1
        known = _pairs(vault, domain, generation)
        other = known.get_column("token").str.len_chars().unique().to_list()
        if other not in ([], [length]):
            raise PolicyError(
                "the tokens of the vault have another length", got=f"length={length}", allowed=f"length={other[0]}"
            )
        new = texts.unique(maintain_order=True).to_frame("original").join(known, on="original", how="anti")
        if new.height:
            _draw(vault, domain, generation, new.get_column("original"), length)
            known = _pairs(vault, domain, generation)
    return texts.to_frame("original").join(known, on="original", how="left", maintain_order="left").get_column("token")


def originals_of(path: str | Path, domain: str, tokens: pl.Series) -> pl.Series:
    """The original of each token, of any generation of a domain; missing where there is none."""
    with _opened(path) as vault:
        known = _pairs(vault, domain)
    return tokens.to_frame("token").join(known, on="token", how="left", maintain_order="left").get_column("original")


def add_generation(path: str | Path, domains: list[str] | None = None) -> dict[str, int]:
    """Draw a new token for every original of some domains, all if none is named; domain to its generation."""
    found = {}
    with _opened(path) as vault:
        known = [name for [name] in vault.execute("select distinct domain from pseudonyms order by domain")]
        if lacking := sorted(set(domains or ()) - set(known)):
            raise PolicyError("the vault lacks a domain", got=", ".join(lacking), allowed=", ".join(known) or "none")
        for domain in known if domains is None else domains:
            generation = _latest(vault, domain) or 1
            old = _pairs(vault, domain, generation)
            _draw(vault, domain, generation + 1, old.get_column("original"), len(old.get_column("token")[0]))
            found[domain] = generation + 1
    return found


def _latest(vault: sqlite3.Connection, domain: str) -> int | None:
    [[found]] = vault.execute("select max(generation) from pseudonyms where domain = ?", [domain])
    return None if found is None else int(found)


def _pairs(vault: sqlite3.Connection, domain: str, generation: int | None = None) -> pl.DataFrame:
    """Originals and tokens of a domain, of one generation or of all."""
    asked = "select original, token from pseudonyms where domain = ?"
    rows = vault.execute(
        *((asked, [domain]) if generation is None else (f"{asked} and generation = ?", [domain, generation]))
    )
    return pl.DataFrame(rows.fetchall(), schema={"original": pl.String, "token": pl.String}, orient="row")


def _draw(vault: sqlite3.Connection, domain: str, generation: int, originals: pl.Series, length: int) -> None:
    """Tokens by chance for originals, drawn again where the domain has a token already, of any generation."""
    taken = _pairs(vault, domain).get_column("token")
    left = originals.sort()  # the order of the file, in which it grows fastest
    for _ in range(DRAWS):
        bits = np.frombuffer(secrets.token_bytes(len(left) * length), np.uint8).reshape(len(left), length)
        tokens = spelled(bits)
        fresh = tokens.is_first_distinct() & ~tokens.is_in(taken.implode())
        rows = zip(left.filter(fresh).to_list(), tokens.filter(fresh).to_list(), strict=True)
        asked = "insert into pseudonyms values (?, ?, ?, ?)"
        vault.executemany(asked, ((domain, generation, text, token) for text, token in rows))
        left, taken = left.filter(~fresh), taken.append(tokens.filter(fresh))
        if left.is_empty():
            return
    raise PolicyError("the vault has no tokens of this length left", got=f"length={length}", hint="take a longer one")
