"""Roles: what each column says about a person, checked against a table or suggested from it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sfumato.errors import did_you_mean
from sfumato.role_words import BODY, DATE, DIRECT, PATTERNS, QUASI, SENSITIVE, SEXES, WEAK, WEIGHT

if TYPE_CHECKING:
    import polars as pl

ROLES = ("identifying", "quasi", "sensitive", "insensitive", "weight")
SAMPLE = 10_000  # rows looked at for patterns: enough to judge a column, quick on any table
FEW_ROWS = 20  # below this, "nearly unique" says nothing: any small table is


@dataclass(frozen=True)
class Roles:
    """Which columns play which role; a column without one is released as insensitive.

    >>> Roles(identifying=("name",), quasi=(("age", "zip"),), sensitive=("disease",)).role("zip")
    'quasi'
    """

    identifying: tuple[str, ...] = ()
    quasi: tuple[tuple[str, ...], ...] = ()
    sensitive: tuple[str, ...] = ()
    insensitive: tuple[str, ...] = ()
    weight: str | None = None
    unprotected: tuple[str, ...] = ()  # sensitive ones that no criterion looks at, on purpose

    def role(self, column: str) -> str | None:
        """The role given to a column, or None."""
        return self._roles.get(column)

    @cached_property
    def _roles(self) -> dict[str, str]:
        return {name: role for role, names in reversed(self.named()) for name in names}

    def named(self) -> list[tuple[str, tuple[str, ...]]]:
        """Each role with its columns, in the order of ROLES; several quasi sets are joined, each column once."""
        joined = tuple(dict.fromkeys(name for names in self.quasi for name in names))
        weight = () if self.weight is None else (self.weight,)
        return list(zip(ROLES, (self.identifying, joined, self.sensitive, self.insensitive, weight), strict=True))


@dataclass(frozen=True)
class Suggestion:
    """A role for a column, with the reason."""

    column: str
    role: str
    why: str


def check_roles(columns: Iterable[str], roles: Roles) -> list[str]:
    """All that is wrong with the roles for a table with these columns; empty where nothing is.

    >>> check_roles(["age", "zip"], Roles(quasi=(("agee", "zip"),)))
    ['quasi names a column "agee" that the table does not have; did you mean "age"?']
    """
    known = Counter(columns)
    faults = [f'the table names the column "{name}" twice' for name, times in known.items() if times > 1]
    faults += contradictions(roles)
    for role, names in roles.named():
        for name in dict.fromkeys(names):
            if name not in known:
                hint = did_you_mean(name, known) or f"the table has {_listing(list(known))}"
                faults.append(f'{role} names a column "{name}" that the table does not have; {hint}')
    return faults


def contradictions(roles: Roles) -> list[str]:
    """The faults of the roles that need no table to be seen."""
    faults = []
    if not roles.quasi:
        faults.append("quasi is empty: name at least one quasi-identifying column")
    faults += [f"quasi set {i} is empty" for i, names in enumerate(roles.quasi, 1) if not names]
    for role, names in [("identifying", roles.identifying), *(("quasi", q) for q in roles.quasi), *roles.named()[2:4]]:
        faults += [f'{role} names the column "{name}" twice' for name, times in Counter(names).items() if times > 1]
    given: dict[str, list[str]] = {}
    for role, names in roles.named():
        for name in dict.fromkeys(names):
            given.setdefault(name, []).append(role)
    faults += [
        f'the column "{name}" has {len(several)} roles: {" and ".join(several)}; it can have one'
        for name, several in given.items()
        if len(several) > 1
    ]
    return faults


def suggest(frame: pl.DataFrame) -> list[Suggestion]:
    """A role for every column, from its name (several languages) and from its values.

    A guess to start from, on the careful side: what a stranger could know is quasi-identifying. Patterns are tried
    on the first 10,000 rows; reasons never quote a value.

    >>> import polars as pl
    >>> [s.role for s in suggest(pl.DataFrame({"Vorname": ["a"], "PLZ": ["80331"], "diagnosis": ["flu"]}))]
    ['identifying', 'quasi', 'sensitive']
    """
    sample = frame.head(SAMPLE)
    words = {word for column in frame.columns for word in _words(column)}
    found = [_suggestion(sample[column], body=bool(words & BODY)) for column in frame.columns]
    first = next((s.column for s in found if s.role == "weight"), None)
    spare = "the name says sampling weight, but one column already is the weight"
    return [s if s.role != "weight" or s.column == first else Suggestion(s.column, "insensitive", spare) for s in found]


def looks_identifying(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """Those of the columns that look as if they named a person.

    >>> import polars as pl
    >>> looks_identifying(pl.DataFrame({"e-mail": ["x"], "age": [3]}), ["e-mail", "age"])
    ['e-mail']
    """
    some = type(frame)({name: frame.get_column(name) for name in columns})  # `select` would expand a name such as "*"
    return [s.column for s in suggest(some) if s.role == "identifying"]


def _suggestion(column: pl.Series, body: bool) -> Suggestion:
    """A pattern of the values decides, then the name, then how many different values there are."""
    rows, column = len(column), _plain(column)
    if not len(column):
        return Suggestion(column.name, "insensitive", "it has no values")
    pattern = _pattern(column)
    if pattern:
        return Suggestion(column.name, "identifying", f"the values look like {pattern}")
    named = _role_of_name(column.name, column.dtype.is_numeric(), body)
    if named and named[0] == "weight" and (len(column) < rows or not bool((column > 0).all())):
        named = None  # a weight is a number above 0 in every row
    return Suggestion(column.name, *(named or _role_of_values(column)))


def _plain(column: pl.Series) -> pl.Series:
    """The values without the missing ones; text that holds numbers as numbers, for files bring everything as text."""
    import polars as pl

    column = column.drop_nulls()
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column
    text = column.cast(pl.String).str.strip_chars()
    text = text.filter(text != "")
    if text.str.contains(r"^0\d").any():
        return text  # a leading zero makes it a code, not a number
    for kind in (pl.Int64, pl.Float64):
        numbers = text.cast(kind, strict=False)
        if len(text) and not numbers.null_count():
            return numbers
    return text


def _words(name: str) -> list[str]:
    """The words of a column name: lower case, no accents, split at signs and capitals."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name.replace("ß", "ss")) if not unicodedata.combining(c))
    return re.findall(r"[a-z]+\d*|\d+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", plain).lower())


def _role_of_name(name: str, numeric: bool, body: bool) -> tuple[str, str] | None:
    """Role and reason from the name alone; words side by side are also read as one (first_name, FirstName)."""
    words = _words(name)
    runs = {"".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, len(words) + 1)}
    if numeric and runs & WEIGHT:
        if runs & BODY or (body and words == ["weight"]):
            return "quasi", "the name says body weight, which others can see"
        return "weight", "the name says sampling weight"
    if runs & DIRECT:
        return "identifying", "the name says that it points to one person"
    if runs & SENSITIVE:
        return "sensitive", "the name says something people keep private"
    if runs & QUASI:
        return "quasi", "the name says something others can know about a person"
    if runs & WEAK and not (len(words) > 1 and words[-1] in {"no", "nr", "number", "nummer"}):
        return "identifying", "the name says that it names or numbers records"
    return None


def _pattern(column: pl.Series) -> str | None:
    """What at least four in five of the values look like, if anything."""
    import polars as pl

    if column.dtype != pl.String or not len(column):
        return None
    dates = column.str.contains(DATE)
    for what, pattern in PATTERNS.items():
        hits = column.str.contains(pattern)
        if what == "telephone numbers":
            hits = hits & ~dates
        if int(hits.sum()) >= 0.8 * len(column):
            return what
    return None


def _role_of_values(column: pl.Series) -> tuple[str, str]:
    """Role and reason from how many different values there are and how long they are."""
    import polars as pl

    rows, distinct = len(column), column.n_unique()
    if not rows:
        return "insensitive", "it has no values"
    if column.dtype.is_temporal():
        return "quasi", "it holds dates or times, which others can know"
    if column.dtype.is_numeric():
        if rows >= FEW_ROWS and distinct == rows and column.dtype.is_integer() and _counts_through(column):
            return "identifying", "every row has its own number"
        return "insensitive", "a number whose name says nothing about people"
    if column.dtype != pl.String:
        return "insensitive", "neither name nor values say anything about people"
    if distinct <= 6 and int(column.str.to_lowercase().is_in(sorted(SEXES)).sum()) == rows:
        return "quasi", "the values look like sexes"
    if int(column.str.contains(DATE).sum()) >= 0.8 * rows:
        return "quasi", "it holds dates or times, which others can know"
    if int(column.str.len_chars().sum()) > 50 * rows:
        return "identifying", "long free text can name people"
    if rows >= FEW_ROWS and distinct >= 0.9 * rows:
        return "identifying", "nearly every row has its own text"
    if distinct <= 100 and (rows < FEW_ROWS or distinct <= 0.5 * rows):
        return "quasi", "few different texts: a group that others may know a person belongs to"
    return "insensitive", "neither name nor values say anything about people"


def _counts_through(column: pl.Series) -> bool:
    """Whether the whole numbers lie close together, as numbers of records do and amounts of money do not."""
    low, high = column.min(), column.max()
    return isinstance(low, int) and isinstance(high, int) and high - low < 2 * len(column)


def _listing(columns: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(f'"{name}"' for name in columns[:most])
    return shown + (f" and {len(columns) - most} more" if len(columns) > most else "")
