"""QueryClasses: people of equal query membership, whom no answer tells apart."""

from __future__ import annotations

import numpy as np


class QueryClasses:
    """The class of each person, and how many people each class has; class 0 is of those who were in no query set.

    >>> classes = QueryClasses(4)
    >>> parents, inside = classes.split(np.array([True, True, False, False]))
    >>> classes.of.tolist(), classes.sizes.tolist(), parents.tolist(), inside.tolist()
    ([1, 1, 0, 0], [2, 2], [0], [False, True])
    """

    def __init__(self, people: int) -> None:
        self.of = np.zeros(people, np.int64)
        self.sizes = np.array([people])

    def split(self, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Divide the classes that a set divides: the classes that new ones were taken from, in the order of the new
        ones, and which classes are in the set now. Whoever was in no set moves to a new class."""
        many = len(self.sizes)
        within = np.bincount(self.of[inside], minlength=many)
        cut = (within > 0) & (within < self.sizes)
        cut[0] = within[0] > 0
        parents = np.flatnonzero(cut)
        new = np.zeros(many, np.int64)
        new[parents] = many + np.arange(len(parents))
        moved = inside & cut[self.of]
        self.of[moved] = new[self.of[moved]]
        self.sizes[parents] -= within[parents]
        self.sizes = np.append(self.sizes, within[parents])
        return parents, np.append((within > 0) & ~cut, np.ones(len(parents), np.bool_))

    def grow(self, people: int) -> None:
        """More people, who were in no query set."""
        more = people - len(self.of)
        self.of = np.append(self.of, np.zeros(more, np.int64))
        self.sizes[0] += more
