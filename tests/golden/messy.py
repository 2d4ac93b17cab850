"""Files as people have them, made up: a hospital in Germany, a survey in Italy, a bank and a school in the US, ..."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import numpy as np

ROWS = 1500
GERMAN = str.maketrans(",.", ".,")


def _lines(columns: dict[str, list[str]], separator: str, above: str = "") -> str:
    rows = zip(*columns.values(), strict=True)
    return above + "\n".join([separator.join(columns), *(separator.join(row) for row in rows)]) + "\n"


def _days(rng: np.random.Generator, first: str, last: str, form: str, rows: int = ROWS) -> list[str]:
    start, stop = (np.datetime64(day).astype(int) for day in (first, last))
    days = [dt.date(1970, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(start, stop, rows)]
    return [day.strftime(form) for day in days]


def _some(values: list[str], rng: np.random.Generator, marker: str, share: float = 0.03) -> list[str]:
    return [marker if gone else value for value, gone in zip(values, rng.random(len(values)) < share, strict=True)]


def _pick(rng: np.random.Generator, words: str, p: list[float] | None = None, rows: int = ROWS) -> list[str]:
    return [str(word) for word in rng.choice(words.split("|"), rows, p=p)]


def hospital() -> str:
    """German: semicolons, decimal commas, days as 16.10.1961, postcodes with leading zeros, k.A. for missing."""
    rng = np.random.default_rng(1)
    cost = rng.gamma(2, 1800, ROWS)
    codes = "I10|I25.1|E11.9|J18.9|K35|S72.0|C50.9|F32.1|N39.0|M54.5"
    return _lines(
        {
            "Fallnummer": [str(700000 + i) for i in range(ROWS)],
            "Geburtsdatum": _days(rng, "1930-01-01", "2005-01-01", "%d.%m.%Y"),
            "PLZ": [f"{plz:05d}" for plz in rng.choice([1067, 1069, 1097, 1099, 4109, 4155, 9111, 10115, 10117], ROWS)],
            "Geschlecht": _pick(rng, "m|w|d", [0.48, 0.51, 0.01]),
            "Diagnose": _pick(rng, codes),
            "Kosten": _some([f"{c:,.2f}".translate(GERMAN) for c in cost], rng, "k.A."),
        },
        ";",
    )


def survey() -> str:
    """Italian: a title above the header, days as 03/11/1988, n.d. for missing, words of agreement."""
    rng = np.random.default_rng(2)
    return _lines(
        {
            "eta": _some([str(age) for age in rng.integers(18, 92, ROWS)], rng, "n.d."),
            "data_intervista": _days(rng, "2024-01-15", "2024-06-30", "%d/%m/%Y"),
            "CAP": [f"{cap:05d}" for cap in rng.choice([118, 119, 184, 185, 10121, 20121, 50122], ROWS)],
            "titolo_studio": _pick(rng, "licenza media|diploma|laurea|dottorato", [0.3, 0.45, 0.22, 0.03]),
            "reddito": [str(int(x)) for x in np.round(rng.lognormal(10.1, 0.4, ROWS), -2)],
            "soddisfazione": _pick(rng, "molto bassa|bassa|media|alta|molto alta"),
        },
        ";",
        "Indagine sulla salute 2024\n\n",
    )


def bank() -> str:
    """US: days as 11/03/1988, amounts as $1,234.50, ZIP codes, quoted."""
    rng = np.random.default_rng(3)
    return _lines(
        {
            "customer_id": [f"C{i:06d}" for i in range(ROWS)],
            "date_of_birth": _days(rng, "1940-01-01", "2004-01-01", "%m/%d/%Y"),
            "zip": [f"{z:05d}" for z in rng.choice([2139, 2138, 2446, 10001, 10002, 60614, 94110, 94112], ROWS)],
            "marital_status": _pick(rng, "single|married|divorced|widowed", [0.35, 0.45, 0.14, 0.06]),
            "balance": [f'"${x:,.2f}"' for x in rng.gamma(1.5, 4000, ROWS)],
            "default": _pick(rng, "yes|no", [0.1, 0.9]),
        },
        ",",
    )


def telecom() -> str:
    """Calls with times, coordinates and prefixes of numbers."""
    rng = np.random.default_rng(4)
    start = dt.datetime(2024, 3, 1)
    return _lines(
        {
            "imei": [str(350000000000000 + int(i)) for i in rng.permutation(ROWS)],
            "call_start": [(start + dt.timedelta(seconds=int(s))).isoformat() for s in rng.integers(0, 1728000, ROWS)],
            "lat": [f"{x:.4f}" for x in rng.normal(45.46, 0.05, ROWS)],
            "lon": [f"{x:.4f}" for x in rng.normal(9.19, 0.07, ROWS)],
            "plan": _pick(rng, "S|M|L|XL", [0.4, 0.3, 0.2, 0.1]),
            "minutes": [f"{x:.1f}" for x in rng.exponential(6, ROWS)],
        },
        "\t",
    )


def school() -> str:
    """Grades as letters, months as words, N/A for missing."""
    rng = np.random.default_rng(5)
    months = "January|February|March|April|May|June|July|August|September|October|November|December"
    return _lines(
        {
            "student": [f"Student {i}" for i in range(ROWS)],
            "grade_level": [str(g) for g in rng.integers(1, 13, ROWS)],
            "birth_month": _pick(rng, months),
            "height_cm": _some([str(int(h)) for h in rng.normal(150, 18, ROWS)], rng, "N/A"),
            "neighborhood": _pick(rng, "Northside|Old Town|Harbor|Hillcrest|Riverside|Mill Park|Eastgate"),
            "grade": _pick(rng, "A|B|C|D|F", [0.2, 0.35, 0.3, 0.1, 0.05]),
        },
        ",",
    )


def register() -> str:
    """A register of inhabitants: NUTS regions, ISCO occupations, countries, years of birth."""
    rng = np.random.default_rng(6)
    return _lines(
        {
            "birth_year": [str(y) for y in rng.integers(1935, 2008, ROWS)],
            "nuts3": _pick(rng, "ITC11|ITC12|ITC41|ITC45|ITH31|ITH32|ITI43|ITF33"),
            "isco": _pick(rng, "1120|2211|2310|3221|4110|5120|5223|6111|7115|8332|9112"),
            "nationality": _pick(rng, "IT|RO|MA|AL|CN|UA|FR|DE", [0.86, 0.04, 0.02, 0.02, 0.02, 0.02, 0.01, 0.01]),
            "sex": _pick(rng, "F|M"),
            "income_class": _pick(rng, "low|medium|high", [0.4, 0.4, 0.2]),
        },
        "|",
    )


FILES: dict[str, Callable[[], str]] = {
    "hospital": hospital, "survey": survey, "bank": bank, "telecom": telecom, "school": school, "register": register,
}  # fmt: skip
