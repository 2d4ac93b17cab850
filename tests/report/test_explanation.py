"""Explain: about ten lines, from what is published, with what is proven, constructed and measured told apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.criteria import CRITERIA
from sfumato.errors import PolicyError
from sfumato.report.translation import Missing, translated

TABLE = {
    "name": [f"Xaverine {i}" for i in range(40)],
    "age": [20 + i for i in range(40)],
    "zip": [str(80331 + i % 4) for i in range(40)],
    "disease": ["flu", "cold", "asthma", "ulcer"] * 10,
    "cost": [100 + 7 * i for i in range(40)],
}
ASKED: dict[str, Any] = {
    "identifying": ["name"],
    "quasi": ["age", "zip"],
    "sensitive": ["disease"],
    "insensitive": ["cost"],
    "k": 4,
    "require": ["distinct-l-diversity disease 2"],
}


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return sf.anonymize(TABLE, **ASKED)


def test_the_lines(release: sf.Release) -> None:
    lines = sf.explain(release).lines
    assert [term for term, _ in lines] == [
        "What it is", "Removed", "Blurred", "As it was", "Proven", "Proven", "By construction", "Assumed",
        "Not covered", "Measured", "Check it",
    ]  # fmt: skip
    said = dict(lines)
    assert said["Removed"] == '"name" is not in the table any more.'
    assert '"age" (such as "[' in said["Blurred"]
    assert 'nothing is promised of "cost"' in said["Not covered"]
    assert "40 of 40 rows from all others" in said["Measured"]  # the cost is another in each row
    text = str(sf.explain(release))
    assert 'by "age" and "zip" finds at least 4 rows that fit' in text
    assert "anonym" not in text.lower()
    assert repr(sf.explain(release)) == text


def test_italian_has_every_line(release: sf.Release) -> None:
    english, italian = sf.explain(release), sf.explain(release, language="it")
    missing = Missing()
    for (term, sentence), there in zip(english.lines, italian.lines, strict=True):
        assert there == (translated(term, "it", missing), translated(sentence, "it", missing))
        assert there[0] != term
        assert there[1] != sentence
    assert missing == []
    assert "anonim" not in str(italian).lower()


def test_the_folder_says_the_same_as_the_release(release: sf.Release, tmp_path: Path) -> None:
    folder = release.save(tmp_path / "out")
    assert sf.explain(folder).lines[:-1] == sf.explain(release).lines[:-1]
    assert f"sfumato verify {folder}" in sf.explain(folder).lines[-1][1]


def test_nothing_but_what_is_published_is_looked_at(release: sf.Release, tmp_path: Path) -> None:
    """A table that gives the same released rows gives the same lines, whatever stood behind them."""
    folder = release.save(tmp_path / "out")
    assert "Xaverine" not in str(sf.explain(folder))
    (label,) = {line.split("such as ")[1].split('"')[1] for term, line in sf.explain(folder).lines if term == "Blurred"}
    assert label in release.table["age"].to_list()


def test_what_is_withheld_is_no_example() -> None:
    table = {"age": [31, 32, 58, 59], "sex": ["f", "m", "f", "m"], "town": ["a", "b", "a", "c"]}
    made = sf.anonymize(table, quasi=["age", "sex", "town"], k=2, hierarchies=dict.fromkeys(["sex", "town"], "flat"))
    blurred = dict(sf.explain(made).lines)["Blurred"]
    assert '"*"' not in blurred
    assert '"age" (withheld)' in blurred
    assert '"town" (withheld in some rows)' in blurred
    missing = Missing()
    translated(blurred, "it", missing)
    assert missing == []


def test_a_broken_release_is_called_broken(release: sf.Release, tmp_path: Path, capsys: Any) -> None:
    folder = release.save(tmp_path / "out")
    assert main(["explain", str(folder), "--language", "it"]) == 0
    assert "Dimostrato: chi vi cerca una persona" in capsys.readouterr().out
    data = pl.read_csv(folder / "data.csv", infer_schema=False)
    data[1:].write_csv(folder / "data.csv")
    assert main(["explain", str(folder)]) == 1
    told = capsys.readouterr().out
    assert "BROKEN: the data are not those that the manifest describes." in told
    assert main(["explain", str(folder), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["holds"] is False


def test_refused(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(PolicyError, match="looks at a release"):
        sf.explain(TABLE)
    with pytest.raises(PolicyError, match="unknown language"):
        sf.explain(sf.anonymize(TABLE, **ASKED), language="la")
    assert main(["explain", str(tmp_path)]) == 2
    assert "no manifest.json" in capsys.readouterr().err
    assert main(["explain", str(tmp_path / "none")]) == 2


@pytest.mark.parametrize("name", CRITERIA)
def test_the_sentence_of_every_criterion_is_translated(name: str) -> None:
    missing = Missing()
    translated(CRITERIA[name].example.sentence(), "it", missing)
    assert missing == []


def test_a_table_that_is_not_in_memory_says_the_same(release: sf.Release, tmp_path: Path) -> None:
    pl.DataFrame(TABLE).write_csv(tmp_path / "t.csv")
    store = sf.scan(tmp_path / "t.csv")
    asked = {**ASKED, "search": "mondrian"}
    streamed = sf.anonymize(store, **asked, to=sf.Folder(tmp_path / "out", "csv"))
    inside = sf.anonymize(TABLE, **asked)
    assert sf.explain(streamed).lines[:-1] == sf.explain(inside).lines[:-1]
    assert sf.explain(tmp_path / "out").lines[:-1] == sf.explain(inside).lines[:-1]
