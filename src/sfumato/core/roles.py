"""Roles: which column plays which part, and what columns look like, by words of names and patterns of values."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.microdata import distinct_in
from sfumato.core.names import (
    AMOUNTS,
    BODY,
    CATEGORIES,
    CODE_NAMES,
    DIRECT,
    ITALIAN,
    POSTCODES,
    QUASI,
    SENSITIVE,
    SEXES,
    WEAK,
    WEIGHT,
)
from sfumato.core.wording import percent
from sfumato.errors import did_you_mean

if TYPE_CHECKING:
    import polars as pl

PHONES = "telephone numbers"
PATTERNS = {
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    "account numbers (IBAN)": r"^[A-Z]{2}\d{2} ?(?:[A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}$",
    "network addresses": r"^\d{1,3}(?:\.\d{1,3}){3}$",
    "unique keys (UUID)": r"^(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$",
    "social security numbers": r"^\d{3}-\d{2}-\d{4}$",
    "card numbers": r"^\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{1,7}$",
    "web addresses": r"^https?://",
    PHONES: r"^(?:\+|00|\(?0)[0-9][0-9 ()/.-]{5,}[0-9]$",
}
DATES = "|".join(
    (
        r"^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}",
        r"^\d{1,2}[ .-]+\p{L}{3,9}\.?[ ,.-]+\d{2,4}$",  # 3 March 1999
        r"^\p{L}{3,9}\.? \d{1,2},? \d{4}$",
        r"^\d{4}-\d{2}$|^\d{1,2}/\d{4}$",  # a month
        r"^\d{1,2}:\d{2}(?::\d{2}.*)?$",
    )
)
COMPACT = r"^(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$"
_PARTICLES = "al|bin|da|de|del|den|der|di|la|le|van|von"
NAMES = rf"^\p{{Lu}}[\p{{L}}'’-]+(?: \p{{Lu}}\.?)?(?: (?:{_PARTICLES}))*(?: \p{{Lu}}[\p{{L}}'’-]+){{1,2}}$"
CODES = r"^\p{L}{1,4}[-_ ]?\d[0-9A-Za-z.-]{0,8}(?: \d[A-Za-z]{2})?$"  # of diseases, jobs, places; not digits alone

ROLES = ("identifying", "quasi", "sensitive", "insensitive", "weight")
REST = ("refuse", "release")  # what becomes of columns without a role that look as if they told who somebody is
NUMBERS = frozenset({"no", "nr", "number", "nummer"})
POINTS, RECORDS = "the name says that it points to one person", "the name says that it names or numbers records"
K = 5  # rows that share a value before it counts as frequent, where no criterion says how many
OWN, RARE = 0.5, 0.05  # shares of rows with a value of their own, with one that fewer than k share, from which on
FEW_ROWS = 50  # below this, how often values occur says nothing: only names and kinds of values decide
NAMED = 10  # different values that all look like names: fewer may be groups, as `Never Married` is one
FEW_VALUES = 20  # the same of a column that is empty in most rows
MET_AGAIN = 10  # rows of a sample whose value it has already, from which on they tell how many share it
GROUPS, CODED = 100, 10  # different texts up to which they are groups, beyond which codes count as codes
MOST_QUASI = 10  # quasi-identifiers that are suggested: with more, little is left of each
SAMPLE = 10_000  # rows looked at for patterns: enough to judge a column, quick on any table


@dataclass(frozen=True)
class Roles:
    """Which columns play which role; `rest` says whether others are released whatever they look like.

    >>> Roles(identifying=("name",), quasi=(("age", "zip"),), sensitive=("disease",)).role("zip")
    'quasi'
    """

    identifying: tuple[str, ...] = ()
    quasi: tuple[tuple[str, ...], ...] = ()
    sensitive: tuple[str, ...] = ()
    insensitive: tuple[str, ...] = ()
    weight: str | None = None
    unprotected: tuple[str, ...] = ()  # sensitive ones that no criterion looks at, on purpose
    rest: str = "refuse"

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

    def without(self, columns: Iterable[str]) -> list[str]:
        """Those of the columns that have no role."""
        return [name for name in columns if name not in self._roles]


@dataclass(frozen=True)
class Reason:
    """What a column looks like, by what kind of sign, and why; no reason quotes a value.

    `kind` is one of "name", "pattern", "date", "sex", "text" (long), "words", "key" (a value per row), "unique" (half
    of the rows or more have a value of their own), "code" and "rare" (many rows share theirs with fewer than k).
    """

    role: str
    kind: str
    why: str


@dataclass(frozen=True)
class Undecided:
    """A column without a role that looks as if it told who somebody is, or something private."""

    column: str
    reason: Reason


@dataclass(frozen=True)
class Suggestion:
    """A role for a column, with the reason."""

    column: str
    role: str
    why: str


BOTH = ["quasi", "sensitive"]


def check_roles(columns: Iterable[str], roles: Roles, both: Collection[str] = (), promising: bool = True) -> list[str]:
    """All that is wrong with the roles for a table with these columns; empty where nothing is.

    Those in `both` may be quasi-identifying and sensitive at once: a criterion is about them. Where nothing is
    promised (`promising`), there need be no quasi-identifier.

    >>> check_roles(["age", "zip"], Roles(quasi=(("agee", "zip"),)))
    ['quasi names a column "agee" that the table does not have; did you mean "age"?']
    """
    known = Counter(columns)
    faults = [f'the table names the column "{name}" twice' for name, times in known.items() if times > 1]
    faults += contradictions(roles, both, promising)
    for role, names in roles.named():
        for name in dict.fromkeys(names):
            if name not in known:
                hint = did_you_mean(name, known) or f"the table has {_listing(list(known))}"
                faults.append(f'{role} names a column "{name}" that the table does not have; {hint}')
    return faults


def contradictions(roles: Roles, both: Collection[str] = (), promising: bool = True) -> list[str]:
    """The faults of the roles that need no table to be seen."""
    faults = []
    if promising and not any(roles.quasi):
        faults.append("quasi is empty: name at least one quasi-identifying column")
    elif promising:
        faults += [f"quasi set {i} is empty" for i, names in enumerate(roles.quasi, 1) if not names]
    for role, names in [("identifying", roles.identifying), *(("quasi", q) for q in roles.quasi), *roles.named()[2:4]]:
        faults += [f'{role} names the column "{name}" twice' for name, times in Counter(names).items() if times > 1]
    given: dict[str, list[str]] = {}
    for role, names in roles.named():
        for name in dict.fromkeys(names):
            given.setdefault(name, []).append(role)
    faults += [
        f'the column "{name}" has {len(several)} roles: {" and ".join(several)}; it can have one'
        + (", or be named as both, with a criterion about it" if several == BOTH else "")
        for name, several in given.items()
        if len(several) > 1 and not (several == BOTH and name in both)
    ]
    return faults


def undecided(
    frame: pl.DataFrame, roles: Roles, k: int = K, rows: int | None = None, columns: Iterable[str] | None = None
) -> list[Undecided]:
    """The columns without a role that look identifying, quasi-identifying or sensitive, each with the reason.

    `k` is what the policy requires; `rows` how many the table has of which the frame is a sample.

    >>> import polars as pl
    >>> [u.column for u in undecided(pl.DataFrame({"e-mail": ["x"], "age": [3], "x": [1]}), Roles(quasi=(("age",),)))]
    ['e-mail']
    """
    free = roles.without(frame.columns if columns is None else columns)
    return [Undecided(name, reason) for name, reason in reasons(frame, free, k, rows).items()]


def uncovered(columns: Iterable[str], roles: Roles) -> list[str]:
    """The released columns that no criterion blurs or protects: insensitive ones, weights, those without a role."""
    covered = {name for role, names in roles.named() if role in ("identifying", "quasi", "sensitive") for name in names}
    return [name for name in columns if name not in covered]


def reasons(
    frame: pl.DataFrame,
    columns: Iterable[str] | None = None,
    k: int = K,
    rows: int | None = None,
    few_rows: int = FEW_ROWS,
) -> dict[str, Reason]:
    """What columns look like, from their names (several languages) and values; those that look harmless are left out.

    Patterns are tried on some 10,000 rows, and values counted in all rows only where those leave it open.
    """
    body = _of_bodies(frame.columns)
    names = frame.columns if columns is None else list(columns)
    some = _some(frame.height)
    found = {name: _Look(frame.get_column(name), some, body, k, rows, few_rows).reason for name in names}
    return {name: reason for name, reason in found.items() if reason is not None}


def suggest(frame: pl.DataFrame) -> list[Suggestion]:
    """A role for every column by itself, from its name (several languages) and from its values.

    A guess to start from, on the careful side: what a stranger could know is quasi-identifying, and what cannot be
    judged is identifying, which drops it. Reasons never quote a value.

    >>> import polars as pl
    >>> [s.role for s in suggest(pl.DataFrame({"Vorname": ["a"], "PLZ": ["80331"], "diagnosis": ["flu"]}))]
    ['identifying', 'quasi', 'sensitive']
    """
    return [look.suggestion() for look in _looks(frame)]


def suggest_together(frame: pl.DataFrame) -> list[Suggestion]:
    """A role for every column, so that together they are a policy that can be run: `suggest`, and

    one weight at most; at least one quasi-identifier where any column can be one, and ten at most; and insensitive
    columns that single out, alone and together, no more than 5% of the rows. The others are identifying.
    """
    looks = _looks(frame)
    found = {look.name: look.suggestion() for look in looks}
    for name in [name for name, s in found.items() if s.role == "weight"][1:]:
        why = "the name says sampling weight, but one column already is the weight"
        found[name] = Suggestion(name, "insensitive", why)
    found |= _some_blurred(looks, found)
    found |= _most_blurred(looks, found)
    free = [look for look in looks if found[look.name].role == "insensitive" and len(look.values)]
    return list((found | _singling_out(free)).values())


def _looks(frame: pl.DataFrame) -> list[_Look]:
    body, some = _of_bodies(frame.columns), _some(frame.height)
    return [_Look(column, some, body) for column in frame.iter_columns()]


class _Look:
    """A column as it looks: its name, some of its values, and how often they occur."""

    def __init__(
        self,
        column: pl.Series,
        some: np.ndarray | None,
        body: bool,
        k: int = K,
        rows: int | None = None,
        few_rows: int = FEW_ROWS,
    ) -> None:
        self.name, self.column, self.some, self.few_rows = column.name, column, some, few_rows
        self.rows = max(len(column), rows or 0)
        self.k = k if k <= self.rows else K  # where no table of so many rows could satisfy the policy, that is told
        part = self.part
        if some is not None and part.null_count() > len(part) // 2:  # few rows have a value: some of those
            part = column.drop_nulls()
            part = part if (few := _some(len(part))) is None else part.gather(few)
        self.values = _plain(part)
        self.distinct = self.values.n_unique() if self.printable else 0
        self.text, self.number = _is_text(self.values), self.values.dtype.is_numeric()
        self.named = _role_of_name(self.name, self.number, body)
        if self.named and self.named[0] == "weight" and (len(self.values) < len(part) or not (self.values > 0).all()):
            self.named = None  # a weight is a number above 0 in every row

    @property
    def part(self) -> pl.Series:
        """The column in those rows that are looked at of every column."""
        return self.column if self.some is None else self.column.gather(self.some)

    @property
    def printable(self) -> bool:
        return not (self.column.dtype.is_nested() or str(self.column.dtype) in ("Binary", "Object"))

    @cached_property
    def reason(self) -> Reason | None:
        """A pattern of the values decides, then the name, then the kind of the values, then how often they occur."""
        values, known = self.values, len(self.values)
        if not self.printable or not known:
            return None
        if pattern := _pattern(values):
            return Reason("identifying", "pattern", f"the values look like {pattern}")
        if self.named and self.named[0] != "weight":
            return Reason(self.named[0], "name", self.named[1])
        if values.dtype.is_temporal() or _matches(values, DATES) or _compact_dates(values):
            return Reason("quasi", "date", "it holds dates or times, which others can know")
        if self.text and self.distinct <= 6 and bool(values.str.to_lowercase().is_in(sorted(SEXES)).all()):
            return Reason("quasi", "sex", "the values look like sexes")
        if self.text and int(values.str.len_chars().sum()) > 50 * known:
            return Reason("identifying", "text", "long free text can name people")
        words = int(values.str.count_matches(r"\S+").sum()) if self.text and self.distinct > 2 else 0
        if words >= 4 * known and 2 * self.distinct >= known:
            return Reason("identifying", "words", "free text can name people")
        if self.distinct >= NAMED and _matches(values, NAMES):
            return Reason("identifying", "names", "the values look like names of people")
        if known < FEW_VALUES or self.rows < self.few_rows:
            return self._code()
        return self._often() or self._code()

    def suggestion(self) -> Suggestion:
        """A role: what cannot be judged is identifying, so that it is dropped."""
        if not self.printable:
            return Suggestion(
                self.name, "identifying", "its cells hold lists, records or bytes, which cannot be judged"
            )
        if not len(self.values):
            return Suggestion(self.name, "insensitive", "it has no values")
        reason, few = self.reason, len(self.values) < FEW_VALUES or 2 * self.distinct <= len(self.values)
        groups = self.text and few and self.distinct <= GROUPS
        if reason is None and self.named:
            return Suggestion(self.name, *self.named)  # a weight
        if reason is not None and not (reason.kind == "rare" and groups):
            return Suggestion(self.name, "identifying" if reason.kind == "rare" else reason.role, reason.why)
        if groups:
            return Suggestion(
                self.name, "quasi", "few different texts: a group that others may know a person belongs to"
            )
        if self.shares[0] > RARE:
            own = percent(self.shares[0])
            return Suggestion(self.name, "identifying", f"{own} of the rows have a value of their own")
        why = "neither name nor values say anything about people"
        if self.number:
            why = "a number whose name says nothing about people, and whose values many rows share"
        return Suggestion(self.name, "insensitive", why)

    def measures(self) -> bool:
        """Whether it is a number that could be cut into ranges: no key and no code."""
        return self.number and self.distinct > 1 and (self.reason is None or self.reason.kind in ("unique", "rare"))

    @cached_property
    def shares(self) -> tuple[float, float]:
        """Shares of the rows with a value: that have one of their own, and one that fewer than k rows share.

        Among some rows a value is as rare as among all, or rarer: they acquit a column, and all rows convict it.
        """
        for column in (self.values, self.column) if self.some is not None else (self.column,):
            known = _known(column)
            counts = known.alias("value").value_counts(name="rows").get_column("rows")
            rare = counts.filter(counts < self.k)
            share = int(rare.sum()) / max(1, len(known))
            if share <= 0.8 * RARE:
                return 0.0, share
        own = int((counts == 1).sum()) / max(1, len(known))
        if self.rows > len(self.column):  # they are all of a sample: how often values occur in the table
            rows = round(share * self.rows * len(known) / max(1, len(self.column)))
            again = int(rare.sum()) - len(rare)  # without some that come again, it is a guess
            if again >= MET_AGAIN and rows >= self.k * distinct_in(rare.to_numpy(), rows):
                return 0.0, 0.0
        return own, share

    def _often(self) -> Reason | None:
        own, rare = self.shares
        if own >= OWN and self.text and self.distinct >= 0.9 * len(self.values):
            return Reason("identifying", "key", "nearly every row has its own text")
        if own >= OWN and self.distinct == len(self.values) and _counts_through(self.values, self.rows):
            return Reason("identifying", "key", "every row has its own number")
        if own >= OWN:
            return Reason("identifying", "unique", f"{percent(own)} of the rows have a value of their own")
        if rare > RARE:
            return Reason("quasi", "rare", f"{percent(rare)} of the rows share their value with fewer than {self.k}")
        return None

    def _code(self) -> Reason | None:
        import polars as pl

        coded, digits = self.distinct > CODED, _matches(self.values, r"^\d+$")
        if coded and (digits or self.values.dtype.is_integer()):
            lengths = self.values.cast(pl.String).str.len_chars()
            coded = lengths.n_unique() == 1 and int(lengths[0]) >= (3 if digits else 4)
        elif coded:
            coded = _matches(self.values, CODES)
        return Reason("quasi", "code", "the values look like codes, which stand in other lists too") if coded else None


def _some(rows: int) -> np.ndarray | None:
    """Which rows are looked at, from all over the table; None for all."""
    if rows <= SAMPLE:
        return None
    return np.sort(np.random.default_rng(0).choice(rows, SAMPLE, replace=False))


def _some_blurred(looks: Sequence[_Look], found: Mapping[str, Suggestion]) -> dict[str, Suggestion]:
    """Without any quasi-identifier nothing is blurred: numbers that can be cut into ranges, else what is harmless."""
    if any(s.role == "quasi" for s in found.values()):
        return {}
    measures = [look.name for look in looks if found[look.name].role == "identifying" and look.measures()]
    harmless = [s.column for s in found.values() if s.role == "insensitive"]
    why = "{}; cut into ranges, for no other column looks quasi-identifying"
    if measures:
        return {name: Suggestion(name, "quasi", why.format(found[name].why)) for name in measures}
    why = "it looks harmless, but no other column looks quasi-identifying"
    return {name: Suggestion(name, "quasi", why) for name in harmless}


def _most_blurred(looks: Sequence[_Look], found: Mapping[str, Suggestion]) -> dict[str, Suggestion]:
    """Of many quasi-identifiers, those that are not blurred: of groups the release may say as much as it says else."""
    quasi = [look for look in looks if found[look.name].role == "quasi"]
    order = sorted(quasi, key=lambda look: 2 if look.reason is None else int(look.reason.kind != "name"))
    beyond = {}
    for look in order[MOST_QUASI:]:
        why = f"{found[look.name].why}; but little would be left of more than {MOST_QUASI} quasi-identifiers"
        beyond[look.name] = Suggestion(look.name, "identifying" if look.reason else "insensitive", why)
    return beyond


def _singling_out(free: Sequence[_Look]) -> dict[str, Suggestion]:
    """Of insensitive columns, those that single rows out together with the others; columns of few values stay first."""
    found: dict[str, Suggestion] = {}
    key = np.zeros(len(free[0].part) if free else 0, np.uint64)
    for look in sorted(free, key=lambda look: look.distinct):
        more = (key * np.uint64(0x9E3779B97F4A7C15)) ^ look.part.hash().to_numpy()
        alone = int((np.unique(more, return_counts=True)[1] == 1).sum()) / max(1, len(more))
        if alone <= RARE:
            key = more
        else:
            why = f"harmless alone, but with the other insensitive columns it singles out {percent(alone)} of the rows"
            found[look.name] = Suggestion(look.name, "identifying", why)
    return found


def _of_bodies(columns: Iterable[str]) -> bool:
    """Whether a column says that the table is about bodies, so that a weight is theirs."""
    return any(not BODY.isdisjoint(_words(column)) for column in columns)


def _is_text(column: pl.Series) -> bool:
    import polars as pl

    return column.dtype == pl.String


def _known(column: pl.Series) -> pl.Series:
    """The values that are not missing."""
    column = column.drop_nulls()
    if column.dtype.is_float():
        return column.drop_nans()
    return column.filter(column != "") if _is_text(column) else column


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


def name_runs(name: str) -> frozenset[str]:
    """The words of a column name, and up to five neighbouring ones read as one (first_name, FirstName)."""
    words = _words(name)
    return frozenset("".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, min(i + 5, len(words)) + 1))


def last_word(name: str) -> str:
    """The word that says what a column is of: the size of `city_size`."""
    return (_words(name) or [""])[-1]


def digits_of(name: str) -> str:
    """What the digits of whole numbers in a column of that name are: one of `hierarchies.learned.DIGITS`.

    The name alone decides, so that every engine decides alike, and no row can turn it.

    >>> digits_of("PLZ"), digits_of("diagnosis_code"), digits_of("age"), digits_of("zip_population")
    ('postcodes', 'codes', 'numbers', 'numbers')
    """
    words = name_runs(name)
    if words & AMOUNTS:
        return "numbers"
    if words & POSTCODES or words == {"cap"} or ("cap" in words and words & ITALIAN):
        return "postcodes"
    return "codes" if words & (CODE_NAMES | CATEGORIES) else "numbers"


def why_of_name(name: str, role: str, numeric: bool) -> str | None:
    """Why a column has a role, where its name alone says so.

    >>> why_of_name("postcode", "quasi", False), why_of_name("postcode", "insensitive", False)
    ('the name says something others can know about a person', None)
    """
    found = _role_of_name(name, numeric, body=False)
    return found[1] if found is not None and found[0] == role else None


def _role_of_name(name: str, numeric: bool, body: bool) -> tuple[str, str] | None:
    """Role and reason from the name alone."""
    words = _words(name)
    runs = name_runs(name)
    if numeric and runs & WEIGHT:
        if runs & BODY or (body and words == ["weight"]):
            return "quasi", "the name says body weight, which others can see"
        return "weight", "the name says sampling weight"
    if runs & DIRECT:
        return "identifying", POINTS
    if runs & SENSITIVE:
        return "sensitive", "the name says something people keep private"
    if runs & QUASI:
        return "quasi", "the name says something others can know about a person"
    counts = len(words) > 2 and words[0] in NUMBERS and words[1] == "of"  # number of visits
    if runs & WEAK and not counts and not (len(words) > 1 and words[-1] in NUMBERS):
        return "identifying", RECORDS
    return None


def _pattern(column: pl.Series) -> str | None:
    """What at least four in five of the values look like, if anything."""
    found = (what for what, pattern in PATTERNS.items() if _matches(column, pattern))
    return next((what for what in found if what != PHONES or not _matches(column, DATES)), None)


def _matches(column: pl.Series, pattern: str) -> bool:
    """Whether the column is text, and at least four in five of the values match a pattern."""
    return _is_text(column) and int(column.str.contains(pattern).sum()) >= max(1.0, 0.8 * len(column))


def _compact_dates(column: pl.Series) -> bool:
    """Whether the whole numbers are dates, as in 20251231."""
    import polars as pl

    low, high = (column.min(), column.max()) if column.dtype.is_integer() else (None, None)
    if not isinstance(low, int) or not isinstance(high, int) or not 19000101 <= low <= high <= 20991231:
        return False
    return _matches(column.cast(pl.String), COMPACT)


def _counts_through(column: pl.Series, rows: int) -> bool:
    """Whether the whole numbers lie close together, as numbers of records do and amounts of money do not."""
    low, high = column.min(), column.max()
    return isinstance(low, int) and isinstance(high, int) and high - low < 2 * rows


def _listing(columns: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(f'"{name}"' for name in columns[:most])
    return shown + (f" and {len(columns) - most} more" if len(columns) > most else "")
