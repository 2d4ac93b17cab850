"""The tables of a policy as TOML, with comments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sfumato.errors import PolicyError


def dump(tables: Mapping[str, Any], comments: Mapping[tuple[str, ...], str] | None = None) -> str:
    """The tables of a policy as TOML; a comment stands above the table or key it is given for.

    >>> print(dump({"roles": {"quasi": ["age"]}}, {("roles", "quasi"): "known to others"}))
    [roles]
    # known to others
    quasi = ["age"]
    <BLANKLINE>
    """
    comments, blocks = comments or {}, []
    for name, table in tables.items():
        for i, entries in enumerate(table if isinstance(table, list) else [table]):
            head = f"[[{name}]]" if isinstance(table, list) else f"[{name}]"
            lines = [*(_comment(comments.get((name,))) if i == 0 else []), head]
            for key, value in entries.items():
                lines += [*_comment(comments.get((name, key))), f"{_key(key)} = {_toml(value)}"]
            blocks.append("\n".join(lines) + "\n")
    text = "\n".join(blocks)
    if re.search("[\ud800-\udfff]", text):
        hint = "rename the file or folder that has a byte in its name that is no UTF-8"
        raise PolicyError("a policy file cannot hold a name or path that is not valid Unicode", hint=hint)
    return text


def _comment(text: str | None) -> list[str]:
    """The lines of a comment, without the control characters that TOML does not allow there."""
    return [re.sub(r"[^\t -~\x80-\U0010ffff]", "?", f"# {line}").rstrip() for line in (text or "").splitlines()]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)


def _toml(value: Any) -> str:
    """A value in TOML; strings escape as in JSON, save DEL, which TOML does not allow plain."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return {True: "true", False: "false"}.get(value, repr(value)) if isinstance(value, bool) else repr(value)
