from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.memory.table import enter, forget_others, leave
from sfumato.errors import ColumnError, EmptyTable, InputError

FRAME = pl.DataFrame({"age": [30, 41, None], "town": ["Rome", None, "Paris"]})


def test_polars_comes_in_as_it_is():
    frame, kind = enter(FRAME)
    assert kind == "polars"
    assert frame.equals(FRAME)


def test_lazy_comes_back_lazy():
    frame, kind = enter(FRAME.lazy())
    assert kind == "lazy"
    assert frame.equals(FRAME)
    assert isinstance(leave(frame, FRAME.lazy(), kind, None, []), pl.LazyFrame)


def test_a_lazy_frame_that_fails_says_so_without_cells():
    lazy = pl.DataFrame({"a": ["secret"]}).lazy().select(pl.col("a").cast(pl.Int64))
    with pytest.raises(InputError) as caught:
        enter(lazy)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_dict_of_lists_comes_back_a_dict():
    data = {"age": [30, 41], "mixed": [1, "1"], 5: [1.5, None]}
    frame, kind = enter(data)
    assert kind == "dict"
    assert frame.to_dict(as_series=False) == {"age": [30, 41], "mixed": ["1", "1"], "5": [1.5, None]}
    assert leave(frame.head(1), data, kind, np.array([0]), ["age"]) == {"age": [30], "mixed": ["1"], "5": [1.5]}


def test_a_path_is_read(tmp_path):
    (tmp_path / "t.csv").write_text("age,zip\n30,01234\n")
    frame, kind = enter(str(tmp_path / "t.csv"))
    assert (frame.rows(), kind) == ([("30", "01234")], "polars")
    assert enter(tmp_path / "t.csv")[0].equals(frame)


def test_columns_without_any_value_are_text():
    assert enter(pl.DataFrame({"a": [1], "b": [None]}))[0].schema["b"] == pl.String


def test_objects_become_text_and_missing_stays_missing():
    frame = pl.DataFrame({"a": pl.Series([1, "1", None, float("nan")], dtype=pl.Object)})
    assert enter(frame)[0].get_column("a").to_list() == ["1", "1", None, None]


@pytest.mark.parametrize("data", [FRAME.head(0), FRAME.head(0).lazy(), {"a": []}])
def test_no_rows(data):
    with pytest.raises(EmptyTable, match="no rows"):
        enter(data)


@pytest.mark.parametrize("data", [pl.DataFrame(), {}])
def test_no_columns(data):
    with pytest.raises(EmptyTable, match="no columns"):
        enter(data)


@pytest.mark.parametrize("data", [None, 5, [[1, 2]], pl.Series([1]), np.zeros((2, 2)), object()])
def test_anything_else_is_named_by_its_type(data):
    with pytest.raises(InputError, match=type(data).__name__) as caught:
        enter(data)
    assert "pandas" in str(caught.value)


@pytest.mark.parametrize("values", [[[1]], [{"a": 1}], [b"x"]])
def test_nested_values_are_refused_by_column(values):
    with pytest.raises(ColumnError, match='"odd"'):
        enter(pl.DataFrame({"odd": values}))


def test_faults_of_a_dict():
    with pytest.raises(InputError, match="equally long"):
        enter({"a": [1], "b": [1, 2]})
    with pytest.raises(InputError, match='"a"'):
        enter({"a": 5})
    with pytest.raises(ColumnError, match='"1"'):
        enter({1: [1], "1": [2]})


@pytest.mark.parametrize("kind", ["polars", "lazy", "dict", "pandas", "arrow"])
def test_a_frame_changed_after_the_release_does_not_change_it(kind):
    """What leaves is made when it is asked for: of what was verified, not of what stands in the frame by then."""
    table = pl.DataFrame({"age": [30, 30, 41, 41], "town": ["Rome", "Rome", "Oslo", "Oslo"], "n": [1, 2, 3, 4]})
    given = {
        "polars": table.clone(), "lazy": table.lazy(), "dict": table.to_dict(as_series=False),
        "pandas": table.to_pandas(), "arrow": table.to_arrow(),
    }[kind]  # fmt: skip
    release = sf.anonymize(given, quasi=["age", "town"], insensitive=["n"], require=sf.KAnonymity(2))
    if kind == "polars":
        given[0, "town"], given[0, "age"], given[0, "n"] = "Bern", 99, 99
    elif kind == "dict":
        given["town"][0], given["age"][0], given["n"][0] = "Bern", 99, 99
    elif kind == "pandas":
        given.loc[0] = [99, "Bern", 99]
    found = release.data.collect() if kind == "lazy" else release.data
    found = pd.DataFrame(found) if kind == "dict" else found if kind == "pandas" else found.to_pandas()
    assert sorted(found["n"]) == [1, 2, 3, 4]
    assert sorted(found["town"]) == ["Oslo", "Oslo", "Rome", "Rome"]
    assert sorted(found["age"]) == [30, 30, 41, 41]
    assert release.data is release.data
    if kind != "lazy":  # which Polars does not pickle
        again = pickle.loads(pickle.dumps(release))
        assert again.table.equals(release.table)
        assert type(again.data) is type(release.data)


def test_an_enumeration_forgets_what_no_row_has():
    frame = pl.DataFrame({"a": pl.Series(["x", "rare", "y"], dtype=pl.Enum(["y", "rare", "x"]))})
    entered, kind = enter(frame)
    released = leave(forget_others(entered[[0, 2]]), frame, kind, np.array([0, 2]), ["a"])
    assert released.schema["a"] == pl.Enum(["y", "x"])
    assert released.get_column("a").to_list() == ["x", "y"]


def test_arrow_comes_back_arrow_without_metadata():
    pa = pytest.importorskip("pyarrow")
    table = pa.table(
        {
            "age": pa.array([30, 41, 52], pa.int16()),
            "town": pa.array(["Rome", "Oslo", "Rome"]).dictionary_encode(),
            "zip": ["1", "2", "3"],
        }
    ).replace_schema_metadata({"secret": "x"})
    frame, kind = enter(table)
    assert kind == "arrow"
    assert frame.rows() == [(30, "Rome", "1"), (41, "Oslo", "2"), (52, "Rome", "3")]
    kept = np.array([2, 0])
    out = leave(frame[kept].with_columns(zip=pl.lit("*")), table, kind, kept, ["age", "town"])
    assert out.to_pydict() == {"age": [52, 30], "town": ["Rome", "Rome"], "zip": ["*", "*"]}
    assert out.schema.field("age").type == pa.int16()
    assert out.column("town").chunk(0).dictionary.to_pylist() == ["Rome"]
    assert not out.schema.metadata
    assert table.schema.metadata == {b"secret": b"x"}


def test_arrow_with_faults():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(ColumnError, match='"a"'):
        enter(pa.table([[1], [2]], names=["a", "a"]))
    with pytest.raises(ColumnError, match='"odd"'):
        enter(pa.table({"odd": [[1], [2]]}))
    with pytest.raises(EmptyTable):
        enter(pa.table({"a": pa.array([], pa.int64())}))
