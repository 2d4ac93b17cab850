"""Where a row stands in a release tells nothing of where it stood in the input."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.printed import printed_frame
from sfumato.engines.order import arrangement, is_canonical, numbered, sorted_by
from tests.fuzz import FUZZ, slow_but

ALPHA_K = {"require": sf.AlphaK(0.8, 2, "s")}
MODELS: dict[str, dict[str, Any]] = {  # with what each needs
    "optimal": {},
    "mondrian": {},
    "relaxed mondrian": {"search": sf.Mondrian(relaxed=True)},
    "k-member": {},
    "one-pass-k-means": {},
    "refined": {},
    "top-down": {},
    "bottom-up": {},
    "datafly": {},
    "tds": {},
    "k-optimize": {"loss": "discernibility"},
    "greedy-suppression": {},
    "tuple-suppression": {"suppression": 0.9},
    "alpha-k-local": ALPHA_K,
    "genetic": {"search": sf.Genetic(seconds=None, evaluations=400)},
}


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.RoleWarning)
        warnings.simplefilter("ignore", sf.RowOrderWarning)
        yield


def register(rows: int = 1000, seed: int = 0) -> pl.DataFrame:
    """A register in the order of its names."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"person {i:05}" for i in range(rows)],
            "age": rng.integers(18, 90, rows),
            "zip": [f"{z:05}" for z in rng.integers(10000, 10040, rows)],
            "disease": rng.choice(["flu", "cold", "cancer", "asthma", "none"], rows),
        }
    )


def aligned(release: sf.Release, people: pl.DataFrame) -> int:
    """How many diseases somebody gets right who takes the n-th row for that of the n-th name of the same list."""
    assert release.table.height == people.height
    return int((release.table["disease"] == people["disease"]).sum())


DIVERSE: dict[str, Any] = {
    "identifying": ["name"],
    "quasi": ["age", "zip"],
    "require": [sf.KAnonymity(10), sf.EntropyLDiversity("disease", 2)],
}


@pytest.mark.parametrize("search", ["mondrian", "optimal"])
def test_a_list_in_the_order_of_the_input_gives_no_disease_away(search: str) -> None:
    people = register()
    assert aligned(sf.anonymize(people, **DIVERSE, search=search, order="input"), people) == 1000
    release = sf.anonymize(people, **DIVERSE, search=search)
    by_class = release.table.group_by("age", "zip").agg(pl.col("disease").value_counts(sort=True).first())
    baseline = sum(entry["count"] for entry in by_class["disease"])  # the best guess within each class
    assert aligned(release, people) <= baseline
    assert aligned(release, people) < 400
    found = sf.measures.attacks.order(release.table, people, ["age", "zip"], "disease")
    assert found.interval[0] <= found.baseline


def test_a_class_is_not_cut_by_the_order_of_the_input() -> None:
    """Sorted by age: in a class of ten the first row is that of the youngest."""
    people = register().sort("age", "name")
    asked: dict[str, Any] = {"identifying": ["name"], "quasi": ["age"], "insensitive": ["zip", "disease"]}
    asked |= {"require": sf.KAnonymity(10), "search": "mondrian"}
    told = sf.anonymize(people, **asked, order="input")
    youngest_first = people["age"].gather(told.rows)
    assert youngest_first.is_sorted()
    assert np.array_equal(told.rows, np.arange(1000))  # so the effective class of every row is 1
    release = sf.anonymize(people, **asked)
    # any order of the same people gives the same rows in the same places: a place fits every member of its class
    for seed in range(5):
        turned = people.sample(fraction=1, shuffle=True, seed=seed)
        assert sf.anonymize(turned, **asked).table.equals(release.table)
    assert release.table.group_by("age").len()["len"].min() >= 10


@pytest.mark.slow
def test_nothing_that_leaves_tells_where_the_rows_came_from(tmp_path: Path) -> None:
    """`release.rows` is for the holder of the original: whatever it is, all that is saved and shown is the same."""
    people, told = register(200), []
    for seed in (1, 2):
        turned = people.sample(fraction=1, shuffle=True, seed=seed)
        release = sf.anonymize(turned, **DIVERSE, suppression=0.1)
        assert release.rows is not None
        assert turned["disease"].gather(release.rows).equals(release.table["disease"])
        folder = release.save(tmp_path / str(seed))
        files = {file.name: file.read_text("utf-8") for file in folder.iterdir()}
        manifest = json.loads(files.pop("manifest.json"))
        # a mark of the whole input, made with a secret key
        mark = manifest["input"].pop("fingerprint")
        page = files.pop("report.html").replace(mark, "")
        assert release.manifest["input"].pop("fingerprint") == mark
        told.append(
            (files, manifest, page, repr(release), release._repr_html_(), release.manifest, str(sf.explain(release)))
        )
        rows = release.rows
    assert told[0] == told[1]
    assert "rows=" not in repr(release)
    assert str(rows[:3].tolist()) not in str(told[0])


def generated(rng: np.random.Generator) -> pl.DataFrame:
    """A small table with everything that prints alike and yet differs, beside missing values and equal rows."""
    rows = int(rng.integers(6, 40))
    texts = np.array(["", "a", "A", "é", "=1", "a b", "日本", "10", "9"], dtype=object)
    numbers = np.array([0.0, -0.0, np.nan, 1.5, -1.5, 1e16, 10.0, 9.0])
    columns: dict[str, Any] = {
        "name": [f"p{i}" for i in range(rows)],
        "q": pl.Series(rng.integers(-3, 12, rows)),
        "r": pl.Series(rng.choice(texts, rows).tolist(), dtype=pl.String),
        "s": pl.Series(rng.choice(["flu", "cold", "ache"], rows)),
        "x": pl.Series(rng.choice(numbers, rows)),
        "y": pl.Series(rng.choice(texts, rows).tolist(), dtype=pl.String),
    }
    found = pl.DataFrame(columns)
    holes = [pl.when(pl.Series(rng.random(rows) > 0.1)).then(pl.col(c)).alias(c) for c in ("q", "r", "s", "x", "y")]
    return found.with_columns(holes)


def released(table: pl.DataFrame, **asked: Any) -> sf.Release | type[Exception]:
    given: dict[str, Any] = {
        "identifying": ["name"],
        "quasi": ["q", "r"],
        "sensitive": ["s"],
        "insensitive": ["x", "y"],
    }
    try:
        return sf.anonymize(table, **given | asked)
    except (sf.errors.Infeasible, sf.errors.ColumnError, sf.errors.PolicyError) as no:
        return type(no)


def bits(table: pl.DataFrame) -> pl.DataFrame:
    """A table that is equal to another only where its floats are, bit by bit."""
    return table.with_columns(
        pl.col(pl.Float64).map_batches(lambda s: pl.Series(s.fill_null(7).to_numpy().view("i8"))).alias("bits")
    )


@pytest.mark.parametrize("name", ["*", "^.*$"])
def test_rows_are_dealt_by_all_other_columns_whatever_a_column_is_called(name: str) -> None:
    table = pl.DataFrame({name: [1] * 5 + [2] * 4 + [3] * 3, "paid": list(range(12)), "s": [*"ab" * 6]})
    search = sf.Mondrian(relaxed=True)  # splits cells
    asked: dict[str, Any] = {"quasi": [name], "rest": "release", "require": sf.KAnonymity(3), "search": search}
    first = sf.anonymize(table, **asked)
    for seed in range(5):
        again = sf.anonymize(table.sample(fraction=1, shuffle=True, seed=seed), **asked)
        assert again.table.equals(first.table)


@pytest.mark.parametrize("search", slow_but(MODELS, "mondrian", "optimal"))
def test_any_order_of_the_input_gives_the_same_release(search: str) -> None:
    rng = np.random.default_rng(11)
    made = 0
    for _ in range(6 * FUZZ):
        table = generated(rng)
        asked: dict[str, Any] = {"require": sf.KAnonymity(int(rng.integers(2, 4))), "search": search, "seed": 3}
        asked["suppression"] = float(rng.choice([0.0, 0.2]))
        asked |= MODELS[search]
        first = released(table, **asked)
        again = released(table.sample(fraction=1, shuffle=True, seed=int(rng.integers(1 << 30))), **asked)
        if not isinstance(first, sf.Release):
            assert again is first
            continue
        made += 1
        assert isinstance(again, sf.Release)
        assert bits(again.table).equals(bits(first.table))
        assert again.manifest["data"] == first.manifest["data"]
        public = [{**r.manifest, "input": None} for r in (first, again)]
        assert json.dumps(public[0]) == json.dumps(public[1])
        by = sorted_by(first.table.columns, ["q", "r"])
        assert is_canonical(printed_frame(first.table), by)
        # what is known of the original stays right: the columns released as they are, row by row
        before = table[first.rows.tolist()].select("s", "x", "y")
        assert before.equals(first.table.select("s", "x", "y"))
    assert made >= FUZZ


@pytest.mark.slow
@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "xlsx"])
def test_any_order_of_the_input_gives_the_same_bytes(format: str, tmp_path: Path) -> None:
    for seed in range(3):
        table = generated(np.random.default_rng(seed))
        folders = []
        for turn in range(2):
            one = table if not turn else table.sample(fraction=1, shuffle=True, seed=seed)
            made = released(one, require=sf.KAnonymity(2), search="mondrian")
            assert isinstance(made, sf.Release)
            folders.append(made.save(tmp_path / f"{seed} {turn}", format=format))
            assert sf.verify(folders[-1]).holds
        first, other = folders
        assert (first / f"data.{format}").read_bytes() == (other / f"data.{format}").read_bytes()
        manifests = [json.loads((folder / "manifest.json").read_text("utf-8")) for folder in folders]
        for manifest in manifests:
            assert manifest["data"]["order"] == "canonical"
            del manifest["input"]["fingerprint"]
        assert manifests[0] == manifests[1]


@pytest.mark.slow
def test_the_frames_of_every_library_are_in_canonical_order() -> None:
    people = register(60)
    expected = released_as(people)
    for frame in (people.lazy(), people.to_arrow(), people.to_dict(as_series=False), _pandas(people)):
        found = released_as(frame)
        assert printed_frame(found).equals(printed_frame(expected))


def released_as(data: Any) -> pl.DataFrame:
    made = sf.anonymize(
        data, identifying=["name"], quasi=["age"], insensitive=["zip", "disease"], require=sf.KAnonymity(5)
    ).data
    if hasattr(made, "iloc"):
        assert made.index.equals(type(made.index)(range(len(made))))  # an index that was kept would give the order away
        return pl.from_pandas(made)
    if isinstance(made, dict):
        return pl.DataFrame(made)
    return (
        made.collect()
        if isinstance(made, pl.LazyFrame)
        else made
        if isinstance(made, pl.DataFrame)
        else pl.from_arrow(made)
    )


def _pandas(people: pl.DataFrame) -> Any:
    frame = people.to_pandas()
    return frame.set_index(np.arange(len(frame)) + 1000)


def test_buffers_of_texts_are_in_canonical_order_too() -> None:
    """The texts behind a frame lie in memory one after the other; in which order must not tell either."""
    long = [f"a text too long to be kept in its view {i}" for i in range(12)]
    table = pl.DataFrame({"q": [1] * 12, "s": long[::-1]})
    release = sf.anonymize(table, quasi=["q"], insensitive=["s"], require=sf.KAnonymity(2))
    texts = release.data["s"]
    assert texts.to_list() == sorted(long)
    held = b"".join(bytes(buffer) for buffer in texts.to_arrow().buffers()[2:] if buffer is not None)
    places = [held.find(text.encode()) for text in sorted(long)]
    assert places == sorted(places)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["canonical", "random", "input"])
def test_the_order_is_in_the_manifest_the_report_and_the_command(order: str, tmp_path: Path) -> None:
    people = register(60)
    asked = {
        "identifying": ["name"],
        "quasi": ["age"],
        "insensitive": ["zip", "disease"],
        "require": sf.KAnonymity(5),
        "seed": 1,
    }
    if order == "input":
        with pytest.warns(sf.RowOrderWarning, match="order of the input"):
            sf.anonymize(people, **asked, order=order)
    release = sf.anonymize(people, **asked, order=order)
    folder = release.save(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert manifest["data"]["order"] == order
    page = (folder / "report.html").read_text("utf-8")
    head = page[: page.index("</header>")]
    assert ("order of the input" in head) == ("order of the input" in repr(release)) == (order == "input")
    assert (f"--order {order}" in page) == (order != "canonical")
    assert sf.verify(folder).holds
    assert np.array_equal(people["zip"].gather(release.rows), release.table["zip"])


@pytest.mark.slow
def test_a_random_order_repeats_by_its_seed_and_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    people = register(200)
    asked = {"identifying": ["name"], "quasi": ["age"], "insensitive": ["zip", "disease"], "require": sf.KAnonymity(5)}

    def mixed(seed: int | None) -> pl.DataFrame:
        return sf.anonymize(people, **asked, order="random", seed=seed).table

    monkeypatch.setenv("SFUMATO_KEY", "one")
    assert mixed(1).equals(mixed(1))
    assert not mixed(1).equals(mixed(2))
    first = mixed(1)
    monkeypatch.setenv("SFUMATO_KEY", "two")
    assert not mixed(1).equals(first)


@pytest.mark.parametrize("wrong", ["shuffled", "Canonical", 3, None, True])
def test_an_order_that_there_is_not(wrong: Any) -> None:
    with pytest.raises(sf.errors.PolicyError, match="canonical, random, input"):
        sf.anonymize(register(60), **DIVERSE, order=wrong)


def test_verify_finds_rows_that_are_not_in_canonical_order(tmp_path: Path) -> None:
    from sfumato.engines.files.bytes import sha256

    release = sf.anonymize(
        register(60), identifying=["name"], quasi=["age"], insensitive=["zip", "disease"], require=sf.KAnonymity(5)
    )
    folder = release.save(tmp_path / "out")
    lines = (folder / "data.csv").read_text("utf-8").splitlines(keepends=True)
    (folder / "data.csv").write_text("".join([lines[0], lines[2], lines[1], *lines[3:]]), encoding="utf-8")
    assert lines[1] != lines[2]
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["files"][0]["sha256"] = sha256(folder / "data.csv")
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    found = sf.verify(folder)
    assert not found.holds
    assert "canonical order" in (found.promises[0].note or "")
    manifest["data"]["order"] = "input"
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert sf.verify(folder).holds
    manifest["data"]["order"] = "backwards"
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(sf.errors.ReadError, match="order"):
        sf.verify(folder)


@pytest.mark.slow
def test_verify_finds_it_in_streams_too(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.engines.files.bytes import sha256
    from sfumato.release import folder as released_data

    monkeypatch.setattr(released_data, "is_streamed", lambda *given: True)
    monkeypatch.setattr(released_data, "BATCH", 100)
    data = sources(wide_register(), tmp_path / "in", "parquet", request)
    for format in ("csv", "parquet"):
        folder = sf.anonymize(data, **ASKED, to=sf.Folder(tmp_path / format, format=format)).path
        assert folder is not None
        assert sf.verify(folder).holds
        file = folder / f"data.{format}"
        rows = pl.read_csv(file, infer_schema=False) if format == "csv" else pl.read_parquet(file)
        turned = pl.concat([rows[:700], rows[701:], rows[700:701]])
        assert not turned.equals(rows)
        turned.write_csv(file) if format == "csv" else turned.write_parquet(file)
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        manifest["files"][0]["sha256"] = sha256(file)
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        found = sf.verify(folder)
        assert not found.holds
        assert found.promises[0].note == "its rows are not in canonical order"


def test_equal_rows_are_dealt_to_classes_by_what_is_released_of_them() -> None:
    """Rows with equal quasi-identifiers that get different labels: which gets which is no matter of their places, and
    no class gets all of one value."""
    table = pl.DataFrame({"q": [1] * 40 + [2] * 5 + [3] * 40, "s": ["flu", "cold"] * 42 + ["flu"], "x": [0] * 85})
    asked: dict[str, Any] = {
        "quasi": ["q"],
        "insensitive": ["s", "x"],
        "require": sf.KAnonymity(7),
        "search": "k-member",
    }
    first = sf.anonymize(table, **asked)
    assert first.table["q"].n_unique() > 1
    for seed in range(10):
        assert sf.anonymize(table.sample(fraction=1, shuffle=True, seed=seed), **asked).table.equals(first.table)
    assert first.table.group_by("q").agg(pl.col("s").n_unique())["s"].min() == 2


def test_the_arrangement_of_what_prints_alike() -> None:
    frame = pl.DataFrame({"x": [0.0, None, -0.0, float("nan"), 0.0], "y": ["", None, "", "", "a"]})
    for seed in range(20):
        turned = frame.sample(fraction=1, shuffle=True, seed=seed)
        there = turned[arrangement(turned, ["x", "y"])]
        assert [repr(row) for row in there.rows()] == [
            "(0.0, 'a')", "(0.0, '')", "(-0.0, '')", "(None, None)", "(nan, '')"
        ]  # fmt: skip
        assert sorted(numbered(turned, ["x", "y"]).tolist()) == [0, 1, 2, 3, 4]


# every engine: a few tables each


def sources(table: pl.DataFrame, folder: Path, engine: str, request: pytest.FixtureRequest) -> Any:
    """The same rows as an engine holds them."""
    folder.mkdir(exist_ok=True)
    if engine in ("duckdb", "sqlite", "postgresql"):
        from tests.conformance.engines import ENGINES

        return ENGINES[engine][0](table, folder, request).data
    if engine.startswith("spark"):
        session = request.getfixturevalue(engine.replace("-", "_"))
        return session.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(3)
    for i, part in enumerate(table.iter_slices(300)):
        if engine == "parquet":
            part.write_parquet(folder / f"{i}.parquet", row_group_size=100)
        else:
            part.write_csv(folder / f"{i}.csv")
    return sf.scan(folder)


def wide_register(rows: int = 1500) -> pl.DataFrame:
    """A register with columns of several types, holes, and many equal rows."""
    rng = np.random.default_rng(7)
    cost = np.where(rng.random(rows) < 0.1, np.nan, rng.integers(-20, 2000, rows) / 4)
    return register(rows).with_columns(
        pl.Series("cost", cost, nan_to_null=True),
        pl.Series("visits", rng.integers(0, 12, rows)),
        pl.when(pl.col("age") % 17 != 0).then("age"),
    )


FOLDERS = [  # all engines; the form of the files matters to files and to Spark, which write them by other code
    ("parquet", "parquet"), ("parquet", "csv"), ("csv", "csv"), ("duckdb", "parquet"), ("sqlite", "csv"),
    pytest.param("postgresql", "parquet", marks=pytest.mark.postgres),
    pytest.param("spark", "parquet", marks=pytest.mark.spark),
    pytest.param("spark-connect", "csv", marks=pytest.mark.spark),
]  # fmt: skip
ASKED: dict[str, Any] = {
    "identifying": ["name"], "quasi": ["zip", "age"], "sensitive": ["disease"], "insensitive": ["cost", "visits"],
    "require": sf.KAnonymity(10), "search": "mondrian",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "format"), FOLDERS)
def test_any_order_of_the_input_gives_the_same_files_on_every_engine(
    engine: str, format: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.engines.files import write as scanned_order
    from sfumato.engines.spark import recode as spark_order

    monkeypatch.setattr(scanned_order, "RUN", 512)  # so that some runs are merged
    monkeypatch.setattr(spark_order, "PART", 500)
    table = wide_register()
    made = []
    for turn in range(2):
        one = table if not turn else table.sample(fraction=1, shuffle=True, seed=1)
        data = sources(one, tmp_path / f"in {turn}", engine, request)
        out = sf.anonymize(data, **ASKED, to=sf.Folder(tmp_path / f"out {turn}", format=format)).path
        assert out is not None
        assert sf.verify(out).holds
        made.append(out)
    files = [{p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()} for out in made]
    documents = [json.loads(found.pop(Path("manifest.json"))) for found in files]
    for found in (*files, *documents):
        found.pop(Path("report.html"), None)  # it shows the fingerprint of the input
    assert [document["input"].pop("fingerprint", None) for document in documents] != [None]
    assert documents[0] == documents[1]
    assert documents[0]["data"]["order"] == "canonical"
    assert files[0] == files[1]
    expected = printed_frame(sf.anonymize(table, **ASKED).table)
    if "spark" in engine:
        assert len(files[0]) > 1
        return
    from sfumato.engines.files.bytes import read_back

    found = read_back(made[0] / f"data.{format}", format)
    assert found.equals(expected)
    assert is_canonical(found, sorted_by(found.columns, ASKED["quasi"]))


PLACES = {"duckdb": "rowid", "sqlite": "rowid", "postgresql": "ctid"}


DATABASES = ["duckdb", "sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.mark.slow
@pytest.mark.parametrize("engine", DATABASES)
def test_the_places_of_rows_in_a_table_of_a_database_tell_nothing(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    table, found = wide_register(), []
    for turn in range(2):
        one = table if not turn else table.sample(fraction=1, shuffle=True, seed=1)
        data = sources(one, tmp_path / f"in {turn}", engine, request)
        sf.anonymize(data, **ASKED, to=sf.Table("kept"))
        found.append(physical(data.source, engine))
    assert found[0].equals(found[1])
    text = printed_frame(found[0])
    assert is_canonical(text.select("zip", "age"), ["zip", "age"])
    assert sorted(text.rows(), key=str) == sorted(printed_frame(sf.anonymize(table, **ASKED).table).rows(), key=str)


@pytest.mark.slow
@pytest.mark.parametrize("engine", DATABASES)
@pytest.mark.parametrize("search", ["optimal", "mondrian"])
def test_ranks_sort_the_rows_of_a_database_as_their_texts_would(
    engine: str, search: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.engines.sql.recode import Staged

    rng = np.random.default_rng(5)
    rows = 3000
    values = {"visits": [9, 10, 100, -1, None], "sex": ["f", "m", "", None], "dose": [2.0, 10.0, 0.0, -0.0, None]}
    table = pl.DataFrame(
        {
            **{name: pl.Series(given).gather(rng.integers(0, len(given), rows)) for name, given in values.items()},
            "age": rng.integers(1, 120, rows),
            "cost": np.array([0.0, -0.0, 1.5, -2.0, 100.0])[rng.integers(0, 5, rows)],
        }
    )
    asked: dict[str, Any] = {"quasi": [*values, "age"], "insensitive": ["cost"], "search": search}
    if search == "optimal":  # some rows suppressed, and three columns as they are
        asked |= {"suppression": 0.02, "levels": dict.fromkeys(values, 0), "hierarchies": {"age": "intervals:60"}}
    data = sources(table, tmp_path / "in", engine, request)
    made = sf.anonymize(data, require=sf.KAnonymity(8), **asked, to=sf.Table("kept"))
    by_ranks = physical(data.source, engine)
    assert search == "mondrian" or (made.solution.verdict.suppressed and by_ranks.schema["visits"].is_integer())
    zeros = by_ranks.filter(pl.col("cost") == 0)
    zeros = zeros.with_columns(plus=pl.Series(~np.signbit(zeros.get_column("cost").to_numpy())).cast(pl.Int8))
    assert engine == "sqlite" or zeros.get_column("plus").n_unique() == 2  # which has one zero only
    steps = zeros.group_by(asked["quasi"], maintain_order=True).agg(pl.col("plus").diff().min())
    assert steps.get_column("plus").drop_nulls().min() == 0  # as their texts: -0.0 before 0.0
    monkeypatch.setattr(Staged, "_rank", lambda *given: None)
    sf.anonymize(data, require=sf.KAnonymity(8), **asked, to=sf.Table("kept", overwrite=True))
    by_texts = physical(data.source, engine)
    assert printed_frame(by_ranks).equals(printed_frame(by_texts))


def physical(source: Any, engine: str) -> pl.DataFrame:
    """The rows of the release as they lie there."""
    query = f"SELECT * FROM kept ORDER BY {PLACES[engine]}"
    if engine == "duckdb":
        import duckdb

        with duckdb.connect(str(source)) as connection:
            return pl.from_arrow(connection.sql(query).to_arrow_table())  # type: ignore[return-value]
    import adbc_driver_postgresql.dbapi
    import adbc_driver_sqlite.dbapi

    library = adbc_driver_sqlite.dbapi if engine == "sqlite" else adbc_driver_postgresql.dbapi
    with library.connect(str(source)) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return pl.from_arrow(cursor.fetch_arrow_table())  # type: ignore[return-value]


@pytest.mark.spark
@pytest.mark.parametrize("search", ["mondrian", "optimal"])
def test_a_spark_frame_is_laid_out_by_what_is_released(
    search: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.engines.spark import recode as spark_order

    table = wide_register()
    frames, asked = [], ASKED | {"search": search, "suppression": 0.01 if search == "optimal" else 0.0}
    if search == "optimal":  # a column as it is, by digits: 1, 10, 11, 2
        asked |= {"quasi": ["visits", "zip", "age"], "insensitive": ["cost"], "levels": {"visits": 0}}
    for turn in range(3):
        one = table if turn != 1 else table.sample(fraction=1, shuffle=True, seed=1)
        if turn == 2:  # by the texts themselves, not by their ranks
            monkeypatch.setattr(spark_order, "takewhile", lambda *given: ())
        made = sf.anonymize(sources(one, tmp_path, "spark", request), **asked)
        assert made.manifest["data"]["order"] == "canonical"
        frames.append(pl.from_arrow(made.data.toArrow()))
    assert frames[0].equals(frames[1])  # type: ignore[union-attr]
    assert frames[0].equals(frames[2])  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "order", "table"),
    [
        ("duckdb", "input", False),
        ("duckdb", "input", True),
        ("duckdb", "random", True),
        pytest.param("spark", "input", False, marks=pytest.mark.spark),
        pytest.param("spark", "random", False, marks=pytest.mark.spark),
    ],
)
def test_an_order_that_an_engine_does_not_have(
    engine: str, order: str, table: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    data = sources(wide_register(100), tmp_path / "in", engine, request)
    with pytest.raises(sf.errors.PolicyError, match="cannot be released in this order") as caught:
        sf.anonymize(data, **ASKED, order=order, to=sf.Table("kept") if table else tmp_path / "out")
    assert "canonical" in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["parquet", "csv", "duckdb"])
def test_streams_in_random_order(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    table = wide_register()
    data = sources(table, tmp_path / "in", engine, request)
    asked = {**ASKED, "order": "random", "seed": 5}
    first = sf.anonymize(data, **asked, to=sf.Folder(tmp_path / "one", format="csv"))
    assert first.manifest["data"]["order"] == "random"
    found = pl.read_csv(first.data, infer_schema=False)
    expected = printed_frame(sf.anonymize(table, **ASKED).table)
    assert not found.equals(expected)
    assert sorted(found.rows(), key=str) == sorted(expected.rows(), key=str)
    if engine != "duckdb":  # whose rows have no order to begin with
        again = sf.anonymize(data, **asked, to=sf.Folder(tmp_path / "two", format="csv"))
        assert first.data.read_bytes() == again.data.read_bytes()


def test_files_in_the_order_of_the_input(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    table = wide_register()
    data = sources(table, tmp_path / "in", "parquet", request)
    with pytest.warns(sf.RowOrderWarning):
        made = sf.anonymize(data, **ASKED, order="input", to=tmp_path / "out")
    assert pl.read_parquet(made.data)["visits"].equals(table["visits"])
    assert "order of the input" in repr(made)
    assert "order of the input" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_categories_of_pandas_are_not_in_the_order_they_were_met_in() -> None:
    import pandas as pd

    met = ["zebra", "ant", "moth"] * 10
    for ordered in (False, True):
        frame = pd.DataFrame({"q": [1] * 30, "s": pd.Categorical(met, ["zebra", "ant", "moth"], ordered=ordered)})
        made = sf.anonymize(frame, quasi=["q"], insensitive=["s"], require=sf.KAnonymity(5)).data
        assert list(made["s"].cat.categories) == (["zebra", "ant", "moth"] if ordered else ["ant", "moth", "zebra"])
