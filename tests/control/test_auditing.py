"""Auditing: random queries until they are refused determine nobody, by brute force over all tables that fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import sfumato as sf
from sfumato.control import AssumedKeysWarning, OfflineAuditingWarning
from sfumato.errors import ColumnError, PolicyError, QueryRefused
from tests.control.test_row_space import determined
from tests.fuzz import FUZZ

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.control.AssumedKeysWarning")

Asked = tuple[str, tuple[int, ...]]  # kind and rows


def database(values: Any, *controls: Any, **more: Any) -> sf.StatisticalDatabase:
    table = {"row": list(range(len(values))), "wage": [float(x) for x in values]}
    return sf.StatisticalDatabase(table, controls=list(controls), values=["wage"], **more)


def text(asked: Asked) -> str:
    kind, rows = asked
    return f"{kind}{'' if kind == 'count' else ' wage'} where row in ({', '.join(map(str, rows))})"


def told(one: sf.StatisticalDatabase, asked: Asked) -> float | None:
    try:
        return one.ask(text(asked)).value
    except QueryRefused:
        return None


def random_queries(draws: np.random.Generator, people: int, kinds: tuple[str, ...], many: int) -> Iterator[Asked]:
    for _ in range(many):
        size = int(draws.integers(1, people + 1))
        yield str(draws.choice(kinds)), tuple(sorted(draws.choice(people, size, replace=False).tolist()))


def true(asked: Asked, values: tuple[float, ...]) -> float:
    own = [values[i] for i in asked[1]]
    return {"sum": sum(own), "mean": sum(own) / len(own), "max": max(own), "min": min(own), "count": len(own)}[asked[0]]


def test_examples_of_the_specification() -> None:
    sums = database([1, 2, 3], sf.SumAuditing())
    assert told(sums, ("sum", (0, 1, 2))) == 6
    assert told(sums, ("sum", (1, 2))) is None
    overlaps = database([1, 2, 3, 4, 5], sf.SumAuditing())
    assert [told(overlaps, ("sum", rows)) for rows in ((0, 1, 2), (2, 3, 4), (0, 1, 3, 4))] == [6, 12, None]
    extremes = database([7, 5, 9], sf.ExtremeAuditing())
    assert told(extremes, ("max", (0, 1, 2))) == 9
    assert told(extremes, ("max", (0, 1))) is None


def test_offline_auditing_answers_what_does_not_tell() -> None:
    with pytest.warns(OfflineAuditingWarning):
        extremes = database([9, 5, 9, 4], sf.ExtremeAuditing(), auditing="offline")
    assert told(extremes, ("max", (0, 1, 2, 3))) == 9
    assert told(extremes, ("max", (0, 2, 3))) == 9  # two people may have it
    assert told(extremes, ("max", (0, 1))) is None  # 9 would be that of the first, if all values differ


@pytest.mark.parametrize("seed", range(8 * FUZZ))
def test_sums_determine_nobody(seed) -> None:
    draws = np.random.default_rng(seed)
    people = int(draws.integers(2, 8))
    one = database(draws.integers(0, 100, people), sf.SumAuditing())
    answered = []
    for asked in random_queries(draws, people, ("sum", "mean"), 12):
        if told(one, asked) is not None:
            answered.append([int(i in asked[1]) for i in range(people)])
        assert determined(answered, people) == []
    assert answered or people < 4


def fits(asked: list[tuple[Asked, float]], people: int) -> np.ndarray:
    """All tables that give these answers, of values that stand for all: those that were told, and between each two and
    beyond each end as many as there are people."""
    told_values = sorted({answer for _, answer in asked})
    ends = [told_values[0] - 1, *told_values, told_values[-1] + 1]
    levels = {a + (b - a) * i / people for a, b in pairwise(ends) for i in range(people + 1)}
    tables = np.array(list(product(sorted(levels), repeat=people)))
    for (kind, rows), answer in asked:
        own = tables[:, rows]
        tables = tables[(own.max(axis=1) if kind == "max" else own.min(axis=1)) == answer]
    return tables


@pytest.mark.parametrize("auditing", ["simulatable", "offline"])
@pytest.mark.parametrize("seed", range(10 * FUZZ))
@pytest.mark.filterwarnings("ignore::sfumato.control.OfflineAuditingWarning")
def test_extremes_determine_nobody(seed, auditing) -> None:
    draws = np.random.default_rng(seed)
    people = int(draws.integers(3, 5))
    distinct = bool(seed % 2)
    values = draws.permutation(people) if distinct else draws.integers(0, 3, people)
    one = database(values, sf.ExtremeAuditing(), auditing=auditing)
    answered: list[tuple[Asked, float]] = []
    for asked in random_queries(draws, people, ("max", "min"), 10):
        if (answer := told(one, asked)) is not None:
            answered.append((asked, answer))
    if not answered:
        return
    possible = fits(answered, people)
    assert (possible != possible[0]).any(axis=0).all()
    if distinct:  # nor does it help to know that all values differ
        ordered = np.sort(possible, axis=1)
        apart = possible[(ordered[:, 1:] != ordered[:, :-1]).all(axis=1)]
        assert (apart != apart[0]).any(axis=0).all()


@pytest.mark.parametrize("size", [1e17, -1e17, 1e-300])
def test_extremes_of_any_size_determine_nobody(size) -> None:
    one = database([3.0, 5.0, size, 2.0], sf.ExtremeAuditing())
    kind = "max" if size > 1 else "min"
    assert told(one, (kind, (0, 1, 2))) is not None
    assert told(one, (kind, (0, 1, 3))) is None  # another answer would leave the first to the third person


def test_sums_tell_nothing_but_sums() -> None:
    """Pairs that no set divides: whatever their parts are, all sums and means are the same to the last digit."""
    pairs = [(3.1, 4.4), (0.7, 2.6), (8.3, 1.6)], [(0.2, 7.3), (1.9, 1.4), (5.7, 4.2)]
    said = []
    for table in pairs:
        one = database([a for a, _ in table] + [b for _, b in table], sf.SumAuditing())
        sets = [part for size in (1, 2, 3) for part in combinations(range(3), size)]
        both = [(*part, *(i + 3 for i in part)) for part in sets]
        said.append([told(one, (kind, rows)) for kind in ("sum", "mean") for rows in both])
    assert said[0] == said[1]
    assert said[0][0] == 7.5


def test_refusals_of_extremes_do_not_tell_what_rounding_hides(recwarn) -> None:
    with pytest.raises(PolicyError, match="what rounding hides"):
        database([1, 2, 3], sf.ExtremeAuditing(), sf.RoundedAnswers(5))
    database([1, 2, 3], sf.ExtremeAuditing(), sf.RoundedAnswers(5), auditing="offline")
    database([1, 2, 3], sf.SumAuditing(), sf.RoundedAnswers(5))


@pytest.mark.parametrize("seed", range(4 * FUZZ))
@pytest.mark.parametrize("kinds", [("sum", "mean"), ("max", "min"), ("max", "sum")], ids="-".join)
def test_refusals_tell_nothing(seed, kinds) -> None:
    """Tables that give the same answers give the same refusals, so that whoever counts these too knows no more."""
    draws = np.random.default_rng(seed)
    asked = list(random_queries(draws, 3, kinds, 4))
    said: dict[tuple[Any, ...], set[tuple[bool, ...]]] = {}
    controls = (sf.SumAuditing(), sf.ExtremeAuditing())
    for values in product(range(3), repeat=3):
        one = database(values, *controls)
        answers = [told(one, query) for query in asked]
        for end in range(1, len(answers) + 1):
            before = tuple(answers[: end - 1])
            said.setdefault((end, before), set()).add((answers[end - 1] is None,))
    assert all(len(refused) == 1 for refused in said.values())


def test_nobody_is_in_a_sum_and_an_extreme() -> None:
    one = database([7, 7, 3, 4, 5], sf.SumAuditing(), sf.ExtremeAuditing())
    assert told(one, ("sum", (0, 1))) == 14
    assert told(one, ("max", (0, 1))) is None  # 7 would be both
    assert told(one, ("max", (2, 3, 4))) == 5
    assert told(one, ("sum", (2, 3, 4))) is None


def test_what_no_auditor_follows_is_refused() -> None:
    one = database([1, 2, 3, 4], sf.SumAuditing())
    assert told(one, ("max", (0, 1, 2))) is None
    assert told(one, ("count", (0,))) == 1  # of keys, which everybody knows
    with pytest.raises(QueryRefused, match='"wage", which is private'):
        one.ask("count where wage > 2")
    with pytest.raises(QueryRefused, match='"wage", which is private'):
        one.ask("sum wage where row > 0 or wage > 2")
    for least in (2, 9):  # whether or not anybody has so much
        with pytest.raises(QueryRefused, match='"wage", which is private'):
            one.ask(f"sum wage where wage > {least}")
    with pytest.raises(QueryRefused, match="nobody is in the query set"):
        one.ask("mean wage where row > 7")
    with pytest.raises(ColumnError, match=r'may not use "wgae".*did you mean "wage"'):
        one.ask("sum wgae")
    with pytest.raises(ColumnError, match="not among the values"):
        one.ask("sum row")
    assert one.ask("count where row > 7").value == 0


def test_keys_that_nobody_named_draw_a_warning(recwarn) -> None:
    with pytest.warns(AssumedKeysWarning, match='taken to know "row" of everybody'):
        database([1, 2, 3], sf.SumAuditing())
    recwarn.clear()
    database([1, 2, 3], sf.SumAuditing(), keys=["row"])
    database([1, 2, 3], sf.QuerySetSize(1))
    assert not recwarn.list
    with pytest.raises(ColumnError, match='may not use "ill"; allowed: sex'):
        sf.StatisticalDatabase(ILL, controls=[sf.SumAuditing()], keys=["sex"]).ask("count where ill = yes")


# Counts by private columns

ILL = {"sex": ["f", "f", "f", "m", "m", "m"], "ill": ["yes", "no", "no", "yes", "yes", "no"]}


def counts(ill: tuple[str, ...]) -> sf.StatisticalDatabase:
    return sf.StatisticalDatabase(
        {"row": list(range(len(ill))), "ill": list(ill)}, controls=[sf.CountAuditing(["ill"])], auditing="offline"
    )


@pytest.mark.filterwarnings("ignore::sfumato.control.OfflineAuditingWarning")
@pytest.mark.parametrize("seed", range(10 * FUZZ))
def test_counts_leave_everybody_open(seed) -> None:
    draws = np.random.default_rng(seed)
    people, kinds = int(draws.integers(2, 6)), ("yes", "no", "dead")[: 2 + seed % 2]
    ill = tuple(draws.choice(kinds, people).tolist())
    one, answered = counts(ill), []
    for _ in range(8):
        rows = tuple(draws.choice(people, int(draws.integers(1, people + 1)), replace=False).tolist())
        which = str(draws.choice(["yes", "no"]))
        try:
            found = one.ask(f"count where row in ({', '.join(map(str, rows))}) and ill = {which}").value
            answered.append((rows, which, found))
        except QueryRefused:
            pass
    known = sorted({*ill})
    possible = [
        table
        for table in product(known, repeat=people)
        if all(sum(table[i] == which for i in rows) == found for rows, which, found in answered)
    ]
    for rows, which, _ in answered:
        for i in rows if len(known) > 1 and which in known else ():
            assert len({table[i] == which for table in possible}) == 2


@pytest.mark.filterwarnings("ignore::sfumato.control.OfflineAuditingWarning")
def test_counts_of_classes() -> None:
    one = sf.StatisticalDatabase(ILL, controls=[sf.CountAuditing(["ill"])], auditing="offline")
    assert one.ask("count where ill = yes").value == 3
    assert one.ask("count where sex = f and ill = yes").value == 1
    with pytest.raises(QueryRefused, match="certain of somebody"):
        counts(("yes", "yes", "no")).ask("count where row in (0, 1) and ill = yes")
    assert one.ask("count where sex = m").value == 3


def test_counts_by_private_columns_need_offline_auditing() -> None:
    with pytest.raises(PolicyError, match="need offline auditing"):
        sf.StatisticalDatabase(ILL, controls=[sf.CountAuditing(["ill"])])


# Intervals


@pytest.mark.filterwarnings("ignore::sfumato.control.OfflineAuditingWarning")
@pytest.mark.parametrize("seed", range(6 * FUZZ))
def test_intervals_stay_open(seed) -> None:
    draws = np.random.default_rng(seed)
    people, interval = int(draws.integers(3, 8)), float(draws.choice([1.0, 3.0, 6.0]))
    values = draws.integers(0, 11, people)
    bounds = {"wage": (0, 10)}
    one = database(values, sf.SumAuditing(interval), bounds=bounds, auditing="offline")
    rows, answers = [], []
    for asked in random_queries(draws, people, ("sum",), 10):
        if (answer := told(one, asked)) is not None:
            rows.append([int(i in asked[1]) for i in range(people)])
            answers.append(answer)
    for i in range(people if rows else 0):
        cost = np.eye(people)[i]
        ends = [linprog(sign * cost, A_eq=rows, b_eq=answers, bounds=(0, 10)).fun for sign in (1, -1)]
        assert -ends[1] - ends[0] >= interval - 1e-6


@pytest.mark.filterwarnings("ignore::sfumato.control.OfflineAuditingWarning")
def test_an_extreme_sum_is_refused_with_bounds() -> None:
    one = database([0, 0, 5, 6], sf.SumAuditing(2), bounds={"wage": (0, 10)}, auditing="offline")
    assert told(one, ("sum", (0, 1))) is None
    assert told(one, ("sum", (2, 3))) == 11


def test_intervals_need_bounds_and_offline_auditing() -> None:
    with pytest.raises(PolicyError, match="by looking at the answers"):
        database([1, 2], sf.SumAuditing(1), bounds={"wage": (0, 10)})
    with pytest.raises(PolicyError, match="narrower than the interval"):
        database([1, 2], sf.SumAuditing(11), bounds={"wage": (0, 10)}, auditing="offline")
    with pytest.raises(PolicyError, match="bounds are of"):
        database([1, 2], sf.SumAuditing(), bounds={"wage": (0, 10)})
    with pytest.raises(PolicyError, match="beyond their bounds"):
        database([1, 20], sf.SumAuditing(1), bounds={"wage": (0, 10)}, auditing="offline")


# Cells


def test_unions_of_cells_determine_nobody() -> None:
    town = list("aaabbbbcc")
    data = {"town": town, "wage": [float(i) for i in range(9)]}
    one = sf.StatisticalDatabase(data, controls=[sf.CellRestriction("town", least=3)], values=["wage"])
    answered = []
    for size in range(1, 4):
        for towns in combinations("abc", size):
            query = f"sum wage where town in ({', '.join(towns)})"
            if "c" in towns:
                with pytest.raises(QueryRefused, match="not safe"):
                    one.ask(query)
            else:
                one.ask(query)
                answered.append([int(name in towns) for name in town])
    assert determined(answered, 9) == []
    with pytest.raises(QueryRefused, match="no control here audits a max"):
        one.ask("max wage where town = a")


def test_cells_by_p_percent() -> None:
    data = {"town": list("aaabbb"), "wage": [100.0, 5, 4, 30, 30, 30], "age": [1, 2, 3, 4, 5, 6]}
    one = sf.StatisticalDatabase(data, controls=[sf.CellRestriction(["town"], 3, p=10)], values=["wage"])
    assert one.ask("count where town = a").value == 3
    assert one.ask("sum wage where town = b").value == 90
    with pytest.raises(QueryRefused, match="not safe"):
        one.ask("sum wage where town = a")
    with pytest.raises(QueryRefused, match="over town alone"):
        one.ask("count where age < 4")
