"""An explanation for a lay reader, in about ten lines: what was done to a table, what is promised, and what remains."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from sfumato.core.label_grammar import says_nothing
from sfumato.core.masked import NOT_ANONYMOUS
from sfumato.core.protocols import AGAINST_POPULATION, STATED
from sfumato.core.wording import count, listed, number, one_in, percent, quoted
from sfumato.engines.order import CANONICAL, INPUT
from sfumato.errors import PolicyError
from sfumato.measures.reach import Reach
from sfumato.measures.table import TupleCounts
from sfumato.release.manifest import COPY
from sfumato.report.manifest import (
    OF_PEOPLE,
    Manifest,
    by_people,
    constructed,
    copies,
    fewest_people,
    is_drawn,
    is_masked,
    is_synthetic,
    look,
    measured,
    promises,
    quasi,
    roles_of,
    rows,
    veiled,
    without_copy,
)
from sfumato.report.sections.attacks import described
from sfumato.report.sections.evidence import counted
from sfumato.report.sections.headline import people_lines, plain
from sfumato.report.sections.masking import as_checked
from sfumato.report.sections.synthesis import is_constructed, left_open, said_of_copies
from sfumato.report.translation import translated

PROVEN, CONSTRUCTED, MEASURED = "Proven", "By construction", "Measured"
LONG = 120  # letters of a name
SHOWN = 2  # promises that are told; the rest is counted
COLUMNS = 6  # that a line names
STEPS = 3  # of masking that are told; the rest is counted
COARSE = re.compile(r"[\[\](){}*<>≥≤]|\.\.|\d+s$")  # ranges, sets, stars, decades


@dataclass(frozen=True)
class Explanation:
    """What was done and what remains, a term and a sentence each; as text, a line each."""

    lines: tuple[tuple[str, str], ...]
    language: str = "en"

    def __str__(self) -> str:
        return "\n".join(f"{term}: {sentence}" for term, sentence in self.lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for json."""
        return {"language": self.language, "lines": [{"term": term, "text": text} for term, text in self.lines]}


def explanation(
    manifest: Manifest,
    released: pl.DataFrame | TupleCounts | None,
    reach: Reach,
    *,
    checked: bool,
    where: str | None = None,
    language: str = "en",
) -> Explanation:
    """The explanation of a release, from its manifest and released rows alone.

    Parameters
    ----------
    manifest, released, reach: what is published, and how far its promises go.
    checked: whether the promises were derived again from the rows; else they are told as promised, not as proven.
    where: the folder of the release, for the command that checks it.
    """
    if is_masked(manifest):
        found = _masked(manifest, released, reach, checked, where)
        return Explanation(tuple((translated(t, language), translated(s, language)) for t, s in found), language)
    roles = roles_of(manifest, None)
    blurred = [name for name, role in roles.items() if role == "quasi"]
    kept = [name for name in roles if name not in blurred]
    found = [("What it is", _what(manifest, len(roles)))]
    if removed := [str(name) for name in rows(manifest, "policy", "identifying")]:
        found.append(
            ("Removed", f"{_named(removed)} {'is' if len(removed) == 1 else 'are'} not in the table any more.")
        )
    found.append(("Blurred", f"{_examples(blurred, released)}."))
    if kept:
        found.append(("As it was", f"{_named(kept)} {'stands' if len(kept) == 1 else 'stand'} there as before."))
    found += _promised(manifest, checked)
    found += [(term, plain(said)) for term, said in people_lines(manifest)]
    found += [(CONSTRUCTED, str(promise.get("sentence") or "")) for promise in constructed(manifest)]
    if made := _constructed(manifest):
        found.append((CONSTRUCTED, made))
    if known := quasi(manifest):
        who = listed((_named(names) for names in known), "or")
        found.append(("Assumed", f"others know {who} of a person, and nothing else that is in the table."))
    found.append(("Not covered", _uncovered(reach)))
    if risk := _risk(manifest, reach):
        found.append((MEASURED, risk))
    found.append(
        ("Check it", f'"sfumato verify {where or "FOLDER"}" checks the promises from the released rows alone.')
        if look(manifest, "population") is None
        else ("Check it", f'"sfumato verify {where or "FOLDER"} --population FILE" checks the promises with its table.')
    )
    said = [(translated(term, language), translated(sentence, language)) for term, sentence in found]
    return Explanation(tuple(said), language)


def _masked(
    manifest: Manifest, released: pl.DataFrame | TupleCounts | None, reach: Reach, checked: bool, where: str | None
) -> list[tuple[str, str]]:
    """The same of a masked table: its steps, and what can be checked of them; of a synthetic one, how it was drawn."""
    manifest, synthetic = without_copy(manifest), is_synthetic(manifest)
    columns, changed = _own(manifest), [str(name) for name in rows(manifest, "changed")]
    found = [("What it is", _what(manifest, len(columns)))]
    if look(manifest, "pseudonymous"):
        found.append(("Not anonymous", str(look(manifest, "pseudonymous"))))
    found += [("Not anonymous", NOT_ANONYMOUS)] if synthetic and not constructed(manifest) else []
    if removed := [str(name) for name in rows(manifest, "policy", "identifying")]:
        found.append(
            ("Removed", f"{_named(removed)} {'is' if len(removed) == 1 else 'are'} not in the table any more.")
        )
    steps = rows(manifest, "steps")
    if synthetic:
        found += _drawn(manifest, [str(look(step, "does") or "") for step in steps])
    for i, step in enumerate([] if synthetic else steps[:STEPS], 1):
        does, taken = str(look(step, "does") or ""), [str(name) for name in rows(step, "columns")]
        of = f"{_named(taken)}. " if taken else ""
        found.append((f"Step {i}", f"{of}{does[:1].upper()}{does[1:]}."))
    if len(steps) > STEPS and not synthetic:
        found.append(("Then", f"{count(len(steps) - STEPS, 'more step')}, in the report."))
    if kept := [name for name in columns if name not in changed]:
        found.append(("As it was", f"{_named(kept)} {'stands' if len(kept) == 1 else 'stand'} there as before."))
    nothing = "nothing of people." if is_drawn(manifest) else "nothing of the people in it."
    built = [(CONSTRUCTED, str(promise.get("sentence") or "")) for promise in constructed(manifest)]
    found += _promised(manifest, checked) if promises(manifest) else [] if built else [("Promised", nothing)]
    found += built + [(term, plain(said)) for term, said in people_lines(manifest)]
    facts = as_checked(manifest, released)["facts"]
    here, away = sum(fact["holds"] is True for fact in facts), sum(fact["private"] for fact in facts)
    if here or away:
        told = (
            [f"{count(here, 'fact')} of the {'drawing' if synthetic else 'steps'} on the released rows"] if here else []
        )
        told += [f"{count(away, 'fact')} by the owner against the original"] if away else []
        found.append(("Checked", f"{'; '.join(told)}. They promise nothing of people."))
    found += [("Left open", said) for said in left_open(manifest)[:SHOWN]]
    if risk := _risk({**manifest, "measured": []} if veiled(manifest) else manifest, reach):
        found.append((MEASURED, risk))
    what = "the promises and facts" if promises(manifest) else "the facts"
    what = f"{what} from the released rows alone"
    if synthetic and not here:  # facts that compare with the original are for its owner
        rows_are = "that the rows are those of the manifest"
        what = "the promises from the released rows alone" if promises(manifest) else rows_are
    found.append(("Check it", f'"sfumato verify {where or "FOLDER"}" checks {what}.'))
    return found


def _own(manifest: Manifest) -> list[str]:
    """The columns, without the number of the copy."""
    return [name for name, role in roles_of(manifest, None).items() if role != COPY]


def _drawn(manifest: Manifest, does: Sequence[str]) -> list[tuple[str, str]]:
    """How a synthetic table was drawn, and what it repeats."""
    term = CONSTRUCTED if is_constructed(manifest) else "Repeats"
    said = said_of_copies(manifest)
    found = [("Drawn", f"{one}.") for one in does if one] + [(term, f"{said[0].lower()}{said[1:]}")]
    if copies(manifest) > 1:
        found.append(("Several", f'{number(copies(manifest))} tables, each drawn anew; "{COPY}" says which one.'))
    return found


WHAT = {
    "masked": "a table about people, masked before it was released",
    "blurred": "a table about people, blurred before it was released",
    "drawn": "a table drawn from a model of a table about people; no row is a person's row",
    "partial": "a table about people, some values of which were drawn from a model",
    "mixes_people": "a table about people, each row mixed with one drawn from a model",
    "copies_people": "a table of people's rows, drawn by chance",
}


def _what(manifest: Manifest, columns: int) -> str:
    released, before = look(manifest, "data", "rows"), look(manifest, "input", "rows")
    how = "masked" if is_masked(manifest) else "blurred"
    if is_synthetic(manifest):
        how = next((of for of in OF_PEOPLE if look(manifest, "synthesis", of)), "drawn")
    said = f"{WHAT[how]}: {count(released, 'row')}, {count(columns, 'column')}"
    absent = look(manifest, "solution", "suppressed")
    if how == "masked" and before and released:
        absent = before - released
    if absent and before:
        said += f"; {number(absent)} of {count(before, 'row')} {'was' if absent == 1 else 'were'} left out"
    dataset = look(manifest, "about", "dataset")
    if not isinstance(dataset, str):
        return f"{said}."
    called = dataset[:LONG].replace('"', "'")
    return f'{said}. It is called "{called}".'


def _named(columns: Sequence[str]) -> str:
    """Columns in quotes, the last ones counted where there are many."""
    rest = len(columns) - COLUMNS
    if rest < 2:
        return quoted(columns)
    return ", ".join(f'"{name}"' for name in columns[:COLUMNS]) + f" and {rest} more"


def _examples(columns: Sequence[str], released: pl.DataFrame | TupleCounts | None) -> str:
    """Each column with the label that most rows have of it, where that says something."""
    told = [f'"{name}"{"" if released is None else _example(released, name)}' for name in columns[:COLUMNS]]
    rest = len(columns) - len(told)
    return listed([*told, f"{count(rest, 'more column')}"] if rest > 0 else told)


def _example(released: pl.DataFrame | TupleCounts, name: str) -> str:
    """The commonest label of a column that looks coarse; else that values are withheld; else any label."""
    try:
        if isinstance(released, pl.DataFrame):
            labels = counted(released.get_column(name))[0]
        else:
            frame, often = released.entries([name])
            both = pl.DataFrame([frame.get_column(name).cast(pl.String).alias("l"), pl.Series("n", often)])
            labels = both.sort(["n", "l"], descending=[True, False]).get_column("l")
    except PolicyError:  # more labels than memory was given for
        return ""
    common = [label for label in labels.head(50) if label is not None]
    telling = [label for label in common if not says_nothing(label)]
    found = next(filter(COARSE.search, telling), None)
    if found is None and len(telling) < len(common):
        return " (withheld in some rows)" if telling else " (withheld)"
    label = found or next(iter(telling), "")
    shown = (label if len(label) <= 40 else f"{label[:39]}…").replace('"', "'")
    return f' (such as "{shown}")' if label else ""


OTHERWISE = {AGAINST_POPULATION: "Shown against the population", STATED: "Stated, not proven"}


def _promised(manifest: Manifest, checked: bool) -> list[tuple[str, str]]:
    """The promises in plain words: proven, promised where nobody looked, or broken."""
    said: list[tuple[str, str]] = []
    every = [
        promise for promise in promises(manifest) if promise.get("model") != "integrity" or not promise.get("holds")
    ]
    if not any(promise.get("how") in OTHERWISE for promise in every):  # which were verified just now
        every += [promise for promise in by_people(manifest) if promise.get("how") == AGAINST_POPULATION]
    for promise in sorted(every, key=lambda promise: bool(promise.get("holds"))):
        how = OTHERWISE.get(str(promise.get("how")), PROVEN)
        term = "BROKEN" if not promise.get("holds") else how if checked else "Promised, not checked here"
        said.append((term, in_plain_words(promise)))
    if not said:
        return [("Promised", "nothing.")]
    rest = len(said) - SHOWN
    return said if rest < 2 else [*said[:SHOWN], (said[SHOWN][0], f"{count(rest, 'more promise')}, in the report.")]


def in_plain_words(promise: Mapping[str, Any]) -> str:
    """A promise in words that need no other word explained."""
    k = look(promise, "parameters", "k")
    if promise.get("model") == "k-anonymity" and isinstance(k, int):
        who = _named([str(name) for name in rows(promise, "quasi")])
        return f"whoever looks for a person in it by {who} finds at least {count(k, 'row')} that fit, never one alone."
    if promise.get("model") == "integrity":
        return "the data are not those that the manifest describes. Do not use them."
    over = [str(name) for name in rows(promise, "parameters", "quasi")]
    said = str(promise.get("sentence") or promise.get("model"))
    return f"{said} They look alike in {_named(over)}." if over else said


def _constructed(manifest: Manifest) -> str:
    """What holds by the way the release is made, and is not counted on its rows."""
    said = []
    if look(manifest, "policy", "ends") == "rounded":
        said.append("no end of a range was taken from the value of a few people")
    if look(manifest, "data", "order") == CANONICAL:
        said.append("the order of the rows tells nothing of the order they came in")
    return f"{'; '.join(said)}." if said else ""


def _uncovered(reach: Reach) -> str:
    """What the promises leave out; at the least, what nobody can know."""
    said = []
    if reach.uncovered:
        said.append(f"nothing is promised of {_named(reach.uncovered)}")
    if reach.unprotected:
        said.append(f"nothing keeps {_named(reach.unprotected)} from being guessed")
    if reach.order == INPUT:
        said.append("the rows stand in the order they came in")
    said.append("no check can tell what others know beyond this table")
    return f"{'; '.join(said)}."


def _risk(manifest: Manifest, reach: Reach) -> str:
    """What remains, in a sentence, as measured on the released rows."""
    highest = max(
        (risk for one in measured(manifest) if (risk := look(one, "risk", "highest")) is not None), default=None
    )
    said = []
    if (people := fewest_people(manifest)) is not None and highest is not None:
        highest = max(highest, 1 / people)  # several rows may be of one person
    if highest is not None:
        said.append(f"a search for one person picks the right row at most {one_in(highest)} times ({percent(highest)})")
    if reach.with_known is not None and reach.with_known.rows:
        alone = f"{number(reach.with_known.rows)} of {count(reach.rows, 'row')}"
        who = (
            f"whoever knows the columns that were not {'made anew' if reach.synthetic else 'perturbed'}"
            if reach.masked
            else "whoever knows the other columns too"
        )
        said.append(f"{who} can tell {alone} from all others")
    worst = reach.worst
    if worst is not None and worst.get("advantage"):
        column = (worst.get("details") or {}).get("column")
        name = described(worst)[0].lower() + (f' of "{column}"' if column else "")
        shares = f"{percent(worst.get('success'))} of the rows, guessing for {percent(worst.get('baseline'))}"
        said.append(f"the best attack that was tried, {name}, succeeds for {shares}")
    return f"{'; '.join(said)}." if said else ""
