"""Folder: the map of a comparison, written in every form. Each file appears whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.comparing.chart import chart
from sfumato.comparing.page import page
from sfumato.comparing.picture import png
from sfumato.comparing.scene import svg
from sfumato.engines.atomic import atomic_file


def write_maps(folder: Path, document: Mapping[str, Any]) -> None:
    """map.json, map.svg, map.html and, last, map.png: MissingExtra where only that cannot be drawn."""
    scene = chart(document)
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    for name, content in (("map.json", text), ("map.svg", str(svg(scene, "map"))), ("map.html", page(document))):
        _write(folder / name, (content.rstrip("\n") + "\n").encode("utf-8"))
    _write(folder / "map.png", png(scene))


def _write(target: Path, content: bytes) -> None:
    with atomic_file(target, overwrite=True) as place:
        place.write_bytes(content)
