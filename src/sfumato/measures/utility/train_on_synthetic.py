"""Train on synthetic, test on real: whether a model learnt from synthetic rows is right about people.

C. Esteban, S. L. Hyland, G. Rätsch, Real-valued (medical) time series generation with recurrent conditional GANs, 2017.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import Whole, checked, column_names
from sfumato.core.wording import count, percent
from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.arguments import ORIGINAL, SEED, SOME_COLUMNS, TABLE, TARGET
from sfumato.measures.measure import Measure
from sfumato.measures.risk.synthetic_membership import area
from sfumato.measures.risk.synthetic_tables import SyntheticTables, tables_of
from sfumato.measures.utility.coded_rows import boosted_rows, numbers_of, some_rows
from sfumato.measures.utility.learning import MOST_CLASSES, boosted, sklearn

FEW = 10  # values up to which numbers are classes
LEAST = 10  # real rows that a class is learnt from
TESTED = 4  # without a hold-out, one real row in so many is tested


@checked
def train_on_synthetic(
    original: Annotated[Any, ORIGINAL],
    synthetic: Annotated[Any, TABLE] = None,
    features: Annotated[Any, SOME_COLUMNS] = None,
    *,
    target: Annotated[str, TARGET],
    hold_out: Annotated[Any, TABLE] = None,
    most: Annotated[int, Whole(2)] = 100_000,
    seed: Annotated[int, SEED] = 0,
) -> Measure:
    """How well a model trained on synthetic rows predicts a column of real rows, beside one trained on real rows.

    Boosted trees of 60 rounds are tested on `hold_out`, real rows that no model saw. The value is the area under the
    curve, for several classes the mean over these of each against the rest, and R² for a number of more than 10 values.
    Classes with fewer than 10 original rows to learn from are left out, with their rows in all tables, if two others
    remain: nothing can be learnt of them, and one tested row would decide the area of each. The baseline is that of a
    model trained on the original. Without a hold-out a quarter of the original is tested, which the model of the other
    three quarters did not see but the synthesis did, as the sentence then says.

    Parameters
    ----------
    original, synthetic
        The rows that the model was fitted on, and those drawn from it.
    features
        The columns to predict from; all shared ones but the target by default.
    target
        The column to predict; rows that lack it are left out.
    most
        Of how many rows of each table at most, drawn at random.

    Returns
    -------
    A Measure. `details`: `synthetic` and `original`, of models trained on either: `accuracy` and `auc`, or `r2`;
    `majority`, the share of the most frequent class among the tested rows; `tested`, how many these are; `rare`, how
    many classes are left out.

    Raises
    ------
    MissingExtra: scikit-learn is not installed.
    """
    sklearn("ensemble")
    target = column_names(target, "target")[0]
    if features is None:
        shared = tables_of(original, synthetic, hold_out)
        tables = tables_of(shared, columns=(target, *(name for name in shared.names if name != target)))
    else:
        tables = tables_of(original, synthetic, hold_out, (target, *column_names(features, "features")))
    names = [name for name in tables.names if name != target]
    if not names:
        raise ColumnError(f'there is no column to predict "{target}" from')
    y, number = _target(tables, target)
    x, categories = boosted_rows(tables, names)
    rng, every = np.random.default_rng(seed), tables.parts(np.arange(len(y)))
    real, drawn, *held = (some_rows(part[~np.isnan(y[part])], most, rng) for part in every)
    if held:
        test = held[0]
    else:
        order = rng.permutation(len(real))
        test, real = (real[np.sort(some)] for some in np.split(order, [len(order) // TESTED]))
    rare = np.array([]) if number else _rare(y[real], y[test])
    real, drawn, test = (rows[~np.isin(y[rows], rare)] for rows in (real, drawn, test))
    score = _predicted if number else _classified
    scores = {
        source: score(x[train], y[train], x[test], y[test], categories, seed)
        for source, train in (("synthetic", drawn), ("original", real))
    }
    key = "r2" if number else "auc"
    value, baseline = (scores[source][key] for source in ("synthetic", "original"))
    _, most_often = np.unique(y[test], return_counts=True)
    details: dict[str, Any] = {
        **scores, "target": target, "features": names, "tested": len(test),
        "majority": None if number or not len(test) else float(most_often.max() / len(test)),
        "trained": {"synthetic": len(drawn), "original": len(real)}, "rare": len(rare),
    }  # fmt: skip
    sentence = _sentence(target, scores, key, len(test), len(rare), seen=not held)
    ends = (-math.inf if number else 0.0, 1.0)
    return Measure("train-on-synthetic", value, ends, sentence, None, baseline, details)


def _target(tables: SyntheticTables, name: str) -> tuple[np.ndarray, bool]:
    """The target of each row, nan where it is missing, and whether it is a number; if not, it is a class."""
    column = tables.column(name)
    real = np.unique(tables.parts(column.code)[0])
    known = np.array([text is not None for text in column.text])
    values = int(known[real].sum())
    if column.position is not None and values > FEW:
        found = numbers_of(column)
        return found / max(float(np.nanmax(np.abs(found))), 1e-300), True
    if values > MOST_CLASSES:
        hint = "name a column with few values, or a number"
        raise PolicyError(f'"{name}" has too many values to predict', got=values, allowed=MOST_CLASSES, hint=hint)
    return np.where(known, np.arange(column.size), np.nan)[column.code], False


def _rare(real: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Classes of real rows that too few of those to learn from have; none where the others are no two."""
    classes = np.unique(np.concatenate([real, test]))
    few = (real[:, None] == classes).sum(axis=0) < LEAST
    return classes[few & ((~few).sum() > 1)]


def _classified(
    x: np.ndarray, y: np.ndarray, test: np.ndarray, truth: np.ndarray, categories: Sequence[int], seed: int
) -> dict[str, float]:
    """Accuracy, and the mean area under the curve of each class that some of the tested rows have and some do not."""
    classes = np.unique(np.concatenate([y, truth]))
    seen = np.unique(y)
    chances = np.zeros((len(test), len(classes)))
    at = np.searchsorted(classes, seen)
    if len(seen) == 1:
        chances[:, at] = 1.0
    elif len(seen) and len(test):
        chances[:, at] = boosted("Classifier", x, y, categories, test, seed)
    if not len(test):
        return {"accuracy": math.nan, "auc": math.nan}
    told = classes[chances.argmax(axis=1)] == truth if len(seen) else np.zeros(len(test), np.bool_)
    areas = [
        area(chances[truth == one, i], chances[truth != one, i])[0]
        for i, one in enumerate(classes)
        if 0 < (truth == one).mean() < 1
    ]
    return {"accuracy": float(told.mean()), "auc": float(np.mean(areas)) if areas else math.nan}


def _predicted(
    x: np.ndarray, y: np.ndarray, test: np.ndarray, truth: np.ndarray, categories: Sequence[int], seed: int
) -> dict[str, float]:
    """The share of the variance of the tested rows that is explained."""
    if len(truth) < 2 or not len(y) or not float(np.ptp(truth)) > 0:
        return {"r2": math.nan}
    guess = boosted("Regressor", x, y, categories, test, seed) if len(y) > 1 else np.full(len(test), y[0])
    return {"r2": 1 - float(((truth - guess) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())}


def _sentence(target: str, scores: dict[str, dict[str, float]], key: str, tested: int, rare: int, seen: bool) -> str:
    own, real = scores["synthetic"], scores["original"]
    few = f"with fewer than {LEAST} real rows to learn from"
    after = f" {count(rare, 'class', 'classes')} {few} {'is' if rare == 1 else 'are'} left out." if rare else ""
    if not math.isfinite(own[key]):
        return (
            f'It cannot be told how well "{target}" is predicted: the {count(tested, "tested row")} do not vary in it.'
            f"{after}"
        )
    after += " The synthesis has seen the tested rows, as none were held out." if seen else ""
    if key == "r2":
        said = f"reaches an R² of {own[key]:.3f}, one trained on real rows {real[key]:.3f}."
    else:
        said = (
            f"is right in {percent(own['accuracy'])} of cases with an area under the curve of {own['auc']:.3f}, one "
            f"trained on real rows in {percent(real['accuracy'])} with {real['auc']:.3f}."
        )
    return f'On {count(tested, "real row")}, a model of "{target}" that was trained on synthetic rows {said}{after}'
