"""What a policy would have to say for a table to keep it: all of it holds in verify, and nothing stricter does."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.criteria import CRITERIA
from sfumato.criteria.beta_likeness import BetaLikeness
from sfumato.criteria.delta_disclosure import DeltaDisclosure
from sfumato.errors import ColumnError
from sfumato.hierarchies import wide
from sfumato.measures.risk import achieved
from sfumato.release.verify import verify_table
from tests.fuzz import examples

MAKE = {name: variant.make for name, variant in CRITERIA.items()}
MAKE |= {"beta-likeness": BetaLikeness, "delta-disclosure": DeltaDisclosure}
TREE = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"], ["d", "d", "*"]]


def holds(table, entry, **more):
    parameters = {name: value for name, value in entry.items() if name != "model"}
    return verify_table(table, [["q"]], [MAKE[entry["model"]](**parameters)], **more).holds


def stricter(entry):
    """A little more than achieved, or None where there is no more to ask."""
    name = {"k-anonymity": "k", "distinct-l-diversity": "l", "entropy-l-diversity": "l"}.get(entry["model"])
    if name == "k" or entry["model"] == "distinct-l-diversity":
        return entry | {name: entry[name] + 1}
    if name == "l":
        return entry | {"l": entry["l"] * (1 + 1e-7)}
    name = {
        "recursive-cl-diversity": "c",
        "t-closeness": "t",
        "alpha-k": "alpha",
        "beta-likeness": "beta",
        "delta-disclosure": "delta",
    }[entry["model"]]
    less = entry[name] - 1e-7 * (1 + entry[name])
    return entry | {name: less} if less > 0 else None


def test_four_rows_by_hand():
    # classes (x, x) and (x, y); the whole is 3/4 x, 1/4 y
    table = {"q": [1, 1, 2, 2], "s": ["x", "x", "x", "y"]}
    found = achieved(table, ["q"], ["s"])
    assert found["k"] == 2
    values = found["sensitive"]["s"]
    assert (values["distinct_l"], values["entropy_l"], values["recursive_c"]) == (1, 1.0, {})
    assert values["t"]["equal"] == pytest.approx(1 / 4)
    assert list(values["t"]) == ["equal", "kl"]  # names have no order
    numbers = achieved({"q": [1, 1, 2, 2], "s": [5, 5, 5, 9]}, ["q"], ["s"])["sensitive"]["s"]
    assert numbers["t"]["equal"] == numbers["t"]["ordered"] == pytest.approx(1 / 4)
    assert values["t"]["kl"] == pytest.approx(math.log(4 / 3))  # and 1/2 ln(2/3) + 1/2 ln 2 for the other
    assert values["alpha"] == 1
    assert values["beta"] == pytest.approx(1)  # y has 1/2 instead of 1/4
    assert values["enhanced_beta"] is None  # x has 1/3 more, above -ln(3/4)
    assert values["delta"] is None  # the first class lacks y
    assert values["delta_present"] == pytest.approx(1)


def test_a_diverse_table_by_hand():
    # classes x y z z and x x y z: both of entropy 1.0397 = 1.5 ln 2; r1 = 2, tails 2 and 1
    table = {"q": [1] * 4 + [2] * 4, "s": list("xyzz") + list("xxyz")}
    values = achieved(table, ["q"], ["s"])["sensitive"]["s"]
    assert values["distinct_l"] == 3
    assert values["entropy_l"] == pytest.approx(2 * math.sqrt(2))
    assert values["recursive_c"] == {"2": pytest.approx(1, abs=1e-9), "3": pytest.approx(2, abs=1e-9)}
    assert values["alpha"] == 0.5
    assert values["beta"] == values["enhanced_beta"] == pytest.approx(1 / 3)  # 1/2 instead of 3/8
    assert values["delta"] == pytest.approx(math.log2(3 / 2))  # 1/4 instead of 3/8


def test_the_salaries_of_the_textbook():
    table = pl.DataFrame({"q": [1, 1, 1, 2, 2, 2, 3, 3, 3], "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10]})
    found = achieved(table, ["q"], ["salary"])
    assert (found["k"], found["sensitive"]["salary"]["distinct_l"]) == (3, 3)
    assert found["sensitive"]["salary"]["t"]["ordered"] == pytest.approx(0.375)


SMALL = st.lists(
    st.tuples(st.sampled_from(["1", "2", "3"]), st.sampled_from(["a", "b", "c", "d"])), min_size=1, max_size=24
)


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(SMALL)
def test_what_is_achieved_holds_and_nothing_stricter(rows):
    table = pl.DataFrame(rows, schema={"q": pl.String, "s": pl.String}, orient="row")
    found = achieved(table, ["q"], ["s"], hierarchies={"s": wide(TREE)})
    models = {entry["model"] for entry in found["require"]}
    assert {"k-anonymity", "distinct-l-diversity", "entropy-l-diversity", "t-closeness", "alpha-k"} <= models
    for entry in found["require"]:
        trees = {"hierarchies": {"s": TREE}}
        assert holds(table, entry, **trees), entry
        more = stricter(entry)
        if more is not None:
            assert not holds(table, more, **trees), more
    json.dumps(found, allow_nan=False)


@pytest.mark.slow
@given(SMALL)
def test_what_no_parameter_mends_does_not_hold_with_any(rows):
    table = pl.DataFrame(rows, schema={"q": pl.String, "s": pl.String}, orient="row")
    values = achieved(table, ["q"], ["s"])["sensitive"]["s"]
    if values["enhanced_beta"] is None:
        assert not holds(table, {"model": "beta-likeness", "attribute": "s", "beta": 100, "kind": "enhanced"})
    if values["delta"] is None:
        assert not holds(table, {"model": "delta-disclosure", "attribute": "s", "delta": 100})
    missing = values["distinct_l"] + 1
    assert not holds(table, {"model": "recursive-cl-diversity", "attribute": "s", "c": 1e9, "l": missing})


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(*[st.sampled_from(["1", "2", None, "*"])] * 2, st.sampled_from("ab")), min_size=1, max_size=9)
)
def test_wildcards_hold_as_well(rows):
    table = pl.DataFrame(rows, schema={"q": pl.String, "r": pl.String, "s": pl.String}, orient="row")
    found = achieved(table, ["q", "r"], ["s"], wildcard=True)
    assert [entry["model"] for entry in found["require"]] == ["k-anonymity", "distinct-l-diversity"]
    for entry in found["require"]:
        for asked, kept in ((entry, True), (stricter(entry), False)):
            parameters = {name: value for name, value in asked.items() if name != "model"}
            criterion = MAKE[entry["model"]](**parameters)
            found_holds = verify_table(table, [["q", "r"]], [criterion], wildcard=True, wildcards=["*"]).holds
            assert found_holds == kept


def test_sdcmicro_on_testdata(shared):
    told = json.loads((shared / "oracles/sdc.json").read_text())["l_diversity"]
    for case in ("k5_electcon", "k3_relat"):
        quasi, attribute = told[case]["keyVars"], told[case]["sensitive"]
        table = pl.read_csv(shared / "data/sdc/testdata.csv", infer_schema_length=None)
        values = achieved(table, quasi, [attribute])["sensitive"][attribute]
        least = told[case]["col_min"]
        assert values["distinct_l"] == least[f"{attribute}_Distinct_Ldiversity"]
        assert values["entropy_l"] == pytest.approx(least[f"{attribute}_Entropy_Ldiversity"], abs=1e-12)


def test_nasty_columns():
    one = achieved({"q": [1], "s": [None]}, ["q"], ["s"])
    assert (one["k"], one["sensitive"]["s"]["t"]["equal"]) == (1, 0)
    found = achieved({"q": ["ü", "ü", None], "s": [2**60, 2**60 + 1, float("nan")]}, ["q"], ["s"])
    assert found["sensitive"]["s"]["distinct_l"] == 1
    assert achieved({"q": [1, 1, 1]}, ["q"])["require"] == [{"model": "k-anonymity", "k": 3}]


def test_refusals():
    with pytest.raises(ColumnError, match="both"):
        achieved({"q": [1]}, ["q"], ["q"])
    with pytest.raises(ColumnError, match="no column"):
        achieved({"q": [1]}, ["q"], ["s"])
