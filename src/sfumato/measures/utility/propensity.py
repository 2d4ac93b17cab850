"""Propensity: how well a model tells synthetic rows from real ones.

M. Woo, J. P. Reiter, A. Oganian, A. F. Karr, Global measures of data utility for microdata masked for disclosure
limitation, Journal of Privacy and Confidentiality 1, 2009; J. Snoke, G. M. Raab, B. Nowok, C. Dibben, A. Slavkovic,
General and specific utility measures for synthetic data, Journal of the Royal Statistical Society A 181, 2018.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import OneOf, Whole, checked
from sfumato.core.wording import count
from sfumato.measures.arguments import COUNT, ORIGINAL, SEED, SOME_COLUMNS, TABLE
from sfumato.measures.measure import Measure
from sfumato.measures.risk.synthetic_membership import area
from sfumato.measures.risk.synthetic_tables import SyntheticTables, tables_of
from sfumato.measures.utility.coded_rows import boosted_rows, design, some_rows
from sfumato.measures.utility.learning import boosted, sklearn
from sfumato.measures.utility.regression import logistic

MODELS = ("logistic", "trees", "boosted")
LEAF, LEAVES = 20, 100  # of the trees: rows of the least leaf, and leaves


def expected_pmse(parameters: int, share: float, rows: int, sampled: float = 1.0) -> float:
    """The pMSE to expect of a logistic model with so many parameters where the synthesis is correct: (K-1)(1-c)²c/N.

    `share` is that of the synthetic among all `rows`. Correct is what is drawn from a model of the real rows at hand;
    fresh real rows, which know nothing of them, differ 1/(1 - share) as much. Where only a share of the real rows is
    `sampled`, the synthesis does not know which, and one of the factors 1 - c becomes 1 - c times that share.

    >>> round(expected_pmse(4, 0.5, 1000), 9)
    0.000375
    """
    return (parameters - 1) * (1 - share) * share / rows * (1 - share * sampled)


@checked
def propensity(
    original: Annotated[Any, ORIGINAL],
    synthetic: Annotated[Any, TABLE] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    model: Annotated[str, OneOf(MODELS)] = "logistic",
    hold_out: Annotated[Any, TABLE] = None,
    permutations: Annotated[int, COUNT] = 20,
    most: Annotated[int, Whole(2)] = 50_000,
    seed: Annotated[int, SEED] = 0,
) -> Measure:
    """How well a model tells synthetic rows from real ones: not at all where the synthesis is right.

    The rows of both tables are put together and a model estimates for each the probability p of being synthetic. With
    c the share of synthetic rows, pMSE is the mean of (p - c)². Its ratio to the value expected of a correct synthesis
    is the value: 1 where nothing is wrong that the model could see. The expected value is `expected_pmse` for the
    logistic model, and the mean over permuted labels times 1 - c for trees. The value of the boosted model is the area
    under its curve, each half of the rows judged by a model of the other: 0.5 is a coin. Below 0.5 the synthetic table
    repeats real rows, which the other half calls real.

    The baseline is the same with the rows of `hold_out` in the place of the synthetic ones, in the same proportion.
    They are drawn apart from the original, so that for equal numbers of rows it is about 2, not 1.

    Parameters
    ----------
    original, synthetic
        The rows that the model was fitted on, and those drawn from it. hold_out: real rows that it never saw.
    columns
        Those to tell the rows by; all that the tables share unless given.
    model
        logistic (main effects), trees (one classification tree) or boosted (60 rounds). The last two need scikit-learn.
    permutations
        How often labels are permuted for trees.
    most
        Of how many rows of each table at most, drawn at random, which the sentence then says.

    Returns
    -------
    A Measure. `details`: pmse, expected, ratio, parameters, share, rows, auc (in sample but for the boosted model), and
    for the logistic model `standardised`, (pmse - expected) over its standard deviation.

    Examples
    --------
    >>> real = {"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"]}
    >>> propensity(real, real).value
    0.0
    """
    tables = tables_of(original, synthetic, hold_out, columns)
    if model != "logistic":
        sklearn("ensemble")
    rng = np.random.default_rng(seed)
    rows = tables.parts(np.arange(tables.rows))
    real, drawn = (some_rows(part, most, rng) for part in rows[:2])
    judge = {"logistic": _by_logistic, "trees": _by_trees, "boosted": _by_boosting}[model]
    judged = judge(tables, permutations, len(real) / len(rows[0]), seed)
    found = judged(real, drawn)
    key = "auc" if model == "boosted" else "ratio"
    details: dict[str, Any] = {"model": model, "columns": list(tables.names), **found}
    interval = details.pop("interval", None)
    baseline = None
    for held in rows[2:]:  # in the same proportion: the ratio depends on it
        fresh = some_rows(held, len(drawn), rng)
        beside = judged(some_rows(real, max(round(len(real) * len(fresh) / len(drawn)), 1), rng), fresh)
        beside.pop("interval", None)
        details["hold_out"], baseline = beside, beside[key]
    sentence = _sentence(model, found, baseline, len(real) + len(drawn) < len(rows[0]) + len(rows[1]))
    ends = (0.0, 1.0) if model == "boosted" else (0.0, math.inf)
    return Measure("propensity", found[key], ends, sentence, interval, baseline, details)


Judged = Callable[[np.ndarray, np.ndarray], dict[str, Any]]


def _labels(real: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    chosen = np.concatenate([real, drawn])
    return chosen, np.repeat([0.0, 1.0], [len(real), len(drawn)]), len(drawn) / len(chosen)


def _figures(p: np.ndarray, y: np.ndarray, share: float) -> dict[str, Any]:
    auc, interval = area(p[y == 1], p[y == 0])
    pmse = float(((p - share) ** 2).mean())
    return {"pmse": pmse, "auc": auc, "share": share, "rows": len(y), "interval": interval}


def _by_logistic(tables: SyntheticTables, permutations: int, sampled: float, seed: int) -> Judged:
    x, _ = design(tables, tables.names)

    def judged(real: np.ndarray, drawn: np.ndarray) -> dict[str, Any]:
        chosen, y, share = _labels(real, drawn)
        fit = logistic(x[chosen], y)
        found = _figures(fit.fitted, y, share)
        del found["interval"]
        expected = expected_pmse(fit.parameters, share, len(y), sampled)
        spread = expected * math.sqrt(2 / (fit.parameters - 1)) if fit.parameters > 1 else math.nan
        return found | {
            "expected": expected,
            "ratio": found["pmse"] / expected if expected > 0 else math.nan,
            "standardised": (found["pmse"] - expected) / spread if expected > 0 else math.nan,
            "parameters": fit.parameters,
        }

    return judged


def _by_trees(tables: SyntheticTables, permutations: int, sampled: float, seed: int) -> Judged:
    columns = [tables.column(name) for name in tables.names]  # codes are in order, and small where numbers may be huge
    x = np.column_stack([np.where([t is None for t in c.text], np.nan, range(c.size))[c.code] for c in columns])

    def judged(real: np.ndarray, drawn: np.ndarray) -> dict[str, Any]:
        chosen, y, share = _labels(real, drawn)
        rng, rows = np.random.default_rng(seed), x[chosen]

        def fitted(labels: np.ndarray) -> np.ndarray:
            if share in (0.0, 1.0):
                return np.full(len(labels), share)
            tree = sklearn("tree").DecisionTreeClassifier(
                min_samples_leaf=LEAF, max_leaf_nodes=LEAVES, random_state=seed % 2**32
            )
            chances: np.ndarray = tree.fit(rows, labels).predict_proba(rows)[:, 1]
            return chances

        found = _figures(fitted(y), y, share)
        del found["interval"]
        nulls = [((fitted(rng.permutation(y)) - share) ** 2).mean() for _ in range(permutations)]
        expected = float(np.mean(nulls)) * (1 - share * sampled)
        ratio = found["pmse"] / expected if expected > 0 else math.nan
        return found | {"expected": expected, "ratio": ratio, "permutations": permutations}

    return judged


def _by_boosting(tables: SyntheticTables, permutations: int, sampled: float, seed: int) -> Judged:
    x, categories = boosted_rows(tables, tables.names)

    def judged(real: np.ndarray, drawn: np.ndarray) -> dict[str, Any]:
        chosen, y, share = _labels(real, drawn)
        rng = np.random.default_rng(seed)
        half = np.concatenate([rng.permutation(len(part)) % 2 for part in (real, drawn)])
        p = np.full(len(y), share)
        for side in (0, 1):
            train, test = half != side, half == side
            if test.any() and len(np.unique(y[train])) == 2:
                rows = x[chosen]
                p[test] = boosted("Classifier", rows[train], y[train], categories, rows[test], seed)[:, 1]
        return _figures(p, y, share)

    return judged


def _sentence(model: str, found: dict[str, Any], baseline: float | None, some: bool) -> str:
    drew = f" (of {found['rows']:,} rows, drawn at random)" if some else ""
    if model == "boosted":
        beside = f", held-out real rows {baseline:.3f}" if baseline is not None else ""
        return (
            f"A boosted classifier tells synthetic rows from real ones with an area under the curve of "
            f"{found['auc']:.3f}{beside}{drew}; 0.5 is a coin, 1 tells them apart without error."
        )
    if not math.isfinite(found["ratio"]):
        return "There is nothing to tell the rows by: no column varies enough for the model."
    beside = f", and of held-out real rows {baseline:.3g}" if baseline is not None and math.isfinite(baseline) else ""
    what = f"logistic regression with {count(found['parameters'], 'parameter')}" if model == "logistic" else "tree"
    return (
        f"A {what} tells synthetic rows from real ones: the mean squared propensity is {found['ratio']:.3g} times "
        f"that expected of a correct synthesis{beside}{drew}; 1 is as good as can be told."
    )
