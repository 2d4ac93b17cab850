"""sfumato sign: keys, signatures, and what verify shows of them."""

from __future__ import annotations

import json
import os
import pty
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Run
from .test_anonymize import FLAGS

pytestmark = pytest.mark.slow

RUN = "import sys; from sfumato.cli import main; sys.exit(main())"
PASSPHRASE = "correct horse"
ANN = ("--name", "Ann Steward", "--date", "2026-11-15")


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SFUMATO_PASSPHRASE", raising=False)


@pytest.fixture
def out(run: Run, patients: Path, tmp_path: Path) -> Path:
    assert run("anonymize", patients, *FLAGS, "--search", "mondrian", "-o", "out").code == 0
    (tmp_path / "words").write_text(PASSPHRASE + "\n")
    return tmp_path / "out"


def test_from_a_key_to_a_signature_that_is_trusted(run: Run, out: Path, tmp_path: Path) -> None:
    made = run("sign", "--new-key", "--key", "steward.pem", "--passphrase-file", "words")
    assert made.code == 0
    assert "steward.pub" in made.out
    assert stat.S_IMODE((tmp_path / "steward.pem").stat().st_mode) == 0o600
    done = run("sign", out, "--key", "steward.pem", "--passphrase-file", "words", *ANN, "--statement", "I approve.")
    assert done.code == 0, done.err
    assert 'signed by "Ann Steward" on 2026-11-15' in done.out
    key = json.loads((out / "signature.json").read_text("utf-8"))["key"]
    assert key in made.out
    assert key in done.out

    shown = run("verify", out)
    assert shown.code == 0
    assert 'signed by "Ann Steward" on 2026-11-15: valid\n  "I approve."\n' in shown.out
    assert key in shown.out
    assert "note: the key is not among those that you trust" in shown.out

    assert run("sign", "--trust", "steward.pub").code == 0
    shown = run("verify", out)
    assert "2026-11-15: valid, by a key that you trust" in shown.out
    assert "note: the key" not in shown.out
    told = run("verify", out, "--json").json
    assert (told["outcome"], told["caveat"]) == ("holds", None)
    assert {"valid": True, "known": True, "name": "Ann Steward", "key": key}.items() <= told["signature"].items()


def test_an_unsigned_release(run: Run, out: Path) -> None:
    shown = run("verify", out)
    assert shown.code == 0
    assert "note: it is not signed: whoever has the folder can rewrite data and manifest together" in shown.out
    told = run("verify", out, "--json").json
    assert told["signature"] is None
    assert "rewrite" in told["caveat"]


def test_a_signer_is_demanded(run: Run, out: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert run("sign", "--new-key", "--key", f"{name}.pem", "--no-passphrase").code == 0
    absent = run("verify", out, "--signer", "a.pub")
    assert absent.code == 1
    assert "the signature is not valid" in absent.out
    assert "there is no signature" in absent.out
    assert run("sign", out, "--key", "a.pem", *ANN).code == 0
    assert run("verify", out, "--signer", "a.pub").code == 0
    other = run("verify", out, "--signer", "b.pub")
    assert other.code == 1
    assert "by another key than b.pub" in other.out
    assert run("verify", out, "--signer", "a.pem").code == 2
    assert run("verify", out, "--signer", "none.pub").code == 2
    assert run("verify", "patients.csv", "--quasi", "age", "--k", "1", "--signer", "a.pub").code == 2


def test_a_signed_release_that_was_changed(run: Run, out: Path) -> None:
    assert run("sign", out, "--new-key", "--key", "a.pem", "--no-passphrase", *ANN).code == 0
    (out / "more.txt").write_text("x")
    (out / "report.html").write_text("all is well")
    done = run("verify", out)
    assert done.code == 1
    assert "the signature is not valid" in done.out
    assert "NOT VALID" in done.out
    assert "added since: more.txt" in done.out
    assert "changed: report.html" in done.out
    assert run("verify", out, "--json").json["outcome"] == "broken"


def test_a_broken_release_is_not_signed(run: Run, out: Path) -> None:
    (out / "data.csv").write_text((out / "data.csv").read_text().replace("flu", "cold"))
    done = run("sign", out, "--new-key", "--key", "a.pem", "--no-passphrase", *ANN)
    assert (done.code, (out / "signature.json").exists()) == (1, False)
    assert "is not signed" in done.err


def test_the_report_of_a_signed_release_keeps_it_valid(run: Run, out: Path) -> None:
    assert run("sign", out, "--new-key", "--key", "a.pem", "--no-passphrase", *ANN).code == 0
    assert run("report", out).code == 0  # the same bytes
    assert run("verify", out).code == 0
    assert run("report", out, "-o", out / "other.html").code == 2
    assert run("report", out, "--pdf").code == 2
    assert run("report", out, "-o", "other.html").code == 0
    assert run("verify", out).code == 0


def test_releasing_again_removes_the_signature(run: Run, out: Path, patients: Path) -> None:
    assert run("sign", out, "--new-key", "--key", "a.pem", "--no-passphrase", *ANN).code == 0
    assert run("anonymize", patients, *FLAGS, "-o", "out", "--overwrite").code == 0
    assert not (out / "signature.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["nothing to do"]),
        (("out",), ["--key"]),
        (("out", "--key", "a.pem"), ["--name"]),
        (("--new-key",), ["--key"]),
        (("out", "--key", "none.pem", *ANN), ["none.pem"]),
        (("out", "--key", "a.pem", "--name", ""), ["name"]),
        (("out", "--key", "a.pem", *ANN, "--date", "never"), ["date"]),
        (("nowhere", "--key", "a.pem", *ANN), ["not a release"]),
        (("--trust", "a.pem"), ["no Ed25519 public key"]),
        (("--new-key", "--key", "a.pem", "--no-passphrase"), ["a.pem exists"]),
        (
            ("--new-key", "--key", "b.pem"),
            ["no terminal", "--passphrase-file", "SFUMATO_PASSPHRASE", "--no-passphrase"],
        ),
        (("--new-key", "--key", "b.pem", "--passphrase-file", "none"), ["cannot be read"]),
        (("--new-key", "--key", "b.pem", "--passphrase-file", "empty"), ["passphrase is empty"]),
        (("out", "--key", "a.pem", *ANN, "--input", "x.duckdb"), ["--input"]),
    ],
)
def test_what_makes_no_sense(
    run: Run, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: list[str]
) -> None:
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115
    (tmp_path / "empty").write_text("\n")
    assert run("sign", "--new-key", "--key", "a.pem", "--no-passphrase").code == 0
    done = run("sign", *arguments)
    assert (done.code, done.out) == (2, "")
    assert all(word in done.err for word in words), done.err
    assert not (out / "signature.json").exists()
    assert not (tmp_path / "b.pem").exists()


def test_passphrases_come_from_the_environment_and_wrong_ones_are_told(
    run: Run, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_PASSPHRASE", PASSPHRASE)
    assert run("sign", "--new-key", "--key", "a.pem").code == 0
    monkeypatch.setenv("SFUMATO_PASSPHRASE", "wrong")
    done = run("sign", out, "--key", "a.pem", *ANN)
    assert done.code == 2
    assert "the passphrase does not open the key" in done.err
    assert "wrong" not in done.err
    monkeypatch.setenv("SFUMATO_PASSPHRASE", PASSPHRASE)
    assert run("sign", out, "--key", "a.pem", *ANN).code == 0
    again = run("sign", out, "--key", "a.pem", *ANN)
    assert (again.code, "signed already" in again.err) == (2, True)
    assert run("sign", out, "--key", "a.pem", *ANN, "--overwrite").code == 0


def test_a_new_passphrase_is_asked_for_twice_on_a_terminal(tmp_path: Path) -> None:
    def answer(*answers: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        command = [sys.executable, "-c", RUN, "sign", "--new-key", "--key", "k.pem"]
        process = subprocess.Popen(
            command, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        told = ""
        try:
            for one in answers:
                while not told.rstrip().endswith(":"):
                    told += os.read(ours, 1000).decode()
                os.write(ours, f"{one}\n".encode())
                told += "|"
            while True:
                told += os.read(ours, 1000).decode()
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        return process.wait(timeout=30), told

    code, told = answer("one", "two")
    assert code == 2
    assert "not the same" in told
    code, told = answer("", "")
    assert code == 2
    assert "passphrase is empty" in told
    assert not (tmp_path / "k.pem").exists()
    code, told = answer(PASSPHRASE, PASSPHRASE)
    assert code == 0, told
    assert PASSPHRASE not in told
    assert b"ENCRYPTED" in (tmp_path / "k.pem").read_bytes()


def test_a_release_that_is_a_table(run: Run, patients: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    import duckdb

    with duckdb.connect(str(tmp_path / "h.duckdb")) as connection:
        connection.execute(f"create table people as select * from read_csv('{patients}')")
    asked = ("--input", "h.duckdb", "--table", "people", *FLAGS, "--output-table", "released", "-o", "out")
    assert run("anonymize", *asked).code == 0
    assert run("sign", "--new-key", "--key", "a.pem", "--no-passphrase").code == 0
    assert run("sign", "out", "--key", "a.pem", *ANN).code == 2
    assert run("sign", "out", "--key", "a.pem", *ANN, "--input", "h.duckdb").code == 0
    done = run("verify", "out", "--input", "h.duckdb", "--signer", "a.pub")
    assert done.code == 0
    assert "signed by" in done.out


def test_json(run: Run, out: Path, tmp_path: Path) -> None:
    told = run("sign", out, "--new-key", "--key", "a.pem", "--no-passphrase", *ANN, "--json").json
    assert told["signature"]["valid"] is True
    assert told["key_id"] == told["signature"]["key"]
    assert Path(told["file"]).is_file()
    shutil.rmtree(out)
