from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from sfumato.engines import atomic
from sfumato.engines.atomic import PREFIX, atomic_file, atomic_folder, check_target
from sfumato.errors import OutputError, SfumatoError

MANIFEST = json.dumps({"sfumato": "0.1.0", "data": {"file": "data.csv"}})


def release(folder, data="1"):
    (folder / "manifest.json").write_text(MANIFEST)
    (folder / "data.csv").write_text(data)
    (folder / "report.html").write_text("x")


def release_then(folder, error):
    release(folder, "new")
    raise error


def half_then(path, error):
    path.write_text("half")
    raise error


def test_a_folder_appears_at_the_end_and_nothing_else(tmp_path):
    target = tmp_path / "deep" / "er" / "out"
    with atomic_folder(target) as folder:
        assert folder.parent.parent == target.parent
        assert folder.parent.name.startswith(PREFIX)
        assert folder.parent.stat().st_mode & 0o077 == 0 or os.name == "nt"
        release(folder)
        assert not target.exists()
    assert sorted(path.name for path in target.iterdir()) == ["data.csv", "manifest.json", "report.html"]
    assert [path.name for path in target.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_nothing_not_even_parents(tmp_path, error):
    with pytest.raises(error), atomic_folder(tmp_path / "deep" / "out") as folder:
        release_then(folder, error)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_earlier_release(tmp_path):
    with atomic_folder(tmp_path / "out") as folder:
        release(folder, "old")
    with pytest.raises(ValueError), atomic_folder(tmp_path / "out", overwrite=True) as folder:
        release_then(folder, ValueError)
    assert (tmp_path / "out" / "data.csv").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_release_is_replaced_only_when_asked(tmp_path):
    with atomic_folder(tmp_path / "out") as folder:
        release(folder, "old")
    with pytest.raises(OutputError, match="exists"), atomic_folder(tmp_path / "out"):
        pytest.fail("the block must not run")
    with atomic_folder(tmp_path / "out", overwrite=True) as folder:
        (folder / "manifest.json").write_text("{}")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["manifest.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_foreign_files_are_never_deleted(tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    check_target(target, overwrite=True)  # empty
    (target / "thesis.txt").write_text("x")
    with pytest.raises(OutputError, match="not a release"):
        check_target(target, overwrite=True)
    (target / "manifest.json").write_text(MANIFEST)
    with pytest.raises(OutputError, match=r"thesis\.txt"):
        check_target(target, overwrite=True)
    (target / "thesis.txt").unlink()
    (target / "sub").mkdir()
    with pytest.raises(OutputError, match="sub"):
        check_target(target, overwrite=True)
    (target / "sub").rmdir()
    (target / "data.csv").write_text("1")
    check_target(target, overwrite=True)
    (target / "manifest.json").write_text("not json")  # then the data is not known to be ours
    with pytest.raises(OutputError, match=r"data\.csv"):
        check_target(target, overwrite=True)


def test_a_file_that_arrives_during_the_run_is_kept(tmp_path):
    target = tmp_path / "out"
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "thesis.txt").write_text("x")
    with pytest.raises(OutputError), atomic_folder(target):
        (tmp_path / "new").rename(target)
    assert (target / "thesis.txt").read_text() == "x"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_targets_that_are_no_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="not a folder"):
        check_target(tmp_path / "file", overwrite=True)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(OutputError, match="link"):
        check_target(tmp_path / "link", overwrite=True)
    with pytest.raises(OutputError, match="cannot be written"), atomic_folder(tmp_path / "file" / "out"):
        pytest.fail("the block must not run")


def test_an_error_of_the_system_inside_the_block_is_an_output_error(tmp_path):
    with pytest.raises(OutputError, match="No space left"), atomic_folder(tmp_path / "out"):
        raise OSError(28, "No space left on device")
    with pytest.raises(SfumatoError, match="mine"), atomic_folder(tmp_path / "out"):
        raise SfumatoError("mine")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_permissions_follow_the_umask(tmp_path):
    with atomic_folder(tmp_path / "out") as folder:
        release(folder)
    (tmp_path / "plain").mkdir()
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode


KILLED = """
import sys, time
from sfumato.engines.atomic import atomic_folder
with atomic_folder(sys.argv[1]) as folder:
    (folder / "manifest.json").write_text("{}")
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_killed_run_leaves_no_release_and_does_no_harm(tmp_path):
    target = tmp_path / "out"
    run = subprocess.Popen([sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()
    assert not target.exists()
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(PREFIX)
    assert left.stat().st_mode & 0o077 == 0
    with atomic_file(tmp_path / "other.txt") as file:
        file.write_text("x")
    assert [path.name for path in tmp_path.iterdir()] == ["other.txt"]


def test_a_run_leaves_what_another_is_writing_alone(tmp_path):
    with atomic_folder(tmp_path / "out") as folder:
        release(folder, "slow")
        with atomic_folder(tmp_path / "other") as second:
            release(second)
        check_target(tmp_path / "out")
    assert (tmp_path / "out" / "data.csv").read_text() == "slow"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out"]


# Overwrites a release again and again, each time in a process that is killed a moment later than the one before:
# the numbers of moments that were survived, and then what a whole run leaves.
KILLED_LATER = """
import json, os, signal, sys
from pathlib import Path
from sfumato.engines import atomic

target, exchange = Path(sys.argv[1]), sys.argv[2] == "exchange"
if not exchange:
    atomic._exchange = lambda one, other: False
MANIFEST = json.dumps({"sfumato": "0.1.0", "data": {"file": "data.csv"}})

def write(data):
    with atomic.atomic_folder(target, overwrite=True) as folder:
        for name, text in (("manifest.json", MANIFEST), ("data.csv", data), ("report.html", data)):
            (folder / name).write_text(text)

def dies(moment):
    left = [moment]
    def hook(event, arguments):
        if event.partition(".")[0] in ("os", "shutil", "ctypes", "fcntl"):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)

write("old")
for moment in range(1000):
    child = os.fork()
    if not child:
        dies(moment)
        write("new")
        os._exit(0)
    killed = os.waitpid(child, 0)[1] != 0
    absent = not target.exists()
    if absent:
        assert not exchange, moment
        atomic.check_target(target, overwrite=True)  # the next run puts it back
    found = {path.name: path.read_text() for path in target.iterdir()}
    assert found.pop("manifest.json") == MANIFEST, moment
    assert found in [{"data.csv": d, "report.html": d} for d in ("old", "new")], (moment, found)
    print(moment, found["data.csv"], absent, flush=True)
    write("old")
    assert [path.name for path in target.parent.iterdir()] == [target.name], moment
    if not killed:
        break
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("way", ["exchange", "aside"])
def test_killed_at_any_moment_of_overwriting(tmp_path, way):
    code = [sys.executable, "-W", "ignore", "-c", KILLED_LATER, str(tmp_path / "in" / "out"), way]
    done = subprocess.run(code, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr + done.stdout
    moments = [line.split() for line in done.stdout.splitlines()]
    found = [data for _, data, _ in moments]
    assert set(found) == {"old", "new"}
    assert found == sorted(found, reverse=True)  # old until one moment, new from then on
    assert any(absent == "True" for *_, absent in moments) == (way == "aside")


@pytest.mark.slow
def test_a_reader_always_finds_a_release(tmp_path):
    target = tmp_path / "out"
    with atomic_folder(target) as folder:
        release(folder, "0")
    if not _can_exchange(tmp_path):
        pytest.skip("this file system cannot exchange folders")
    stop, absent = threading.Event(), []

    def look():
        while not stop.is_set():
            try:
                os.stat(target / "data.csv")
            except FileNotFoundError:
                absent.append(1)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for i in range(60):
            with atomic_folder(target, overwrite=True) as folder:
                release(folder, str(i))
    finally:
        stop.set()
        reader.join()
    assert not absent


def _can_exchange(folder):
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    done = atomic._exchange(folder / "a", folder / "b")
    (folder / "a").rmdir()
    (folder / "b").rmdir()
    return done


def test_what_cannot_be_put_in_place_puts_the_old_one_back(tmp_path, monkeypatch):
    with atomic_folder(tmp_path / "out") as folder:
        release(folder, "old")
    monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    rename = os.rename

    def fail(source, target):
        if target == tmp_path / "out" and source.name == "new":
            raise OSError(5, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(OutputError, match="Input/output"), atomic_folder(tmp_path / "out", overwrite=True) as folder:
        release(folder, "new")
    assert (tmp_path / "out" / "data.csv").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "deep" / "policy.toml"
    with pytest.raises(ValueError), atomic_file(target) as path:
        half_then(path, ValueError)
    assert list(tmp_path.iterdir()) == []
    with atomic_file(target) as path:
        assert path.suffix == ".toml"
        path.write_text("whole")
    assert target.read_text() == "whole"
    with pytest.raises(OutputError, match="exists"), atomic_file(target):
        pytest.fail("the block must not run")
    with atomic_file(target, overwrite=True) as path:
        path.write_text("new")
    assert target.read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["policy.toml"]
    with pytest.raises(OutputError, match="folder"), atomic_file(tmp_path, overwrite=True):
        pytest.fail("the block must not run")
