"""Session: private answers from a table that stays with its owner, until a budget is spent."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import polars as pl

from sfumato.core import parameters
from sfumato.core.fingerprint import key
from sfumato.dp.accounting import EXACT_DOWN, epsilon_of, exact
from sfumato.dp.ledger import ANSWERED, COMMITTED, BudgetLedger
from sfumato.dp.mechanisms import choose, laplace, opendp
from sfumato.dp.queries.contingency_table import BINS, ContingencyTable
from sfumato.dp.queries.count import Count
from sfumato.dp.queries.covariance import Covariance
from sfumato.dp.queries.distinct_count import DistinctCount
from sfumato.dp.queries.grouped_mean import GroupedMean
from sfumato.dp.queries.mean import Mean
from sfumato.dp.queries.quantile import Quantile
from sfumato.dp.queries.query import Part, Query
from sfumato.dp.queries.sum import Sum
from sfumato.dp.queries.text import parse_query
from sfumato.dp.queries.variance import StandardDeviation, Variance
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Answer, PrivacyCost, Public, Unit
from sfumato.engines.tables import engine_of
from sfumato.errors import ColumnError, PolicyError

NAME = "table"
LONGEST = 200  # characters of a name
NEAR = 0.01  # the share of rows that a private minimum has below it


class Session:
    """Questions to a table, answered with noise; each takes of a budget that cannot be overspent.

    Parameters
    ----------
    data: a frame, or the path of a file. It stays where it is.
    epsilon, delta: the budget of this analyst, exact decimals: 0.05 is 0.05. i_know: whether an epsilon above 20 is
        meant.
    bounds: of columns of numbers, the least and the greatest value that one could have, from outside of the table.
        keys: of categories, their possible values.
    person: a column that says whose row it is, where people have several; then all rows of a person are protected, of
        which at most `rows_per_person` count. neighbours: "add-remove", or "replace".
    ledger: a file that keeps what was spent, for as long as the dataset is asked; in memory unless given. dataset,
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
        share: bool = False,
        i_know: bool = False,
    ) -> None:
        self._engine = engine_of(data)
        if not self._engine.in_memory:
            what = f"{self._engine.called} is not in memory, and private answers are from rows that are"
            raise PolicyError(what, hint="read it, or a sample of it, into a frame")
        self.unit = Unit(person, rows_per_person, neighbours)
        self.public = Public.of(self._engine.schema(), bounds, keys)
        if person is not None:
            parameters.known_columns([person], self.public.schema)
            if person in self.public.bounds:
                raise ColumnError(f'"{person}" says whose row it is, and has no bounds', hint="leave them out")
            if self._engine.missing([person])[0]:
                raise ColumnError(
                    f'some rows of "{person}" name no person', hint="whose rows are they? name or drop them"
                )
        self._rows = PrivateRows(self._engine.sample(self._engine.rows()), self.public, self.unit)
        delta = exact(delta, "delta", strict=False)
        if delta >= 1:
            raise PolicyError("delta is out of range", got=f"{delta}", allowed="0, or far below 1 over the rows")
        self.budget = PrivacyCost(epsilon_of(epsilon, i_know), delta)
        whole = PrivacyCost(
            self.budget.epsilon if dataset_epsilon is None else epsilon_of(dataset_epsilon, i_know),
            self.budget.delta if dataset_delta is None else exact(dataset_delta, "dataset_delta", strict=False),
        )
        for what, text in (("dataset", dataset), ("analyst", analyst), ("purpose", purpose)):
            if not isinstance(text, str) or len(text) > LONGEST or not text.isprintable():
                raise PolicyError(
                    f"{what} must be a text", got=type(text).__name__, allowed=f"up to {LONGEST} characters"
                )
        self.dataset, self.analyst, self.purpose = dataset, analyst, purpose
        self.share = parameters.yes_or_no(share, "share")
        self.ledger = BudgetLedger(ledger, self.dataset)
        self.whole_budget = self.ledger.register(whole)
        if dataset_epsilon is not None and self.whole_budget.epsilon != whole.epsilon:
            what = "the ledger has another budget of the dataset, which stays as it was first stated"
            raise PolicyError(what, got=f"{whole}", allowed=f"{self.whole_budget}")
        self._snapshot = self._engine.fingerprint(key()) or secrets.token_hex(16)

    def __repr__(self) -> str:
        return f"<Session of {self.analyst}: {self.left} left of {self.budget}>"

    @property
    def left(self) -> PrivacyCost:
        """What is left of the budget: that of the analyst, or less where that of the dataset is."""
        own = self.budget.less(self.ledger.spent(self.analyst, self.purpose))
        whole = self.whole_budget.less(self.ledger.spent())
        return PrivacyCost(
            max(min(own.epsilon, whole.epsilon), Decimal(0)), max(min(own.delta, whole.delta), Decimal(0))
        )

    # Questions

    def count(self, *, where: str | None = None, epsilon: Any, request: str | None = None) -> Answer:
        """How many rows there are, or meet a filter such as "age > 40 and sex = F"."""
        return self.ask(Count(where), epsilon, request)

    def distinct_count(
        self, column: str, *, where: str | None = None, epsilon: Any, request: str | None = None
    ) -> Answer:
        """How many different values a column has."""
        return self.ask(DistinctCount(column, where), epsilon, request)

    def sum(self, column: str, *, where: str | None = None, epsilon: Any, request: str | None = None) -> Answer:
        """The sum of a column."""
        return self.ask(Sum(column, where), epsilon, request)

    def mean(self, column: str, *, where: str | None = None, epsilon: Any, request: str | None = None) -> Answer:
        """The mean of a column."""
        return self.ask(Mean(column, where), epsilon, request)

    def variance(self, column: str, *, where: str | None = None, epsilon: Any, request: str | None = None) -> Answer:
        """The variance of a column."""
        return self.ask(Variance(column, where), epsilon, request)

    def standard_deviation(
        self, column: str, *, where: str | None = None, epsilon: Any, request: str | None = None
    ) -> Answer:
        """The standard deviation of a column."""
        return self.ask(StandardDeviation(column, where), epsilon, request)

    def covariance(
        self, one: str, other: str, *, where: str | None = None, epsilon: Any, request: str | None = None
    ) -> Answer:
        """The covariance of two columns."""
        return self.ask(Covariance(one, other, where), epsilon, request)

    def grouped_mean(
        self, column: str, by: str | Sequence[str], *, bins: Any = BINS, where: str | None = None, epsilon: Any,
        request: str | None = None,
    ) -> Answer:  # fmt: skip
        """The mean of a column, and how many rows have it, in each group of public values and bins."""
        return self.ask(GroupedMean(column, by, bins, where), epsilon, request)

    def quantile(
        self, column: str, q: float = 0.5, *, candidates: int = 1000, where: str | None = None, epsilon: Any,
        request: str | None = None,
    ) -> Answer:  # fmt: skip
        """The value that a share q of the rows is below: one of evenly spaced candidates."""
        return self.ask(Quantile(column, q, candidates, where), epsilon, request)

    def median(self, column: str, *, where: str | None = None, epsilon: Any, request: str | None = None) -> Answer:
        """The median of a column."""
        return self.ask(Quantile(column, 0.5, where=where), epsilon, request)

    def minimum(self, column: str, *, where: str | None = None, epsilon: Any, request: str | None = None) -> Answer:
        """A value that nearly all rows are above: one in a hundred is not. The least value itself is a person's."""
        return self.ask(Quantile(column, NEAR, where=where), epsilon, request)

    def maximum(self, column: str, *, where: str | None = None, epsilon: Any, request: str | None = None) -> Answer:
        """A value that nearly all rows are below."""
        return self.ask(Quantile(column, 1 - NEAR, where=where), epsilon, request)

    def histogram(
        self, by: str | Sequence[str], *, bins: Any = BINS, where: str | None = None, epsilon: Any,
        request: str | None = None,
    ) -> Answer:  # fmt: skip
        """How many rows have each public value, or are in each bin, of a column or several together."""
        return self.ask(ContingencyTable(by, bins, where), epsilon, request)

    def price(self, query: Query | str, epsilon: Any) -> dict[str, Any]:
        """What a question costs and how noisy its answer is, without asking it: nothing is charged."""
        asked = epsilon_of(epsilon, i_know=True)
        query = parse_query(query)
        self._check(query, None)
        parts = query.parts(self.public, self.unit)
        shares = sum(part.share for part in parts)
        scales = [float(part.sensitivity * part.step * shares / part.share / float(asked)) for part in parts]
        return {
            "cost": PrivacyCost(asked),
            "scales": scales,
            "numbers": sum(part.width for part in parts),
            "left": self.left,
        }

    def ask(self, query: Query | str, epsilon: Any, request: str | None = None) -> Answer:
        """Ask a question, a value or a text such as "mean age where sex = F": it is charged, its noise is drawn, the
        answer is stored, and then given.

        A question that was answered before is answered by the same numbers, and costs nothing. `request` names a call,
        so that one that was interrupted can be made again without a second charge.
        """
        cost, query = PrivacyCost(epsilon_of(epsilon, i_know=True)), parse_query(query)
        parts = query.parts(self.public, self.unit)
        form = query.form(self.public)
        self._check(query, request)  # refused before it is charged
        normal = json.dumps(
            [form, self.unit.form(), str(cost.epsilon), str(cost.delta), "laplace", self._snapshot], sort_keys=True
        )
        number, stored = self.ledger.reserve(
            self.analyst, self.purpose, request or secrets.token_hex(16), normal, cost, self.budget, self.whole_budget,
            self.share,
        )  # fmt: skip
        if stored is not None:
            return replace(self._read(stored, form, query), again=True, cost=PrivacyCost(Decimal(0)))
        assert number is not None
        self.ledger.follow(number, COMMITTED)
        noisy, scales, mechanism = self._draw(query, parts, cost.epsilon)
        value, interval = query.answer(noisy, scales, self.public)
        written = json.dumps(
            {
                "value": _plain(value), "interval": interval, "scales": scales, "mechanism": mechanism,
                "epsilon": str(cost.epsilon),
            }
        )  # fmt: skip
        return self._read(self.ledger.follow(number, ANSWERED, written), form, query)

    def _check(self, query: Query, request: Any) -> None:
        """Refuse what cannot be asked of these columns: of no rows, so that it tells of none."""
        opendp()
        if request is not None and (not isinstance(request, str) or not request.isprintable()):
            raise PolicyError("a request must be a text", got=type(request).__name__)
        parameters.known_columns((*query.columns, *(one.column for one in query.conditions)), self.public.schema)
        self._rows.expression(query.conditions)
        try:
            query.exact(self._rows.nobody())
        except (pl.exceptions.PolarsError, ArithmeticError, TypeError, ValueError) as error:
            what = f"{query.name} cannot be asked of these columns"
            raise PolicyError(
                what, got=type(error).__name__, hint="compare values of the type of their column"
            ) from None

    def _draw(
        self, query: Query, parts: Sequence[Part], epsilon: Decimal
    ) -> tuple[list[list[float]], list[float], str]:
        """The noisy numbers of each part in the unit of its column, their scales, and the mechanism."""
        shares = sum(part.share for part in parts)
        noisy: list[list[float]] = []
        scales, mechanism = [], "geometric"
        for part, values in zip(parts, query.exact(self._rows), strict=True):
            own = EXACT_DOWN.divide(epsilon * part.share, Decimal(shares))
            if part.candidates is not None:
                noisy.append([part.candidates[choose(values.tolist(), part.score_change, own)]])
                scales.append(0.0)
                mechanism = "exponential"
                continue
            found = laplace(values.tolist(), part.sensitivity, own)
            noisy.append([value * part.step for value in found.values])
            scales.append(found.scale * part.step)
        return noisy, scales, mechanism

    def _read(self, stored: str, form: Mapping[str, Any], query: Query) -> Answer:
        found = json.loads(stored)
        interval = found["interval"]
        if isinstance(interval, list) and interval and isinstance(interval[0], list):
            interval = [tuple(ends) for ends in interval]
        elif isinstance(interval, list):
            interval = tuple(interval)
        value = found["value"]
        if isinstance(value, dict) and "frame" in value:
            value = pl.DataFrame(value["frame"])
        scales = found["scales"]
        return Answer(
            value, interval, scales[0] if len(scales) == 1 else tuple(scales), found["mechanism"],
            PrivacyCost(Decimal(found["epsilon"])), form, query.how,
        )  # fmt: skip


def _plain(value: Any) -> Any:
    return {"frame": value.to_dict(as_series=False)} if isinstance(value, pl.DataFrame) else value
