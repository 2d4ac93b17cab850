"""A made-up hospital register: twenty thousand admissions of people who never lived, with the skew of real ones."""

from __future__ import annotations

from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from sfumato.errors import InputError, OutputError

LAST_DAY = date(2025, 12, 31)  # the register covers the year before this day; fixed, so that no clock enters
OLDEST = 103.0

FILES = files("sfumato.cli").joinpath("demo_data")
POLICY = FILES.joinpath("policy.toml").read_text(encoding="utf-8")


class Diagnosis(NamedTuple):
    """What a diagnosis looks like: how common, in whom, on which ward, at what cost."""

    name: str
    group: str
    chapter: str
    ward: str
    weight: float  # admissions per hundred or so
    age: float
    spread: float
    female: float
    cost: float  # median, euros
    child: float  # share of admissions under sixteen
    critical: float  # share in intensive care


def _rows(name: str) -> list[list[str]]:
    lines = FILES.joinpath(name).read_text(encoding="utf-8").splitlines()
    return [line.split(",") for line in lines[1:]]


DIAGNOSES = tuple(
    Diagnosis(name, group, chapter, ward, *map(float, rest))
    for name, group, chapter, ward, *rest in _rows("diagnoses.csv")
)
WOMEN, MEN, FAMILIES = ([name for of, name in _rows("names.csv") if of == kind] for kind in ("woman", "man", "family"))

# Dense city districts, two towns, and a countryside whose villages thin out; leading zeros are part of the code.
_CITY, _TOWNS = np.arange(8041, 8059), np.r_[9110:9117, 10204:10209]
_VILLAGES = 7013 + np.arange(160) * 34 + (np.arange(160) ** 2) % 29


def hospital_register(rows: int = 20_000, seed: int = 2026) -> pl.DataFrame:
    """A made-up register of admissions, one per person, in one year at one hospital.

    The diagnosis is drawn first, common ones often and rare ones a handful of times; age, sex, ward and cost follow it.

    Parameters
    ----------
    rows: number of admissions.
    seed: of the random generator; the same seed gives the same register.

    Example
    -------
    >>> hospital_register(rows=3).columns
    ['name', 'birth_date', 'postcode', 'sex', 'ward', 'diagnosis', 'cost']
    """
    if rows < 0:
        raise InputError("a register cannot have a negative number of rows", got=rows, allowed="rows >= 0")
    rng = np.random.default_rng(seed)
    weight = np.array([d.weight for d in DIAGNOSES])
    which = rng.choice(len(DIAGNOSES), size=rows, p=weight / weight.sum())
    age = _ages(which, rng)
    female = rng.random(rows) < _known("female", which)
    sex = np.where(rng.random(rows) < 0.004, 2, np.where(female, 0, 1))
    admitted = rng.integers(0, 365, size=rows)
    born = np.datetime64(LAST_DAY) - admitted - np.floor(age * 365.2425).astype(np.int64)
    cost = _known("cost", which) * np.exp(rng.normal(0, 0.45, rows)) * (0.85 + age / 400)
    return pl.DataFrame(
        {
            "name": _names(female, rng),
            "birth_date": pl.Series(born.astype("datetime64[D]")),
            "postcode": _postcodes(rows, rng),
            "sex": _pick(["F", "M", "X"], sex),
            "ward": _wards(which, age, rng),
            "diagnosis": _pick([d.name for d in DIAGNOSES], which),
            "cost": np.round(cost, 2),
        }
    )


def _known(field: str, which: np.ndarray) -> np.ndarray:
    """A field of the diagnosis of every row."""
    return np.asarray(np.array([getattr(d, field) for d in DIAGNOSES])[which])


def _ages(which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    adult = rng.normal(_known("age", which), _known("spread", which))
    adult = OLDEST - np.abs(OLDEST - 16 - np.abs(adult - 16))  # reflected at both ends, so that nothing heaps there
    child = rng.random(which.size) < _known("child", which)
    return np.where(child, 16 * rng.beta(0.9, 1.7, which.size), adult)


def _wards(which: np.ndarray, age: np.ndarray, rng: np.random.Generator) -> pl.Series:
    """The ward of the diagnosis, but children in paediatrics, some in intensive care, some wherever a bed is free."""
    wards = sorted({d.ward for d in DIAGNOSES} | {"Paediatrics", "Intensive care"})
    number = {ward: i for i, ward in enumerate(wards)}
    ward = np.array([number[d.ward] for d in DIAGNOSES])[which]
    ward = np.where(age < 16, number["Paediatrics"], ward)
    spare = np.array([number["General medicine"], number["General surgery"]])[rng.integers(0, 2, which.size)]
    moved = (rng.random(which.size) < 0.08) & (age >= 16) & (ward != number["Obstetrics"])
    critical = rng.random(which.size) < _known("critical", which)
    return _pick(wards, np.where(critical, number["Intensive care"], np.where(moved, spare, ward)))


def _names(female: np.ndarray, rng: np.random.Generator) -> pl.Series:
    woman, man, family = (rng.integers(0, len(names), female.size) for names in (WOMEN, MEN, FAMILIES))
    return _pick(WOMEN + MEN, np.where(female, woman, len(WOMEN) + man)) + " " + _pick(FAMILIES, family)


def _postcodes(rows: int, rng: np.random.Generator) -> pl.Series:
    weight = np.r_[_shares(_CITY.size, 0.5, 0.3), _shares(_TOWNS.size, 0.26, 0.6), _shares(_VILLAGES.size, 0.24, 0.8)]
    codes = [f"{code:05d}" for code in np.r_[_CITY, _TOWNS, _VILLAGES]]
    return _pick(codes, rng.choice(len(codes), size=rows, p=weight / weight.sum()))


def _shares(places: int, total: float, skew: float) -> np.ndarray:
    """Zipf shares of the places that add up to `total`; a stride of 7 keeps them from following the code."""
    share = 1.0 / ((np.arange(places) * 7 + 3) % places + 1.0) ** skew
    return np.asarray(total * share / share.sum())


def _pick(values: list[str], index: np.ndarray) -> pl.Series:
    return pl.Series(values, dtype=pl.String).gather(pl.Series(index))


def diagnosis_hierarchy() -> list[tuple[str, str, str, str]]:
    """Rows (diagnosis, group, chapter, "*"): the hierarchy of all diagnoses in wide form.

    Example
    -------
    >>> diagnosis_hierarchy()[0]
    ('Heart failure', 'Heart disease', 'Circulatory', '*')
    """
    return [(d.name, d.group, d.chapter, "*") for d in DIAGNOSES]


def write_demo_inputs(folder: str | Path, rows: int = 20_000, seed: int = 2026) -> Path:
    """Write `register.csv`, `diagnosis.csv` (wide form) and `policy.toml` into a folder; gives the path of the policy.

    Files of these names are replaced, so that the demo runs twice without complaint.

    Parameters
    ----------
    folder: made where it does not exist.
    rows, seed: of the register.
    """
    folder = Path(folder)
    hierarchy = "".join(";".join(row) + "\n" for row in diagnosis_hierarchy())
    register = hospital_register(rows, seed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        register.write_csv(folder / "register.csv", float_precision=2)
        (folder / "diagnosis.csv").write_text(hierarchy, encoding="utf-8", newline="\n")
        (folder / "policy.toml").write_text(POLICY, encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError(f"the demo cannot be written to {folder}", got=error.strerror, allowed="a folder") from None
    return folder / "policy.toml"
