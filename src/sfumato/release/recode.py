"""Recoding: a Solution applied to the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Hierarchy, Recipe
from sfumato.core.label_grammar import STAR, range_text, read_set, set_text
from sfumato.core.labels import Labels, at_level
from sfumato.core.microdata import Attribute, Microdata
from sfumato.core.printed import as_text, count_numbers, plain_values, printed, text_column, with_texts
from sfumato.engines.memory.table import forget_others
from sfumato.engines.numbers import NumberForms
from sfumato.engines.protocol import LABEL, Plan
from sfumato.hierarchies.dates import Dates
from sfumato.hierarchies.redact import Redact
from sfumato.hierarchies.templates.template import Template
from sfumato.search.problem import Columns, Levels, Partition, Solution


def recode(
    frame: pl.DataFrame,
    micro: Microdata,
    solution: Solution,
    cell_of_row: np.ndarray,
    columns: tuple[str, ...],
    part: bool = False,
) -> tuple[np.ndarray, dict[str, pl.Series]]:
    """The rows that stay, in input order, and the released column of each quasi-identifier.

    A column in which nothing was blurred keeps its type; the others become text, as an Enum unless the column was one.
    With `part` the rows are some of a table that is released as a whole, or of a public population: labels may name
    values that other rows of it have.
    """
    every = bool(solution.kept.all())
    rows = np.arange(len(cell_of_row)) if every else np.flatnonzero(solution.kept[cell_of_row])
    released, schema = {}, frame.schema
    if isinstance(solution.recoding, Partition):
        class_of_row = solution.recoding.class_of_cell[cell_of_row if every else cell_of_row[rows]]
    for name in columns:
        attribute = micro.attribute(name)
        code = micro.codes[name] if every else micro.codes[name][rows]
        present = np.flatnonzero(count_numbers(code, len(attribute.categories)))
        if isinstance(solution.recoding, Partition):
            labels, number = solution.recoding.labels[name], class_of_row
            words = texts_of_classes(labels, np.arange(len(attribute.categories)) if part else present)
        else:
            labels, number = global_labels(attribute, solution.recoding), code
            words = texts_of_labels(labels, np.arange(len(attribute.categories)) if part else present)
        dtype = schema[name]
        if dtype != pl.String and _unblurred(attribute, words, labels.of[number], code):
            as_it_is = pl.DataFrame({name: plain_values(frame.get_column(name).gather(rows))})
            released[name] = forget_others(as_it_is).get_column(name)
        else:  # what no kept row has must not be in memory
            made = text_column(name, words, number, labels.of)
            released[name] = as_text(made) if isinstance(dtype, pl.Enum) else made
    return rows, released


def _unblurred(attribute: Attribute, words: list[str | None], label: np.ndarray, code: np.ndarray) -> bool:
    """Whether every row that stays has its own value as its label; what became of others does not matter."""
    code_of = {text: i for i, text in enumerate(attribute.categories.text)}
    used = np.flatnonzero(np.bincount(label, minlength=len(words)))
    own = np.full(len(words), -1, np.int64)
    own[used] = [code_of.get(words[i], -1) for i in used]
    return bool((own[label] == code).all())


def global_labels(attribute: Attribute, recoding: Levels | Columns) -> Labels:
    """The labels of a column under a level vector or a value cut; `of` is per code."""
    if isinstance(recoding, Columns):
        return recoding.labels[attribute.name]
    return recoding.labels.get(attribute.name) or at_level(attribute, recoding.levels[attribute.name])


def level_told(attribute: Attribute, recipe: Recipe, dtype: pl.DataType, shown: Set[str | None]) -> int | None:
    """The level that released labels stand at: the lowest at which they cover all that they can cover at any.

    It follows from the labels and the hierarchy as it was written. None where that tells none, because how many levels
    there are depends on the values of the table: on the longest that is masked, on a text among days that has a time.
    """
    tree = attribute.hierarchy
    if isinstance(recipe, Redact):
        return recipe.level_of(shown)
    if isinstance(recipe, Dates) and recipe.counts_days and not dtype.is_temporal():
        return None
    if tree is None or tree.learned:
        return 0 if shown <= {*attribute.categories.text} - {STAR} else None
    if shown == {tree.labels[-1][0]}:
        return tree.height
    if isinstance(recipe, Template) and (told := recipe.level_of(shown)) is not None:
        return told
    covers = {}  # of every value in the hierarchy the released label above it, where there is one
    for level, labels in enumerate(tree.labels):
        if shown <= set(labels):
            covers[level] = np.array([label if label in shown else None for label in labels])[tree.ancestor[level]]
    return next((level for level in covers if np.array_equal(covers[level], covers[max(covers)])), None)


def texts_of_labels(labels: Labels, kept: np.ndarray) -> list[str | None]:
    """How each label prints; `kept` holds the codes that kept rows have.

    Labels of a given hierarchy and round steps print as they are named. Others name no value that only suppressed rows
    have: sets list the kept values, ranges end at kept values.
    """
    attribute, texts = labels.attribute, list(labels.text)
    if labels.publishable:
        return texts
    if labels.named is not None and (attribute.hierarchy is not None or _tells_no_value(labels)):
        return _trimmed(labels, texts, kept)
    values = attribute.categories.text
    present = np.flatnonzero(np.bincount(kept, minlength=len(values)))
    if len(present) == len(values):
        return texts
    members: dict[int, list[int]] = {}
    for code in present:
        members.setdefault(int(labels.of[code]), []).append(int(code))
    for label, codes in members.items():
        if labels.star[label]:
            continue
        if not attribute.categories.ordered:
            texts[label] = attribute.categories.set_text([values[code] for code in codes])
        else:
            low, high = values[codes[0]], values[codes[-1]]
            texts[label] = low if low == high else range_text(low, high)
    return texts


def texts_of_classes(labels: Labels, kept: np.ndarray) -> list[str | None]:
    """The same for labels of classes: ranges end at values of their class, sets name others too."""
    attribute, texts = labels.attribute, list(labels.text)
    if labels.publishable:
        return texts
    if labels.named is not None and (attribute.hierarchy is not None or _tells_no_value(labels)):
        return _trimmed(labels, texts, kept)
    if attribute.categories.ordered:
        return texts
    values = attribute.categories.text
    present = np.flatnonzero(np.bincount(kept, minlength=len(values)))
    if len(present) == len(values):
        return texts
    for label in np.flatnonzero(~labels.star & (labels.lo < labels.hi)):
        if labels.fixed_level is None:
            inside = present[(present >= labels.lo[label]) & (present <= labels.hi[label])]
        else:
            of = attribute.ladder.of[labels.fixed_level[label]]
            inside = present[of[present] == of[labels.lo[label]]]
        words = [values[code] for code in inside]
        texts[label] = attribute.categories.set_text(words) if words else texts[label]
    return texts


def _tells_no_value(labels: Labels) -> bool:
    """Whether learned labels are round steps or prefixes, which are of no one value."""
    categories = labels.attribute.categories
    return categories.ordered or (categories.sequence == "codes" and labels.fixed_level is not None)


def _trimmed(labels: Labels, texts: list[str | None], kept: np.ndarray) -> list[str | None]:
    """Labels of a written hierarchy as they are; masks as long as the longest value that is kept, and those of one that
    was made from the table as kept values tell them."""
    attribute = labels.attribute
    if attribute.hierarchy is not None and attribute.hierarchy.learned and labels.fixed_level is not None:
        known = [value for code in np.unique(kept) if (value := attribute.categories.text[code]) is not None]
        named = labels_naming(attribute.hierarchy, known)
        return [
            text if text is None or star or level >= len(named) else named[level].get(text, text)
            for text, star, level in zip(texts, labels.star.tolist(), labels.fixed_level.tolist(), strict=True)
        ]
    if not isinstance(attribute.recipe, Redact) or attribute.recipe.steps or labels.fixed_level is None:
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


def labels_naming(tree: Hierarchy, values: Collection[str]) -> list[dict[str, str]]:
    """Level by level, how labels of a hierarchy that was made from a table print where these values alone are released.

    Sets list the values among them that are. Masks, which are as long as the longest value, are as long as the longest
    of these. What somebody named stays.

    >>> from sfumato.hierarchies import order
    >>> from sfumato.core.microdata import encode
    >>> size = order(["S", "M", "L", "XL"]).build(encode(pl.Series("size", ["S", "XL"]))[0])
    >>> labels_naming(size, ["S", "M", "L"])[1]
    {'{S, M}': '{S, M}', '{L, XL}': 'L'}
    """
    known, longest = set(values), max(map(len, tree.leaves), default=0)
    spare = longest - max(map(len, known), default=0)
    found = [dict(zip(tree.leaves, tree.leaves, strict=True))]
    for names, line in zip(tree.labels[1:], tree.ancestor[1:].tolist(), strict=True):
        members: list[list[str]] = [[] for _ in names]
        for leaf, label in zip(tree.leaves, line, strict=True):
            members[label].append(leaf)
        masked = [_mask(name, under, longest) for name, under in zip(names, members, strict=True)]
        least = min((abs(signs) for signs in masked if signs), default=0)
        level = {}
        for name, under, signs in zip(names, members, masked, strict=True):
            there = [leaf for leaf in under if leaf in known]
            level[name] = name
            if not there:
                continue
            if signs and spare:  # as `Redact` has it: where no kept value is masked yet, it is the value
                level[name] = there[0] if least <= spare else name[:-spare] if signs > 0 else name[spare:]
            elif name in (set_text(under), set_text(under, True)) or {*(read_set(name) or ())} == {*under}:
                level[name] = set_text(there, name == set_text(under, True))
        found.append(level)
    return found


def _mask(label: str, under: Sequence[str], longest: int) -> int:
    """How many signs stand for characters on the right of a mask as long as the longest value, below 0 on the left."""
    if len(label) == longest > 1:
        right, left = label.rstrip(label[-1]), label.lstrip(label[0])
        if all(leaf.startswith(right) for leaf in under) and label not in under:
            return longest - len(right)
        if all(leaf.endswith(left) for leaf in under) and label not in under:
            return len(left) - longest
    return 0


def plan_of(
    counted: pl.DataFrame,
    micro: Microdata,
    solution: Solution,
    of_entry: np.ndarray,
    columns: tuple[str, ...],
    keys: Sequence[str],
    released: Sequence[str],
    in_forms: Callable[[dict[str, pl.Series]], tuple[dict[str, pl.Series], NumberForms]] | None = None,
    part: bool = False,
) -> Plan:
    """What becomes of each value or tuple: `recode` on the counted tuples, as if each were a row.

    `columns` are blurred, `released` are all that are released, and `keys` tell the cells apart. `in_forms` gives the
    labels as they are read off what is written in their place, and what that is; `part` is as for `recode`.
    """
    names = list(keys)
    entries, labels = recode(counted, micro, solution, of_entry, columns, part)
    labels = with_texts(pl.DataFrame(labels), counted.schema).to_dict()
    labels, forms = (labels, NumberForms()) if in_forms is None else in_forms(labels)
    stay = counted.select(list(dict.fromkeys((*names, *columns))))
    if len(entries) < counted.height:
        stay = stay[entries]
    as_labels = [name for name in columns if forms.form.get(name) in (None, "midpoint")]
    same = tuple(name for name in as_labels if _same(stay.get_column(name), labels[name]))
    changed = [name for name in columns if name not in same]
    labels = {name: column if column.dtype == pl.String else printed(column) for name, column in labels.items()}
    if isinstance(solution.recoding, Partition):
        beside = [_compact(labels[name]).alias(LABEL + name) for name in changed]
        cells = stay.select(names).with_columns(beside)
        if tuple(names) != tuple(counted.columns[: len(names)]) or counted.width > len(names) + 1:
            cells = cells.unique(names)  # counted by more columns than the keys
        return Plan(tuple(released), tuple(names), same, {}, cells, numbers=forms)
    maps = {}
    for name in changed:
        pairs = pl.DataFrame([stay.get_column(name), labels[name].alias(LABEL + name)]).unique()
        rest = counted.select(name).unique().join(pairs, on=name, how="anti", nulls_equal=True)
        maps[name] = pl.concat([pairs, rest.with_columns(pl.lit(None, pl.String).alias(LABEL + name))])
    gone = counted.select(names)[np.flatnonzero(~solution.kept[of_entry])].unique()
    values = {name: counted.get_column(name).unique() for name in same}
    return Plan(tuple(released), tuple(names), same, maps, None, gone if gone.height else None, values, numbers=forms)


def _same(values: pl.Series, labels: pl.Series) -> bool:
    """Whether a column was not blurred."""
    return values.dtype == labels.dtype and bool(values.eq_missing(labels).all())


def _compact(labels: pl.Series) -> pl.Series:
    """Labels as numbers of texts: a quarter of the memory."""
    return labels.cast(pl.Enum(labels.drop_nulls().unique().sort()))
