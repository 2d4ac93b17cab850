"""What counts tell of who joined and who left: by hand, and against all worlds, counted one by one."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.measures.attacks import intersection
from sfumato.measures.attacks.turnover import PlacedRelease, by_turnover, in_all_worlds
from tests.fuzz import examples

VALUES = 3


def release(cells: list[list[int] | None], rows: list[list[int]], nobody: list[int]) -> PlacedRelease:
    found = [None if one is None else np.array(one, np.int64) for one in cells]
    return PlacedRelease(found, np.array(rows, np.int64), np.array(nobody, np.int64))


@st.composite
def series(draw: st.DrawFn) -> tuple[list[int], list[PlacedRelease]]:
    """People with a value each, and releases of some of them in classes that may overlap, with counterfeits."""
    truth = draw(st.lists(st.integers(0, VALUES - 1), min_size=2, max_size=5))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        many = draw(st.integers(1, 3))
        cells, rows = [], np.zeros((many, VALUES), np.int64)
        for value in truth:
            own = draw(st.one_of(st.none(), st.integers(0, many - 1)))
            if own is not None:
                rows[own, value] += 1
                extra = draw(st.lists(st.integers(0, many - 1), max_size=1))
                cells.append(sorted({own, *extra}))
            else:
                cells.append(None)
        nobody = [0] * many
        for cell in draw(st.lists(st.integers(0, many - 1), max_size=2)):
            rows[cell, draw(st.integers(0, VALUES - 1))] += 1
            nobody[cell] += 1
        found.append(release(cells, rows.tolist(), nobody))
    return truth, found


def fits(world: tuple[int, ...], one: PlacedRelease) -> bool:
    """Whether people with these values can be placed so that all rows are somebody's or nobody's."""
    present = [p for p, cells in enumerate(one.cells) if cells is not None]
    for places in product(*(one.cells[p].tolist() for p in present)):  # type: ignore[union-attr]
        left = one.rows.copy()
        for p, cell in zip(present, places, strict=True):
            left[cell, world[p]] -= 1
        if (left >= 0).all() and (left.sum(axis=1) == one.nobody).all():
            return True
    return False


@settings(max_examples=examples(300), deadline=None)
@given(series())
def test_small_groups_are_exact_and_comparing_classes_rules_out_nothing_that_may_be(case: object) -> None:
    truth, releases = case  # type: ignore[misc]
    everything = [np.arange(VALUES)] * len(truth)
    worlds = [w for w in product(range(VALUES), repeat=len(truth)) if all(fits(w, one) for one in releases)]
    assert tuple(truth) in worlds
    want = [sorted({w[p] for w in worlds}) for p in range(len(truth))]
    compared = by_turnover(everything, releases)
    assert all({*some} <= {*one.tolist()} for some, one in zip(want, compared, strict=True))
    found, share = in_all_worlds(compared, releases)
    assert [one.tolist() for one in found] == want
    for person, most in share.items():
        often = [sum(w[person] == value for w in worlds) / len(worlds) for value in want[person]]
        assert most == pytest.approx(max(often))


def test_who_leaves_a_class_takes_a_row_along() -> None:
    """Nine people of one class; one leaves, one joins: by values alone, nobody is pinned."""
    first = {"age": ["[30, 39]"] * 9, "disease": ["flu"] * 4 + ["cold"] * 3 + ["gout"] * 2}
    second = {"age": ["[30, 39]"] * 9, "disease": ["flu"] * 3 + ["cold"] * 4 + ["gout"] * 2}
    ill = [*first["disease"], "cold"]
    people = {"id": [f"p{i}" for i in range(10)], "age": [30 + i % 10 for i in range(10)], "disease": ill}
    table = pl.DataFrame(people)
    behind = [table[:9], pl.concat([table[1:9], table[9:]])]  # p0, with the flu, leaves, and p9, with a cold, joins
    found = intersection([first, second], behind, ["age"], "disease", person="id")
    assert found.success == pytest.approx(2 / 10)
    assert found.exposed == (8,)  # p9, in the last table
    assert found.details["people pinned by values alone"] == 0


def test_a_row_that_is_suppressed_hides_who_left() -> None:
    """The same where one of the rows is missing: any of nine may be without one, and no class is known to be whole."""
    whole = PlacedRelease([np.array([0])] * 3, np.array([[1, 1, 1]]), np.zeros(1, np.int64))
    less = PlacedRelease([None, np.array([0]), np.array([0])], np.array([[0, 1, 0]]), np.zeros(1, np.int64))
    left = by_turnover([np.arange(3)] * 3, [whole, less])
    assert [one.tolist() for one in in_all_worlds(left, [whole, less])[0]] == [[0, 1, 2]] * 3


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SFUMATO_KEY", "a key for tests")
    return tmp_path


def months(seed: int) -> list[pl.DataFrame]:
    rng = np.random.default_rng(seed)
    everybody = pl.DataFrame({
        "id": [f"p{i}" for i in range(40)],
        "age": rng.integers(20, 60, 40),
        "disease": rng.choice(["flu", "cold", "ulcer", "gout"], 40),
    })  # fmt: skip
    return [everybody[i * 4 : i * 4 + 24] for i in range(4)]


@pytest.mark.slow
@pytest.mark.parametrize("m", [2, 3])
def test_an_m_invariant_series_stands_where_counts_are_compared(place: Path, m: int) -> None:
    for seed in range(3):
        tables, made, last = months(seed), [], None
        for table in tables:
            last = sf.republish(
                last, table, m=m, state=place / f"{seed}.state", person="id", quasi=["age"], sensitive="disease", seed=1
            )
            last.save(place / f"{seed}-{len(made)}")
            made.append(place / f"{seed}-{len(made)}")
        found = sf.attack(releases=made, original=tables, person="id", m=m)["intersection"]
        assert found["success"] == 0
        assert found["details"]["fewer values than m"]["people"] == 0
        assert found["details"]["people above 1/m in small groups"] == 0


def test_anatomy_again_and_again_pins_people() -> None:
    tables = months(1)
    asked = {"quasi": ["age"], "sensitive": ["disease"], "require": [sf.DistinctLDiversity("disease", 2)]}
    made = [sf.anonymize(table.drop("id"), search=sf.Anatomy(seed=1), **asked) for table in tables]
    found = sf.attack(releases=made, original=tables, person="id")["intersection"]
    assert found["success"] > 0.1


def test_a_signature_that_only_one_group_of_each_release_has_is_a_persons() -> None:
    """Ann may be in two groups in January and in two in February; cold and gout are of one in both: hers."""
    january = {"age": ["[30, 36]", "[30, 36]", "[34, 40]", "[34, 40]"], "d": ["flu", "ulcer", "cold", "gout"]}
    february = {"age": ["[34, 36]", "[34, 36]", "[35, 50]", "[35, 50]"], "d": ["flu", "cold", "cold", "gout"]}
    people = [
        {"id": ["Ann", "B", "C", "D"], "age": [35, 30, 40, 36], "d": ["cold", "ulcer", "gout", "flu"]},
        {"id": ["Ann", "C", "X", "Y"], "age": [35, 40, 34, 36], "d": ["cold", "gout", "flu", "cold"]},
    ]
    groups = [["fu", "fu", "cg", "cg"], ["fc", "fc", "cg", "cg"]]
    given: dict[str, Any] = {"person": "id", "trials": 100}
    plain = intersection([january, february], people, ["age"], "d", **given)
    told = intersection([january, february], people, ["age"], "d", signatures=groups, **given)
    assert told.details["average values left"] < plain.details["average values left"]


def test_signatures_of_a_series_are_read_off_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "a key for tests")
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"id": range(200), "age": rng.integers(20, 60, 200), "d": rng.choice(list("abcdef"), 200)})
    months, last, folders = [table[i * 20 : i * 20 + 140] for i in range(3)], None, []
    for i, month in enumerate(months):
        last = sf.republish(last, month, m=2, state=tmp_path / "s", person="id", quasi=["age"], sensitive="d", seed=i)
        folders.append(last.save(tmp_path / f"{i}"))
    found = sf.attack(releases=folders, original=months, person="id", m=2)["intersection"]
    assert found["details"]["fewer values than m"]["people"] == 0  # and the true value stays among those left
    assert found["success"] == 0
