"""Compiled kernels: what was compiled from other sources is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.core import compiled


def test_kernels_compiled_from_other_sources_are_forgotten(tmp_path: Path) -> None:
    sources = compiled._sources()
    assert len(sources) >= 20
    old = [tmp_path / name for name in ("cells.merge-1.py311.nbi", "cells.merge-1.py311.1.nbc")]
    for file in old:
        file.write_bytes(b"old")
    other = tmp_path / "other.txt"
    other.write_text("kept")
    compiled._forget_older([tmp_path], sources)
    assert not any(file.exists() for file in old)
    assert other.exists()
    old[0].write_bytes(b"new")
    compiled._forget_older([tmp_path], sources)  # the sources are the same
    assert old[0].exists()
    compiled._forget_older([tmp_path, tmp_path / "absent"], sources[1:])
    assert not old[0].exists()


def test_the_cache_is_found_where_numba_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core.caching import _CacheLocator

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert not compiled.compiled()
    file = compiled.ROOT / "core" / "cells.py"
    place = tmp_path / _CacheLocator.get_suitable_cache_subpath(str(file))
    place.mkdir()
    (place / "cells.merge-1.nbi").write_bytes(b"x")
    assert compiled.compiled()
