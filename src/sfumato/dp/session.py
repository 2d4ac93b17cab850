"""Session: private answers from a table that stays with its owner, until a budget is spent."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from decimal import Decimal
from typing import Any, Self, TypedDict, Unpack

import polars as pl

from sfumato.core import parameters
from sfumato.core.accounting import (
    NOTHING,
    PLAIN,
    ZCDP,
    Budget,
    PrivacyCost,
    epsilon_of,
    exact,
    gaussian_rho,
    pure_as_rho,
)
from sfumato.core.fingerprint import key
from sfumato.core.mechanisms import opendp
from sfumato.dp.ledger import BudgetLedger
from sfumato.dp.noise import Drawing, Noise
from sfumato.dp.queries.approximate_bounds import ApproximateBounds
from sfumato.dp.queries.clipped import WithClipped, with_clipped
from sfumato.dp.queries.contingency_table import BINS, ContingencyTable
from sfumato.dp.queries.count import Count
from sfumato.dp.queries.covariance import Covariance
from sfumato.dp.queries.decision_tree import DEPTH, DecisionTree
from sfumato.dp.queries.distinct_count import DistinctCount
from sfumato.dp.queries.frequent_keys import FrequentKeys
from sfumato.dp.queries.grouped import Grouped
from sfumato.dp.queries.grouped_mean import GroupedMean
from sfumato.dp.queries.learning import BINS as MODEL_BINS
from sfumato.dp.queries.linear_regression import LinearRegression
from sfumato.dp.queries.logistic_regression import STEPS, LogisticRegression
from sfumato.dp.queries.mean import Mean
from sfumato.dp.queries.naive_bayes import NaiveBayes
from sfumato.dp.queries.quantile import NEAR, Quantile
from sfumato.dp.queries.query import Query
from sfumato.dp.queries.sum import Sum
from sfumato.dp.queries.text import parse_query, parse_several
from sfumato.dp.queries.top import Top
from sfumato.dp.queries.variance import StandardDeviation, Variance
from sfumato.dp.rows import PrivateRows
from sfumato.dp.sql import parse_sql
from sfumato.dp.values import Answer, Public, Unit
from sfumato.engines.tables import private_engine
from sfumato.errors import AnswerFailed, ColumnError, PolicyError

NAME = "table"
LONGEST = 200  # characters of a name
MOST_FORMS = 10_000  # of questions that are known to make sense


class Price(TypedDict, total=False):
    """What an answer may cost, and the name of the call."""

    epsilon: Any
    delta: Any
    rho: Any
    clipped: bool
    request: str | None


class Session:
    """Questions to a table, answered with noise; each takes of a budget that cannot be overspent. Threads may share it.

    Parameters
    ----------
    data: a frame, or the path of a file, of which each cell is read as it is written. It stays where it is.
    epsilon, delta: the budget of this analyst, exact decimals: 0.05 is 0.05. i_know: whether an epsilon above 20 is
        meant.
    bounds: of columns of numbers, the least and the greatest value that one could have, from outside of the table.
        keys: of categories, their possible values.
    person: a column that says whose row it is, where people have several; then all rows of a person are protected, of
        which at most `rows_per_person` count, where they are grouped in at most `groups_per_person` groups, and at most
        `rows_per_group` in each. neighbours: "add-remove", or "replace".
    accounting: how costs add up: "plain", epsilons and deltas; or "zcdp", which holds more answers for a small delta.
        version: what you call the table as it is now: a question of the same version is answered as before, for
        nothing; unless given it is known by its content, a database that cannot tell by the session.
        public_rows: about how many rows there are, where that is public; a delta of more than one over it is refused.
    ledger: a file, or an address of PostgreSQL, that keeps what was spent; in memory unless given. dataset,
        analyst, purpose: whose budget it is. dataset_epsilon, dataset_delta: the budget of all analysts together, as of
        the first time; that of the analyst unless given. share: whether an answer that another has had may be given.

    >>> import sfumato as sf
    >>> session = sf.dp.Session({"age": [31, 42, 58, 42]}, epsilon=1.0, bounds={"age": (0, 120)})
    >>> answer = session.count(where="age > 40", epsilon=0.25)
    >>> answer.mechanism, str(session.left)
    ('geometric', 'epsilon 0.75')
    """

    def __init__(
        self,
        data: Any,
        epsilon: Any,
        delta: Any = 0,
        *,
        bounds: Mapping[str, Sequence[float]] | None = None,
        keys: Mapping[str, Sequence[Any]] | None = None,
        person: str | None = None,
        rows_per_person: int = 1,
        neighbours: str = "add-remove",
        ledger: Any = None,
        dataset: str = NAME,
        analyst: str = "owner",
        purpose: str = "",
        dataset_epsilon: Any = None,
        dataset_delta: Any = None,
        accounting: str = PLAIN,
        groups_per_person: int | None = None,
        rows_per_group: int | None = None,
        public_rows: int | None = None,
        version: str | None = None,
        share: bool = False,
        i_know: bool = False,
    ) -> None:
        self._open = ExitStack()
        self._engine = self._open.enter_context(private_engine(data).snapshot(write=False))
        self.unit = Unit(person, rows_per_person, neighbours, groups_per_person, rows_per_group)
        self.public = Public.of(self._engine.schema(), bounds, keys)
        if person is not None:
            parameters.known_columns([person], self.public.schema)
            if person in self.public.bounds:
                raise ColumnError(f'"{person}" says whose row it is, and has no bounds', hint="leave them out")
            if self._engine.missing([person])[0]:
                raise ColumnError(
                    f'some rows of "{person}" name no person', hint="whose rows are they? name or drop them"
                )
        self._rows = PrivateRows(self._engine, self.public, self.unit)
        rows = public_rows if public_rows is None else parameters.whole_number(public_rows, "public_rows", 1)
        self.budget = Budget(epsilon_of(epsilon, i_know), delta_of_budget(delta, "delta", rows), accounting)
        whole = Budget(
            self.budget.epsilon if dataset_epsilon is None else epsilon_of(dataset_epsilon, i_know),
            self.budget.delta if dataset_delta is None else delta_of_budget(dataset_delta, "dataset_delta", rows),
            accounting,
        )
        self.dataset, self.analyst = _name(dataset, "dataset"), _name(analyst, "analyst")
        self.purpose = _name(purpose, "purpose")
        self.share = parameters.yes_or_no(share, "share")
        self.ledger = BudgetLedger(ledger, self.dataset)
        self.whole_budget = self.ledger.register(whole)
        other = dataset_epsilon is not None and self.whole_budget.epsilon != whole.epsilon
        other |= dataset_delta is not None and self.whole_budget.delta != whole.delta
        if other or self.whole_budget.accounting != accounting:
            what = "the ledger has another budget of the dataset, which stays as it was first stated"
            raise PolicyError(what, got=f"{whole}", allowed=f"{self.whole_budget}")
        self._derived = False
        self._looking = threading.Lock()  # rows are looked at by one thread at a time
        self._askable: set[str] = set()  # forms of questions that make sense
        named = None if version is None else f"version {_name(version, 'version')}"
        self._snapshot = named or self._engine.fingerprint(key()) or secrets.token_hex(16)

    def __repr__(self) -> str:
        return f"<Session of {self.analyst}: {self.left} left of {self.budget}>"

    def for_analyst(
        self, analyst: str, epsilon: Any, delta: Any = 0, *, purpose: str = "", share: bool = False,
        public_rows: int | None = None, i_know: bool = False,
    ) -> Self:  # fmt: skip
        """A session of another analyst or purpose, over the same table, ledger and budget of the dataset: nothing is
        read again, and it closes with this one."""
        found = copy(self)
        found.analyst, found.purpose = _name(analyst, "analyst"), _name(purpose, "purpose")
        budget = epsilon_of(epsilon, i_know), delta_of_budget(delta, "delta", public_rows)
        found.budget = Budget(*budget, self.budget.accounting)
        found.share = parameters.yes_or_no(share, "share")
        found._derived = True
        return found

    def close(self) -> None:
        """Let go of the table and the ledger; a session that another made leaves both to that one."""
        if not self._derived:
            self._open.close()
            self.ledger.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def left(self) -> PrivacyCost:
        """What is left of the budget: that of the analyst, or less where that of the dataset is."""
        own = self.budget.left(self.ledger.spent(self.analyst, self.purpose))
        whole = self.whole_budget.left(self.ledger.spent())
        return PrivacyCost(*map(min, own.parts, whole.parts))

    # Questions

    def count(self, *, where: str | None = None, **price: Unpack[Price]) -> Answer:
        """How many rows there are, or meet a filter such as "age > 40 and sex = F"."""
        return self.ask(Count(where), **price)

    def distinct_count(self, column: str, *, where: str | None = None, **price: Unpack[Price]) -> Answer:
        """How many different values a column has."""
        return self.ask(DistinctCount(column, where), **price)

    def sum(self, column: str, *, where: str | None = None, **price: Unpack[Price]) -> Answer:
        """The sum of a column."""
        return self.ask(Sum(column, where), **price)

    def mean(self, column: str, *, where: str | None = None, **price: Unpack[Price]) -> Answer:
        """The mean of a column."""
        return self.ask(Mean(column, where), **price)

    def variance(self, column: str, *, where: str | None = None, **price: Unpack[Price]) -> Answer:
        """The variance of a column."""
        return self.ask(Variance(column, where), **price)

    def standard_deviation(self, column: str, *, where: str | None = None, **price: Unpack[Price]) -> Answer:
        """The standard deviation of a column."""
        return self.ask(StandardDeviation(column, where), **price)

    def covariance(self, one: str, other: str, *, where: str | None = None, **price: Unpack[Price]) -> Answer:
        """The covariance of two columns."""
        return self.ask(Covariance(one, other, where), **price)

    def grouped_mean(
        self, column: str, by: str | Sequence[str], *, bins: Any = BINS, where: str | None = None,
        **price: Unpack[Price],
    ) -> Answer:  # fmt: skip
        """The mean of a column, and how many rows have it, in each group of public values and bins."""
        return self.ask(GroupedMean(column, by, bins, where), **price)

    def quantile(
        self, column: str, q: float = 0.5, *, candidates: int = 1000, where: str | None = None, **price: Unpack[Price],
    ) -> Answer:  # fmt: skip
        """The value that a share q of the rows is below: one of evenly spaced candidates."""
        return self.ask(Quantile(column, q, candidates, where), **price)

    def median(self, column: str, *, where: str | None = None, **price: Unpack[Price]) -> Answer:
        """The median of a column."""
        return self.ask(Quantile(column, 0.5, where=where), **price)

    def minimum(self, column: str, *, where: str | None = None, **price: Unpack[Price]) -> Answer:
        """A value that nearly all rows are above: one in a hundred is not. The least value itself is a person's."""
        return self.ask(Quantile(column, NEAR, where=where), **price)

    def maximum(self, column: str, *, where: str | None = None, **price: Unpack[Price]) -> Answer:
        """A value that nearly all rows are below."""
        return self.ask(Quantile(column, 1 - NEAR, where=where), **price)

    def histogram(
        self, by: str | Sequence[str], *, bins: Any = BINS, where: str | None = None, **price: Unpack[Price],
    ) -> Answer:  # fmt: skip
        """How many rows have each public value, or are in each bin, of a column or several together."""
        return self.ask(ContingencyTable(by, bins, where), **price)

    def sql(self, text: str, **price: Unpack[Price]) -> Answer:
        """Ask in a safe subset of SQL, as "SELECT sex, count(*), avg(age) FROM t WHERE age > 40 GROUP BY sex"; several
        aggregates share the cost. The name of the table says nothing here: there is one."""
        return self.ask(parse_sql(text, self.public.schema).query, **price)

    def grouped(
        self, query: Query | Mapping[str, Any] | str, by: str | Sequence[str], *, bins: Any = BINS,
        **price: Unpack[Price],
    ) -> Answer:  # fmt: skip
        """A question in each group of public values and bins, such as "median pay", for the cost of one."""
        return self.ask(Grouped(parse_query(query), by, bins), **price)

    def frequent_keys(self, by: str | Sequence[str], *, where: str | None = None, **price: Unpack[Price]) -> Answer:
        """How many rows have each value of a column, or of several together, that is frequent; nobody listed them."""
        return self.ask(FrequentKeys(by, where), **price)

    def top(self, column: str, k: int = 3, *, where: str | None = None, **price: Unpack[Price]) -> Answer:
        """The k most frequent of the public values of a column."""
        return self.ask(Top(column, k, where), **price)

    def bounds(self, column: str, *, where: str | None = None, **price: Unpack[Price]) -> Answer:
        """Powers of two that nearly all numbers of a column lie between, for an owner who has no bounds; or None."""
        return self.ask(ApproximateBounds(column, where), **price)

    def linear_regression(
        self, target: str, features: str | Sequence[str], *, ridge: float = 0.0, where: str | None = None,
        **price: Unpack[Price],
    ) -> Answer:  # fmt: skip
        """A linear regression of a number on other columns; the value of the answer predicts."""
        return self.ask(LinearRegression(target, features, ridge, where), **price)

    def logistic_regression(
        self, target: str, features: str | Sequence[str], *, positive: str | None = None, steps: int = STEPS,
        where: str | None = None, **price: Unpack[Price],
    ) -> Answer:  # fmt: skip
        """A logistic regression: whether a category is `positive`, by other columns."""
        return self.ask(LogisticRegression(target, features, positive, steps, where), **price)

    def naive_bayes(
        self, target: str, features: str | Sequence[str], *, bins: int = MODEL_BINS, where: str | None = None,
        **price: Unpack[Price],
    ) -> Answer:  # fmt: skip
        """A naive Bayes classifier of a category by other columns."""
        return self.ask(NaiveBayes(target, features, bins, where), **price)

    def decision_tree(
        self, target: str, features: str | Sequence[str], *, depth: int = DEPTH, bins: int = MODEL_BINS,
        where: str | None = None, **price: Unpack[Price],
    ) -> Answer:  # fmt: skip
        """A decision tree of a category by other columns."""
        return self.ask(DecisionTree(target, features, depth, bins, where), **price)

    def several(self, queries: Sequence[Any], **price: Unpack[Price]) -> Answer:
        """Several questions together, values or texts, each for an equal share of the cost."""
        return self.ask(parse_several(queries), **price)

    def price(
        self,
        query: Query | Mapping[str, Any] | str,
        epsilon: Any = None,
        *,
        delta: Any = 0,
        rho: Any = None,
        clipped: bool = False,
    ) -> dict[str, Any]:
        """What a question costs and how noisy its answer is, without asking it: nothing is charged."""
        query = with_clipped(parse_query(query), clipped)
        noise = self._noise(query, epsilon, delta, rho)
        parts = query.parts(self.public, self.unit)
        noise.refuse_wide(parts)
        self._check(query, None)
        return {
            "cost": noise.cost,
            "scales": noise.scales(parts),
            "numbers": sum(part.width for part in parts),
            "left": self.left,
        }

    def ask(
        self,
        query: Query | Mapping[str, Any] | str,
        epsilon: Any = None,
        request: str | None = None,
        *,
        delta: Any = 0,
        rho: Any = None,
        clipped: bool = False,
    ) -> Answer:
        """Ask a question, a value, a text such as "mean age where sex = F", or a mapping as JSON has it: it is charged,
        its noise is drawn, the answer is stored, and then given.

        A question that was answered before is answered by the same numbers, and costs nothing. `request` names a call,
        so that one that was interrupted can be made again without a second charge. epsilon: what it may cost, by
        Laplace noise; with a `delta` by Gaussian noise, and in a ledger with zero-concentrated accounting for a `rho`.
        clipped: whether a share of the cost also tells how many numbers are outside of their bounds.
        """
        query = with_clipped(parse_query(query), clipped)
        noise = self._noise(query, epsilon, delta, rho)
        parts = query.parts(self.public, self.unit)
        noise.refuse_wide(parts)  # before anything as wide is made
        form = query.form(self.public)
        self._check(query, request)  # refused before it is charged
        normal = json.dumps([form, self.unit.form(), noise.form(), self._snapshot], sort_keys=True)
        number, stored = self.ledger.reserve(
            self.analyst, self.purpose, request or secrets.token_hex(16), normal, noise.cost, self.budget,
            self.whole_budget, self.share,
        )  # fmt: skip
        if stored is not None:
            return replace(self._read(stored, form, query), again=True, cost=NOTHING)
        assert number is not None
        drawn = Drawing(noise, parts)
        noisy = self._draw(query, drawn)
        value, interval = query.answer(noisy, drawn.finished(), self.public, noise.law)
        extra = {}
        if isinstance(query, WithClipped):
            value, extra["clipped"] = value
        written = json.dumps(
            {
                "value": query.plain(value), "interval": interval, "scales": drawn.scales, "mechanism": drawn.mechanism,
                "cost": [str(part) for part in noise.cost.parts], **extra,
            }
        )  # fmt: skip
        given, first = self.ledger.answer(number, written)
        found = self._read(given, form, query)
        return found if first else replace(found, again=True, cost=NOTHING)  # another call was faster

    def _draw(self, query: Query, drawn: Drawing) -> list[Any]:
        """What is drawn. Where rows cannot be read, all that is said is that."""
        try:
            with self._looking:
                return query.run(self._rows, drawn)
        except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
            raise
        except BaseException as error:  # a panic of a library is one; which it is may tell of a row
            self._note_failure(error)
        hint = "what it cost stays spent; its owner can look at the table with sfumato inspect"
        raise AnswerFailed("the answer could not be given", hint=hint)

    def _note_failure(self, error: BaseException) -> None:
        """What an owner may be told, and nobody else."""

    def _noise(self, query: Query, epsilon: Any, delta: Any, rho: Any) -> Noise:
        """The noise that a cost buys, and what the ledger is charged for it."""
        zcdp = self.budget.accounting == ZCDP
        if (rho is None) == (epsilon is None):
            what = f"{query.name} costs an epsilon" + (", or a rho" if zcdp else "")
            raise PolicyError(what, got="both" if rho is not None else "none", allowed="epsilon=0.1")
        if rho is not None and not zcdp:
            hint = 'state a delta for the session, and accounting="zcdp"'
            raise PolicyError("a rho is spent of a ledger with zero-concentrated accounting", hint=hint)
        own = exact(delta, "delta", strict=False)
        if own and not query.needs_delta and zcdp:
            raise PolicyError(f"{query.name} takes no delta here", hint="ask with rho= for Gaussian noise")
        if query.needs_delta and (not own or rho is not None):
            raise PolicyError(f"{query.name} costs an epsilon and a delta", allowed="epsilon=0.1, delta=1e-6")
        if own >= 1:
            raise PolicyError("delta is out of range", got=f"{own}", allowed="far below 1")
        if rho is not None:
            found = exact(rho, "rho")
            return Noise(PrivacyCost(Decimal(0), rho=found), rho=found)
        spent = epsilon_of(epsilon, i_know=True)
        charge = PrivacyCost(Decimal(0), own, pure_as_rho(spent)) if zcdp else PrivacyCost(spent, own)
        if own and not query.needs_delta:
            if not (found := gaussian_rho(spent, own)):
                what = "no Gaussian noise is so large"
                raise PolicyError(what, got=f"{charge}", hint="ask for a larger epsilon, or without a delta")
            return Noise(charge, rho=found)
        return Noise(charge, epsilon=spent, delta=own)

    def _check(self, query: Query, request: Any) -> None:
        """Refuse what cannot be asked of these columns: of no rows, so that it tells of none."""
        opendp()
        if request is not None:
            _name(request, "request")
        parameters.known_columns((*query.columns, *(one.column for one in query.conditions)), self.public.schema)
        asked = json.dumps(query.form(self.public), sort_keys=True)
        if asked in self._askable:
            return
        self._rows.expression(query.conditions)
        try:
            query.exact(self._rows.nobody())
        except (pl.exceptions.PolarsError, ArithmeticError, TypeError, ValueError) as error:
            what = f"{query.name} cannot be asked of these columns"
            raise PolicyError(
                what, got=type(error).__name__, hint="compare values of the type of their column"
            ) from None
        if len(self._askable) < MOST_FORMS:
            self._askable.add(asked)

    def _read(self, stored: str, form: Mapping[str, Any], query: Query) -> Answer:
        found = json.loads(stored)
        value, interval = query.read(found["value"]), _tuples(found["interval"])
        scales = found["scales"]
        return Answer(
            value, interval, scales[0] if len(scales) == 1 else tuple(scales), found["mechanism"],
            PrivacyCost(*map(Decimal, found["cost"])), form, query.how, clipped=found.get("clipped"),
        )  # fmt: skip


def _tuples(interval: Any) -> Any:
    """Intervals as they were before they were written as JSON: pairs of ends, alone or in lists and by names."""
    if isinstance(interval, dict):
        return {name: _tuples(own) for name, own in interval.items()}
    if not isinstance(interval, list):
        return interval
    ends = len(interval) == 2 and all(isinstance(end, int | float) for end in interval)
    return tuple(interval) if ends else [_tuples(own) for own in interval]


def _name(text: Any, what: str) -> str:
    if not isinstance(text, str) or len(text) > LONGEST or not text.isprintable():
        raise PolicyError(f"{what} must be a text", got=type(text).__name__, allowed=f"up to {LONGEST} characters")
    return text


def delta_of_budget(value: Any, what: str, rows: int | None) -> Decimal:
    """A delta: below one over the rows that are known to be there, as else it may be one person's whole secret."""
    found = exact(value, what, strict=False)
    if found * (rows or 1) >= 1:
        hint = "with a delta of one over the rows a mechanism may publish a person's row as it is"
        allowed = "0, or far below 1 over the rows" if rows is None else f"0, or far below 1 over {rows:,} rows"
        raise PolicyError(f"{what} is out of range", got=f"{found}", allowed=allowed, hint=hint)
    return found
