"""z-anonymity: worked by hand, and counted again row by row."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, PolicyError

TREE = {"a": "x", "b": "x", "c": "y", "d": "y", "x": "*", "y": "*"}


def test_by_hand() -> None:
    # z=2: the first who shows a value is dropped; the same person again too; a second one passes; after dt the count
    # begins anew; and a value too rare passes as its parent
    frame = pl.DataFrame(
        {"who": [1, 1, 2, 3, 4, 5], "at": [0, 1, 2, 3, 20, 21], "v": ["a", "a", "a", "b", "a", "b"], "i": range(6)}
    )
    asked = {"quasi": "v", "person": "who", "insensitive": "i", "search": sf.ZAnonymity(2, 10), "time": "at"}
    out = sf.stream([frame], **asked)
    assert pl.concat(list(out)).rows() == [("a", 2)]
    assert (out.released, out.suppressed, out.waiting) == (1, 5, 0)
    out = sf.stream([frame], **asked, hierarchies={"v": sf.tree(TREE)})
    assert sorted(pl.concat(list(out)).rows()) == [("a", 2), ("x", 3), ("x", 5)]


@pytest.mark.parametrize("by_time", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_against_counting_row_by_row(seed: int, by_time: bool) -> None:
    rng = np.random.default_rng(seed)
    n, z, dt = 120, int(rng.integers(2, 5)), int(rng.integers(3, 30))
    frame = pl.DataFrame(
        {
            "who": rng.integers(0, 12, n),
            "v": rng.choice(list("abcd"), n, p=[0.5, 0.3, 0.15, 0.05]),
            "at": np.sort(rng.integers(0, 60, n)),
            "i": np.arange(n),
        }
    )
    cuts = [0, *sorted(rng.integers(1, n, 4).tolist()), n]
    frames = [frame[a:b] for a, b in pairwise(cuts) if a < b]
    if not by_time:
        frames = [one.drop("at") for one in frames]
    out = sf.stream(
        frames, quasi="v", person="who", insensitive="i", search=sf.ZAnonymity(z, dt), hierarchies={"v": sf.tree(TREE)},
        time="at" if by_time else None,
    )  # fmt: skip
    found = dict(pl.concat([pl.DataFrame(schema={"v": pl.String, "i": pl.Int64}), *out]).select("i", "v").rows())
    who, value, at = frame["who"].to_list(), frame["v"].to_list(), frame["at"].to_list()
    time = at if by_time else list(range(n))
    expected = {}
    for i in range(n):
        for label in (value[i], TREE[value[i]]):
            fits = [j for j in range(i + 1) if label in (value[j], TREE[value[j]]) and time[j] > time[i] - dt]
            if len({who[j] for j in fits} - {who[i]}) >= z - 1:
                expected[i] = label
                break
    assert found == expected


def test_refusals() -> None:
    frame = pl.DataFrame({"who": [1, 2], "v": ["a", "b"], "at": [3, 2]})
    with pytest.raises(PolicyError, match="person column"):
        sf.stream([frame], quasi="v", search="z-anonymity")
    with pytest.raises(PolicyError, match="one attribute"):
        sf.stream([frame], quasi=["v", "at"], person="who", search="z-anonymity")
    with pytest.raises(PolicyError, match="leave require out"):
        sf.stream([frame], quasi="v", person="who", search="z-anonymity", require=sf.KAnonymity(2))
    with pytest.raises(PolicyError, match="time is for"):
        sf.stream([frame], quasi="v", person="who", time="at", require=sf.KAnonymity(2))
    with pytest.raises(ColumnError, match="goes back in time"):
        list(sf.stream([frame], quasi="v", person="who", time="at", search="z-anonymity"))
    with pytest.raises(ColumnError, match="goes back in time"):
        list(sf.stream([frame[:1], frame[1:]], quasi="v", person="who", time="at", search="z-anonymity"))
