"""Formulas of columns, such as "weight / (height * height)": + - * / of columns and numbers, and nothing that runs."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import PolicyError

EXAMPLE = "for example: weight / (height * height)"
LONGEST = 1000
SIGNS: dict[type, Any] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.true_divide,
    ast.UAdd: np.positive, ast.USub: np.negative,
}  # fmt: skip


@dataclass(frozen=True)
class Formula:
    """A formula, read from its text. A column whose name is no word stands in quotes.

    >>> formula = Formula('"pay rate" * hours - 2')
    >>> formula.needs
    ('pay rate', 'hours')
    >>> formula.value({"pay rate": np.array([3.0, 4.0]), "hours": np.array([2.0, np.nan])})
    array([ 4., nan])
    """

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or len(self.text) > LONGEST:
            got = type(self.text).__name__ if not isinstance(self.text, str) else f"{len(self.text)} characters"
            raise PolicyError("a formula must be a text", got=got, allowed=EXAMPLE)
        if not self.needs:
            raise self._refusal("it names no column")

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that it is made of."""
        return tuple(dict.fromkeys(name for node in ast.walk(self._tree()) if (name := _column(node)) is not None))

    def value(self, x: Mapping[str, np.ndarray]) -> np.ndarray:
        """Its value in each row; missing where a column is, or where there is none."""
        with np.errstate(all="ignore"):
            found = self._value(self._tree(), x)
        return np.where(np.isfinite(found), found, np.nan)

    def _refusal(self, what: str) -> PolicyError:
        return PolicyError(f"this is no formula: {what}", got=repr(self.text), allowed=EXAMPLE)

    def _tree(self) -> ast.expr:
        try:
            tree = ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self._refusal("it cannot be read") from None
        for node in ast.walk(tree):
            number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
            inside = isinstance(node, ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop | ast.expr_context)
            known = not isinstance(node, ast.operator | ast.unaryop) or type(node) in SIGNS
            if not known or not (number or inside or _column(node) is not None):
                raise self._refusal("it has more than columns, numbers, + - * / and brackets")
        return tree

    def _value(self, node: ast.expr, x: Mapping[str, np.ndarray]) -> Any:
        if isinstance(node, ast.BinOp):
            return SIGNS[type(node.op)](self._value(node.left, x), self._value(node.right, x))
        if isinstance(node, ast.UnaryOp):
            return SIGNS[type(node.op)](self._value(node.operand, x))
        name = _column(node)
        return x[name] if name is not None else np.float64(node.value)  # type: ignore[attr-defined]


def _column(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
