"""The classic tables, original and released, and what every test of the attacks needs of them."""

from __future__ import annotations

import numpy as np
import polars as pl

NAMES = ["Hilary", "Jenny", "Bob", "Izzy", "John", "Fred", "Sam", "Carl", "Sarah"]
DISEASES = ["heart disease"] * 3 + ["flu", "heart disease", "cancer"] + ["heart disease", "cancer", "cancer"]
PATIENTS = pl.DataFrame(
    {
        "zipcode": ["47677", "47602", "47678", "47905", "47909", "47906", "47605", "47673", "47607"],
        "age": [29, 22, 27, 43, 52, 47, 30, 36, 32],
        "disease": DISEASES,
    }
)
RELEASED = pl.DataFrame(
    {
        "zipcode": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
        "age": ["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3,
        "disease": DISEASES,
    }
)
SALARIES = pl.DataFrame(
    {
        "zipcode": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
        "age": ["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3,
        "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10],
        "disease": [
            *("gastric ulcer", "gastritis", "stomach cancer"),
            *("gastritis", "flu", "bronchitis"),
            *("bronchitis", "pneumonia", "stomach cancer"),
        ],
    }
)
STOMACH = [(d, "stomach disease", "digestive") for d in ("gastric ulcer", "gastritis", "stomach cancer")]
LUNG = [(d, "respiratory infection", "respiratory") for d in ("flu", "bronchitis", "pneumonia")]
ILLNESS = [(*path, "any") for path in STOMACH + LUNG]
QUASI = ["zipcode", "age"]


def suppressed(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """The frame with "*" in every cell of these columns."""
    return frame.with_columns(pl.lit("*").alias(name) for name in names)


def people(rows: int, seed: int = 1) -> pl.DataFrame:
    """People who differ from each other: nearly every row is unique on age, zip and height."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "zip": [f"{z:05d}" for z in rng.integers(10000, 99999, rows)],
            "height": np.round(rng.normal(170, 10, rows), 3),
            "disease": rng.choice(["flu", "cold", "cancer", "asthma"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )
