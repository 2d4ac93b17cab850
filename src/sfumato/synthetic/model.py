"""A fitted model as a value: it draws rows, and is kept in a file that its owner alone may read, never in a release.

The file is a zip of arrays (npy), columns (Arrow) and a JSON text that says how they make up the model: nothing in it
is run when it is read.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.generators import SyntheticModel
from sfumato.core.parameters import path_of
from sfumato.errors import OutputError, ReadError

FORMAT = "sfumato model 1"
SAID = "model.json"


class FittedModel(SyntheticModel):
    """A frozen dataclass of numbers, texts, arrays, columns and other such dataclasses."""

    parts: ClassVar[tuple[type, ...]] = ()  # dataclasses that its fields hold; none of them prints what it holds

    @abstractmethod
    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """New rows, with the columns and types of the table."""

    def save(self, path: str | Path) -> Path:
        """Write it into a new file of mode 0600: it is made of people's data."""
        target = path_of(path)
        kept = io.BytesIO()
        with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
            said = {"format": FORMAT, "model": _written(self, archive)}
            archive.writestr(SAID, json.dumps(said))
        try:
            place = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise OutputError(f"{target} exists already", hint="name another file") from None
        except OSError as error:
            raise OutputError(f"{target} cannot be written: {error.strerror}") from None
        with os.fdopen(place, "wb") as file:
            file.write(kept.getvalue())
        return target


def load_model(path: str | Path) -> Any:
    """A model that `save` wrote."""
    source = path_of(path)
    try:
        with zipfile.ZipFile(source) as archive:
            said = json.loads(archive.read(SAID))
            if not isinstance(said, Mapping) or said.get("format") != FORMAT:
                raise KeyError("format")
            found = _read(said["model"], archive, _classes())
            if not isinstance(found, FittedModel):
                raise TypeError("model")
            return found
    except OSError as error:
        raise ReadError(f"{source} cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, LookupError, ValueError, TypeError, AttributeError, pl.exceptions.PolarsError):
        raise ReadError(f"{source} is no model of Sfumato") from None


def _classes() -> dict[str, type]:
    """The classes that a file may name."""
    from sfumato.synthetic import GENERATORS

    assert GENERATORS  # importing them makes their models known
    found: dict[str, type] = {}
    todo = list(FittedModel.__subclasses__())
    while todo:
        one = todo.pop()
        found[one.__name__] = one
        todo += [*one.__subclasses__(), *getattr(one, "parts", ())]
    return found


def _written(value: Any, archive: zipfile.ZipFile) -> Any:
    """A value as JSON, its arrays and columns as entries of the archive."""
    if value is None or isinstance(value, bool | str | int | float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_written(one, archive) for one in value]
    name = f"{len(archive.namelist())}"
    if isinstance(value, np.ndarray):
        kept = io.BytesIO()
        np.save(kept, value, allow_pickle=False)
        archive.writestr(f"{name}.npy", kept.getvalue())
        return {"array": f"{name}.npy"}
    if isinstance(value, pl.Series | pl.DataFrame):
        kept = io.BytesIO()
        (value.to_frame() if isinstance(value, pl.Series) else value).write_ipc(kept)
        archive.writestr(f"{name}.arrow", kept.getvalue())
        return {"series" if isinstance(value, pl.Series) else "table": f"{name}.arrow"}
    if isinstance(value, Mapping):
        return {"pairs": [[_written(key, archive), _written(one, archive)] for key, one in value.items()]}
    if is_dataclass(value):
        own = {field.name: _written(getattr(value, field.name), archive) for field in fields(value)}
        return {"class": type(value).__name__, "fields": own}
    raise TypeError(f"a model holds a {type(value).__name__}")


def _read(said: Any, archive: zipfile.ZipFile, classes: Mapping[str, type]) -> Any:
    if isinstance(said, list):
        return tuple(_read(one, archive, classes) for one in said)
    if not isinstance(said, Mapping):
        return said
    if "array" in said:
        return np.load(io.BytesIO(archive.read(said["array"])), allow_pickle=False)
    if "series" in said:
        return pl.read_ipc(io.BytesIO(archive.read(said["series"]))).to_series()
    if "table" in said:
        return pl.read_ipc(io.BytesIO(archive.read(said["table"])))
    if "pairs" in said:
        return {_read(key, archive, classes): _read(one, archive, classes) for key, one in said["pairs"]}
    return classes[said["class"]](**{name: _read(one, archive, classes) for name, one in said["fields"].items()})
