"""Reversing and renewing: what leads back does, what does not is refused, old generations stay."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, PolicyError
from tests.pseudonyms.conftest import Apply

TABLE = pl.DataFrame({"ssn": ["078-05-1120", "219-09-9999", None], "age": [31, 42, 58]})


def test_format_preserving_pseudonyms_are_renewed(apply: Apply, key: Path) -> None:
    step = sf.FormatPreserving("ssn", key=key, keep="-")
    old = TABLE.with_columns(apply(step, TABLE).columns)
    assert sf.pseudonyms.reverse(old, step).equals(TABLE)
    with pytest.raises(PolicyError, match="one generation only"):
        sf.pseudonyms.renew(old, step)
    assert sf.pseudonyms.rotate(key) == {"key": 2}
    new = sf.pseudonyms.renew(old, step)
    assert new.equals(TABLE.with_columns(apply(step, TABLE).columns))
    assert not set(new["ssn"].drop_nulls()) & set(old["ssn"].drop_nulls())
    assert sf.pseudonyms.rotate(key) == {"key": 3}
    assert sf.pseudonyms.renew(old, step, since=1).equals(sf.pseudonyms.renew(new, step))
    assert sf.pseudonyms.reverse(old, sf.FormatPreserving("ssn", key=key, keep="-", generation=1)).equals(TABLE)


def test_tokens_of_a_vault_are_renewed(apply: Apply, tmp_path: Path) -> None:
    step = sf.RandomTokens("ssn", vault=tmp_path / "study.vault")
    old = TABLE.with_columns(apply(step, TABLE).columns)
    assert sf.pseudonyms.rotate(tmp_path / "study.vault") == {"ssn": 2}
    new = sf.pseudonyms.renew(old, step)
    assert new["ssn"].null_count() == 1
    assert not set(new["ssn"].drop_nulls()) & set(old["ssn"].drop_nulls())
    for table in (old, new):
        assert sf.pseudonyms.reverse(table.to_dict(as_series=False), step) == TABLE.to_dict(as_series=False)
    with pytest.raises(PolicyError, match="tokens that the vault does not know"):
        sf.pseudonyms.renew(TABLE, step)


def test_what_leads_nowhere_back_is_refused(key: Path) -> None:
    for step in (sf.KeyedTokens("ssn", key=key), sf.Substitution("ssn", key=key), sf.DateShift("ssn", person="age")):
        for verb in (sf.pseudonyms.reverse, sf.pseudonyms.renew):
            with pytest.raises(PolicyError, match=rf"{step.name} leads nowhere back.*mask it again"):
                verb(TABLE, step)
    with pytest.raises(PolicyError, match="no generations"):
        sf.pseudonyms.renew(TABLE, sf.FormatPreserving("ssn"))
    with pytest.raises(ColumnError, match='no column "nss"'):
        sf.pseudonyms.reverse(TABLE, sf.FormatPreserving("nss", key=key))
