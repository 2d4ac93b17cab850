"""The head of the page: whether the promises hold, what they do not cover, and the first figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core.protocols import AGAINST_ORIGINAL, AGAINST_POPULATION, STATED
from sfumato.core.wording import NOT_RECORDED, count, number, one_in, percent
from sfumato.engines.order import INPUT
from sfumato.losses import LOSSES
from sfumato.measures.reach import Reach, reach_of
from sfumato.measures.standards.finding import Check, Objection, Profile
from sfumato.release.manifest import COPY
from sfumato.report.manifest import (
    Manifest,
    by_people,
    called,
    constructed,
    copies,
    counted,
    fewest_people,
    first_copy,
    is_masked,
    is_synthetic,
    look,
    measured,
    model,
    of_set,
    perturbed,
    promises,
    quasi,
    roles_of,
    rows,
    veiled,
    without_copy,
)
from sfumato.report.markup import Markup, facts, join, name, names, tag
from sfumato.report.sections import synthesis
from sfumato.report.sections.attacks import described
from sfumato.report.sections.standards import NOT_LOOKED_AT, THIS, HeldTo, in_short

if TYPE_CHECKING:
    from sfumato.measures.table import TupleCounts


FIRST = " Counted in the first table: the others are of the same people."
Parts = tuple[str, ...]  # a sentence; what is a Column in it is a name


class ColumnName(str):
    """The name of a column inside a sentence, which a page sets apart from the words around it."""

    __slots__ = ()


def plain(parts: Sequence[str]) -> str:
    """A sentence as text."""
    return "".join(parts)


def reach_from(manifest: Manifest, released: pl.DataFrame | TupleCounts | None) -> Reach:
    """The reach of a release as its manifest and its rows tell it, or what an engine counts of them; of several tables
    it is that of the first, as each has the same people."""
    several = copies(manifest) > 1
    if several:
        manifest = without_copy(manifest)
        released = first_copy(manifest, released) if isinstance(released, pl.DataFrame) else None
    hidden = [*veiled(manifest), *([COPY] if several else [])]
    roles = {name: role for name, role in roles_of(manifest, released).items() if name not in hidden}
    sets = [[name for name in names if name in roles] for names in quasi(manifest) if not {*names} & {*hidden}]
    mine = any(one.get("how") in NOT_OF_ROWS for one in promises(manifest))  # which were verified just now
    found = reach_of(
        released,
        roles=roles,
        quasi=[names for names in sets if names],
        promises=[*(one for one in by_people(manifest) if not mine), *promises(manifest)],
        accepted=[str(name) for name in rows(manifest, "policy", "unprotected")],
        rows=look(manifest, "data", "rows"),
        order=look(manifest, "data", "order"),
    )
    steps, tables = bool(rows(manifest, "steps")), copies(manifest)
    return replace(found, masked=steps, synthetic=is_synthetic(manifest), tables=tables)


NOT_OF_ROWS = (
    AGAINST_ORIGINAL,
    AGAINST_POPULATION,
    STATED,
)  # how promises are known that the released rows do not show
ALTERED = "The data are not those that the manifest describes"


def altered(promised: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no promise is broken but that the data are those of the manifest, which is none about people."""
    return {promise.get("model") for promise in promised if not promise.get("holds")} == {"integrity"}


def verdict(promised: Sequence[Mapping[str, Any]]) -> str:
    """Whether the promises hold.

    >>> verdict([{"holds": True}, {"holds": True}, {"holds": False}])
    '1 of 3 promises does not hold'
    """
    broken = sum(not promise.get("holds") for promise in promised)
    if altered(promised):
        return ALTERED
    if not promised:
        return "Nothing was promised"
    if not broken:
        return {1: "The promise holds", 2: "Both promises hold"}.get(
            len(promised), f"All {len(promised)} promises hold"
        )
    if len(promised) == 1:
        return "The promise does not hold"
    return f"{broken} of {len(promised)} promises {'does' if broken == 1 else 'do'} not hold"


def title(reach: Reach, held: HeldTo | None = None, manifest: Manifest | None = None) -> str:
    """The verdict, and what it leaves out.

    >>> title(Reach(5, ({"holds": True},), (("age",),), ("cost",), ()))
    'The promise holds; it does not cover cost'
    """
    masked = manifest is not None and is_masked(manifest)
    return (masked_verdict(manifest) if masked and manifest else verdict(reach.promises)) + plain(beyond(reach, held))


MASKED_TOO = (
    "This table was recoded, and masked too; what it promises of the people in it is proven from the released rows."
)
COUNTED = (
    "This table was recoded. What it promises of records is proven from the released rows; what it promises of people, "
    "who may have several, its owner has shown against the original."
)
OF_POPULATION = (
    "This table was recoded. What it promises of records is proven from the released rows; what it promises of the "
    "people of a population is shown with their table."
)
RECODED = "This table was recoded, and what it promises of the people in it is proven from the released rows."
PRIVATE = (
    "This table was recoded, and is differentially private by construction; what else it promises is proven from the "
    "released rows."
)


def masked_verdict(manifest: Manifest) -> str:
    """What a masked or synthetic table is: one that promises nothing of people, or one that keeps its promises.

    >>> masked_verdict({"promises": []})
    'This table was masked; nothing is promised of the people in it'
    """
    synthetic = is_synthetic(manifest)
    what = synthesis.said_of_rows(manifest) if synthetic else "This table was masked"
    asked = [one for one in promises(manifest) if one.get("model") != "integrity" or not one.get("holds")]
    if not all(promise.get("holds") for promise in asked):
        said = verdict(asked)
        return f"{what}, and {said[0].lower()}{said[1:]}"
    if any(look(fact, "holds") is False for fact in rows(manifest, "facts")):
        return f"{what}, and is not what {'its manifest says' if synthetic else 'its steps say'}"
    if synthetic:
        kept = "this promise" if len(asked) == 1 else "these promises"
        if constructed(manifest):
            what = "This table was drawn from a model, and is differentially private by construction"
        return f"{what}, and the table keeps {kept}" if asked else what
    if constructed(manifest) and not asked:
        return "This table was masked, and is differentially private by construction"
    kept = "and keeps this promise" if len(asked) == 1 else "and keeps these promises"
    return (
        f"This table was masked {kept}" if asked else "This table was masked; nothing is promised of the people in it"
    )


def beyond(reach: Reach, held: HeldTo | None = None) -> Parts:
    """What promises that hold leave out, as the rest of a sentence that says so; empty where one does not hold.

    `held`: the standard that the release is held to, which is named where it is not met.
    """
    if not reach.promises or not all(promise.get("holds") for promise in reach.promises):
        return ()
    columns = (*reach.uncovered, *reach.unprotected)
    together = 0 if reach.together is None else reach.together.rows
    joined = 0 if reach.with_known is None else reach.with_known.rows
    first = reach.alone[0] if reach.alone else None
    said: list[Parts] = []
    if held is not None and held.verdict is not None and not held.verdict.holds:
        said.append((f"the standard {held.title} is not met",))
    if first is not None and 2 * first.rows >= joined:
        said.append((ColumnName(first.columns[0]), f" singles out {count(first.rows, 'record')}"))
    elif 2 * together >= joined > 0:
        said.append((*_some(columns), f" together single out {count(together, 'record')}"))
    elif joined and reach.uncovered:
        said.append(("whoever knows ", *_some(columns), f" too singles out {count(joined, 'record')}"))
    if reach.unprotected:
        said.append(("nothing protects ", *_some(reach.unprotected)))
    if reach.order == INPUT:
        said.append(("the rows stand in the order of the input",))
    if said:
        return (", but ", *(part for i, one in enumerate(said) for part in ((" and ",) if i else ()) + one))
    if columns:
        return ("; ", "it does" if len(reach.promises) == 1 else "they do", " not cover ", *_some(columns))
    return ()


def lines(reach: Reach, held: HeldTo | None = None) -> list[tuple[str, Parts]]:
    """The headline, a term and a sentence each: what is proven, against whom, what is not covered, the worst attack.

    First stands the standard that the release is held to, where there is one.
    """
    found = [] if held is None else [standard(held)]
    kept = dict.fromkeys(
        model(promise)
        for promise in reach.promises
        if promise.get("holds") and promise.get("model") != "integrity" and promise.get("how") not in NOT_OF_ROWS
    )
    if kept:
        found.append(("Proven", ("; ".join(kept), ", derived again from the released rows alone.")))
    if kept and reach.known:
        sets = [part for i, names in enumerate(reach.known) for part in ((", or the ",) if i else ()) + _every(names)]
        found.append(("Against", ("Somebody who knows the ", *sets, " of a person, and no other column.")))
    if reach.uncovered:
        as_it_was = " is released as it was. " if len(reach.uncovered) == 1 else " are released as they were. "
        if reach.masked:
            how = "made anew" if reach.synthetic else "perturbed"
            as_it_was = f" was not {how}. " if len(reach.uncovered) == 1 else f" were not {how}. "
        term = "Not made anew" if reach.synthetic else "Not perturbed" if reach.masked else "Not covered"
        note = (FIRST,) if reach.tables > 1 and reach.together is not None else ()
        found.append((term, (*_every(reach.uncovered), as_it_was, *_singled(reach), *note)))
    told = []
    for column in reach.unprotected:
        accepted = " The policy accepts that." if column in reach.accepted else ""
        worst = reach.worst_on(column)
        told.append(worst)
        said = () if worst is None else (" ", *attack(worst))
        found.append(
            ("Not protected", (ColumnName(column), f" is sensitive, and no promise is about it.{accepted}", *said))
        )
    for one in reach.suggested:
        if one.column not in reach.accepted and not reach.masked:
            asked = model({"model": one.criterion.model, "parameters": one.criterion.parameters()})
            found.append(("Suggested", (f"{asked}: the weakest promise that brings these attacks near guessing.",)))
    if reach.unprotected and not reach.uncovered and reach.with_known is not None and reach.with_known.rows:
        found.append(("Stand alone", _singled(reach)))
    for single in reach.secrets:
        as_key = (
            f" is protected as a secret, not as a key: who knows it singles out {_of(single.rows, reach.rows or 0)}."
        )
        found.append(("As a key", (ColumnName(single.columns[0]), as_key)))
    if reach.order == INPUT:
        found.append(
            ("Not hidden", ("Somebody with a list in the order of the input may tell whose a row is by its place.",))
        )
    if reach.worst is not None and reach.worst not in told:
        found.append(("Worst attack", attack(reach.worst)))
    return found + [("Left out", (note,)) for note in reach.left_out]


def standard(held: HeldTo) -> tuple[str, Parts]:
    """The standard that a release is held to: whether it is met, and by what."""
    if held.verdict is None:
        return "Not looked at", (f"{held.title}, {THIS}: {NOT_LOOKED_AT}.",)
    checks = [check for check in held.verdict.checks if isinstance(check, Check)]
    told: list[Parts] = [
        (f"{check.measure.name} {percent(check.measure.value)}, limit {percent(check.limit)}",)
        for check in checks
        if check.holds == held.verdict.holds
    ]
    told += [(ColumnName(one.column), f" ({one.title})") for one in held.verdict.checks if isinstance(one, Objection)]
    told += [(f"{what} was not examined",) for what in held.missing]
    by = told or [("none of the eighteen identifiers was found",)]
    parts = [part for i, one in enumerate(by) for part in (("; ",) if i else ()) + one]
    if held.verdict.holds:
        return "Held to", (f"{held.title}, which is met: ", *parts, ".")
    return "Not met", (f"{held.title}, {THIS}: ", *parts, ".")


def attack(found: Mapping[str, Any]) -> Parts:
    """An attack, how often it succeeds, and how often guessing does."""
    column = (found.get("details") or {}).get("column")
    of = () if column is None else (" of ", ColumnName(column))
    if not found.get("advantage"):
        return ("None of those tried does better than guessing.",)
    success, baseline = percent(found.get("success")), percent(found.get("baseline"))
    name, does = described(found)
    does = "" if not does else f" ({does[:1].lower()}{does[1:].removesuffix('.')})"
    return (name, *of, f"{does} succeeds for {success} of the records, guessing for {baseline}.")


def brief(reach: Reach) -> str:
    """The reach in a few words, for a repr: columns and shares, never a value."""
    said = [plain(beyond(reach)).removeprefix(", but ").removeprefix("; ")]
    worst = reach.worst
    if worst is not None and worst.get("advantage"):
        column = worst["details"].get("column")
        of = "" if column is None else f" of {column}"
        shares = f"{percent(worst['success'])}, guessing {percent(worst['baseline'])}"
        said.append(f"worst attack {worst['name']}{of} {shares}")
    return "".join(f"; {one}" for one in said if one)


def _singled(reach: Reach) -> Parts:
    """How many records the columns single out, each alone, all together, and with the quasi-identifiers."""
    if reach.together is None or reach.with_known is None or not reach.rows:
        return ()
    rows, columns = reach.rows, reach.together.columns
    if not reach.with_known.rows:
        by = "it" if len(columns) == 1 else "them"
        too = ("", " and ", *_some(reach.unprotected)) if reach.uncovered and reach.unprotected else ()
        return (f"No record stands alone by {by}", *too, ", nor with the quasi-identifiers." if reach.known else ".")
    shown: list[Parts] = [
        (ColumnName(one.columns[0]), f" {number(one.rows)}" if i else f" alone singles out {_of(one.rows, rows)}")
        for i, one in enumerate(reach.alone[:3])
    ] or [("Alone " + ("it singles out nobody" if len(columns) == 1 else "each singles out nobody"),)]
    if reach.uncovered and reach.unprotected:
        they = " it singles out " if len(reach.uncovered) == 1 else " they single out "
        shown.append(("together with ", *_some(reach.unprotected), f"{they}{number(reach.together.rows)}"))
    elif len(columns) > 1:
        shown.append((f"together they single out {number(reach.together.rows)}",))
    if reach.known:
        shown.append((f"with the quasi-identifiers {number(reach.with_known.rows)}",))
    return (*(part for i, one in enumerate(shown) for part in ((", ",) if i else ()) + one), ".")


def _of(some: int, rows: int) -> str:
    return f"{number(some)} of {count(rows, 'record')} ({percent(some / rows)})"


def _some(columns: Sequence[str]) -> Parts:
    """A few columns by name, many by their number."""
    return _every(columns) if len(columns) <= 3 else (f"{len(columns)} columns",)


def _every(columns: Sequence[str], most: int = 8) -> Parts:
    """Columns in a row of words, the last ones counted where there are many."""
    shown = [ColumnName(name) for name in columns[: most if len(columns) > most + 1 else None]]
    rest = len(columns) - len(shown)
    words = [part for i, name in enumerate(shown) for part in ((_between(i, len(shown), rest), name) if i else (name,))]
    return (*words, f" and {rest} more") if rest else tuple(words)


def _between(place: int, shown: int, rest: int) -> str:
    return " and " if place == shown - 1 and not rest else ", "


def head(manifest: Manifest, reach: Reach, standards: Sequence[Profile] = (), standard: HeldTo | None = None) -> Markup:
    """Headline, lead, reach and key figures."""
    broken = "; ".join(model(promise) for promise in promises(manifest) if not promise.get("holds"))
    masked, untrue = is_masked(manifest), any(look(fact, "holds") is False for fact in rows(manifest, "facts"))
    proven = reach.promises and not broken and not masked and not look(manifest, "foreign")
    over = tag("p", "Release report", class_="over")
    how = MASKED_TOO if rows(manifest, "steps") else PRIVATE if constructed(manifest) else RECODED
    how = COUNTED if counted(manifest) else OF_POPULATION if rows(manifest, "population", "promises") else how
    kind = tag("p", how, class_="kind") if proven else None
    rest = beyond(reach, standard)
    but = tag("span", marked(rest), class_="but" if rest[0].startswith(",") else None) if rest else None
    said = masked_verdict(manifest) if masked else verdict(reach.promises)
    heading = tag("h1", said, but, class_="alarm" if broken or untrue else "long" if rest or masked else None)
    warning = tag("p", f"Broken: {broken}. Do not publish this table.", class_="lead alarm") if broken else None
    told: list[tuple[object, object]] = [
        (tag("span", term, class_="alarm") if term in ALARMING else term, marked(said))
        for term, said in [*masked_lines(manifest), *people_lines(manifest), *_built(manifest), *lines(reach, standard)]
    ]
    if others := [one for one in standards if standard is None or one.name != standard.name]:
        told.append(("Standards" if standard is None else "Other standards", in_short(others, standard)))
    shown = facts(told, "record reach") if told else None
    lead, figures = tag("p", _lead(manifest), class_="lead"), (_counts if masked else _figures)(manifest)
    if is_synthetic(manifest):
        shown_first = [_figure(*one) for one in synthesis.figures(manifest)]
        lead, figures = tag("p", synthesis.lead(manifest), class_="lead"), tag("dl", *shown_first, class_="figures")
    return tag("header", over, kind, heading, warning, lead, figures, shown)


NOUNS = {"person": ("People", "a person"), "household": ("Households", "a household")}


def people_lines(manifest: Manifest) -> list[tuple[str, Parts]]:
    """Whom the promises count, and how that is known."""
    found: list[tuple[str, Parts]] = []
    for unit in counted(manifest):
        kind = str(unit.get("unit"))
        term, one = NOUNS.get(kind, NOUNS["person"])
        kept = [model(p) for p in by_people(manifest) if p.get("holds") and look(p, "parameters", kind) is not None]
        first = f"{term} are counted, and not records: {one} may have several. Promised: {'; '.join(kept)}. "
        how = "Shown by the owner against the original; the released rows alone do not prove it."
        if unit.get("released"):
            how = "The released pseudonyms, one for each, show it, and put the records of each together."
        found.append((f"{term} counted", (first, how)))
    if (people := look(manifest, "population", "rows")) is not None:
        name = str(look(manifest, "population", "name"))
        first = f'Promises count the {count(people, "person", "people")} of the population "{name}". '
        how = "Whoever has its table can show them with the released rows, which alone do not prove them."
        found.append(("Population counted", (first, how)))
    return found


def _built(manifest: Manifest) -> list[tuple[str, Parts]]:
    """What is promised by construction."""
    return [("By construction", (str(promise.get("sentence") or ""),)) for promise in constructed(manifest)]


ALARMING = ("Not met", "Not looked at", "Not covered", "Not protected", "Not hidden", "Not anonymous")


def masked_lines(manifest: Manifest) -> list[tuple[str, Parts]]:
    """What the headline of a masked table says first: pseudonyms, and columns that are perturbed; of a synthetic one,
    what it repeats, and columns that were made anew where others were not."""
    said: list[tuple[str, Parts]] = []
    if is_synthetic(manifest):
        said += [(term, (told,)) for term, told in synthesis.synthetic_lines(manifest)]
        anew = [str(column) for column in rows(manifest, "changed")]
        return [*said, ("Made anew", (*_every(anew), "."))] if look(manifest, "synthesis", "partial") else said
    if told := look(manifest, "pseudonymous"):
        said.append(("Not anonymous", (str(told),)))
    if columns := perturbed(manifest):
        has = " has other values than it had" if len(columns) == 1 else " have other values than they had"
        said.append(("Perturbed", (*_every(columns), f"{has}, as the steps say.")))
    return said


def _counts(manifest: Manifest) -> Markup:
    """The first figures of a masked table."""
    released, before = look(manifest, "data", "rows"), look(manifest, "input", "rows")
    columns, facts_ = rows(manifest, "data", "columns"), rows(manifest, "facts")
    kept = [one for one in promises(manifest) if one.get("model") != "integrity"] + constructed(manifest)
    changed = [column for column in columns if look(column, "changed")]
    return tag(
        "dl",
        _figure("Rows released", number(released), f"of {number(before)}" if before is not None else None),
        _figure("Steps", number(len(rows(manifest, "steps"))), "in this order"),
        _figure("Changed", number(len(changed)), f"of {count(len(columns), 'column')}"),
        _figure("Facts", number(len(facts_)), "of the steps"),
        _figure("Promises", number(len(kept)) if kept else "none", "about people"),
        class_="figures",
    )


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
    alike, people = "records alike", fewest_people(manifest)
    if people is not None and smallest is not None:  # of whom a class may have fewer than records
        smallest, alike, risk = people, "people alike", max(risk or 0, 1 / people)
    share = f"of {number(before)}" if before is not None else None
    suppressed, loss = look(manifest, "solution", "suppressed"), look(manifest, "solution", "loss")
    told = [
        ("Rows released", number(released), share),
        ("Rows suppressed", number(suppressed), f"{number(limit)} allowed" if limit is not None else None),
        ("Smallest class", number(smallest), alike if smallest is not None else None),
        ("Highest risk", percent(risk), one_in(risk) if risk is not None else None),
        ("Information lost", number(loss), _scale(manifest)),
    ]
    if constructed(manifest):  # a private release does not tell what it left out
        told = [one for one in told if one[1] != NOT_RECORDED]
    return tag("dl", *(_figure(*one) for one in told), class_="figures")


def _known(manifest: Manifest, *path: str) -> list[Any]:
    """A figure of every set of quasi-identifiers that has it."""
    return [found for entry in measured(manifest) if (found := look(entry, *path)) is not None]


def _figure(term: str, value: str, note: str | None) -> Markup:
    shown = tag(
        "dd", "–" if value == NOT_RECORDED else value, class_="long" if len(value) > 6 or value == "none" else None
    )
    return tag("div", tag("dt", term), shown, tag("dd", note) if note else None)


def _scale(manifest: Manifest) -> str | None:
    """What the loss counts from and to, or its name where it has no end."""
    loss, kind = look(manifest, "solution", "loss"), look(manifest, "policy", "loss", "name")
    if isinstance(loss, int | float) and 0 <= loss <= 1 and kind not in ("discernibility", "c-avg", "height"):
        return "0 is none, 1 is all"
    return called(LOSSES, str(kind)) if kind else None
