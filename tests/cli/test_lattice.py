"""sfumato lattice: the minimal generalisations, what sets of columns take, and the drawing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.policy import Policy
from sfumato.criteria import KAnonymity
from sfumato.losses import LM
from sfumato.report.charts import lattice as drawing
from sfumato.report.charts.lattice import draw
from sfumato.search.lattice.minimal import Minimal, minimal_nodes
from sfumato.search.problem import make_problem

from .conftest import Run, policy_text

SVG = "{http://www.w3.org/2000/svg}"
RACE = "race=race.csv"
CODES = "zip=zip.csv"


@pytest.fixture
def five(tmp_path: Path) -> Path:
    """Five people by race and ZIP; tests/search/test_minimal.py works the lattice out by hand."""
    rows = ["asian,02138", "asian,02139", "asian,02141", "black,02138", "white,02139"]
    path = tmp_path / "five.csv"
    path.write_text("\n".join(["race,zip", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "race.csv").write_text("asian,person\nblack,person\nwhite,person\n", encoding="utf-8")
    zips = "".join(f"{z},{z[:4]}*,{z[:3]}**\n" for z in ("02138", "02139", "02141"))
    (tmp_path / "zip.csv").write_text(zips, encoding="utf-8")
    return path


def asked(path: Path, limit: int = 2) -> list[str]:
    flags = ["lattice", str(path), "--quasi", "race,zip", "--k", "2", "--suppression", str(limit)]
    return [*flags, "--hierarchy", RACE, "--hierarchy", CODES]


def test_minimal_generalisations(run: Run, five: Path) -> None:
    found = run(*asked(five), "--json").json
    assert (found["rows"], found["suppression_limit"], found["nodes"], found["satisfying"]) == (5, 2, 6, 4)
    assert [(m["levels"], m["height"], m["suppressed"], m["classes"]) for m in found["minimal"]] == [
        ({"race": 0, "zip": 2}, 2, 2, 1),
        ({"race": 1, "zip": 0}, 1, 1, 2),
    ]
    nodes = {tuple(node["vector"]): node for node in found["lattice"]}
    assert [v for v, node in nodes.items() if node["satisfies"]] == [(0, 2), (1, 0), (1, 1), (1, 2)]
    assert sum(node["status"] != "pruned" for node in nodes.values()) == found["checks"]
    assert found["chosen"]["levels"] in [m["levels"] for m in found["minimal"]]
    assert found["file"] is None
    assert "subsets" not in found


def test_for_people(run: Run, five: Path) -> None:
    done = run(*asked(five))
    assert done.code == 0
    assert "k-anonymity 2 on 5 rows, of which up to 2 may be suppressed; loss lm." in done.out
    assert "6 level vectors: 4 satisfy, 2 do not" in done.out
    assert "2 k-minimal generalisations:" in done.out
    assert "optimal chooses race " in done.out
    rows = [line.split() for line in done.out.splitlines()]
    assert any(row[:4] == ["0", "2", "2", "2"] for row in rows)
    assert any(row[:4] == ["1", "0", "1", "1"] for row in rows)


def test_a_choice_that_is_not_minimal(run: Run, tmp_path: Path) -> None:
    """Raw, two of four rows go and LM is 0.5; with b and c as one value nobody goes and LM is 0.25."""
    (tmp_path / "q.csv").write_text("q\na\na\nb\nc\n", encoding="utf-8")
    (tmp_path / "tree.csv").write_text("a,a,*\nb,rest,*\nc,rest,*\n", encoding="utf-8")
    flags = ["lattice", "q.csv", "--quasi", "q", "--k", "2", "--suppression", "2", "--hierarchy", "q=tree.csv"]
    done = run(*flags)
    assert "optimal chooses q 1 (not k-minimal: it suppresses less)" in done.out
    assert run(*flags, "--json").json["chosen"] == {
        "search": "optimal", "levels": {"q": 1}, "suppressed": 0, "loss": 0.25, "minimal": False,
    }  # fmt: skip


def test_subsets(run: Run, five: Path) -> None:
    """Nothing may go: race alone singles two people out and takes its root, ZIP one and takes 021**."""
    found = run(*asked(five, 0), "--subsets", "--json").json["subsets"]
    assert [(s["columns"], s["minimal"], s["smallest_dangerous"]) for s in found] == [
        (["race"], [[1]], True),
        (["zip"], [[2]], True),
        (["race", "zip"], [[1, 2]], False),
    ]
    done = run(*asked(five, 0), "--subsets")
    assert "3 sets of columns: none satisfies as it is" in done.out
    assert done.out.count("smallest that is dangerous") == 2
    safe = run("lattice", five, "--quasi", "race", "--k", "1", "--subsets")
    assert "1 set of columns: 1 satisfies as it is" in safe.out


def test_a_policy_file_and_flags_over_it(run: Run, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(policy_text(), encoding="utf-8")
    first = run("lattice", "policy.toml", "--json").json
    assert first["columns"] == ["age", "zip", "sex"]
    assert first["loss"]["name"] == "ncp"
    assert first["chosen"]["search"] == "optimal"
    other = run("lattice", "policy.toml", "--k", "40", "--levels", "age=1:3", "--loss", "height", "--json").json
    assert other["nodes"] < first["nodes"]
    assert [m["height"] for m in other["minimal"]] == [other["chosen"]["loss"]]
    assert not (tmp_path / "release").exists()


@pytest.mark.slow
def test_drawing(run: Run, five: Path, tmp_path: Path) -> None:
    target = tmp_path / "lattice.svg"
    done = run(*asked(five), "-o", target)
    assert f"written: {target}" in done.out
    root = ET.fromstring(target.read_text("utf-8"))
    kinds = Counter(g.attrib["class"] for g in root.iter(f"{SVG}g"))
    # two of the six vectors are minimal, one of those chosen, two more satisfy; each kind is in the legend once more
    assert sum("chosen" in kind for kind in kinds.elements()) == 2
    assert sum("minimal" in kind for kind in kinds.elements()) == 2
    assert sum(kinds.values()) == 6 + 5
    texts = ["".join(t.itertext()) for t in root.iter(f"{SVG}text")]
    assert {"0,0", "0,2", "1,2", "height 0", "height 3", "k-minimal: 2", "satisfies: 4", "violates: 2"} <= set(texts)
    assert not any("http" in (v or "") for e in root.iter() for v in e.attrib.values())
    refused = run(*asked(five), "-o", target)
    assert (refused.code, "exists already" in refused.err) == (2, True)
    before = target.read_bytes()
    assert run(*asked(five), "-o", target, "--overwrite").code == 0
    assert target.read_bytes() == before


def lattice_of(columns: dict[str, list[str]], k: int, suppression: int = 0) -> Minimal:
    policy = Policy((tuple(columns),), (KAnonymity(k),), suppression, LM())
    return minimal_nodes(make_problem(pl.DataFrame(columns), policy, {}, {}))


def test_a_column_name_is_text() -> None:
    found = lattice_of({'<b>&"': ["x", "x", "y"]}, 2, 1)
    root = ET.fromstring(draw(found, (0,), "what < is & asked"))
    texts = ["".join(t.itertext()) for t in root.iter(f"{SVG}text")]
    assert 'Each node is a vector of levels, in the order <b>&".' in texts
    assert "what < is & asked" in texts


def test_a_large_lattice_is_drawn_by_its_minimal_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lattice_of({f"c{i}": ["x", "x", "y", "y"] for i in range(3)}, 2)
    monkeypatch.setattr(drawing, "MOST", 7)
    root = ET.fromstring(draw(found, (0, 0, 1)))
    texts = ["".join(t.itertext()) for t in root.iter(f"{SVG}text")]
    assert "The lattice has 8 nodes, too many to draw: here are its k-minimal nodes (1) and the chosen one." in texts
    assert {"0,0,0", "0,0,1"} <= set(texts)
    assert not list(root.iter(f"{SVG}line"))
    monkeypatch.setattr(drawing, "MOST", 8)
    assert "0,1,1" in draw(found, (0, 0, 1))


def test_nothing_satisfies_and_still_a_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lattice_of({"a": ["x", "y"]}, 3)
    assert found.nodes == ()
    assert "k-minimal: 0" in draw(found)
    monkeypatch.setattr(drawing, "MOST", 1)
    assert "k-minimal: 0" in draw(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--k", "9"], ["no level vector satisfies the policy", "at most 2"]),
        (["--search", "mondrian"], ["mondrian does not decide for a level vector", "optimal"]),
        (["--search", "optimla"], ["optimla", "optimal"]),
        (["--quasi", "rage"], ["rage", "race"]),
        (["--levels", "race=0:9"], ["levels of", "0 to 1"]),
        (["--require", "entropy-l-diversity zip 2"], ["zip"]),
        (["--hierarchy", "zip=either:redact:right or flat"], ["one hierarchy per column", '"zip" has alternatives']),
    ],
)
def test_refusals(more: list[str], words: list[str], run: Run, five: Path) -> None:
    done = run(*asked(five), *more)
    assert done.code == 2
    assert done.out == ""
    assert all(word in done.err for word in words)
    assert run(*asked(five), *more, "--json").json["error"]["message"]


def test_an_empty_column(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("a,b\n1,\n2,\n", encoding="utf-8")
    done = run("lattice", "empty.csv", "--quasi", "a,b", "--k", "2")
    assert done.code == 2
    assert 'column "b" is empty' in done.err


def test_subsets_refuse_what_they_cannot_prune(run: Run, patients: Path) -> None:
    flags = ["lattice", patients, "--quasi", "age,sex", "--require", "entropy-l-diversity disease 2"]
    assert run(*flags, "--subsets").code == 0
    done = run(*flags, "--suppression", "3", "--subsets")
    assert done.code == 2
    assert "--subsets prunes the lattice" in done.err
    assert run(*flags, "--suppression", "3").code == 0


def test_no_value_of_the_table_is_told(run: Run, patients: Path, tmp_path: Path) -> None:
    done = run("lattice", patients, "--quasi", "age,zip", "--k", "4", "--subsets", "-o", "l.svg")
    assert done.code == 0
    assert not any(value in done.out + (tmp_path / "l.svg").read_text("utf-8") for value in ("80331", "ulcer"))
    assert sf.read(patients).height == 40
