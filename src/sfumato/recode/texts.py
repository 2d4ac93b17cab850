"""The texts of a global recoding, from the kept rows alone: what only suppressed rows have must not show in a label."""

from __future__ import annotations

import re

import numpy as np

from sfumato.hierarchies.redact import Redact
from sfumato.labels import Labels, at_level, set_text
from sfumato.microdata import Attribute
from sfumato.search.problem import Columns, Levels

BOUNDS = re.compile(r"(?:< (?P<below>.*)|>= (?P<above>.*)|\[(?P<low>.*), (?P<high>.*)\))", re.DOTALL)


def global_labels(attribute: Attribute, recoding: Levels | Columns) -> Labels:
    """The labels of a column under a level vector or a value cut; `of` is per code."""
    if isinstance(recoding, Columns):
        return recoding.labels[attribute.name]
    return recoding.labels.get(attribute.name) or at_level(attribute, recoding.levels[attribute.name])


def texts_of_labels(labels: Labels, kept: np.ndarray) -> list[str | None]:
    """How each label prints; `kept` holds the codes of the kept rows.

    Labels of a given hierarchy print as they are named. Those made from the data name no value that only suppressed
    rows have: sets list the kept values, ranges end at kept values, and a cut that falls on such a value moves to the
    next kept one.
    """
    attribute, texts = labels.attribute, list(labels.text)
    if labels.publishable:
        return texts
    if attribute.hierarchy is not None and labels.named is not None:
        return _trimmed(labels, texts, kept)
    values = attribute.categories.text
    present = np.flatnonzero(np.bincount(kept, minlength=len(values)))
    if len(present) == len(values):
        return texts
    members: dict[int, list[int]] = {}
    for code in present:
        members.setdefault(int(labels.of[code]), []).append(int(code))
    gone = set(values) - {values[code] for code in present}
    for label, codes in members.items():
        if labels.star[label]:
            continue
        if not attribute.categories.ordered:
            texts[label] = values[codes[0]] if len(codes) == 1 else set_text([values[code] for code in codes])
        elif labels.named is None:
            low, high = values[codes[0]], values[codes[-1]]
            texts[label] = low if low == high else f"[{low}, {high}]"
        else:
            texts[label] = _recut(texts[label], gone, values, present)
    return texts


def texts_of_classes(labels: Labels, kept: np.ndarray) -> list[str | None]:
    """The same for labels of classes: ranges end at values of their class, sets and learned labels name others too."""
    attribute, texts = labels.attribute, list(labels.text)
    if labels.publishable:
        return texts
    if attribute.hierarchy is not None and labels.named is not None:
        return _trimmed(labels, texts, kept)
    if labels.named is None and attribute.categories.ordered:
        return texts
    values = attribute.categories.text
    present = np.flatnonzero(np.bincount(kept, minlength=len(values)))
    if len(present) == len(values):
        return texts
    gone = set(values) - {values[code] for code in present}
    for label in np.flatnonzero(~labels.star & (labels.lo < labels.hi)):
        if attribute.categories.ordered:
            texts[label] = _recut(texts[label], gone, values, present)
        else:
            inside = present[(present >= labels.lo[label]) & (present <= labels.hi[label])]
            words = [values[code] for code in inside]
            texts[label] = set_text(words) if len(words) > 1 else (words or [texts[label]])[0]
    return texts


def _trimmed(labels: Labels, texts: list[str | None], kept: np.ndarray) -> list[str | None]:
    """Labels of a written hierarchy as they are; masks as long as the longest value that is kept."""
    attribute = labels.attribute
    if not isinstance(attribute.recipe, Redact) or labels.fixed_level is None:
        return texts
    side, char = attribute.recipe.side, attribute.recipe.char
    values, ladder = attribute.categories.text, attribute.ladder
    present = np.flatnonzero(np.bincount(kept, minlength=len(values)))
    spare = max(len(v or "") for v in values) - max(len(values[code] or "") for code in present)
    for label in np.flatnonzero((labels.fixed_level > 0) & ~labels.star) if spare else ():
        level, text = int(labels.fixed_level[label]), texts[label] or ""
        under = present[ladder.of[level, present] == ladder.of[level, labels.lo[label]]]
        if level <= spare and len(under):  # nothing of a kept value is masked yet
            texts[label] = values[under[0]]
        elif text.endswith(char) if side == "right" else text.startswith(char):
            texts[label] = text[:-spare] if side == "right" else text[spare:]
    return texts


def _recut(text: str | None, gone: set[str | None], values: tuple[str | None, ...], present: np.ndarray) -> str | None:
    """A learned interval whose ends are no values that only suppressed rows have."""
    found = BOUNDS.fullmatch(text or "")
    if found is None:
        return text

    def moved(cut: str | None) -> str | None:
        if cut is None or cut not in gone:
            return cut
        after = present[present > values.index(cut)]
        return values[after[0]] if len(after) else None

    low, high = moved(found["low"] or found["above"]), moved(found["high"] or found["below"])
    if low is not None and high is not None:
        return f"[{low}, {high})"
    return f">= {low}" if low is not None else f"< {high}" if high is not None else "*"
