"""Views: the example of the paper, every table on small cases, planted faults, limits, and bad input."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli import main
from sfumato.errors import ColumnError, MissingExtra, PolicyError
from sfumato.fragments.views import worlds
from sfumato.fragments.views.file import read_views
from sfumato.fragments.views.values import condition_text
from tests.fragments.views_by_hand import covers
from tests.fuzz import examples

WHO = ("name", "disease")
PATIENTS = {
    "name": ["Sue", "Claire", "Ann", "John", "David", "Mary", "Alice", "Carol", "Kate"],
    "sex": ["F", "F", "F", "M", "M", "F", "F", "F", "F"],
    "disease": [
        "hypertension", "obesity", "chest pain", "obesity", "obesity", "short breath", "short breath", "chest pain",
        "short breath",
    ],
    "age": [30, 31, 41, 52, 44, 20, 33, 61, 29],
}  # fmt: skip
REGISTER = sf.TableView("register", ["name", "sex"])
WARD = sf.TableView("ward", ["sex", "disease"], distinct=True)


def checked(table: Any, views: Any, k: int = 2, **more: Any) -> sf.ViewsFinding:
    return sf.check_views(table, views, **({"association": WHO, "k": k, "change": False} | more))


def people(rows: Sequence[tuple[Any, ...]], columns: str) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(columns.split())}


def test_the_example_of_the_paper() -> None:
    finding = sf.check_views(PATIENTS, [REGISTER, WARD], association=WHO, k=4, rows=True)
    assert finding.verdict == "unsafe"
    assert not finding.safe
    assert (finding.overall.people, finding.overall.below) == (9, 2)
    assert (finding.overall.least, finding.overall.most) == (1, 1)
    assert finding.rows == (3, 4)  # John and David
    assert [one.verdict for one in finding.alone] == ["safe", "safe"]
    assert [(one.views, one.columns) for one in finding.joins] == [(("register", "ward"), ("sex",))]
    women = pl.DataFrame(PATIENTS).filter(pl.col("sex") == "F")
    assert checked(women, [REGISTER, WARD], 4).safe
    assert checked(women, [REGISTER, WARD], 5).overall.most == 4


def test_the_least_change_of_the_example() -> None:
    change = sf.check_views(PATIENTS, [REGISTER, WARD], association=WHO, k=4).change
    assert change is not None
    assert change.steps == ('drop "sex" of "register"',)
    assert change.least
    assert checked(PATIENTS, change.views, 4).safe


def test_counts_are_seen_where_values_are_not() -> None:
    """Two of three patients have flu: whoever has two rows of the three has it."""
    table = people([("Ann", "F", "flu"), ("Ann", "F", "cold"), ("Eve", "F", "flu")], "name sex disease")
    views = [REGISTER, sf.TableView("ward", ["sex", "disease"])]
    finding = checked(table, views)
    assert finding.verdict == "unsafe"
    assert finding.overall.below == 1  # Ann; Eve has either
    distinct = checked(table, [sf.TableView("register", ["name", "sex"], distinct=True), WARD], size_known=False)
    assert distinct.safe
    assert distinct.searches == 0  # joining tells all there is


@pytest.mark.parametrize("last", ["age > 41", "age >= 42", "age != 41"])
def test_selections_that_differ_by_one_person(last: str) -> None:
    table = {**PATIENTS, "sex": ["F"] * 9}
    views = [
        sf.TableView("register", ["name", "age"]),
        sf.TableView("before", ["disease"], where="age > 40"),
        sf.TableView("after", ["disease"], where="age > 40 and " + last),
    ]
    finding = checked(table, views, rows=True)
    assert finding.verdict == "unsafe"
    assert finding.rows == (2,)  # Ann is 41
    assert finding.overall.most == 1
    assert checked(table, views[:2]).safe
    assert checked(table, [views[0], views[2]]).safe


def test_a_difference_is_found_where_nothing_else_joins() -> None:
    """The rows are named by no column: who is in one selection and not in the other is known by a condition alone."""
    table = people([("Ann", "flu"), ("Bob", "cold"), ("Eve", "flu"), ("Joe", "cold")], "name disease")
    views = [sf.TableView("all", ["disease"]), sf.TableView("others", ["disease"], where="name != Ann")]
    finding = checked(table, views, rows=True)
    assert finding.verdict == "unsafe"
    assert finding.rows == (0,)


def test_a_condition_on_the_value_tells_it() -> None:
    finding = checked(PATIENTS, [sf.TableView("ill", ["name"], where="disease = obesity")])
    assert finding.verdict == "unsafe"
    assert finding.overall.below == 3


def test_a_dependency_tells_more() -> None:
    """Towns have zips of their own: with the zip of each name and the disease of each town, towns part the people."""
    rows = [
        ("Ann", 1, "Rome", "flu"),
        ("Bob", 1, "Rome", "flu"),
        ("Eve", 2, "Bari", "cold"),
        ("Joe", 2, "Bari", "ague"),
    ]
    table = people([*rows, ("Max", 2, "Bari", "ague")], "name zip town disease")
    views = [sf.TableView("register", ["name", "zip"]), sf.TableView("ward", ["town", "disease"])]
    assert checked(table, views).safe
    known = checked(table, views, dependencies=[{"from": ["zip"], "to": "town"}])
    assert known.verdict == "unsafe"
    assert known.overall.below == 2  # two are of zip 1 and of Rome, three of the others
    assert known.searches


def test_rows_of_one_person_are_no_choice() -> None:
    """A person with every value among their rows has each of them for certain."""
    table = people([("Ann", "flu"), ("Ann", "cold"), ("Ann", "ague")], "name disease")
    finding = checked(table, [sf.TableView("register", ["name"]), sf.TableView("ward", ["disease"])])
    assert finding.verdict == "unsafe"
    assert finding.overall.most == 1


COLUMNS = ("name", "x", "disease")
CONDITIONS = [
    None, None, None, "x > 1", "x <= 2", "x = 1", "disease = f", "disease != g", "name = A", "name != B",
    "x > 1 and disease != f",
]  # fmt: skip
DEPENDENCIES = [(("name",), "x"), (("x",), "disease"), (("name",), "disease"), (("disease",), "x")]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[tuple[Any, ...]], list[sf.TableView], list[Any], bool, int]:
    """A table of up to five people, up to three views of it, what else is known, and k."""
    three = draw(st.booleans())
    names = ["A", "B", "C"] if draw(st.booleans()) else ["A", "B", "C", "D", "E"]
    size = draw(st.integers(2, 4 if three else 5))
    alone = draw(st.booleans())
    rows = [
        (
            names[i % len(names)] if alone else draw(st.sampled_from(names[:3])),
            draw(st.integers(1, 2)) if three else 1,
            draw(st.sampled_from("fgh")),
        )
        for i in range(size)
    ]
    chosen = COLUMNS if three else ("name", "disease")
    views = [
        sf.TableView(
            f"v{i}",
            draw(st.lists(st.sampled_from(chosen), min_size=1, max_size=2, unique=True)),
            draw(st.sampled_from(CONDITIONS)),
            draw(st.booleans()),
        )
        for i in range(draw(st.integers(2, 3)))
    ]
    known = [draw(st.sampled_from(DEPENDENCIES))] if draw(st.integers(0, 3)) == 0 else []
    return rows, views, known, draw(st.booleans()) or size > 3, draw(st.integers(2, 3))


@st.composite
def registered(draw: st.DrawFn) -> tuple[list[tuple[Any, ...]], list[sf.TableView], list[Any], bool, int]:
    """The same with a view of who there is: mostly of one row each, beside a view of their diseases."""
    size = draw(st.integers(2, 4))
    rows = [
        (draw(st.sampled_from("AB")) if draw(st.integers(0, 9)) == 0 else "ABCD"[i], draw(st.integers(1, 2)), own)
        for i, own in enumerate(draw(st.lists(st.sampled_from("fgh"), min_size=size, max_size=size)))
    ]
    shown = [["name", "x"], ["x", "disease"]] if draw(st.booleans()) else [["name"], ["disease", "x"]]
    views = [sf.TableView(f"v{i}", columns, distinct=i > 0 and draw(st.booleans())) for i, columns in enumerate(shown)]
    if draw(st.booleans()):
        columns = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=2, unique=True))
        views.append(sf.TableView("more", columns, draw(st.sampled_from(CONDITIONS)), draw(st.booleans())))
    known = [draw(st.sampled_from(DEPENDENCIES))] if draw(st.integers(0, 3)) == 0 else []
    return rows, views, known, True, draw(st.integers(2, 3))


@pytest.mark.slow
@settings(max_examples=examples(400), deadline=None)
@given(st.one_of(cases(), registered()))
def test_every_table_that_there_can_be(case: Any) -> None:
    """The verdict, how many are below k and the least number are those of all tables, one after the other."""
    rows, views, known, size_known, k = case
    more = {"dependencies": [{"from": list(a), "to": b} for a, b in known], "size_known": size_known}
    try:
        finding = checked(people(rows, "name x disease"), views, k, rows=True, **more)
    except PolicyError:  # a selection without rows, a dependency that does not hold
        assume(False)
    if finding.overall.least is None:
        assert finding.safe
        return
    truth = covers(rows, COLUMNS, views, WHO, known, size_known)
    least = min(truth.values())
    assert finding.verdict == ("unsafe" if least < k else "safe")
    assert finding.overall.people == len(truth)
    assert finding.overall.below == sum(one < k for one in truth.values())
    assert {rows[i][0] for i in finding.rows or ()} == {name for name, one in truth.items() if one < k}
    assert finding.overall.least is not None
    assert finding.overall.least <= least <= (finding.overall.most or 99)
    if least < k:
        assert finding.overall.least == finding.overall.most == least


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_rows_views_and_columns_is_nothing(case: Any, random: random.Random) -> None:
    rows, views, _, size_known, k = case
    mixed = random.sample(rows, len(rows))
    others = [sf.TableView(v.name, random.sample(v.columns, len(v.columns)), v.where, v.distinct) for v in views]
    try:
        first = checked(people(rows, "name x disease"), views, k, size_known=size_known)
    except PolicyError:
        assume(False)
    again = checked(people(mixed, "name x disease"), random.sample(others, len(others)), k, size_known=size_known)
    assert (first.verdict, first.overall.below) == (again.verdict, again.overall.below)


@settings(max_examples=examples(100), deadline=None)
@given(cases())
def test_more_views_never_make_it_safer(case: Any) -> None:
    rows, views, _, size_known, k = case
    try:
        whole = checked(people(rows, "name x disease"), views, k, size_known=size_known)
    except PolicyError:
        assume(False)
    if whole.safe:
        for left_out in range(len(views)):
            rest = [view for i, view in enumerate(views) if i != left_out]
            assert checked(people(rows, "name x disease"), rest, k, size_known=size_known).safe


def hard() -> tuple[dict[str, list[Any]], list[sf.TableView]]:
    """Four views in a ring: the join leaves two values to everybody, no two rows can swap, and all four can at once."""
    table = people([("A", 1, 1, "f"), ("B", 1, 2, "g"), ("C", 2, 1, "g"), ("D", 2, 2, "f")], "name x y disease")
    return table, [sf.TableView(a + b, [a, b]) for a in ("name", "disease") for b in "xy"]


def test_a_search_that_is_not_finished_is_never_safe() -> None:
    table, views = hard()
    finished = checked(table, views)
    assert finished.safe
    assert finished.searches
    assert not finished.limit_hit
    stopped = checked(table, views, steps=0)
    assert stopped.verdict == "unknown"
    assert not stopped.safe
    assert stopped.limit_hit
    assert stopped.overall.undecided
    assert "not finished" in stopped.overall.reason


def test_without_the_solver_what_is_open_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str) -> Any:
        raise MissingExtra("scipy", "ml")

    monkeypatch.setattr(worlds, "scipy", missing)
    stopped = checked(*hard())
    assert stopped.verdict == "unknown"
    assert "scipy" in stopped.overall.reason
    assert checked(PATIENTS, [REGISTER, WARD]).verdict == "unsafe"  # which needs none


def test_a_wrong_answer_of_the_solver_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that the solver calls one and that has other views is none."""
    from scipy import optimize

    true = optimize.milp

    def wrong(*given: Any, **more: Any) -> Any:
        found = true(*given, **more)
        if found.x is not None:
            found.x = found.x + 1
        else:
            found.status, found.x = 0, given[0] + 1
        return found

    monkeypatch.setattr(optimize, "milp", wrong)
    finding = checked(*hard())
    assert finding.verdict == "unknown"


def test_a_least_set_of_values_is_not_looked_for_for_ever() -> None:
    sets = [frozenset({3 * i, 3 * i + 1, 3 * i + 2}) for i in range(30)]
    with pytest.raises(worlds.TooLong) as raised:
        worlds.smallest_hitting_set(sets, 29)
    assert raised.value.size <= 30  # which it has
    assert worlds.smallest_hitting_set([frozenset({i}) for i in range(900)], 899) is None
    assert worlds.smallest_hitting_set([frozenset({1}), frozenset({1, 2}), frozenset({2, 3})], 2) in ({1, 2}, {1, 3})


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.frozensets(st.integers(0, 4)), max_size=6), st.integers(0, 4))
def test_least_sets_by_brute_force(family: list[frozenset[int]], most: int) -> None:
    sizes = [n for n in range(6) for A in combinations(range(5), n) if all({*A} & one for one in family)]
    found = worlds.smallest_hitting_set(family, most)
    assert (None if found is None else len(found)) == (min(sizes) if sizes and min(sizes) <= most else None)


def test_views_that_join_to_too_much_are_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.fragments.views.joins.MOST_KINDS", 10)
    finding = checked(PATIENTS, [REGISTER, WARD], 4)
    assert finding.verdict == "unknown"
    assert "room" in finding.overall.reason


@pytest.mark.parametrize("shown", [["name", "sex"], ["sex", "disease"]])
def test_a_column_in_no_view_cannot_be_linked(shown: list[str]) -> None:
    finding = checked(PATIENTS, [sf.TableView("one", shown)])
    assert finding.safe
    assert finding.overall.least is None
    assert "no view shows" in finding.overall.reason


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"views": [sf.TableView("a", ["nam"])]}, ColumnError, 'did you mean "name"'),
    ({"views": [sf.TableView("a", ["name"], where="agee > 3")]}, ColumnError, 'did you mean "age"'),
    ({"views": [sf.TableView("a", ["name"], where="age > 99")]}, PolicyError, "selects no row"),
    ({"views": [REGISTER, sf.TableView("register", ["sex"])]}, PolicyError, "two views have one name: register"),
    ({"views": []}, PolicyError, "list of views"),
    ({"views": [{"name": "a", "columns": ["name"], "distnct": True}]}, PolicyError, 'did you mean "distinct"'),
    ({"views": [{"name": "a"}]}, PolicyError, 'a view needs "columns"'),
    ({"views": [7]}, PolicyError, "no view"),
    ({"k": 1}, PolicyError, "k is out of range"),
    ({"k": 2.5}, PolicyError, "k is out of range"),
    ({"association": ["name"]}, PolicyError, "two columns"),
    ({"association": ["name", "name"]}, PolicyError, "two columns"),
    ({"association": ["name", "illness"]}, ColumnError, "illness"),
    ({"dependencies": [{"from": ["sex"], "to": "disease"}]}, PolicyError, "1 combination with several values"),
    ({"dependencies": [{"from": ["sx"], "to": "disease"}]}, ColumnError, 'did you mean "sex"'),
    ({"dependencies": [{"from": ["sex"], "to": "sex"}]}, PolicyError, "to itself"),
    ({"dependencies": [{"from": ["sex"]}]}, PolicyError, 'needs "to"'),
    ({"dependencies": [3]}, PolicyError, "no dependency"),
    ({"steps": -1}, PolicyError, "steps"),
    ({"seconds": 0}, PolicyError, "seconds"),
    ({"rows": "yes"}, PolicyError, "rows must be true or false"),
]


@pytest.mark.parametrize(("given", "error", "message"), BAD)
def test_bad_input(given: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments: dict[str, Any] = {"views": [REGISTER, WARD]} | given
    with pytest.raises(error, match=message) as raised:
        checked(PATIENTS, arguments.pop("views"), **arguments)
    assert not any(value in str(raised.value) for name in WHO for value in PATIENTS[name])


def test_missing_names_and_values_are_refused() -> None:
    with pytest.raises(ColumnError, match='"disease" of the association is missing in 1 row'):
        checked({"name": ["Ann", "Eve"], "disease": ["flu", None]}, [sf.TableView("a", ["name", "disease"])])


@pytest.mark.parametrize(
    "text", ["age > 40 and sex in (F, 'not said')", "sex != missing", "town = 'and'", 'a = "it\'s"']
)
def test_conditions_read_back(text: str) -> None:
    view = sf.TableView("a", ["age"], text)
    assert sf.TableView("a", ["age"], view.where) == view
    assert view.conditions == sf.TableView("a", ["age"], condition_text(view.conditions)).conditions


VIEWS = """
table = "patients.csv"
association = ["name", "disease"]
k = 4
view = [
  { name = "register", columns = ["name", "sex"] },
  { name = "ward", columns = ["sex", "disease"], distinct = true },
]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pl.DataFrame(PATIENTS).write_csv(tmp_path / "patients.csv")
    path = tmp_path / "views.toml"
    path.write_text(VIEWS, "utf-8")
    return path


def test_the_shell(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["views", "check", str(file)]) == 1
    out = capsys.readouterr().out
    assert '"register" and "ward" join on "sex"' in out
    assert "2 people of 9 keep fewer than 4 values" in out
    assert 'drop "sex" of "register"' in out
    assert not any(name in out for name in PATIENTS["name"])
    assert main(["views", "check", str(file), "--json", "--rows", "--no-change"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["verdict"], told["below"], told["rows"], told["change"]) == ("unsafe", 2, [3, 4], None)
    file.write_text(VIEWS.replace('"sex"] },', "] },").replace('"name", ]', '"name"]'), "utf-8")
    assert main(["views", "check", str(file)]) == 0


def test_a_search_that_is_not_finished_ends_with_1(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, views = hard()
    pl.DataFrame(table).write_csv(file.with_name("patients.csv"))
    listed = ", ".join(f'{{ name = "{v.name}", columns = {json.dumps([*v.columns])} }}' for v in views)
    text = f'table = "patients.csv"\nassociation = ["name", "disease"]\nk = 2\nview = [{listed}]\n'
    file.write_text(text, "utf-8")
    assert main(["views", "check", str(file), "--steps", "0"]) == 1
    assert "unknown" in capsys.readouterr().out


def test_all_faults_of_a_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "views.toml"
    path.write_text('tabel = "a.csv"\nk = 1\n[[view]]\nname = "a"\n[[dependency]]\nfrom = "zip"\n', "utf-8")
    with pytest.raises(PolicyError, match="6 faults") as raised:
        read_views(path)
    assert len(raised.value.faults) == 6
    with pytest.raises(PolicyError, match="cannot be read"):
        read_views(tmp_path / "nothing.toml")
    path.write_text("a = [", "utf-8")
    with pytest.raises(PolicyError, match="not TOML"):
        read_views(path)


def test_numbers_that_are_texts_have_an_order() -> None:
    table = {**PATIENTS, "age": [str(age) for age in PATIENTS["age"]]}
    views = [sf.TableView("register", ["name", "age"]), sf.TableView("old", ["disease"], where="age > 52")]
    for own in (PATIENTS, table):
        found = checked(own, views, rows=True)
        assert found.rows == (7,)  # Carol alone is older


WOMEN = {name: [v for v, sex in zip(PATIENTS[name], PATIENTS["sex"], strict=True) if sex == "F"] for name in PATIENTS}


def test_safe_views_are_released_and_proven_again(tmp_path: Path) -> None:
    found = sf.release_views(WOMEN, [REGISTER, WARD], association=WHO, k=4)
    assert {name: len(table) for name, table in found.tables.items()} == {"register": 7, "ward": 4}
    folder = found.save(tmp_path / "out")
    verified = sf.verify(folder)
    assert verified.outcome == "holds"
    assert [(p.model, p.measured) for p in verified.promises] == [("integrity", 0), ("view-k-anonymity", 4)]
    text = (folder / "ward.csv").read_text("utf-8")
    (folder / "ward.csv").write_text(text.replace("F,obesity\n", ""), "utf-8")
    assert sf.verify(folder).outcome == "broken"


def test_the_promise_is_checked_without_the_hash(tmp_path: Path) -> None:
    """Whoever takes rows out and mends the manifest is still found out by the promise."""
    from sfumato.engines.files.bytes import sha256

    folder = sf.release_views(WOMEN, [REGISTER, WARD], association=WHO, k=4).save(tmp_path / "out")
    ward, manifest = folder / "ward.csv", folder / "manifest.json"
    before = sha256(ward)
    ward.write_text(ward.read_text("utf-8").replace("F,obesity\n", ""), "utf-8")
    told = json.loads(manifest.read_text("utf-8").replace(before, sha256(ward)))
    told["tables"][1]["rows"] = 3
    told["promises"][0]["measured"] = 3
    manifest.write_text(json.dumps(told), "utf-8")
    integrity, promise = sf.verify(folder).promises
    assert integrity.holds
    assert not promise.holds


def test_selections_leave_with_their_rows_alone(tmp_path: Path) -> None:
    table = pl.DataFrame(WOMEN).with_columns(pl.col("disease", "sex").cast(pl.Categorical))
    views = [REGISTER, sf.TableView("old", ["age"], where="age > 30"), WARD]
    found = sf.release_views(table, views, association=WHO, k=3)
    assert sorted(found.tables["old"]["age"]) == [31, 33, 41, 61]
    folder = found.save(tmp_path / "out", format="parquet")
    assert sf.verify(folder).outcome == "holds"
    assert "30" not in (folder / "old.parquet").read_bytes().decode("latin-1")


def test_unsafe_views_are_not_released() -> None:
    with pytest.raises(sf.errors.Infeasible, match=r"the views are unsafe.*2 people below k") as raised:
        sf.release_views(PATIENTS, [REGISTER, WARD], association=WHO, k=4)
    assert raised.value.closest.overall.below == 2
    table, views = hard()
    with pytest.raises(sf.errors.Infeasible, match="the views are unknown"):
        sf.release_views(table, views, association=WHO, k=2, steps=0)


def test_views_without_a_proof_of_their_own_are_not_released() -> None:
    table, views = hard()  # safe, as the search of tables shows
    with pytest.raises(sf.errors.Infeasible, match="does not prove it"):
        sf.release_views(table, views, association=WHO, k=2)
    distinct = sf.TableView("register", ["name", "sex"], distinct=True)
    with pytest.raises(sf.errors.Infeasible, match="of all rows"):
        sf.release_views(WOMEN, [distinct, WARD], association=WHO, k=2, size_known=False)


@pytest.mark.parametrize("names", [("a/b", "c"), ("..", "c"), ("Ward", "ward"), (".a", "b")])
def test_names_of_views_that_are_no_files(names: tuple[str, str]) -> None:
    views = [sf.TableView(name, ["name", "sex"]) for name in names]
    with pytest.raises(PolicyError, match="becomes a file"):
        sf.release_views(WOMEN, views, association=WHO, k=2)


@settings(max_examples=examples(150), deadline=None)
@given(registered())
def test_what_is_released_is_safe_in_every_table(case: Any) -> None:
    rows, views, known, size_known, k = case
    more = {"dependencies": [{"from": list(a), "to": b} for a, b in known], "size_known": size_known}
    try:
        found = sf.release_views(people(rows, "name x disease"), views, association=WHO, k=k, **more)
    except (PolicyError, sf.errors.Infeasible):
        event("refused")
        return
    event("released")
    if found.verification.promises[0].measured is not None:
        assert min(covers(rows, COLUMNS, views, WHO, known, size_known).values()) >= k


@pytest.mark.slow
def test_releasing_in_the_shell(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = file.with_name("out")
    assert main(["views", "release", str(file), "-o", str(out)]) == 2  # unsafe
    assert not out.exists()
    assert "2 people below k" in capsys.readouterr().err
    pl.DataFrame(WOMEN).write_csv(file.with_name("patients.csv"))
    assert main(["views", "release", str(file), "-o", str(out)]) == 0
    assert "keeps 4 possible values" in capsys.readouterr().out
    assert main(["verify", str(out)]) == 0
    capsys.readouterr()
    assert main(["views", "release", str(file), "-o", str(out), "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measured"] == 4
    assert main(["views", "release", str(file)]) == 2


@pytest.mark.parametrize("given", ["3", '"a"', "true", "[1]", "{ name = 1 }"])
@pytest.mark.parametrize("key", ["view", "dependency"])
def test_views_of_another_type_are_a_fault(tmp_path: Path, key: str, given: str) -> None:
    path = tmp_path / "views.toml"
    other = "" if key == "view" else 'view = [{ name = "a", columns = ["b"] }]\n'
    path.write_text(f'table = "a.csv"\nassociation = ["a", "b"]\nk = 2\n{other}{key} = {given}\n', "utf-8")
    with pytest.raises(PolicyError, match=key):
        read_views(path)
