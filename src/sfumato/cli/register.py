"""A made-up hospital register: twenty thousand admissions of people who never lived, with the skew of real ones."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from sfumato.errors import InputError, OutputError

LAST_DAY = date(2025, 12, 31)  # the register covers the year before this day; fixed, so that no clock enters
OLDEST = 103.0

POLICY = """\
# What others may know of a patient is quasi-identifying: a visitor knows the ward, and whoever paid knows the cost. The
# diagnosis is what nobody should learn. The release is held to the threshold of clinical data, and meets HIPAA's Safe
# Harbor too.
[input]
path = "register.csv"

[roles]
identifying = ["name"]
quasi = ["birth_date", "postcode", "sex", "ward", "cost"]
sensitive = ["diagnosis"]

[hierarchies]
birth_date = { dates = ["year", "decade"] }
postcode = { redact = "right" }
sex = { levels = ["*"] }
cost = { intervals = [1000, 2000, 4000, 8000] }
diagnosis = { file = "diagnosis.csv" }

# Least and greatest level: years, not days; two digits of the postcode, for few people live in the area 102; no cents.
[levels]
birth_date = [1, 3]
postcode = [3, 5]
cost = [1, 5]

# With 12 records alike the risk is at most 1/12, within the 0.09 of clinical data; 11 would be above it.
[[require]]
model = "k-anonymity"
k = 12

[[require]]
model = "entropy-l-diversity"
attribute = "diagnosis"
l = 3

[search]
method = "iterated"
loss = "ncp"
suppression = 0.02

[output]
path = "release"
format = "csv"
profile = "clinical"
"""


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


# fmt: off
DIAGNOSES = tuple(Diagnosis(*row) for row in (
    ("Heart failure", "Heart disease", "Circulatory", "Cardiology", 7.2, 80, 10, .51, 4300, 0, .06),
    ("Atrial fibrillation", "Heart disease", "Circulatory", "Cardiology", 5, 74, 12, .48, 2700, 0, .02),
    ("Myocardial infarction", "Heart disease", "Circulatory", "Cardiology", 4, 69, 13, .34, 6900, 0, .2),
    ("Stroke", "Cerebrovascular disease", "Circulatory", "Neurology", 4.6, 75, 13, .49, 6400, 0, .12),
    ("Transient ischaemic attack", "Cerebrovascular disease", "Circulatory", "Neurology", 2, 72, 13, .5, 2500, 0, .02),
    ("Hypertensive crisis", "Vascular disease", "Circulatory", "Cardiology", 2.4, 70, 15, .64, 1700, 0, .02),
    ("Deep vein thrombosis", "Vascular disease", "Circulatory", "General medicine", 1.3, 63, 18, .52, 2100, 0, .02),
    ("Pneumonia", "Airway infection", "Respiratory", "General medicine", 5.2, 74, 16, .45, 3900, .14, .1),
    ("Influenza", "Airway infection", "Respiratory", "General medicine", 1.9, 58, 24, .51, 2200, .3, .02),
    ("Acute bronchitis", "Airway infection", "Respiratory", "General medicine", 2.2, 62, 22, .49, 1500, .5, .02),
    ("Chronic lung disease", "Airway disease", "Respiratory", "General medicine", 3.6, 71, 10, .44, 3300, 0, .02),
    ("Asthma", "Airway disease", "Respiratory", "General medicine", 1, 46, 20, .58, 1800, .4, .02),
    ("Cystic fibrosis", "Airway disease", "Respiratory", "General medicine", .03, 27, 9, .48, 9800, .4, .02),
    ("Breast cancer", "Solid tumour", "Neoplasms", "Oncology", 2.5, 63, 14, .992, 5200, 0, .02),
    ("Lung cancer", "Solid tumour", "Neoplasms", "Oncology", 2.3, 69, 10, .39, 5600, 0, .02),
    ("Colorectal cancer", "Solid tumour", "Neoplasms", "General surgery", 2.2, 71, 12, .45, 9700, 0, .06),
    ("Prostate cancer", "Solid tumour", "Neoplasms", "Oncology", 2.3, 71, 8, 0, 6100, 0, .02),
    ("Leukaemia", "Blood cancer", "Neoplasms", "Oncology", .6, 64, 17, .43, 14800, .18, .02),
    ("Gallstones", "Biliary disease", "Digestive", "General surgery", 3.6, 57, 18, .62, 3800, 0, .02),
    ("Appendicitis", "Bowel disease", "Digestive", "General surgery", 2.4, 33, 16, .47, 3500, .3, .02),
    ("Inguinal hernia", "Bowel disease", "Digestive", "General surgery", 2.9, 57, 20, .12, 2600, .06, .02),
    ("Gastroenteritis", "Bowel disease", "Digestive", "General medicine", 3.4, 55, 26, .54, 1400, .32, .02),
    ("Type 2 diabetes", "Diabetes", "Metabolic", "General medicine", 2.6, 66, 14, .43, 3000, 0, .02),
    ("Type 1 diabetes", "Diabetes", "Metabolic", "General medicine", .6, 34, 16, .46, 2300, .4, .02),
    ("Fabry disease", "Storage disease", "Metabolic", "General medicine", .02, 41, 13, .45, 18500, 0, .02),
    ("Urinary tract infection", "Urinary disease", "Urogenital", "General medicine", 3.2, 70, 20, .66, 2300, .1, .02),
    ("Kidney failure", "Urinary disease", "Urogenital", "General medicine", 2.2, 72, 14, .44, 5100, 0, .1),
    ("Hip fracture", "Fracture", "Injury", "Orthopaedics", 3.9, 82, 10, .71, 8300, 0, .02),
    ("Forearm fracture", "Fracture", "Injury", "Orthopaedics", 2.4, 57, 22, .6, 3600, .35, .02),
    ("Concussion", "Head injury", "Injury", "General surgery", 3, 46, 25, .45, 900, .35, .02),
    ("Knee osteoarthritis", "Joint disease", "Musculoskeletal", "Orthopaedics", 3.6, 69, 9, .61, 7600, 0, .02),
    ("Slipped disc", "Spine disease", "Musculoskeletal", "Orthopaedics", 2.6, 50, 14, .46, 4700, 0, .02),
    ("Spontaneous delivery", "Delivery", "Pregnancy", "Obstetrics", 4.6, 31, 5.2, 1, 2100, 0, .02),
    ("Caesarean section", "Delivery", "Pregnancy", "Obstetrics", 2.1, 33, 5, 1, 3700, 0, .02),
    ("Miscarriage", "Complication of pregnancy", "Pregnancy", "Obstetrics", .9, 33, 6, 1, 1300, 0, .02),
    ("Depressive episode", "Mood disorder", "Mental", "Psychiatry", 2.8, 45, 17, .61, 6900, .03, .02),
    ("Alcohol dependence", "Substance use", "Mental", "Psychiatry", 3.2, 46, 13, .27, 2400, 0, .02),
    ("Schizophrenia", "Psychotic disorder", "Mental", "Psychiatry", 1.3, 39, 14, .41, 9100, 0, .02),
    ("Epilepsy", "Seizure", "Nervous system", "Neurology", 1.6, 52, 23, .46, 2700, .3, .02),
    ("Huntington disease", "Degenerative disease", "Nervous system", "Neurology", .02, 52, 11, .5, 7400, 0, .02),
))
WOMEN = [
    "Ada", "Alma", "Amalia", "Benedetta", "Bianca", "Carla", "Clara", "Dora", "Elena", "Elisa", "Emma", "Esther",
    "Flora", "Frida", "Gerda", "Greta", "Hanna", "Helene", "Ida", "Ines", "Irma", "Johanna", "Judith", "Karin",
    "Lena", "Lina", "Livia", "Lucia", "Magda", "Marta", "Mila", "Nadia", "Nora", "Olga", "Paola", "Petra", "Rosa",
    "Sara", "Selma", "Sofia", "Stella", "Tilda", "Ursula", "Vera", "Wanda", "Yasmin", "Zoe",
]
MEN = [
    "Adam", "Albert", "Anton", "Arno", "Bela", "Bruno", "Carlo", "Cesare", "Dario", "Emil", "Enzo", "Erik", "Felix",
    "Franz", "Georg", "Gino", "Hannes", "Hugo", "Ivan", "Jakob", "Jonas", "Karl", "Konrad", "Leo", "Lorenz", "Luca",
    "Marco", "Mats", "Milan", "Moritz", "Nico", "Nils", "Oskar", "Otto", "Paul", "Pietro", "Rafael", "Remo",
    "Samir", "Simon", "Tariq", "Theo", "Tomas", "Udo", "Viktor", "Walter", "Xaver",
]
FAMILIES = [
    "Abendrot", "Altwasser", "Amselgrund", "Bachofen", "Bergmoser", "Birkhahn", "Castelverde", "Dornfeld",
    "Ebenholz", "Eichwald", "Falkenrath", "Fontalba", "Fuchsloh", "Glasbrunn", "Grauwinkel", "Haselbach",
    "Hirschau", "Immergrün", "Jaspers", "Kaltenbrunn", "Kirschauer", "Kornblum", "Lichtental", "Lindqvist",
    "Lomarini", "Marzahl", "Mohnfeld", "Montelupo", "Nachtigall", "Nebelhorn", "Oberhausen", "Ochsenfurt",
    "Pappelhof", "Quellmann", "Rabenstein", "Roccasecca", "Rosenbaum", "Rotdorn", "Sandkuhl", "Schlehdorn",
    "Sommerau", "Steinbrech", "Tannwalder", "Torregrande", "Ulmenhof", "Valdombra", "Veilchental", "Wacholder",
    "Weidenau", "Wiesengrund", "Winterling", "Zaunkönig",
]
# fmt: on

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
