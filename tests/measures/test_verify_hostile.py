"""Manifests made to mislead: verify refuses them or refutes them, and never crashes, hangs, or says that they hold."""

from __future__ import annotations

import copy
import json
import math
import os
import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli import main
from sfumato.core.protocols import BY_CONSTRUCTION
from sfumato.criteria import CRITERIA
from sfumato.engines.documents import canonical, read_document
from sfumato.errors import PolicyError, ReadError, SfumatoError
from sfumato.release.folder import verify_folder
from tests.fuzz import FUZZ, examples

TREE = {"flu": "lung", "cold": "lung", "HIV": "blood"}
REQUIRE = [
    sf.KAnonymity(2),
    sf.DistinctLDiversity("disease", 2),
    sf.EntropyLDiversity("disease", 2),
    sf.RecursiveCLDiversity("disease", 4, 2),
    sf.TCloseness("disease", 0.6, "hierarchical"),
    sf.AlphaK(0.9, 2, "disease", ["HIV"]),
    sf.KMap(3, 0.1),
    sf.PopulationUniqueness(0.5, 0.1),
]
EVIL: list[Any] = [
    10**400, 10**30, -(10**30), 2**63, 2**53 + 1, -1, 0, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf, 0.5,
    "", "*", "\ud800", "../data.csv", "/etc/hostname", "a" * 5000, "\x00", None, True, False, [], {}, [[]], [{}],
    {"": 0}, {"flu": -1}, {"flu": 10**30}, [["flu", "*"]], {"disease": []}, {"disease": [[]]}, {"disease": {}},
    ["age", "age"],
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that holds."""
    place = tmp_path_factory.mktemp("hostile")
    tree = place / "disease.csv"
    tree.write_text("".join(f"{value};{group};*\n" for value, group in TREE.items()))
    diseases = ["flu", "cold", "HIV", "flu", "flu", "cold", "HIV", "cold"]
    table = pl.DataFrame({"age": [20, 20, 21, 21, 30, 30, 31, 31] * 3, "sex": list("ffmmffmm") * 3})
    table = table.with_columns(disease=pl.Series(diseases * 3))
    release = sf.anonymize(
        table,
        quasi=[["age", "sex"], ["age"]],
        sensitive=["disease"],
        require=REQUIRE,
        hierarchies={"disease": str(tree)},
        search="mondrian",
    )
    release.save(place / "out")
    return place / "out"


@pytest.fixture(scope="module")
def manifest(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text("utf-8"))


def asked(folder: Path, text: str | bytes) -> str:
    """What verify says of a manifest: its outcome, or that it is refused."""
    file = folder / "manifest.json"
    file.unlink(missing_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    try:
        return verify_folder(folder).outcome
    except ReadError as error:
        assert len(str(error)) < 2000
        return "refused"


def places(document: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in items:
        yield from places(value, (*path, key))


def changed(document: Any, path: tuple[str | int, ...], value: Any) -> Any:
    found = copy.deepcopy(document)
    inner = found
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return found


@pytest.mark.slow
def test_the_release_itself_holds(folder: Path, manifest: Any) -> None:
    assert asked(folder, json.dumps(manifest)) == "holds"


@pytest.mark.slow
def test_mutations_are_refused_or_refuted(folder: Path, manifest: Any) -> None:
    """One value of a valid manifest replaced: an outcome or our own error; where verify reads it, never "holds"."""
    rng = random.Random(7)
    every = [path for path in places(manifest) if path]
    for path in rng.sample(every, min(len(every), 25 * FUZZ)):
        for evil in rng.sample(EVIL, min(len(EVIL), 2 * FUZZ)):
            outcome = asked(folder, json.dumps(changed(manifest, path, evil)))
            if path[0] in ("format", "data", "measured", "whole") and path[-1] not in ("kind", "role", "guarded"):
                assert outcome != "holds" or evil in (None, {}, []), (path, evil)


@pytest.mark.slow
def test_mutations_are_answered_in_the_shell(folder: Path, manifest: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The command says more than verify alone, from more of the manifest."""
    rng = random.Random(8)
    every = [path for path in places(manifest) if path]
    for path in rng.sample(every, min(len(every), 12 * FUZZ)):
        outcome = asked(folder, json.dumps(changed(manifest, path, rng.choice(EVIL))))
        code = main(["verify", str(folder)])
        assert code == {"holds": 0, "broken": 1, "nothing promised": 0}.get(outcome, 2), path
        assert "fault of Sfumato" not in capsys.readouterr().err, path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("data", "rows"), 10**30),
        (("data", "rows"), -1),
        (("files", 0, "file"), "../out/data.csv"),
        (("files", 0, "file"), "/etc/hostname"),
        (("files", 0, "file"), "\ud800.csv"),
        (("data", "columns"), []),
        (("input", "rows"), 10**30),
        (("input", "rows"), 25),
        (("solution", "suppressed"), 3),
        (("policy", "quasi"), [[]]),
        (("policy", "require", 0, "k"), 10**400),
        (("policy", "require", 0, "k"), 10**30),
        (("policy", "require", 0, "k"), 2.0),
        (("policy", "require", 1, "l"), 10**30),
        (("policy", "require", 2, "l"), 10**30),
        (("policy", "require", 2, "l"), math.nan),
        (("policy", "require", 3, "c"), math.inf),
        (("policy", "require", 4, "t"), math.nan),
        (("policy", "require", 4, "distance"), "none"),
        (("policy", "require", 5, "values"), ["\ud800"]),
        (("policy", "require", 6, "k"), 2**52),
        (("policy", "require", 6, "sampling_fraction"), 5e-324),
        (("policy", "require", 7, "sampling_fraction"), 5e-324),
        (("promises", 0, "measured"), 1e308),
        (("promises", 0, "bound"), 50),
        (("promises", 0, "holds"), False),
        (("promises", 0, "quasi"), []),
        (("promises", 0, "parameters"), {"k": 10**400}),
        (("measured", 0, "smallest"), 10**30),
        (("measured", 0, "risk", "highest"), 0.001),
        (("measured", 0, "quasi"), ["disease"]),
        (("whole", "disease", "flu"), 10**30),
        (("whole", "disease", "flu"), -1),
        (("whole", "disease"), {}),
        (("whole", "disease"), {"flu": 0}),
        (("sensitive_hierarchies", "disease"), []),
        (("sensitive_hierarchies", "disease"), [[]]),
        (("sensitive_hierarchies", "disease"), [["flu", "lung", "*"], ["cold", "*"], ["HIV", "blood", "*"]]),
        (("sensitive_hierarchies", "disease"), [["flu", "a", "*"], ["flu", "b", "*"]]),
        (("sensitive_hierarchies", "disease"), [["flu", "a", "*"], ["cold", "a", "+"]]),
        (("sensitive_hierarchies", "disease", 0, 0), "ague"),
    ],
)
def test_what_is_read_cannot_be_made_up(folder: Path, manifest: Any, path: Any, value: Any) -> None:
    assert asked(folder, json.dumps(changed(manifest, path, value))) in ("refused", "broken")


def test_a_hierarchy_whose_labels_are_not_nested_is_refused(folder: Path, manifest: Any) -> None:
    rows = [["flu", "lung", "airways", "*"], ["cold", "lung", "head", "*"], ["HIV", "blood", "body", "*"]]
    text = json.dumps(changed(manifest, ("sensitive_hierarchies", "disease"), rows))
    assert asked(folder, text) == "refused"
    with pytest.raises(ReadError, match="is not nested"):
        verify_folder(folder)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": ' * 100_000, "nested too deeply"),
        ("[" * 5_000 + "]" * 5_000, "nested too deeply"),
        ('{"format": 1, "format": 1}', "a key stands twice"),
        ('{"data": {"rows": 8, "rows": 9}}', "a key stands twice"),
        ('{"format": NaN}', "no number of JSON"),
        ('{"format": -Infinity}', "no number of JSON"),
        ('{"format": 1e999}', "too large"),
        ('{"format": ' + "9" * 5_000 + "}", "more than 100 digits"),
        ('{"sfumato": "\\ud800"}', "not UTF-8"),
        (b'{"sfumato": "\xff"}', "not UTF-8"),
        ('{"format": 1}'.encode("utf-16"), "not UTF-8"),
        (b'\xef\xbb\xbf{"format": 1}', "JSON"),
        ('{"format": 1} {"format": 2}', "JSON"),
    ],
)
def test_documents_that_two_readers_could_read_in_two_ways(tmp_path: Path, text: str | bytes, says: str) -> None:
    assert asked(tmp_path, text) == "refused"
    with pytest.raises(ReadError, match=says):
        verify_folder(tmp_path)


@pytest.mark.parametrize("key", ["policy", "data", "promises"])
def test_a_second_promise_behind_the_first_is_refused(folder: Path, manifest: Any, key: str) -> None:
    """Duplicate keys: one reader sees k = 50, the other k = 2."""
    text = json.dumps(manifest)
    assert asked(folder, text[:-1] + f', "{key}": {json.dumps(manifest[key])}}}') == "refused"


def test_a_manifest_that_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "manifest.json"
    os.mkfifo(file)
    with pytest.raises(ReadError, match="is no file"):
        verify_folder(tmp_path)
    file.unlink()
    file.symlink_to("/dev/zero")
    with pytest.raises(ReadError, match="is no file"):
        verify_folder(tmp_path)
    file.unlink()
    file.symlink_to(file)
    with pytest.raises(ReadError):
        verify_folder(tmp_path)
    file.unlink()
    monkeypatch.setattr("sfumato.engines.documents.LARGEST_FILE", 10)
    assert asked(tmp_path, '{"format": 1}') == "refused"
    with pytest.raises(ReadError, match="too large"):
        read_document(file)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = ("format", "data", "policy", "input", "solution", "promises", "measured", "whole", "sensitive_hierarchies")


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=st.dictionaries(st.sampled_from(KEYS), json_values) | json_values)
def test_any_json_is_answered(folder: Path, document: Any) -> None:
    assert asked(folder, json.dumps(document)) == "refused"


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from(KEYS[1:]), value=json_values)
def test_any_part_is_answered(folder: Path, manifest: Any, key: str, value: Any) -> None:
    asked(folder, json.dumps({**manifest, key: value}))


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bytes_are_answered(folder: Path, manifest: Any, data: Any) -> None:
    """Bytes of a valid manifest cut, doubled or replaced."""
    text = bytearray(json.dumps(manifest).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        low, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 40))
        text[low : low + length] = data.draw(st.binary(max_size=8) | st.sampled_from([b"", b"9" * 30, b"{", b'"']))
    asked(folder, bytes(text))


def test_the_canonical_form_has_one_spelling() -> None:
    one = json.loads('{"b": [1.0, "\\u00e4"], "a": {"d": null, "c": true}}')
    other = json.loads('{"a":{"c":true,"d":null},"b":[1.00,"ä"]}')
    assert canonical(one) == canonical(other) == '{"a":{"c":true,"d":null},"b":[1.0,"ä"]}'.encode()


@pytest.mark.slow
def test_the_report_of_a_manifest_says_what_was_verified(
    folder: Path, manifest: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Words that somebody wrote into the manifest do not stand in a report that is made here."""
    lies = copy.deepcopy(manifest)
    for promise in lies["promises"]:
        promise |= {"sentence": "Anonymous for all time.", "note": "certified"}
    for entry in lies["measured"]:
        del entry["risk"]
    assert asked(folder, json.dumps(lies)) == "holds"
    assert main(["report", str(folder), "-o", str(tmp_path / "lies.html")]) == 0
    assert "Anonymous for all time" not in capsys.readouterr().out
    assert asked(folder, json.dumps(manifest)) == "holds"
    assert main(["report", str(folder), "-o", str(tmp_path / "true.html")]) == 0
    assert (tmp_path / "lies.html").read_bytes() == (tmp_path / "true.html").read_bytes()


# -- nothing promised --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measured", [True, False])
def test_a_manifest_without_promises_does_not_hold(folder: Path, manifest: Any, measured: bool, capsys: Any) -> None:
    bare = copy.deepcopy(manifest) | {"promises": []}
    bare["policy"]["require"] = []
    if not measured:
        bare |= {"measured": [], "whole": None, "sensitive_hierarchies": None}
    assert asked(folder, json.dumps(bare)) == "nothing promised"
    found = verify_folder(folder)
    assert not found.holds
    assert [promise.model for promise in found.promises] == ["integrity"]
    assert main(["verify", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "nothing is promised" in out
    assert "every promise holds" not in out
    assert main(["verify", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["outcome"], told["holds"]) == ("nothing promised", False)


def test_without_promises_a_changed_file_is_still_broken(folder: Path, manifest: Any) -> None:
    bare = changed(manifest, ("files", 0, "sha256"), "0" * 64) | {"promises": []}
    bare["policy"]["require"] = []
    assert asked(folder, json.dumps(bare)) == "broken"


# -- criteria from Python, the shell and policy files ------------------------------------------------------------------

NUMBERS = [10**400, 10**5000, 10**30, -(10**400), math.inf, -math.inf, math.nan, "5", None, [], 1j]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CRITERIA))
@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: str(type(value).__name__))
def test_hostile_parameters_are_refused_by_name(name: str, value: Any) -> None:
    """Whatever a parameter is, it is refused in words, or can be asked of a table."""
    example = CRITERIA[name].example
    groups = {"age": ["x"] * 8, "disease": ["flu", "cold"] * 4}
    for parameter, old in example.parameters().items():
        if isinstance(old, str):
            continue
        try:
            made = CRITERIA[name].make(**{**example.parameters(), parameter: value})
        except PolicyError as error:
            assert parameter in str(error)
            assert len(str(error)) < 500
            continue
        assert isinstance(made.sentence(), str)
        if made.how == BY_CONSTRUCTION:  # of which rows prove nothing
            with pytest.raises(PolicyError, match="no rows prove"):
                sf.verify(groups, quasi=["age"], require=made)
            continue
        assert sf.verify(groups, quasi=["age"], require=made).outcome in ("holds", "broken")
        with pytest.raises(SfumatoError):
            sf.anonymize(groups, quasi=["age"], require=[made, sf.KAnonymity(9)])


@pytest.mark.parametrize(
    "make", [lambda: sf.DistinctLDiversity("\ud800", 2), lambda: sf.AlphaK(0.5, 2, "s", ["\udfff"])]
)
def test_half_characters_are_no_names_and_no_values(make: Any) -> None:
    with pytest.raises(PolicyError):
        make()


@pytest.mark.slow
@pytest.mark.parametrize("number", ["1" + "0" * 400, "1" + "0" * 5000, "inf", "nan", "-1", "1e400"])
def test_hostile_numbers_in_a_policy_file_and_in_flags(
    number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age,disease\n" + "30,flu\n31,cold\n" * 5)
    policy = (
        '[input]\npath = "t.csv"\n[roles]\nquasi = ["age"]\nsensitive = ["disease"]\n'
        f'[[require]]\nmodel = "k-anonymity"\nk = {number}\n[output]\npath = "out"\n'
    )
    (tmp_path / "policy.toml").write_text(policy)
    for arguments in (
        ["anonymize", "policy.toml"],
        ["verify", "t.csv", "--quasi", "age", "--k", number],
        ["verify", "t.csv", "--quasi", "age", "--require", f"entropy-l-diversity disease {number}"],
        ["anonymize", "t.csv", "--quasi", "age", "--k", "2", "--suppression", number, "-o", "out"],
    ):
        code, told = main(arguments), capsys.readouterr()
        assert code == 2, (arguments, told)
        assert "fault of Sfumato" not in told.err
        assert not (tmp_path / "out").exists()


def test_random_lines_of_the_shell_are_answered() -> None:
    rng = random.Random(11)
    table = {"age": ["x"] * 4, "disease": ["flu", "cold"] * 2}
    words = ["disease", "age", "1e999", "9" * 400, "nan", "-0", "", "k=2", "l=", "=", "values=", "'", "0x1", "１"]
    for _ in range(60 * FUZZ):
        line = " ".join([rng.choice(list(CRITERIA)), *rng.choices([*words, *string.punctuation], k=rng.randint(0, 4))])
        try:
            sf.verify(table, quasi=["age"], require=line)
        except SfumatoError:
            continue
