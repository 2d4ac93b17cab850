"""What only the owner of a synthetic table is shown: what it repeats of the original, what it tells, how good it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.wording import count, number, percent
from sfumato.measures.measure import wilson
from sfumato.report.charts.svg import bar
from sfumato.report.manifest import Manifest, copies, first_copy, look, quasi, roles_of, rows
from sfumato.report.markup import Markup, join, name, names, section, tag
from sfumato.report.markup import table as html_table
from sfumato.report.sections.attacks import described, interval_of

if TYPE_CHECKING:
    import polars as pl

    from sfumato.report.sections.evidence import Evidence

SCORES = ("propensity", "propensity-of-boosted-trees", "correlations", "train-on-synthetic")  # others are shares
READ = {
    "copied-uniques": (
        "Unique rows repeated",
        "People who stand alone in the original, and whose row was drawn value by value.",
    ),
    "replicated-uniques": (
        "Alone in both tables",
        "By what others may know, one person fits in the original and one row here, which may be taken for theirs.",
    ),
    "disco": (
        "Told for sure, and right",
        "All rows with a person's quasi-identifiers agree in the sensitive value, and it is theirs. What is told of "
        "people whom the model never saw is a fact about people, and no copy.",
    ),
    "nearest-record": (
        "Near to those it learnt from",
        "A model that learnt no single person gives rows that are as near to people whom it never saw.",
    ),
    "synthetic-membership": (
        "Who was learnt from",
        "Somebody lays people beside the table to tell who was in the original. Far from 50%, either way, it tells.",
    ),
    "likely-but-absent": (
        "Absent, though likely",
        "Rows that were taken out leave gaps: somebody looks for rows that ought to be there, and are not. The more "
        "rows are drawn, the fewer gaps are anything else than people.",
    ),
    "propensity": (
        "Told from real rows by a simple model",
        "1 is as good as can be told. The larger, the more the figures of single columns differ.",
    ),
    "propensity-of-boosted-trees": (
        "Told from real rows by a strong model",
        "0.5 is a coin: it cannot tell the tables apart. Nearer to 1, the rows look made up; well below 0.5, they "
        "repeat real ones.",
    ),
    "marginals": (
        "Two columns at a time",
        "The share of the rows that would have to change for two columns together to be as in the original.",
    ),
    "correlations": ("How columns go together", "0 is as in the original."),
    "interval-overlap": (
        "The same conclusions",
        "How far the coefficients of a regression agree with those on the original; 100% is the same.",
    ),
    "train-on-synthetic": (
        "Learning from it",
        "A model learns from this table and predicts real people: near the figure of real rows, it may stand for them.",
    ),
}
PRIVATE = (
    "These figures are for the owner: each of them tells something of the people in the original, and none of them may "
    "be published with the table."
)
NO_BASELINE = (
    "No real rows were held out, so that there is no baseline: what is copied cannot be told from what chance repeats."
)
UNKNOWN = (
    "Which rows were held out, and what was drawn before copies were taken out, is known to the run alone that drew "
    "the table: there is no baseline here. It is in the internal report that is saved with the release."
)
LIKE = (
    "A row held out is alone where no row that the model saw equals it, as a unique row has no equal among the others: "
    "what the model gives of those is chance, and is what to compare with. Of all rows held out many are common."
)
PEOPLE = (
    "Each attack is tried on people of the original, and on others, whom the model never saw. What succeeds on both "
    "alike is a fact about people; what succeeds more on the first was copied from them."
)
USES = (
    "Beside each figure stands that of real rows which the model never saw: a table that comes near it is as good as "
    "real rows. Those that are held out are fewer, and so vary more."
)
COST = "What is worse as released than as drawn is the price of taking copies out."
ABOVE, BELOW = "Above chance", "Below chance"
OF_PEOPLE = ("replicated-uniques", "disco")  # the baselines of others are no sample
LEVELS = (2, 20)  # values of a column that is predicted, where none is named
SAID = ("no real rows were held out", "nearest records and membership", "no quasi-identifiers are given")
NOTES = {
    "attacks": ("attacks", "singling-out", "linkability", "inference"),
    "utility": ("propensity", "marginals", "correlations", "interval-overlap", "train-on-synthetic"),
}  # what notes of a part begin with
PAIRS = 16  # columns of the map of pairs
SHADES = 8


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured on the first table of a release, as drawn and as released."""

    released: Mapping[str, Any]  # a summary, as measures.synthetic gives it
    drawn: Mapping[str, Any] | None  # the same before copies were taken out, where some were
    whole: Mapping[str, Any]  # unique rows of the whole original that are released
    repeated: int | None  # rows of all tables that repeated a unique original row; None where that is not known
    note: str | None  # why there is no baseline

    @property
    def held(self) -> int | None:
        """How many real rows were held out."""
        return self.released["rows"]["hold_out"]

    def of(self, part: str) -> list[Mapping[str, Any]]:
        """The measures of a part, as released, in their order."""
        return [one for one in self.released["measures"] if one["name"] in self.released[part]]

    def as_drawn(self, measure: Mapping[str, Any]) -> Mapping[str, Any]:
        """The same measure before copies were taken out."""
        return next((one for one in (self.drawn or {}).get("measures", ()) if one["name"] == measure["name"]), measure)


def measured(manifest: Manifest, released: pl.DataFrame, original: pl.DataFrame, synthesis: Any) -> Measured:
    """Every measure that the tables allow; `synthesis` is the release, None where only its folder is known."""
    from sfumato.measures.risk.copied_uniques import copied_uniques
    from sfumato.measures.synthetic import synthetic_summary

    table = first_copy(manifest, released)
    learnt = original if synthesis is None else synthesis.learnt_from
    held = None if synthesis is None or not synthesis.hold_out.height else synthesis.hold_out
    shared = [column for column in table.columns if column in learnt.columns]
    learnt, table = learnt.select(shared), table.select(shared)
    keys = next(([one for one in names_ if one in shared] for names_ in quasi(manifest) if names_), [])
    secrets = [str(one) for one in rows(manifest, "policy", "sensitive") if one in shared and one not in keys]
    target = _target(learnt, secrets, keys)
    asked: dict[str, Any] = {
        "hold_out": held,
        "quasi": keys,
        "sensitive": secrets or ([] if target is None else [target]),
    }
    after, before = synthetic_summary(learnt, table, target=target, **asked), None
    if synthesis is not None and synthesis.synthesis.repeated and look(manifest, "synthesis", "copies") != "keep":
        first = synthesis.synthesis.first.select(shared)
        before = synthetic_summary(learnt, first, parts=["disclosure", "utility"], **asked)
    whole = copied_uniques(original if synthesis is None else synthesis.request.frame, table).to_dict()
    note = UNKNOWN if synthesis is None else None if held is not None else NO_BASELINE
    return Measured(after, before, whole, None if synthesis is None else synthesis.synthesis.repeated, note)


def _target(learnt: pl.DataFrame, secrets: Sequence[str], keys: Sequence[str]) -> str | None:
    """The column to predict: the sensitive one, else the last that others need not know and that has few values."""
    few = [one.name for one in learnt.iter_columns() if LEVELS[0] <= one.drop_nulls().n_unique() <= LEVELS[1]]
    free = [column for column in few if column not in keys]
    return secrets[0] if secrets else next(iter([*reversed(free)]), None)


def beside_original(
    manifest: Manifest, released: pl.DataFrame, original: pl.DataFrame, public: Evidence, *, synthesis: Any, least: int
) -> list[Markup | None]:
    """The sections that compare a synthetic table with the original."""
    from sfumato.measures.utility import Pair
    from sfumato.report.sections.columns import heat_map, shapes
    from sfumato.report.sections.evidence import drawn_beside
    from sfumato.report.sections.masking import moments

    unit = look(manifest, "synthesis", "unit")  # new numbers of households, which are compared with nothing
    if unit is not None:
        released, original = (given.drop(str(unit), strict=False) for given in (released, original))
    found = measured(manifest, released, original, synthesis)
    table = first_copy(manifest, released)
    before = original if synthesis is None else synthesis.request.frame
    roles = {name_: role for name_, role in roles_of(manifest, table).items() if name_ in before.columns}
    pair = Pair(before.select(list(roles)), table, None, {})
    drawn, heat = drawn_beside(pair, roles, public, least)
    return [
        copied(manifest, found),
        disclosure(found),
        attacked(found),
        usefulness(found),
        pairs(found),
        shapes(drawn, least, drawn=True),
        heat_map(heat, least),
        moments(pair),
    ]


def copied(manifest: Manifest, found: Measured) -> Markup:
    """The section of rows that repeat a unique original row, and of those that do but for one column."""
    after = next((one for one in found.of("disclosure") if _kind(one) == "copied-uniques"), None)
    parts: list[object] = [tag("p", PRIVATE)]
    m = copies(manifest)
    if m > 1:
        parts.append(tag("p", f"Measured on the first of {number(m)} tables."))
    if found.repeated is not None:
        parts.append(tag("p", _again(manifest, found.repeated, m)))
    if found.note:
        parts.append(tag("p", found.note, class_="note"))
    if after is not None:
        before = found.as_drawn(after)
        parts += [tag("p", str(before["sentence"])), _judged(before)]
        parts.append(_shown(before, found.whole if found.drawn is not None else None))
        parts.append(tag("p", LIKE, class_="quiet") if look(before, "details", "hold_out") else None)
    return section("copied", "What it repeats, counted", *parts)


def _again(manifest: Manifest, repeated: int, m: int) -> str:
    every = (count(repeated, "drawn row") if repeated else "No drawn row") + (f" of the {m} tables" if m > 1 else "")
    said = f"{every} repeated a row that stands alone in the original, held-out rows included"
    how = {"redraw": "replaced", "drop": "left out"}.get(str(look(manifest, "synthesis", "copies")))
    if not repeated or how is None:
        return f"{said}."
    partial = look(manifest, "synthesis", "partial")
    where = ", where other values could be had" if partial and how == "replaced" else ""
    return f"{said}; they were {how}{where}."


def _judged(measure: Mapping[str, Any]) -> Markup | None:
    """Whether more is repeated of people whom the model saw than of people who stand alone as well and whom it did not
    see."""
    ends, new = measure["interval"], look(measure, "details", "hold_out", "new")
    chance = look(new, "share")
    if ends is None or chance is None or measure["value"] is None:
        return None
    if _above(measure["value"], ends[0], chance, new["interval"][1]):
        times = f", {number(measure['value'] / chance, digits=2)} times as many" if chance else ""
        return tag("p", tag("b", f"More than chance{times}: the model repeats people."), class_="alarm")
    return tag("p", tag("b", "No more than chance repeats."))


def _above(value: float, low: float, chance: float, high: float) -> bool:
    """Whether a share is above chance for sure: by more than the 95% interval of the difference allows, which is made
    of the lower end of one and the upper end of the other. Newcombe, Statistics in Medicine 1998."""
    return value - chance > math.hypot(value - low, high - chance)


def _beside_chance(measure: Mapping[str, Any], held: int | None) -> str | None:
    """ABOVE or BELOW where a figure is clearly off its baseline in a way that tells of people; `held` rows, which give
    the baselines of shares of people, are a sample, too."""
    value, ends, chance = measure["value"], measure["interval"], measure["baseline"]
    if value is None or ends is None or chance is None:
        return None
    sampled = look(measure, "details", "control_interval")
    if held and _kind(measure) in OF_PEOPLE:
        sampled = wilson(round(chance * held), held)
    high = chance if sampled is None else sampled[1]
    if _above(value, ends[0], chance, high):
        return ABOVE
    return BELOW if _kind(measure) == "synthetic-membership" and ends[1] < chance else None


def _marked(mark_: str | None) -> Markup | None:
    return None if mark_ is None else tag("span", tag("span", mark_, class_="verdict"), class_="broken said")


def _shown(before: Mapping[str, Any], after: Mapping[str, Any] | None) -> Markup:
    """Bars of copied rows, and of rows that are copies but for one column, beside those of people held out."""
    held = look(before, "details", "hold_out")
    near = (look(one or {}, "details", "near", "share") for one in (before, after))
    found = {
        "In all columns": (
            before["value"],
            look(held, "new", "share"),
            look(held, "share"),
            look(after or {}, "value"),
        ),
        "In all columns but one": (next(near), None, look(held, "near", "share"), next(near)),
    }
    lines = []
    for title, (own, alone, every, now) in found.items():
        if own is None:
            continue
        chance = every if alone is None else alone
        drawn = [bar(own), *([] if chance is None else [bar(chance, "bar was")])]
        cells = [percent(share, "–") for share in (own, alone, every, now)]
        lines.append((title, join(drawn), *(cells if after is not None else cells[:3])))
    head = [
        "Unique rows repeated",
        "As drawn, and chance",
        "As drawn",
        "Held out, alone",
        "Held out, all",
        "As released",
    ]
    caption = (
        "The share of unique original rows that the table has, beside rows that the model never saw; bars end at 100%"
    )
    return html_table(head if after is not None else head[:5], lines, caption, "stack figured copied")


def disclosure(found: Measured) -> Markup | None:
    """The section of what the table tells of people."""
    lines, marks = [], []
    for measure in found.of("disclosure"):
        before = found.as_drawn(measure)
        absent = found.drawn is not None and _kind(measure) == "likely-but-absent"  # as drawn, nobody was taken out
        if _kind(measure) == "copied-uniques" or before["value"] is None:
            continue
        both = [
            {**one, "baseline": before["baseline"]} for one in (before, measure)
        ]  # chance is that of all drawn rows
        found_off = [_beside_chance(one, found.held) for one in both]
        own, now = map(_with_interval, both, found_off)
        marks.append(found_off[1])
        figures: list[object] = [own, _figure(before, "baseline"), now]
        figures = figures if found.drawn is not None else figures[:2]
        lines.append((_described(measure if absent else before), *(["–", *figures[1:]] if absent else figures)))
    if not lines:
        return None
    keys = found.released["quasi"]
    intro = ["Others may know ", names(keys), "."] if keys else ["No column is named as known to others."]
    few, all_ = ("Measure", "This table", "Chance"), ("Measure", "As drawn", "Chance", "As released")
    head = few if found.drawn is None else all_
    shown = html_table(head, lines, "What the table tells of people, beside chance", "stack attacks told")
    judged = None if found.note else _counted(sum(map(bool, marks)), len(marks))
    parts = (tag("p", *intro), judged, shown, *_notes(found, "disclosure"))
    return section("disclosure", "What it tells of people", *parts)


def _counted(off: int, every: int) -> Markup:
    """How many figures are marked, in one line."""
    if not off:
        return tag("p", tag("b", "No figure is clearly off chance."))
    some = f"{number(off)} of {count(every, 'figure')} {'is' if off == 1 else 'are'}"
    said = f"{some} clearly off chance, beyond what 95% intervals allow."
    return tag("p", tag("b", said), class_="alarm")


def _with_interval(measure: Mapping[str, Any], mark_: str | None) -> Markup:
    """A figure, its 95% interval, and whether it is clearly off chance."""
    ends = measure["interval"]
    reach = ends and tag("span", f"{percent(ends[0])} to {percent(ends[1])}", class_="quiet said")
    return join([_figure(measure), reach, _marked(mark_)])


def _notes(found: Measured, part: str) -> list[Markup]:
    """What is to be said of a part: what could not be measured, and what stands out."""
    from sfumato.measures.synthetic import HOLES

    told = [str(note) for note in found.released["notes"] if not str(note).startswith(SAID)]
    told = [note for note in told if next((k for k, of in NOTES.items() if note.startswith(of)), "disclosure") == part]
    shown = []
    for note in told:
        if note == HOLES:
            shown.append(tag("p", tag("b", f"{note[:1].upper()}{note[1:]}."), class_="alarm"))
            continue
        which, left_out, why = note.partition(" is left out: ")
        if left_out and "was not examined" not in why:  # an error, in its own words
            shown.append(tag("p", "Not measured: ", tag("bdi", f"{which}: {why}"), ".", class_="quiet"))
        else:
            said = why or note
            shown.append(tag("p", f"{said[:1].upper()}{said[1:].removesuffix('.')}.", class_="quiet"))
    return shown


def attacked(found: Measured) -> Markup | None:
    """The section of attacks, beside people whom the model never saw."""
    lines = []
    for measure in found.of("attacks"):
        kind, _, where = str(measure["name"]).partition(" on ")
        kind, _, column = kind.partition(": ")
        title, does = described({"name": kind})
        of = join([" of ", name(column)]) if column else " on all columns" if where else None
        said = tag("span", str(measure["sentence"]), class_="quiet said")
        trials = look(measure, "details", "trials")
        ends = interval_of({"interval": measure["interval"], "trials": trials})
        shares = (percent(measure[key], "–") for key in ("value", "baseline"))
        off = None if found.note else _marked(_beside_chance(measure, found.held))
        lines.append((join([tag("b", title, of), ". ", does, said]), *shares, join([ends, off])))
    if not lines:
        return None
    notes = _notes(found, "attacks")
    head = ("Attack", "Succeeds", "On others" if found.note is None else "Guessing", "95% interval")
    shown = html_table(head, lines, "Share of the trials on which an attack succeeds", "stack attacks")
    return section("attacks", "Attacks tried", tag("p", PEOPLE) if found.note is None else None, shown, *notes)


def usefulness(found: Measured) -> Markup | None:
    """The section of what the table is good for."""
    lines = []
    for one in found.of("utility"):
        before = found.as_drawn(one)
        drawn = [] if found.drawn is None else ["–" if before is one else _figure(before)]
        lines.append((_described(one), *drawn, _figure(one), _figure(one, "baseline")))
    if not lines:
        return None
    head = ("Measure", "This table", "Real rows")
    head_ = head if found.drawn is None else ("Measure", "As drawn", "As released", "Real rows")
    shown = html_table(head_, lines, "Utility, beside real rows", "stack attacks")
    notes, told = _notes(found, "utility"), [USES] if found.note is None else []
    told += [COST] if found.drawn is not None else []
    return section("utility", "What it is good for", tag("p", " ".join(told)) if told else None, shown, *notes)


def _kind(measure: Mapping[str, Any]) -> str:
    return str(measure["name"]).partition(": ")[0].replace(" ", "-")


def _described(measure: Mapping[str, Any]) -> Markup:
    """A measure in words for somebody who is no statistician, and its own sentence."""
    title, does = READ.get(_kind(measure), (_kind(measure).replace("-", " ").capitalize(), ""))
    column = str(measure["name"]).partition(": ")[2]
    of = join([" of ", name(column)]) if column else None
    said = tag("span", str(measure["sentence"]), class_="quiet said")
    return join([tag("b", title, of), f". {does}", said])


def _figure(measure: Mapping[str, Any], key: str = "value") -> str:
    value = measure[key]
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.3f}" if _kind(measure) in SCORES else percent(value)


def pairs(found: Measured) -> Markup | None:
    """The map of how far each pair of columns is from the original."""
    measure = next((one for one in found.of("utility") if _kind(one) == "marginals"), None)
    if measure is None or "pairs" not in measure["details"]:
        return None
    every, far = list(measure["details"]["columns"]), np.array(measure["details"]["pairs"], np.float64)
    if len(every) < 3:
        return None
    shown = np.sort(np.argsort(-np.nanmean(far, axis=1), kind="stable")[:PAIRS])
    far, columns = far[np.ix_(shown, shown)], [every[i] for i in shown.tolist()]
    top = float(np.nanmax(far))
    head = tag("tr", tag("td"), *(tag("th", number(i + 1), scope="col") for i in range(len(columns))))
    lines = []
    for i, column in enumerate(columns):
        cells = [
            tag("td", _cell(far[i, j]), class_=_shade(far[i, j], top)) if j <= i else tag("td", class_="off")
            for j in range(len(columns))
        ]
        lines.append(tag("tr", tag("th", f"{number(i + 1)}. ", name(column), scope="row"), *cells))
    caption = tag("caption", "Share of the rows that would have to change, in percent")
    map_ = tag("table", caption, tag("thead", head), tag("tbody", *lines), class_="heat pairs")
    intro = (
        "How far each pair of columns is from the original; on the diagonal, a column by itself. Numbers are in ten "
        "groups. Where it is dark, this table says something else than the original."
    )
    rest = len(every) - len(columns)
    more = tag("p", f"{rest} more columns are nearer to the original than these.", class_="quiet") if rest > 1 else None
    return section("pairs", "Pairs of columns", tag("p", intro), tag("div", map_, class_="scroll"), more)


def _cell(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.1f}"


def _shade(share: float, top: float) -> str:
    return "s0" if math.isnan(share) or top <= 0 else f"s{round(SHADES * min(share / top, 1.0))}"
