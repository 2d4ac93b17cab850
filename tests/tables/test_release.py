"""A protected table from rows to a folder and back: what leaves, what verify finds, what attackers compute."""

from __future__ import annotations

import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import Infeasible, PolicyError, SfumatoError
from tests.fuzz import FUZZ

VISITS = {
    "ward": ["A"] * 9 + ["B"] * 8 + ["C"] * 9,
    "ill": ["flu"] * 8 + ["HIV"] + ["flu"] * 4 + ["HIV"] * 4 + ["flu"] * 5 + ["HIV"] * 4,
}
HIDING = ["exact", "modular", "hypercube", "network-flow"]


@pytest.fixture(scope="module")
def safe() -> Any:
    return sf.protect(sf.tabulate(VISITS, by=["ward", "ill"]), rules=sf.MinimumFrequency(3))


def test_the_fixed_names(safe: Any, tmp_path: Path) -> None:
    assert safe.audit().exposed == 0
    assert safe.data.columns == ["ward", "ill", "value", "status"]
    assert len(safe.data) == 4 * 3
    assert set(safe.data["status"]) == {"published", "primary", "secondary"}
    assert safe.data.filter(pl.col("status") != "published")["value"].null_count() == 4
    safe.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").outcome == "stated"


def test_what_leaves_says_neither_which_cells_are_unsafe_nor_what_it_cost(safe: Any, tmp_path: Path) -> None:
    safe.save(tmp_path / "out")
    written = {path.name: path.read_text("utf-8") for path in (tmp_path / "out").iterdir()}
    assert sorted(written) == ["cells.csv", "cells.sdmx.csv", "manifest.json", "report.html"]
    for text in (written["cells.csv"], written["cells.sdmx.csv"], written["report.html"]):
        assert "primary" not in text
        assert "secondary" not in text
    assert ",D\n" not in written["cells.sdmx.csv"]
    manifest = json.loads(written["manifest.json"])
    assert manifest["made_by"] == "table"
    assert manifest["input"]["rows"] is None
    assert not {"cost", "bound", "hidden"} & set(manifest["method"])
    again = sf.protect(sf.tabulate(VISITS, by=["ward", "ill"]), rules=sf.MinimumFrequency(3))
    again.save(tmp_path / "again")
    assert {path.name: path.read_text("utf-8") for path in (tmp_path / "again").iterdir()} == written


def broken(folder: Path, change: Any) -> dict[str, str]:
    """What verify says of a folder whose table was changed, with its hash."""
    from sfumato.engines.files.bytes import sha256

    lines = (folder / "cells.csv").read_text("utf-8").splitlines()
    (folder / "cells.csv").write_text("\n".join(change(lines)) + "\n", "utf-8")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["files"][0]["sha256"] = sha256(folder / "cells.csv")
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    found = sf.verify(folder)
    assert found.outcome == "broken"
    return {promise.model: promise.note or "" for promise in found.promises if not promise.holds}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda lines: [x.replace("B,flu,,hidden", "B,flu,4,published") for x in lines],
            "hidden",
        ),  # a hole in the pattern
        (lambda lines: [x.replace("B,flu,,hidden", "B,flu,4,hidden") for x in lines], "hidden cell is published"),
        (lambda lines: [x.replace("C,HIV,4", "C,HIV,5") for x in lines], "not the sums"),
        (
            lambda lines: [x.replace(",hidden", ",primary") if "A,HIV" in x else x for x in lines],
            "hidden cell is published",
        ),
        (lambda lines: [x for x in lines if "C,HIV" not in x], ""),
    ],
)
def test_a_changed_table_is_broken(safe: Any, tmp_path: Path, change: Any, words: str) -> None:
    safe.save(tmp_path / "out")
    found = broken(tmp_path / "out", change)
    assert "hidden-cells" in found
    assert words in " ".join(found.values()) or words == "hidden"


def test_flags_are_published_where_they_are_reckoned_with(tmp_path: Path) -> None:
    rng = random.Random(3)
    rows = {"a": [rng.choice("uvw") for _ in range(60)], "b": [rng.choice("pqrs") for _ in range(60)]}
    table = sf.tabulate(rows, by=["a", "b"])
    made = sf.protect(table, rules=sf.MinimumFrequency(4), flags=True)
    made.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").outcome == "stated"
    assert set(made.tables["cells"]["status"]) <= {"published", "primary", "secondary"}
    text = (tmp_path / "out" / "cells.csv").read_text("utf-8")
    assert "hidden" not in text
    ranges = made.audit(coalition=0).intervals
    assert (ranges["high"] > ranges["low"]).all()
    assert ranges["high"].min() <= 3  # everybody knows that an unsafe count is small


def worlds(table: Any, hidden: np.ndarray, least: Any, most: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """The least and greatest value of each cell in all tables of natural numbers that fit what is published; None for
    too many to look at."""
    shape = table.shape
    value, inner = (
        table.value.ravel().astype(int),
        [tuple(at) for at in itertools.product(*(range(1, n) for n in shape))],
    )
    flat = [int(np.ravel_multi_index(at, shape)) for at in inner]
    least, most = np.broadcast_to(least, value.shape), np.broadcast_to(most, value.shape)
    free = [cell for cell in flat if hidden[cell]]
    ranges = [range(int(least[cell]), int(min(most[cell], value[cell] + 6)) + 1) for cell in free]
    if math.prod(map(len, ranges)) > 30_000:
        return None
    low, high = np.full(value.size, 10**9), np.full(value.size, -1)
    for guess in itertools.product(*ranges):
        cells = np.where(hidden, 0, value)
        cells[free] = guess
        full = np.zeros(shape, int)
        for at, cell in zip(inner, flat, strict=True):
            for up in itertools.product(*((0, i) for i in at)):
                full[up] += cells[cell]
        full = full.ravel()
        fits = (
            (full[~hidden] == value[~hidden]).all() and (full >= least)[hidden].all() and (full <= most)[hidden].all()
        )
        if fits:
            low, high = np.minimum(low, full), np.maximum(high, full)
    return low, high


@pytest.mark.slow
@pytest.mark.parametrize("method", HIDING)
def test_in_all_worlds_no_unsafe_count_is_known(method: str) -> None:
    """Every table of natural numbers that fits what is published, those who know the program included."""
    rng, tried = random.Random(method), 0
    for _ in range(25 * FUZZ):
        shape = rng.choice([(2, 2), (2, 3), (3, 2)])
        counts = [[rng.choice([0, 1, 1, 2, 3, 5, 8]) for _ in range(shape[1])] for _ in range(shape[0])]
        rows = [(f"r{i}", f"c{j}") for i, row in enumerate(counts) for j, n in enumerate(row) for _ in range(n)]
        if len({a for a, _ in rows}) < shape[0] or len({b for _, b in rows}) < shape[1]:
            continue
        table = sf.tabulate(pl.DataFrame(rows, schema=["a", "b"], orient="row"), by=["a", "b"])
        try:
            made = sf.protect(table, rules=sf.MinimumFrequency(3), method=method, coalition=0)
        except Infeasible:
            continue
        found = worlds(table, made.cells.hidden, np.minimum(1, table.value.ravel()), 60)
        if found is None or not made.cells.hidden.any():
            continue
        tried += 1
        low, high = found
        unsafe = made.status == 1
        assert (low[unsafe] < high[unsafe]).all()
        assert (low[made.cells.hidden] < high[made.cells.hidden]).all()
    assert tried > 2


def test_methods_cost_at_least_what_the_exact_one_does() -> None:
    rng = random.Random(7)
    rows = {"a": [rng.choice("uvwxy") for _ in range(90)], "b": [rng.choice("pqrs") for _ in range(90)]}
    table = sf.tabulate(rows, by=["a", "b"])
    cost = {name: sf.protect(table, rules=sf.MinimumFrequency(4), method=name).cells.cost for name in HIDING}
    assert min(cost.values()) == pytest.approx(cost["exact"])


@pytest.mark.parametrize("name", [n for n in sf.PROTECTIONS if n not in HIDING])
def test_changed_tables_are_by_construction(name: str, tmp_path: Path) -> None:
    table = sf.tabulate(VISITS | {"id": range(26)}, by=["ward", "ill"], record="id")
    made = sf.protect(table, rules=sf.MinimumFrequency(3), method=name)
    made.save(tmp_path / "out")
    found = sf.verify(tmp_path / "out")
    assert found.outcome == "by construction"
    assert not made.cells.hidden.any()
    assert str(made)


def test_cells_that_must_be_published_or_hidden() -> None:
    table = sf.tabulate(VISITS, by=["ward", "ill"])
    made = sf.protect(
        table, rules=sf.MinimumFrequency(3), publish=[{"ward": "B"}], hide=[{"ward": "C", "ill": "flu"}], cost="cells"
    )
    shown = {row[:2]: row[3] for row in made.data.rows()}
    assert shown["B", "flu"] == shown["B", "HIV"] == "published"
    assert shown["C", "flu"] == "secondary"
    with pytest.raises(PolicyError, match="must be published are unsafe"):
        sf.protect(table, rules=sf.MinimumFrequency(3), publish=[{"ward": "A", "ill": "HIV"}])
    with pytest.raises(Infeasible):
        sf.protect(table, rules=sf.MinimumFrequency(3), publish=[{"ward": ["B", "C", "*"]}, {"ill": "*"}])
    for asked, words in (
        ({"publish": [{"wrd": "A"}]}, '"wrd" is no column'),
        ({"hide": [{"ward": "Z"}]}, "1 of the labels"),
        ({"hide": {"ward": "A"}}, "a list of cells"),
        ({"zeros": "maybe"}, "zeros"),
        ({"cost": "beauty"}, "cost"),
        ({"cost": np.zeros((4, 3))}, "above 0"),
        ({"coalition": -1}, "coalition"),
        ({"method": "exakt"}, "exact"),
    ):
        with pytest.raises(SfumatoError, match=words):
            sf.protect(table, rules=sf.MinimumFrequency(3), **asked)
    with pytest.raises(PolicyError, match="a table of counts or sums"):
        sf.protect(pl.DataFrame(VISITS), rules=sf.MinimumFrequency(3))
    with pytest.raises(PolicyError, match="by a rule"):
        sf.protect(table, rules=[])


def test_a_table_of_another_tool_is_audited_and_protected() -> None:
    cells = {
        "town": ["*", "Italy", "Rome", "Bari", "Norway", "Oslo"], "value": [15, 13, None, None, 2, 2],
    }  # fmt: skip
    above = {"Rome": "Italy", "Bari": "Italy", "Oslo": "Norway", "Italy": "*", "Norway": "*"}
    found = sf.audit_table(cells, hierarchies={"town": above})
    assert found.exposed == 0
    assert found.intervals.select("low", "high").rows() == [(0, 13), (0, 13)]
    assert sf.audit_table(cells | {"value": [15, 13, 10, None, 2, 2]}, hierarchies={"town": above}).exposed == 1
    with pytest.raises(PolicyError, match='the first along "town", in row 1'):
        sf.audit_table(cells | {"value": [16, 13, None, None, 2, 2]}, hierarchies={"town": above})
    whole = sf.read_table(cells | {"value": [15, 13, 10, 3, 2, 2]}, hierarchies={"town": above})
    made = sf.protect(whole, rules=sf.MinimumFrequency(3), coalition=0)
    assert made.audit().exposed == 0
    with pytest.raises(PolicyError, match="2 cells have no number"):
        sf.read_table(cells, hierarchies={"town": above})


def test_a_release_shows_no_cell_in_its_repr(safe: Any) -> None:
    for value in (safe, safe.source, safe.audit(), safe.primary, safe.known):
        for text in ("HIV", "flu"):
            assert text not in repr(value)


def test_weighted_counts_are_no_counts_of_people(tmp_path: Path) -> None:
    weights = {"w": [10] * 26}
    table = sf.tabulate(VISITS | weights, by=["ward", "ill"], weight="w")
    assert table.whole
    assert not table.counts
    made = sf.protect(table, rules=sf.MinimumFrequency(3))
    assert [promise.model for promise in made.promises] == ["hidden-cells", "stated-cells"]
    assert (made.status == 1).sum() == 1  # one patient, who stands for ten
    made.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").outcome == "stated"


def test_the_copy_as_sdmx_is_verified_signed_and_overwritten(safe: Any, tmp_path: Path) -> None:
    safe.save(tmp_path / "out")
    safe.save(tmp_path / "out", overwrite=True)
    sf.new_key(tmp_path / "a.pem", passphrase=None)
    assert sf.sign(tmp_path / "out", key=tmp_path / "a.pem", name="Ann").valid
    copy = tmp_path / "out" / "cells.sdmx.csv"
    copy.write_text(copy.read_text("utf-8").replace(",26,", ",27,"), "utf-8")
    found = sf.verify(tmp_path / "out")
    assert "cells.sdmx.csv is another" in str(next(p.note for p in found.promises if p.model == "integrity"))


def test_a_redesigned_table_has_fewer_cells_and_true_values() -> None:
    rows = {"town": ["Rome"] * 5 + ["Bari"] + ["Oslo"] * 6, "sex": ["f", "m"] * 6}
    tree = sf.wide([("Rome", "Italy", "*"), ("Bari", "Italy", "*"), ("Oslo", "Norway", "*")])
    table = sf.tabulate(rows, by=["town", "sex"], hierarchies={"town": tree})
    made = sf.protect(table, rules=sf.MinimumFrequency(3), method="redesign")
    assert "Bari" not in made.data["town"].to_list()
    assert made.data.height < table.value.size
    true = {row[:2]: row[2] for row in table.data.rows()}
    assert all(true[row[:2]] == row[2] and (row[2] == 0 or row[2] >= 3) for row in made.data.rows())


def test_a_method_that_hides_nothing_refuses_cells_to_hide() -> None:
    table = sf.tabulate(VISITS, by=["ward", "ill"])
    with pytest.raises(PolicyError, match="publishes every cell, and hides none"):
        sf.protect(table, rules=sf.MinimumFrequency(3), method="random-rounding", hide=[{"ward": "A"}])


def test_flags_that_would_tell_too_much_are_refused() -> None:
    """Of other rules, of sums, and where an unsafe cell could be one number alone."""
    table = sf.tabulate(VISITS, by=["ward", "ill"])
    with pytest.raises(PolicyError, match="flags would tell what 1 unsafe cell must be"):
        sf.protect(table, rules=sf.MinimumFrequency(2), flags=True)
    with pytest.raises(PolicyError, match="minimum-frequency"):
        sf.protect(table, rules=[sf.MinimumFrequency(3), sf.GroupDisclosure()], flags=True)
    pay = sf.tabulate(VISITS | {"pay": range(26)}, by=["ward", "ill"], value="pay")
    with pytest.raises(PolicyError, match="counts of people"):
        sf.protect(pay, rules=sf.MinimumFrequency(3), flags=True)


def test_flags_do_not_say_that_a_hidden_empty_cell_is_not_empty(tmp_path: Path) -> None:
    rows = {"a": [*"uuuuvvvvvwww"], "b": [*"ppqqpppqqqqq"]}
    made = sf.protect(
        sf.tabulate(rows, by=["a", "b"]), rules=sf.MinimumFrequency(3), flags=True, zeros="hide", coalition=0
    )
    made.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").outcome == "stated"


def test_contributors_of_a_table_of_another_tool_are_tried_as_far_as_they_are_given() -> None:
    hidden = {"a": ["*", "x", "y", "z", "w"], "value": [100, None, None, None, 10]}
    assert sf.audit_table(hidden).exposed == 0
    people = hidden | {"contributors": [9, 1, 4, 0, 4], "largest_1": [40, 40, 30, 0, 5]}
    assert sf.audit_table(people).exposed == 0  # y and z, of 50 together, for whoever is x
    alone = hidden | {"value": [100, None, None, 30, 10], "contributors": [9, 1, 3, 1, 4]}
    assert sf.audit_table(alone | {"largest_1": [40, 40, 15, 30, 5]}).exposed == 1
    full = sf.audit_table(alone | {"largest_1": [40, 40, 20, 30, 5]}, whole=False)
    assert full.intervals.filter("exposed")["a"].to_list() == ["y"]
    counts = {"a": ["*", "x", "y", "z"], "value": [8, None, None, 4], "contributors": [8, 1, 3, 4]}
    assert sf.audit_table(counts).intervals.filter("exposed")["a"].to_list() == ["y"]
    with pytest.raises(SfumatoError, match='"contributors" needs a number'):
        sf.audit_table(counts | {"contributors": [8, -1, 3, 4]})
