"""Rules for cells, by the worked values of the specification and by hand."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, PolicyError
from sfumato.tables.rules.model import primary_cells


def steel(*held: float, negative: bool = False) -> sf.StatTable:
    """A table of one sector."""
    sign = [-1 if negative and i % 2 else 1 for i in range(len(held))]
    data = {"sector": ["steel"] * len(held), "firm": range(len(held)), "pay": np.array(held) * sign}
    return sf.tabulate(data, by=["sector"], value="pay", contributor="firm")


@pytest.mark.parametrize(
    ("rule", "unsafe", "above"),
    [
        (sf.PPercent(10), False, 0),
        (sf.PPercent(15), True, 0.5),
        (sf.PPercent(100 / 7), False, 0),  # exactly at the bound
        (sf.Dominance(2, 85), True, 100 / 85 * 90 - 100),
        (sf.Dominance(2, 90), False, 0),
        (sf.Dominance(1, 60), True, 100 / 60 * 70 - 100),
        (sf.PriorPosterior(15, 100), True, 0.5),
        (sf.PriorPosterior(5, 25), True, 4),
        (sf.MinimumFrequency(4), False, 0),
        (sf.MinimumFrequency(5), True, 10),
    ],
)
@pytest.mark.parametrize("negative", [False, True])
def test_worked_values(rule: object, unsafe: bool, above: float, negative: bool) -> None:
    table = steel(70, 20, 6, 4, negative=negative)
    found = rule.unsafe(table)
    assert found.cells[1] == unsafe
    if not (negative and isinstance(rule, sf.MinimumFrequency)):
        assert found.above[1] == pytest.approx(above)
        assert found.below[1] == pytest.approx(above)


def test_one_contributor_alone_is_unsafe_by_every_rule_of_sums() -> None:
    for rule in (sf.PPercent(5), sf.Dominance(1, 99), sf.PriorPosterior(5, 50)):
        assert rule.unsafe(steel(7)).cells.all()
        assert not rule.unsafe(steel(0)).cells.any()


def test_holdings_are_added_up_first() -> None:
    data = {"a": ["x"] * 4, "firm": [1, 1, 2, 3], "pay": [40, 40, 10, 10]}
    assert sf.Dominance(1, 75).unsafe(sf.tabulate(data, by=["a"], value="pay", contributor="firm")).cells.all()
    assert not sf.Dominance(1, 75).unsafe(sf.tabulate(data, by=["a"], value="pay")).cells.any()


def test_a_total_in_one_cell_makes_it_and_the_empty_ones_unsafe() -> None:
    data = {"ward": ["A"] * 5 + ["B"] * 5, "ill": ["HIV"] * 5 + ["flu", "HIV"] * 2 + ["flu"]}
    table = sf.tabulate(data, by=["ward", "ill"])
    unsafe = table.labelled().filter(sf.GroupDisclosure().unsafe(table).cells.ravel())
    assert unsafe.rows() == [("A", "HIV"), ("A", "flu"), ("B", "flu")]  # all who have flu are in B
    safe = sf.protect(table, rules=[sf.GroupDisclosure()])
    ranges = {(r["ward"], r["ill"]): (r["low"], r["high"]) for r in safe.audit().intervals.to_dicts()}
    assert ranges["A", "HIV"][0] < 5
    assert ranges["A", "flu"][1] > 0


def test_a_request_hides_a_small_cell() -> None:
    data = {"a": ["x"] * 3 + ["y"] * 12, "no": [True] + [False] * 13 + [True]}
    table = sf.tabulate(data, by=["a"], request="no")
    assert sf.Requests(10).unsafe(table).cells.tolist() == [False, True, False]
    with pytest.raises(PolicyError, match="who asked for confidentiality"):
        sf.Requests().unsafe(sf.tabulate(data, by=["a"]))
    with pytest.raises(ColumnError, match="true and false"):
        sf.tabulate({"a": ["x"], "no": [7]}, by=["a"], request="no")


def test_several_rules_give_the_widest_protection_and_the_first_name() -> None:
    found = primary_cells([sf.MinimumFrequency(5), sf.PPercent(15), sf.PPercent(40)], steel(70, 20, 6, 4))
    assert found.rule.tolist() == [0, 0]
    assert found.above[1] == pytest.approx(18)  # 40% of 70, less the rest


def test_an_unsafe_sum_of_nothing_is_hidden() -> None:
    data = {"sex": list("ffffffmmmmmm"), "age": list("yyyyyoyyyooo"), "pay": [3, 3, 3, 3, 4, 0, 3, 3, 3, 7, 7, 6]}
    safe = sf.protect(sf.tabulate(data, by=["sex", "age"], value="pay"), rules=sf.MinimumFrequency(3))
    assert safe.data.filter(sex="f", age="o")["value"].to_list() == [None]
    assert safe.audit().exposed == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.MinimumFrequency(1), lambda: sf.Dominance(0, 50), lambda: sf.Dominance(2, 101),
        lambda: sf.PPercent(0), lambda: sf.PriorPosterior(50, 10), lambda: sf.Requests(0),
    ],
)  # fmt: skip
def test_parameters_out_of_range(make: object) -> None:
    with pytest.raises(PolicyError):
        make()


def test_more_contributions_than_the_table_has() -> None:
    with pytest.raises(PolicyError, match="tabulate with largest=7"):
        sf.Dominance(7, 90).unsafe(steel(1, 2, 3))
