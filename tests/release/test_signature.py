"""Signatures of releases: made, checked, and attacked."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.documents import canonical
from sfumato.engines.files.bytes import sha256
from sfumato.errors import BrokenPromise, MissingExtra, OutputError, PolicyError, ReadError
from sfumato.release.signature import FILE, key_id, public_key
from tests.fuzz import FUZZ

TABLE = pl.DataFrame({"age": [20, 20, 21, 21, 30, 30, 31, 31], "disease": ["flu", "cold"] * 4})
SECRET = "correct horse"


def release(folder: Path, k: int = 2, format: str = "csv", table: pl.DataFrame = TABLE) -> Path:
    made = sf.anonymize(table, quasi=["age"], sensitive=["disease"], require=sf.KAnonymity(k), search="mondrian")
    made.save(folder, format=format)
    return folder


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two keys, a release, and the same signed."""
    place = tmp_path_factory.mktemp("house")
    sf.new_key(place / "steward.pem", passphrase=SECRET)
    sf.new_key(place / "mallory.pem", passphrase=None)
    release(place / "plain")
    release(place / "other", k=4)
    for name in ("plain", "other"):
        shutil.copytree(place / name, place / f"{name}-signed")
        sf.sign(
            place / f"{name}-signed",
            key=place / "steward.pem",
            passphrase=SECRET,
            name="Ann Steward",
            statement="I approve.",
            date="2026-11-15",
        )
    return place


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No key is trusted but by the test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"


@pytest.fixture
def plain(house: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(house / "plain", tmp_path / "out"))


@pytest.fixture
def signed(house: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(house / "plain-signed", tmp_path / "signed"))


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a signature says."""
    document = json.loads((folder / FILE).read_text("utf-8"))
    change(document)
    (folder / FILE).write_text(json.dumps(document), "utf-8")


def faults(folder: Path, **more: Any) -> str:
    """Why a signature is not valid."""
    found = sf.verify(folder, **more)
    assert (found.outcome, found.holds) == ("broken", False)
    assert found.signature is not None
    assert found.signature.valid is False
    assert all(promise.holds for promise in found.promises), found.promises
    return "; ".join(found.signature.faults)


# -- making and reading ------------------------------------------------------------------------------------------------


def test_a_signed_release(house: Path, signed: Path) -> None:
    found = sf.verify(signed)
    assert found.outcome == "holds"
    told = found.signature
    assert told is not None
    assert (told.valid, told.known, told.faults) == (True, False, ())
    assert (told.name, told.statement, told.date) == ("Ann Steward", "I approve.", "2026-11-15")
    assert told.key == key_id(public_key(house / "steward.pub"))
    assert "not among those that you trust" in (found.caveat or "")
    assert sf.verify(signed, signer=house / "steward.pub").caveat is None


def test_no_other_file_changes_and_the_date_stands_there_alone(house: Path) -> None:
    before, after = house / "plain", house / "plain-signed"
    names = {path.name for path in before.iterdir()}
    assert {path.name for path in after.iterdir()} == names | {FILE}
    assert all((before / name).read_bytes() == (after / name).read_bytes() for name in names)
    assert not any(b"2026-11-15" in (after / name).read_bytes() for name in names)
    assert b"signature.json" in (before / "report.html").read_bytes()


def test_the_document_names_every_file_and_the_canonical_manifest(signed: Path) -> None:
    said = json.loads((signed / FILE).read_text("utf-8"))
    assert said["files"] == {path.name: sha256(path) for path in signed.iterdir() if path.name != FILE}
    manifest = json.loads((signed / "manifest.json").read_text("utf-8"))
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert said["manifest"] == hashlib.sha256(text.encode()).hexdigest()


def test_the_signature_is_plain_ed25519(signed: Path) -> None:
    """What another program needs to check it: the context line, then the document without its signature, canonical."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    said = json.loads((signed / FILE).read_text("utf-8"))
    signature = bytes.fromhex(said.pop("signature"))
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(said["public_key"]))
    key.verify(signature, b"sfumato release signature 1\n" + canonical(said))


def test_an_unsigned_release_says_what_cannot_be_known(plain: Path) -> None:
    found = sf.verify(plain)
    assert (found.outcome, found.signature) == ("holds", None)
    assert "rewrite data and manifest together" in (found.caveat or "")
    assert sf.verify(TABLE, quasi=["age"], require=sf.KAnonymity(1)).caveat is None


def test_defaults(house: Path, plain: Path) -> None:
    found = sf.sign(plain, key=house / "mallory.pem", name="Zoë")
    assert (found.valid, found.name, found.date) == (True, "Zoë", date.today().isoformat())
    assert found.statement
    assert "approve" in found.statement


def test_the_same_is_signed_to_the_same_bytes(house: Path, plain: Path) -> None:
    given: dict[str, Any] = {"key": house / "mallory.pem", "name": "M", "date": date(2026, 1, 2)}
    sf.sign(plain, **given)
    first = (plain / FILE).read_bytes()
    sf.sign(plain, **given, overwrite=True)
    assert (plain / FILE).read_bytes() == first


def test_a_signature_is_not_replaced_unasked(house: Path, signed: Path) -> None:
    with pytest.raises(OutputError, match="signed already"):
        sf.sign(signed, key=house / "mallory.pem", name="Mallory")
    assert sf.sign(signed, key=house / "mallory.pem", name="Mallory", overwrite=True).name == "Mallory"


def test_parts_of_a_partitioned_release(house: Path, tmp_path: Path) -> None:
    folder = release(tmp_path / "out", format="parquet")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    data = folder / "data.parquet"
    rows = pl.read_parquet(data)
    data.unlink()
    data.mkdir()
    rows[:4].write_parquet(data / "part-0.parquet")
    rows[4:].write_parquet(data / "part-1.parquet")
    manifest["files"][0]["sha256"] = sha256(data)
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    assert sf.sign(folder, key=house / "mallory.pem", name="M").valid
    said = json.loads((folder / FILE).read_text("utf-8"))["files"]
    assert {"data.parquet/part-0.parquet", "data.parquet/part-1.parquet"} < set(said)
    assert sf.verify(folder).holds
    os.rename(data / "part-0.parquet", data / "part-2.parquet")
    found = sf.verify(folder)
    assert found.signature is not None
    assert "added since: data.parquet/part-2.parquet" in found.signature.faults
    assert "missing: data.parquet/part-0.parquet" in found.signature.faults


@pytest.mark.slow
def test_a_release_in_a_database(house: Path, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "h.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.register("t", TABLE.to_arrow())
        connection.execute("create table people as select * from t")
    store = sf.Database(str(file), "people")
    sf.anonymize(
        store,
        quasi=["age"],
        sensitive=["disease"],
        require=sf.KAnonymity(2),
        search="mondrian",
        to=sf.Table("released", beside=tmp_path / "out"),
    )
    with pytest.raises(ReadError, match="no file of this folder"):
        sf.sign(tmp_path / "out", key=house / "mallory.pem", name="M")
    table = sf.Database(str(file), "released")
    assert sf.sign(tmp_path / "out", key=house / "mallory.pem", name="M", data=table).valid
    found = sf.verify(table, manifest=tmp_path / "out", signer=house / "mallory.pub")
    assert found.holds
    assert found.signature is not None
    assert found.signature.name == "M"


def test_saving_again_removes_an_old_signature(signed: Path) -> None:
    made = sf.anonymize(TABLE, quasi=["age"], sensitive=["disease"], require=sf.KAnonymity(4), search="mondrian")
    made.save(signed, overwrite=True)
    assert not (signed / FILE).exists()
    assert sf.verify(signed).signature is None


def test_trusted_keys_are_known(house: Path, signed: Path, config: Path) -> None:
    (config / "sfumato" / "trusted").mkdir(parents=True)
    (config / "sfumato" / "trusted" / "junk.pub").write_text("no key")
    assert sf.trust(house / "mallory.pub") == key_id(public_key(house / "mallory.pub"))
    found = sf.verify(signed)
    assert found.signature is not None
    assert not found.signature.known
    assert sf.trust(house / "steward.pub") == found.signature.key
    found = sf.verify(signed)
    assert found.signature is not None
    assert found.signature.known
    assert found.caveat is None


# -- attacks -----------------------------------------------------------------------------------------------------------


def test_data_and_manifest_swapped_consistently(house: Path, signed: Path) -> None:
    for name in ("data.csv", "manifest.json", "report.html"):
        shutil.copy(house / "other" / name, signed / name)
    told = faults(signed)
    assert "changed: data.csv, manifest.json, report.html" in told
    assert "the manifest is another" in told
    os.remove(signed / FILE)  # without a signature nobody can tell, and verify says so
    assert sf.verify(signed).holds
    assert "rewrite" in (sf.verify(signed).caveat or "")


@pytest.mark.parametrize("name", ["manifest.json", "report.html"])
def test_one_file_changed_by_a_blank(signed: Path, name: str) -> None:
    with (signed / name).open("ab") as file:
        file.write(b"\n")
    assert f"changed: {name}" in faults(signed)


def test_changed_data_are_seen_by_both(signed: Path) -> None:
    (signed / "data.csv").write_text((signed / "data.csv").read_text().replace("flu", "cold"))
    found = sf.verify(signed)
    assert [promise.model for promise in found.promises if not promise.holds] == ["integrity"]
    assert found.signature is not None
    assert found.signature.faults == ("changed: data.csv",)


def test_a_stripped_signature(house: Path, signed: Path) -> None:
    os.remove(signed / FILE)
    assert sf.verify(signed).holds
    assert "there is no signature" in faults(signed, signer=house / "steward.pub")


def test_the_signature_of_another_folder(house: Path, signed: Path) -> None:
    shutil.copy(house / "other-signed" / FILE, signed / FILE)
    assert "changed: data.csv" in faults(signed)
    assert "the manifest is another" in faults(signed, signer=house / "steward.pub")


def test_signed_again_by_another_key(house: Path, signed: Path) -> None:
    sf.sign(signed, key=house / "mallory.pem", name="Ann Steward", statement="I approve.", overwrite=True)
    sf.trust(house / "steward.pub")
    found = sf.verify(signed)
    assert found.signature is not None
    assert (found.signature.valid, found.signature.known) == (True, False)
    assert "not among those that you trust" in (found.caveat or "")
    assert "by another key than steward.pub" in faults(signed, signer=house / "steward.pub")


def test_a_key_id_that_is_borrowed(house: Path, signed: Path) -> None:
    """Mallory's key under the steward's id, and the steward's key under Mallory's signature."""
    mallory = public_key(house / "mallory.pub")
    rewrite(signed, lambda d: d.update(public_key=mallory.hex()))
    told = faults(signed)
    assert "key id is not that of its key" in told
    assert "not made by its key" in told
    sf.sign(signed, key=house / "mallory.pem", name="M", overwrite=True)
    steward = public_key(house / "steward.pub")
    rewrite(signed, lambda d: d.update(public_key=steward.hex(), key=key_id(steward)))
    sf.trust(house / "steward.pub")
    assert "not made by its key" in faults(signed, signer=house / "steward.pub")


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Bob Steward"},
        {"name": "Ann Steward "},
        {"statement": "I do not approve."},
        {"date": "2026-11-16"},
        {"manifest": "0" * 64},
        {"format": True},
        {"format": 1.0},
        {"signature": "0" * 128},
        {"files": {}},
        {"key": "sha256:" + "0" * 64},
    ],
)
def test_what_is_said_cannot_change(signed: Path, change: dict[str, Any]) -> None:
    rewrite(signed, lambda d: d.update(change))
    assert faults(signed)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("date"),
        lambda d: d.update(more=1),
        lambda d: d.update(format=2),
        lambda d: d.update(name=""),
        lambda d: d.update(name=3),
        lambda d: d.update(name="Ann\nsigned by Bob: valid"),
        lambda d: d.update(name="\u202eevilA"),
        lambda d: d.update(signature="A" * 128),
        lambda d: d.update(signature=d["signature"].upper()),
        lambda d: d.update(signature=" " + d["signature"]),
        lambda d: d.update(public_key="zz" * 32),
        lambda d: d.update(date="2026-11-15T00:00"),
        lambda d: d.update(files=[]),
        lambda d: d.update(files={"data.csv": 3}),
    ],
)
def test_malformed_signatures_are_not_valid(signed: Path, change: Callable[[dict[str, Any]], object]) -> None:
    rewrite(signed, change)
    assert faults(signed)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"format": 1, "format": 1}', "[" * 100_000, '"\\ud800"'])
def test_documents_that_are_no_signature(signed: Path, text: str) -> None:
    (signed / FILE).write_text(text)
    assert FILE in faults(signed)


def test_a_key_that_stands_twice(signed: Path) -> None:
    """One reader would see the name that was signed, another one the name that was not."""
    text = (signed / FILE).read_text("utf-8").rstrip().removesuffix("}")
    (signed / FILE).write_text(text + ', "name": "Ann Steward"}', "utf-8")
    assert "a key stands twice" in faults(signed)


def test_unicode_that_looks_the_same_is_not_the_same(house: Path, plain: Path) -> None:
    sf.sign(plain, key=house / "mallory.pem", name="Zoe\u0308")  # is signed as one letter
    assert json.loads((plain / FILE).read_text("utf-8"))["name"] == "Zo\u00eb"
    rewrite(plain, lambda d: d.update(name="Zoe\u0308"))
    assert "not made by its key" in faults(plain)


def test_another_spelling_of_the_same_document_stays_valid(signed: Path) -> None:
    document = json.loads((signed / FILE).read_text("utf-8"))
    (signed / FILE).write_text(json.dumps(dict(reversed(document.items())), indent=7, ensure_ascii=True), "utf-8")
    assert sf.verify(signed).holds


def test_a_signature_of_something_else_by_the_same_key(house: Path, signed: Path) -> None:
    """The key signs a document without our context line: it must not pass for a signature of a release."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = load_pem_private_key((house / "mallory.pem").read_bytes(), None)
    public = public_key(house / "mallory.pub")

    def forge(document: dict[str, Any]) -> None:
        document.update(key=key_id(public), public_key=public.hex())
        del document["signature"]
        document["signature"] = key.sign(canonical(document)).hex()  # type: ignore[union-attr,call-arg]

    rewrite(signed, forge)
    assert "not made by its key" in faults(signed)


def test_an_added_file(house: Path, signed: Path) -> None:
    (signed / "README.txt").write_text("the password is on the back")
    assert "added since: README.txt" in faults(signed)
    os.remove(signed / "README.txt")
    (signed / "deep" / "er").mkdir(parents=True)
    (signed / "deep" / "er" / "x").write_text("")
    assert "added since: deep/er/x" in faults(signed)


@pytest.mark.slow
def test_folders_without_end(signed: Path) -> None:
    deep = signed.joinpath(*"d" * 1500)
    subprocess.run(["mkdir", "-p", deep], check=True)
    (deep / "x").write_text("")
    try:
        assert "added since: d/d/d/" in faults(signed)
    finally:
        subprocess.run(["rm", "-rf", signed / "d"], check=True)


def test_a_missing_file(signed: Path) -> None:
    os.remove(signed / "report.html")
    assert "missing: report.html" in faults(signed)


def test_links(house: Path, signed: Path, plain: Path) -> None:
    os.remove(signed / "report.html")
    (signed / "report.html").symlink_to(house / "plain" / "report.html")
    told = faults(signed)
    assert "report.html is a link" in told
    os.remove(plain / "report.html")
    (plain / "report.html").symlink_to(house / "plain" / "report.html")
    with pytest.raises(OutputError, match="is a link"):
        sf.sign(plain, key=house / "mallory.pem", name="M")
    os.remove(plain / "report.html")
    (plain / FILE).symlink_to(house / "plain-signed" / FILE)
    assert f"{FILE} is a link" in faults(plain)
    with pytest.raises(OutputError, match="signed already"):
        sf.sign(plain, key=house / "mallory.pem", name="M", overwrite=True)


def test_a_fifo_does_not_hang(signed: Path) -> None:
    os.mkfifo(signed / "pipe")
    assert "pipe is a link or no file" in faults(signed)


@pytest.mark.slow
def test_flipped_bits_are_seen(signed: Path) -> None:
    """Any byte of the signature changed: not valid, or the very same document in another spelling."""
    rng = random.Random(5)
    text = (signed / FILE).read_bytes()
    before = json.loads(text)
    for _ in range(60 * FUZZ):
        changed = bytearray(text)
        changed[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
        (signed / FILE).write_bytes(changed)
        found = sf.verify(signed).signature
        assert found is not None
        assert found.valid is False or json.loads(bytes(changed)) == before


# -- what is not signed ------------------------------------------------------------------------------------------------


def test_a_broken_release_is_not_signed(house: Path, plain: Path) -> None:
    data = plain / "data.csv"
    data.write_text(data.read_text().replace("flu", "cold"))
    with pytest.raises(BrokenPromise, match="integrity"):
        sf.sign(plain, key=house / "mallory.pem", name="M")
    assert not (plain / FILE).exists()


@pytest.mark.parametrize("name", ["steward.pem", "internal.html", ".DS_Store"])
def test_files_that_do_not_belong_there_are_not_signed(house: Path, plain: Path, name: str) -> None:
    (plain / name).write_text("x")
    with pytest.raises(OutputError, match=f"no part of the release: {name}"):
        sf.sign(plain, key=house / "mallory.pem", name="M")


@pytest.mark.parametrize(
    "given",
    [
        {"name": ""},
        {"name": " "},
        {"name": None},
        {"name": "a\nb"},
        {"name": "x" * 201},
        {"name": "\ud800"},
        {"statement": ""},
        {"statement": "a\u2028b"},
        {"date": "yesterday"},
        {"date": "2026-13-01"},
        {"date": 20261115},
    ],
)
def test_texts_that_are_not_signed(house: Path, plain: Path, given: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=f"the {next(iter(given))} of a signature"):
        sf.sign(plain, key=house / "mallory.pem", **{"name": "M", **given})
    assert not (plain / FILE).exists()


def test_folders_that_are_no_release(house: Path, tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="not a release"):
        sf.sign(tmp_path, key=house / "mallory.pem", name="M")


# -- keys --------------------------------------------------------------------------------------------------------------


def test_a_new_key_is_its_owners_alone(house: Path) -> None:
    assert stat.S_IMODE((house / "steward.pem").stat().st_mode) == 0o600
    assert b"ENCRYPTED" in (house / "steward.pem").read_bytes()
    assert b"ENCRYPTED" not in (house / "mallory.pem").read_bytes()
    assert len(public_key(house / "steward.pub")) == 32


def test_keys_are_never_replaced(house: Path, tmp_path: Path) -> None:
    before = (house / "steward.pem").read_bytes()
    with pytest.raises(OutputError, match="exists"):
        sf.new_key(house / "steward.pem", passphrase=SECRET)
    assert (house / "steward.pem").read_bytes() == before
    (tmp_path / "a.pub").write_text("")
    with pytest.raises(OutputError, match="exists"):
        sf.new_key(tmp_path / "a.pem", passphrase=SECRET)
    assert not (tmp_path / "a.pem").exists()
    (tmp_path / "b.pem").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="exists"):
        sf.new_key(tmp_path / "b.pem", passphrase=SECRET)
    assert not (tmp_path / "nowhere").exists()


def test_keys_that_are_not_made(house: Path, plain: Path, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="passphrase is empty"):
        sf.new_key(tmp_path / "c.pem", passphrase="")
    with pytest.raises(PolicyError, match=r"\.pub"):
        sf.new_key(tmp_path / "c.pub", passphrase=SECRET)
    with pytest.raises(OutputError, match="must not be published"):
        sf.new_key(plain / "c.pem", passphrase=SECRET)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


@pytest.mark.parametrize("given", ["wrong", "", b"\xff", lambda: "wrong"])
def test_a_wrong_passphrase(house: Path, plain: Path, given: Any) -> None:
    with pytest.raises(PolicyError, match="the passphrase does not open the key") as error:
        sf.sign(plain, key=house / "steward.pem", name="A", passphrase=given)
    assert SECRET not in str(error.value)
    assert not (plain / FILE).exists()


def test_a_passphrase_that_is_not_given(house: Path, plain: Path) -> None:
    with pytest.raises(PolicyError, match="needs its passphrase"):
        sf.sign(plain, key=house / "steward.pem", name="A")
    assert sf.sign(plain, key=house / "mallory.pem", name="M", passphrase="not needed").valid


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(house: Path, plain: Path, tmp_path: Path, mode: int) -> None:
    key = Path(shutil.copy(house / "mallory.pem", tmp_path / "k.pem"))
    key.chmod(mode)
    with pytest.raises(ReadError, match="can be read by others"):
        sf.sign(plain, key=key, name="M")


def test_files_that_are_no_keys(house: Path, plain: Path, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric import ec

    curve = ec.generate_private_key(ec.SECP256R1())
    other = curve.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    for content in (b"", b"\x00" * 50, other, (house / "steward.pub").read_bytes(), b"x" * 100_000):
        (tmp_path / "k.pem").write_bytes(content)
        (tmp_path / "k.pem").chmod(0o600)
        with pytest.raises(ReadError, match=r"no Ed25519 key|no key file"):
            sf.sign(plain, key=tmp_path / "k.pem", name="M")
    public = curve.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
    for content in (b"", b"-----BEGIN PUBLIC KEY-----\n!!\n-----END PUBLIC KEY-----\n", public, other):
        (tmp_path / "k.pub").write_bytes(content)
        with pytest.raises(ReadError, match="no Ed25519 public key"):
            sf.verify(plain, signer=tmp_path / "k.pub")
    with pytest.raises(ReadError, match="no key file"):
        sf.trust(tmp_path / "none.pub")


def test_a_signer_is_asked_of_folders_alone(house: Path) -> None:
    with pytest.raises(PolicyError, match="signer is for a release"):
        sf.verify(TABLE, quasi=["age"], require=sf.KAnonymity(1), signer=house / "steward.pub")


def test_without_cryptography(house: Path, signed: Path, plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The core verifies promises and files; who signed it cannot tell, and says so."""
    for name in [name for name in sys.modules if name.split(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    found = sf.verify(signed)
    assert found.holds
    assert found.signature is not None
    assert (found.signature.valid, found.signature.known) == (None, False)
    assert "not checked" in (found.caveat or "")
    for ask in (
        lambda: sf.verify(signed, signer=house / "steward.pub"),
        lambda: sf.sign(plain, key=house / "mallory.pem", name="M"),
        lambda: sf.new_key(house / "z.pem", passphrase=None),
    ):
        with pytest.raises(MissingExtra, match=r"sfumato\[signing\]"):
            ask()
    (signed / "more").write_text("")
    assert "added since: more" in faults(signed)
