"""Columns of few texts as numbers of these."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest

from sfumato.core import printed as texts
from sfumato.core.printed import as_text, coded, released_types, text_column, tuple_keys, with_texts

LONG = "a text too long to be kept in its view"


def held(column: pl.Series) -> bytes:
    buffer = io.BytesIO()
    column.to_frame().write_ipc(buffer)
    return buffer.getvalue()


def test_few_texts_become_an_enumeration_in_memory_of_its_own() -> None:
    some = pl.Series("s", ["b", None, *[LONG] * 30, LONG + " SECRET"])[:-1]
    assert b"SECRET" in held(some)  # what is left out comes along otherwise
    found = coded(some)
    assert found.dtype == pl.Enum([LONG, "b"])
    assert as_text(found).equals(some, check_dtypes=True, check_names=True)
    assert b"SECRET" not in held(as_text(found))


def test_many_texts_and_other_types_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    many = pl.Series([str(i) for i in range(texts.SEEN)])
    assert coded(many) is many
    assert coded(pl.Series([1, 2])).dtype == pl.Int64
    monkeypatch.setattr(texts, "MOST", 2)
    assert coded(pl.Series(["a", "b", "c"])).dtype == pl.String


def test_texts_by_number_hold_those_that_are_used() -> None:
    words = ["b" + LONG, "SECRET" + LONG, None, "b" + LONG, "a"]
    found = as_text(text_column("s", words, np.array([0, 2, 3, 4]), np.array([4, 1, 3, 2, 0])))
    assert found.dtype == pl.String
    assert found.to_list() == ["a", "b" + LONG, None, "b" + LONG]
    assert b"SECRET" not in held(found)


def test_released_texts_are_text_but_an_enumeration_of_the_original_is_one() -> None:
    own = pl.Enum(["y", "x"])
    frame = pl.DataFrame({"a": coded(pl.Series(["u", "v"])), "b": pl.Series(["x", "y"], dtype=own), "c": [1, 2]})
    original = {"a": pl.Int64(), "b": own, "c": pl.Int64()}
    found = with_texts(frame, original)
    assert dict(found.schema) == released_types(frame.schema, original) == {"a": pl.String, "b": own, "c": pl.Int64}
    assert found["a"].to_list() == ["u", "v"]


@pytest.mark.parametrize("largest", [8, 1 << 62])
def test_keys_are_equal_where_printed_texts_are(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "LARGEST_KEY", largest)
    rng = np.random.default_rng(1)
    columns = [
        pl.Series(rng.choice(["", "a", "b", None], 300)),
        pl.Series(rng.choice(["", "a", "b", None], 300).tolist(), dtype=pl.Enum(["b", "", "a"])),
        pl.Series(rng.choice(["a", "b", None], 300).tolist(), dtype=pl.Enum(["b", "a"])),
        pl.Series(rng.choice([0.0, -0.0, 1.5, float("nan")], 300)),
        pl.Series(rng.integers(0, 3, 300)),
    ]
    found = tuple_keys(columns)
    assert (found.width == 1) == (largest > 8)
    text = pl.DataFrame([texts.printed(column).alias(str(i)) for i, column in enumerate(columns)])
    both = text.with_columns(found)
    assert both.n_unique() == text.n_unique() == found.n_unique()
