"""Every masker through the conformance suite; and the suite finds those that do not keep their contract."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.masked import Change, Context, Fact, MaskStep
from sfumato.masking import MASKERS
from sfumato.pseudonyms import PSEUDONYMS
from sfumato.testing import check_masker, parametrize_with_checks, registered
from sfumato.testing.maskers import check_masker_values, hold_to_facts

REPEATED = [name for name in sorted(MASKERS) if not MASKERS[name].example.private]


@parametrize_with_checks(*(MASKERS[name].example for name in sorted(MASKERS)), kind="maskers")
def test_maskers(check: Any) -> None:
    check()


@pytest.mark.parametrize("name", [name for name in REPEATED if name != "massc"])
def test_all_but_one_work_without_weights(name: str) -> None:
    hold_to_facts(MASKERS[name].example, None)


@pytest.mark.parametrize("name", sorted(PSEUDONYMS))
def test_parameters_of_pseudonyms_that_make_no_sense_are_refused(name: str) -> None:
    check_masker_values(PSEUDONYMS[name].example)


def test_each_is_described_on_a_page_of_its_family() -> None:
    docs = Path(__file__).parents[2] / "docs"
    pages = [page for page in (docs / "masking").glob("*.md") if page.name != "index.md"]
    text = "".join(page.read_text("utf-8") for page in (*pages, docs / "pseudonyms.md"))
    steps = {**MASKERS, **PSEUDONYMS}
    assert [n for n in steps if f"`{n}" not in text and f"{type(steps[n].example).__name__}`" not in text
            and f"sf.{type(steps[n].example).__name__}(" not in text] == []  # fmt: skip


@dataclass(frozen=True)
class Shifted(MaskStep):
    """Numbers plus one."""

    kinds = ("number",)
    leaves = "Whoever takes one off has them."

    def sentence(self) -> str:
        return "numbers become one more"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        return Change(columns.select(pl.all() + 1))


@dataclass(frozen=True)
class Restless(Shifted):
    """Numbers plus what nobody can draw again."""

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        return Change(columns.select(pl.all() + np.random.default_rng().uniform()))


@dataclass(frozen=True)
class Boastful(Shifted):
    """Numbers plus one, of which it says that they are small."""

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        fact = Fact("between", tuple(columns.columns), {"high": 5})
        return Change(columns.select(pl.all() + 1), facts=(fact,))


@dataclass(frozen=True)
class Filling(Shifted):
    """Numbers, zero where there were none."""

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        return Change(columns.select(pl.all().fill_null(0)))


@dataclass(frozen=True)
class Mute(Shifted):
    """Numbers plus one, and no word about it."""

    leaves = ""


def test_a_masker_of_ones_own_passes() -> None:
    with registered(Shifted, Shifted()):
        check_masker(Shifted())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Restless, "the same key gives another table"),
        (Boastful, "5"),
        (Filling, "tax: missing elsewhere"),
        (Mute, "what it leaves open"),
    ],
)
def test_the_suite_finds_what_does_not_keep_its_contract(make: Any, words: str) -> None:
    with registered(make, make()), pytest.raises(AssertionError, match=words):
        check_masker(make())


def test_what_is_no_masker_is_told_what_it_lacks() -> None:
    with pytest.raises(AssertionError, match="LM as a masker lacks kinds"):
        check_masker(sf.LM())
