"""Characteristic formulas, which select a query set: D. Denning, P. Denning and M. Schwartz, "The tracker: a threat to
statistical database security", ACM TODS 4(1), 1979. Conditions are those of all filters, joined by and, or, not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.conditions import MISSING, MOST, Condition, Words, expression
from sfumato.errors import PolicyError

EXAMPLE = "age > 40 and not (sex = F or town in (a, b))"
DEEPEST, LONGEST = 50, 10_000  # brackets within brackets, and characters
BARE = re.compile(r"""[^\s=!<>(),"']+""")
RESERVED = ("and", "or", "not", "in", "is", "between", "where", MISSING)
ALL, LEAF, AND, OR, NOT = "all", "condition", "and", "or", "not"


@dataclass(frozen=True)
class CharacteristicFormula:
    """Which rows are meant: all, those that meet a condition, or formulas joined by and, or, not.

    A missing value meets no condition but that it is missing; `not` means all other rows, those with a missing value
    too, so that a formula and its negation divide the table.

    >>> formula = parse_formula("age > 40") & ~parse_formula("sex = F")
    >>> str(formula), formula.columns
    ('age > 40 and not sex = F', ('age', 'sex'))
    >>> formula.rows(pl.DataFrame({"age": [30, 50, 60], "sex": ["F", "M", "F"]})).tolist()
    [False, True, False]
    """

    kind: str = ALL
    parts: tuple[CharacteristicFormula, ...] = ()
    condition: Condition | None = None

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions in it, in their order."""
        own = () if self.condition is None else (self.condition,)
        return own + tuple(one for part in self.parts for one in part.conditions)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at, each once."""
        return tuple(dict.fromkeys(one.column for one in self.conditions))

    def rows(self, table: pl.DataFrame) -> np.ndarray:
        """Which rows of a table are meant."""
        found = table.select(self.expression(table).alias("rows")).to_series().to_numpy()
        return np.broadcast_to(found, table.height).astype(np.bool_)

    def expression(self, table: pl.DataFrame) -> pl.Expr:
        """The rows as an expression of Polars; what makes no sense of the types of the columns is refused."""
        if self.condition is not None:
            return expression([self.condition], table.schema)
        parts = [part.expression(table) for part in self.parts]
        if self.kind == NOT:
            return ~parts[0]
        if self.kind == OR:
            return pl.any_horizontal(parts)
        return pl.all_horizontal(parts) if parts else pl.lit(value=True)

    def __and__(self, other: CharacteristicFormula) -> CharacteristicFormula:
        return other if self.kind == ALL else self if other.kind == ALL else _joined(AND, self, other)

    def __or__(self, other: CharacteristicFormula) -> CharacteristicFormula:
        return Formula() if ALL in (self.kind, other.kind) else _joined(OR, self, other)

    def __invert__(self) -> CharacteristicFormula:
        return self.parts[0] if self.kind == NOT else Formula(NOT, (self,))

    def __str__(self) -> str:
        """Its text, which reads as the same formula; "" of all rows."""
        if self.condition is not None:
            return _text(self.condition)
        if self.kind == NOT:
            only = self.parts[0]
            if only.kind == ALL:
                raise PolicyError("the negation of all rows has no text")
            return f"not {only}" if only.condition is not None else f"not ({only})"
        inner = (f"({part})" if part.kind == OR and self.kind == AND else str(part) for part in self.parts)
        return f" {self.kind} ".join(inner)


Formula = CharacteristicFormula


def _joined(kind: str, *formulas: Formula) -> Formula:
    parts = [part for one in formulas for part in (one.parts if one.kind == kind else (one,))]
    distinct = tuple(dict.fromkeys(parts))
    return distinct[0] if len(distinct) == 1 else Formula(kind, distinct)


def parse_formula(text: Any) -> Formula:
    """A formula from its text; all rows of an empty text or None; a formula as it is.

    >>> str(parse_formula("not (age > 40 or sex in (F, M)) and pay between 1 and 2"))
    'not (age > 40 or sex in (F, M)) and pay >= 1 and pay <= 2'
    """
    if isinstance(text, Formula):
        return text
    if text is None or text == "":
        return Formula()
    if isinstance(text, str) and len(text) > LONGEST:
        raise PolicyError("a formula is too long", got=f"{len(text):,} characters", allowed=f"up to {LONGEST:,}")
    words = Words(text, "formula", EXAMPLE)
    found = _any(words, 0)
    if words.left:
        words.refuse("it should end, or go on with and, or")
    if (number := len(found.conditions)) > MOST:
        raise PolicyError("a formula has too many conditions", got=f"{number:,}", allowed=f"up to {MOST}")
    return found


def _any(words: Words, depth: int) -> Formula:
    """Formulas joined by or, which binds least."""
    return _joined(OR, *_listed(words, depth, OR))


def _listed(words: Words, depth: int, sign: str) -> list[Formula]:
    def one() -> Formula:
        return _joined(AND, *_listed(words, depth, AND)) if sign == OR else _one(words, depth)

    found = [one()]
    while _next(words) == ("word", sign):
        words.next()
        found.append(one())
    return found


def _one(words: Words, depth: int) -> Formula:
    """A condition, or a formula in brackets or after not."""
    if depth > DEEPEST:
        words.refuse(f"it has more than {DEEPEST} brackets within brackets")
    following = _next(words)
    if following == ("word", NOT):
        words.next()
        return ~_one(words, depth + 1)
    if following == ("sign", "("):
        words.next()
        found = _any(words, depth + 1)
        words.take(")")
        return found
    return _joined(AND, *(Formula(LEAF, (), one) for one in words.clause()))


def _next(words: Words) -> tuple[str, str]:
    kind, word = words.left[0] if words.left else ("", "")
    return kind, word.lower() if kind == "word" else word


def _text(condition: Condition) -> str:
    values = [MISSING if value is None else _quoted(value) for value in condition.values]
    said = f"({', '.join(values)})" if condition.sign == "in" else values[0]
    return f"{_quoted(condition.column)} {condition.sign} {said}"


def _quoted(word: str) -> str:
    if BARE.fullmatch(word) and word.lower() not in RESERVED:
        return word
    if '"' in word and "'" in word:
        raise PolicyError("a name or value with both kinds of quotes has no text")
    return f"'{word}'" if '"' in word else f'"{word}"'
