"""Optimal equals exhaustive search, for every criterion and loss."""

from __future__ import annotations

import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.microdata import microdata
from sfumato.losses import LOSSES
from tests.fuzz import FUZZ, slow_but

from .plain import best_node

CRITERIA = {
    "k-anonymity": sf.KAnonymity(3),
    "distinct-l-diversity": sf.DistinctLDiversity("s", 2),
    "entropy-l-diversity": sf.EntropyLDiversity("s", 1.8),
    "recursive-cl-diversity": sf.RecursiveCLDiversity("s", 2.0, 2),
    "t-closeness": sf.TCloseness("s", 0.3),
    "t-closeness ordered": sf.TCloseness("s", 0.25, "ordered"),
    "t-closeness hierarchical": sf.TCloseness("s", 0.25, "hierarchical"),
    "t-closeness kl": sf.TCloseness("s", 0.4, "kl"),
    "alpha-k": sf.AlphaK(0.6, 2, "s"),
    "beta-likeness": sf.BetaLikeness("s", 1.0),
    "beta-likeness enhanced": sf.BetaLikeness("s", 1.5, "enhanced"),
    "delta-disclosure": sf.DeltaDisclosure("s", 1.2),
    "k-map": sf.KMap(6, 0.2),
    "distinct-l-diversity per": sf.DistinctLDiversity("s", 1, per={"flu": 3}),
    "entropy-l-diversity per": sf.EntropyLDiversity("s", 1.4, per={"flu": 2.5}),
    "recursive-cl-diversity per": sf.RecursiveCLDiversity("s", 3, 2, per={"flu": 1.5}),
    "t-closeness per": sf.TCloseness("s", 0.5, per={"flu": 0.2}),
    "t-closeness reference": sf.TCloseness(
        "s", 0.7, reference={"flu": 2001, "asthma": 1000, "ulcer": 1000, "gout": 999}
    ),
    "alpha-k per": sf.AlphaK(0.7, 2, "s", per={"flu": 0.4}),
    "beta-likeness reference": sf.BetaLikeness(
        "s", 2, reference={"flu": 1001, "asthma": 1000, "ulcer": 1000, "reflux": 999}
    ),
    "personal-k-anonymity": sf.PersonalKAnonymity("s"),
    "personal-l-diversity": sf.PersonalLDiversity("s", "s"),
    "xy-anonymity": sf.XYAnonymity("s", 2),
    "xy-linkability": sf.XYLinkability("s", 0.6),
    "average-risk": sf.AverageRisk(0.25),
    "sample-uniqueness": sf.SampleUniqueness(0.1),
    "population-uniqueness": sf.PopulationUniqueness(0.1, 0.2),
}
TREES = {
    "a": sf.wide([(v, v[0], "*") for v in ("p1", "p2", "q1", "q2", "q3")]),
    "b": sf.wide(
        [(v, g, h, "*") for v, g, h in (("u", "uv", "uvw"), ("v", "uv", "uvw"), ("w", "w", "uvw"), ("x", "x", "x"))]
    ),
    "c": sf.flat(),
    "s": sf.wide([("flu", "lung", "*"), ("asthma", "lung", "*"), ("ulcer", "gut", "*"), ("reflux", "gut", "*")]),
}
PATHS = {
    "flu": ["flu", "lung", "*"],
    "asthma": ["asthma", "lung", "*"],
    "ulcer": ["ulcer", "gut", "*"],
    "reflux": ["reflux", "gut", "*"],
}


def test_every_criterion_is_tried() -> None:
    proven = {name for name, one in sf.CRITERIA.items() if one.example.how == "proven"}
    of_people = {"delta-presence", "confident-delta-presence"}  # against all nodes in tests/release/test_*population.py
    assert {name.split()[0] for name in CRITERIA} == proven - of_people


@pytest.mark.parametrize("loss", slow_but(LOSSES, "lm"))
@pytest.mark.parametrize("criterion", CRITERIA)
def test_optimal_is_exhaustive(criterion: str, loss: str) -> None:
    rng = random.Random(f"{criterion} {loss}")
    feasible = 0
    for trial in range(2 * FUZZ):
        n = rng.randint(4, 22)
        domains = {"a": ["p1", "p2", "q1", "q2", "q3"], "b": ["u", "v", "w", "x"], "c": ["m", "n"]}
        skew = rng.random()
        draw = {c: [rng.choice(d[: 2 if rng.random() < skew else None]) for _ in range(n)] for c, d in domains.items()}
        secret = [rng.choice(list(PATHS)) for _ in range(n)]
        trees = TREES
        if criterion.startswith("personal"):
            secret = [rng.choice("0112344"[: rng.choice([3, 7])]) for _ in range(n)]
            trees = {name: tree for name, tree in TREES.items() if name != "s"}
        if criterion.endswith(" per"):
            secret[0] = "flu"
        frame = pl.DataFrame(draw | {"s": secret})
        limit = rng.choice([0, 0, n // 5, n])
        require = [CRITERIA[criterion]] if trial % 2 else [sf.KAnonymity(2), CRITERIA[criterion]]
        attributes = [microdata(frame, {c: "quasi"}, trees).attribute(c) for c in domains]
        rows = list(zip(*draw.values(), strict=True))
        expected = best_node(attributes, rows, secret, require, LOSSES[loss].example, limit, PATHS)
        options = {
            "quasi": list(domains),
            "require": require,
            "search": "optimal",
            "loss": loss,
            "suppression": limit,
            "hierarchies": trees,
        }
        if expected is None:
            with pytest.raises(sf.errors.Infeasible):
                sf.anonymize(frame, **options)
            continue
        feasible += 1
        solution = sf.anonymize(frame, **options).solution
        assert solution.optimal
        assert solution.verdict.loss == pytest.approx(expected[0], abs=1e-9)
        assert tuple(solution.levels.values()) == expected[2]
    assert feasible
