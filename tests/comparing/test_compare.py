"""sf.compare: the grid, the figures of each point, the Pareto front, resuming, and the map in all its forms."""

from __future__ import annotations

import json
import re
import threading
import time
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.comparing import page as folders
from sfumato.comparing.axes import OF_MODELS, RISKS, pareto, score, utility_names
from sfumato.comparing.curves import Curve, curve_chart
from sfumato.comparing.drawing import Mark, Stroke, Text, place_labels, scale, svg, written
from sfumato.comparing.lines import lines_of
from sfumato.comparing.page import chart, least_score, page
from sfumato.comparing.points import FILE, in_parallel, open_ledger
from sfumato.core.progress import check_cancelled, interruptible
from sfumato.errors import ColumnError, Infeasible, MissingExtra, OutputError, PolicyError

SECRETS = ("Zyprexine", "Quincke")  # values of the sensitive column: no output may hold them
STREETS = ("Xanadu Row", "Xenia Lane", "Xylo Street", "Xerxes Close")


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "a key of the tests")


@pytest.fixture
def people() -> pl.DataFrame:
    """Sixty people; ages are numbers, streets are names, pay is a number that is not blurred."""
    return pl.DataFrame(
        {
            "age": [20 + (7 * i) % 40 for i in range(60)],
            "street": [STREETS[i % 4] for i in range(60)],
            "illness": [(*SECRETS, "flu")[(i // 3) % 3] for i in range(60)],
            "pay": [1000.0 + 10 * ((11 * i) % 60) for i in range(60)],
        }
    )


def two_methods(people: pl.DataFrame, **more: Any) -> pl.DataFrame:
    asked: dict[str, Any] = {"quasi": ["age", "street"], "sensitive": ["illness"], "insensitive": ["pay"]}
    asked |= {"search": ["mondrian", "optimal"], "k": [2, 5], "hierarchies": {"age": sf.intervals(5, 10, 20)}}
    return sf.compare(people, **asked | more)


def test_front_by_hand() -> None:
    # B beats C (more utility, less risk); A and B, D do not beat each other; E equals B and stands beside it
    utility, risk = [0.9, 0.8, 0.7, 0.5, 0.8], [0.50, 0.20, 0.30, 0.10, 0.20]
    assert pareto(utility, risk) == [True, True, False, True, True]
    assert pareto([0.8, 0.8], [0.2, 0.3]) == [True, False]  # as useful, riskier
    assert pareto([0.8, 0.7], [0.2, 0.2]) == [True, False]  # as risky, less useful
    assert pareto([0.8, None, float("nan")], [None, 0.1, 0.1]) == [False, False, False]
    assert pareto([], []) == []


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12))
def test_front_is_what_its_definition_says(points: list[tuple[int, int]]) -> None:
    beaten = [any(v >= u and s <= r and (v > u or s < r) for v, s in points) for u, r in points]
    assert pareto([u for u, _ in points], [r for _, r in points]) == [not one for one in beaten]


@pytest.mark.slow
def test_points_are_those_of_anonymize(people: pl.DataFrame) -> None:
    found = two_methods(people, suppression=[0, 0.1], workers=2)
    assert found.select("search", "suppression", "k").rows() == [
        (search, share, k) for search in ("mondrian", "optimal") for share in (0.0, 0.1) for k in (2, 5)
    ]
    assert set(found["status"]) == {"done"}
    for row in found.to_dicts():
        release = sf.anonymize(
            people, quasi=["age", "street"], sensitive=["illness"], insensitive=["pay"],
            require=sf.KAnonymity(row["k"]), search=row["search"], suppression=float(row["suppression"]),
            hierarchies={"age": sf.intervals(5, 10, 20)},
        )  # fmt: skip
        sizes = release.table.group_by("age", "street").len()["len"]
        assert row["classes"] == len(sizes)
        assert row["risk"] == pytest.approx(len(sizes) / release.table.height)  # the mean of 1/n over records
        assert row["loss"] == release.manifest["solution"]["loss"]
        assert row["utility"] == 1 - row["loss"]
        assert row["suppressed"] == people.height - release.table.height
    assert found["pareto"].to_list() == pareto(found["utility"].to_list(), found["risk"].to_list())


@pytest.mark.slow
def test_workers_change_nothing_but_the_time(people: pl.DataFrame) -> None:
    one, three = (two_methods(people, workers=n, risk="singling-out trials=50").drop("seconds") for n in (1, 3))
    assert one.equals(three)


def test_points_that_cannot_be_released_are_rows(people: pl.DataFrame) -> None:
    found = two_methods(people, k=[2, 61], search=["mondrian", sf.AlphaKLocal()], levels={"age": (0, 2)})
    status = dict(zip(zip(found["search"], found["k"], strict=True), found["status"], strict=True))
    assert status["mondrian", 61] == "infeasible"
    assert status["alpha-k-local", 2] == "refused"  # it takes no levels
    bad = found.filter(pl.col("status") != "done")
    assert bad["reason"].null_count() == 0
    assert bad["risk"].null_count() == bad.height
    assert not bad["pareto"].any()


def test_a_fault_of_one_point_does_not_end_the_others(people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sf.anonymize

    def faulty(data: Any, **asked: Any) -> Any:
        if asked["require"][0].k == 5:
            raise ValueError(SECRETS[0])
        return real(data, **asked)

    monkeypatch.setattr("sfumato.verbs.compare.anonymize", faulty)
    found = two_methods(people, search="mondrian")
    assert found["status"].to_list() == ["done", "failed"]
    assert "ValueError at" in found["reason"][1]
    assert SECRETS[0] not in found["reason"][1]


@pytest.mark.slow
@pytest.mark.parametrize("risk", RISKS)
def test_every_risk(people: pl.DataFrame, risk: str) -> None:
    more = {"population-uniqueness": " sampling_fraction=0.1", "singling-out": " trials=40", "inference": " trials=40"}
    table = people.with_columns(w=pl.lit(2.0)) if risk == "individual" else people
    weight = "w" if risk == "individual" else None
    hierarchies = {"age": sf.intervals(5, 10, 20)}
    if risk == "similarity":
        hierarchies["illness"] = sf.levels({SECRETS[0]: "a", SECRETS[1]: "a", "flu": "b"})
    found = two_methods(
        table, search="mondrian", k=[2, 60], risk=risk + more.get(risk, ""), weight=weight, hierarchies=hierarchies
    )
    assert found["status"].to_list() == ["done", "done"]
    if risk in OF_MODELS:  # no model drew the rows of a recoding
        assert found["risk"].null_count() == 2
    elif risk not in ("population-uniqueness", "probabilistic-linkage"):  # a model may have no solution
        assert 0 <= found["risk"][1] <= found["risk"][0] + 1e-12 <= 1 + 1e-9  # one class of all is no riskier


@pytest.mark.slow
@pytest.mark.parametrize("utility", utility_names())
def test_every_utility(people: pl.DataFrame, utility: str) -> None:
    if utility == "learning":
        pytest.importorskip("sklearn")
    more = {"learning": " folds=2", "query-error": " queries=40"}
    # only levels have a height; classes of unlike shape may move a distribution less where there are fewer of them
    levels = utility in ("height", "distribution-distance")
    search = "optimal" if levels else sf.Mondrian(labels="ranges")
    found = two_methods(people, search=search, k=[2, 60], utility=utility + more.get(utility, ""))
    assert found["status"].to_list() == ["done", "done"]
    if utility not in ("learning", "classification-metric", "query-error", "c-avg"):  # chance, or relative to k
        assert found["utility"][1] <= found["utility"][0] <= 1
    assert found["utility"].null_count() == 0


def test_utility_of_another_loss_is_measured(people: pl.DataFrame) -> None:
    same, other = (two_methods(people, search="optimal", utility=u) for u in ("lm", sf.NonUniformEntropy()))
    assert same["utility"].to_list() != other["utility"].to_list()
    other_loss = two_methods(people, search="optimal", loss=["lm", "ncp"], utility="ncp")
    assert other_loss["minimised"].unique().sort().to_list() == ["lm", "ncp"]
    own = other_loss.filter(pl.col("minimised") == "ncp")
    assert own["utility"].to_list() == [1 - loss for loss in own["loss"]]


def test_alternatives_of_what_is_required(people: pl.DataFrame) -> None:
    sets = [[sf.DistinctLDiversity("illness", 2)], [sf.DistinctLDiversity("illness", 3)]]
    found = two_methods(people, search="mondrian", k=3, require=sets)
    assert found["require"].to_list() == ["distinct-l-diversity illness 2", "distinct-l-diversity illness 3"]
    assert found["k"].to_list() == [3, 3]
    alone = two_methods(people, search="mondrian", k=None, require="distinct-l-diversity illness 2")
    assert alone["k"].to_list() == [None]
    assert two_methods(people, search="mondrian", k=None)["k"].to_list() == [2, 5, 10]


@pytest.mark.parametrize(
    ("asked", "kind", "told"),
    [
        ({"risk": "avrage"}, PolicyError, 'did you mean "average"'),
        ({"risk": "skewness treshold=1"}, PolicyError, "threshold"),
        ({"utility": "lmm"}, PolicyError, "lm"),
        ({"utility": "learning target=none"}, ColumnError, "none"),
        ({"search": "mondrain"}, PolicyError, 'did you mean "mondrian"'),
        ({"search": []}, PolicyError, "search is empty"),
        ({"k": [2, 0]}, PolicyError, "k is out of range"),
        ({"k": 2, "require": [sf.KAnonymity(3)]}, PolicyError, "both say"),
        ({"workers": 0}, PolicyError, "workers"),
        ({"quasi": ["agee"]}, ColumnError, 'did you mean "age"'),
        ({"risk": "similarity"}, PolicyError, "holds no numbers"),  # of names without a hierarchy
        ({"risk": "homogeneity", "sensitive": []}, PolicyError, "sensitive="),
        ({"risk": 3}, PolicyError, "must name"),
        ({"progress": 3}, PolicyError, "progress"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    people: pl.DataFrame, asked: dict[str, Any], kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind, match=re.escape(told)) as caught:
        two_methods(people, **asked)
    assert not any(secret in str(caught.value) for secret in SECRETS)


@pytest.mark.slow
def test_a_second_run_goes_on(people: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = sf.anonymize

    def counting(data: Any, **asked: Any) -> Any:
        made.append(asked["require"][0].k)
        return real(data, **asked)

    monkeypatch.setattr("sfumato.verbs.compare.anonymize", counting)
    first = two_methods(people, search="mondrian", k=[2, 61], output=tmp_path / "map")
    assert sorted(made) == [2, 61]
    again = two_methods(people, search="mondrian", k=[2, 61], output=tmp_path / "map")
    assert sorted(made) == [2, 61]  # an infeasible point is finished too
    assert again.equals(first)
    more = two_methods(people, search="mondrian", k=[2, 5], output=tmp_path / "map")
    assert sorted(made) == [2, 5, 61]
    assert more["k"].to_list() == [2, 5]
    two_methods(people, search="mondrian", k=[2, 5], risk="highest", output=tmp_path / "map")
    assert sorted(made) == [2, 2, 5, 5, 61]  # measured otherwise is another point
    two_methods(people, search="mondrian", k=2, hierarchies={"age": sf.intervals(6)}, output=tmp_path / "map")
    assert sorted(made) == [2, 2, 2, 5, 5, 61]
    assert len(json.loads((tmp_path / "map/map.json").read_text())["points"]) == 1


@pytest.mark.slow
def test_a_changed_input_starts_anew_and_says_so(
    people: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_methods(people, search="mondrian", output=tmp_path / "map")
    other = people.with_columns(age=pl.col("age") + (pl.int_range(60) == 0).cast(pl.Int64))
    with pytest.warns(sf.CompareWarning, match="starting anew"):
        two_methods(other, search="mondrian", k=2, output=tmp_path / "map")
    lines = (tmp_path / "map" / FILE).read_text().splitlines()
    assert len(lines) == 3  # a header, the table as it is, one point
    monkeypatch.setenv("SFUMATO_KEY", "another key")
    with pytest.warns(sf.CompareWarning, match="starting anew"):
        two_methods(other, search="mondrian", k=2, output=tmp_path / "map")


@pytest.mark.slow
def test_a_line_that_was_cut_off_is_made_again(people: pl.DataFrame, tmp_path: Path) -> None:
    first = two_methods(people, search="mondrian", output=tmp_path / "map")
    path = tmp_path / "map" / FILE
    whole = path.read_text()
    path.write_text(whole[: whole.rstrip("\n").rindex("\n") + 30])  # half of the last line
    again = two_methods(people, search="mondrian", output=tmp_path / "map")
    assert again.drop("seconds").equals(first.drop("seconds"))
    assert sum('"point"' in line and line.endswith("}") for line in path.read_text().splitlines()) == 3


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_finished(
    people: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopping(message: str, share: float | None) -> None:
        if message.startswith("2 of"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        two_methods(people, k=[2, 3, 4, 5], workers=1, output=tmp_path / "map", progress=stopping)
    kept = (tmp_path / "map" / FILE).read_text().splitlines()
    assert 4 <= len(kept) < 10  # a header, the table as it is, two points and perhaps one that was running
    assert not (tmp_path / "map/map.html").exists()
    messages: list[str] = []
    found = two_methods(
        people, k=[2, 3, 4, 5], output=tmp_path / "map", progress=lambda message, share: messages.append(message)
    )
    assert set(found["status"]) == {"done"}
    assert re.match(r"[23] of 8 releases are there already", messages[0])


def test_what_runs_stops_at_its_next_sign_of_progress() -> None:
    began, ended = threading.Event(), threading.Event()

    def patient() -> int:
        began.set()
        try:
            while True:
                time.sleep(0.01)
                check_cancelled()
        finally:
            ended.set()

    def broken() -> int:
        began.wait(30)
        raise MissingExtra("nothing", "none")

    start = time.monotonic()
    with pytest.raises(MissingExtra):
        interruptible(lambda report: in_parallel([patient, broken, patient], 2, lambda result: None))
    assert ended.is_set()
    assert time.monotonic() - start < 20


def test_other_folders_are_left_alone(people: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"notes\.txt"):
        two_methods(people, output=tmp_path)
    with pytest.raises(OutputError, match="not a folder"):
        two_methods(people, output=tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert open_ledger(None, "x")[1] is None


@pytest.mark.slow
def test_no_output_holds_a_value(people: pl.DataFrame, tmp_path: Path) -> None:
    found = two_methods(
        people, search=["mondrian", "optimal", sf.AlphaKLocal()], k=[2, 61], levels={"age": (0, 2)},
        require=[sf.AlphaK(0.9, 2, "illness", [SECRETS[0]])], risk="homogeneity", output=tmp_path / "map",
    )  # fmt: skip
    assert "(1 entries)" in found["require"][0]
    words = [*SECRETS, *STREETS]
    for path in (tmp_path / "map").iterdir():
        text = path.read_bytes().decode("latin-1")
        assert [word for word in words if word in text] == [], path.name
    assert not any(word in str(found.to_dicts()) for word in words)


def test_the_map_in_all_its_forms(people: pl.DataFrame, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = two_methods(people, k=[2, 5, 61], output=tmp_path / "map")
    names = {path.name for path in (tmp_path / "map").iterdir()}
    assert names == {FILE, "map.json", "map.svg", "map.html", "map.png"}
    document = json.loads((tmp_path / "map/map.json").read_text())
    assert document["points"] == found.to_dicts()
    assert document["original"]["utility"] == 1
    assert document["original"]["risk"] >= found["risk"].max()
    root = ET.fromstring((tmp_path / "map/map.svg").read_text())
    assert sum("m-mark" in (e.get("class") or "") for e in root.iter()) == 4 + 2  # four releases, two in the legend
    html = (tmp_path / "map/map.html").read_text()
    assert "<script" not in html
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "prefers-color-scheme: dark" in html
    for row in found.filter(pl.col("status") == "done").to_dicts():
        assert f"{row['utility']:.4f}" in html
    assert "infeasible" in html
    assert (tmp_path / "map/map.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_same_points_give_the_same_bytes(people: pl.DataFrame, tmp_path: Path) -> None:
    two_methods(people, output=tmp_path / "map")
    first = {path.name: path.read_bytes() for path in (tmp_path / "map").iterdir()}
    two_methods(people, output=tmp_path / "map")
    assert {path.name: path.read_bytes() for path in (tmp_path / "map").iterdir()} == first


def test_without_matplotlib_the_rest_is_written(
    people: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(scene: Any) -> bytes:
        raise MissingExtra("matplotlib", "plot")

    monkeypatch.setattr(folders, "png", absent)
    with pytest.warns(sf.CompareWarning, match=r"sfumato\[plot\]"):
        two_methods(people, search="mondrian", output=tmp_path / "map")
    assert {p.name for p in (tmp_path / "map").iterdir()} == {FILE, "map.json", "map.svg", "map.html"}


def test_roles_are_warned_of_once(people: pl.DataFrame) -> None:
    table = people.with_columns(email=pl.Series([f"{i}@x.org" for i in range(60)]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        two_methods(table)
    assert sum(issubclass(w.category, sf.RoleWarning) for w in caught) == 1


def document(points: int = 3, methods: int = 2, **more: Any) -> dict[str, Any]:
    """A made-up map."""
    rows = [
        {
            "search": f"method-{m}", "parameters": "", "minimised": "lm", "k": 2 + i, "require": "", "suppression": 0,
            "risk": 0.5 / (1 + i + m), "utility": 0.9 - 0.1 * i - 0.03 * m, "loss": 0.1, "suppressed": 0,
            "classes": 9, "seconds": 0.1, "score": 0.2, "pareto": m == 0, "columns": 1, "status": "done",
            "reason": None,
        }
        for m in range(methods) for i in range(points)
    ]  # fmt: skip
    base = {
        "sfumato": "0", "format": 1, "rows": 60, "quasi": [["age"]], "sensitive": [], "seed": None, "swept": "k",
        "utility": {"measure": "lm", "label": "utility (1 − lm)"}, "risk": {"measure": "average", "label": "risk"},
        "original": {"risk": 1.0, "utility": 1.0, "score": 0.5}, "points": rows,
        "nothing": {"risk": 0.0, "utility": 0.0, "score": 0.5},
    }  # fmt: skip
    return base | more


@pytest.mark.parametrize("methods", [1, 2, 8, 17])
@pytest.mark.parametrize("width", [350, 920])
def test_chart_keeps_everything_inside_and_labels_apart(methods: int, width: int) -> None:
    scene = chart(document(5, methods), width)
    marks = [item for item in scene.items if isinstance(item, Mark) and item.told]
    assert len(marks) == 5 * methods
    assert len({(m.shape, m.colour) for m in marks}) == methods
    for item in scene.items:
        places = item.places if isinstance(item, Stroke) else (item.at,)
        assert all(0 <= x <= scene.width and 0 <= y <= scene.height for x, y in places)
    labels = [item for item in scene.items if isinstance(item, Text) and item.kind == "label"]
    assert labels
    for i, a in enumerate(labels):
        for b in labels[:i]:
            apart = (len(a.words) + len(b.words)) * 6.0 / 2
            assert abs(a.at[0] - b.at[0]) >= apart or abs(a.at[1] - b.at[1]) >= 10
    legend = [item.words for item in scene.items if isinstance(item, Text) and item.kind == "legend"]
    assert len(legend) == methods + 1


@pytest.mark.parametrize("width", [350, 920])
def test_the_whole_map_has_both_ends_and_the_least_score(width: int) -> None:
    points = [p | {"score": score(p["utility"], p["risk"])} for p in document(4)["points"]]
    scene = chart(document(4) | {"points": points}, width, heading=False, whole=True)
    words = [item.words for item in scene.items if isinstance(item, Text)]
    assert "everything released" in words
    assert "nothing released" in words
    best = least_score({"points": points})
    assert best is not None
    assert best["score"] == pytest.approx(min((p["risk"] + 1 - p["utility"]) / 2 for p in points))
    [dashed] = [item for item in scene.items if isinstance(item, Stroke) and item.dash]
    ring = [item.at for item in scene.items if isinstance(item, Mark) and item.method == -1][-1]
    (x0, y0), (x1, y1) = dashed.places  # the best lies on its line
    assert (ring[1] - y0) / (ring[0] - x0) == pytest.approx((y1 - y0) / (x1 - x0))
    for item in scene.items:
        places = item.places if isinstance(item, Stroke) else (item.at,)
        assert all(0 <= x <= scene.width and 0 <= y <= scene.height for x, y in places)


def test_the_ends_are_rows_where_they_are_asked_for(people: pl.DataFrame) -> None:
    found = two_methods(people, k=2, search="mondrian", extremes=True)
    assert found["status"].to_list() == ["done", "end", "end"]
    everything, nothing = found.rows(named=True)[1:]
    pairs = people.group_by("age", "street").len().height
    assert (everything["utility"], everything["risk"]) == (1.0, pairs / 60)  # the mean of 1/n over records
    assert everything["score"] == pytest.approx(pairs / 120)
    assert (nothing["utility"], nothing["risk"], nothing["score"]) == (0.0, 0.0, 0.5)
    first = found.rows(named=True)[0]
    assert first["score"] == pytest.approx((first["risk"] + 1 - first["utility"]) / 2)


def test_each_quasi_identifier_has_its_cost(people: pl.DataFrame, tmp_path: Path) -> None:
    found = two_methods(people, k=[5, 61], search="mondrian", dimensions=True, output=tmp_path / "map")
    assert found.select("columns", "k", "status").rows() == [
        (2, 5, "done"), (2, 61, "infeasible"), (1, 5, "done"), (1, 61, "infeasible"),
    ]  # fmt: skip
    alone = sf.compare(
        people.select("age"), quasi=["age"], search="mondrian", k=5, hierarchies={"age": sf.intervals(5, 10, 20)}
    )
    assert found["utility"][2] == alone["utility"][0]
    assert found["utility"][2] > found["utility"][0]  # one column alone loses less
    assert not found["pareto"][2]  # it is no release of the same columns
    html = (tmp_path / "map/map.html").read_text()
    assert "What each quasi-identifier costs" in html
    assert f"{1 - found['utility'][2]:.4f}" in html
    again = two_methods(people, k=[5, 61], search="mondrian", dimensions=True, output=tmp_path / "map")
    assert again.equals(found)  # seconds included: nothing ran twice


@pytest.mark.parametrize("quasi", [["age"], [["age", "street"], ["age", "pay"]]])
def test_dimensions_take_one_set_of_several_columns(people: pl.DataFrame, quasi: Any) -> None:
    with pytest.raises(PolicyError, match="dimensions takes one set of two or more"):
        sf.compare(people, quasi=quasi, rest="release", dimensions=True)
    with pytest.raises(PolicyError, match="extremes"):
        sf.compare(people, quasi=["age"], rest="release", extremes="both")  # type: ignore[arg-type]


def test_a_curve_keeps_inside_and_names_what_is_ringed() -> None:
    curve = Curve("loss", 0, 0, tuple((k, k / 200, f"k {k}") for k in (2, 3, 4, 5, 100)), {5: "the knee"})
    for width in (350, 920):
        scene = curve_chart([curve], "k", "loss", "Loss", "Loss over k.", width)
        assert [item.words for item in scene.items if isinstance(item, Text) and item.kind == "label"] == ["the knee"]
        assert any("logarithmic" in item.words for item in scene.items if isinstance(item, Text))
        for item in scene.items:
            places = item.places if isinstance(item, Stroke) else (item.at,)
            assert all(0 <= x <= scene.width and 0 <= y <= scene.height for x, y in places)


def test_lines_are_methods_and_what_is_not_swept() -> None:
    points = [p | {"suppression": share} for share in (0, 0.1) for p in document()["points"]]
    lines = lines_of(document(points=3) | {"points": points})
    assert [line.name for line in lines] == [
        "method-0, no suppression", "method-0, suppression 0.1", "method-1, no suppression",
        "method-1, suppression 0.1",
    ]  # fmt: skip
    assert [(line.method, line.variant) for line in lines] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all([p["k"] for p in line.points] == [2, 3, 4] for line in lines)


@pytest.mark.parametrize("change", [{"risk": None, "utility": None}, {"risk": 0.0}, {"risk": 0.2, "utility": 1.0}])
def test_odd_points_are_drawn(change: dict[str, Any]) -> None:
    points = [p | change | {"pareto": change["risk"] is not None} for p in document()["points"]]
    points = [p | {"score": score(p["utility"], p["risk"])} for p in points]
    odd = document() | {"points": points}
    assert ET.fromstring(svg(chart(odd), "map")) is not None
    assert "Risk and utility" in page(odd)


def test_nothing_in_the_page_is_markup_of_others() -> None:
    evil = document(quasi=[["<b>age</b>", 'a"b']], sensitive=["<script>"])
    assert "<b>" not in page(evil)
    assert "<script>" not in page(evil)
    assert "&lt;script&gt;" in page(evil)
    assert ET.fromstring(svg(chart(evil), "map")) is not None


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=9), st.booleans())
def test_scales_hold_their_values(values: list[float], log: bool) -> None:
    found = scale(values, 0.0, 100.0, may_be_log=log)
    assert all(-1e-6 <= found(value) <= 100 + 1e-6 for value in values)
    ticks = found.ticks(6)
    assert len(ticks) <= 9
    assert len(set(written(ticks))) == len(ticks)


def test_labels_hide_nothing() -> None:
    marks = [(50.0, 50.0), (54.0, 50.0), (200.0, 50.0)]
    found = place_labels(marks, [6, 6, 6], ["10", "25", "50"], [[(200.0, 50.0), (300.0, 50.0)]], (0, 0, 400, 100))
    assert None not in found
    at = found[2]
    assert at is not None
    assert abs(at[1] - 50) > 4  # not on the line
    assert place_labels([(50.0, 50.0)], [6], ["too long to fit"], [], (40, 40, 60, 60)) == [None]


def test_infeasible_carries_no_abort(people: pl.DataFrame) -> None:
    found = two_methods(people, k=61)
    assert set(found["status"]) == {"infeasible"}
    with pytest.raises(Infeasible):  # what anonymize alone does
        sf.anonymize(people, quasi=["age", "street"], rest="release", require=sf.KAnonymity(61))


@pytest.mark.slow
def test_adult(shared: Path, tmp_path: Path) -> None:
    quasi = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    found = sf.compare(
        shared / "data/arx/adult.csv", quasi=quasi, sensitive=["salary-class"], k=[5, 50], suppression=0.02,
        search=["mondrian", "optimal", "iterated"], output=tmp_path / "map",
        hierarchies={name: str(shared / f"data/arx/adult_hierarchy_{name}.csv") for name in quasi},
    )  # fmt: skip
    assert set(found["status"]) == {"done"}
    useful = {row["search"]: row["utility"] for row in found.filter(pl.col("k") == 50).to_dicts()}
    assert useful["iterated"] > useful["mondrian"] > useful["optimal"]
