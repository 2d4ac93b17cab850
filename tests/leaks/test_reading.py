"""How a file was read tells nothing of single rows."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import sfumato as sf

ROWS = [f"0{1 + i % 2}.05.19{61 + i % 2};{40 + i % 2},5;{500 + i % 2} €" for i in range(20)]


@pytest.mark.parametrize("alone", ["13.12.1999;99,5;500 €", "13.12.1999;n.d.;1.500,20 €", "13.12.1999;90;-5 €"])
def test_a_suppressed_row_does_not_show_in_how_the_file_was_read(tmp_path: Path, alone: str) -> None:
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["born;weight;cost", *ROWS, alone]) + "\n", "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sf.anonymize(
            file,
            quasi=["born"],
            insensitive=["weight", "cost"],
            k=5,
            suppression=1,
            search="optimal",
            hierarchies={"born": "flat"},
        ).manifest
    assert found["solution"]["suppressed"] == 1
    assert found["input"]["reading"] == {"dates": {"born": "dmy"}, "units": ["cost"]}
