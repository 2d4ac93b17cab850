"""sfumato list: every variant of every table, for people and for machines."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint

import pytest

import sfumato as sf
from sfumato.cli import main

TABLES = {
    "maskers": sf.MASKERS,
    "pseudonyms": sf.PSEUDONYMS,
    "generators": sf.GENERATORS,
    "set_promises": sf.SET_PROMISES,
    "basket_searches": sf.BASKET_SEARCHES,
    "miners": sf.MINERS,
    "rules": sf.CELL_RULES,
    "protections": sf.PROTECTIONS,
    "streams": sf.STREAMS,
    "queries": sf.dp.QUERIES,
    "controls": sf.QUERY_CONTROLS,
    "criteria": sf.CRITERIA,
    "losses": sf.LOSSES,
    "searches": sf.SEARCHES,
    "hierarchies": sf.HIERARCHIES,
}
TABLES |= {"risks": sf.measures.risk.RISKS, "utilities": sf.measures.utility.UTILITIES}
TABLES |= {"attacks": sf.measures.attacks.ATTACKS, "query_attacks": sf.QUERY_ATTACKS}


@pytest.mark.parametrize("kind", list(TABLES))
def test_one_table(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", kind]) == 0
    lines = capsys.readouterr().out.splitlines()
    named = [line.split()[0] for line in lines[1:] if line.startswith("  ") and not line.startswith("   ")]
    assert lines[0] == kind
    assert named == list(TABLES[kind])
    for variant in TABLES[kind].values():
        assert any(variant.summary in line and variant.cite in line for line in lines)


def test_all_tables_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {kind: [row["name"] for row in rows] for kind, rows in found.items()} == {
        k: list(t) for k, t in TABLES.items()
    }
    t_closeness = next(row for row in found["criteria"] if row["name"] == "t-closeness")
    attribute, t, distance, *_ = t_closeness["parameters"]
    assert (attribute["type"], attribute["refers_to"], attribute["required"]) == ("column", "sensitive column", True)
    assert t["range"] == {"least": 0, "greatest": None, "open_least": False, "open_greatest": False}
    assert (distance["default"], distance["choices"]) == ("equal", ["equal", "ordered", "hierarchical", "kl"])
    assert "2007" in t_closeness["cite"]


def test_one_variant_with_all_of_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "searches", "mondrian"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("mondrian: Cut a column at its median")
    assert any(line.split()[:4] == ["seed", "whole", "number", ">="] for line in lines)
    assert main(["list", "losses", "c-avg"]) == 0
    assert "It takes no parameters." in capsys.readouterr().out
    assert main(["list", "searches", "mondrain"]) == 2
    assert 'did you mean "mondrian"?' in capsys.readouterr().err


def test_a_package_that_cannot_be_loaded_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    torn = EntryPoint("torn", "nowhere_at_all:TORN", "sfumato.criteria")
    monkeypatch.setitem(vars(sf.CRITERIA), "_offered", {"torn": [torn]})
    assert main(["list", "criteria"]) == 0
    told = capsys.readouterr().out
    assert "k-anonymity" in told
    assert 'the criterion "torn" of the package "nowhere_at_all" cannot be loaded: ModuleNotFoundError' in told
