"""Every parameter of every variant is declared, has help, and is held to what it declares."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.forms import fill, make_variant, parameters_of, read_text
from sfumato.core.masked import MaskStep
from sfumato.core.parameters import OneOf, Whole
from sfumato.core.registry import Variant
from sfumato.criteria.sets import SET_PROMISES
from sfumato.errors import PolicyError, SfumatoError
from sfumato.measures.attacks import ATTACKS
from sfumato.measures.risk import RISKS
from sfumato.measures.utility import UTILITIES
from sfumato.testing import check_variant_parameters
from sfumato.testing.parameters import declaration_faults, refused_values

TABLES = (sf.CRITERIA, sf.LOSSES, sf.SEARCHES, sf.HIERARCHIES, sf.MASKERS, sf.PSEUDONYMS, sf.GENERATORS, sf.dp.QUERIES,
          sf.BASKET_SEARCHES, sf.MINERS, SET_PROMISES)  # fmt: skip
VARIANTS = {f"{table.kind}-{name}": table[name] for table in TABLES for name in table}


@pytest.mark.parametrize("name", list(VARIANTS))
def test_parameters_are_as_they_declare(name: str) -> None:
    check_variant_parameters(VARIANTS[name])


@dataclass(frozen=True)
class Unchecked:
    """A step.

    k: how many.
    """

    k: Annotated[int, Whole(2)] = 5


@dataclass(frozen=True)
class Stricter(Unchecked):
    """A step that refuses what it declares."""

    def __post_init__(self) -> None:
        if self.k < 3:
            raise PolicyError("k is out of range")


@dataclass(frozen=True)
class Undocumented(Unchecked):
    """A step."""

    rounds: int = 5


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (Unchecked, "unchecked takes k=1"),
        (Stricter, "stricter declares k=2, and refuses it"),
        (Undocumented, "rounds: the docstring does not say what it is; rounds: it has no range"),
    ],
)
def test_a_variant_that_declares_what_is_not_so_is_found(make: Any, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        check_variant_parameters(Variant(make, make()))


def test_all_faults_of_values_are_told_at_once_each_with_its_parameter() -> None:
    made, faults = fill("t-closeness", sf.CRITERIA["t-closeness"], {"t": -1, "distance": "ordinal", "tt": 3})
    assert made is None
    assert [parameter for parameter, _ in faults] == ["tt", None, "t", "distance"]
    assert faults[1] == (None, "t-closeness needs attribute")
    with pytest.raises(PolicyError) as error:
        make_variant(sf.CRITERIA, "criterion", "t-closeness", {"t": -1, "distance": "ordinal", "tt": 3})
    assert error.value.faults == tuple(fault for _, fault in faults)


def test_what_goes_wrong_together_is_told_in_the_words_of_the_variant() -> None:
    made, faults = fill("iterated", sf.SEARCHES["iterated"], {"rounds": 3})
    assert made is None
    assert "rounds limit a search by share" in faults[0][1]


def test_a_variant_of_positional_parameters_is_made_of_a_list() -> None:
    assert make_variant(sf.HIERARCHIES, "hierarchy", "intervals", {"widths": [5, 10], "bottom": 20}) == sf.intervals(
        5, 10, bottom=20
    )


@pytest.mark.parametrize(
    ("table", "name", "parameter", "text", "value"),
    [
        (sf.CRITERIA, "k-anonymity", "k", "5", 5),
        (sf.CRITERIA, "k-anonymity", "quasi", 'age, "zip, old"', ["age", "zip, old"]),
        (sf.CRITERIA, "t-closeness", "t", "0.2", 0.2),
        (sf.CRITERIA, "t-closeness", "attribute", "7", "7"),
        (sf.SEARCHES, "mondrian", "relaxed", "true", True),
        (sf.SEARCHES, "mu-argus", "size", "all", "all"),
        (sf.SEARCHES, "mu-argus", "size", "2", 2),
        (sf.LOSSES, "ncp", "weights", "age=2, zip=0.5", {"age": 2, "zip": 0.5}),
        (sf.MASKERS, "rounding", "points", "10, 20", [10, 20]),
        (sf.HIERARCHIES, "intervals", "widths", "5, 10", [5, 10]),
    ],
)
def test_the_text_of_a_field_is_read_as_its_parameter_takes_it(
    table: Any, name: str, parameter: str, text: str, value: Any
) -> None:
    [known] = [p for p in table[name].parameters if p.name == parameter]
    assert read_text(known, text) == value


@dataclass(frozen=True)
class Mine(MaskStep):
    """A step.

    way: how it goes.
    """

    way: Annotated[str, OneOf(("up", "down"))] = "up"


def test_a_new_variant_has_a_form_without_a_line_elsewhere() -> None:
    columns, way, by = parameters_of(Mine)
    assert (way.type, way.choices, way.help, way.default) == ("choice", ("up", "down"), "how it goes", "up")
    assert (columns.type, columns.refers_to, by.required) == ("columns", "column", False)


MEASURES = {
    f"{kind}-{name}": variant
    for kind, table in (("risks", RISKS), ("utilities", UTILITIES), ("attacks", ATTACKS))
    for name, variant in table.items()
}


def people(rows: int, seed: int) -> pl.DataFrame:
    """A table with the columns that the examples of measures name."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "zip": [f"1{n}" for n in rng.integers(0, 4, rows)],
            "sex": [("f", "m")[n] for n in rng.integers(0, 2, rows)],
            "disease": [("flu", "cold", "ulcer")[n] for n in rng.integers(0, 3, rows)],
            "salary": rng.integers(1000, 9000, rows),
            "weight": np.full(rows, 5.0),
            "household": np.arange(rows) // 2,
        }
    )


@pytest.mark.parametrize("name", list(MEASURES))
def test_measures_refuse_what_they_declare_to_refuse(name: str) -> None:
    variant = MEASURES[name]
    table, other = people(60, 1), people(60, 2)
    tables = {"original": table, "hold_out": other, "holdout": other, "population": pl.concat([table, other])}
    example = {k: v for k, v in variant.example.items() if not str(v).endswith(".csv")}

    def call(**values: Any) -> Any:
        given = {p.name: tables.get(p.name, table) for p in variant.parameters if p.type == "table" and p.required}
        given |= {"releases": [table, table]} if name == "attacks-intersection" else {}
        asked = {key: value for key, value in values.items() if value is not None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return variant.make(**{**given, **example, **asked})

    faults = [f"{p.name}: {fault}" for p in variant.parameters for fault in declaration_faults(p)]
    assert not faults
    for parameter in variant.parameters:
        for value in refused_values(parameter):
            with pytest.raises(SfumatoError):
                call(**{parameter.name: value})
