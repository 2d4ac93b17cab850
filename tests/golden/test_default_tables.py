"""The default release of ten tables, as somebody who only takes suggestions gets it: its labels, reviewed and kept.

`SFUMATO_KEEP=1 pytest tests/golden/test_default_tables.py` writes what is kept anew: look at every line that changed.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.verbs.inspect import inspect
from tests.golden.messy import FILES

KEPT = Path(__file__).parent / "tables"
OTHERS = {
    "adult": "arx/adult.csv",
    "bank-marketing": "bank/bank.csv",
    "household": "sdc/testdata.csv",
    "companies": "sdc/Tarragona.csv",
}
SHOWN = 8  # labels of a column that are kept


def source(name: str, shared: Path, folder: Path) -> Path:
    if name in OTHERS:
        return shared / "data" / OTHERS[name]
    file = folder / f"{name}.csv"
    file.write_text(FILES[name](), encoding="utf-8")
    return file


def told(release: sf.Release, table: pl.DataFrame, notes: list[str]) -> str:
    """What the release is like: how the file was read, and of each column how many labels it has, and the commonest."""
    lines = [*notes, f"{release.table.height} of {table.height} rows, {release!r}".split(", loss")[0]]
    for name in release.policy.columns:
        counts = release.table.get_column(name).cast(pl.String).value_counts(name="n").sort("n", name, descending=True)
        lines.append(f"{name}: {table.get_column(name).n_unique()} values, {counts.height} labels")
        lines += [f"    {'(missing)' if label is None else label}  {n}" for label, n in counts.head(SHOWN).iter_rows()]
    return "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FILES, *OTHERS])
def test_the_table_that_comes_of_suggestions(name: str, shared: Path, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = sf.read(source(name, shared, tmp_path))
        found = inspect(table)
    notes = [str(one.message) for one in caught if isinstance(one.message, sf.ReadWarning)]
    roles = found.roles
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = sf.anonymize(
            table, quasi=roles.quasi, identifying=roles.identifying, sensitive=roles.sensitive,
            unprotected=roles.sensitive, weight=roles.weight, rest="release", k=5,
            hierarchies={c.name: c.hierarchy for c in found.columns if c.hierarchy},
        )  # fmt: skip
    assert release.verification.holds
    for column in release.policy.columns:
        ordered = release.microdata.attribute(column).categories.ordered
        values, labels = table[column].n_unique(), set(release.table[column].cast(pl.String))
        assert not ordered or len(labels - {"*"} if values <= 12 else labels) <= values
    kept, now = KEPT / f"{name}.txt", told(release, table, notes)
    if os.environ.get("SFUMATO_KEEP"):
        kept.write_text(now, encoding="utf-8")
    assert kept.read_text("utf-8") == now
    place = release.save(tmp_path / "out", format="csv")
    back = pd.read_csv(place / "data.csv", dtype=str, keep_default_na=False)
    assert back.shape == release.table.shape
    assert list(back.columns) == release.table.columns
