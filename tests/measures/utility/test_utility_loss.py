"""Information losses on any pair: four rows by hand, Sfumato's own releases, and the divergence by brute force."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
import warnings
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.utility import classification_metric, information_loss, kl_divergence, pair_of
from tests.fuzz import FUZZ, examples

JOB = sf.wide([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")])
JOBS = {"job": ["a", "b", "c", "d"]}


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("lm", (1 / 3 + 1 / 3 + 0 + 1) / 4),
        ("ncp", (1 / 2 + 1 / 2 + 0 + 1) / 4),
        ("precision", (1 / 2 + 1 / 2 + 0 + 1) / 4),
        ("non-uniform-entropy", (1 + 1 + 0 + 2) / (4 * 2)),
        ("discernibility", 4 + 1 + 1),
        (sf.LM(aggregate="sum"), (1 / 3 + 1 / 3 + 0 + 1) / 4),
    ],
)
def test_jobs_under_a_hierarchy(loss, expected):
    """x covers two of four values, c is one, and * is everything."""
    found = information_loss(JOBS, {"job": ["x", "x", "c", "*"]}, "job", loss=loss, hierarchies={"job": JOB})
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.range[0] <= found.value <= found.range[1]


def test_a_set_that_is_no_node_counts_the_least_node_over_it():
    found = information_loss(JOBS, {"job": ["{a, c}", "b", "{a, c}", "d"]}, "job", hierarchies={"job": JOB})
    assert found.value == pytest.approx(2 * 1 / 4)
    assert information_loss(JOBS, {"job": ["{a, c}", "b", "{a, c}", "d"]}, "job").value == pytest.approx(2 / 3 / 4)


@pytest.mark.parametrize(
    ("labels", "wide"),
    [
        (["[20, 30]", "[20, 30]"], 20),
        (["20-30", "20-30"], 20),
        (["20..30", "20 to 30"], 20),
        (["< 35", "< 35"], 30),
        (["[20, 40)", "[20,40)"], 40),
        ([">= 0", "<= 30"], 50),
        (["20s", "[20; 30]"], 50),  # no decade of numbers: not read, and on one row
        (["{20, 30}", "{20, 60}"], 50),
    ],
)
def test_ranges_of_any_tool(labels, wide):
    """(hi - lo)/(60 - 20), as the ends print, as far as the original reaches; `wide` is the sum of hi - lo."""
    table, release = {"age": [20, 30, 40, 60]}, {"age": [*labels, "40", "60"]}
    for loss in ("lm", "ncp"):
        assert information_loss(table, release, loss=loss).value == pytest.approx(wide / 40 / 4)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "[2, 6]", "[2, 6]", "9"], (4 + 4) / 8),  # from 2 to 6, and not from 3 to 5
        (["1", "2-6", "2-6", "9"], (4 + 4) / 8),
        (["<= 4", "<= 4", "> 4", "> 4"], (3 + 3 + 5 + 5) / 8),
        (["[0, 4]", "[0, 4]", "[4, 20)", "[4, 20)"], (3 + 3 + 5 + 5) / 8),
        (["0.5-2.5", "[2, 4.5)", "5", "9"], (1.5 + 2.5) / 8),
    ],
)
@pytest.mark.parametrize("aligned", [True, False])
def test_ends_between_the_values(labels, expected, aligned):
    rows = range(4) if aligned else None
    table, release = {"n": [1, 3, 5, 9]}, {"n": labels}
    for loss in ("lm", "ncp"):
        assert information_loss(table, release, loss=loss, rows=rows).value == pytest.approx(expected / 4)


def test_months_and_years_cost_their_days():
    """Of 365 days from the first to the last: January 30, from its first day to its last, and the year all of it."""
    days = ["2023-01-01", "2023-01-15", "2023-06-01", "2024-01-01"]
    release = {"day": ["2023-01", "2023-01", "2023", "2024-01-01"]}
    for kind in (dt.date.fromisoformat, str):
        found = information_loss({"day": list(map(kind, days))}, release)
        assert found.value == pytest.approx((30 + 30 + 364 + 0) / 365 / 4)


WORDS = (
    list("abcdefgh"),
    ["low", "mid", "high", "top"],
    [f"A{i}" for i in range(8)],
    list(range(1, 9)),
    list("12345678"),
)


@pytest.mark.parametrize("seed", range(5 * FUZZ))
def test_sets_that_overlap_cost_their_own_values(seed):
    """Recomputed in plain Python: |set| - 1 over A - 1, |set| over A, and of numbers from the least to the greatest."""
    rng = random.Random(seed)
    for _ in range(20):
        domain = WORDS[rng.randrange(len(WORDS))]
        domain = domain[: rng.randint(2, len(domain))]
        before = [value for value in domain for _ in range(rng.randint(1, 3))]
        cuts = [0, *sorted(rng.sample(range(1, len(domain)), rng.randrange(len(domain)))), len(domain)]
        home = {}
        for start, stop in itertools.pairwise(cuts):
            own = {*domain[start:stop], *rng.sample(domain, rng.randint(0, min(2, len(domain))))}
            home |= {key: [value for value in domain if value in own] for key in domain[start:stop]}
        after = [home[value] for value in before]
        text = [str(own[0]) if len(own) == 1 else "{" + ", ".join(map(str, own)) + "}" for own in after]
        lm, ncp = 0.0, 0.0
        for own in after:
            if str(domain[0]).isdecimal():
                lm += (int(own[-1]) - int(own[0])) / (len(domain) - 1)
                ncp += (int(own[-1]) - int(own[0])) / (len(domain) - 1)
            else:
                lm += (len(own) - 1) / (len(domain) - 1)
                ncp += 0 if len(own) == 1 else len(own) / len(domain)
        for loss, whole in (("lm", lm), ("ncp", ncp)):
            found = information_loss({"x": before}, {"x": text}, "x", loss=loss, rows=range(len(before)))
            assert found.value == pytest.approx(whole / len(before)), (before, text)


def test_sets_beside_learned_groups_by_hand():
    """{a, b, c} and {c, d, e}: three of five values each, though d and e alone stand under the second."""
    forms = ("{{{}, {}, {}}}", "{},{},{}", "{}, {}, {}", "{};{};{}", "{}|{}|{}", "{}~{}~{}", "['{}', '{}', '{}']")
    for values, form in product((list("abcde"), ["none", "low", "mid", "high", "top"]), forms):
        first, second = (form.format(*values[i : i + 3]) for i in (0, 2))
        release = {"x": [first] * 3 + [second] * 2}
        assert information_loss({"x": values}, release, loss="ncp").value == pytest.approx(0.6)
        assert information_loss({"x": values}, release, loss="lm").value == pytest.approx(0.5)
    for values in (list("abc"), ["low", "mid", "high"]):
        assert information_loss({"x": values}, {"x": ["{" + ", ".join(values) + "}"] * 3}).value == 1


def test_masks():
    table, release = {"zip": ["13010", "13011", "13100", "14000"]}, {"zip": ["1301*", "1301*", "13***", "14000"]}
    found = information_loss(table, release, hierarchies={"zip": sf.redact("right")})
    assert found.value == pytest.approx((1 / 3 + 1 / 3 + 2 / 3 + 0) / 4)
    assert information_loss(table, release, loss="precision", hierarchies={"zip": sf.redact("right")}).value == (
        pytest.approx((1 / 5 + 1 / 5 + 3 / 5) / 4)
    )


def test_suppressed_rows_are_lost():
    table, release = {"age": [20, 30, 40, 60]}, {"age": [20, 30, 40]}
    found = information_loss(table, release, "age", rows=[0, 1, 2])
    assert found.value == 0.25
    assert found.details["suppressed"] == 1
    assert information_loss(table, release, "age", loss="discernibility").value == 3 + 4 * 1
    assert information_loss(table, release, "age", loss="non-uniform-entropy").value == pytest.approx(0.25)
    assert information_loss(table, release, "age", loss="c-avg", k=2).value == 0.5


def test_missing_cells_that_were_not_missing_before_are_lost():
    found = information_loss({"age": [20, 30, 40, 60]}, {"age": [20, None, 40, 60]})
    assert found.value == 0.25
    kept = information_loss({"age": [20, None, 40, 60]}, {"age": [20, None, 40, 60]}, "age")
    assert kept.value == 0
    both = information_loss({"age": [20, None, 40, 60]}, {"age": [20, None, None, 60]}, "age")
    assert both.value == 0.25


def test_a_group_without_a_hierarchy_is_learnt_from_its_rows():
    """de and fr are Europe wherever they stand, and one of them twice: that is no accident."""
    table = {"land": ["de", "de", "fr", "us", "us"]}
    release = {"land": ["Europe", "Europe", "Europe", "us", "us"]}
    found = information_loss(table, release)
    assert found.value == pytest.approx((1 / 2 * 3) / 5)
    assert found.details["learnt_labels"] == 1
    assert "taken for groups" in found.sentence
    unknown = information_loss({"land": ["de", "fr", "us", "us", "us"]}, {"land": ["Europe", "Europe", "us", "us"]})
    assert unknown.details["unread_labels"] == 1
    assert unknown.value == pytest.approx((1 + 1 + 0 + 0 + 1) / 5)
    assert "could not be read" in unknown.sentence


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        (["de", "fr", "us", "us"], ["Europe", "Europe", "us", "us"], (0, 1, 0)),  # each value once: may be an accident
        (["de", "de", "fr", "us"], ["Europe", "de", "Europe", "us"], (0, 1, 0)),  # de is not always Europe
        (["de", "de", "fr", "fr"], ["A", "A", "B", "B"], (0, 0, 2)),  # new names, no groups
        (["de", "de", "fr", "fr"], ["A", "B", "C", "D"], (0, 0, 4)),  # tokens
        (["de", "de", "fr", "fr"], ["A", "de", "fr", "fr"], (0, 0, 1)),  # one wrong value
        (["de", "de", "fr", "fr", "us"], ["A", "*", "A", "A", "A"], (1, 0, 0)),  # a hidden cell says nothing against it
        (["de", "de", "fr", "fr", "us"], ["A", "A", "A", "A", "B"], (1, 0, 1)),  # B stands on one row
    ],
)
def test_labels_that_cannot_be_read_are_groups_only_where_the_column_looks_like_it(before, after, counts):
    column = pair_of({"land": before, "n": range(len(before))}, {"land": after, "n": range(len(before))}).column("land")
    assert (column.learnt, column.unread, column.strange) == counts


def test_tokens_lose_everything():
    table = {"city": ["Rome", "Oslo", "Bonn", "Lima"] * 5}
    tokens = {"city": [f"x{i}y" for i in range(20)]}
    for loss in ("lm", "ncp", "precision", "non-uniform-entropy"):
        found = information_loss(table, tokens, loss=loss)
        assert found.value == 1
        assert found.range == (0, 1)
    assert math.isinf(kl_divergence(table, tokens).value)
    one = {"city": ["Wien", *table["city"][1:]]}
    assert information_loss(table, one).value == pytest.approx(1 / 20)


@pytest.mark.parametrize("after", [[21, 29, 41, 52], [50, 40, 30, 20]], ids=["noise", "swap"])
def test_a_loss_of_detail_says_that_values_moved(after):
    """Every value moved, and none became coarser."""
    table, release = {"age": [20, 30, 40, 50], "sex": list("fmfm")}, {"age": after, "sex": list("fmfm")}
    for loss in ("lm", "ncp", "non-uniform-entropy"):
        found = information_loss(table, release, "age", loss=loss)
        assert found.value == 0
        assert found.details["moved"] == 1
        assert "100% of the released cells do not hold their original value" in found.sentence
    assert information_loss(table, table, "age").details["moved"] == 0
    assert "do not hold" not in information_loss(table, table, "age").sentence


def test_a_star_of_the_original_is_a_value_where_it_stays_one():
    table = {"a": ["*", None, "x"], "n": [1, 2, 3]}
    assert kl_divergence(table, table, "a").value == 0
    assert kl_divergence(table, {"a": ["*", "*", "x"], "n": [1, 2, 3]}, "a").value > 0


def test_values_that_moved_without_alignment():
    """Only what no original has is sure: the one of three that is noise."""
    found = information_loss({"age": [20, 30, 40, 50]}, {"age": [20, 31, 40]}, "age")
    assert found.details["moved"] == pytest.approx(1 / 3)
    assert "at least 33.3%" in found.sentence


def table_of(n, missing):
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "zip": [str(10_000 + z) for z in rng.integers(0, 60, n)],
            "sex": rng.choice(["F", "M"], n),
            "job": rng.choice(list("abcdefgh"), n),
            "ill": rng.choice(["no", "yes"], n),
        }
    )
    if not missing:
        return frame
    every = pl.int_range(n) % 17 == 0
    return frame.with_columns(pl.when(~every).then(pl.col(name)) for name in ("age", "job"))


def kept_rows(release):
    codes = np.stack([release.microdata.codes[name] for name in release.policy.columns], axis=1)
    kept = set(map(tuple, release.cell_codes.T[release.solution.kept].tolist()))
    return [i for i, code in enumerate(map(tuple, codes.tolist())) if code in kept]


@pytest.mark.slow
@pytest.mark.parametrize("given", [False, True], ids=["learnt", "given"])
@pytest.mark.parametrize(
    ("search", "suppression", "missing"),
    [
        ("mondrian", 0, True),
        ("optimal", 0, True),
        ("optimal", 0.1, True),
        ("samarati", 0.1, True),
        ("datafly", 0.1, True),
        (sf.TDS("ill"), 0, False),
        (sf.Genetic(seconds=None, evaluations=400, population=20), 0, False),
        ("mu-argus", 0, False),
    ],
    ids=str,
)
def test_the_loss_of_a_release_is_that_of_its_solution(search, suppression, missing, given):
    table, quasi = table_of(120, missing), ["age", "zip", "sex", "job"]
    trees = {"age": sf.intervals(5, 10, 20), "zip": sf.redact("right")} if given else {}
    for loss in ("lm", "ncp", "precision", "non-uniform-entropy", "discernibility", "c-avg"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = sf.anonymize(
                table, quasi=quasi, require=sf.KAnonymity(3), search=search, suppression=suppression, loss=loss,
                hierarchies=trees, seed=1,
            )  # fmt: skip
        assert sorted(release.rows) == kept_rows(release)
        found = information_loss(table, release.table, quasi, loss=loss, hierarchies=trees, rows=release.rows, k=3)
        assert found.value == pytest.approx(release.solution.verdict.loss, abs=1e-9), loss
        if "per_column" in found.details:
            assert found.details["per_column"] == pytest.approx(release.solution.verdict.per_attribute, abs=1e-9)


def test_height_and_leaves_of_the_hierarchy():
    table = table_of(120, False)
    trees = {"age": sf.intervals(5, 10, 20), "zip": sf.redact("right")}
    for loss in (sf.Height(), sf.LM(aggregate="geometric", leaves="hierarchy")):
        release = sf.anonymize(
            table,
            quasi=["age", "zip"],
            rest="release",
            require=sf.KAnonymity(4),
            search="optimal",
            loss=loss,
            hierarchies=trees,
        )
        found = information_loss(table, release.table, ["age", "zip"], loss=loss, hierarchies=trees)
        assert found.value == pytest.approx(release.solution.verdict.loss, abs=1e-9)


def test_adult_as_arx_has_it(shared):
    """The node of ARX's optimum, written out as text, loses what ARX says."""
    adult = sf.read(shared / "data/arx/adult.csv")
    quasi = [
        "sex",
        "age",
        "race",
        "marital-status",
        "education",
        "native-country",
        "workclass",
        "occupation",
        "salary-class",
    ]
    trees = {name: str(shared / f"data/arx/adult_hierarchy_{name}.csv") for name in quasi}
    release = sf.anonymize(
        adult, quasi=quasi, require=sf.KAnonymity(5), search="optimal", hierarchies=trees, suppression=0.04,
        loss=sf.LM(aggregate="geometric", leaves="hierarchy"),
    )  # fmt: skip
    found = information_loss(
        adult, release.table, quasi, loss=sf.LM(aggregate="geometric", leaves="hierarchy"), hierarchies=trees
    )
    assert found.value == pytest.approx(0.26611081915757495, abs=1e-9)


def test_divergence_by_hand():
    table = {"a": [1, 1, 2, 2], "b": ["x", "x", "y", "y"]}
    hidden = kl_divergence(table, {"a": [1, 1, 2, 2], "b": ["*"] * 4}, ["a", "b"])
    assert hidden.value == pytest.approx(math.log(2))
    assert hidden.baseline == pytest.approx(math.log(2))  # nothing at all: p = 1/2, q = 1/4
    gone = kl_divergence({"a": [1, 1, 2, 2]}, {"a": [1, 1, 2]}, "a")
    assert gone.value == pytest.approx(0.5 * math.log(0.5 / 0.625) + 0.5 * math.log(0.5 / 0.375))
    assert kl_divergence(table, table, ["a", "b"]).value == 0
    noise = kl_divergence({"a": [1, 2]}, {"a": [1.5, 2.0]}, "a")
    assert math.isinf(noise.value)
    assert noise.to_dict()["value"] is None


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), *[st.integers(0, 2)] * 4), min_size=1, max_size=12))
def test_divergence_is_as_defined_where_boxes_overlap(rows):
    table = {"a": [r[0] for r in rows], "b": [r[1] for r in rows]}
    low = [(max(r[0] - r[2], 0), r[0] + r[3], max(r[1] - r[4], 0), r[1] + r[5]) for r in rows]
    release = {"a": [f"[{x[0]}, {x[1]}]" for x in low], "b": [f"[{x[2]}, {x[3]}]" for x in low]}
    domain = sorted(set(table["a"])), sorted(set(table["b"]))
    q = dict.fromkeys(itertools.product(*domain), 0.0)
    for a, b, c, d in low:
        box = [cell for cell in q if a <= cell[0] <= b and c <= cell[1] <= d]
        for cell in box:
            q[cell] += 1 / len(box) / len(rows)
    cells = list(zip(table["a"], table["b"], strict=True))
    expected = sum(cells.count(x) / len(rows) * math.log(cells.count(x) / len(rows) / q[x]) for x in set(cells))
    assert kl_divergence(table, release, ["a", "b"]).value == pytest.approx(max(expected, 0), abs=1e-9)


@pytest.mark.slow
def test_divergence_over_more_tuples_than_there_are_numbers():
    """1000 ** 110 tuples: nothing is lost, or everything, or all but a suppressed row."""
    table = pl.DataFrame({f"c{i}": range(1000) for i in range(110)})
    assert kl_divergence(table, table).value == 0
    most = 109 * math.log(1000)
    hidden = kl_divergence(table, table.with_columns(pl.lit("*").alias(name) for name in table.columns))
    assert hidden.value == pytest.approx(most)
    assert hidden.baseline == pytest.approx(most)
    gone = kl_divergence(table, table.head(999), rows=range(999))
    assert gone.value == pytest.approx(110 * math.log(1000) / 1000, rel=0.01)


def test_classification_by_hand():
    """Two of the class 3-4 disagree, and one of five rows is gone."""
    table = {"age": [1, 2, 3, 4, 5], "ill": ["y", "y", "n", "y", "n"]}
    release = {"age": ["1-2", "1-2", "3-4", "3-4"], "ill": ["y", "y", "n", "y"]}
    found = classification_metric(table, release, "age", target="ill")
    assert found.value == pytest.approx(2 / 5)
    assert found.baseline == pytest.approx(2 / 5)
    assert found.interval[0] < found.value < found.interval[1]
    from_original = classification_metric(table, {"age": release["age"]}, "age", target="ill", rows=[0, 1, 2, 3])
    assert from_original.value == found.value
    with pytest.raises(PolicyError, match="row by row"):
        classification_metric(table, {"age": release["age"]}, "age", target="ill")


GROUPS = {"age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"]}


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        ({"a": [1, 2, 3], "b": ["x", "y", "z"]}, {"a": [3, 2, 1], "b": ["z", "y", "x"]}, True),
        ({"a": [1, 2, 3], "b": ["x", "y", "y"]}, {"a": [3, 2, 1], "b": ["x", "y", "y"]}, False),  # a is swapped
        ({"a": [1, 2, 3], "b": ["x", "y", "z"]}, {"a": [3, 2, 1], "b": ["x", "z", "y"]}, False),  # both are, each alone
        ({"a": [1, 1, 2], "b": [1, 2, 3], "c": [4, 5, 6]}, {"a": [1, 1, 2], "b": [2, 1, 3], "c": [5, 4, 6]}, True),
        ({"a": ["x", "x"], "b": [1, 2]}, {"a": ["x", "x"], "b": [2, 1]}, True),  # a tells nothing
        ({"age": [20, 30, 40, 60]}, GROUPS, False),
        ({"age": [40, 60, 20, 30]}, GROUPS, True),
        ({"age": [40, 60, 20, 30], "b": list("xyzz")}, GROUPS | {"b": list("zzxy")}, True),
        ({"age": [40, 60, 20, 30], "b": list("xyzz")}, GROUPS | {"b": list("xyzz")}, False),  # b stands in its place
        ({"age": [20, 30, 40, 60], "b": list("xyzz")}, GROUPS | {"b": list("zzxy")}, False),  # b is swapped
        ({"x": [1.5, 2.5, 3.5, 4.5]}, {"x": [4.4, 1.6, 2.2, 3.1]}, False),  # noise
    ],
)
def test_rows_in_another_order_are_not_compared(before, after, moved):
    pair = pair_of(before, after)
    assert pair.reordered == moved
    assert (pair.rows is None) == moved
    assert pair_of(before, after, rows=range(len(next(iter(before.values()))))).rows is not None
    if moved:
        with pytest.raises(PolicyError, match="rows in another order"):
            pair.aligned("this")


def test_alignment():
    table = {"id": ["p", "q", "r"], "age": [20, 30, 40]}
    assert pair_of(table, {"id": ["r", "p"], "age": [40, 20]}, key="id").rows.tolist() == [2, 0]
    assert pair_of(table, {"age": [1, 2, 3]}).rows.tolist() == [0, 1, 2]
    assert pair_of(table, {"age": [1, 2]}).rows is None
    assert pair_of(table, {"age": [1]}, rows=[2]).suppressed == 2
    for wrong, error in (
        ({"rows": [0]}, PolicyError),
        ({"rows": [0, 0]}, PolicyError),
        ({"rows": [0, 3]}, PolicyError),
        ({"rows": [0.5, 1]}, PolicyError),
        ({"rows": [0, 1], "key": "id"}, PolicyError),
        ({"key": "name"}, ColumnError),
        ({"hierarchies": {"job": "flat"}}, ColumnError),
    ):
        with pytest.raises(error):
            pair_of(table, {"id": ["r", "p"], "age": [40, 20]}, **wrong)
    with pytest.raises(ColumnError, match="have a key in column"):
        pair_of(table, {"id": ["secret"], "age": [1]}, key="id")
    with pytest.raises(ColumnError, match="share no column"):
        pair_of(table, {"other": [1]})
