"""Facts: what can be checked of a masked table, one rule each, by code that shares nothing with the maskers.

Public facts are about the released rows alone: whoever has the release can check them. Private facts compare it with
the original, which its owner has. A fact is no promise about people: it says that a step did what it says it did.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import kind_of
from sfumato.core.printed import printed
from sfumato.core.wording import count, is_real, number, quoted
from sfumato.errors import ReadError

CLOSE = 1e-9  # relative, of sums
SAME = 1e-12  # relative, of values: what a float loses of a multiple
LARGEST, MOST_ROWS = 1e300, 1 << 53  # of numbers and counts in a manifest
WHOLE, CODE = r"^[+-]?[0-9]+$", r"^[+-]?0[0-9]"
ROWS = "sfumato: rows"  # how many rows have the values of an entry


@dataclass(frozen=True)
class FactFinding:
    """A fact as the rows bear it out, or not; None where it takes the original to tell."""

    fact: str
    columns: tuple[str, ...]
    parameters: dict[str, Any]
    sentence: str
    holds: bool | None
    private: bool
    step: int | None = None
    note: str | None = None


@dataclass(frozen=True, eq=False)
class Masking:
    """What steps made of a table in memory before the search, and what others make of the released rows after it.

    `told` is what the manifest says of them, `facts` what can be checked of the released rows. `after` is given the
    released rows, and gives columns anew, and this value with what it tells of them.
    """

    original: pl.DataFrame
    rows: np.ndarray  # of the original, that those of the masked table are
    told: Mapping[str, Any]
    facts: tuple[Mapping[str, Any], ...] = ()
    after: Callable[[pl.DataFrame], tuple[pl.DataFrame, Masking]] | None = None

    def without_rows(self) -> Masking:
        """The same where rows were suppressed: what steps found in all rows is not told."""
        steps = [{key: value for key, value in step.items() if key != "published"} for step in self.told["steps"]]
        return replace(self, told={**self.told, "steps": steps})


@dataclass(frozen=True)
class Rule:
    """A kind of fact: what it says, and what is wrong with rows, None where nothing is.

    A public one is given entries, printed values of the columns, with the count of rows in `ROWS`. A private one is
    given the original and the released columns, both printed, and `apart`, the columns that no step changed. A manifest
    may be anybody's: `takes` says what each parameter has to be, `needs` which must be there, one of each tuple.
    """

    sentence: Callable[[Sequence[str], Mapping[str, Any]], str]
    fault: Callable[..., str | None]
    takes: Mapping[str, Callable[[Any], bool]]
    needs: tuple[tuple[str, ...], ...] = ()
    private: bool = False
    of_values: bool = False  # whether it still holds where rows are left out
    numbers: bool = False  # of a private one: whether it is about numbers
    row_by_row: bool = True  # of a private one: whether both tables must have as many rows
    most: int = 10_000  # columns; none where it is about the rows alone


def _numbers(texts: pl.Series) -> pl.Series:
    """Numbers of printed values, missing ones left out; a fault of a value that is none is nan."""
    known = texts.drop_nulls()
    return known.cast(pl.Float64, strict=False).fill_null(np.nan)


def _close(a: np.ndarray, b: Any) -> np.ndarray:
    return np.asarray(np.abs(a - b) <= SAME * np.abs(b))


def _each(check: Callable[[np.ndarray, Mapping[str, Any]], np.ndarray]) -> Callable[..., str | None]:
    """A fault where a number of a column fails a check; nan fails."""

    def fault(entries: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any]) -> str | None:
        for name in columns:
            if not bool(np.all(check(_numbers(entries.get_column(name)).to_numpy(), parameters))):
                return f'not so in column "{name}"'
        return None

    return fault


def _is_point(x: np.ndarray, parameters: Mapping[str, Any]) -> np.ndarray:
    if parameters.get("points") is not None:
        points = np.sort(np.asarray(parameters["points"], np.float64))
        after = np.clip(np.searchsorted(points, x), 0, len(points) - 1)
        return _close(x, points[after]) | _close(x, points[np.maximum(after - 1, 0)])
    base = float(parameters["base"])
    return _close(x, np.round(x / base) * base)


def _is_between(x: np.ndarray, parameters: Mapping[str, Any]) -> np.ndarray:
    low, high = parameters.get("low"), parameters.get("high")
    slack = SAME * np.abs(x)
    return ~np.isnan(x) & ((low is None) | (x >= (low or 0) - slack)) & ((high is None) | (x <= (high or 0) + slack))


def _not_among(entries: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any]) -> str | None:
    stated = pl.Series(parameters["values"], dtype=pl.String)
    for name in columns:
        if not entries.get_column(name).drop_nulls().is_in(stated.implode()).all():
            return f'column "{name}" has other values'
    return None


def _not_shaped(entries: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any]) -> str | None:
    letters, length = str(parameters["letters"]), int(parameters["length"])
    for name in columns:
        known = entries.get_column(name).drop_nulls()
        if not (known.str.len_chars() == length).all() or not (known.str.strip_chars(letters) == "").all():
            return f'column "{name}" has values of another form'
    return None


def _small_groups(entries: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any]) -> str | None:
    """Groups of rows with equal values: of all columns together, or, `each` of them, by itself. Rows without any value
    are no group; rows that lack some are grouped with those that lack the same."""
    k, sets = int(parameters["k"]), [[name] for name in columns] if parameters.get("each") else [list(columns)]
    for names in sets:
        known = entries.select([*names, ROWS]).filter(~pl.all_horizontal(pl.col(names).is_null()))
        sizes = known.group_by(names).agg(pl.col(ROWS).sum()).get_column(ROWS)
        if small := int((sizes < k).sum()):
            return f"{count(small, 'group')} of fewer than {k} rows"
    return None


def _alike(entries: pl.DataFrame, columns: Sequence[str], amounts: Sequence[str]) -> tuple[pl.DataFrame, np.ndarray]:
    """Distinct tuples of columns, and for each how much there is, of each amount, in the rows that agree with it in
    what both show."""
    shows = "sfumato: columns shown"
    known = pl.sum_horizontal(pl.lit(2**i) * pl.col(name).is_not_null() for i, name in enumerate(columns))
    cells = entries.group_by(columns).agg(pl.col(amounts).sum()).with_columns(known.cast(pl.Int64).alias(shows))
    parts = {int(key[0]): part.drop(shows) for key, part in cells.partition_by(shows, as_dict=True).items()}
    found = []
    for mine, part in parts.items():
        alike = np.zeros((part.height, len(amounts)))
        for both in {mine & other for other in parts}:
            names = [name for i, name in enumerate(columns) if both >> i & 1]
            pool = pl.concat([cell.select(*names, *amounts) for other, cell in parts.items() if mine & other == both])
            if names:
                sums = pool.group_by(names).agg(pl.col(amounts).sum())
                met = part.select(names).join(sums, on=names, how="left", maintain_order="left").select(amounts)
                alike += met.fill_null(0).to_numpy()
            else:
                alike += pool.select(amounts).sum().to_numpy()
        found.append(alike)
    return pl.concat(list(parts.values())), np.concatenate(found)


def _few_matches(entries: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any]) -> str | None:
    """Rows that agree with fewer than k rows, themselves among them, in what both show of the columns."""
    k = int(parameters["k"])
    cells, alike = _alike(entries, columns, [ROWS])
    few = int(cells.get_column(ROWS).to_numpy()[alike[:, 0] < k].sum())
    return f"{count(few, 'row')} match fewer than {k} rows" if few else None


def _risky(entries: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any]) -> str | None:
    """Rows whose individual risk is above the threshold: of f rows that match, whose weights add up to F, and p = f/F,
    the mean of 1 over f plus a negative binomial number. It is 1/f at most; where p < 1/2 that of f - 1 tells it.
    """
    threshold, weight = float(parameters["threshold"]), str(parameters["weight"])
    keys = [name for name in columns if name != weight]
    if len(keys) in (0, len(columns)):
        return "its columns are not keys and weights"
    weighed = entries.with_columns(pl.col(weight).cast(pl.Float64, strict=False) * pl.col(ROWS))
    cells, alike = _alike(weighed, keys, [ROWS, weight])
    f, p = alike[:, 0], alike[:, 0] / alike[:, 1]
    if not bool((p > 0).all()):
        return "weights are missing"
    near, far = np.flatnonzero((f * threshold < 1) & (p >= 0.5)), np.flatnonzero((f * threshold < 1) & (p < 0.5))
    risk = np.zeros(len(f))
    share = np.minimum(p[near], 1.0)
    term = share / f[near]
    for n in range(60):
        risk[near] += term
        term = term * (1 - share) * (n + 1) / (f[near] + n + 1)
    odds = p[far] / (1 - p[far])
    before = -odds * np.log(p[far])
    for n in range(1, int(f[far].max(initial=0)) + 1):
        risk[far] = np.where(f[far] == n, before, risk[far])
        before = odds * (1 / n - before)
    few = int(cells.get_column(ROWS).to_numpy()[risk > threshold * (1 + CLOSE)].sum())
    return f"{count(few, 'row')} above it" if few else None


def _other_total(entries: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any]) -> str | None:
    total = float(parameters["total"])
    for name in columns:
        x = entries.get_column(name).cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        found = float((x * entries.get_column(ROWS).to_numpy()).sum())
        if not math.isclose(found, total, rel_tol=CLOSE, abs_tol=CLOSE):
            return f'column "{name}" adds up to {number(found)}'
    return None


def _other_rows(entries: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any]) -> str | None:
    found = int(entries.get_column(ROWS).sum())
    return None if found == int(parameters["rows"]) else f"there are {found:,}"


Frames = tuple[pl.DataFrame, pl.DataFrame]


def _matrices(
    original: pl.DataFrame, released: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The complete rows of columns before and after, and how much each row counts."""
    found = []
    for frame in (original, released):
        weight = parameters.get("weight")
        names = [*columns, *([] if weight is None else [str(weight)])]
        texts = [frame.get_column(name).cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy() for name in names]
        rows = np.column_stack([*texts, *([np.ones(frame.height)] if weight is None else [])])
        known = rows[~np.isnan(rows).any(axis=1)]
        found.append((known[:, :-1], known[:, -1]))
    return found


def _other_means(
    original: pl.DataFrame, released: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any],
    apart: Sequence[str],
) -> str | None:  # fmt: skip
    (before, often), (after, later) = _matrices(original, released, columns, parameters)
    if not len(before) or not len(after):
        return None if len(before) == len(after) else "other rows have all values"
    scale = np.maximum(np.abs(before).max(axis=0, initial=0), 1e-300)
    far = np.abs(np.average(before, axis=0, weights=often) - np.average(after, axis=0, weights=later)) / scale
    off = [name for name, gap in zip(columns, far, strict=True) if not gap <= CLOSE]
    return f"not so of {quoted(off)}" if off else None


def _other_covariances(
    original: pl.DataFrame, released: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any],
    apart: Sequence[str],
) -> str | None:  # fmt: skip
    tables = _matrices(original, released, columns, parameters)
    before, after = (np.atleast_2d(np.cov(rows, rowvar=False, aweights=often)) for rows, often in tables)
    sd = np.sqrt(np.diag(before))
    far = np.abs(before - after) / np.maximum(np.outer(sd, sd), 1e-300)
    return None if bool((far <= CLOSE).all()) else "covariances are others"


def _other_marginals(
    original: pl.DataFrame, released: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any],
    apart: Sequence[str],
) -> str | None:  # fmt: skip
    """The same values as often: of each column, or of all together."""
    sets = [list(columns)] if parameters.get("together") else [[name] for name in columns]
    for names in sets:
        counts = [frame.group_by(names).len().sort(names, nulls_last=True) for frame in (original, released)]
        if not counts[0].equals(counts[1]):
            return f"not so of {quoted(names)}"
    return None


def _moved_ranks(
    original: pl.DataFrame, released: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any],
    apart: Sequence[str],
) -> str | None:  # fmt: skip
    """Released rows are in another order, so rows are told apart by what no step changed of them: among rows alike in
    that, values matched in their order move least. Ranks among equal values are whatever moves least."""
    for name in columns:
        every = pl.concat([original.get_column(name), released.get_column(name)]).rank("dense")  # whole numbers exactly
        before, after = every.head(original.height), every.tail(released.height)
        if before.null_count() != after.null_count():
            return f'column "{name}" has another number of missing values'
        values = np.sort(before.drop_nulls().to_numpy())
        most = math.floor(float(parameters["percent"]) * len(values) / 100)
        sides = []
        for frame, column in ((original, before), (released, after)):
            keyed = pl.DataFrame([*(frame.get_column(name) for name in apart), column.alias("\0value")])
            sides.append(keyed.drop_nulls("\0value").sort([*apart, "\0value"], nulls_last=True))
        if not sides[0].select(apart).equals(sides[1].select(apart)):
            return "columns that no step changes are others"
        x, y = (side.get_column("\0value").to_numpy() for side in sides)
        low = np.maximum(np.searchsorted(values, y, "left") - np.searchsorted(values, x, "right") + 1, 0)
        high = np.maximum(np.searchsorted(values, x, "left") - np.searchsorted(values, y, "right") + 1, 0)
        if bool((np.maximum(low, high) > most).any()):
            return f'column "{name}" has values that moved further'
    return None


def _repeated(
    original: pl.DataFrame, released: pl.DataFrame, columns: Sequence[str], parameters: Mapping[str, Any],
    apart: Sequence[str],
) -> str | None:  # fmt: skip
    """Released rows that are equal to a row that stands alone in the original."""
    alone = original.group_by(columns).len("\0rows").filter(pl.col("\0rows") == 1).select(columns)
    copied = released.select(columns).join(alone, on=columns, how="semi", nulls_equal=True).height
    return f"{count(copied, 'row')} repeat one" if copied else None


def _share(parameters: Mapping[str, Any]) -> str:
    return f"{number(parameters['percent'])} percent of the ranks"


def _bounds(parameters: Mapping[str, Any]) -> str:
    low, high = parameters.get("low"), parameters.get("high")
    below, above = f"below {number(low)}", f"above {number(high)}"
    return above if low is None else below if high is None else f"{below} or {above}"


def _weighted(parameters: Mapping[str, Any]) -> str:
    return "weighted " if "weight" in parameters else ""


def _points(parameters: Mapping[str, Any]) -> str:
    points = parameters.get("points")
    return f"multiples of {number(parameters['base'])}" if points is None else f"the {len(points)} stated points"


def _together(columns: Sequence[str], parameters: Mapping[str, Any]) -> str:
    each = parameters.get("each") or len(columns) == 1
    return f"{'each value is' if each else 'the values together are'} shared by at least {parameters['k']} rows"


Says = Callable[[Sequence[str], Mapping[str, Any]], str]


def _of(says: Callable[[Mapping[str, Any]], str]) -> Says:
    return lambda columns, parameters: f"{quoted(columns)}: {says(parameters)}"


def _is_number(value: Any) -> bool:
    return is_real(value) and abs(value) < LARGEST


def _is_above(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and _is_above(value) and value < MOST_ROWS


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _all(check: Callable[[Any], bool], least: int = 0) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(check, value))


FACTS: dict[str, Rule] = {
    "points": Rule(
        _of(lambda p: f"every value is one of {_points(p)}"), _each(_is_point),
        {"base": _is_above, "points": _all(_is_number, 1)}, (("base", "points"),), of_values=True,
    ),
    "between": Rule(
        _of(lambda p: f"no value is {_bounds(p)}"), _each(_is_between),
        {"low": _is_number, "high": _is_number}, (("low", "high"),), of_values=True,
    ),
    "among": Rule(
        _of(lambda p: f"no value is outside the {count(len(p['values']), 'stated value')}"), _not_among,
        {"values": _all(_is_text)}, (("values",),), of_values=True,
    ),
    "shape": Rule(
        _of(lambda p: f"every value has {p['length']} characters of the stated alphabet"), _not_shaped,
        {"letters": _is_text, "length": _is_count}, (("letters",), ("length",)), of_values=True,
    ),
    "groups": Rule(
        lambda c, p: f"{quoted(c)}: {_together(c, p)}", _small_groups, {"k": _is_count, "each": _is_flag}, (("k",),)
    ),
    "matches": Rule(
        _of(lambda p: f"each row matches at least {p['k']} rows, where a missing value matches any"),
        _few_matches, {"k": _is_count}, (("k",),), most=60,
    ),
    "risk": Rule(
        lambda c, p: (
            f'{quoted(n for n in c if n != p["weight"])}: no individual risk by the weights "{p["weight"]}" is above'
            f" {number(p['threshold'])}, where a missing value matches any"
        ),
        _risky, {"threshold": _is_above, "weight": _is_text}, (("threshold",), ("weight",)), most=60,
    ),
    "total": Rule(
        _of(lambda p: f"adds up to {number(p['total'])}"), _other_total, {"total": _is_number}, (("total",),)
    ),
    "rows": Rule(
        lambda c, p: f"there are {p['rows']:,} rows", _other_rows, {"rows": _is_count}, (("rows",),), most=0
    ),
    "means": Rule(
        _of(lambda p: f"{_weighted(p)}means are those of the original"), _other_means, {"weight": _is_text},
        private=True, numbers=True,
    ),
    "covariances": Rule(
        _of(lambda p: f"{_weighted(p)}variances and covariances are those of the original"), _other_covariances,
        {"weight": _is_text}, private=True, numbers=True,
    ),
    "marginals": Rule(
        _of(lambda p: f"the same values {'together ' if p.get('together') else ''}as often as in the original"),
        _other_marginals, {"together": _is_flag}, private=True,
    ),
    "no-copies": Rule(
        lambda c, p: "no row repeats a row that stands alone in the original", _repeated, {}, private=True,
        row_by_row=False,
    ),
    "ranks": Rule(
        _of(lambda p: f"no value moved by more than {_share(p)}"), _moved_ranks, {"percent": _is_above},
        (("percent",),), private=True, numbers=True,
    ),
}  # fmt: skip


def of_rows(fact: str, columns: Sequence[str], parameters: Mapping[str, Any], left: pl.DataFrame) -> dict[str, Any]:
    """The parameters of a fact of values after rows were left out: they name no value, and no bound that came from
    values, that no row has any more. None are left of a fact that would tell of other rows only."""
    if fact == "among":
        there = {text for name in columns for text in printed(left.get_column(name).unique()).to_list()}
        return {"values": [value for value in parameters["values"] if value in there]}
    if fact == "between":
        numbers = {float(x) for name in columns for x in _numbers(printed(left.get_column(name).unique())).to_list()}
        return {end: bound for end, bound in parameters.items() if float(bound) in numbers}
    return dict(parameters)


def check_public(released: pl.DataFrame, rows: pl.Series | None, fact: Mapping[str, Any]) -> FactFinding:
    """A public fact on released rows, or on their distinct tuples with counts of rows."""
    rule, columns, parameters = _ruled(fact)
    absent = [name for name in columns if name not in released.columns]
    if absent:
        return _finding(fact, rule, f"the table lacks {quoted(absent)}")
    texts = [printed(released.get_column(name)) for name in columns]
    often = pl.repeat(1, released.height, dtype=pl.Int64, eager=True) if rows is None else rows.cast(pl.Int64)
    return _finding(fact, rule, rule.fault(pl.DataFrame([*texts, often.alias(ROWS)]), columns, parameters))


def is_private(fact: Mapping[str, Any]) -> bool:
    """Whether it takes the original to check a fact."""
    return _ruled(fact)[0].private


def unchecked(fact: Mapping[str, Any], why: str) -> FactFinding:
    """A private fact that nobody can check here."""
    return replace(_finding(fact, _ruled(fact)[0], None), holds=None, note=why)


def check_private(
    original: pl.DataFrame,
    released: pl.DataFrame,
    fact: Mapping[str, Any],
    changed: Sequence[str],
    texts: Collection[str] = (),
) -> FactFinding:
    """A private fact, on both tables; `changed` are the columns that a step changed, `texts` those that were released
    as texts, which are compared letter by letter where they are texts in the original, too."""
    rule, columns, parameters = _ruled(fact)
    used = [*columns, *([str(parameters["weight"])] if "weight" in parameters else [])]
    absent = [name for name in used if name not in released.columns or name not in original.columns]
    if absent:
        return _finding(fact, rule, f"a table lacks {quoted(absent)}")
    apart = [name for name in released.columns if name in original.columns and name not in changed]
    names = list(dict.fromkeys([*used, *apart]))
    both = {name: [printed(table.get_column(name)) for table in (original, released)] for name in names}
    written = {name for name in texts if name in original.columns and kind_of(original.schema[name]) == "text"}
    pairs = {name: pair if name in written else _both_numbers(*pair) for name, pair in both.items()}
    before, after = (pl.DataFrame([pair[side] for pair in pairs.values()]) for side in (0, 1))
    if rule.numbers and (none := [name for name in used if before.schema[name] == pl.String]):
        return _finding(fact, rule, f"{quoted(none)} has values that are no numbers")
    if rule.row_by_row and before.height != after.height:
        return _finding(fact, rule, f"the original has {before.height:,} rows, the release {after.height:,}")
    found = _finding(fact, rule, rule.fault(before, after, columns, parameters, apart))
    if found.holds and fact["fact"] == "ranks" and not apart:
        return replace(found, holds=None, note="all columns were changed, so that rows cannot be told apart")
    return found


def _both_numbers(before: pl.Series, after: pl.Series) -> Sequence[pl.Series]:
    """A column of both tables, as numbers where all of its values are some: 12.50 is 12.5. Whole numbers are exact, and
    codes, which begin with 0, stay texts."""
    texts = (before, after)
    if all(column.str.contains(WHOLE).all() for column in texts):
        if any(column.str.contains(CODE).any() for column in texts):
            return texts
        kind: Any = pl.Int128
    else:
        kind = pl.Float64
    numbers = [column.cast(kind, strict=False) for column in texts]
    same = all(a.null_count() == b.null_count() for a, b in zip(numbers, texts, strict=True))
    return numbers if same else texts


def _ruled(fact: Mapping[str, Any]) -> tuple[Rule, list[str], Mapping[str, Any]]:
    """The rule of a fact as a manifest writes it, its columns and parameters; a ReadError where it makes no sense."""
    name = str(fact.get("fact"))
    if name not in FACTS:
        raise ReadError(f'manifest.json states a fact "{name[:100]}" that is not known here', allowed=", ".join(FACTS))
    rule, columns, parameters = FACTS[name], [str(c) for c in fact.get("columns", ())], dict(fact.get("parameters", {}))
    if fault := _senseless(rule, columns, parameters):
        raise ReadError(f'manifest.json: the fact "{name}" makes no sense: {fault}')
    return rule, columns, parameters


def _senseless(rule: Rule, columns: Sequence[str], parameters: Mapping[str, Any]) -> str | None:
    """What is wrong with a fact, whatever the rows; None where nothing is."""
    if len({*columns}) < len(columns) or not bool(rule.most) <= len(columns) <= rule.most:
        return "its columns"
    if lacking := [names for names in rule.needs if not any(name in parameters for name in names)]:
        return f"it lacks {' or '.join(lacking[0])}"
    wrong = [name for name, value in parameters.items() if name not in rule.takes or not rule.takes[name](value)]
    return f'its parameter "{wrong[0][:100]}"' if wrong else None


def _finding(fact: Mapping[str, Any], rule: Rule, fault: str | None) -> FactFinding:
    _, columns, parameters = _ruled(fact)
    sentence = rule.sentence(columns, parameters)
    return FactFinding(
        str(fact["fact"]), tuple(columns), dict(parameters), sentence[0].upper() + sentence[1:], fault is None,
        rule.private, fact.get("step"), fault,
    )  # fmt: skip


def as_dict(fact: Any, step: int) -> dict[str, Any]:
    """A fact as the manifest writes it."""
    return {**asdict(fact), "columns": list(fact.columns), "parameters": dict(fact.parameters), "step": step}
