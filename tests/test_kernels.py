"""Compiled kernels: what was compiled from other sources is forgotten."""

from __future__ import annotations

from pathlib import Path

from sfumato.core import compiled as kernels


def test_kernels_compiled_from_other_sources_are_forgotten(tmp_path: Path) -> None:
    old = [tmp_path / name for name in ("group.merge-1.py311.nbi", "group.merge-1.py311.1.nbc")]
    for file in old:
        file.write_bytes(b"old")
    other = tmp_path / "other.txt"
    other.write_text("kept")
    kernels._forget_older([tmp_path])
    assert not any(file.exists() for file in old)
    assert other.exists()
    old[0].write_bytes(b"new")
    kernels._forget_older([tmp_path])  # the sources are the same
    assert old[0].exists()
    (tmp_path / "kernels.sources").write_text("group.py 1 1")
    kernels._forget_older([tmp_path, tmp_path / "absent"])
    assert not old[0].exists()


def test_the_cache_is_found_where_numba_keeps_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert not kernels.compiled()
    (tmp_path / "kernels_abc").mkdir()
    (tmp_path / "kernels_abc" / "group.merge-1.nbi").write_bytes(b"x")
    assert kernels.compiled()
