"""Global recoding: own cuts, widths, equal counts, logarithms, merged categories, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.global_recoding import GlobalRecoding
from sfumato.release.facts import as_dict, check_public
from sfumato.verbs.steps import masker, parse
from tests.masking.conftest import Apply

AGES = pl.DataFrame({"age": [17, 18, 39, 40, 64, 65, None]})
PAY = pl.DataFrame({"pay": np.exp(np.random.default_rng(7).normal(10, 1, 5000)).round(2)})


def made(apply: Apply, step: str | GlobalRecoding, frame: pl.DataFrame) -> list[str | None]:
    one = parse(step) if isinstance(step, str) else step
    change = apply(one, frame)
    for fact in change.facts:
        assert check_public(change.columns, None, as_dict(fact, 0)).holds
        assert not check_public(frame, None, as_dict(fact, 0)).holds
    return change.columns[one.columns[0]].to_list()


def test_own_cuts_begin_intervals(apply: Apply) -> None:
    expected = ["< 18", "[18, 40)", "[18, 40)", "[40, 65)", "[40, 65)", ">= 65", None]
    assert made(apply, "global-recoding age cuts=18,40,65", AGES) == expected
    assert made(apply, "global-recoding age cuts=0.3", AGES.select(age=pl.Series([0.1 + 0.2, 0.3, 0.29]))) == [
        ">= 0.3", ">= 0.3", "< 0.3",
    ]  # fmt: skip


def test_widths_and_equal_width(apply: Apply) -> None:
    assert made(apply, "global-recoding age width=20", AGES)[:4] == ["[0, 20)", "[0, 20)", "[20, 40)", "[40, 60)"]
    assert set(made(apply, "global-recoding age groups=5", AGES)) == {
        "[10, 20)", "[30, 40)", "[40, 50)", "[60, 70)", None,
    }  # fmt: skip
    with pytest.raises(PolicyError, match="too many intervals; got 48,001"):
        apply(parse("global-recoding age width=0.001"), AGES)


@pytest.mark.parametrize("method", ["equal-count", "logarithmic"])
def test_cuts_from_values_are_round_and_open_at_the_ends(apply: Apply, method: str) -> None:
    labels = pl.Series(made(apply, GlobalRecoding("pay", groups=5, method=method), PAY)).value_counts(sort=True)
    assert labels.height == 5
    ends = {end for label in labels.to_series() for end in label.strip("[)<>= ").split(", ")}
    assert all(len(end.rstrip("0")) <= 2 for end in ends)
    assert sum(label.startswith(("<", ">=")) for label in labels.to_series()) == 2
    assert (labels["count"].min() > 800) == (method == "equal-count")


def test_weights_count_in_equal_counts(apply: Apply) -> None:
    frame, weights = pl.DataFrame({"x": np.arange(100.0)}), np.where(np.arange(100) < 10, 90.0, 10.0)
    change = apply(GlobalRecoding("x", groups=2, method="equal-count"), frame, weights=weights)
    assert change.facts[0].parameters == {"values": ["< 10", ">= 10"]}


def test_a_value_of_many_rows_begins_a_group(apply: Apply) -> None:
    frame = pl.DataFrame({"x": [0.0] * 50 + [12.0] * 200 + list(range(20, 70))})
    assert set(made(apply, GlobalRecoding("x", groups=3, method="equal-count"), frame)) == {"< 10", ">= 10"}


def test_categories_are_merged(apply: Apply) -> None:
    frame = pl.DataFrame({"town": ["A", "B", "C", None, "D"]})
    step = masker("global-recoding", columns="town", merge={"north": ["A", "B"]})
    assert made(apply, step, frame) == ["north", "north", "C", None, "D"]  # type: ignore[arg-type]
    assert masker("global-recoding", **step.parameters()) == step
    assert made(apply, GlobalRecoding("town", merge={"north": ["A", "B"]}, rest="other"), frame)[2:] == [
        "other", None, "other",
    ]  # fmt: skip
    codes = pl.DataFrame({"code": [1, 2, 3]})
    assert made(apply, GlobalRecoding("code", merge={"1-2": [1, 2]}), codes) == ["1-2", "1-2", "3"]
    for merge, message in (
        ({"north": ["A", "X"]}, 'not have all values that are merged; got "X"'),
        ({"C": ["A", "B"]}, 'values with the name of a new label; got "C"'),
    ):
        with pytest.raises(ColumnError, match=message):
            apply(GlobalRecoding("town", merge=merge), frame)


def test_strata_state_all_their_values(run: Any) -> None:
    frame = pl.DataFrame({"sex": ["f", "m"] * 20, "x": np.arange(40)})
    found = run(frame, GlobalRecoding("x", width=10, by="sex"))
    assert [fact.parameters["values"] for _, fact in found.facts] == [["[0, 10)", "[10, 20)", "[20, 30)", "[30, 40)"]]
    with pytest.raises(ColumnError, match="does not fit"):
        run(frame, GlobalRecoding("sex", width=10))


def test_rows_that_leave_take_their_labels_along(run: Any) -> None:
    found = run(AGES, GlobalRecoding("age", cuts=[18, 65]), masker("sampling", size=2))
    stated = {v for _, fact in found.facts if fact.fact == "among" for v in fact.parameters["values"]}
    assert stated == set(found.table["age"].drop_nulls())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "give one of groups, width, cuts and merge; got none"),
        ({"groups": 3, "width": 3}, "got groups, width"),
        ({"groups": 1}, "groups is out of range"),
        ({"width": 5, "method": "equal-count"}, "a method is for a number of groups"),
        ({"groups": 3, "method": "jenks"}, "unknown method"),
        ({"cuts": [3, 2]}, "ascend"),
        ({"merge": ["a"]}, "merge maps labels to lists"),
        ({"merge": {"x": ["a"], "y": ["a"]}}, 'names a value twice; got "a"'),
        ({"merge": {"x": []}}, "empty"),
        ({"cuts": [3], "rest": "other"}, "rest is for merged"),
    ],
)
def test_bad_parameters_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        masker("global-recoding", columns="x", **given)


def test_columns_that_cannot_be_cut_are_refused(apply: Apply) -> None:
    with pytest.raises(ColumnError, match="one value only"):
        apply(GlobalRecoding("x", groups=3), pl.DataFrame({"x": [3, 3]}))
    with pytest.raises(ColumnError, match="no number above 0"):
        apply(GlobalRecoding("x", groups=3, method="logarithmic"), pl.DataFrame({"x": [-3, 0]}))
