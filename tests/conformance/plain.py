"""Criteria and losses once more, as plain as can be: rows of strings in, a number out. An oracle for small tables."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import sfumato as sf
from sfumato.core.microdata import Attribute
from sfumato.criteria.released_uniqueness import RELEASED_UNIQUENESS


def class_holds(
    criterion: Any, values: list[str], whole: Counter[str], order: list[str], paths: dict[str, list[str]]
) -> bool:
    """Whether one class, given as its sensitive values, satisfies a criterion."""
    n, counts = len(values), Counter(values)
    p = {v: counts[v] / n for v in whole}
    q = {v: whole[v] / whole.total() for v in whole}
    own = dict(getattr(criterion, "per", None) or ())
    strictest = [own[v] for v in counts if v in own]
    if getattr(criterion, "reference", None):
        given = dict(criterion.reference)
        q = {v: given.get(v, 0) / sum(given.values()) for v in {*whole, *given}}
        p = {v: counts[v] / n for v in q}
        if isinstance(criterion, sf.BetaLikeness):
            return all(p[v] <= q[v] or (q[v] > 0 and p[v] / q[v] - 1 <= criterion.beta + 1e-9) for v in q)
        return sum(abs(p[v] - q[v]) for v in q) / 2 <= criterion.t + 1e-12
    match criterion:
        case sf.PersonalKAnonymity(k=k):
            return n >= max(k, *map(int, values), 0)
        case sf.PersonalLDiversity(l=l):
            return len(counts) >= max(l, *map(int, values), 0)
        case sf.DistinctLDiversity(l=l) if own:
            return len(counts) >= max([l, *strictest])
        case sf.EntropyLDiversity(l=l) if own:
            return -sum(x * math.log(x) for x in p.values() if x) >= math.log(max([l, *strictest])) - 1e-12
        case sf.TCloseness(t=t) if own:
            return sum(abs(p[v] - q[v]) for v in whole) / 2 <= min([t, *strictest]) + 1e-12
        case sf.AlphaK(alpha=alpha, k=k) if own:
            return n >= k and all(counts[v] / n <= own.get(v, alpha) + 1e-12 for v in counts)
        case sf.KAnonymity(k=k):
            return n >= k
        case sf.XYAnonymity(k=k):
            return len(counts) >= k
        case sf.XYLinkability(h=h):
            return max(counts.values()) / n <= h + 1e-12
        case sf.DistinctLDiversity(l=l):
            return len(counts) >= l
        case sf.EntropyLDiversity(l=l):
            return -sum(x * math.log(x) for x in p.values() if x) >= math.log(l) - 1e-12
        case sf.RecursiveCLDiversity(c=c, l=l):
            c = min([c, *strictest])
            ranked = sorted(counts.values(), reverse=True)
            return ranked[0] < c * sum(ranked[l - 1 :]) - 1e-12
        case sf.AlphaK(alpha=alpha, k=k):
            return n >= k and max(counts.values()) / n <= alpha + 1e-12
        case sf.TCloseness(t=t, distance="equal"):
            return sum(abs(p[v] - q[v]) for v in whole) / 2 <= t + 1e-12
        case sf.TCloseness(t=t, distance="ordered"):
            running = itertools.accumulate(p[v] - q[v] for v in order)
            return sum(map(abs, running)) / max(len(order) - 1, 1) <= t + 1e-12
        case sf.TCloseness(t=t, distance="kl"):
            return sum(p[v] * math.log(p[v] / q[v]) for v in whole if p[v]) <= t + 1e-12
        case sf.TCloseness(t=t, distance="hierarchical"):
            height = len(next(iter(paths.values()))) - 1
            extra: dict[Any, float] = {(0, v): p[v] - q[v] for v in whole}
            cost = 0.0
            for level in range(1, height + 1):
                above: dict[Any, list[float]] = {}
                for child, value in extra.items():
                    some = next(v for v in whole if (level - 1, paths[v][level - 1]) == child)
                    above.setdefault((level, paths[some][level]), []).append(value)
                for children in above.values():
                    positive = sum(x for x in children if x > 0)
                    negative = -sum(x for x in children if x < 0)
                    cost += level / height * min(positive, negative)
                extra = {node: sum(children) for node, children in above.items()}
            return cost <= t + 1e-12
        case sf.BetaLikeness(beta=beta, kind=kind):
            most = {v: min(beta, -math.log(q[v])) if kind == "enhanced" else beta for v in whole}
            return all((p[v] - q[v]) / q[v] <= most[v] + 1e-9 for v in whole if p[v] > q[v])
        case sf.DeltaDisclosure(delta=delta):
            return all(p[v] and abs(math.log2(p[v] / q[v])) < delta - 1e-9 for v in whole)
        case sf.KMap(k=k, sampling_fraction=f, significance=level):  # zero-truncated
            mean = k * f
            below = sum(math.exp(-mean) * mean**i / math.factorial(i) for i in range(1, n))
            return n >= k or 1 - below / (1 - math.exp(-mean)) <= level
        case sf.AverageRisk() | sf.SampleUniqueness() | sf.PopulationUniqueness():
            return True
    raise AssertionError(criterion)


def table_holds(criterion: Any, sizes: list[int]) -> bool:
    """Whether a table of classes of these sizes satisfies a criterion about the table as a whole."""
    rows = sum(sizes)
    match criterion:
        case sf.AverageRisk(t=t):
            return rows > 0 and sum(n * (1 / n) for n in sizes) / rows <= t + 1e-12
        case sf.SampleUniqueness(t=t):
            return rows > 0 and sizes.count(1) / rows <= t + 1e-12
        case sf.PopulationUniqueness(t=t, sampling_fraction=f):
            return rows > 0 and RELEASED_UNIQUENESS["dankar"](Counter(sizes), f) <= t + 1e-12
    return True


def loss_of(
    loss: Any, attributes: list[Attribute], node: tuple[int, ...], rows: list[tuple[str, ...]], kept: list[bool], k: int
) -> float:
    """The loss of a level vector, row by row."""
    n = len(rows)
    if isinstance(loss, sf.Discernibility | sf.CAvg):
        labels = [tuple(label(a, level, v) for a, level, v in zip(attributes, node, row, strict=True)) for row in rows]
        sizes = Counter(lab for lab, stays in zip(labels, kept, strict=True) if stays)
        if isinstance(loss, sf.CAvg):
            return sum(sizes.values()) / len(sizes) / k
        return sum(s * s for s in sizes.values()) + n * kept.count(False)
    x, weights = [], []
    for i, (a, level) in enumerate(zip(attributes, node, strict=True)):
        column = [row[i] for row in rows]
        counts = Counter(column)
        domain = sorted(counts)
        cost = 0.0
        bits = -sum(c / n * math.log2(c / n) for c in counts.values())
        for v, stays in zip(column, kept, strict=True):
            under = [w for w in domain if label(a, level, w) == label(a, level, v)]
            match loss:
                case sf.Height():
                    cost += level
                case sf.Precision():
                    cost += (level / a.ladder.height if a.ladder.height else 0) if stays else 1
                case sf.LM():
                    cost += ((len(under) - 1) / (len(domain) - 1) if len(domain) > 1 else 0) if stays else 1
                case sf.NCP():
                    cost += (len(under) / len(domain) if len(under) > 1 else 0) if stays else 1
                case sf.NonUniformEntropy():
                    total = sum(counts[w] for w in under) if stays else n
                    cost += math.log2(total / counts[v]) / (bits or 1)
        x.append(cost / n)
        weights.append(bits if isinstance(loss, sf.NonUniformEntropy) else 1.0)
    if isinstance(loss, sf.Height):
        return sum(x)
    return sum(a * w for a, w in zip(x, weights, strict=True)) / sum(weights) if sum(weights) else 0.0


def label(attribute: Attribute, level: int, value: str) -> str | None:
    """The label of a value at a level."""
    code = attribute.categories.text.index(value)
    return attribute.ladder.text[level][attribute.ladder.of[level, code]]


def best_node(
    attributes: list[Attribute],
    rows: list[tuple[str, ...]],
    secret: list[str],
    criteria: list[Any],
    loss: Any,
    limit: int,
    paths: dict[str, list[str]],
) -> tuple[float, int, tuple[int, ...]] | None:
    """Exhaustive search: the least (loss, height, levels) among all level vectors that satisfy the criteria."""
    whole, order = Counter(secret), sorted(set(secret))
    k = max((c.least_size if isinstance(c, sf.KMap) else c.k for c in criteria if hasattr(c, "k")), default=1)
    found = []
    for node in itertools.product(*(range(a.ladder.levels) for a in attributes)):
        labels = [tuple(label(a, level, v) for a, level, v in zip(attributes, node, row, strict=True)) for row in rows]
        classes: dict[Any, list[int]] = {}
        for i, lab in enumerate(labels):
            classes.setdefault(lab, []).append(i)
        good = {
            lab: all(class_holds(c, [secret[i] for i in members], whole, order, paths) for c in criteria)
            for lab, members in classes.items()
        }
        sizes = {lab: len(members) for lab, members in classes.items() if good[lab]}
        for least in sorted({0, *sizes.values()}):  # the smallest classes go while the table fails
            if all(table_holds(c, [n for n in sizes.values() if n >= least]) for c in criteria):
                break
        else:
            least = len(rows) + 1
        kept = [good[lab] and len(classes[lab]) >= least for lab in labels]
        if kept.count(False) <= limit and any(kept):
            found.append((loss_of(loss, attributes, node, rows, kept, k), sum(node), node))
    return min(found, key=lambda f: (round(f[0], 9), f[1], f[2])) if found else None
