"""Compiled kernels: what was compiled from other sources is forgotten."""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core import event

from sfumato.core import compiled


def test_kernels_compiled_from_other_sources_are_forgotten(tmp_path: Path) -> None:
    sources = compiled._sources()
    assert len(sources) >= 20
    old = [tmp_path / name for name in ("keys.rank-1.py311.nbi", "keys.rank-1.py311.1.nbc")]
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
    absent = tmp_path / "absent"
    compiled._forget_older([tmp_path, absent], sources[1:])
    assert not old[0].exists()
    new = absent / old[0].name
    new.write_bytes(b"new")
    compiled._forget_older([absent], sources[1:])  # a folder that was new then
    assert new.exists()


def test_the_cache_is_found_where_numba_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core.caching import _CacheLocator

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert not compiled.compiled()
    file = compiled.ROOT / "core" / "keys.py"
    place = tmp_path / _CacheLocator.get_suitable_cache_subpath(str(file))
    place.mkdir()
    (place / "keys.rank-1.nbi").write_bytes(b"x")
    assert compiled.compiled()


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_looked_for_before_and_after_a_kernel_is_compiled(enabled: bool) -> None:
    seen = []

    class Look(event.Listener):
        def on_start(self, found: object) -> None:
            seen.append(gc.isenabled())

        def on_end(self, found: object) -> None:
            pass

    def one(x: int) -> int:
        return x + 1

    def wrong(x: int) -> int:
        return x.nothing  # type: ignore[attr-defined]

    try:
        if not enabled:
            gc.disable()
        with event.install_listener("numba:compile", Look()):
            assert numba.njit(one)(1) == 2
            with pytest.raises(numba.TypingError):
                numba.njit(wrong)(1)
        assert seen == [False, False]
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def _decorated(tree: ast.Module, *names: str) -> list[ast.FunctionDef]:
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return [f for f in functions if any(isinstance(d, ast.Name) and d.id in names for d in f.decorator_list)]


@pytest.mark.slow
def test_inner_kernels_are_called_by_kernels_only() -> None:
    """From Python they would crash."""
    trees = {path: ast.parse(path.read_bytes()) for path in compiled._sources()}
    inner = {
        ".".join(("sfumato", *path.relative_to(compiled.ROOT).with_suffix("").parts)): {
            f.name for f in _decorated(tree, "inner")
        }
        for path, tree in trees.items()
    }
    assert "side" in inner["sfumato.search.clustering.kernels"]
    words = [module.rsplit(".", 1)[1].encode() + b" import" for module, names in inner.items() if names]
    for path in (*compiled.ROOT.rglob("*.py"), *Path(__file__).parents[1].rglob("*.py")):
        if any(word in path.read_bytes() for word in words):
            trees[path] = ast.parse(path.read_bytes())
    for path, tree in trees.items():
        known = {f.name for f in _decorated(tree, "inner")}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                known |= {alias.name for alias in node.names} & inner.get(node.module or "", set())
        within = {id(node) for f in _decorated(tree, "kernel", "inner", "inlined") for node in ast.walk(f)}
        outside = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in within)
        used = {node.id for node in outside}
        assert not used & known, path


@pytest.mark.slow
def test_the_demo_compiles_few_kernels_and_each_once(tmp_path: Path) -> None:
    """A signature more is a kernel that got an array of another type, layout or writability than before."""
    cache, start = tmp_path / "cache", [sys.executable, "-c", "from sfumato.cli import main; main()", "demo"]
    found = []
    for name in ("first", "second"):
        command = [*start, "-o", str(tmp_path / name)]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "NUMBA_CACHE_DIR": str(cache)})
        found.append({file: file.stat().st_mtime_ns for file in cache.rglob("*.nbc")})
    assert len(found[0]) == 15
    assert found[1] == found[0]
