"""Trees split as those of the field do."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.synthetic.tree import grow, ranks

CHANCE = np.random.default_rng(1)
X = CHANCE.integers(0, 40, (5, 1500)).astype(np.uint16)
NUMBERS = (X[0] > 20) * 3.0 + (X[1] > 10) * (X[2] / 10) + CHANCE.standard_normal(1500)
LABELS = ((X[0] > 20) + (X[3] > 30) + (CHANCE.uniform(size=1500) < 0.2)).astype(np.int64)


def impurity(target: np.ndarray, labels: int) -> float:
    if labels:
        share = np.bincount(target, minlength=labels) / len(target)
        return float(1 - share @ share)
    return float(target.var())


@pytest.mark.parametrize(("target", "labels"), [(NUMBERS, 0), (LABELS, 4), (LABELS > 0, 2)])
def test_leaves_are_as_pure_as_those_of_scikit_learn(target, labels):
    tree_module = pytest.importorskip("sklearn.tree")
    kind = tree_module.DecisionTreeClassifier if labels else tree_module.DecisionTreeRegressor
    peer = kind(min_samples_leaf=9, random_state=0).fit(X.T, target)
    tree, rows = grow(X, target, labels, 9)
    assert sorted(rows.tolist()) == list(range(1500))
    leaves = np.flatnonzero(tree.feature < 0)
    parts = [target[rows[tree.start[i] : tree.start[i] + tree.size[i]]] for i in leaves]
    ours = sum(len(part) * impurity(part, labels) for part in parts) / 1500
    theirs = peer.tree_
    ends = theirs.children_left < 0
    assert min(map(len, parts)) >= 9
    assert ours == pytest.approx(theirs.impurity[ends] @ theirs.n_node_samples[ends] / 1500, rel=0.03)
    assert peer.tree_.feature[0] == tree.feature[0]
    assert int(np.floor(peer.tree_.threshold[0])) == tree.most[0]


def test_rows_find_the_leaf_that_they_were_grown_in():
    tree, rows = grow(X, NUMBERS, 0, 5)
    leaf = tree.leaves(X, np.zeros(1500, np.int32))
    for i in np.unique(leaf):
        assert sorted(np.flatnonzero(leaf == i)) == sorted(rows[tree.start[i] : tree.start[i] + tree.size[i]])


def test_each_group_has_a_tree_of_its_own():
    group = (np.arange(1500) % 3).astype(np.int64)
    tree, rows = grow(X, LABELS, 4, 5, group=group, groups=4)
    assert tree.size[:4].tolist() == [500, 500, 500, 0]
    leaf = tree.leaves(X, group)
    for i in np.unique(leaf):
        assert len(np.unique(group[rows[tree.start[i] : tree.start[i] + tree.size[i]]])) == 1


def test_codes_far_apart_are_told_apart():
    """More codes than bins: children look closer."""
    code = (np.arange(4000, dtype=np.uint16) * 16)[None]
    tree, _ = grow(code, (np.arange(4000) % 100 < 50).astype(np.float64), 0, 5)
    assert tree.size[tree.feature < 0].max() <= 50


def test_levels_are_ordered_by_their_effect():
    level = np.repeat([0, 1, 2], 100)
    assert ranks(level, 4, np.repeat([5.0, -3.0, 2.0], 100), 0, 5).tolist() == [3, 0, 2, 1]
    classes = np.concatenate([np.repeat([0, 1, 2], times) for times in ([90, 5, 5], [5, 5, 90], [50, 5, 45])])
    for labels in (3, 1000):  # by counts, and row by row
        assert ranks(level, 3, classes, labels, 5)[2] == 1


def test_a_rare_level_is_no_extreme():
    level = np.append(np.repeat([0, 1], 100), [2])
    assert ranks(level, 3, np.append(np.repeat([0.0, 10.0], 100), [11.0]), 0, 5).tolist() == [0, 2, 1]
