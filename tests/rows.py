"""Released rows beside the original ones: a release stands in an order of its own, and remembers which row is which."""

from __future__ import annotations

import numpy as np
import polars as pl

import sfumato as sf


def as_they_came(release: sf.Release) -> pl.DataFrame:
    """The released rows in the order of the original."""
    return release.table[np.argsort(release.rows, kind="stable")]
