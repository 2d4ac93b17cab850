"""Streams of files: killed at every step, a run goes on without losing or repeating a row."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.errors import ColumnError, OutputError, PolicyError, ReadError
from sfumato.report.stream import labels_of, stream_report
from sfumato.report.translation import Missing, translated, translated_page
from sfumato.series.streams import written as written_module

ASKED: dict[str, Any] = {
    "quasi": ["age", "sex"], "sensitive": "disease", "insensitive": "row", "person": "who", "delay": 20, "seed": 3,
    "require": [sf.KAnonymity(3), sf.DistinctLDiversity("disease", 2)],
}  # fmt: skip
STEPS = ("write_table", "save_state", "replace")


@pytest.fixture
def arriving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SFUMATO_KEY", "a key for tests")
    rng = np.random.default_rng(1)
    n = 90
    frame = pl.DataFrame(
        {
            "who": [f"p{i}" for i in rng.integers(0, 40, n)],
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "disease": rng.choice(["flu", "cold", "ulcer"], n),
            "row": np.arange(n),
        }
    )
    place = tmp_path / "in"
    place.mkdir()
    for i in range(6):
        frame[i * 15 : (i + 1) * 15].write_csv(place / f"{i}.csv")
    (place / "_half").write_text("who,age\n1", encoding="utf-8")
    return place


def batches(out: Path) -> list[pl.DataFrame]:
    return [pl.read_csv(one) for one in sorted(out.glob("batch-*.csv"))]


def test_a_folder_is_released_and_verified(arriving: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stream = sf.stream(arriving, to=out, once=True, **ASKED)
    yielded = list(stream)
    assert [one.height for one in batches(out)] == [one.height for one in yielded]
    rows = pl.concat(batches(out))["row"].to_list()
    assert len({*rows}) == len(rows) == 90 - stream.suppressed
    found = sf.verify(out)
    assert found.outcome == "stated"
    told = [(promise.model, promise.how) for promise in found.promises]
    assert told == [
        ("integrity", "proven"),
        ("k-anonymity", "proven"),  # of rows
        ("k-anonymity", "stated"),  # of people, who are not released
        ("distinct-l-diversity", "proven"),
    ]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["finished"]
    assert manifest["known"]["rows per class"] == "proven"
    assert manifest["known"]["different people"] == "stated"
    assert '"who"' not in json.dumps(manifest)
    first = out / "batch-000001.csv"
    first.write_text(first.read_text().replace("f", "m", 1))
    assert sf.verify(out).outcome == "broken"


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_every_step(arriving: Path, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tmp_path / "whole"
    for _ in sf.stream(arriving, to=whole, state=tmp_path / "w.state", finish=True, **ASKED):
        pass
    asked = {**ASKED, "to": tmp_path / "out", "state": tmp_path / "s.state", "finish": True}

    class Killed(Exception):
        pass

    owner = os if step == "replace" else written_module
    real, calls = getattr(owner, step), 0
    for kill in range(1, 4):
        calls = 0

        def dying(*given: Any, kill: int = kill, **more: Any) -> Any:
            nonlocal calls
            if step != "replace" or ".batch-" in Path(given[0]).name:
                calls += 1
                if calls == kill:
                    raise Killed
            return real(*given, **more)

        monkeypatch.setattr(owner, step, dying)
        stream = sf.stream(arriving, **asked)
        try:
            for _ in stream:
                pass
        except Killed:
            pass
        stream.close()
        monkeypatch.setattr(owner, step, real)
    for _ in sf.stream(arriving, **asked):
        pass
    assert [one.rows() for one in batches(tmp_path / "out")] == [one.rows() for one in batches(whole)]
    assert sf.verify(tmp_path / "out").outcome == "stated"
    assert not [*(tmp_path / "out").glob(".batch-*")]
    assert (tmp_path / "out" / "manifest.json").read_text() == (whole / "manifest.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("search", ["castle", "fads", sf.CASTLE(reuse=30)], ids=str)
def test_stopped_between_files_is_as_if_not(arriving: Path, tmp_path: Path, search: Any) -> None:
    asked = {**ASKED, "search": search}
    for _ in sf.stream(arriving, to=tmp_path / "whole", **{**asked, "once": True}):
        pass
    later = [(one, one.with_name(f"_{one.name}")) for one in sorted(arriving.glob("[0-9].csv"))]
    for name, hidden in later:
        name.rename(hidden)
    for name, hidden in later:
        hidden.rename(name)
        for _ in sf.stream(arriving, to=tmp_path / "out", state=tmp_path / "s", once=True, **asked):
            pass
    assert os.stat(tmp_path / "s").st_mode & 0o077 == 0
    for _ in sf.stream(arriving, to=tmp_path / "out", state=tmp_path / "s", finish=True, **asked):
        pass
    assert [one.rows() for one in batches(tmp_path / "out")] == [one.rows() for one in batches(tmp_path / "whole")]


def test_z_anonymity_goes_on(arriving: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "quasi": "disease", "insensitive": ["row"], "identifying": ["age", "sex"], "person": "who",
        "search": sf.ZAnonymity(12, 25),
    }  # fmt: skip
    whole = sf.stream(arriving, to=tmp_path / "whole", once=True, **asked)
    assert sum(one.height for one in whole) == whole.released > 0
    (arriving / "5.csv").rename(arriving / "_5")
    for _ in sf.stream(arriving, to=tmp_path / "out", state=tmp_path / "s", once=True, **asked):
        pass
    (arriving / "_5").rename(arriving / "5.csv")
    for _ in sf.stream(arriving, to=tmp_path / "out", state=tmp_path / "s", finish=True, **asked):
        pass
    assert [one.rows() for one in batches(tmp_path / "out")] == [one.rows() for one in batches(tmp_path / "whole")]
    assert sf.verify(tmp_path / "out").outcome == "by construction"


def test_refusals(arriving: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, state = tmp_path / "out", tmp_path / "s"
    with pytest.raises(OutputError, match="holds rows that wait"):
        sf.stream(arriving, to=out, state=out / "s", **ASKED)
    with pytest.raises(PolicyError, match="not said where"):
        sf.stream(arriving, **ASKED)
    with pytest.raises(ReadError, match="no folder"):
        sf.stream(tmp_path / "nowhere", to=out, **ASKED)
    with pytest.raises(PolicyError, match="for a folder"):
        sf.stream([], to=out, **ASKED)
    for _ in sf.stream(arriving, to=out, state=state, once=True, **ASKED):
        pass
    with pytest.raises(OutputError, match="not empty"):
        sf.stream(arriving, to=out, **ASKED)
    with pytest.raises(PolicyError, match="a stream with other settings"):
        sf.stream(arriving, to=out, state=state, **{**ASKED, "delay": 30})
    held = sf.stream(arriving, to=out, state=state, **ASKED)
    with pytest.raises(OutputError, match="another run"):
        sf.stream(arriving, to=out, state=state, **ASKED)
    held.close()
    state.chmod(0o644)
    with pytest.raises(ReadError, match="read by others"):
        sf.stream(arriving, to=out, state=state, **ASKED)
    state.chmod(0o600)
    monkeypatch.setenv("SFUMATO_KEY", "another")
    with pytest.raises(ReadError, match="under this key"):
        sf.stream(arriving, to=out, state=state, **ASKED)


def test_in_the_shell(arriving: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    flags = "--quasi age,sex --sensitive disease --insensitive row --person who --k 3 --delay 20 --once --json"
    require = ["--require", "distinct-l-diversity disease 2"]
    assert main(["stream", str(arriving), "-o", str(out), *flags.split(), *require]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["arrived"] == 90
    assert told["waiting"] == 0
    assert main(["verify", str(out)]) == 0


def test_texts_of_files_are_numbers_and_dates(arriving: Path, tmp_path: Path) -> None:
    asked = {
        **ASKED,
        "sensitive": (),
        "insensitive": ["row", "disease"],
        "require": [sf.KAnonymity(5)],
        "search": "fads",
        "ends": "exact",
    }
    by_file = pl.concat(list(sf.stream(arriving, to=tmp_path / "out", once=True, **asked)))
    frames = [pl.read_csv(one) for one in sorted(arriving.glob("[0-9].csv"))]
    by_frame = pl.concat(list(sf.stream(frames, **asked)))
    assert by_file.cast(pl.String).sort(pl.all()).rows() == by_frame.cast(pl.String).sort(pl.all()).rows()
    assert by_file["age"].str.starts_with("[").any()
    grown = {**asked, "hierarchies": {"age": sf.intervals(5, 20)}}
    (found,) = [pl.concat(list(sf.stream(arriving, to=tmp_path / "grown", once=True, **grown)))]
    assert found["age"].str.starts_with("[").any()
    (arriving / "9.csv").write_text("who,age,sex,disease,row\np1,unknown,f,flu,99\n", encoding="utf-8")
    with pytest.raises(ColumnError, match='"age" has another type') as told:
        list(sf.stream(arriving, to=tmp_path / "bad", once=True, **asked))
    assert "unknown" not in str(told.value)


def test_times_in_files(arriving: Path, tmp_path: Path) -> None:
    for i, file in enumerate(sorted(arriving.glob("[0-9].csv"))):
        at = pl.Series("at", [f"2026-01-{i + 1:02} 10:{m:02}" for m in range(15)])
        pl.read_csv(file).with_columns(at).write_csv(file)
    asked: dict[str, Any] = {"quasi": "disease", "identifying": ["age", "sex", "row"], "person": "who", "time": "at"}
    found = sf.stream(arriving, to=tmp_path / "out", once=True, search=sf.ZAnonymity(4, 600), **asked)
    frames = [pl.read_csv(one, try_parse_dates=True) for one in sorted(arriving.glob("[0-9].csv"))]
    frames = [one.with_columns(pl.col("at").cast(pl.String).str.to_datetime(strict=False)) for one in frames]
    want = sf.stream(frames, search=sf.ZAnonymity(4, 600), **asked)
    assert sum(one.height for one in found) == sum(one.height for one in want) > 0


def test_policy_file(arriving: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Paths of the file start at its folder; flags are laid over it; all faults are told at once."""
    policy = tmp_path / "policy.toml"
    text = """
[input]
path = "in"
[roles]
person = "who"
quasi = ["age", "sex"]
sensitive = "disease"
insensitive = ["row"]
[[require]]
model = "k-anonymity"
k = 3
[[require]]
model = "distinct-l-diversity"
attribute = "disease"
l = 2
[hierarchies]
age = {intervals = [5, 10, 20]}
[stream]
delay = 20
state = "s.state"
seed = 3
finish = true
[output]
path = "out"
"""
    policy.write_text(text, encoding="utf-8")
    assert main(["stream", str(policy), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["arrived"], told["folder"]) == (90, str(tmp_path / "out"))
    assert (tmp_path / "s.state").exists()
    assert sf.verify(tmp_path / "out").outcome == "stated"
    other = ["-o", str(tmp_path / "other"), "--state", str(tmp_path / "o.state"), "--k", "5", "--json"]
    assert main(["stream", str(policy), *other]) == 0
    assert json.loads((tmp_path / "other" / "manifest.json").read_text())["k"] == 5
    capsys.readouterr()
    wrong = text.replace("delay = 20", "delays = 20").replace('quasi = ["age", "sex"]', "").replace("[output]", "[out]")
    policy.write_text(wrong, encoding="utf-8")
    assert main(["stream", str(policy)]) == 2
    fault = capsys.readouterr().err
    for part in ('unknown key "delays"', 'unknown table "out"', "quasi is missing", "path is missing"):
        assert part in fault
    assert main(["stream", str(tmp_path / "in"), "--quasi", "age", "-o", str(tmp_path / "x")]) == 2


def test_files_without_rows_are_taken_and_passed_over(arriving: Path, tmp_path: Path) -> None:
    (arriving / "0a.csv").write_text("who,age,sex,disease,row\n", encoding="utf-8")
    (arriving / "0b.csv").write_bytes(b"")
    stream = sf.stream(arriving, to=tmp_path / "out", state=tmp_path / "s", once=True, **ASKED)
    assert sum(one.height for one in stream) + stream.waiting + stream.suppressed == 90


def test_an_error_of_a_file_names_it(arriving: Path, tmp_path: Path) -> None:
    (arriving / "3x.csv").write_text("who,age\np1,20\n", encoding="utf-8")
    with pytest.raises(ColumnError, match=r"^3x\.csv: a batch has no column"):
        list(sf.stream(arriving, to=tmp_path / "out", once=True, **ASKED))


def _tampered(folder: Path, **more: Any) -> None:
    said = json.loads((folder / "manifest.json").read_text())
    for name, value in more.items():
        if value is None:
            del said[name]
        else:
            said[name] = value(said[name]) if callable(value) else value
    (folder / "manifest.json").write_text(json.dumps(said))


@pytest.mark.parametrize(
    "more",
    [
        *({"k": bad} for bad in ("3", 2.5, True, [1], -1, 0, None)),
        *({"l": bad} for bad in ({"disease": "2"}, {"disease": True}, {"nope": 2}, [1])),
        *({"counts": bad} for bad in (None, [1], "cats")),
        *({"stream": bad} for bad in (2, True)),
        *({"files": bad} for bad in ("abc", {}, lambda files: [*files, files[0]])),
        *({"files": lambda files, bad=bad: [{**files[0], **bad}]} for bad in ({"rows": None}, {"sha256": 1})),
        *({"quasi": bad} for bad in ("age", [], [["a"]])),
        *({"search": bad} for bad in ("castle", {"reuse": -1}, {"reuse": [1]})),
    ],
    ids=lambda more: re.sub(r" at 0x[0-9a-f]+", "", str(more)),
)
def test_hostile_manifests(arriving: Path, tmp_path: Path, more: dict[str, Any]) -> None:
    list(sf.stream(arriving, to=tmp_path / "out", once=True, **ASKED))
    _tampered(tmp_path / "out", **more) if more != {"k": None} else _tampered(tmp_path / "out", k=lambda _: None)
    with pytest.raises(ReadError, match="no manifest of a stream"):
        sf.verify(tmp_path / "out")


def test_a_stream_of_which_all_rows_are_suppressed_holds(arriving: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.series.streams.run.WindowRun.take", lambda self, frame: None)
        patch.setattr("sfumato.series.streams.run.WindowRun.finish", lambda self: None)
        assert list(sf.stream(arriving, to=tmp_path / "out", once=True, **ASKED)) == []
    found = sf.verify(tmp_path / "out")
    assert (found.outcome, found.rows) == ("holds", 0), found.promises
    (tmp_path / "out" / "batch-000001.csv").write_text("age\n1\n")
    assert sf.verify(tmp_path / "out").outcome == "broken"


def test_a_stream_is_signed(arriving: Path, tmp_path: Path) -> None:
    list(sf.stream(arriving, to=tmp_path / "out", once=True, **ASKED))
    assert len([*(tmp_path / "out").glob("batch-*")]) > 1
    sf.new_key(tmp_path / "k.pem", passphrase=None)
    assert sf.sign(tmp_path / "out", key=tmp_path / "k.pem", name="Ann").valid
    found = sf.verify(tmp_path / "out", signer=tmp_path / "k.pub")
    assert found.outcome == "stated"
    assert found.signature.valid


@pytest.mark.parametrize("has_state", [True, False])
def test_an_interrupt_says_what_is_there(
    arriving: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, has_state: bool
) -> None:
    def stop(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.series.streams.folder.time.sleep", stop)
    flags = [
        "--quasi",
        "age,sex",
        "--sensitive",
        "disease",
        "--insensitive",
        "row",
        "--person",
        "who",
        "--k",
        "3",
        "--delay",
        "20",
    ]
    given = ["stream", str(arriving), "-o", str(tmp_path / "out"), *flags]
    assert main([*given, "--state", str(tmp_path / "s")] if has_state else given) == 130
    told = capsys.readouterr()
    assert "nothing written" not in told.err
    assert "this run wrote" in told.err
    assert ("goes on from there" in told.err) == has_state
    assert told.err.count('nothing protects "disease"') + told.out.count('nothing protects "disease"') == 1
    assert "warn(" not in told.err


@pytest.mark.parametrize("verb", ["risk", "attack"])
def test_verbs_of_one_table_say_that_a_folder_is_a_stream(
    arriving: Path, tmp_path: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    list(sf.stream(arriving, to=tmp_path / "out", once=True, **ASKED))
    assert main([verb, str(tmp_path / "out")]) == 2
    assert "holds a stream" in capsys.readouterr().err


def test_a_stream_is_explained(arriving: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list(sf.stream(arriving, to=tmp_path / "out", once=True, **ASKED))
    terms = [term for term, _ in sf.explain(tmp_path / "out").lines]
    assert terms[:5] == ["What it is", "Proven", "Stated", "Proven", "It leaves open"]
    assert main(["explain", str(tmp_path / "out")]) == 0
    assert "rows of a stream in" in capsys.readouterr().out
    (tmp_path / "out" / "batch-000001.csv").write_text("age\n1\n", encoding="utf-8")
    assert main(["explain", str(tmp_path / "out")]) == 1
    assert "NOT KEPT" in capsys.readouterr().out


@pytest.mark.parametrize("person", ["who", None])
def test_a_report_stands_beside_the_files(arriving: Path, tmp_path: Path, person: str | None) -> None:
    out, asked = tmp_path / "out", {**ASKED, "person": person, "identifying": [] if person else ["who"]}
    stream = sf.stream(arriving, to=out, state=tmp_path / "s", once=True, **asked, about={"dataset": "Readings"})
    waits = [one.height for one in stream]
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    page = (out / "report.html").read_text("utf-8")
    assert manifest["beside"] == [{"file": "report.html", "sha256": hashlib.sha256(page.encode()).hexdigest()}]
    assert f"{sum(waits)} rows in {len(waits)} files" in page
    assert "It goes on" in page
    assert "Rows suppressed" not in page  # which would tell when
    for _ in sf.stream(arriving, to=out, state=tmp_path / "s", finish=True, **asked, about={"language": "it"}):
        pass
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    there = (out / "report.html").read_text("utf-8")
    assert '<html lang="it">' in there
    plain = {name: value for name, value in manifest.items() if name not in ("beside", "about")}
    found = [one for one in sf.verify(out).promises if one.model != "integrity"]
    first = pl.read_csv(out / "batch-000001.csv", infer_schema=False)
    page = stream_report(plain, found, first, labels_of(out, manifest))  # of what is published, and nothing else
    missing = Missing()
    assert translated_page(page, "it", missing) == there
    for term, said in sf.explain(out, language="en").lines:
        assert translated(term, "it", missing) != term
        translated(said, "it", missing)
    assert missing == []
    assert f">{manifest['suppressed']}</dd>" in page
    assert "Measured 3, asked 3." in page
    assert ("k-anonymity of people" in page) == (person is not None)
    assert ("Rows are counted, and not people" in page) == (person is None)
    assert main(["report", str(out)]) == 0
    assert (out / "report.html").read_text("utf-8") == there
    assert main(["report", str(out), "--language", "en"]) == 2  # the manifest has the hash of the other
    assert main(["report", str(out), "--language", "en", "-o", str(tmp_path / "en.html")]) == 0
    assert (tmp_path / "en.html").read_text("utf-8") == page
    (out / "report.html").write_text(page, encoding="utf-8")
    assert sf.verify(out).outcome == "broken"
    assert main(["report", str(out), "-o", str(tmp_path / "broken.html")]) == 1
    assert "NON MANTENUTE" in (tmp_path / "broken.html").read_text("utf-8")


def test_what_is_unprotected_is_told_with_what_a_stream_can_keep(arriving: Path, tmp_path: Path, capsys: Any) -> None:
    asked = {**ASKED, "require": [sf.KAnonymity(3)]}
    with pytest.warns(
        UserWarning, match=r'require=\["distinct-l-diversity disease 2"\] has one, unprotected=\["disease"\]'
    ):
        sf.stream(arriving, to=tmp_path / "out", **asked)
    roles = ["--quasi", "age,sex", "--sensitive", "disease", "--insensitive", "row", "--person", "who", "--delay", "20"]
    assert main(["stream", str(arriving), *roles, "--k", "3", "--once", "-o", str(tmp_path / "o")]) == 0
    told = " ".join("".join(capsys.readouterr()).split())
    assert '--require "distinct-l-diversity disease 2" is one, --unprotected disease accepts that' in told


def test_the_report_of_z_anonymity(arriving: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"insensitive": ["row"], "identifying": ["age", "sex"], "person": "who"}
    out = tmp_path / "out"
    for _ in sf.stream(arriving, to=out, once=True, quasi="disease", search=sf.ZAnonymity(12, 25), **asked):
        pass
    missing = Missing()
    page = (out / "report.html").read_text("utf-8")
    assert "No row waits" in page
    translated_page(page, "it", missing)
    assert missing == []


def test_a_report_outlives_files_that_were_taken_away(arriving: Path, tmp_path: Path) -> None:
    out, asked = tmp_path / "out", {**ASKED, "to": tmp_path / "out", "state": tmp_path / "s"}
    assert [*sf.stream(arriving, once=True, **asked)]
    (out / "batch-000001.csv").unlink()
    for _ in sf.stream(arriving, finish=True, **asked):
        pass
    page = (out / "report.html").read_text("utf-8")
    assert "NOT KEPT" in page
    assert "batch-000001.csv is missing" in page
    with pytest.raises(PolicyError, match="about are for a folder"):
        sf.stream([], quasi="age", require=[sf.KAnonymity(2)], delay=4, about={"language": "it"})
