"""Local privacy: reports follow their law, tell two values apart by no more than epsilon, and estimate without bias."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.cli import main
from sfumato.dp.local import BinaryResponse, KaryResponse, LocalRandomiser, OptimisedUnaryEncoding
from sfumato.errors import PolicyError
from tests.fuzz import FUZZ

EPSILONS = ["0.000001", "0.1", "1", "2.5", "20"]
FAR = 5.5  # standard deviations: 4 in 10^8


def test_closed_forms():
    four = KaryResponse(list("abcd"), 1)
    assert four.p == pytest.approx(0.475367, abs=1e-6)
    assert four.q == pytest.approx(0.174878, abs=1e-6)
    assert four.p == pytest.approx(math.e / (math.e + 3), abs=1e-12)
    found = four.estimate_counts({"a": 300, "b": 200, "c": 500}, 1000)
    assert found["value"].to_list() == list("abcd")
    assert found["estimate"][0] == pytest.approx((0.3 - four.q) / (four.p - four.q), abs=1e-12)
    assert found["error"][1] ** 2 == pytest.approx(0.2 * 0.8 / (1000 * (four.p - four.q) ** 2), abs=1e-12)
    assert found["estimate"].sum() == pytest.approx(1)
    assert BinaryResponse(1).p == pytest.approx(0.731058578, abs=1e-9)
    many = OptimisedUnaryEncoding(range(50), 1)
    assert (many.p, many.q) == (0.5, pytest.approx(1 / (math.e + 1), abs=1e-12))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_report_tells_more_than_epsilon(epsilon: str) -> None:
    """The exact likelihoods of the probabilities that are drawn with."""
    most = Fraction(Decimal(epsilon).exp() * (1 + Decimal("1e-26")))
    for k in (2, 3, 64):
        kept = Fraction(KaryResponse(range(k), epsilon).p)
        assert kept / ((1 - kept) / (k - 1)) <= most
    kept = Fraction(BinaryResponse(epsilon).p)
    assert kept / (1 - kept) <= most
    set_with = Fraction(OptimisedUnaryEncoding(range(5), epsilon).q)
    assert (1 - set_with) / set_with <= most


def shares(of: LocalRandomiser, value: Any, n: int) -> tuple[np.ndarray, list[Any]]:
    reports = [of.respond(value) for _ in range(n)]
    return of.count(reports)[0] / n, reports


@pytest.mark.slow
@pytest.mark.parametrize("of", [BinaryResponse(1), KaryResponse(list("abcd"), 1), OptimisedUnaryEncoding(range(9), 1)])
def test_reports_follow_their_law_and_tell_no_more_than_epsilon(of: LocalRandomiser) -> None:
    n = 4_000 * FUZZ
    values = [True, False] if isinstance(of, BinaryResponse) else list(of.texts)[:2]
    seen = []
    for at, value in enumerate(values):
        share, reports = shares(of, value, n)
        law = np.full(len(share), of.q)
        law[at] = of.p
        assert (np.abs(share - law) < FAR * np.sqrt(law * (1 - law) / n)).all()
        seen.append(share)
        if isinstance(of, OptimisedUnaryEncoding):  # bits are drawn apart from each other
            bits = np.array([list(map(int, report)) for report in reports])
            related = np.corrcoef(bits.T) - np.eye(bits.shape[1])
            assert np.abs(related).max() < (FAR + 1) / math.sqrt(n)
        else:
            chance = ((share - law) ** 2 / law).sum() * n
            assert chance < 40 + 2 * len(law)
    assert log_ratio(seen, n) < 1
    assert log_ratio([np.array([0.9, 0.1]), np.array([0.1, 0.9])], n) > 1  # what twice the epsilon would show


def log_ratio(seen: list[np.ndarray], n: int) -> float:
    """The least log likelihood ratio, of the best outcome, that the shares leave possible."""
    one, other = seen
    sure = np.log(one / other) - FAR * np.sqrt((1 - one) / (one * n) + (1 - other) / (other * n))
    return float(sure.max())


@pytest.mark.slow
@pytest.mark.parametrize(
    "of", [BinaryResponse("0.5"), KaryResponse(list("abcde"), 2), OptimisedUnaryEncoding(range(5), 1)]
)
def test_estimates_are_unbiased_and_intervals_hold_as_often_as_they_say(of: LocalRandomiser) -> None:
    """Of reports that are drawn by the same law, which the test above holds OpenDP to."""
    rng = np.random.default_rng(7)
    runs, n, k = 2000, 3000, len(of.texts)
    truth = np.array([0.02, *np.full(k - 1, 0.98 / (k - 1))])
    said = of.q + (of.p - of.q) * truth
    if isinstance(of, OptimisedUnaryEncoding):
        counts = rng.binomial(n, said, (runs, k))
    else:
        counts = rng.multinomial(n, said / said.sum(), runs)
    found = [of.estimate_counts(dict(zip(of.texts, own.tolist(), strict=True)), n) for own in counts]
    estimates, errors = (np.array([one[name].to_list() for one in found]) for name in ("estimate", "error"))
    assert (np.abs(estimates.mean(0) - truth) < FAR * errors.mean(0) / math.sqrt(runs)).all()
    inside = np.array([((one["low"] <= truth + 1e-12) & (one["high"] >= truth - 1e-12)).to_list() for one in found])
    assert (np.abs(inside.mean(0) - 0.95) < 0.025).all()  # five standard deviations of one share
    assert abs(inside.mean() - 0.95) < 0.01


def test_unary_encoding_is_better_for_many_values_and_worse_for_few():
    for k, better in ((4, False), (10, False), (13, True), (100, True)):
        few, many = KaryResponse(range(k), 1), OptimisedUnaryEncoding(range(k), 1)
        variances = [of.q * (1 - of.q) / (of.p - of.q) ** 2 for of in (few, many)]  # of a value that nobody has
        assert (variances[1] < variances[0]) == better


def test_values_are_those_that_were_named():
    answer = KaryResponse([1, 2, None], 20)
    assert answer.texts == ("1", "2", "")
    assert [answer.respond(value) for value in (2, None, "1")] == ["2", "", "1"]
    assert answer.estimate(["1", "2", "2", None])["reports"].to_list() == [1, 2, 1]
    many = OptimisedUnaryEncoding(range(17), 20)
    assert many.estimate([many.respond(3)] * 4)["reports"].sum() in (0, 4)


@pytest.mark.parametrize(
    ("match", "call"),
    [
        ("out of range", lambda: BinaryResponse(0)),
        ("protects nobody", lambda: KaryResponse(["a", "b"], 21)),
        ("a list of two or more", lambda: KaryResponse("ab", 1)),
        ("a list of two or more", lambda: OptimisedUnaryEncoding(["a"], 1)),
        ("one twice", lambda: KaryResponse(["a", "a"], 1)),
        ("none of those", lambda: KaryResponse(["a", "b"], 1).respond("c")),
        ("must be true or false", lambda: BinaryResponse(1).respond("yes")),
        ("some reports say none", lambda: KaryResponse(["a", "b"], 1).estimate(["a", "z"])),
        ("no text of 0 and 1", lambda: OptimisedUnaryEncoding(["a", "b"], 1).estimate(["01", "011", None])),
        ("there are no reports", lambda: KaryResponse(["a", "b"], 1).estimate([])),
        ("counts must be of the values", lambda: KaryResponse(["a", "b"], 1).estimate_counts({"a": 5}, 4)),
    ],
)
def test_what_makes_no_sense_is_refused(match: str, call: Any) -> None:
    with pytest.raises(PolicyError, match=match):
        call()


def test_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--values", "tea,milk", "--epsilon", "1"]
    assert main(["dp", "collect", "respond", "tea", *asked]) == 0
    assert capsys.readouterr().out.strip() in ("tea", "milk")
    assert main(["dp", "collect", "respond", "yes", "--by", "binary", "--epsilon", "1"]) == 0
    assert capsys.readouterr().out.strip() in ("true", "false")
    assert main(["dp", "collect", "respond", "tea", "--by", "unary", *asked, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["report"]) <= {"0", "1"}
    pl.DataFrame({"at": [1] * 10, "drink": ["tea"] * 7 + ["milk"] * 3}).write_csv("r.csv")
    assert main(["dp", "collect", "estimate", "r.csv", "--column", "drink", *asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["estimates"]
    assert [one["reports"] for one in found] == [7, 3]
    pl.DataFrame({"bits": ["01", "11"]}).write_csv("b.csv")
    assert main(["dp", "collect", "estimate", "b.csv", "--by", "unary", *asked]) == 0
    assert "milk" in capsys.readouterr().out
    assert main(["dp", "collect", "respond", "coffee", *asked]) == 2
    assert main(["dp", "collect", "respond", "coffee", "--epsilon", "1"]) == 2
    assert main(["dp", "collect", "respond", "coffee", "--by", "binary", "--epsilon", "1"]) == 2
    assert main(["dp", "collect", "estimate", "r.csv", "--by", "binary", *asked]) == 2
