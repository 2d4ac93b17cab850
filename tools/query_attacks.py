"""Measures what breaks each query control, for docs/control/attacks.md: `python -m tools.query_attacks`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
from tools.query_pictures import ANSWERS, ERRORS, REBUILT, curve
from tools.table_pictures import IMAGES

import sfumato as sf
from sfumato.control import SetQuery, parse_set_query
from sfumato.control.attacks import rebuilt_share
from sfumato.control.attacks.targeted import TARGETED
from sfumato.core.mechanisms import laplace
from sfumato.core.wording import number, percent
from sfumato.errors import QueryRefused

PAGE = IMAGES.parent / "control" / "attacks.md"
PEOPLE, MANY, TARGETS, WORKLOAD = 300, 10_000, 10, 200
HIGH = 9000
KNOWN = ("sex", "age", "town")
OFFLINE: dict[str, Any] = {"auditing": "offline", "keys": KNOWN}


def staff(people: int = PEOPLE) -> pl.DataFrame:
    """A made-up company: who works where, and what they earn."""
    rng = np.random.default_rng(20)
    return pl.DataFrame(
        {
            "sex": rng.choice(["F", "M"], people),
            "age": rng.integers(20, 65, people),
            "town": rng.choice([f"town {letter}" for letter in "abcdefgh"], people),
            "wage": rng.integers(1200, HIGH, people),
            "ill": rng.choice(["yes", "no"], people, p=[0.4, 0.6]),
        }
    )


def private(table: pl.DataFrame, each: str = "0.1", total: str = "1") -> Callable[[], Callable[[SetQuery], float]]:
    """Differential privacy: sums with Laplace noise, each for a part of epsilon, until it is spent."""

    def fresh() -> Callable[[SetQuery], float]:
        left = [int(Decimal(total) / Decimal(each))]

        def ask(query: SetQuery) -> float:
            rows = query.where.rows(table)
            if query.kind not in ("sum", "count") or not left[0]:
                raise QueryRefused("the budget is spent, or the query has no bounds")
            left[0] -= 1
            value = int(rows.sum()) if query.kind == "count" else int(table["wage"].to_numpy()[rows].sum())
            noisy = laplace([value], 1 if query.kind == "count" else HIGH, Decimal(each))
            return float(noisy.values[0])

        return ask

    return fresh


def for_sums(table: pl.DataFrame) -> dict[str, Any]:
    """What stands against attacks on a number."""
    return {
        "size 1": [sf.QuerySetSize(1)],
        "size 20": [sf.QuerySetSize(20)],
        "size 5, overlap 1": [sf.QuerySetSize(5), sf.QuerySetOverlap(1)],
        "order 2": [sf.QueryOrder(2)],
        "size 20, sample 90%": [sf.QuerySetSize(20), sf.RandomSample(0.9)],
        "size 20, rounded to 1,000": [sf.QuerySetSize(20), sf.RoundedAnswers(1000, "random")],
        "auditing": [sf.SumAuditing(), sf.ExtremeAuditing()],
        "ε = 1, 10 answers": private(table),
    }


def for_counts(table: pl.DataFrame) -> dict[str, Any]:
    """What stands against attacks on a condition."""
    return {
        "size 20": [sf.QuerySetSize(20)],
        "size 20, sample 90%": [sf.QuerySetSize(20), sf.RandomSample(0.9)],
        "size 20, rounded to 5": [sf.QuerySetSize(20), sf.RoundedAnswers(5, "random")],
        "ε = 1, 10 answers": private(table),
    }


def audited(table: pl.DataFrame) -> dict[str, Any]:
    """Auditing of counts, which looks at the answers."""

    def fresh() -> Callable[[SetQuery], float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sf.OfflineAuditingWarning)
            database = sf.StatisticalDatabase(table, controls=[sf.CountAuditing(("ill",))], **OFFLINE)
        return lambda query: database.ask(query).value

    return {"auditing, 60 queries": fresh}


def against(*found: pl.DataFrame) -> str:
    """The table of attacks against controls: who is found out, and by how many queries."""
    both = pl.concat(found)
    controls = both["control"].unique(maintain_order=True).to_list()
    lines = [["attack", *controls], ["---"] * (len(controls) + 1)]
    for (name,), rows in both.group_by("attack", maintain_order=True):
        tried = {row["control"]: row for row in rows.iter_rows(named=True)}
        lines.append([str(name), *(_cell(tried.get(control)) for control in controls)])
    lines.append(["a guess", *[percent(both["guess"][0])] * len(controls)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "not tried"
    if row["nothing"] == 1:
        return "–"
    return f"{percent(row['right'])} ({number(round(row['queries']))})"


def costs() -> str:
    """What honest users lose: of sums over random groups, how many are refused, and how far others are off."""
    lines = ["| control | refused of 300 people | error | refused of 10,000 people | error |", "|" + " --- |" * 5]
    losses: dict[str, list[str]] = {}
    for people in (PEOPLE, MANY):
        table, queries = staff(people), list(workload())
        controls = {**for_sums(table), "ε = 1, 200 answers": private(table, "0.005")}
        for name, control in controls.items():
            ask = control() if callable(control) else _database(table, control)
            refused, off = 0, []
            for query in queries:
                true = float(table["wage"].to_numpy()[query.where.rows(table)].sum())
                try:
                    off.append(abs(ask(query) - true) / max(1.0, true))
                except QueryRefused:
                    refused += 1
            losses.setdefault(name, []).extend([percent(refused / WORKLOAD), percent(float(np.median(off)))])
    return "\n".join([*lines, *(f"| {name} | {' | '.join(lost)} |" for name, lost in losses.items())])


def workload() -> Iterator[SetQuery]:
    """Sums over groups that somebody may be interested in."""
    rng = np.random.default_rng(1)
    for _ in range(WORKLOAD):
        low = int(rng.integers(20, 55))
        parts = [f"age between {low} and {low + int(rng.integers(5, 30))}"]
        parts += [f"sex = {rng.choice(['F', 'M'])}"] if rng.random() < 0.5 else []
        parts += [f'town = "town {rng.choice(list("abcdefgh"))}"'] if rng.random() < 0.5 else []
        yield parse_set_query(f"sum wage where {' and '.join(parts)}")


def _database(table: pl.DataFrame, controls: Sequence[Any]) -> Callable[[SetQuery], float]:
    database = sf.StatisticalDatabase(table, controls=controls, values=["wage"], keys=list(KNOWN))
    return lambda query: database.ask(query).value


def private_curve() -> str:
    """The same of private answers, whose noise grows with their number."""
    secret = np.random.default_rng(5).random(REBUILT) < 0.5
    lines = ["| epsilon in all | " + " | ".join(f"{int(per * REBUILT):,} answers" for per in ANSWERS) + " |"]
    lines.append("| --- |" + " --- |" * len(ANSWERS))
    for epsilon in (1, 10, 100):
        shares = [
            np.mean([rebuilt_share(secret, n, n / epsilon, noise="laplace", seed=s) for s in range(5)])
            for n in (int(per * REBUILT) for per in ANSWERS)
        ]
        lines.append(f"| {epsilon} | " + " | ".join(percent(float(share)) for share in shares) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and write the tables between their marks in the page."""
    table = staff()
    known: dict[str, Any] = {"known": KNOWN, "targets": TARGETS}
    quick = [name for name in TARGETED if name not in ("extremes", "reconstruction")]  # audited counts take long
    counts = [
        sf.attack_controls(table, for_counts(table), secret="ill = yes", **known),
        sf.attack_controls(table, audited(table), secret="ill = yes", attacks=quick, most=60, **known),
    ]
    head = "| answers | " + " | ".join(map(number, ERRORS)) + " |\n|" + " --- |" * (len(ERRORS) + 1)
    rows = [f"| {int(per * REBUILT):,} | {' | '.join(map(percent, shares))} |" for per, shares in curve().items()]
    tables = {
        "rebuilt": "\n".join([head, *rows]),
        "private": private_curve(),
        "wages": against(sf.attack_controls(table, for_sums(table), secret="wage", **known)),
        "ill": against(*counts),
        "costs": costs(),
    }
    text = PAGE.read_text("utf-8")
    for name, measured in tables.items():
        start, end = f"<!-- measured: {name} -->\n", "<!-- end -->"
        before, _, rest = text.partition(start)
        text = f"{before}{start}\n{measured}\n\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
