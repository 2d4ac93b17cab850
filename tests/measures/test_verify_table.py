"""Verify a table: against grouping and matching by brute force in plain Python."""

from __future__ import annotations

import datetime as dt
import doctest
import math
import subprocess
import sys
from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato.release.verify
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.printed import new_rows
from sfumato.criteria import (
    CRITERIA,
    AlphaK,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveCLDiversity,
    TCloseness,
)
from sfumato.criteria.known_population import MEMBERSHIP
from sfumato.errors import ColumnError, PolicyError
from sfumato.release.verify import verify_table

OF_TABLES = [name for name, one in CRITERIA.items() if MEMBERSHIP not in one.example.needs]  # without a population

TEXT = ["a", "b", "", None, "ß", "ss", "é", "e\u0301", "\U0001f600", "a\x00", "a ", "null", "NaN", "*", '"', "a,b"]
COLUMNS = {
    "text": (pl.String, st.sampled_from(TEXT)),
    "decimal": (pl.Float64, st.sampled_from([0.0, -0.0, math.nan, None, 1.5, math.inf, -math.inf, 1e300, 5e-324])),
    "integer": (pl.Int64, st.sampled_from([0, None, 2**63 - 1, 2**63 - 2, -(2**63), 2**53, 2**53 + 1])),
    "wide": (pl.Int128, st.sampled_from([0, None, 2**64, 2**64 + 1, -(2**100)])),
    "boolean": (pl.Boolean, st.sampled_from([True, False, None])),
    "day": (pl.Date, st.sampled_from([None, dt.date(1, 1, 1), dt.date(2024, 2, 29)])),
    "category": (pl.Categorical, st.sampled_from(["x", "y", "", None])),
    "s": (pl.String, st.sampled_from(["flu", "cold", "HIV", "", None])),
}
QUASI = [name for name in COLUMNS if name != "s"]


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 14))
    data = {name: draw(st.lists(v, min_size=rows, max_size=rows)) for name, (_, v) in COLUMNS.items()}
    return pl.DataFrame(data, schema={name: dtype for name, (dtype, _) in COLUMNS.items()})


def told(value):
    """One key per value that readers can tell from others: null, NaN, the empty text and both zeros are different."""
    return repr(value) if isinstance(value, float) else value


def same(value):
    """One key per value: missing is one value, and so is zero."""
    if value is None or value == "" or value != value:
        return None
    return 0.0 if isinstance(value, float) and value == 0 else value


def brute_force(table, quasi):
    """Rows of each class, by a Python dictionary."""
    classes = defaultdict(list)
    for row in table.iter_rows(named=True):
        classes[tuple(told(row[name]) for name in quasi)].append(same(row["s"]))
    return list(classes.values())


@given(tables(), st.lists(st.sampled_from(QUASI), min_size=1, max_size=3))
def test_groups_are_those_of_brute_force(table, quasi):
    quasi = list(dict.fromkeys(quasi))
    asked = [KAnonymity(2), DistinctLDiversity("s", 2), EntropyLDiversity("s", 1.5), AlphaK(0.5, 1, "s")]
    found = verify_table(table, [quasi], asked)
    classes = [Counter(rows) for rows in brute_force(table, quasi)]
    measured = [p.measured for p in found.promises]
    assert found.rows == table.height
    assert found.classes[0]["classes"] == len(classes)
    assert found.classes[0]["sizes"] == {str(n): c for n, c in sorted(Counter(c.total() for c in classes).items())}
    assert measured[0] == min(c.total() for c in classes)
    assert measured[1] == min(map(len, classes))
    entropy = min(-sum(n / c.total() * math.log(n / c.total()) for n in c.values()) for c in classes)
    assert measured[2] == pytest.approx(math.exp(entropy))
    assert measured[3] == pytest.approx(max(max(c.values()) / c.total() for c in classes))
    assert [p.holds for p in found.promises[:2]] == [measured[0] >= 2, measured[1] >= 2]
    assert found.holds == all(p.holds for p in found.promises)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("x", [math.nan, math.nan, None, None]),
        pl.Series("x", ["", "", None, None]),
        pl.Series("x", ["", "", None, None], dtype=pl.Categorical),
        pl.Series("x", ["", None, "", '""', '""', None]),
        pl.Series("x", [0.0, -0.0, -0.0, 0.0]),
    ],
)
def test_what_readers_of_a_table_can_tell_apart_is_no_class(tmp_path, column):
    """Parquet of another tool may hold null beside NaN, which a promise must not take for one value."""
    column.to_frame().write_parquet(tmp_path / "other.parquet")
    found = sfumato.verify(tmp_path / "other.parquet", quasi=["x"], require=KAnonymity(3))
    assert (found.promises[0].measured, found.holds) == (2, False)
    assert found == sfumato.verify(sfumato.scan(tmp_path / "other.parquet"), quasi=["x"], require=KAnonymity(3))
    wild = sfumato.verify(tmp_path / "other.parquet", quasi=["x"], require=KAnonymity(2), wildcard=True)
    assert wild.holds
    assert wild == sfumato.verify(
        sfumato.scan(tmp_path / "other.parquet"), quasi=["x"], require=KAnonymity(2), wildcard=True
    )


def test_one_form_of_missing_values_is_one_class(tmp_path):
    table = pl.DataFrame({"x": [math.nan] * 2 + [0.0] * 2, "t": ["", "", "a", "a"]})
    table.write_parquet(tmp_path / "other.parquet")
    for data in (tmp_path / "other.parquet", sfumato.scan(tmp_path / "other.parquet")):
        assert sfumato.verify(data, quasi=["x", "t"], require=KAnonymity(2)).holds


def matches(one, other):
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


few = st.sampled_from(["a", "b", None, "*"])


@given(
    st.lists(st.tuples(few, few, few, few, st.sampled_from(["flu", "cold", None, ""])), min_size=1, max_size=25),
    st.booleans(),
)
def test_wildcards_match_as_by_brute_force(rows, stars):
    table = pl.DataFrame(rows, schema=dict.fromkeys(["a", "b", "c", "d", "s"], pl.String), orient="row")
    keys = [tuple(None if v == "*" and stars else v for v in row[:4]) for row in rows]
    met = [[row[4] or None for key, row in zip(keys, rows, strict=True) if matches(key, mine)] for mine in keys]
    asked = [KAnonymity(3), DistinctLDiversity("s", 2)]
    found = verify_table(table, [["a", "b", "c", "d"]], asked, wildcard=True, wildcards=("*",) if stars else ())
    smallest, fewest = min(map(len, met)), min(len(set(m)) for m in met)
    assert [p.measured for p in found.promises] == [smallest, fewest]
    assert [p.holds for p in found.promises] == [smallest >= 3, fewest >= 2]
    plain = verify_table(table, [["a", "b", "c", "d"]], asked)
    for strict, loose in zip(plain.promises, found.promises, strict=True):
        assert strict.measured <= loose.measured  # a value of its own implies the wildcard reading


@pytest.mark.slow
def test_wildcards_are_not_quadratic():
    n = 120_000
    table = pl.DataFrame(
        {
            "a": [str(i) if i % 3 else None for i in range(n)],
            "b": [str(i) if i % 2 else None for i in range(n)],
            "s": [str(i) for i in range(n)],
        }
    )
    found = verify_table(table, [["a", "b"]], [KAnonymity(2), DistinctLDiversity("s", 2)], wildcard=True)
    # rows with both values meet, besides themselves, only the rows that lack both
    assert found.promises[0].measured == 1 + sum(i % 6 == 0 for i in range(n))
    assert found.promises[1].measured >= 100
    assert found.holds


def test_many_different_values_are_counted_up_to_what_is_asked():
    table = pl.DataFrame({"a": ["x"] * 150 + ["y"] * 150, "b": [None, "u"] * 150, "s": [str(i) for i in range(300)]})
    asked = [DistinctLDiversity("s", l) for l in (100, 150, 151)]
    found = verify_table(table, [["a", "b"]], asked, wildcard=True)
    assert [p.holds for p in found.promises] == [True, True, False]


@pytest.mark.parametrize("name", sorted(set(OF_TABLES) - {"k-anonymity", "distinct-l-diversity", "xy-anonymity"}))
def test_other_criteria_refuse_wildcards(name):
    table = pl.DataFrame({"a": ["x"], "disease": ["flu"], "wish": [1], "patient": ["p"]})
    for rows in (table, table.clear()):
        with pytest.raises(PolicyError, match=name):
            verify_table(rows, [["a"]], [CRITERIA[name].example], wildcard=True)


@pytest.mark.parametrize("name", OF_TABLES)
@pytest.mark.parametrize("wildcard", [False, True])
def test_a_table_without_rows_keeps_no_promise(name, wildcard):
    asked = CRITERIA[name].example
    if wildcard and not asked.wildcard:
        return
    table = pl.DataFrame(schema={"a": pl.String, "disease": pl.String, "wish": pl.Int64, "patient": pl.String})
    found = verify_table(table, [["a"]], [asked], wildcard=wildcard)
    assert not found.holds
    assert (found.rows, found.promises[0].holds, found.promises[0].measured) == (0, False, None)
    assert "no rows" in found.promises[0].note
    assert found.classes[0]["classes"] == 0


@pytest.mark.parametrize("values", [[], ["x"]])
def test_where_nothing_is_asked_nothing_holds(values):
    found = verify_table(pl.DataFrame({"a": values}), [["a"]], [])
    assert (found.holds, found.outcome) == (False, "nothing promised")


def test_without_rows_nothing_holds():
    found = verify_table(pl.DataFrame({"a": []}), [["a"]], [KAnonymity(1)])
    assert (found.holds, found.outcome) == (False, "broken")


def test_several_sets_of_quasi_identifiers():
    table = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "v", "u", "w"], "s": list("1212")})
    found = verify_table(table, [["a"], ["a", "b"]], [KAnonymity(2), DistinctLDiversity("s", 2)])
    assert [(p.quasi, p.model, p.holds) for p in found.promises] == [
        (("a",), "k-anonymity", True),
        (("a",), "distinct-l-diversity", True),
        (("a", "b"), "k-anonymity", False),
        (("a", "b"), "distinct-l-diversity", False),
    ]
    assert [entry["quasi"] for entry in found.classes] == [["a"], ["a", "b"]]
    assert not found.holds


def test_a_criterion_is_checked_on_its_set_and_only_there():
    table = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "v", "u", "w"], "s": list("1212")})
    asked = [KAnonymity(2, quasi=["a"]), KAnonymity(1, quasi=["b", "a"]), DistinctLDiversity("s", 2, quasi=["a"])]
    for sets in ([["a", "b"]], [["a"], ["a", "b"]]):
        found = verify_table(table, sets, asked)
        assert found.holds
        assert {(p.quasi, p.model, p.measured) for p in found.promises} == {
            (("a", "b"), "k-anonymity", 1),
            (("a",), "k-anonymity", 2),
            (("a",), "distinct-l-diversity", 2),
        }
    broken = verify_table(table, [["a"]], [KAnonymity(3, quasi=["a"]), KAnonymity(2, quasi=["b"])])
    assert [(p.quasi, p.holds, p.measured) for p in broken.promises] == [(("a",), False, 2), (("b",), False, 1)]
    with pytest.raises(ColumnError, match='no column "c"'):
        verify_table(table, [["a"]], [KAnonymity(3, quasi=["c"])])


@pytest.mark.parametrize(
    ("labels", "apart"),
    [
        (["flu", "HIV", "flu", "HIV"], True),
        (["flu", None, "flu", None], True),
        (["[1, 4]", "[5, 9]", "[1, 4]", "[5, 9]"], True),
        (["[1, 5)", "[5, 9]", "[1, 5)", "[5, 9]"], True),
        (["[1, 5]", "[5, 9]", "[1, 5]", "[5, 9]"], False),
        (["[1, 9]", "4", "[1, 9]", "4"], False),
        (["20-29", "25-34", "20-29", "25-34"], False),
        ([">= 30", "< 30", ">= 30", "< 30"], True),
        ([">= 30", "[20, 30]", ">= 30", "[20, 30]"], False),
        (["[2020-01-01, 2020-06-30]", "2020-03-01", "[2020-01-01, 2020-06-30]", "2020-03-01"], False),
        (["2020", "2020-03", "2020", "2020-03"], False),
        (["{flu, HIV}", "HIV", "{flu, HIV}", "HIV"], False),
        (["{flu, HIV}", "cold", "{flu, HIV}", "cold"], True),
        (["476**", "4767*", "476**", "4767*"], False),
        (["476**", "477**", "476**", "477**"], True),
        (["flu", "*", "flu", "*"], False),
        (["1", "1.0", "1", "1.0"], False),
        (["A-B", "A-C", "A-B", "A-C"], True),
    ],
)
def test_labels_of_a_blurred_secret_must_be_apart(labels, apart):
    table = pl.DataFrame({"a": ["x", "x", "y", "y"], "s": labels})
    asked = [KAnonymity(1, quasi=["a", "s"]), DistinctLDiversity("s", 2, quasi=["a"])]
    found = verify_table(table, [["a", "s"]], asked)
    assert found.promises[-1].holds == apart
    assert apart or found.promises[-1].note.startswith('labels overlap: two of "s" may stand for the same value')
    assert verify_table(table, [["a"]], asked[1:]).holds  # released as it is, every value is one
    if None in labels:
        assert not verify_table(table, [["a", "s"]], asked, wildcard=True).holds


def test_columns_may_have_any_name():
    names = ["class", "size", "value", "n", "q0", "q", "p", "share", "ratio", "distance", "known_q0", "met", "0"]
    table = pl.DataFrame({name: ["x", "x", "y", "y"] for name in names})
    asked = [make for name in names for make in (TCloseness(name, 1), AlphaK(1, 2, name), EntropyLDiversity(name, 1))]
    asked += [TCloseness(name, 1, "ordered") for name in names]
    found = verify_table(table, [names], [KAnonymity(2), *asked])
    assert found.holds
    assert verify_table(table, [names], [KAnonymity(2), DistinctLDiversity("value", 1)], wildcard=True).holds


def test_keys_are_exact_where_texts_run_together():
    table = pl.DataFrame({"a": ["x", "xy", "x|", "x"], "b": ["yz", "z", "z", "|z"]})
    assert verify_table(table, [["a", "b"]], [KAnonymity(2)]).promises[0].measured == 1


def test_the_distribution_before_suppression_is_used_where_given():
    table = pl.DataFrame({"a": ["x"] * 4, "s": ["flu", "flu", "cold", None]})
    asked = TCloseness("s", 0.1)
    alone = verify_table(table, [["a"]], [asked]).promises[0]
    assert (alone.holds, alone.measured) == (True, 0)
    assert alone.note == 'compared with "s" in the released rows, as its distribution before suppression is not given'
    for missing in (None, ""):
        given = verify_table(table, [["a"]], [asked], whole={"s": {"flu": 2, "cold": 5, missing: 1}}).promises[0]
        assert (given.holds, given.measured) == (False, 0.375)
        assert given.note == "1 of 1 classes fails"


@pytest.mark.parametrize("distance", ["equal", "ordered", "kl"])
def test_a_value_that_the_given_distribution_lacks(distance):
    table = pl.DataFrame({"a": ["x"] * 2, "s": ["flu", "cold"]})
    found = verify_table(table, [["a"]], [TCloseness("s", 0.4, distance)], whole={"s": {"flu": 3}}).promises[0]
    assert not found.holds
    assert found.measured == {"equal": 0.5, "ordered": 0.5, "kl": None}[distance]


def test_a_hierarchy_value_is_taken_as_well_as_rows():
    import numpy as np

    labels = (("flu", "cold", "HIV"), ("lung", "blood"), ("*",))
    tree = Hierarchy("s", labels, np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]], dtype=np.int32))
    rows = [["flu", "lung", "*"], ["cold", "lung", "*"], ["HIV", "blood", "*"]]
    table = pl.DataFrame({"a": ["x", "x", "y", "y"], "s": ["flu", "flu", "cold", "HIV"]})
    asked = [TCloseness("s", 0.1, "hierarchical")]
    found = [verify_table(table, [["a"]], asked, hierarchies={"s": h}).promises[0] for h in (tree, rows)]
    # p = (1, 0, 0) against (1/2, 1/4, 1/4): 1/4 of the weight moves within lung, 1/4 to the root
    assert [p.measured for p in found] == [0.375, 0.375]


def test_measured_that_is_infinite_is_left_open():
    table = pl.DataFrame({"a": ["x"], "s": ["flu"]})
    found = verify_table(table, [["a"]], [RecursiveCLDiversity("s", 3, 2)]).promises[0]
    assert (found.holds, found.measured, found.bound) == (False, None, 3)
    assert found.note == "1 of 1 classes fails; the measured value is infinite"


def test_bad_input():
    table = pl.DataFrame({"age": ["x"], "s": ["flu"]})
    with pytest.raises(ColumnError, match=r'no column "agee".*did you mean "age"'):
        verify_table(table, [["agee"]], [KAnonymity(2)])
    with pytest.raises(ColumnError, match='no column "t"'):
        verify_table(table, [["age"]], [DistinctLDiversity("t", 2)])
    for quasi in ([], [[]], [["age"], []]):
        with pytest.raises(PolicyError, match="no quasi-identifying column"):
            verify_table(table, quasi, [KAnonymity(2)])


def test_one_set_may_be_given_bare():
    table = pl.DataFrame({"age": ["x", "x"], "sex": ["f", "m"]})
    assert verify_table(table, ["age", "sex"], [KAnonymity(1)]).promises[0].quasi == ("age", "sex")


@pytest.mark.slow
def test_it_shares_no_code_with_the_search():
    code = (
        "import sys, sfumato.release.verify, sfumato.engines.files.bytes\n"
        "searching = ('core.cells', 'core.keys', 'core.policy', 'core.lattice', 'search', 'release.recode')\n"
        "loaded = [m for m in sys.modules if m.startswith(tuple('sfumato.' + s for s in searching))]\n"
        "assert not loaded, loaded\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_audit_shares_no_helper_with_the_search_side():
    from sfumato.criteria import audit, released_distance
    from sfumato.criteria import audit as wildcard

    for module in (audit, released_distance, wildcard):
        assert not {"numpy", "np", "run_sums", "run_maxima", "SEARCHED"} & set(vars(module))


def test_doctests():
    assert doctest.testmod(sfumato.release.verify).failed == 0


@pytest.mark.parametrize("ordered", [True, False])
def test_rows_that_are_alike_are_looked_at_once_to_the_same_end(ordered):
    rng = np.random.default_rng(4)
    table = pl.DataFrame(
        {name: pl.Series(["a", "b", None]).gather(rng.integers(0, 3, 300)) for name in ("x", "y", "s")}
    )
    table = table.sort(pl.all()) if ordered else table
    held = table.with_columns(pl.all().cast(pl.Enum(["b", "a"])))
    asked = [["x", "y"]], [KAnonymity(5), DistinctLDiversity("s", 3)]
    assert (new_rows(held) is not None) == ordered
    assert verify_table(held, *asked) == verify_table(table, *asked)
