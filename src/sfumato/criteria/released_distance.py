"""Distances of t-closeness over released rows, by the definition: N. Li, T. Li, S. Venkatasubramanian, ICDE 2007.

Each takes the groups and the attribute and gives a frame with a distance per class. Shares no formula with the search.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl

from sfumato.criteria.audit import Groups


def _shares(groups: Groups, attribute: str) -> pl.DataFrame:
    """For each value of each class its share p there and its share q in the whole table: class, value, p, q."""
    overall = groups.overall(attribute)
    q = overall.select("value", q=pl.col("n") / pl.col("n").sum())
    p = groups.counts(attribute).with_columns(p=pl.col("n") / pl.col("n").sum().over("class"))
    # the order is kept, as sums must repeat to the last bit
    joined = p.join(q, on="value", how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(pl.col("q").fill_null(0.0)).select("class", "value", "p", "q")


def equal(groups: Groups, attribute: str) -> pl.DataFrame:
    """1/2 sum |p - q|: over the values of the class, and the rest of q for those it lacks."""
    gap = (pl.col("p") - pl.col("q")).abs().sum() + (1 - pl.col("q").sum()).clip(0)
    return _shares(groups, attribute).group_by("class", maintain_order=True).agg(distance=gap / 2)


def kullback_leibler(groups: Groups, attribute: str) -> pl.DataFrame:
    """Sum p ln(p/q); infinite where the whole table lacks a value of the class."""
    term = pl.col("p") * (pl.col("p") / pl.col("q")).log()
    return _shares(groups, attribute).group_by("class", maintain_order=True).agg(distance=term.sum())


def ordered(groups: Groups, attribute: str) -> pl.DataFrame:
    """The least work that moves p to q along the line of the m values, a step weighing 1/(m-1).

    On a line the best plan keeps the order: the part of p between the quantiles u and v goes where q has them. So the
    records of value x, between their quantiles, travel |x - quantile of q|, which is summed in closed form by the
    part of q below x and the part above. `work(u)` is the integral of the quantile function of q from 0 to u. A class
    with a value that is not on the line is infinitely far.
    """
    line = pl.DataFrame({"value": groups.order(attribute)}, schema={"value": pl.String}).with_row_index("place")
    m = line.height
    overall = line.join(groups.overall(attribute), on="value", how="left", nulls_equal=True, maintain_order="left")
    q = overall.select(place=pl.col("place").cast(pl.Float64), q=pl.col("n").fill_null(0) / pl.col("n").sum())
    steps = q.select("place", reach=pl.col("q").cum_sum(), work=(pl.col("q") * pl.col("place")).cum_sum())
    shares = groups.counts(attribute).join(line, on="value", nulls_equal=True).sort(["class", "place"])
    parts = shares.select(
        "class",
        x=pl.col("place").cast(pl.Float64),
        v=pl.col("n").cum_sum().over("class") / pl.col("n").sum().over("class"),
        u=(pl.col("n").cum_sum().over("class") - pl.col("n")) / pl.col("n").sum().over("class"),
        below=steps["reach"].gather(shares["place"]),  # the part of q at x or below
    ).with_columns(turn=pl.col("below").clip(pl.col("u"), pl.col("v")))

    def work(u: pl.Series) -> pl.Series:
        at = steps["reach"].search_sorted(u, side="left").clip(0, m - 1)
        found = steps[at]
        return found["work"] - (found["reach"] - u) * found["place"]

    parts = parts.with_columns(wu=work(parts["u"]), wv=work(parts["v"]), wt=work(parts["turn"]))
    x, u, v, turn = (pl.col(name) for name in ("x", "u", "v", "turn"))
    travel = (x * (turn - u) - (pl.col("wt") - pl.col("wu"))) + ((pl.col("wv") - pl.col("wt")) - x * (v - turn))
    found = parts.group_by("class", maintain_order=True).agg(distance=travel.sum() / max(m - 1, 1))
    lost = groups.counts(attribute).join(line, on="value", how="anti", nulls_equal=True).select("class").unique()
    if lost.is_empty():
        return found
    far = lost.sort("class").with_columns(distance=pl.lit(math.inf))
    return pl.concat([found.join(lost, on="class", how="anti", maintain_order="left"), far])


def hierarchical(groups: Groups, attribute: str) -> pl.DataFrame:
    """Sum over inner nodes of height/H min(pos_extra, neg_extra), from the values up.

    The extras of children that the class lacks are -q: all of the node's q that its other children do not have. A
    node none of whose children the class has costs nothing. A node is told by its labels up to the root.
    """
    levels = groups.levels(attribute)
    height = levels.width - 1
    tree = levels.with_columns(value=pl.col("0"))
    q_of = tree.join(
        groups.overall(attribute), on="value", how="left", nulls_equal=True, maintain_order="left"
    ).with_columns(q=pl.col("n").fill_null(0) / pl.col("n").sum())
    shares = _shares(groups, attribute).join(tree, on="value", nulls_equal=True, maintain_order="left")
    cost = groups.sizes.select("class", distance=pl.lit(0.0))
    for level in range(1, height + 1):
        up, child = [str(i) for i in range(level, height + 1)], [str(i) for i in range(level - 1, height + 1)]
        q_child = q_of.group_by(child, maintain_order=True).agg(q=pl.col("q").sum())
        q_node = q_of.group_by(up, maintain_order=True).agg(q_node=pl.col("q").sum())
        extras = (
            shares.group_by(["class", *child], maintain_order=True)
            .agg(p=pl.col("p").sum())
            .join(q_child, on=child, nulls_equal=True, maintain_order="left")
        )
        extra = pl.col("p") - pl.col("q")
        nodes = (
            extras.group_by(["class", *up], maintain_order=True)
            .agg(pos=extra.clip(0).sum(), neg=(-extra).clip(0).sum(), had=pl.col("q").sum())
            .join(q_node, on=up, nulls_equal=True, maintain_order="left")
            .with_columns(neg=pl.col("neg") + (pl.col("q_node") - pl.col("had")).clip(0))
        )
        here = nodes.group_by("class", maintain_order=True).agg(
            here=pl.min_horizontal("pos", "neg").sum() * level / height
        )
        cost = cost.join(here, on="class", how="left").select("class", distance=pl.col("distance") + pl.col("here"))
    return cost


RELEASED: dict[str, Callable[[Groups, str], pl.DataFrame]] = {
    "equal": equal,
    "ordered": ordered,
    "hierarchical": hierarchical,
    "kl": kullback_leibler,
}
