"""For the reference: parameters that a docstring lists as `name: text`, as numpydoc has them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from griffe import Class, Extension, Function, Object

SECTION = re.compile(r"(?P<head>Parameters\n-+\n)(?P<body>.*?)(?=\n\n|\Z)", re.DOTALL)


def as_numpydoc(text: str, names: Iterable[str]) -> str:
    """The docstring with each of the named parameters on a line of its own.

    >>> print(as_numpydoc("Parameters\\n----------\\nk: how many\\n    rows. l: values.", ["k", "l"]))
    Parameters
    ----------
    k
        how many rows.
    l
        values.
    """
    name = "|".join(map(re.escape, names))
    start = re.compile(rf"(?:(?<=^)|(?<=\. ))((?:{name})(?:, (?:{name}))*): ")

    def section(found: re.Match[str]) -> str:
        before, *parts = start.split(" ".join(found["body"].split()))
        if before or not name:  # numpydoc already
            return found[0]
        entries = zip(parts[::2], parts[1::2], strict=True)
        return found["head"] + "\n".join(f"{names}\n    {told.strip()}" for names, told in entries)

    text = SECTION.sub(section, text)
    if "Examples\n---" not in text:
        text = re.sub(r"^>>> ", "Examples\n--------\n>>> ", text, count=1, flags=re.MULTILINE)
    return re.sub(r"\](?=\[)", r"]\\", text)  # x[i][j] is no link


class InlineParameters(Extension):
    """Rewrites docstrings as they are read; the code stays as it is."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Every function, and every class by its fields or the parameters of `__init__`."""
        if obj.docstring is not None and isinstance(obj, Function | Class):
            of_init = obj.members.get("__init__") if isinstance(obj, Class) else None
            called = of_init if isinstance(of_init, Function) else obj
            names = [one.name for one in called.parameters] if isinstance(called, Function) else list(obj.members)
            obj.docstring.value = as_numpydoc(obj.docstring.value, names)
