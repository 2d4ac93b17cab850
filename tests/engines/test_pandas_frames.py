from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.files.forms import ReadWarning
from sfumato.engines.memory.table import enter, leave
from sfumato.errors import ColumnError, EmptyTable, UndecidedColumns

pd = pytest.importorskip("pandas")
NAN = float("nan")
MOMENT = pd.Timestamp("2024-02-29 13:45")


def objects(*values):
    return pd.Series(values, dtype=object)


@pytest.mark.parametrize(
    ("column", "dtype", "values"),
    [
        (objects(1, "1", 1.0, None, True, NAN, pd.NA), pl.String, ["1", "1", "1.0", None, "True", None, None]),
        (objects(2**70, 1, None), pl.String, [str(2**70), "1", None]),
        (objects(Decimal("1.10"), None), pl.String, ["1.10", None]),
        (objects(1, 2.5, None), pl.String, ["1", "2.5", None]),
        (objects("x", None, NAN, pd.NA), pl.String, ["x", None, None, None]),
        (objects(1, None, 3), pl.Int64, [1, None, 3]),
        (objects(True, None, False), pl.Boolean, [True, None, False]),
        (objects(1.5, None, NAN), pl.Float64, [1.5, None, None]),
        (objects(None, None), pl.String, [None, None]),
        (objects(dt.date(1500, 1, 1), None), pl.Date, [dt.date(1500, 1, 1), None]),
        (objects(dt.datetime(9999, 1, 1), pd.NaT), pl.Datetime("us"), [dt.datetime(9999, 1, 1), None]),
        (pd.Series(["x", None, ""]), pl.String, ["x", None, ""]),
        (pd.Series(["x", None], dtype="string"), pl.String, ["x", None]),
        (pd.Series(["x", None], dtype="string[python]"), pl.String, ["x", None]),
        (pd.Series(["b", None, "a"], dtype="category"), pl.String, ["b", None, "a"]),
        (pd.Series([2, None, 1], dtype="category"), pl.Int64, [2, None, 1]),
        (pd.Series([1, None], dtype="Int64"), pl.Int64, [1, None]),
        (pd.Series([1, None], dtype="UInt8"), pl.UInt8, [1, None]),
        (pd.Series([1.5, None], dtype="Float64"), pl.Float64, [1.5, None]),
        (pd.Series([True, None], dtype="boolean"), pl.Boolean, [True, None]),
        (pd.Series([1.0, NAN, np.inf]), pl.Float64, [1.0, None, np.inf]),
        (pd.Series(np.arange(2, dtype="float16")), pl.Float32, [0.0, 1.0]),
        (pd.Series(np.arange(2, dtype=">i4")), pl.Int32, [0, 1]),
        (pd.Series([MOMENT, pd.NaT]).astype("datetime64[ns]"), pl.Datetime("ns"), [MOMENT.to_pydatetime(), None]),
        (pd.Series([MOMENT, pd.NaT]).astype("datetime64[s]"), pl.Datetime("ms"), [MOMENT.to_pydatetime(), None]),
        (pd.Series(["b", None], dtype=pd.CategoricalDtype(["c", "b"], True)), pl.Enum(["c", "b"]), ["b", None]),
        (pd.Series([2, 1], dtype=pd.CategoricalDtype([2, 1], True)), pl.Int64, [2, 1]),
        (pd.Series(pd.IntervalIndex.from_breaks([0, 1, 2])), pl.String, ["(0, 1]", "(1, 2]"]),
        (pd.Series(pd.arrays.SparseArray([0, 0, 1])), pl.Int64, [0, 0, 1]),
        (pd.Series([1j, 2j]), pl.String, ["1j", "2j"]),
    ],
)
def test_each_type_of_column(column, dtype, values):
    data = pd.DataFrame({"x": column})
    before = data.copy(deep=True)
    frame, kind = enter(data)
    assert kind == "pandas"
    assert frame.get_column("x").to_list() == values
    assert frame.schema["x"] == dtype
    pd.testing.assert_frame_equal(data, before)


@pytest.mark.parametrize(
    ("column", "values", "hint"),
    [
        (pd.Series(pd.period_range("2024-01", periods=2, freq="M")), ["2024-01", "2024-02"], "give dates instead"),
        (pd.Series(pd.to_timedelta([1, None], unit="D")), ["1 days 00:00:00", None], "give numbers instead"),
    ],
)
def test_periods_and_time_differences_become_text_with_a_warning(column, values, hint):
    with pytest.warns(ReadWarning, match=f'"stay" .* is read as text; for ranges, {hint}') as caught:
        frame, _ = enter(pd.DataFrame({"stay": column}))
    assert "2024" not in str(caught[0].message)
    assert frame.get_column("stay").to_list() == values


@pytest.mark.parametrize(
    "index",
    [None, [1, 0, 2], [7, 3, 5], [0, 1, 0], pd.Index([4, 2, 9], dtype="Int64"), pd.RangeIndex(5, 8)],
)
def test_row_numbers_are_dropped(index):
    data = pd.DataFrame({"a": [1, 2, 3]}, index=index)
    frame, kind = enter(data)
    assert frame.columns == ["a"]
    assert leave(frame, data, kind, None, ["a"]).index.equals(pd.RangeIndex(3))


@pytest.mark.parametrize(
    ("index", "columns"),
    [
        (pd.Index(["ann", "bob"]), ["index"]),
        (pd.DatetimeIndex(["2024-01-01", "2024-01-02"]), ["index"]),
        (pd.Index([0.5, 1.5]), ["index"]),
        (pd.RangeIndex(2, name="patient"), ["patient"]),
        (pd.Index(["x", "y"], name="town"), ["town"]),
        (pd.MultiIndex.from_tuples([("x", 1), ("y", 2)], names=["town", None]), ["town", "level_1"]),
    ],
)
def test_an_index_with_values_is_a_column(index, columns):
    data = pd.DataFrame({"a": [1, 2]}, index=index)
    frame, kind = enter(data)
    assert frame.columns == [*columns, "a"]
    assert [frame.get_column(name).to_list() for name in columns] == [
        index.get_level_values(i).to_list() for i in range(index.nlevels)
    ]
    out = leave(frame, data, kind, np.array([1, 0]), frame.columns)
    assert out.index.equals(pd.RangeIndex(2))
    assert out.columns.to_list() == [*columns, "a"]
    assert out[columns[0]].to_list() == index.get_level_values(0).to_list()[::-1]
    assert data.index is index or data.index.equals(index)


@pytest.mark.parametrize("names", [["a"], ["x", "x"]])
def test_an_index_that_is_called_like_a_column_is_refused(names):
    index = pd.MultiIndex.from_arrays([["u", "v"] for _ in names], names=names)
    with pytest.raises(ColumnError, match=f'the index is called "{names[0]}"'):
        enter(pd.DataFrame({"a": [1, 2]}, index=index))


def test_an_index_needs_a_role():
    people = pd.DataFrame({"age": [31, 32, 58, 59]}, index=["ann", "bob", "cy", "di"])
    with pytest.raises(UndecidedColumns, match='"index"'):
        sf.anonymize(people, quasi=["age"], k=2)
    released = sf.anonymize(people, quasi=["age"], identifying=["index"], k=2).data
    assert released.columns.to_list() == ["age"]
    assert released.index.equals(pd.RangeIndex(4))
    again = people.rename_axis("who")
    assert sf.anonymize(again, quasi=["age"], identifying=["who"], drop_missing=True, k=2).data.equals(released)


ARROW = {"int64[pyarrow]": [1, None, 1, 2], "string[pyarrow]": ["x", "x", None, "y"]}
KEPT = {
    "Int64": [1, None, 1, 2],
    "Float64": [1.5, None, 1.5, 2.5],
    "boolean": [True, None, False, True],
    "string": ["x", "x", None, "y"],
    "category": ["x", "x", None, "y"],
    "datetime64[ns, Europe/Paris]": pd.to_datetime(["2024-01-01"] * 4).tz_localize("Europe/Paris"),
    "timedelta64[ns]": pd.to_timedelta([1, 1, None, 2], unit="D"),
    "period[M]": pd.PeriodIndex(["2024-01", "2024-01", "2024-02", "2024-02"], freq="M"),
    **ARROW,
}


@pytest.mark.filterwarnings("ignore:column .* is read as text")
@pytest.mark.parametrize("dtype", KEPT)
def test_a_type_goes_in_and_comes_out(dtype):
    if dtype in ARROW:
        pytest.importorskip("pyarrow")
    more = pd.Series(pd.array(KEPT[dtype], dtype=dtype))
    release = sf.anonymize(pd.DataFrame({"age": [31, 32, 58, 59], "more": more}), quasi=["age"], rest="release", k=2)
    assert release.data["more"].dtype == more.dtype
    pd.testing.assert_series_equal(release.data["more"], more.take(release.rows).reset_index(drop=True), check_names=0)
    blurred = sf.anonymize(pd.DataFrame({"more": more}), quasi=["more"], k=4).data["more"]
    assert blurred.nunique(dropna=False) == 1


def test_the_order_of_categories_is_used():
    sizes = ["tall", "grande", "venti", "trenta"] * 2
    data = pd.DataFrame({"cup": pd.Categorical(sizes, ["tall", "grande", "venti", "trenta"], ordered=True)})
    release = sf.anonymize(data, quasi=["cup"], k=4, keep="consistent-columns")
    assert set(release.data["cup"]) == {"{tall, grande}", "{venti, trenta}"}


def test_time_zones_are_kept_and_offsets_become_utc():
    zone = pd.Series([pd.Timestamp("2024-07-01 12:00", tz="Europe/Paris")])
    offset = pd.Series([pd.Timestamp("2024-07-01 12:00+05:30")])
    frame, _ = enter(pd.DataFrame({"zone": zone, "offset": offset}))
    assert frame.schema["zone"].time_zone == "Europe/Paris"
    assert frame.get_column("zone").dt.hour().item() == 12
    assert frame.schema["offset"].time_zone == "UTC"
    assert frame.get_column("offset").to_list() == offset.to_list()


@pytest.mark.parametrize("value", [[1], {"a": 1}, (1, 2), {1}, b"x", np.array([1])])
def test_nested_values_and_bytes_are_refused_by_column(value):
    with pytest.raises(ColumnError, match='"odd"'):
        enter(pd.DataFrame({"odd": objects(value, "x")}))


def test_text_that_is_no_unicode_is_refused_by_column():
    with pytest.raises(ColumnError, match='"odd"') as caught:
        enter(pd.DataFrame({"odd": objects("secret\ud800")}))
    assert "secret" not in str(caught.value)


def test_names():
    assert enter(pd.DataFrame([[1, 2]]))[0].columns == ["0", "1"]
    with pytest.raises(ColumnError, match='"a"'):
        enter(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ColumnError, match='"1"'):
        enter(pd.DataFrame([[1, 2]], columns=[1, "1"]))
    with pytest.raises(ColumnError, match="several levels"):
        enter(pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])))


def test_empty():
    with pytest.raises(EmptyTable, match="no rows"):
        enter(pd.DataFrame({"a": []}))
    with pytest.raises(EmptyTable, match="no columns"):
        enter(pd.DataFrame(index=[1, 2]))


def test_untouched_columns_keep_their_type_and_nothing_else_comes_along():
    data = pd.DataFrame(
        {
            "name": ["Ann", "Bob", "Cy"],
            "town": pd.Categorical(["Rome", "rare", "Oslo"], categories=["Oslo", "Rome", "rare"], ordered=True),
            "n": pd.array([1, None, 3], dtype="Int64"),
            "mixed": objects(1, "1", None),
            7: [1.5, 2.5, 3.5],
        }
    ).set_axis([7, 9, 8])
    data.attrs["owner"] = "secret"
    frame, kind = enter(data)
    rows = np.array([2, 0])
    released = frame[rows].drop("name").with_columns(pl.lit("[1, 4)").alias("7"))
    out = leave(released, data, kind, rows, ["town", "n", "mixed"])
    assert list(out.columns) == ["town", "n", "mixed", 7]
    assert out["town"].tolist() == ["Oslo", "Rome"]
    assert out["town"].cat.ordered
    assert out["town"].cat.categories.tolist() == ["Oslo", "Rome"]
    assert out["n"].dtype == "Int64"
    assert out["mixed"].isna().tolist() == [True, False]
    assert out["mixed"].tolist()[1] == "1"
    assert out[7].tolist() == ["[1, 4)", "[1, 4)"]
    assert out.index.equals(pd.RangeIndex(2))
    assert out.attrs == {}
    assert data.attrs == {"owner": "secret"}


def test_all_rows_in_order_need_no_positions_and_share_no_memory():
    data = pd.DataFrame({"a": [1, 2]}, index=[5, 6])
    frame, kind = enter(data)
    out = leave(frame, data, kind, None, ["a"])
    out.loc[0, "a"] = 9
    assert data["a"].tolist() == [1, 2]
    assert frame.get_column("a").to_list() == [1, 2]


def test_missing_labels_come_back_missing():
    data = pd.DataFrame({"a": ["x", None]})
    frame, kind = enter(data)
    assert leave(frame, data, kind, None, [])["a"].isna().tolist() == [False, True]


WITHOUT = """
import sys
sys.modules["pyarrow"] = None
import numpy as np, pandas as pd, polars as pl
from sfumato.engines.memory.table import enter, leave
data = pd.DataFrame({
    "s": ["x", None, "y"],
    "c": pd.Categorical(["a", "b", "a"]),
    "i": pd.array([1, None, 3], dtype="Int64"),
    "t": pd.to_datetime(["2024-01-01"] * 3).tz_localize("Europe/Paris"),
    "m": pd.Series([1, "1", None], dtype=object),
})
frame, kind = enter(data)
assert frame.get_column("s").to_list() == ["x", None, "y"]
assert frame.get_column("m").to_list() == ["1", "1", None]
out = leave(frame[[2, 0]], data, kind, np.array([2, 0]), ["c", "i"])
assert out["s"].tolist() == ["y", "x"], out
assert out["i"].dtype == "Int64" and out["c"].cat.categories.tolist() == ["a"]
assert str(out["t"].dt.tz) == "Europe/Paris" and out["t"].tolist() == data["t"].tolist()[:2]
print("fine")
"""


@pytest.mark.slow
def test_pandas_without_pyarrow():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr
