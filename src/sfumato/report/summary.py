"""The head of the report: the verdict in plain words and the figures that matter first."""

from __future__ import annotations

from typing import Any

from sfumato.report.look import Manifest, look, measured, of_set, promises
from sfumato.report.markup import Markup, join, names, tag
from sfumato.report.words import LOSSES, NOT_RECORDED, count, model, number, one_in, percent


def verdict(manifest: Manifest) -> str:
    """Whether the promises hold, as a headline.

    >>> verdict({"promises": [{"holds": True}, {"holds": True}, {"holds": False}]})
    '1 of 3 promises does not hold'
    """
    all_ = promises(manifest)
    broken = sum(not promise.get("holds") for promise in all_)
    if not all_:
        return "Nothing was promised"
    if not broken:
        return {1: "The promise holds", 2: "Both promises hold"}.get(len(all_), f"All {len(all_)} promises hold")
    if len(all_) == 1:
        return "The promise does not hold"
    return f"{broken} of {len(all_)} promises {'does' if broken == 1 else 'do'} not hold"


def head(manifest: Manifest) -> Markup:
    """Headline, lead and key figures."""
    broken = "; ".join(model(promise) for promise in promises(manifest) if not promise.get("holds"))
    over = tag("p", "Release report", class_="over")
    title = tag("h1", verdict(manifest), class_="alarm" if broken else None)
    warning = tag("p", f"Broken: {broken}. Do not publish this table.", class_="lead alarm") if broken else None
    return tag("header", over, title, warning, tag("p", _lead(manifest), class_="lead"), _figures(manifest))


def _lead(manifest: Manifest) -> Markup:
    released, before = look(manifest, "data", "rows"), look(manifest, "input", "rows")
    amount = count(released, "record")
    if before is not None:
        amount = f"all {amount}" if released == before else f"{number(released)} of {count(before, 'record')}"
    said = "is described by its manifest" if released is None else f"holds {amount}"
    parts: list[object] = [tag("bdi", look(manifest, "data", "file") or "The released table"), f" {said}."]
    worst = min(measured(manifest), key=lambda entry: look(entry, "smallest") or 0, default={})
    smallest, columns = look(worst, "smallest"), of_set(manifest, worst)
    if smallest and columns:
        parts += [" Somebody who knows the ", names(columns), " of one person in it finds "]
        parts.append(f"at least {number(smallest)} records that fit." if smallest > 1 else "at times only one record.")
    return join(parts)


def _figures(manifest: Manifest) -> Markup:
    released, before = look(manifest, "data", "rows"), look(manifest, "input", "rows")
    limit = look(manifest, "solution", "suppression_limit")
    smallest = min(_known(manifest, "smallest"), default=None)
    risk = max(_known(manifest, "risk", "highest"), default=None)
    share = f"of {number(before)}" if before is not None else None
    return tag(
        "dl",
        _figure("Rows released", number(released), share),
        _figure(
            "Rows suppressed",
            number(look(manifest, "solution", "suppressed")),
            f"{number(limit)} allowed" if limit is not None else None,
        ),
        _figure("Smallest class", number(smallest), "records alike" if smallest is not None else None),
        _figure("Highest risk", percent(risk), one_in(risk) if risk is not None else None),
        _figure("Information lost", number(look(manifest, "solution", "loss")), _scale(manifest)),
        class_="figures",
    )


def _known(manifest: Manifest, *path: str) -> list[Any]:
    """A figure of every set of quasi-identifiers that has it."""
    return [found for entry in measured(manifest) if (found := look(entry, *path)) is not None]


def _figure(term: str, value: str, note: str | None) -> Markup:
    shown = tag("dd", "–" if value == NOT_RECORDED else value, class_="long" if len(value) > 8 else None)
    return tag("div", tag("dt", term), shown, tag("dd", note) if note else None)


def _scale(manifest: Manifest) -> str | None:
    """What the loss counts from and to, or its name where it has no end."""
    loss, kind = look(manifest, "solution", "loss"), look(manifest, "policy", "loss", "name")
    if isinstance(loss, int | float) and 0 <= loss <= 1 and kind not in ("discernibility", "c-avg", "height"):
        return "0 is none, 1 is all"
    return LOSSES.get(str(kind), str(kind)) if kind else None
