"""The runner of steps: columns that fit, strata, facts that later steps undo."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from sfumato.errors import ColumnError
from sfumato.masking.global_recoding import GlobalRecoding
from sfumato.masking.rounding import Rounding

TABLE = pl.DataFrame({"sex": ["F", "M", "F", "M"], "age": [31, 42, 58, 66], "pay": [10.5, 20.25, 13.0, None]})


def test_a_step_without_columns_takes_those_that_fit(run: Any) -> None:
    found = run(TABLE, Rounding(base=10))
    assert found.changed == ("age", "pay")
    assert found.table["age"].to_list() == [30, 40, 60, 70]
    assert found.table["pay"].to_list() == [10, 20, 10, None]
    with pytest.raises(ColumnError, match="does not fit"):
        run(TABLE, Rounding("sex"))
    with pytest.raises(ColumnError, match=r"allowed: number, date$"):  # each once
        run(TABLE, GlobalRecoding("sex", groups=2))


def test_a_later_step_on_the_same_column_takes_its_facts(run: Any) -> None:
    found = run(TABLE, Rounding("age", base=10), Rounding("pay"), Rounding("age", base=7))
    assert [(number, fact.columns, fact.parameters) for number, fact in found.facts] == [
        (1, ("pay",), {"base": 1}),
        (2, ("age",), {"base": 7}),
    ]


def test_strata_keep_the_order_of_the_rows(run: Any) -> None:
    found = run(TABLE, Rounding("age", base=10, by="sex"))
    assert found.table["age"].to_list() == [30, 40, 60, 70]
    assert [fact.fact for _, fact in found.facts] == ["points"]
    with pytest.raises(ColumnError, match=r"stratum 1 of 2"):
        run(TABLE.with_columns(pay=pl.lit(None, pl.Float64)), Rounding("pay", by="sex"))
