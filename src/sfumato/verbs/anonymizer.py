"""Anonymizer: learn a recoding from one table and apply it to others, as a transformer of scikit-learn does."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.label_grammar import STAR
from sfumato.core.parameters import column_names, one_of
from sfumato.core.printed import plain_values, printed
from sfumato.core.wording import count, quoted
from sfumato.engines.memory.table import enter, leave
from sfumato.engines.order import RowOrderWarning
from sfumato.errors import ColumnError, Infeasible, PolicyError, did_you_mean
from sfumato.measures.labels_cover import read_labels
from sfumato.release.recoded import Recoded
from sfumato.release.request import UnprotectedWarning
from sfumato.release.value_map import ValueMap
from sfumato.search import Automatic, TupleSuppression
from sfumato.search import search as parse_search
from sfumato.verbs import anonymize

__all__ = ["Anonymizer"]

UNSEEN = ("refuse", "suppress", "generalise")
NOT_HERE = ("data", "to", "max_cells", "row_key", "numbers", "mask")  # of tables out of core, and of what is no label
OPTIONS = tuple(name for name in inspect.signature(anonymize).parameters if name not in NOT_HERE)
OF_SEARCH = ("search", "keep", "labels", "tidy", "loss", "suppression", "levels", "ends", "hierarchies", "k", "require")
OF_REPORT = ("profile", "about", "drop_missing")


class Anonymizer:
    """Learn from one table which label each value gets, and give other tables the same labels.

    `fit` anonymizes a table by a search whose recoding is a map from value to label. `transform` gives the rows of
    another table these labels, withholds those that break the policy (in a class that is too small among the rows of
    this batch) and proves the rest, as `anonymize` does. The promise holds for each batch alone: who appears in several
    batches, or compares their classes, may learn more.

    It has the methods that scikit-learn asks of a transformer, and does not need it. Rows are withheld and leave in
    the order that `order` says, so that nothing beside the table stays in step with it: `y` is refused; a target is a
    column of the table. A fitted one knows original values: keep it with the original.

    Parameters
    ----------
    quasi: the quasi-identifiers. unseen: what becomes of values that the table of `fit` did not have: "refuse" them
        with an error, "suppress" their rows, or "generalise" them: to the label of their hierarchy, or the one learned
        label that covers them, else `*`.
    options: the keywords of `anonymize`, but `to`, `numbers` and `max_cells`. Where no search is named, `keep` is
        "consistent-columns". `suppression` is a limit of `fit` alone.

    Attributes
    ----------
    value_map_: the label of each value. feature_names_in_: the columns of the table. withheld_: how many rows of the
        last table were withheld.

    >>> import sfumato as sf
    >>> table = {"age": [31, 32, 33, 58, 59, 57], "sex": ["F", "M", "F", "M", "F", "M"]}
    >>> coarse = sf.Anonymizer(quasi=["age"], insensitive=["sex"], k=3, unseen="generalise").fit(table)
    >>> coarse.transform({"age": [33, 31, 30, 58], "sex": ["M", "M", "F", "F"]})
    {'age': ['[30, 34]', '[30, 34]', '[30, 34]'], 'sex': ['F', 'M', 'M']}
    >>> coarse.withheld_
    1
    """

    value_map_: ValueMap
    feature_names_in_: np.ndarray
    withheld_: int

    def __init__(self, quasi: Any = (), *, unseen: str = "refuse", **options: Any) -> None:
        self.quasi, self.unseen, self._options = quasi, unseen, dict[str, Any]()
        self.set_params(**options)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters that were given."""
        return {"quasi": self.quasi, "unseen": self.unseen, **self._options}

    def set_params(self, **params: Any) -> Anonymizer:
        """Change parameters; `fit` uses them."""
        for name, value in params.items():
            if name in ("quasi", "unseen"):
                setattr(self, name, value)
            elif name in OPTIONS:
                self._options[name] = value
            else:
                what = f'Anonymizer has no parameter "{name}"'
                hint = did_you_mean(name, OPTIONS) or "it takes the keywords of anonymize, but those of where it goes"
                raise PolicyError(what, hint=hint)
        return self

    def __repr__(self) -> str:
        return f"Anonymizer({', '.join(f'{name}={value!r}' for name, value in self.get_params().items())})"

    def fit(self, X: Any, y: None = None) -> Anonymizer:
        """Learn the label of each value from a table."""
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """What `anonymize` releases of a table, and learn from it."""
        return self._learn(X, y).data

    def _learn(self, X: Any, y: Any) -> Recoded:
        one_of(self.unseen, "rule for unseen values", UNSEEN)
        if y is not None:
            what = "y cannot go along: rows are withheld, and leave in another order"
            raise PolicyError(what, hint="make the target a column of the table, and give it a role")
        options = dict(self._options)
        if isinstance(parse_search(options.get("search", "auto")), Automatic) and options.get("keep") is None:
            options["keep"] = "consistent-columns"
        release = anonymize(X, quasi=self.quasi, **options)
        if not release.in_memory:
            raise PolicyError("Anonymizer learns from a table in memory", hint="pass a frame, or the path of a file")
        known = release.value_map().columns  # refuses what is no map
        labels, self._schema, self._beside = {}, {}, {}
        for name in release.policy.columns:
            column = release.original.get_column(name)
            here = set(printed(column).fill_null("").unique())
            labels[name] = _named(known[name], column, release, here)
            self._schema[name] = column.dtype
            self._beside[name] = {value: label for value, label in known[name].items() if value not in here}
        self.value_map_ = ValueMap(labels)
        self.feature_names_in_ = np.array(release.original.columns, dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self._released = release.request.released
        self._normalised = release.request.normalised
        self.withheld_ = release.solution.verdict.suppressed
        return release

    def transform(self, X: Any) -> Any:
        """The rows of a table with the labels that were learned, without those that break the policy."""
        self._needs_fit()
        frame, kind = enter(X)
        names = self.feature_names_in_.tolist()
        if wrong := [name for name in names if name not in frame.columns]:
            raise ColumnError(f"the table lacks {quoted(wrong)}, which the one of fit had")
        if more := [name for name in frame.columns if name not in names]:
            raise ColumnError(f"the table has {quoted(more)}, which the one of fit did not have")
        rows = np.flatnonzero(self._complete(frame))
        recoded = {name: frame.get_column(name).gather(rows) for name in names}
        stays = np.ones(len(rows), np.bool_)
        for name in self.value_map_.columns:
            recoded[name], unseen = self._recoded(recoded[name])
            stays &= ~unseen
        rows, batch = rows[stays], pl.DataFrame(recoded).filter(pl.Series(stays))
        released, taken = self._proven(batch, frame.height)
        rows = rows[taken]
        changed = {*self.value_map_.columns, *self._normalised}
        untouched = [name for name in released.columns if name not in changed]
        self.withheld_ = frame.height - len(rows)
        return leave(released, X, kind, rows, untouched)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The columns that `transform` gives."""
        self._needs_fit()
        return np.array(self._released, dtype=object)

    def _complete(self, frame: pl.DataFrame) -> np.ndarray:
        """The rows that have a value where `drop_missing` asks for one."""
        asked = self._options.get("drop_missing", False)
        columns = self.value_map_.columns if asked is True else column_names(asked or (), "drop_missing")
        there = [printed(frame.get_column(name)).is_not_null().to_numpy() for name in columns]
        return np.logical_and.reduce([np.ones(frame.height, np.bool_), *there])

    def _recoded(self, column: pl.Series) -> tuple[pl.Series, np.ndarray]:
        """The labels of a column, and the rows that have none."""
        name, labels = column.name, self.value_map_.columns[column.name]
        column = _alike(column, self._schema[name])
        text = printed(column).fill_null("")
        new = [value for value in text.unique().sort() if value not in labels]
        unseen = text.is_in(new).to_numpy()
        if new and self.unseen == "refuse":
            what = f'column "{name}" has {count(len(new), "value")} that the table of fit did not have'
            hint = 'unseen="suppress" withholds such rows, unseen="generalise" gives them a coarser label'
            raise ColumnError(what, hint=hint)
        if new and self.unseen == "generalise":
            labels = {**labels, **_coarser(new, labels, self._beside[name])}
            unseen = np.zeros(len(column), np.bool_)
        elif all(value == (label or "") for value, label in labels.items()):
            return column, unseen  # nothing is blurred, so that it keeps its type
        return text.replace_strict(labels, default=None, return_dtype=pl.String).alias(name), unseen

    def _proven(self, batch: pl.DataFrame, rows: int) -> tuple[pl.DataFrame, np.ndarray]:
        """The rows of a batch whose classes satisfy the policy, as released, and which of the batch they are.

        A criterion against the distribution of the table has to hold against that of the rows that are left, so these
        are judged again until nothing more is withheld.
        """
        own = {name: value for name, value in self._options.items() if name not in (*OF_SEARCH, *OF_REPORT)}
        hierarchies = dict(self._options.get("hierarchies") or {})
        sensitive = {name: value for name, value in hierarchies.items() if name not in self.value_map_.columns}
        promised = {name: value for name, value in self._options.items() if name in ("k", "require")}
        asked = {"quasi": self.quasi, **promised, **own, "hierarchies": sensitive, "ends": "exact"}
        taken = np.arange(batch.height)
        try:
            while batch.height:
                with warnings.catch_warnings():
                    for policy in (UnprotectedWarning, RowOrderWarning):  # was told by fit
                        warnings.simplefilter("ignore", policy)
                    release = anonymize(batch, **asked, search=TupleSuppression(), suppression=1.0)
                assert release.rows is not None
                against = any(c.uses_overall_distribution for c in release.policy.require)
                if not against or not release.solution.verdict.suppressed:
                    return release.table, taken[release.rows]
                stay = np.sort(release.rows)
                batch, taken = batch[stay], taken[stay]
        except Infeasible:
            pass
        raise Infeasible(
            "no row of this batch can be released: every class in it breaks the policy",
            got=count(rows, "row"),
            hint="collect a larger batch",
        )

    def _needs_fit(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise PolicyError("this Anonymizer has learned nothing yet", hint="call fit with a table")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "value_map_")

    def __sklearn_tags__(self) -> Any:
        asked = import_module("sklearn.utils")  # scikit-learn itself asks
        return asked.Tags(
            estimator_type="transformer",
            target_tags=asked.TargetTags(required=False),
            transformer_tags=asked.TransformerTags(preserves_dtype=[]),
            input_tags=asked.InputTags(two_d_array=False, string=True, categorical=True, allow_nan=True),
        )


def _named(
    labels: Mapping[str, str | None], column: pl.Series, release: Recoded, here: set[str]
) -> dict[str, str | None]:
    """The labels of the values of a table; not those of suppressed rows that their label does not cover."""
    assert release.rows is not None
    kept = set(printed(column.gather(release.rows)).fill_null("").unique())
    gone, words = sorted(here - kept), sorted({label for label in labels.values() if label})
    if not gone:
        return {value: labels[value] for value in here}
    tree = release.hierarchies.get(column.name)
    covers = read_labels(words, gone, tree, name=column.name).dense()
    place = {word: i for i, word in enumerate(words)}
    true = [v for i, v in enumerate(gone) if not (label := labels[v]) or not v or covers[place[label], i]]
    return {value: labels[value] for value in (*kept, *true)}


def _coarser(
    values: Sequence[str], labels: Mapping[str, str | None], beside: Mapping[str, str | None]
) -> dict[str, str | None]:
    """Labels for values that were not there: of their hierarchy, or the one learned label that covers them, or `*`."""
    words = sorted({label for label in labels.values() if label and label != STAR})
    covers = read_labels(words, values).dense()
    one = {v: words[int(covers[:, i].argmax())] for i, v in enumerate(values) if v and covers[:, i].sum() == 1}
    return {value: beside.get(value, one.get(value, STAR)) for value in values}


def _alike(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Numbers in the type of fit, where that loses nothing: pandas turns whole numbers with missing ones to floats."""
    if column.dtype == dtype or not (column.dtype.is_numeric() and dtype.is_numeric()):
        return column
    plain = plain_values(column)
    cast = plain.cast(dtype, strict=False)
    return cast if plain.eq_missing(cast.cast(plain.dtype)).all() else column
