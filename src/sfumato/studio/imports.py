"""Imports: projects made from a policy file, or from the folder of another project."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import tomllib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sfumato.errors import OutputError, PolicyError, ReadError
from sfumato.policyfile.paths import absolute
from sfumato.studio.project import NAME, POLICY, STATE, Project, create, opened

LARGEST_POLICY = 1 << 20  # bytes
PLACED = (
    "path",
    "overwrite",
    "table",
    "internal_report",
)  # of [output]: where the release goes, a project knows itself


def free_name(root: Path, wanted: str) -> str:
    """A name for a project like the wanted one that is not taken yet."""
    base = re.sub(r"[^\w .()-]", "", wanted).strip(" .").lstrip("_-(")[:70].strip(" .") or "project"
    base = base if NAME.fullmatch(base) else "project"
    taken = {path.name.casefold() for path in root.iterdir()} if root.is_dir() else set()
    return next(one for one in (base, *(f"{base} {i}" for i in range(2, 10_000))) if one.casefold() not in taken)


def parsed_policy(text: str) -> dict[str, Any]:
    """The tables of a policy file, without where its release went."""
    try:
        tables = tomllib.loads(text)
        json.dumps(tables)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at [^)]*\)", str(error))
        raise PolicyError(f"this is no policy file: not TOML {where[0] if where else ''}".rstrip()) from None
    except (TypeError, ValueError, RecursionError):
        raise PolicyError("this is no policy file: it holds values that a policy does not have") from None
    if not all(isinstance(table, dict | list) for table in tables.values()):
        raise PolicyError("this is no policy file: every key stands in a table, such as [input] or [roles]")
    output = tables.get("output")
    if isinstance(output, dict):
        tables["output"] = {key: value for key, value in output.items() if key not in PLACED}
    return {name: table for name, table in tables.items() if table}


def import_policy(root: Path, name: str, tables: Mapping[str, Any], folder: Path | None = None) -> Project:
    """A project with that policy; its relative paths start at `folder`."""
    return create(root, free_name(root, name), tables if folder is None else absolute(tables, folder))


def import_path(root: Path, path: Path) -> Project:
    """A project of a policy file, or of the folder of another project, which is copied."""
    if path.is_dir():
        return _copied(root, path)
    try:
        if path.stat().st_size > LARGEST_POLICY:
            raise ReadError(f"{path} is too large for a policy file")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ReadError(f"{path} is no policy file: it is not UTF-8 text") from None
    name = path.parent.resolve().name if path.name == POLICY else path.stem
    return import_policy(root, name, parsed_policy(text), path.parent)


def _copied(root: Path, folder: Path) -> Project:
    """A copy of a project; its state by the database itself, since somebody may have it open."""
    Project(folder)  # or why it is none
    target = root / free_name(root, folder.resolve().name)
    part = root / f".{os.urandom(8).hex()}.part"
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        skipped = shutil.ignore_patterns(f"{STATE}*", "*.part")
        shutil.copytree(folder, part, symlinks=True, ignore=skipped)
        for path in part.rglob("*"):
            if path.is_symlink():
                path.unlink()  # it may lead anywhere
        part.chmod(0o700)
        os.close(os.open(part / STATE, os.O_CREAT | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(folder / STATE)) as there, closing(sqlite3.connect(part / STATE)) as here:
            there.backup(here)
        part.rename(target)
    except (OSError, shutil.Error, sqlite3.Error) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise OutputError(f"{folder} cannot be copied: {getattr(error, 'strerror', None) or 'a file of it'}") from None
    return opened(target)
