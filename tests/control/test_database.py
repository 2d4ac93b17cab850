"""The database: its log and what survives a crash, snapshots, samples and rounding, and settings that make no sense."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.control import parse_set_query, read_log
from sfumato.control.log import END, mended, row_ranges, rows_of
from sfumato.errors import ColumnError, EmptyTable, OutputError, PolicyError, QueryRefused, ReadError
from tests.control.test_row_space import determined
from tests.fuzz import FUZZ

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.control.AssumedKeysWarning")

DATA = {"row": list(range(8)), "wage": [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]}


def audited(log: Path | None = None, **more: Any) -> sf.StatisticalDatabase:
    return sf.StatisticalDatabase(DATA, controls=[sf.SumAuditing()], values=["wage"], log=log, **more)


def ask_some(database: sf.StatisticalDatabase) -> None:
    database.ask("sum wage", user="ann")
    with pytest.raises(QueryRefused):
        database.ask("sum wage where row > 0", user="bob")
    database.ask("mean wage where row in (1, 2, 5)")


# Log


def test_a_log_reads_as_it_was_saved(tmp_path) -> None:
    database = audited()
    ask_some(database)
    database.log.save(tmp_path / "log.json")
    assert stat.S_IMODE(os.stat(tmp_path / "log.json").st_mode) == 0o600
    plain = json.loads((tmp_path / "log.json").read_text())
    assert {key: plain[key] for key in ("format", "version", "people", "columns")} == {
        "format": "sfumato-queries", "version": 1, "people": 8, "columns": {"row": "key", "wage": "value"},
    }  # fmt: skip
    assert plain["queries"][2] == {
        "number": 3, "user": "", "query": "mean wage where row in (1, 2, 5)", "kind": "mean", "column": "wage",
        "rows": [[1, 2], [5, 5]], "answer": 110 / 3, "refused": None, "snapshot": 1,
    }  # fmt: skip
    found = read_log(tmp_path / "log.json")
    assert [entry.plain() for entry in found.entries] == [entry.plain() for entry in database.log.entries]
    assert [entry.user for entry in found.entries] == ["ann", "bob", ""]
    assert found.entries[1].answer is None
    assert "could be computed" in (found.entries[1].refused or "")
    assert parse_set_query(found.entries[1].query) == parse_set_query("sum wage where row > 0")


def test_a_log_of_nothing(tmp_path) -> None:
    audited().log.save(tmp_path / "log.json")
    assert read_log(tmp_path / "log.json").entries == ()


@pytest.mark.parametrize("rows", [[], [0], [0, 1, 2], [1, 3, 4, 9]], ids=str)
def test_ranges(rows) -> None:
    assert rows_of(row_ranges(np.array(rows, np.int32))).tolist() == rows


def test_a_cut_log_is_refused_wherever_it_was_cut(tmp_path) -> None:
    database = audited()
    ask_some(database)
    database.log.save(tmp_path / "whole.json")
    text = (tmp_path / "whole.json").read_text()
    for end in range(0, len(text) - 2, 7):
        (tmp_path / "cut.json").write_text(text[:end])
        with pytest.raises(ReadError, match=r"was cut|is no log"):
            read_log(tmp_path / "cut.json")


def changed(plain: dict[str, Any], *path: Any, to: Any) -> str:
    inner: Any = plain
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return json.dumps(plain)


CHANGES = [
    (("format",), "other", "no log"),
    (("version",), 2, "another version"),
    (("queries", 0, "number"), 7, "queries are missing"),
    (("queries", 0, "rows"), [[3, 1]], "changed by hand"),
    (("queries", 0, "rows"), 3, "changed by hand"),
    (("queries", 0, "refused"), "because", "changed by hand"),
    (("queries",), None, "changed by hand"),
    (("people",), "many", "changed by hand"),
]


@pytest.mark.parametrize(("path", "to", "why"), CHANGES, ids=[".".join(map(str, path)) for path, _, _ in CHANGES])
def test_a_log_that_is_not_ours(path, to, why, tmp_path) -> None:
    database = audited()
    ask_some(database)
    database.log.save(tmp_path / "log.json")
    plain = json.loads((tmp_path / "log.json").read_text())
    (tmp_path / "log.json").write_text(changed(plain, *path, to=to))
    with pytest.raises(ReadError, match=why):
        read_log(tmp_path / "log.json")
    with pytest.raises(ReadError, match="cannot be read"):
        read_log(tmp_path / "none.json")


def test_a_file_remembers_what_was_answered(tmp_path) -> None:
    first = audited(tmp_path / "own.json")
    with pytest.raises(OutputError, match="used by another process"):
        audited(tmp_path / "own.json")
    ask_some(first)
    before = [entry.plain() for entry in first.log.entries]
    first.close()
    second = audited(tmp_path / "own.json")
    assert [entry.plain() for entry in second.log.entries] == before
    with pytest.raises(QueryRefused):
        second.ask("sum wage where row > 0")
    assert second.ask("sum wage where row < 4").number == 5
    second.close()
    assert [entry.number for entry in read_log(tmp_path / "own.json").entries] == [1, 2, 3, 4, 5]


def test_a_crash_while_an_entry_is_written_loses_that_one_alone(tmp_path) -> None:
    path = tmp_path / "log.json"
    database = audited(path)
    database.ask("sum wage")
    one = path.read_text()
    database.ask("sum wage where row < 4")
    database.close()
    two = path.read_text()
    for end in range(len(one) - len(END), len(two), 11):
        path.write_text(two[:end])
        found = audited(path)
        assert len(found.log.entries) == 1 + (end >= len(two) - len(END))
        with pytest.raises(QueryRefused):
            found.ask("sum wage where row > 0")
        found.close()
    assert mended(two) == two


def test_a_log_is_of_one_table_and_of_controls_that_allow_it(tmp_path) -> None:
    path = tmp_path / "log.json"
    database = audited(path)
    ask_some(database)
    database.close()
    for values in ([11.0, *DATA["wage"][1:]], DATA["wage"][:-1]):
        other = {"row": list(range(len(values))), "wage": values}
        with pytest.raises(ReadError, match="log of another table"):
            sf.StatisticalDatabase(other, controls=[sf.SumAuditing()], values=["wage"], log=path)
    with pytest.raises(PolicyError, match="these controls refuse: number 1"):
        sf.StatisticalDatabase(DATA, controls=[sf.QuerySetSize(2)], values=["wage"], log=path)
    (tmp_path / "text").write_text("something else")
    with pytest.raises(ReadError, match="no log of queries"):
        audited(tmp_path / "text")
    assert (tmp_path / "text").read_text() == "something else"


def test_an_answer_that_cannot_be_logged_is_not_told(tmp_path, monkeypatch) -> None:
    database = audited(tmp_path / "log.json")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="cannot be written: No space"):
        database.ask("sum wage where row > 0")
    monkeypatch.undo()
    assert database.ask("sum wage").value == 360
    database.close()
    database.close()
    with pytest.raises(OutputError, match="cannot be written"):
        database.ask("count")


# Snapshots


def people(*ids: int, **wages: float) -> pl.DataFrame:
    return pl.DataFrame({"id": ids, "ill": [i % 2 for i in ids], "wage": [wages.get(f"p{i}", 10.0 * i) for i in ids]})


def test_a_snapshot_stands_once_enough_people_changed() -> None:
    one = sf.StatisticalDatabase(
        people(1, 2, 3, 4, 5), controls=[sf.QuerySetSize(1)], values=["wage"], person="id", changes=3
    )
    assert one.keys == ("ill",)
    assert one.ask("count where ill = 1").value == 3
    assert not one.update(people(1, 2, 3, 4, 5, 7))  # one patient more, who is ill
    assert one.ask("count where ill = 1").value == 3
    assert not one.update(people(2, 3, 4, 5, 7))
    assert one.update(people(2, 3, 4, 5, 7, p2=21.0))  # came, went, changed
    answer = one.ask("count where ill = 1")
    assert (answer.value, answer.snapshot) == (3, 2)
    assert [entry.snapshot for entry in one.log.entries] == [1, 1, 2]
    assert one.log.entries[-1].rows.tolist() == [2, 4, 5]  # who is who does not change


def test_auditing_carries_over_snapshots() -> None:
    one = sf.StatisticalDatabase(
        people(1, 2, 3, 4, 5), controls=[sf.SumAuditing()], values=["wage"], person="id", changes=1
    )
    one.ask("sum wage")
    assert one.update(people(5, 4, 3, 2))  # the first has gone
    with pytest.raises(QueryRefused, match="could be computed"):
        one.ask("sum wage")
    assert one.update(people(2, 3, 4, 5, 6, 7))
    assert one.ask("sum wage").value == 270
    assert one.ask("sum wage where ill = 1").value == 150


@pytest.mark.parametrize("seed", range(5 * FUZZ))
def test_sums_over_random_snapshots_determine_nobody(seed) -> None:
    draws = np.random.default_rng(seed)

    def drawn() -> pl.DataFrame:
        return people(*draws.choice(8, int(draws.integers(2, 8)), replace=False).tolist())

    table, rows = drawn(), []
    one = sf.StatisticalDatabase(
        table, controls=[sf.SumAuditing()], values=["wage"], keys=["id"], person="id", changes=1
    )
    for _ in range(25):
        if draws.random() < 0.3 and one.update(other := drawn()):
            table = other
        own = table.filter(pl.Series(draws.random(table.height) < 0.6))["id"].to_list()
        if own:
            try:
                one.ask(f"sum wage where id in ({', '.join(map(str, own))})")
                rows.append([int(i in own) for i in range(8)])
            except QueryRefused:
                pass
    assert determined(rows, 8) == []


def test_what_does_not_hold_over_snapshots_takes_none(tmp_path) -> None:
    def made(*controls: Any, **more: Any) -> sf.StatisticalDatabase:
        return sf.StatisticalDatabase(people(1, 2, 3), controls=list(controls), values=["wage"], **more)

    with pytest.raises(PolicyError, match="who is who"):
        made(sf.SumAuditing()).update(people(1))
    for control in (sf.ExtremeAuditing(), sf.CellRestriction("ill", 2)):
        with pytest.raises(PolicyError, match="does not hold over snapshots"):
            made(control, person="id").update(people(4, 5, 6))
    with pytest.raises(PolicyError, match="of one snapshot"):
        made(sf.SumAuditing(), person="id", log=tmp_path / "log").update(people(4, 5, 6))
    with pytest.raises(ColumnError, match="names somebody twice"):
        made(sf.SumAuditing(), person="id").update(people(4, 4, 6))
    with pytest.raises(ColumnError, match="other columns"):
        made(sf.SumAuditing(), person="id").update({"id": [1]})


# Answers that are changed


def test_samples_repeat_and_are_of_the_stated_share() -> None:
    table = {"row": list(range(2000)), "wage": [1.0] * 2000}

    def made(**more: Any) -> sf.StatisticalDatabase:
        return sf.StatisticalDatabase(table, controls=[sf.RandomSample(0.8, **more)], values=["wage"])

    one = made(key="ours")
    assert "ours" not in repr(one.controls)
    first = one.ask("count where row < 1000")
    assert first.sampled == 0.8
    assert (
        first.value
        == one.ask("count where not row >= 1000").value
        == made(key="ours").ask("count where row < 1000").value
    )
    assert first.value != 1000
    assert one.ask("mean wage where row < 50").value == 1
    estimates = [made(key=str(i)).ask("sum wage where row < 1000").value for i in range(40)]
    assert abs(np.mean(estimates) - 1000) < 5 * np.sqrt(1000 * 0.2 / 0.8 / 40)
    apart = [
        one.ask(f"count where row < {i}").value - one.ask(f"count where row < {i + 1}").value for i in range(500, 540)
    ]
    assert np.std(apart) > 10  # one person more, and another sample
    with pytest.raises(QueryRefused, match="not estimated"):
        one.ask("max wage")


def test_rounding() -> None:
    table = {"row": list(range(7))}
    nearest = sf.StatisticalDatabase(table, controls=[sf.RoundedAnswers(5)])
    assert [nearest.ask(f"count where row < {i}").value for i in range(8)] == [0, 0, 0, 5, 5, 5, 5, 5]
    assert nearest.ask("count").rounded == 5
    drawn = [
        sf.StatisticalDatabase(table, controls=[sf.RoundedAnswers(5, "random")]).ask("count").value for _ in range(300)
    ]
    assert {*drawn} == {5, 10}
    assert abs(np.mean(drawn) - 7) < 5 * 2.5 / np.sqrt(300)
    again = sf.StatisticalDatabase(table, controls=[sf.RoundedAnswers(5, "random")])
    assert len({again.ask("count").value for _ in range(20)}) == 1


def test_estimates_are_rounded_in_either_order() -> None:
    controls = [sf.RoundedAnswers(5), sf.RandomSample(0.9)]
    for listed in (controls, controls[::-1]):
        one = sf.StatisticalDatabase({"row": list(range(100))}, controls=listed)
        answers = [one.ask(f"count where row < {i}") for i in range(50, 100)]
        assert all(answer.value % 5 == 0 for answer in answers)
        assert (answers[0].rounded, answers[0].sampled) == (5, 0.9)


def test_a_secret_survives(tmp_path) -> None:
    def asked() -> list[float]:
        controls = [sf.RandomSample(0.5)]
        one = sf.StatisticalDatabase({"row": list(range(100))}, controls=controls, log=tmp_path / "log.json")
        found = [one.ask(f"count where row < {i}").value for i in range(50, 100)]
        one.close()
        return found

    assert asked() == asked()
    assert stat.S_IMODE(os.stat(tmp_path / "log.json.key").st_mode) == 0o600


# Settings


def test_settings_that_make_no_sense() -> None:
    def made(controls: Any = "sum-auditing", data: Any = DATA, **more: Any) -> None:
        sf.StatisticalDatabase(data, **{"controls": controls, "values": ["wage"], **more})

    with pytest.raises(PolicyError, match="needs a control"):
        made([])
    with pytest.raises(PolicyError, match="unknown control"):
        made(["sum-audit"])
    with pytest.raises(PolicyError, match="from one sample"):
        made([sf.RandomSample(0.9), sf.RandomSample(0.5)])
    with pytest.raises(PolicyError, match="cannot be audited"):
        made([sf.SumAuditing(), sf.RandomSample(0.5)])
    with pytest.raises(PolicyError, match='"wage" is a key, and private'):
        made(keys=["wage"])
    with pytest.raises(ColumnError, match='no column "wages"'):
        made(values=["wages"])
    with pytest.raises(ColumnError, match="no finite number"):
        made(data={"row": [1, 2], "wage": [1.0, None]})
    with pytest.raises(ColumnError, match="too large to add up"):
        made(data={"row": [1, 2], "wage": [1.7e308, 1.0]})
    with pytest.raises(ColumnError, match="has no numbers"):
        made(data={"row": [1, 2], "wage": ["a", "b"]})
    with pytest.raises(EmptyTable):
        made(data=pl.DataFrame({"row": [], "wage": []}))
    with pytest.raises(PolicyError, match="k is out of range"):
        sf.QuerySetSize(0)
    with pytest.raises(PolicyError, match="unknown users"):
        made(users="alone")


def test_zero_has_no_sign() -> None:
    zeros = sf.StatisticalDatabase({"row": [1, 2], "wage": [-0.0, -0.0]}, controls="extreme-auditing", values=["wage"])
    assert str(zeros.ask("max wage").value) == "0.0"


def test_a_control_by_its_name() -> None:
    database = sf.StatisticalDatabase(DATA, controls="sum-auditing", values=["wage"])
    assert database.controls == (sf.SumAuditing(),)
