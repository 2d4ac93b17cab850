"""Wording: numbers, shares, amounts and lists as they stand in a sentence, by one rule each."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from decimal import Decimal
from html import escape
from numbers import Real
from typing import Any, ClassVar, TypeGuard

NOT_RECORDED = "not recorded"
FACTS = 12  # that a value shows of itself


def number(value: Any, missing: str = NOT_RECORDED, digits: int = 4) -> str:
    """A number as people read it: whole ones in full, others with four digits that tell.

    >>> number(19988), number(0.0681559), number(3.31543e-05), number(1592.909), number(None)
    ('19,988', '0.06816', '0.00003315', '1,592.9', 'not recorded')
    """
    if value is None:
        return missing
    if not is_real(value):
        return str(value)
    if not math.isfinite(value):
        return "undefined" if math.isnan(value) else "unbounded"
    if value == round(value) and abs(value) < 1e15:
        return f"{round(value):,}"
    if 1000 <= abs(value) < 1e15:
        return f"{value:,.{digits - 3}f}".rstrip("0").rstrip(".")
    short = f"{value:.{digits}g}"
    return short if abs(value) < 1e-6 or abs(value) >= 1e15 else format(Decimal(short), "f")


def exact(value: float) -> str:
    """A number with all of its digits, as few as tell it from every other.

    >>> exact(1330287.68), exact(0.1), exact(4182.0), exact(1e-7)
    ('1,330,287.68', '0.1', '4,182', '0.0000001')
    """
    return f"{Decimal(repr(float(value))):,f}".removesuffix(".0")


def apart(measured: Any, bound: Any) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart.

    >>> apart(2.999997, 3), apart(3, 3)
    (('2.999997', '3'), ('3', '3'))
    """
    for digits in range(4, 16):
        shown = number(measured, "-", digits), number(bound, "-", digits)
        if shown[0] != shown[1] or measured == bound:
            break
    return shown


def percent(share: Any, missing: str = NOT_RECORDED) -> str:
    """A share as a percentage that never rounds something to nothing, nor most to all.

    >>> percent(0.026), percent(0.25), percent(1 / 30000), percent(0), percent(0.99999), percent(-0.00001)
    ('2.6%', '25%', '0.0033%', '0%', 'over 99.99%', '-0.001%')
    """
    if not is_real(share) or not math.isfinite(share):
        return number(share, missing)
    if share < 0:
        return f"-{percent(-share)}"
    if 0 < share < 0.001:
        return f"{number(100 * share, digits=2)}%"
    if 0.9999 < share < 1:
        return "over 99.99%"
    return f"{100 * share:,.{2 if 0.999 < share < 1 else 1}f}".rstrip("0").rstrip(".") + "%"


def one_in(risk: Any) -> str:
    """A risk as a chance; rounded so that it is never stated smaller than it is.

    >>> one_in(0.1), one_in(0.026), one_in(1.0)
    ('1 in 10', '1 in 38', '1 in 1')
    """
    if not is_real(risk) or not 0 < risk <= 1:
        return number(risk)
    return f"1 in {math.floor(1 / risk + 1e-9):,}"


def count(amount: Any, noun: str, plural: str | None = None) -> str:
    """An amount and its noun.

    >>> count(1, "row"), count(2000, "row"), count(3, "class", "classes")
    ('1 row', '2,000 rows', '3 classes')
    """
    return f"{number(amount)} {noun if amount == 1 else plural or noun + 's'}"


def listed(words: Iterable[object], between: str = "and") -> str:
    """Words in a row.

    >>> listed(["a"]), listed(["a", "b"]), listed("abc", "or")
    ('a', 'a and b', 'a, b or c')
    """
    *first, last = [*map(str, words)] or [""]
    return f"{', '.join(first)} {between} {last}" if first else last


def quoted(names: Iterable[object]) -> str:
    """Names of columns in a row.

    >>> quoted(["age", "zip", "sex"])
    '"age", "zip" and "sex"'
    """
    return listed(f'"{name}"' for name in names)


def as_flag(names: Iterable[str], between: str = ",") -> str:
    """Names of columns as a flag takes them: those that would be read otherwise stand in double quotes.

    >>> as_flag(["age", "a,b", 'the "x"', ""])
    'age,"a,b",the "x",""'
    """
    bare = re.compile(rf'(?![\s"])[^{between}]*(?<!\s)')
    return between.join(n if n and bare.fullmatch(n) else '"' + n.replace('"', '""') + '"' for n in names)


_NAME = re.compile(r'(?:^|,)\s*(?:"((?:[^"]|"")*)"\s*(?=,|\Z)|([^,]*?)\s*(?=,|\Z))', re.DOTALL)


def from_flag(text: str) -> list[str]:
    """The names of columns that a flag gives.

    >>> from_flag('age, "a,b"'), from_flag("")
    (['age', 'a,b'], [])
    """
    found = _NAME.findall(text) if text.strip() else []
    return [quoted.replace('""', '"') or plain for quoted, plain in found]


def scalar(text: str) -> int | float | bool | str:
    """A value as the shell writes it: a whole number, a decimal, true or false, else the text itself.

    >>> scalar("20"), scalar("0.02"), scalar("true"), scalar("1_0")
    (20, 0.02, True, '1_0')
    """
    text = text.strip()
    for kind in (int, float) if re.fullmatch(r"[-+0-9.eE]+", text) else ():
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def parameter(value: Any) -> str:
    """The value of a parameter.

    >>> parameter({"age": 2, "sex": 1}), parameter(["HIV", "flu"]), parameter(True)
    ('age 2, sex 1', 'HIV, flu', 'yes')
    """
    if isinstance(value, dict):
        return ", ".join(f"{key} {parameter(one)}" for key, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(parameter, value))
    return ("yes" if value else "no") if isinstance(value, bool) else number(value)


class Described(ABC):
    """A value that shows itself in a few lines, as text and in a notebook: what it is, and facts, never a cell."""

    most_facts: ClassVar[int] = FACTS

    @abstractmethod
    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """What it is, and its facts, each with its name."""

    def _few(self) -> tuple[str, Sequence[tuple[str, str]]]:
        title, facts = self.described()
        rest = len(facts) - self.most_facts
        return title, [*facts[: self.most_facts], *([("and", f"{rest} more")] if rest > 0 else [])]

    def __repr__(self) -> str:
        title, facts = self._few()
        return "\n".join([title, *(f"  {name}: {fact}" for name, fact in facts)])

    def _repr_html_(self) -> str:
        title, facts = self._few()
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(fact)}</td></tr>" for name, fact in facts)
        return f"<table><caption>{escape(title)}</caption>{rows}</table>"


def is_real(value: object) -> TypeGuard[float]:
    """Whether a value is a number; true and false are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def gigabytes(size: int) -> str:
    """Bytes for people.

    >>> gigabytes(2_500_000_000)
    '2.5 GB'
    """
    return f"{size / 1e9:.1f} GB"
