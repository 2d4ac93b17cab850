"""Columns as codes: what kind of values they hold."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.microdata import encode


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["01067", "80331"], "text"), (["007", None], "text"), (["0", "10"], "integer"), (["0.5", "01"], "decimal")],
)
def test_whole_numbers_with_a_leading_zero_are_codes(values: list[str | None], kind: str) -> None:
    assert encode(pl.Series("plz", values))[0].kind == kind


def test_codes_are_never_blurred_to_ranges() -> None:
    zips = ["01067", "01069", "04109", "80331"] * 5
    for table, hierarchies in (({"plz": zips}, None), ({"plz": [int(z) + 10000 for z in zips]}, {"plz": "redact"})):
        for search in ("mondrian", "auto"):
            release = sf.anonymize(table, quasi=["plz"], k=8, search=search, hierarchies=hierarchies)
            assert not release.table.get_column("plz").str.contains(r"[\[<>]").any()
