"""Features: columns of both tables as numbers for a learner, encoded alike."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import Whole, checked, known_columns
from sfumato.core.progress import check_cancelled
from sfumato.core.wording import percent
from sfumato.errors import ColumnError, MissingExtra, PolicyError, did_you_mean
from sfumato.measures.arguments import HIERARCHIES, KEY, ORIGINAL, RELEASED, ROWS, SEED, SOME_COLUMNS, TARGET
from sfumato.measures.measure import Measure, wilson
from sfumato.measures.utility.column import ComparedColumn
from sfumato.measures.utility.pair import Pair, pair_of

MOST_VALUES = 64  # of a categorical column; rarer ones are one feature together
BINS = 10


def features_of(columns: Sequence[ComparedColumn]) -> tuple[np.ndarray, np.ndarray]:
    """The original and the released rows as matrices with the same features.

    A number or date is the midpoint of its label in standard deviations of the original, and where the release has
    ranges the width of its label as well; a missing one is the mean with the full width. A category is, per value, the
    share of its label that this value is: 1 for the value itself where nothing is generalised.
    """
    parts = [_numbers(column) if column.place is not None else _categories(column) for column in columns]
    return np.hstack([before for before, _ in parts]), np.hstack([after for _, after in parts])


def shares_of(columns: Sequence[ComparedColumn]) -> tuple[np.ndarray, np.ndarray]:
    """The same with numbers and dates as shares of ten bins of equal frequency: for models of categories."""
    parts = [
        _shares(column, *column.bins(BINS)) if column.place is not None else _categories(column) for column in columns
    ]
    return np.hstack([before for before, _ in parts]), np.hstack([after for _, after in parts])


def _numbers(column: ComparedColumn) -> tuple[np.ndarray, np.ndarray]:
    place = column.place
    assert place is not None
    own, middle, width = place[: column.values], column.midpoint, column.width
    before = own[column.code]
    known = np.isfinite(before)
    mean = float(before[known].mean()) if known.any() else 0.0
    scale = float(before[known].std()) if known.any() else 0.0
    scale = scale if scale > 0 else 1.0
    span = float(np.ptp(own[np.isfinite(own)])) if known.any() else 0.0

    def scaled(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        there = np.isfinite(x)
        return np.stack([np.where(there, x - mean, 0.0) / scale, np.where(there, w, span) / scale], axis=1)

    labels, values = scaled(middle, width), scaled(own, np.zeros(len(own)))
    found = values[column.code], labels[column.label]
    if not (labels[:, 1] > 0).any() and not (values[:, 1] > 0).any():
        return found[0][:, :1], found[1][:, :1]
    return found


def _categories(column: ComparedColumn) -> tuple[np.ndarray, np.ndarray]:
    if len(column.support) <= MOST_VALUES:
        return _shares(column, np.arange(len(column.support)), len(column.support))
    kept = np.sort(np.argsort(-column.before, kind="stable")[:MOST_VALUES])
    place = np.full(len(column.support), len(kept))  # the rest together
    place[kept] = np.arange(len(kept))
    return _shares(column, place, len(kept) + 1)


def _shares(column: ComparedColumn, place: np.ndarray, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Per row, the share of its values that stand at each place."""
    shares = np.zeros((len(column.text), features))
    owner = np.repeat(np.arange(len(column.text)), column.size)
    np.add.at(shares, (owner, place[column.members]), np.repeat(1 / np.maximum(column.size, 1), column.size))
    return np.eye(features)[place[column.code]], shares[column.label]


MODELS = ("logistic-regression", "naive-bayes", "random-forest")
MOST_CLASSES = 100
TREES = 30


@checked
def learning(
    original: Annotated[Any, ORIGINAL],
    released: Annotated[Any, RELEASED] = None,
    features: Annotated[Any, SOME_COLUMNS] = None,
    *,
    target: Annotated[str, TARGET],
    models: Sequence[str] = MODELS,
    folds: Annotated[int, Whole(2)] = 3,
    most: Annotated[int, Whole(10)] = 5_000,
    seed: Annotated[int, SEED] = 0,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    rows: Annotated[Sequence[int] | np.ndarray | None, ROWS] = None,
    key: Annotated[str | None, KEY] = None,
) -> Measure:
    """The accuracy with which models that were trained on the release predict the target of original records.

    Cross-validated: the original rows are dealt into folds, stratified by the target; each fold is predicted by models
    trained on the released rows of the others, and, to compare, on their original rows. Without alignment all released
    rows train every model. The value is the mean over the models; the baseline is that of always guessing the most
    frequent target value; details hold each model's accuracy on both, and `kept`, the share of the gain over guessing
    that is left. Numbers enter as midpoint and width of their label (naive Bayes: as shares of ten bins), categories as
    the shares of their label's values; what is the same in all rows is left out, and where all of it is, the most
    frequent target value is guessed. The target comes from the release; rows in which it is generalised are left out
    of training.

    Parameters
    ----------
    features
        The columns to predict from; all shared ones but the target by default.
    models
        Any of logistic-regression, naive-bayes, random-forest.
    folds, most, seed
        Number of folds; how many rows are used at most, drawn at random, which the sentence then says; the seed of both
        and of the forests.

    Raises
    ------
    MissingExtra: scikit-learn is not installed.
    """
    _check(models)
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    known_columns([target], pair.original.columns, "the original")
    names = [name for name in pair.names(features, "features") if name != target]
    if not names:
        raise ColumnError(f'there is no column to predict "{target}" from')
    columns = [pair.column(name) for name in names]
    encoded = {name: (shares_of if name == "naive-bayes" else features_of)(columns) for name in models}
    truth, taught = _targets(pair, target)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(truth))[:most])
    fold = np.full(len(truth), -1)
    fold[chosen] = _deal(truth[chosen], folds, rng)
    of = pair.rows
    if of is None:
        drawn = np.sort(rng.permutation(len(taught))[:most])
        in_fold = np.full(len(taught), -1)
    else:
        drawn, in_fold = np.arange(len(taught)), fold[of]
        drawn = drawn[in_fold >= 0]
    drawn = drawn[taught[drawn] >= 0]
    majority = float(np.bincount(truth[chosen]).max() / len(chosen))
    usual = {"released": _most_frequent(taught[drawn]), "original": _most_frequent(truth[chosen])}
    right: dict[str, dict[str, int]] = {name: {"released": 0, "original": 0} for name in models}
    for number in range(folds):
        test = np.flatnonzero(fold == number)
        if not len(test):
            continue
        own = chosen[fold[chosen] != number]
        learn = drawn[in_fold[drawn] != number]
        for name, (before, after) in encoded.items():
            for source, x, y in (("released", after[learn], taught[learn]), ("original", before[own], truth[own])):
                guess = _predict(name, x, y, before[test], usual[source], seed)
                right[name][source] += int((guess == truth[test]).sum())
    n = len(chosen)
    scores = {name: {source: hits / n for source, hits in found.items()} for name, found in right.items()}
    value, plain = (float(np.mean([of[source] for of in scores.values()])) for source in ("released", "original"))
    kept = (value - majority) / (plain - majority) if plain > majority else math.nan
    part = "all" if kept >= 1 else percent(max(0.0, kept))
    gain = f"; the release keeps {part} of the gain over guessing" if math.isfinite(kept) else ""
    drew = f" ({n} of {len(truth)} records, drawn at random)" if n < len(truth) else ""
    sentence = (
        f'Models trained on the release predict "{target}" of original records right in {percent(value)} of cases'
        f"{drew}, against {percent(plain)} when trained on the original and {percent(majority)} by always guessing "
        f"the most frequent value{gain}."
    )
    details: dict[str, Any] = {
        "models": scores, "original": plain, "majority": majority, "kept": kept, "rows": n, "folds": folds,
        "target": target, "features": names, "aligned": of is not None, "untaught": int((taught < 0).sum()),
    }  # fmt: skip
    return Measure("learning", value, (0.0, 1.0), sentence, wilson(round(value * n), n), majority, details)


def _check(models: Sequence[str]) -> None:
    for name in models if not isinstance(models, str) else [models]:
        if name not in MODELS or isinstance(models, str):
            hint = did_you_mean(str(name), MODELS)
            raise PolicyError("unknown model", got=repr(name), allowed=f"a list of {', '.join(MODELS)}", hint=hint)
    if not models:
        raise PolicyError("models is empty", allowed=", ".join(MODELS))
    sklearn("base")


def _targets(pair: Pair, target: str) -> tuple[np.ndarray, np.ndarray]:
    """The target of each original and released row as a code, -1 where the release does not tell it."""
    if target in pair.released.columns:
        column = pair.column(target)
        truth, values = column.code, column.values
        first = column.members[np.minimum(column.start[:-1], max(len(column.members) - 1, 0))]
        single = (column.size == 1) & (first < values)
        taught = np.where(single, first, -1)[column.label]
        classes = column.attribute.categories.text
    else:
        from sfumato.core.microdata import encode

        categories, truth = encode(pair.original.get_column(target))
        classes, taught = categories.text, truth[pair.aligned("learning a column that the release lacks")]
    if len(classes) > MOST_CLASSES:
        hint = "name a column with few values, or band it"
        raise PolicyError(
            f'"{target}" has too many values to predict', got=len(classes), allowed=MOST_CLASSES, hint=hint
        )
    return truth.astype(np.int64), taught.astype(np.int64)


def _deal(truth: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """A fold per row: within each class of the target, shuffled rows are dealt round."""
    order = rng.permutation(len(truth))
    order = order[np.argsort(truth[order], kind="stable")]
    fold = np.empty(len(truth), np.int64)
    fold[order] = np.arange(len(truth)) % folds
    return fold


def sklearn(module: str) -> Any:
    """A module of scikit-learn, which may not be installed."""
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise MissingExtra("scikit-learn", "ml") from None


ROUNDS = 60
SHRINKAGE = 0.1  # of a leaf's step: without it, those of a rare class grow until it is told of every row
THREADS_FROM = 5_000_000  # cells


def boosted(
    kind: str, x: np.ndarray, y: np.ndarray, categories: Sequence[int], test: np.ndarray, seed: int
) -> np.ndarray:
    """What boosted trees of 60 rounds say of test rows: the chance of each class (Classifier), or a number (Regressor).

    `categories` are the columns that are no numbers. Columns without variation are left out. Of more than 10,000
    rows some are set aside to tell when to stop, unless a class has a single one.
    """
    check_cancelled()
    make = getattr(sklearn("ensemble"), f"HistGradientBoosting{kind}")
    used = np.flatnonzero(((x != x[:1]) & ~(np.isnan(x) & np.isnan(x[:1]))).any(axis=0))
    if not len(used):
        often = np.unique(y, return_counts=True)[1] / len(y)
        return np.tile(often, (len(test), 1)) if kind == "Classifier" else np.full(len(test), y.mean())
    x, test = x[:, used], test[:, used]
    alone = kind == "Classifier" and np.unique(y, return_counts=True)[1].min() == 1
    model = make(
        max_iter=ROUNDS, categorical_features=np.isin(used, categories), random_state=seed % 2**32,
        l2_regularization=SHRINKAGE, early_stopping=False if alone else "auto",
    )  # fmt: skip
    with one_thread(x.size < THREADS_FROM):
        fitted = model.fit(x, y)
        return np.asarray(fitted.predict_proba(test) if kind == "Classifier" else fitted.predict(test))


def one_thread(when: bool = True) -> Any:
    """Work in one thread: those of small products wait for each other, the longer the busier the machine is."""
    return import_module("threadpoolctl").threadpool_limits(1) if when else nullcontext()


def _most_frequent(codes: np.ndarray) -> int:
    return int(np.bincount(codes).argmax()) if len(codes) else -1


def _predict(name: str, x: np.ndarray, y: np.ndarray, test: np.ndarray, usual: int, seed: int) -> np.ndarray:
    """What a model guesses of test rows; where there is nothing to learn, what is usual.

    A feature that is the same in all rows taught nothing, though its weight would count where it varies.
    """
    check_cancelled()
    varies = (x != x[:1]).any(axis=0)
    if len(np.unique(y)) < 2 or not varies.any():
        return np.full(len(test), usual)
    x, test = x[:, varies], test[:, varies]
    model: Any = {
        "logistic-regression": lambda: sklearn("linear_model").LogisticRegression(max_iter=50, tol=1e-3),
        "naive-bayes": lambda: sklearn("naive_bayes").MultinomialNB(),
        "random-forest": lambda: sklearn("ensemble").RandomForestClassifier(
            TREES, min_samples_leaf=2, random_state=seed % 2**32
        ),
    }[name]()
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")  # what has not converged is still a model
        return np.asarray(model.fit(x, y).predict(test))
