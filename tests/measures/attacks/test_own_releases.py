"""Releases of our own searches: every person is among the records that the labels of their row cover."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.hierarchies import dates, intervals, levels, redact, wide
from sfumato.measures.attacks import attack_summary, homogeneity, inference, membership
from sfumato.measures.attacks.linkage.deterministic import candidates
from sfumato.measures.attacks.matching import Matching

pytestmark = pytest.mark.slow

WORK = [
    ("baker", "food", "*"),
    ("cook", "food", "*"),
    ("waiter", "food", "*"),
    ("nurse", "care", "*"),
    ("doctor", "care", "*"),
    ("teacher", "school", "*"),
]


def people(rows: int = 300, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "zip": [f"{z:05d}" for z in rng.integers(47600, 47999, rows)],
            "job": rng.choice([path[0] for path in WORK], rows),
            "born": pl.Series(rng.integers(0, 20000, rows)).cast(pl.Date),
            "pay": np.round(rng.gamma(3, 1000, rows), 2),
            "disease": rng.choice(["flu", "cold", "cancer"], rows),
        }
    )


RECIPES: dict[str, Any] = {
    "age": intervals(5, 10, 20),
    "zip": redact("right"),
    "job": wide(WORK),
    "born": dates("month", "year", "decade"),
}
QUASI = ["age", "zip", "job", "born", "pay"]


@pytest.mark.parametrize("search", ["mondrian", "optimal"])
@pytest.mark.parametrize("explained", [True, False])
def test_labels_of_our_releases_cover_their_rows(search: str, explained: bool) -> None:
    table = people()
    quasi = QUASI if search == "mondrian" else ["age", "zip", "job"]
    given = RECIPES if search == "optimal" else {"job": levels("*")}
    chosen = {name: recipe for name, recipe in given.items() if name in quasi}
    release = sf.anonymize(
        table,
        quasi=quasi,
        sensitive=["disease"],
        rest="release",
        require=[sf.KAnonymity(5)],
        search=search,
        hierarchies=chosen,
    )
    assert sorted(release.rows) == list(range(table.height))
    matching = Matching(release.data, quasi, [table], chosen if explained else None)
    for row, values in enumerate(matching.values_of(table[release.rows])):
        assert matching.cell_of_row[row] in matching.candidates(values)


def test_generalising_lowers_every_attack() -> None:
    table, others = people(400, 1), people(400, 2)
    quasi = ["age", "zip"]
    success = []
    for k in (1, 5, 20):
        release = table
        if k > 1:
            release = sf.anonymize(
                table, quasi=quasi, sensitive=["disease"], rest="release", require=[sf.KAnonymity(k)]
            ).data
        found = [
            homogeneity(release, quasi, "disease"),
            inference(release, table, quasi, "disease"),
            membership(release, table, others, quasi),
        ]
        success.append([attack.success for attack in found])
    assert np.all(np.diff(np.array(success), axis=0) <= 0.05)
    assert success[0][1] > 0.95 > 0.6 > success[2][1]


def test_any_kind_of_frame(tmp_path: Any) -> None:
    table = people(40)
    path = tmp_path / "people.csv"
    table.write_csv(path)
    by_frame = attack_summary(table.to_pandas(), quasi=["age", "zip"], sensitive="disease", original=table, trials=20)
    by_path = attack_summary(path, quasi=["age", "zip"], sensitive="disease", original=table, trials=20)
    assert by_frame == by_path


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_release_of_postcodes_that_were_numbers_covers_everybody() -> None:
    codes = [1067, 1069, 1097, 1099, 10115, 10117, 80331, 80333]
    table = pl.DataFrame({"zip": [codes[i % 8] for i in range(200)], "sex": [1 + i % 3 // 2 for i in range(200)]})
    made = sf.anonymize(table, quasi=["zip", "sex"], k=20, order="input").table
    assert made["zip"].str.starts_with("0").any()
    found = candidates(made, table)
    assert found["among"].all()
    assert found["candidates"].to_numpy().min() >= 20
