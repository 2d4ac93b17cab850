"""Policy files: read in full, refused with every fault at once, written back out."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import PolicyError, ReadError
from sfumato.policyfile.dump import dump
from sfumato.policyfile.file import check, load

COLUMNS = ["name", "age", "zip", "sex", "disease", "w"]
DESIGN = """\
[input]
path = "patients.csv"
separator = ";"
[roles]
identifying = ["name"]
quasi = ["age", "zip", "sex"]
sensitive = ["disease"]
weight = "w"
[hierarchies]
age = { intervals = [5, 10, 20] }
zip = { redact = "right" }
sex = { levels = ["*"] }
disease = { file = "disease.csv" }
[levels]
age = [1, 3]
[[require]]
model = "k-anonymity"
k = 10
[[require]]
model = "entropy-l-diversity"
attribute = "disease"
l = 3
[search]
method = "optimal"
seconds = 60
loss = { name = "lm", aggregate = "geometric", leaves = "hierarchy" }
suppression = 0.02
seed = 7
[output]
path = "out"
format = "parquet"
order = "random"
"""


def write(folder: Path, text: str) -> Path:
    (folder / "disease.csv").write_text("flu;lung;*\nulcer;stomach;*\n")
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(folder: Path, text: str, columns: list[str] | None = COLUMNS) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        check(load(write(folder, text)), columns)
    assert len(caught.value.faults) > 0
    return list(caught.value.faults)


def test_the_policy_of_the_plan(tmp_path: Path) -> None:
    policy = check(load(write(tmp_path, DESIGN)), COLUMNS)
    assert policy.input == tmp_path / "patients.csv"
    assert policy.reader == {"separator": ";"}
    assert (policy.output, policy.format, policy.overwrite) == (tmp_path / "out", "parquet", False)
    asked = policy.keywords()
    assert asked["quasi"] == [["age", "zip", "sex"]]
    assert asked["identifying"] == ["name"]
    assert asked["sensitive"] == ["disease"]
    assert asked["weight"] == "w"
    assert asked["require"] == (sf.KAnonymity(10), sf.EntropyLDiversity("disease", 3))
    assert asked["search"] == sf.Optimal(seconds=60)
    assert asked["loss"] == sf.LM(aggregate="geometric", leaves="hierarchy")
    assert (asked["suppression"], asked["seed"], asked["order"]) == (0.02, 7, "random")
    assert asked["levels"] == {"age": (1, 3)}
    assert asked["hierarchies"]["age"] == sf.intervals(5, 10, 20)
    assert asked["hierarchies"]["disease"] == sf.file(tmp_path / "disease.csv")


def test_defaults_and_several_quasi_sets(tmp_path: Path) -> None:
    text = (
        '[input]\npath = "/data/p.csv"\n[roles]\nquasi = [["age", "zip"], ["age", "sex"]]\n'
        '[[require]]\nmodel = "distinct-l-diversity"\nattribute = "disease"\nl = 2\n[output]\npath = "out"\n'
    )
    policy = check(load(write(tmp_path, text)), COLUMNS)
    assert policy.input == Path("/data/p.csv")
    asked = policy.keywords()
    assert asked["quasi"] == [["age", "zip"], ["age", "sex"]]
    assert asked["sensitive"] == ["disease"]  # a model protects it
    assert (asked["search"], asked["loss"], asked["suppression"]) == (sf.Automatic(), sf.LM(), 0)
    assert (asked["seed"], asked["order"], policy.format) == (None, "canonical", "csv")


def test_models_for_a_set_of_columns(tmp_path: Path) -> None:
    text = DESIGN.replace("k = 10", 'k = 10\nquasi = ["zip", "age"]')
    policy = check(load(write(tmp_path, text)), COLUMNS)
    assert policy.roles.quasi == (("age", "zip", "sex"), ("age", "zip"))
    assert policy.require[0] == sf.KAnonymity(10, quasi=["age", "zip"])
    alone = text.replace('quasi = ["age", "zip", "sex"]\n', "").replace("l = 3", 'l = 3\nquasi = ["sex"]')
    assert set(check(load(write(tmp_path, alone)), COLUMNS).roles.quasi) == {("zip", "age"), ("sex",)}
    (fault,) = faults(tmp_path, text.replace('["zip", "age"]', '["zip", "agee"]'))
    assert fault.startswith("[[require]] 1")
    assert 'is for the column "agee", which is not quasi-identifying; did you mean "age"?' in fault
    (fault,) = faults(tmp_path, text.replace("l = 3", 'l = 3\nquasi = ["zip"]'))
    assert 'nothing is required over the quasi-identifier "sex"' in fault


def test_alternatives(tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text("12,1*\n12,*2\n1*,*\n*2,*\n")
    for written, recipe in (
        ('["redact:right", { redact = "left", steps = [2, 4] }]', sf.either("redact:right", "redact:left,2,4")),
        ('"zip.csv"', sf.either(tmp_path / "zip.csv")),
    ):
        text = DESIGN.replace('{ redact = "right" }', f"{{ either = {written} }}")
        assert check(load(write(tmp_path, text)), COLUMNS).keywords()["hierarchies"]["zip"] == recipe
    found = faults(tmp_path, DESIGN.replace('{ redact = "right" }', '{ either = ["redact:right"] }'))
    assert "either takes two different hierarchies or more" in found[0]


def test_a_column_may_be_quasi_identifying_and_sensitive(tmp_path: Path) -> None:
    text = DESIGN.replace('["age", "zip", "sex"]', '["age", "zip", "sex", "disease"]')
    policy = check(load(write(tmp_path, text)), COLUMNS)
    assert policy.roles.quasi == (("age", "zip", "sex", "disease"), ("age", "zip", "sex"))
    assert policy.roles.sensitive == ("disease",)
    assert policy.require[1].parameters() == {"attribute": "disease", "l": 3, "quasi": ["age", "zip", "sex"]}
    (fault,) = faults(tmp_path, text.replace('sensitive = ["disease"]\n', ""))
    assert 'protects the column "disease", which must then be sensitive; got quasi' in fault
    (fault,) = faults(tmp_path, text.replace("l = 3", 'l = 3\nquasi = ["disease"]'))
    assert "whose classes have one label of it" in fault


def test_a_reference_is_a_table_or_a_file_beside_the_policy(tmp_path: Path) -> None:
    entry = 'model = "t-closeness"\nattribute = "disease"\nt = 0.2\nreference = '
    (tmp_path / "register.csv").write_text("flu,2\nulcer,1\n")
    for written in ('"register.csv"', "{ ulcer = 1, flu = 2 }"):
        text = DESIGN.replace('model = "entropy-l-diversity"\nattribute = "disease"\nl = 3', entry + written)
        asked = check(load(write(tmp_path, text)), COLUMNS).require
        assert asked[1] == sf.TCloseness("disease", 0.2, reference={"flu": 2, "ulcer": 1})
    found = faults(tmp_path, text.replace("flu = 2", "flu = -2"))
    assert "a number of reference is out of range" in found[0]


def test_count_and_share_of_suppression(tmp_path: Path) -> None:
    for written, value in (("20", 20), ("0.5", 0.5), ("1", 1), ("1.0", 1.0)):
        policy = check(load(write(tmp_path, DESIGN.replace("0.02", written))), COLUMNS)
        assert policy.suppression == value
        assert type(policy.suppression) is type(value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("separator", "seperator", ["[input] seperator (line 3)", 'did you mean "separator"?']),
        ('";"', '";;"', ["[input] separator (line 3)", "one character"]),
        ('path = "patients.csv"', "", ["[input] path", "missing"]),
        ('["age", "zip", "sex"]', '"age"', ["[roles] quasi (line 6)", "list of column names"]),
        ('["age", "zip", "sex"]', "[]", ["[roles] quasi (line 6)", "quasi is empty"]),
        ('["age", "zip", "sex"]', '["agee", "zip", "sex"]\n', ["[roles] quasi (line 6)", 'did you mean "age"?']),
        (
            'sensitive = ["disease"]',
            'sensitive = ["disease", "sex"]',
            ["[roles]", '"sex" has 2 roles: quasi and sensitive'],
        ),
        ('identifying = ["name"]', 'identifying = ["name", "name"]', ['identifying names the column "name" twice']),
        ("k = 10", "k = 0", ["[[require]] 1 k (line 18)", "k is out of range", "got 0"]),
        ("k = 10", 'k = "10"', ["[[require]] 1 k (line 18)", "a whole number >= 1"]),
        ("k = 10", "", ["[[require]] 1 (line 16)", "k-anonymity needs k"]),
        ('"k-anonymity"', '"k-anonimity"', ["[[require]] 1", 'did you mean "k-anonymity"']),
        (
            "l = 3",
            "l = 3\nm = 4",
            ["[[require]] 2 m (line 23)", "unknown key", "entropy-l-diversity takes attribute, l"],
        ),
        (
            'attribute = "disease"',
            'attribute = "diseas"',
            ["[[require]] 2", 'no column "diseas"', 'did you mean "disease"?'],
        ),
        ('attribute = "disease"', 'attribute = "age"', ["[[require]] 2", '"age"', "must then be sensitive; got quasi"]),
        ('method = "optimal"', 'method = "optmal"', ["[search]", 'did you mean "optimal"?']),
        ("seconds = 60", 'secondss = "x"', ["[search] secondss (line 25)", 'did you mean "seconds"?']),
        ('name = "lm"', 'name = "nope"', ["[search] loss (line 26)", "unknown loss", "lm, ncp"]),
        ("0.02", "1.5", ["[search] suppression (line 27)", "share from 0.0 to 1.0", "got 1.5"]),
        ("0.02", "-1", ["[search] suppression", "got -1"]),
        ("seed = 7", "seed = -7", ["[search] seed (line 28)", "greater than or equal to 0"]),
        ('format = "parquet"', 'format = "pdf"', ["[output] format (line 31)", "'parquet'", 'got "pdf"']),
        ('format = "parquet"', "seed = 1", ["[output] seed (line 31)", "belongs in [search]"]),
        ("[output]", "[outptu]", ["[outptu]", 'did you mean "output"?']),
        ("age = [1, 3]", "age = [3, 1]", ["[levels] age (line 15)", "least and the greatest"]),
        ("age = [1, 3]", "w = [1, 3]", ["[levels] w (line 15)", "not quasi-identifying"]),
        ("[5, 10, 20]", "[5, 12]", ["[hierarchies] age (line 10)", "must nest"]),
        ('redact = "right"', 'redcat = "right"', ["[hierarchies] zip (line 11)", 'did you mean "redact"?']),
        ('"disease.csv"', '"desease.csv"', ["[hierarchies] disease (line 13)", "no hierarchy file"]),
        ("sex = { levels", "sexx = { levels", ["[hierarchies] sexx (line 12)", 'did you mean "sex"?']),
    ],
)
def test_each_fault_has_a_place_and_a_hint(tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    assert old in DESIGN
    found = faults(tmp_path, DESIGN.replace(old, new, 1))
    assert any(all(word in fault for word in words) for fault in found), found


def test_many_faults_are_told_together_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = DESIGN.replace("separator", "seperator").replace("k = 10", "k = 0").replace('"optimal"', '"x"')
    text = text.replace('weight = "w"', "weight = 3").replace("0.02", '"much"')
    found = faults(tmp_path, text)
    assert [fault.split(":")[0] for fault in found] == [
        "[input] seperator (line 3)",
        "[roles] weight (line 8)",
        "[[require]] 1 k (line 18)",
        "[search] method (line 24)",
        "[search] suppression (line 27)",
    ]


def test_an_empty_file_lacks_everything(tmp_path: Path) -> None:
    found = "\n".join(faults(tmp_path, "", None))
    for part in ("[input] path", "quasi is empty", "no privacy model", "[output] path"):
        assert part in found


@pytest.mark.parametrize("text", ["[input\n", "a = \n", "a = b\n", "\x00\n"])
def test_not_toml(tmp_path: Path, text: str) -> None:
    with pytest.raises(PolicyError, match=r"not TOML \(at line 1"):
        load(write(tmp_path, text))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"[input]\npath = '\xe9'")
    with pytest.raises(PolicyError, match="not UTF-8"):
        load(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    "text", ["input = 3", "roles = []", "require = 3", "hierarchies = 1", "levels = 1", "[[output]]"]
)
def test_tables_that_are_none(tmp_path: Path, text: str) -> None:
    name = text.strip("[]").split(" ")[0]
    assert any(name in fault and ("table" in fault) for fault in faults(tmp_path, text + "\n", None))


def test_an_input_that_cannot_be_read_is_told_beside_the_faults(tmp_path: Path) -> None:
    unread = ReadError("patients.csv does not exist")
    with pytest.raises(ReadError):
        check(load(write(tmp_path, DESIGN)), None, unread)
    with pytest.raises(PolicyError) as caught:
        check(load(write(tmp_path, DESIGN.replace("k = 10", "k = 0"))), None, unread)
    assert len(caught.value.faults) == 2
    assert "does not exist" in str(caught.value)


def test_values_listed_in_a_policy_are_not_quoted(tmp_path: Path) -> None:
    text = DESIGN.replace('{ redact = "right" }', '{ order = ["secretvalue", "secretvalue"] }')
    text = text.replace("l = 3", 'l = ["secretvalue"]').replace('weight = "w"', 'weight = ["secretvalue"]')
    found = faults(tmp_path, text)
    assert len(found) >= 3
    assert not any("secretvalue" in fault for fault in found)


def test_dump_writes_comments_above_what_they_are_about() -> None:
    text = dump(
        {"roles": {"quasi": ["a"]}, "require": [{"k": 1}, {"k": 2}]}, {("roles", "quasi"): "why\nso", ("require",): "p"}
    )
    assert text == '[roles]\n# why\n# so\nquasi = ["a"]\n\n# p\n[[require]]\nk = 1\n\n[[require]]\nk = 2\n'


def test_dump_of_the_plan_reads_back(tmp_path: Path) -> None:
    tables = tomllib.loads(DESIGN)
    again = write(tmp_path, dump(tables))
    assert tomllib.loads(again.read_text()) == tables
    assert check(load(again), COLUMNS).require == (sf.KAnonymity(10), sf.EntropyLDiversity("disease", 3))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars: st.SearchStrategy[Any] = texts | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
values = st.recursive(scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(texts, v, max_size=3), max_leaves=6)
entries = st.dictionaries(texts, values, max_size=3)
tables = st.dictionaries(texts, entries | st.lists(entries, min_size=1, max_size=2), max_size=3)


@given(tables)
def test_dump_keeps_any_table(written: dict[str, Any]) -> None:
    keyed = {f"t{i}": table for i, table in enumerate(written.values())}
    assert tomllib.loads(dump(keyed)) == keyed


STORED = """\
[input]
path = ["in/*.parquet", "/data/2024"]
[roles]
quasi = ["age"]
[[require]]
model = "k-anonymity"
k = 2
[search]
max_cells = 500
[output]
path = "out"
"""


def test_files_that_are_streamed(tmp_path: Path) -> None:
    policy = check(load(write(tmp_path, STORED)), COLUMNS, format="parquet")
    assert policy.input == [tmp_path / "in/*.parquet", Path("/data/2024")]
    assert policy.stored() == {"to": sf.Folder(tmp_path / "out", "parquet", False), "max_cells": 500}
    assert check(load(write(tmp_path, STORED)), COLUMNS).format == "csv"
    one = STORED.replace('["in/*.parquet", "/data/2024"]', '"one.csv"')
    for more, stored in (("", False), ("\nstream = true", True), ("\nstream = false", False)):
        source = load(write(tmp_path, one.replace('"one.csv"', '"one.csv"' + more))).source()
        assert source is not None
        assert source.stored is stored


def test_a_table_of_a_database(tmp_path: Path) -> None:
    text = STORED.replace('["in/*.parquet", "/data/2024"]', '"postgresql://host/db"\ntable = "clinic.admissions"')
    policy = check(load(write(tmp_path, text)), COLUMNS)
    assert policy.input == "postgresql://host/db"
    kept = text.replace('path = "out"', 'table = "released"\noverwrite = true')
    policy = check(load(write(tmp_path, kept)), COLUMNS)
    assert policy.output is None
    assert policy.stored() == {"to": sf.Table("released", True, None), "max_cells": 500}
    policy = check(load(write(tmp_path, kept + 'path = "out"\n')), COLUMNS)
    assert policy.stored()["to"] == sf.Table("released", True, tmp_path / "out")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('["in/*.parquet", "/data/2024"]', '"postgresql://host/db"', ["[input] table", "missing", "add [input] table"]),
        ('["in/*.parquet", "/data/2024"]', '"h.duckdb"\ntable = ""', ["[input] table (line 3)", "not be empty"]),
        ('["in/*.parquet", "/data/2024"]', "[]", ["[input] path (line 2)", "one path or more"]),
        ('["in/*.parquet", "/data/2024"]', '""', ["[input] path (line 2)", "none of them empty"]),
        ('["in/*.parquet", "/data/2024"]', '"h.db"\ntable = "t"\nstream = true', ["stream (line 4)", "is of a file"]),
        ('["in/*.parquet", "/data/2024"]', "[1]", ["[input] path (line 2)", "a path, or a list of paths"]),
        ('"/data/2024"]', '"/data"]\ntable = "t"', ["[input] table (line 3)", "is of a database"]),
        ('"/data/2024"]', '"/data"]\nstream = false', ["[input] stream (line 3)", "never read into memory"]),
        ('"/data/2024"]', '"/data"]\nstream = "yes"', ["[input] stream (line 3)", "boolean"]),
        ('"/data/2024"]', '"/data"]\nquote = "x"', ["[input] quote (line 3)", "streamed"]),
        ('path = "out"', 'path = "out"\norder = "sorted"', ["[output] order (line 12)", "canonical"]),
        ('path = "out"', 'path = "out"\nshuffle = true', ["[output] shuffle (line 12)", "unknown key"]),
        ('path = "out"', 'path = "out"\nformat = "xlsx"', ["[output] format (line 12)", "csv, tsv or parquet"]),
        ('path = "out"', 'path = "out"\npdf = true', ["[output] pdf (line 12)"]),
        ('path = "out"', 'path = "o"\ninternal_report = "x"', ["[output] internal_report (line 12)"]),
        ('path = "out"', 'table = "r"', ["[output] table (line 11)", "only where the input is one"]),
        ('path = "out"', "", ["[output] path (line 10)", "missing"]),
        ("max_cells = 500", "max_cells = 0", ["[search] max_cells (line 9)"]),
        (
            "max_cells = 500",
            'method = "minimal-suppression"\nrule = "wildcard"',
            ["[search] method (line 9)", "verified"],
        ),
        ("max_cells = 500", "max_cell = 500", ["[search] max_cell (line 9)", 'did you mean "max_cells"?']),
    ],
)
def test_what_a_table_that_is_not_in_memory_does_not_allow(
    tmp_path: Path, old: str, new: str, words: list[str]
) -> None:
    assert old in STORED
    found = faults(tmp_path, STORED.replace(old, new, 1))
    assert any(all(word in fault for word in words) for fault in found), found


@pytest.mark.parametrize(("key", "word"), [('tabel = "t"', "unknown key"), ('table = ""', "empty"), ("table = 3", "")])
def test_a_table_that_is_misspelt_or_faulty_is_one_fault(tmp_path: Path, key: str, word: str) -> None:
    found = faults(tmp_path, STORED.replace('["in/*.parquet", "/data/2024"]', f'"h.duckdb"\n{key}'))
    assert len(found) == 1
    assert found[0].startswith(f"[input] {key.split()[0]} (line 3): ")
    assert word in found[0]


def test_a_release_of_a_database_may_be_a_table(tmp_path: Path) -> None:
    text = STORED.replace('path = "out"', "")
    assert faults(tmp_path, text) == ["[output] path (line 10): path is missing; add [output] path"]
    base = text.replace('["in/*.parquet", "/data/2024"]', '"h.duckdb"\ntable = "t"')
    assert faults(tmp_path, base) == ["[output] path (line 11): path is missing; add [output] path or [output] table"]


def test_a_file_that_turned_out_too_large_can_be_read_into_memory_all_the_same(tmp_path: Path) -> None:
    text = STORED.replace('["in/*.parquet", "/data/2024"]', '"one.csv"').replace('"out"', '"out"\nformat = "xlsx"')
    assert check(load(write(tmp_path, text)), COLUMNS).format == "xlsx"
    with pytest.raises(PolicyError, match="stream = false reads the file into memory"):
        check(load(write(tmp_path, text)), COLUMNS, stored=True)
