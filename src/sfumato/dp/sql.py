"""SQL: a safe subset of SELECT, read into the queries that typed JSON and Python ask; its words are found by sqlglot.

Everything that is not in the grammar below is refused, with the reason and the place in the text:

    SELECT item, ... FROM name [WHERE condition AND ...] [GROUP BY column, ...] [;]

An item is a column that is grouped by, or an aggregate. A condition compares a column with a value: =, <>, !=, <, <=,
>, >=, [NOT] IN (...), [NOT] BETWEEN ... AND ..., IS [NOT] NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NoReturn

from sfumato.core.conditions import Condition
from sfumato.dp.queries.contingency_table import ContingencyTable
from sfumato.dp.queries.count import Count
from sfumato.dp.queries.covariance import Covariance
from sfumato.dp.queries.distinct_count import DistinctCount
from sfumato.dp.queries.grouped import Grouped
from sfumato.dp.queries.grouped_mean import GroupedMean
from sfumato.dp.queries.mean import Mean
from sfumato.dp.queries.quantile import NEAR, Quantile
from sfumato.dp.queries.query import Query
from sfumato.dp.queries.several import Several
from sfumato.dp.queries.sum import Sum
from sfumato.dp.queries.variance import StandardDeviation, Variance
from sfumato.errors import MissingExtra, PolicyError, SqlRefused, did_you_mean

LONGEST = 10_000  # characters
EXAMPLE = "SELECT sex, count(*), avg(age) FROM t WHERE age > 40 GROUP BY sex"

Make = Callable[[str, Any], Query]

OF_ONE: dict[str, Make] = {  # aggregates of one column
    "sum": lambda column, where: Sum(column, where),
    "avg": lambda column, where: Mean(column, where),
    "mean": lambda column, where: Mean(column, where),
    "variance": lambda column, where: Variance(column, where),
    "var_pop": lambda column, where: Variance(column, where),
    "stddev": lambda column, where: StandardDeviation(column, where),
    "stddev_pop": lambda column, where: StandardDeviation(column, where),
    "median": lambda column, where: Quantile(column, 0.5, where=where),
    "min": lambda column, where: Quantile(column, NEAR, where=where),
    "max": lambda column, where: Quantile(column, 1 - NEAR, where=where),
}
AGGREGATES = ("count", *OF_ONE, "covar_pop", "quantile", "percentile_cont")
INSTEAD = {
    "var_samp": "var_pop divides by the number of rows",
    "stddev_samp": "stddev_pop divides by the number of rows",
    "covar_samp": "covar_pop divides by the number of rows",
}
NOT_HERE = {  # words that people may write, and what is said to them
    "JOIN": "a join: one table is asked",
    "INNER": "a join: one table is asked",
    "LEFT": "a join: one table is asked",
    "RIGHT": "a join: one table is asked",
    "FULL": "a join: one table is asked",
    "CROSS": "a join: one table is asked",
    "NATURAL": "a join: one table is asked",
    "SELECT": "a query within a query",
    "WITH": "a query within a query",
    "UNION": "several queries in one",
    "INTERSECT": "several queries in one",
    "EXCEPT": "several queries in one",
    "OR": "OR: conditions are joined by AND",
    "HAVING": "HAVING: it would tell which groups are small; filter the answer yourself, which is free",
    "ORDER BY": "ORDER BY: sort the answer yourself, which is free",
    "LIMIT": "LIMIT: cut the answer yourself, which is free",
    "OFFSET": "OFFSET: cut the answer yourself, which is free",
    "OVER": "a window",
    "WINDOW": "a window",
    "FILTER": "FILTER: put the condition into WHERE",
    "AS": "an alias: columns of the answer are called as what is asked",
    "CASE": "CASE: it is of one row",
    "CAST": "CAST: it is of one row",
    "LIKE": "LIKE: values are compared whole",
    "DISTINCT": "SELECT DISTINCT: values of the table cannot be listed",
}
SIGNS = {"=": "=", "==": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
WORDS, NAMES, TEXTS, NUMBERS = "word", "name", "text", "number"


@dataclass(frozen=True)
class Select:
    """A statement: the table that it names, and what is asked of it."""

    table: str
    query: Query


@dataclass(frozen=True)
class Token:
    """A word of the text: its kind, what it says, and the character that it begins at."""

    kind: str  # of a word that stands for itself: the word, in capitals
    text: str
    start: int


def looks_like_sql(text: Any) -> bool:
    """Whether a question is put in SQL.

    >>> looks_like_sql("select count(*) from t"), looks_like_sql("count where age > 40")
    (True, False)
    """
    return isinstance(text, str) and text.lstrip()[:7].rstrip("\"'( \t\r\n").lower() in ("select", "with")


def parse_sql(text: Any, columns: Collection[str] | None = None) -> Select:
    """What a statement asks, or SqlRefused, which says why and where; `columns` are those of the table, if known.

    >>> parse_sql("SELECT avg(age) FROM t WHERE sex = 'F'").query
    Mean(column='age', where=(Condition(column='sex', sign='=', values=('F',)),))
    """
    if not isinstance(text, str):
        raise PolicyError("SQL must be a text", got=type(text).__name__, allowed=EXAMPLE)
    if len(text) > LONGEST:
        raise PolicyError("SQL is too long", got=f"{len(text):,} characters", allowed=f"{LONGEST:,}")
    return _Statement(text, columns).select()


def _tokens(text: str) -> list[Token]:
    """The words of a text. Nothing but white space may stand between them: no comment, no unknown sign."""
    try:
        from sqlglot import TokenType, tokenize
        from sqlglot.errors import TokenError
    except ImportError:
        raise MissingExtra("sqlglot", "dp") from None
    kinds = {TokenType.VAR: NAMES, TokenType.IDENTIFIER: NAMES, TokenType.STRING: TEXTS, TokenType.NUMBER: NUMBERS}
    try:
        words = tokenize(text)
    except TokenError:
        _refuse(text, _unclosed(text), "a quote or a comment is not closed")
    found: list[Token] = []
    end = 0
    for word in words:
        _no_comment(text, end, word.start)
        if word.token_type is TokenType.VAR and not word.text.replace("_", "a").isalnum():
            _refuse(text, word.start, f"{word.text[:20]!r} is no name; names with other signs stand in double quotes")
        found.append(Token(kinds.get(word.token_type, word.text.upper()), word.text, word.start))
        end = word.end + 1
    _no_comment(text, end, len(text))
    return found


def _no_comment(text: str, start: int, end: int) -> None:
    between = text[start:end]
    if between.strip():
        _refuse(text, start + len(between) - len(between.lstrip()), "a comment: a question has none")


def _unclosed(text: str) -> int:
    """About where a quote or comment begins that does not end."""
    return max(0, *(text.rfind(sign) for sign in ("'", '"', "/*", "`")))


def _refuse(text: str, at: int, why: str, hint: str | None = None) -> NoReturn:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    raise SqlRefused(f"this SQL cannot be asked: {why}", line=line, column=column, position=at, hint=hint)


class _Statement:
    """One pass over the words, from the first to the last."""

    def __init__(self, text: str, columns: Collection[str] | None) -> None:
        self.text, self.columns = text, columns
        self.tokens = _tokens(text)
        self.at = 0

    # Words

    @property
    def place(self) -> int:
        """The character of the next word; the end of the text after the last."""
        return self.tokens[self.at].start if self.at < len(self.tokens) else len(self.text.rstrip())

    def peek(self, ahead: int = 0) -> str:
        """The kind of a word that comes; "" after the last."""
        at = self.at + ahead
        return self.tokens[at].kind if at < len(self.tokens) else ""

    def refuse(self, why: str, hint: str | None = None, at: int | None = None) -> NoReturn:
        _refuse(self.text, self.place if at is None else at, why, hint)

    def unexpected(self, wanted: str) -> NoReturn:
        """Refuse the next word: by a reason of its own, where it has one."""
        kind = self.peek()
        if not kind:
            self.refuse(f"it ends where {wanted} should be")
        if kind in NOT_HERE:
            self.refuse(NOT_HERE[kind])
        if kind == ";":
            self.refuse("a second statement" if self.peek(1) else f"it ends where {wanted} should be")
        if kind == "(" and self.peek(1) in ("SELECT", "WITH"):
            self.refuse("a query within a query")
        self.refuse(f"{self.tokens[self.at].text[:40]!r} stands where {wanted} should be")

    def take(self, kind: str, wanted: str = "") -> Token:
        if self.peek() != kind:
            self.unexpected(wanted or kind)
        self.at += 1
        return self.tokens[self.at - 1]

    def takes(self, kind: str) -> bool:
        """Whether the next word is of a kind; it is taken then."""
        if self.peek() != kind:
            return False
        self.at += 1
        return True

    def column(self) -> str:
        """The name of a column of the table."""
        if self.peek() == NAMES and self.peek(1) == "(":
            self.refuse(f"{self.tokens[self.at].text[:40]} is a function of one row, or an aggregate of another")
        kind = self.peek()
        if kind not in (NAMES, TEXTS, NUMBERS, *NOT_HERE) and kind.replace("_", "").isalnum():
            self.refuse(f"{kind} is a word of SQL", hint="a column of that name stands in double quotes")
        place, name = self.place, self.take(NAMES, "a column").text
        if self.peek() == ".":
            self.refuse("a column is named without its table")
        if self.columns is not None and name not in self.columns:
            self.refuse(f'the table has no column "{name}"', did_you_mean(name, self.columns), place)
        if self.peek() in ("+", "-", "*", "/", "%", "||", "::", "["):
            self.refuse("an expression of one row: columns are asked as they are")
        return name

    # Grammar

    def select(self) -> Select:
        if not self.tokens:
            self.refuse("it is empty", EXAMPLE)
        if self.peek() != "SELECT":
            self.refuse("only SELECT is asked" if self.peek() != "WITH" else NOT_HERE["WITH"])
        self.at += 1
        if self.peek() == "*":
            self.refuse("rows of the table cannot be listed", "ask for count(*), avg(age), ...")
        listed: list[tuple[int, str]] = []
        aggregates: list[tuple[int, str, Callable[[Any, Any], Query]]] = []
        while True:
            self.item(listed, aggregates)
            if not self.takes(","):
                break
        self.take("FROM")
        table = self.table()
        where = self.where()
        by = self.group_by(listed)
        if self.takes(";") and self.peek():
            self.refuse("a second statement")
        if self.peek():
            self.unexpected("the end")
        if not aggregates:
            self.refuse("nothing is counted", "ask for count(*), avg(age), ...", listed[0][0])
        queries = [self.made(place, make, where, by) for place, _, make in aggregates]
        if len({name for _, name, _ in aggregates}) < len(aggregates):
            self.refuse("something is asked twice", at=aggregates[-1][0])
        return Select(table, queries[0] if len(queries) == 1 else Several(queries))

    def made(self, place: int, make: Callable[[Any, Any], Query], where: Any, by: Any) -> Query:
        try:
            return make(where, by)
        except SqlRefused:
            raise
        except PolicyError as error:
            self.refuse(error.what, error.hint, place)

    def item(self, listed: list[tuple[int, str]], aggregates: list[Any]) -> None:
        """A column that is grouped by, or an aggregate."""
        place = self.place
        if self.peek(1) == "(" and self.peek() not in ("(", TEXTS, NUMBERS):
            begin = self.at
            make = self.aggregate(self.tokens[self.at].text.lower())
            said = " ".join(token.text for token in self.tokens[begin : self.at])
            aggregates.append((place, said, make))
        else:
            listed.append((place, self.column()))
        if self.peek() in ("+", "-", "*", "/", "%", "||", "::"):
            self.refuse("arithmetic: reckon with the answers yourself, which is free")

    def table(self) -> str:
        found = self.take(NAMES, "the name of the table").text
        if self.peek() == ".":
            self.refuse("a table is named without its schema")
        if self.peek() == ",":
            self.refuse(NOT_HERE["JOIN"])
        if self.peek() == NAMES:
            self.refuse("an alias of a table")
        return found

    def aggregate(self, name: str) -> Callable[[Any, Any], Query]:
        """An aggregate, which becomes a query by the filter and the groups."""
        if name not in AGGREGATES:
            hint = INSTEAD.get(name) or did_you_mean(name, AGGREGATES)
            self.refuse(f"{name} is no aggregate that is answered, or a function of one row", hint)
        self.at += 2
        if name == "count":
            return self.count()
        if name == "percentile_cont" and self.peek() == NUMBERS:
            share = self.share()
            for word in (")", "WITHIN", "GROUP", "(", "ORDER BY"):
                if self.at >= len(self.tokens) or self.tokens[self.at].text.upper() != word:
                    self.unexpected("WITHIN GROUP (ORDER BY column)")
                self.at += 1
            column = self.column()
            self.takes("ASC")
            return self.closed(self.grouped(lambda where: Quantile(column, share, where=where)))
        if self.peek() in ("DISTINCT", "ALL"):
            self.refuse(f"{self.peek()} is of count alone")
        column = self.column()
        if name in ("quantile", "percentile_cont"):
            self.take(",", "a comma and a share between 0 and 1")
            share = self.share()
            return self.closed(self.grouped(lambda where: Quantile(column, share, where=where)))
        if name == "covar_pop":
            self.take(",", "a comma and a second column")
            other = self.column()
            return self.closed(self.grouped(lambda where: Covariance(column, other, where)))
        if name in ("avg", "mean"):
            return self.closed(lambda where, by: GroupedMean(column, by, where=where) if by else Mean(column, where))
        return self.closed(self.grouped(lambda where: OF_ONE[name](column, where)))

    def count(self) -> Callable[[Any, Any], Query]:
        if self.takes("*"):
            return self.closed(lambda where, by: ContingencyTable(by, where=where) if by else Count(where))
        if self.takes("DISTINCT"):
            column = self.column()
            return self.closed(self.grouped(lambda where: DistinctCount(column, where)))
        known = Condition(self.column(), "!=", (None,))

        def counted(where: Any, by: Any) -> Query:
            there = (*(where or ()), known)
            return ContingencyTable(by, where=there) if by else Count(there)

        return self.closed(counted)

    def grouped(self, make: Callable[[Any], Query]) -> Callable[[Any, Any], Query]:
        """An aggregate that is asked in each group, where there are some."""
        return lambda where, by: Grouped(make(where), by) if by else make(where)

    def closed(self, make: Callable[[Any, Any], Query]) -> Callable[[Any, Any], Query]:
        self.take(")")
        if self.peek() in NOT_HERE and self.peek() in ("OVER", "FILTER"):
            self.refuse(NOT_HERE[self.peek()])
        if self.peek() == NAMES:
            self.refuse(NOT_HERE["AS"])
        return make

    def share(self) -> float:
        place, text = self.place, self.take(NUMBERS, "a share between 0 and 1").text
        try:
            found = float(text)
        except ValueError:
            found = -1.0
        if not 0 < found < 1:
            self.refuse("a share is above 0 and below 1", at=place)
        return found

    def where(self) -> tuple[Condition, ...] | None:
        if not self.takes("WHERE"):
            return None
        found = self.condition()
        while self.takes("AND"):
            found += self.condition()
        return found

    def condition(self) -> tuple[Condition, ...]:
        """A column that is compared with values; NOT IN and BETWEEN are several."""
        if self.peek() == "NOT":
            self.refuse("NOT: turn the sign round")
        if self.peek() == "EXISTS" or (self.peek() == "(" and self.peek(1) in ("SELECT", "WITH")):
            self.refuse("a query within a query")
        if self.peek() == "(":
            self.refuse("conditions in brackets: they are joined by AND alone, and need none")
        if self.peek() in (TEXTS, NUMBERS, "-", "TRUE", "FALSE", "NULL"):
            self.refuse("a condition begins with a column")
        column = self.column()
        if self.takes("IS"):
            sign = "!=" if self.takes("NOT") else "="
            self.take("NULL")
            return (Condition(column, sign, (None,)),)
        turned = self.takes("NOT")
        if self.takes("IN"):
            self.take("(")
            values = [self.value()]
            while self.takes(","):
                values.append(self.value())
            self.take(")", "a comma or )")
            if turned:
                return tuple(Condition(column, "!=", (value,)) for value in dict.fromkeys(values))
            return (Condition(column, "in", tuple(dict.fromkeys(values))),)
        if self.peek() == "BETWEEN":
            if turned:
                self.refuse("NOT BETWEEN: it is an OR")
            self.at += 1
            low = self.value()
            self.take("AND")
            return Condition(column, ">=", (low,)), Condition(column, "<=", (self.value(),))
        if turned or self.peek() not in SIGNS:
            self.unexpected("a comparison")
        sign = SIGNS[self.peek()]
        self.at += 1
        return (Condition(column, sign, (self.value(),)),)

    def value(self) -> str:
        """A number, a text, TRUE, FALSE, or DATE and a text."""
        if self.peek() == "NULL":
            self.refuse("nothing is equal to NULL", "IS NULL, or IS NOT NULL")
        if self.peek() in ("SELECT", "WITH"):
            self.refuse("a query within a query")
        if self.peek() == NAMES:
            one_row = "a function of one row" if self.peek(1) == "(" else "a second column"
            self.refuse(f"{one_row} where a value should be", "texts stand in single quotes")
        if self.peek() in ("DATE", "TIMESTAMP", "TIME") and self.peek(1) == TEXTS:
            self.at += 1
        sign = "-" if self.takes("-") else ""
        if self.peek() == NUMBERS:
            found = sign + self.take(NUMBERS).text
        elif sign:
            self.unexpected("a number")
        elif self.peek() in ("TRUE", "FALSE"):
            self.at += 1
            found = self.tokens[self.at - 1].text.lower()
        else:
            found = self.take(TEXTS, "a number, or a text in single quotes").text
        if self.peek() in ("+", "-", "*", "/", "%", "||", "::"):
            self.refuse("arithmetic: write the value itself")
        return found

    def group_by(self, listed: list[tuple[int, str]]) -> tuple[str, ...]:
        """The columns of the groups, in the order in which they are listed."""
        names: list[str] = []
        if self.takes("GROUP BY"):
            while True:
                place, name = self.place, self.column()
                if name in names:
                    self.refuse(f'"{name}" is grouped by twice', at=place)
                if name not in [other for _, other in listed]:
                    self.refuse(f'"{name}" is grouped by, and not selected', "select it, too", place)
                names.append(name)
                if not self.takes(","):
                    break
        for i, (place, name) in enumerate(listed):
            if name not in names:
                hint = f"GROUP BY {name}, or an aggregate of it"
                self.refuse(f'"{name}" is selected, and not grouped by: rows cannot be listed', hint, place)
            if name in [other for _, other in listed[:i]]:
                self.refuse(f'"{name}" is selected twice', at=place)
        return tuple(name for _, name in listed)
