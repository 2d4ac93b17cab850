"""SafePub: the whole mechanism against its promise by enumeration, its scores, its folder, and what it refuses."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.core.mechanisms import sample_rows
from sfumato.core.policy import Policy
from sfumato.errors import BudgetSpent, Infeasible, PolicyError
from sfumato.losses import LM
from sfumato.release import sampled
from sfumato.search.lattice import safepub
from sfumato.search.lattice.safepub import LevelScores, expected_rows
from sfumato.search.problem import make_problem
from tests.fuzz import FUZZ

TREES = {"age": sf.intervals(10, 20, 40), "sex": "flat"}
ASKED: dict[str, Any] = {"quasi": ["age", "sex"], "hierarchies": TREES}


def people(rows: int = 4000, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, rows)
    return pl.DataFrame({"age": age, "sex": np.where(rng.random(rows) < 0.5, "F", "M")})


# the second part by enumeration: a row more or less, the levels as they are


def outputs(counts: Counter[str], k: int, beta: float) -> dict[tuple[Any, ...], float]:
    """The exact law of what is released of a table, by the class of each row: the classes that are shown."""
    law = {(): 1.0}
    for label, n in sorted(counts.items()):
        chance = [math.comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(n + 1)]
        shown = {(): sum(chance[:k])} | {((label, j),): chance[j] for j in range(k, n + 1)}
        law = {one + more: p * q for one, p in law.items() for more, q in shown.items()}
    return law


def delta_between(one: dict[Any, float], other: dict[Any, float], epsilon: float) -> float:
    """The least delta with which one law is within epsilon of another."""
    return sum(max(p - math.exp(epsilon) * other.get(what, 0.0), 0.0) for what, p in one.items())


def worst_delta(epsilon: float, k: int, beta: float, most: int) -> float:
    """Over all tables of up to so many rows in two classes, and all neighbours of them."""
    found = 0.0
    for a, b in itertools.product(range(most), range(3)):
        laws = [outputs(Counter(x=a + more, y=b), k, beta) for more in (0, 1)]
        found = max(found, delta_between(*laws, epsilon), delta_between(*reversed(laws), epsilon))
    return found


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.1), (0.5, 0.05), (2.0, 0.2)])
def test_no_neighbour_tells_more_than_promised_and_a_smaller_k_does(epsilon: float, delta: float) -> None:
    asked = sf.DifferentialPrivacy(epsilon + 0.1, delta, epsilon_search=0.1)
    assert asked.anonymising == Decimal(str(epsilon))
    assert worst_delta(epsilon, asked.k, asked.beta, 30) <= delta
    # the bound counts whole tails, so that it is not tight: a fault is seen where the exact delta crosses
    least = next(k for k in range(1, 99) if worst_delta(epsilon, k, asked.beta, 30) <= delta)
    assert 1 < least <= asked.k
    assert worst_delta(epsilon, least - 1, asked.beta, 30) > delta
    assert worst_delta(epsilon, asked.k, 0.99, 60) > delta  # sampled too often


def test_what_is_released_follows_that_law() -> None:
    """Many classes of 20 rows, each a table of its own: how many rows are shown, against the binomial law cut at k."""
    classes, asked = 5000, sf.DifferentialPrivacy(1, 0.2, epsilon_search=0.1)
    table = pl.DataFrame({"place": [f"p{i}" for i in range(classes)] * 20})
    made = sf.anonymize(
        table, quasi=["place"], require=asked, hierarchies={"place": "flat"}, levels={"place": (0, 0)}
    )  # fmt: skip
    shown = Counter(made.table["place"].value_counts()["count"].to_list())
    shown[0] = classes - sum(shown.values())
    law = {sum(n for _, n in what): p for what, p in outputs(Counter(x=20), asked.k, asked.beta).items()}
    assert set(shown) <= set(law)
    far = max(abs(shown[n] / classes - p) for n, p in law.items())
    assert far <= math.sqrt(math.log(2e6 * len(law)) / (2 * classes))


# scores


def test_the_expected_rows_are_those_of_a_binomial_number() -> None:
    for k, beta in ((2, 0.5), (5, 0.3), (9, 0.63)):
        table, slope = expected_rows(k, beta)
        for n in (0, 1, k - 1, k, k + 3, 40):
            exact = sum(j * math.comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(k, n + 1))
            assert table[n] / safepub.UNIT == pytest.approx(exact, abs=1e-4)
        assert np.diff(table).min() >= 0
        assert abs(int(np.diff(table)[-1]) - slope) <= 1


@pytest.mark.parametrize("trial", range(4 * FUZZ))
def test_a_row_more_moves_every_score_up_and_by_no_more_than_is_said(trial: int) -> None:
    rng = np.random.default_rng(trial)
    rows = int(rng.integers(1, 14))
    table = pl.DataFrame({"age": rng.integers(20, 60, rows), "sex": rng.choice(["F", "M"], rows)})
    more = pl.concat([table, pl.DataFrame({"age": rng.integers(20, 60, 1), "sex": ["F"]})])
    asked = sf.DifferentialPrivacy(1, 0.1)
    policy = Policy((("age", "sex"),), (asked,), 1.0, LM())
    recipes = {"age": TREES["age"], "sex": sf.flat()}
    before, after = (LevelScores(make_problem(one, policy, recipes, {}), asked.k, asked.beta) for one in (table, more))
    moved = [after(node) - before(node) for node in itertools.product(range(5), range(2))]
    assert min(moved) >= 0
    assert max(moved) <= before.sensitivity == after.sensitivity
    assert before.sensitivity < asked.k * safepub.UNIT  # far less than a class that appears with all its rows
    assert before((4, 1)) == 0


def test_the_sensitivity_is_reached() -> None:
    asked = sf.DifferentialPrivacy(1, 0.1)
    policy, worst = Policy((("sex",),), (asked,), 1.0, LM()), 0
    scores = [
        LevelScores(make_problem(pl.DataFrame({"sex": ["F"] * n}), policy, {"sex": sf.flat()}, {}), asked.k, asked.beta)
        for n in range(1, 4 * asked.k)
    ]
    worst = max(b((0,)) - a((0,)) for a, b in itertools.pairwise(scores))
    assert worst == scores[0].sensitivity


def test_a_walk_down_spends_what_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[Decimal] = []

    def noted(scores: Any, sensitivity: float, cost: Decimal, monotonic: bool) -> int:
        spent.append(cost)
        return int(np.argmax(scores))

    monkeypatch.setattr(safepub, "choose", noted)
    made = sf.anonymize(people(), **ASKED, require=sf.DifferentialPrivacy(1, 1e-3), search=sf.SafePub(steps=6))
    assert len(spent) == 7
    assert sum(spent) <= Decimal("0.1")
    one = sf.anonymize(people(), **ASKED, require=sf.DifferentialPrivacy(1, 1e-3), search="safepub")
    assert spent[7:] == [Decimal("0.1")]
    assert made.solution.levels == one.solution.levels  # without noise both find the best


def test_rows_are_sampled_with_the_probability_that_is_said() -> None:
    rows, asked = 200_000, sf.DifferentialPrivacy(1, 1e-6)
    found = sample_rows(rows, asked.threshold)
    assert abs(found.mean() - asked.beta) < 6 * math.sqrt(0.25 / rows)
    assert not sample_rows(1000, 0).any()
    ends = np.convolve(found, [1, 1])[1:-1]
    assert abs((ends == 2).mean() - asked.beta**2) < 0.01  # one by one


# releases


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """No noise: the best levels, and the rows of a mask that a test names."""
    masks: list[np.ndarray] = []
    monkeypatch.setattr(safepub, "choose", lambda scores, *_, **__: 0)
    monkeypatch.setattr(sampled, "sample_rows", lambda rows, threshold: masks.pop(0))
    return masks


def files_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@pytest.mark.slow
def test_two_originals_with_the_same_released_rows_have_the_same_folder(
    steady: list[np.ndarray], tmp_path: Path
) -> None:
    asked = sf.DifferentialPrivacy(1, 1e-3)
    first = pl.DataFrame({"age": [31] * 60 + [47] * 70 + [12] * 3, "sex": ["F"] * 60 + ["M"] * 70 + ["F", "F", "M"]})
    other = pl.concat([  # others, in another order, with more columns and missing values among those left out
        pl.DataFrame({"age": [99, None, 47, 31, 5], "sex": ["X", "M", "M", None, "F"]}),
        first.head(130).reverse(),
        pl.DataFrame({"age": [8] * 400, "sex": ["M"] * 400}),
    ])  # fmt: skip
    other = other.with_columns(name=pl.int_range(pl.len()).cast(pl.String))
    masks = [np.arange(133) < 133, np.isin(np.arange(535), np.arange(5, 135))]
    folders = []
    for i, (table, mask) in enumerate(zip((first, other), masks, strict=True)):
        for form in ("csv", "parquet"):
            steady.append(mask)
            made = sf.anonymize(
                table.select("age", "sex"), **ASKED, require=asked, about={"dataset": "people"},
                levels={"age": (0, 3), "sex": (0, 1)},
            )  # fmt: skip
            folders.append(files_of(Path(made.save(tmp_path / f"{i}-{form}", format=form))))
    assert folders[0] == folders[2]
    assert folders[1] == folders[3]
    said = json.loads(folders[0]["manifest.json"])
    assert not {"input", "seed", "whole"} & set(said)
    assert set(said["solution"]) == {"recoding", "levels", "reproducible"}
    assert said["privacy"]["accounting"][1]["k"] == asked.k
    text = b" ".join(folders[0].values()).decode()
    assert not re.search(r"\b(133|535)\b", text)


@pytest.mark.slow
def test_the_owner_reads_more_in_the_internal_report(tmp_path: Path) -> None:
    made = sf.anonymize(people(), **ASKED, require=sf.DifferentialPrivacy(1, 1e-3))
    made.save(tmp_path / "out", internal_report=tmp_path / "internal.html")
    assert "4,000" in (tmp_path / "internal.html").read_text()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "4,000" not in page
    assert "and is differentially private by construction; what else it promises is proven" in page
    assert page.count('<span class="line"><span>Differential privacy, epsilon = 1') == 3  # of each kind of disclosure
    assert not any(untold in page for untold in ("Rows suppressed", "Information lost", "Loss per column"))
    assert "suppressed" not in repr(made)
    assert made.original.height == 4000
    assert made.original[made.rows].height == made.table.height


def test_what_is_promised_is_told_as_what_it_is(tmp_path: Path) -> None:
    made = sf.anonymize(people(), **ASKED, require="differential-privacy 1 1e-3")
    assert [(one.model, one.how) for one in made.verification.promises] == [
        ("differential-privacy", "by construction"), ("k-anonymity", "proven"),
    ]  # fmt: skip
    folder = made.save(tmp_path / "out")
    found = sf.verify(folder)
    assert found.outcome == "holds"
    assert found.promises[1].how == "by construction"
    page = (folder / "report.html").read_text()
    assert page.count("By construction") >= 2
    assert "nobody can make the same table again" in page
    assert "sfumato anonymize" not in page
    rows = pl.read_csv(folder / "data.csv")
    lie = rows.head(rows.height - 1)  # the last class falls short of k, or the bytes are others
    lie.write_csv(folder / "data.csv")
    assert sf.verify(folder).outcome == "broken"


def test_a_cost_that_is_not_that_of_the_promise_is_found(tmp_path: Path) -> None:
    folder = sf.anonymize(people(), **ASKED, require=sf.DifferentialPrivacy(1, 1e-3)).save(tmp_path / "out")
    file = folder / "manifest.json"
    said = json.loads(file.read_text())
    said["privacy"]["epsilon"] = "0.1"
    file.write_text(json.dumps(said))
    assert sf.verify(folder).outcome == "broken"


def test_less_privacy_keeps_more() -> None:
    losses = []
    for epsilon in (0.2, 1, 4):
        asked = sf.DifferentialPrivacy(epsilon, 1e-4)
        runs = [sf.anonymize(people(), **ASKED, require=asked).solution.verdict.loss for _ in range(3)]
        losses.append(float(np.mean(runs)))
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[-1] + 0.2


def test_an_account_pays_first_and_a_spent_one_draws_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = sf.dp.Account(tmp_path / "ledger.sqlite", epsilon=2, delta=0.01)
    for _ in range(2):
        sf.anonymize(people(), **ASKED, require=sf.DifferentialPrivacy(1, 1e-3), account=account)
    monkeypatch.setattr(sampled, "sample_rows", lambda *_: pytest.fail("drawn without a budget"))
    with pytest.raises(BudgetSpent):
        sf.anonymize(people(), **ASKED, require=sf.DifferentialPrivacy(1, 1e-3), account=account)
    other = sf.dp.Account(tmp_path / "other.sqlite", epsilon=1, delta=0.01)
    with pytest.raises(PolicyError, match="no hierarchy that is the same"):  # nothing was charged for this
        sf.anonymize(people(), quasi=["age", "sex"], require=sf.DifferentialPrivacy(1, 1e-3), account=other)
    assert not (tmp_path / "other.sqlite").exists()
    with pytest.raises(PolicyError, match="an account is for private releases"):
        sf.anonymize(people(), **ASKED, k=5, account=other)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another search": ({"search": "optimal"}, "looks at the table with noise only"),
    "no promise": ({"require": sf.KAnonymity(5), "search": "safepub"}, "none is asked for"),
    "two promises": ({"require": [sf.DifferentialPrivacy(1, 1e-3), sf.DifferentialPrivacy(2, 1e-3)]}, "takes one"),
    "suppression": ({"suppression": 0.1}, "suppression has no meaning"),
    "a seed": ({"seed": 4}, "seed has no meaning"),
    "the order of the input": ({"order": "random"}, "order has no meaning"),
    "steps": ({"mask": [sf.Rounding("age", base=5)]}, "mask has no meaning"),
    "bounds": ({"numbers": "bounds"}, "numbers has no meaning"),
    "a column as it was": ({"quasi": ["age"], "insensitive": ["sex"], "hierarchies": {"age": "age"}}, '"sex" would be'),
    "a learned hierarchy": ({"hierarchies": {"age": "learned", "sex": "flat"}}, '"age" has no hierarchy that'),
    "masks of the longest": ({"hierarchies": {"age": "redact:right", "sex": "flat"}}, '"age" has no hierarchy that'),
    "alternatives": ({"hierarchies": TREES | {"age": sf.either(sf.intervals(5), sf.intervals(7))}}, '"age" has no'),
    "l-diversity": ({"quasi": ["age"], "require": [sf.DifferentialPrivacy(1, 1e-3), sf.DistinctLDiversity("sex", 2)]},
                    "cannot be promised beside it"),
    "several sets": ({"quasi": [["age"], ["age", "sex"]]}, "one set of quasi-identifiers"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_would_break_the_promise_is_refused(what: str) -> None:
    more, said = REFUSED[what]
    with pytest.raises(PolicyError, match=said):
        sf.anonymize(people(60), **(ASKED | {"require": sf.DifferentialPrivacy(1, 1e-3)} | more))


def test_an_out_of_core_table_is_refused(tmp_path: Path) -> None:
    people(200).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(PolicyError, match="sampled in memory"):
        sf.anonymize(
            sf.scan(tmp_path / "a.parquet"), **ASKED, require=sf.DifferentialPrivacy(1, 1e-3), to=tmp_path / "out"
        )


def test_a_table_that_is_too_small_is_not_released() -> None:
    with pytest.raises(Infeasible, match="nothing can be released"):
        sf.anonymize(people(30), **ASKED, require=sf.DifferentialPrivacy(1, 1e-6))


def test_from_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people().write_csv(tmp_path / "a.csv")
    trees = ["--hierarchy", "age=intervals:10,20,40", "--hierarchy", "sex=flat"]
    asked = ["--quasi", "age,sex", *trees, "--require", "differential-privacy 1 1e-3"]
    words = ["anonymize", str(tmp_path / "a.csv"), *asked, "-o", str(tmp_path / "out")]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "cost: epsilon 1, delta 0.001" in told
    assert "by construction  differential-privacy" in told
    assert "4,000" not in told
    assert main(["verify", str(tmp_path / "out")]) == 0


@pytest.mark.slow
def test_a_ledger_from_the_shell_and_from_a_policy_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people().write_csv(tmp_path / "a.csv")
    trees = ["--hierarchy", "age=intervals:10,20,40", "--hierarchy", "sex=flat"]
    asked = [str(tmp_path / "a.csv"), "--quasi", "age,sex", *trees, "--require", "differential-privacy 1 1e-3"]
    ledger = ["--ledger", str(tmp_path / "ledger.sqlite"), "--budget", "2", "--budget-delta", "0.01"]
    assert main(["anonymize", *asked, *ledger, "-o", str(tmp_path / "one")]) == 0
    (tmp_path / "policy.toml").write_text(
        """
        [input]
        path = "a.csv"
        [roles]
        quasi = ["age", "sex"]
        [hierarchies]
        age = { intervals = [10, 20, 40] }
        sex = "flat"
        [[require]]
        model = "differential-privacy"
        epsilon = 1
        delta = 1e-3
        [search]
        method = "safepub"
        account = { ledger = "ledger.sqlite", epsilon = 2, delta = 0.01 }
        [output]
        path = "two"
        """
    )
    assert main(["anonymize", str(tmp_path / "policy.toml")]) == 0
    capsys.readouterr()
    assert main(["anonymize", str(tmp_path / "policy.toml"), "-o", str(tmp_path / "three")]) != 0
    assert not (tmp_path / "three").exists()
    assert "budget" in capsys.readouterr().err
    assert main(["anonymize", *asked, "--budget", "2", "-o", str(tmp_path / "four")]) == 2
