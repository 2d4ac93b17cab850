"""The head of the report: the verdict in plain words and the figures that matter first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.core.wording import NOT_RECORDED, count, number, one_in, percent
from sfumato.losses import LOSSES
from sfumato.measures.reach import Reach
from sfumato.measures.standards.finding import Profile
from sfumato.report.look import Manifest, look, measured, of_set, promises
from sfumato.report.markup import Markup, facts, join, name, names, tag
from sfumato.report.sections.headline import ColumnName, beyond, lines, verdict
from sfumato.report.sections.standards import HeldTo, in_short
from sfumato.report.words import called, model


def head(manifest: Manifest, reach: Reach, standards: Sequence[Profile] = (), standard: HeldTo | None = None) -> Markup:
    """Headline, lead, reach and key figures."""
    broken = "; ".join(model(promise) for promise in promises(manifest) if not promise.get("holds"))
    over = tag("p", "Release report", class_="over")
    rest = beyond(reach, standard)
    but = tag("span", marked(rest), class_="but" if rest[0].startswith(",") else None) if rest else None
    heading = tag("h1", verdict(reach.promises), but, class_="alarm" if broken else "long" if rest else None)
    warning = tag("p", f"Broken: {broken}. Do not publish this table.", class_="lead alarm") if broken else None
    told: list[tuple[object, object]] = [
        (tag("span", term, class_="alarm") if term.startswith("Not ") else term, marked(said))
        for term, said in lines(reach, standard)
    ]
    if others := [one for one in standards if standard is None or one.name != standard.name]:
        told.append(("Standards" if standard is None else "Other standards", in_short(others, standard)))
    shown = facts(told, "record reach") if told else None
    return tag("header", over, heading, warning, tag("p", _lead(manifest), class_="lead"), _figures(manifest), shown)


def marked(parts: Sequence[str]) -> Markup:
    """A sentence whose columns are set apart."""
    return join(name(part) if isinstance(part, ColumnName) else part for part in parts)


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
    return called(LOSSES, str(kind)) if kind else None
