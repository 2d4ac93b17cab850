"""A model is a value that is kept in a private file, and read without running anything in it."""

from __future__ import annotations

import io
import json
import stat
import zipfile

import numpy as np
import polars as pl
import pytest

from sfumato.errors import OutputError, ReadError
from sfumato.synthetic import GENERATORS, load_model
from sfumato.synthetic.generator import FitContext

TABLE = pl.DataFrame({"age": [31, 42, None, 57] * 30, "town": ["Oslo", "Bern", "Oslo", None] * 30})


def test_a_model_is_kept_in_a_private_file(tmp_path):
    model = GENERATORS["bootstrap"].example.fit(TABLE, FitContext(np.random.default_rng(1)))
    path = model.save(tmp_path / "model.bin")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_model(path).table.equals(TABLE)
    with pytest.raises(OutputError, match="exists"):
        model.save(path)


def archive(model: object) -> bytes:
    """A file that says what its model is."""
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as made:
        made.writestr("model.json", json.dumps({"format": "sfumato model 1", "model": model}))
    return kept.getvalue()


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"{}", archive(5), archive({"class": "BootstrapModel", "fields": []}), archive({})]
)
def test_another_file_is_no_model(content, tmp_path):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ReadError, match="no model"):
        load_model(tmp_path / "x")
