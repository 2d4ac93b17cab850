"""Promises and searches as the workers answer: figures worked out by hand, and what cannot be met."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.errors import Cancelled
from sfumato.studio.tasks import forms, picture, promises, search

TABLE = {
    "age": [31, 31, 31, 58, 58, 72],
    "sex": ["F", "F", "F", "M", "M", "F"],
    "disease": ["flu", "flu", "flu", "flu", "gout", "gout"],
}  # classes by age and sex: three rows that agree, two that differ, one alone
pytestmark = pytest.mark.filterwarnings("ignore:nothing protects")
POLICY = {
    "input": {"path": "t.csv"},
    "roles": {"quasi": ["age", "sex"], "sensitive": ["disease"]},
    "hierarchies": {"age": {"intervals": [50, 100]}, "sex": {"levels": ["*"]}},
    "require": [{"model": "k-anonymity", "k": 2}, {"model": "distinct-l-diversity", "attribute": "disease", "l": 2}],
    "search": {"method": "optimal"},
}


def quiet(message, share=None):
    pass


@pytest.fixture
def asked(tmp_path):
    pl.DataFrame(TABLE).write_csv(tmp_path / "t.csv")
    (tmp_path / "private").mkdir()

    def ask(**more):
        return {"tables": POLICY | more, "folder": str(tmp_path)}

    return ask


def test_a_check_counts_what_breaks_a_promise_now(asked):
    k, diverse = promises.check(asked(), quiet)["promises"]
    assert (k["holds"], k["measured"], k["bound"], k["side"]) == (False, 1, 2, "at least")
    assert (k["broken_classes"], k["classes"], k["broken_rows"], k["rows"]) == (1, 3, 1, 6)
    assert k["sentence"].startswith('whoever looks for a person in it by "age" and "sex" finds at least 2 rows')
    assert (diverse["measured"], diverse["broken_classes"], diverse["broken_rows"]) == (1, 2, 4)


def test_a_check_of_the_table_as_a_whole_and_of_what_no_rows_show(asked):
    average = {"model": "average-risk", "t": 0.25}
    private = {"model": "differential-privacy", "epsilon": 1, "delta": 1e-6}
    found = promises.check(asked(require=[average]), quiet)["promises"][0]
    assert (found["holds"], found["measured"], found["broken_classes"]) == (False, 0.5, 0)
    assert promises.check(asked(require=[private]), quiet)["promises"][0]["holds"] is None


def test_faults_of_the_policy_are_told_in_place_of_figures(asked):
    found = promises.check(asked(require=[{"model": "k-anonymity", "k": 0}]), quiet)
    assert found["promises"] == []
    assert "k is out of range" in found["faults"][0]


def test_what_is_typed_becomes_values_or_faults_by_parameter():
    given = {"attribute": "disease", "l": 2, "per": 'HIV=3,"flu, mild=2"'}
    found = forms.filled("criteria", "distinct-l-diversity", given, quiet)
    assert found == {"values": given | {"per": {"HIV": 3, "flu, mild": 2}}, "faults": []}
    assert [name for name, _ in forms.filled("criteria", "k-anonymity", {"k": 0}, quiet)["faults"]] == ["k"]
    assert forms.filled("searches", "mu-argus", {"size": "all"}, quiet)["faults"] == []


def test_a_search_gives_figures_and_words(asked):
    found = search.find(asked(require=[{"model": "k-anonymity", "k": 2}], search={"method": "auto"}), quiet)
    assert (found["rows"], found["suppressed"], found["smallest"] >= 2) == (6, 0, True)
    assert found["choice"]["why"]
    assert [one["name"] for one in found["columns"]] == ["age", "sex"]
    assert all(one["labels"] == len(one["shown"]) for one in found["columns"])


def test_what_cannot_be_met_says_how_near_it_came(asked):
    found = search.find(asked(require=[{"model": "k-anonymity", "k": 4}], levels={"age": [0, 1], "sex": [0, 0]}), quiet)
    assert found["infeasible"]["what"] == "no level vector satisfies the policy"
    assert "generalise further" in found["infeasible"]["hint"]
    assert (found["suppressed"], found["rows"], list(found["levels"])) == (6, 6, ["age", "sex"])


def test_a_search_is_cancelled_by_its_progress(asked):
    def stop(message, share=None):
        if message == "searching":
            raise Cancelled

    with pytest.raises(Cancelled):
        search.find(asked(search={"method": "mondrian"}), stop)


def test_the_picture_has_a_rectangle_around_each_class(asked):
    policy = asked(require=[{"model": "k-anonymity", "k": 2}], search={"method": "tuple-suppression", "suppression": 1})
    found = picture.partition(policy, "age", "sex", quiet)
    assert (found["class_count"], found["rows"], len(found["points"]), len(found["left_out"])) == (2, 6, 5, 1)
    assert sorted(box[::2] for box in found["classes"]) == [[31, 31, 3], [58, 58, 2]]
    assert found["y"]["categories"] == ["F", "M"]
    assert all(round(y) in (0, 1) for _, y in found["points"])
