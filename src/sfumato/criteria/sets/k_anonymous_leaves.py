"""Leaves of a published tree: A. Friedman, R. Wolff and A. Schuster, Providing k-anonymity in data mining, VLDB Journal
17, 2008."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from sfumato.core.parameters import Whole, YesNo
from sfumato.core.protocols import BY_CONSTRUCTION, PROVEN, Side
from sfumato.core.wording import count
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet, only
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class KAnonymousLeaves(SetModel):
    """Every rule of a tree is about k people, of l classes.

    Leaves part people: no two of them have the same person. With counts each is published by class, and every number is
    k at least, so that of leaves put together, as a node above them, is too.

    Parameters: `k`, how many people a published number is of at least; `l`, how many classes the people of a leaf have
    at least; `counts`, whether numbers are published: without them it holds by construction.

    >>> KAnonymousLeaves(5, 2).sentence()
    'Every rule of the tree is about 5 people or more, with 2 classes or more.'
    """

    k: Annotated[int, Whole(1)]
    l: Annotated[int, Whole(1)] = 1
    counts: Annotated[bool, YesNo()] = True

    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"

    @property
    def how(self) -> str:
        """Whether the published numbers show it."""
        return PROVEN if self.counts else BY_CONSTRUCTION

    def sentence(self) -> str:
        """The promise in words."""
        rules = f"Every rule of the tree is about {count(self.k, 'person', 'people')} or more"
        return f"{rules}, with {count(self.l, 'class', 'classes')} or more."

    def audit(self, published: PublishedSet) -> Finding:
        """What the published tables say: the fewest people of a class in a leaf."""
        shapes = {"rules": {"leaf": "group", r"if \d+": "insensitive", "then": "sensitive"}}
        if self.counts:
            shapes["counts"] = {"leaf": "group", "then": "sensitive", "people": "count"}
        only(published, shapes)
        rules = published.table("rules").texts
        conditions = [name for name in rules.columns if name.startswith("if ")]
        paths = [tuple(one for one in row if one is not None) for row in rules.select(conditions).iter_rows()]
        if not _is_tree(paths):
            raise PolicyError("the rules are not those of a tree: some people would have two of them, or none")
        leaves = published.table("rules").numbers("leaf")
        if leaves is None or sorted(leaves) != [*range(1, rules.height + 1)]:
            raise PolicyError("the leaves are not numbered from 1")
        if not self.counts:
            return Finding(True, None, self.k, 0)
        table = published.table("counts")
        people = table.numbers("people")
        if people is None:
            raise PolicyError('a number of the table "counts" is none')
        each = table.texts.select("leaf", "then").with_columns(people=people)
        if each.select("leaf", "then").is_duplicated().any() or {*each["leaf"]} != {*rules["leaf"]}:
            raise PolicyError("the leaves that are counted are not those of the rules, each class once")
        most = each.filter(pl.col("people") == pl.col("people").max().over("leaf"))
        if rules.join(most, on=["leaf", "then"], how="anti").height:
            raise PolicyError("a rule names another class than most of its people have")
        least = int(str(people.min()))
        few = each.group_by("leaf").len().filter(pl.col("len") < self.l).height
        rare = int((people < self.k).sum())
        notes = [f"{count(rare, 'number')} below {self.k}"] if rare else []
        notes += [f"{count(few, 'leaf', 'leaves')} with fewer than {self.l} classes"] if few else []
        return Finding(not rare and not few, least, self.k, 0, "; ".join(notes) or None)


OPPOSITE = ((" <= ", " > "), (" = ", " != "))


def _is_tree(paths: list[tuple[str, ...]]) -> bool:
    """Whether these are the paths to all leaves of a tree of yes and no, each once.

    >>> _is_tree([("age <= 40",), ("age > 40", "sex = F"), ("age > 40", "sex != F")]), _is_tree([("age <= 40",)])
    (True, False)
    """
    if len(paths) == 1:
        return not paths[0]
    if not paths or not all(paths):
        return False
    first = {path[0] for path in paths}
    if len(first) != 2:
        return False
    one, other = sorted(first)
    if not any({one, other} in ({a.join(p), b.join(p)} for p in _partings(one, a, b)) for a, b in OPPOSITE):
        return False
    return all(_is_tree([path[1:] for path in paths if path[0] == side]) for side in first)


def _partings(text: str, *between: str) -> list[tuple[str, str]]:
    """Every way to part a text at one of some signs."""
    found = []
    for sign in between:
        at = text.find(sign)
        while at >= 0:
            found.append((text[:at], text[at + len(sign) :]))
            at = text.find(sign, at + 1)
    return found
