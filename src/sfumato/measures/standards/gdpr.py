"""A statement of anonymity in the terms of the GDPR: singling out, linkability, inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from sfumato.core.cells import count_cells
from sfumato.core.parameters import column_names, known_columns, share_of
from sfumato.core.wording import percent, quoted
from sfumato.engines.memory.table import enter
from sfumato.errors import PolicyError
from sfumato.measures.attacks.classes import Encoded
from sfumato.measures.attacks.homogeneity import homogeneity
from sfumato.measures.attacks.inference import inference
from sfumato.measures.attacks.linkability import across_splits, shared_of
from sfumato.measures.attacks.result import TRIALS, Attack, records
from sfumato.measures.attacks.singling_out import widest
from sfumato.measures.measure import Measure
from sfumato.measures.risk.keys import keys_of
from sfumato.measures.standards.clinical import LIMIT
from sfumato.measures.standards.finding import Check, Profile

CRITERIA = ("singling out", "linkability", "inference")


def gdpr(
    data: Any,
    quasi: Any,
    sensitive: Any = (),
    *,
    original: Any = None,
    holdout: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool = False,
    limit: float = LIMIT,
    trials: int = TRIALS,
    seed: int = 0,
) -> Profile:
    """Whether a release resists singling out, linking and inference, as far as it can be measured.

    With the original, the three attacks are carried out. What linkability and inference achieve beyond guessing, and
    beyond what succeeds on the holdout where there is one, is their risk: (success - reference) / (1 - reference); of
    singling out only what succeeds on the holdout is taken off. Where an attack tried a sample, the upper end of its
    95% interval is held against the limit. Without the original, the classes of the release stand in: singling out is
    the share of records alone in their class; linkability the highest 1/n of a class; inference the share of records
    whose class has one sensitive value, beyond the whole table, or what the best guess in each class gains over the
    best for the whole table, whichever is more.

    People are looked for by the quasi-identifiers and by all released columns, and the stricter reading counts. Every
    risk has to be within `limit`, which is a choice: the regulation names none, and the 0.09 of clinical data is taken.
    The profile holds only where all three were examined, which `examined` lists: inference needs a sensitive column,
    linkability, with the original, two columns or more that would join people through an unprotected copy.

    Parameters
    ----------
    data
        The released table.
    quasi, sensitive
        Its quasi-identifying columns, and the sensitive one or several.
    original, holdout
        The table behind the release, and people like those in it who are not.
    hierarchies
        Column to the hierarchy that explains its labels.
    wildcard
        Whether a missing released value (and "*") matches any value.
    limit
        The highest risk that is taken for none.
    trials, seed
        How many records the attacks try, and the seed that draws them.

    Examples
    --------
    >>> table = {"age": ["2*"] * 12, "disease": ["flu", "cold", "asthma"] * 4}
    >>> gdpr(table, ["age"], ["disease"]).holds
    True

    References
    ----------
    Regulation (EU) 2016/679, recital 26; Article 29 Working Party, Opinion 05/2014 on anonymisation techniques; Giomi
    et al., "A unified framework for quantifying privacy risk in synthetic data", PoPETs 2023.
    """
    limit = share_of(limit, "limit")
    frame = enter(data)[0]
    names = tuple(dict.fromkeys(column_names(quasi, "quasi")))
    secrets = tuple(dict.fromkeys(column_names(sensitive, "sensitive")))
    if not names:
        raise PolicyError("no quasi-identifying column is given")
    known_columns((*names, *secrets), frame.columns, "the release")
    if original is None:
        measures = _from_classes(frame, names, secrets, wildcard, limit)
    else:
        people, others = enter(original)[0], None if holdout is None else enter(holdout)[0]
        given: dict[str, Any] = {"holdout": others, "hierarchies": hierarchies, "wildcard": wildcard}
        given |= {"trials": trials, "seed": seed}
        every = tuple(dict.fromkeys((*names, *shared_of(frame, people, *([] if others is None else [others])))))
        measures = [
            _singled(frame, people, names, every, mode, limit, given) for mode in ("univariate", "multivariate")
        ]
        linked = across_splits(frame, people, names, **given)
        if linked is not None and linked.details["examined"] and linked.details["ceiling"] > limit:
            measures.append(_risk(linked))
        measures += [_risk(inference(frame, people, names, secret, **given)) for secret in secrets]
    checks = tuple(Check(m, limit, _judged(m) <= limit + 1e-12) for m in measures)
    examined = tuple(word for word in CRITERIA if any(check.measure.name.startswith(word) for check in checks))
    holds = all(check.holds for check in checks) and examined == CRITERIA
    statement = _statement(checks, examined, secrets, original is None)
    return Profile("gdpr", holds, checks, statement, {"limit": limit, "wildcard": wildcard}, examined)


def _judged(measure: Measure) -> float:
    """What is held against the limit: the upper end of the interval where an attack tried a sample only."""
    if measure.interval is not None and measure.details.get("sampled"):
        return measure.interval[1]
    return measure.value


def _singled(
    frame: pl.DataFrame,
    people: pl.DataFrame,
    names: tuple[str, ...],
    every: tuple[str, ...],
    mode: str,
    limit: float,
    given: Mapping[str, Any],
) -> Measure:
    """Singling out on the quasi-identifiers or on all columns, whichever succeeds more often."""
    found = [_risk(widest(frame, people, names, mode=mode, **given))]
    if len(every) > len(names):
        found.append(_risk(widest(frame, people, every, mode=mode, **given)))
    worst = max(found, key=_judged)
    more: dict[str, Any] = {"quasi": found[0].value}
    if worst is not found[0] and _judged(worst) > limit:
        more["drivers"] = list(_drivers(frame, every, limit))
    return replace(worst, details={**worst.details, **more})


def _risk(attack: Attack) -> Measure:
    """What an attack achieves beyond guessing and beyond people who are not in the data.

    That a blind predicate isolates somebody, too, does not make a release that singles people out any safer: there,
    only people who are not in the data are a reference.
    """
    reference = float(attack.details.get("control", 0.0))
    if not attack.name.startswith("singling out"):
        reference = max(attack.baseline, reference)
    room = 1 - reference

    def beyond(rate: float) -> float:
        return max(0.0, (rate - reference) / room) if room > 1e-12 else 0.0

    low, high = (beyond(end) for end in attack.interval)
    risk, sampled = beyond(attack.success), bool(attack.details.get("sampled"))
    sentence = f"{attack.sentence} Beyond a reference of {percent(reference)} the risk is {percent(risk)}."
    if sampled:
        sentence += f" A sample was tried, so the upper end of its 95% interval counts: {percent(high)}."
    name = attack.name if "secret" not in attack.details else f'inference of "{attack.details["secret"]}"'
    details = {"success": attack.success, "reference": reference, "trials": attack.trials, "seed": attack.seed}
    for key in ("columns", "first", "second", "ceiling"):
        details |= {key: attack.details[key]} if key in attack.details else {}
    return Measure(name, risk, (0.0, 1.0), sentence, (low, high), 0.0, details | {"sampled": sampled})


def _from_classes(
    frame: pl.DataFrame, names: tuple[str, ...], secrets: tuple[str, ...], wildcard: bool, limit: float
) -> list[Measure]:
    """The three from the classes of the release."""
    every = tuple(dict.fromkeys((*names, *frame.columns)))
    by_quasi, by_all = (keys_of(frame, columns, wildcard=wildcard) for columns in (names, every))
    least, rows = int(by_quasi.size.min()), frame.height
    some, alone = (int((keys.size[keys.cell_of_row] == 1).sum()) for keys in (by_quasi, by_all))
    sentence = f"{records(some, rows)} are alone in their class by the quasi-identifiers {quoted(names)}"
    if len(every) > len(names):
        sentence += f", {alone} ({percent(alone / rows)}) by all released columns, {quoted(every)}, which counts"
    details: dict[str, Any] = {"quasi": some / rows, "columns": list(every)}
    if alone > some and alone / rows > limit:
        details["drivers"] = list(_drivers(frame, every, limit))
    found = [
        Measure("singling out", alone / rows, (0.0, 1.0), f"{sentence}.", details=details),
        Measure(
            "linkability",
            1 / least,
            (0.0, 1.0),
            "By its quasi-identifiers the record most at risk can be linked to a person with a probability of "
            f"{percent(1 / least)}; this is the worst record, and others are at less risk.",
            details={"smallest": least},
        ),
    ]
    for secret in secrets:
        attack = homogeneity(frame, names, secret)
        guess, base = attack.details["guess"], attack.details["guess baseline"]
        gain = max(0.0, (guess - base) / (1 - base)) if base < 1 - 1e-12 else 0.0
        sentence = (
            f"{attack.sentence} Guessing the most frequent value of each class is right for {percent(guess)} of the "
            f"records, that of the whole table for {percent(base)}: a gain of {percent(gain)} of what there is to gain."
        )
        if wildcard:
            sentence += " A missing value counts as a value of its own here, which is the stricter reading."
        more = {"homogeneous": attack.advantage, "guess": guess, "guess baseline": base}
        risk = max(attack.advantage, gain)
        found.append(
            Measure(f'inference of "{secret}"', risk, (0.0, 1.0), sentence, baseline=attack.baseline, details=more)
        )
    return found


def _drivers(frame: pl.DataFrame, columns: Sequence[str], limit: float) -> tuple[str, ...]:
    """A few columns that already leave more records alone than the limit allows, taken greedily."""
    encoded = Encoded()
    chosen: tuple[str, ...] = ()

    def alone(names: tuple[str, ...]) -> tuple[int, int]:
        coded = [encoded(frame, name) for name in names]
        cells, _ = count_cells(names, [code for _, code in coded], [len(categories) for categories, _ in coded])
        return int((cells.count == 1).sum()), len(cells)

    while len(chosen) < len(columns):
        chosen = max(((*chosen, name) for name in columns if name not in chosen), key=alone)
        if alone(chosen)[0] > limit * frame.height:
            break
    return chosen


def _statement(checks: tuple[Check, ...], examined: tuple[str, ...], secrets: tuple[str, ...], alone: bool) -> str:
    parts = []
    for word in CRITERIA:
        mine = [check for check in checks if check.measure.name.startswith(word)]
        if not mine:
            parts.append(f"{word} was not examined")
            continue
        worst = max(mine, key=lambda check: _judged(check.measure))
        value, judged = worst.measure.value, _judged(worst.measure)
        up_to = f", {percent(judged)} at the upper end of its interval" if judged > value else ""
        part = f"the risk of {word} is {percent(value)}{up_to} ({'within' if worst.holds else 'above'} the limit)"
        if drivers := worst.measure.details.get("drivers"):
            part += (
                f" by all released columns, of which {quoted(drivers)} {'is' if len(drivers) == 1 else 'are'} enough"
            )
        elif word == "singling out":
            part += f" by {quoted(worst.measure.details['columns'])}"
        elif word == "linkability" and alone:
            part += " for the worst record"
        parts.append(part)
    failed = not all(check.holds for check in checks)
    found = "a risk above the limit was found" if failed else "no risk above the limit was found"
    if missing := [word for word in CRITERIA if word not in examined]:
        found += f"; the profile is INCOMPLETE and does not hold, for {' and '.join(missing)} "
        found += "was not examined" if len(missing) == 1 else "were not examined"
    how = "from the classes of the release alone" if alone else "by carrying out the attacks on the original"
    rest = "" if secrets else " No sensitive column was named, so nothing is said about inference."
    return (
        f"Measured {how}, {'; '.join(parts)}: {found}. Whether the data are anonymous also depends on the means "
        f"reasonably likely to be used by others, which no measure on the table alone can tell.{rest}"
    )
