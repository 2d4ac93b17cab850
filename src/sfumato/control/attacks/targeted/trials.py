"""Every attack on single people against every control. Denning and Schloerer, IEEE Computer 16(7), 1983."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sfumato.control.attacks.targeted import TARGETED
from sfumato.control.attacks.targeted.questioner import QUERIES, Ask, Questioner
from sfumato.control.database import StatisticalDatabase
from sfumato.control.formula import Formula, parse_formula
from sfumato.core.parameters import column_names, known_columns, one_of, share_of, whole_number
from sfumato.core.progress import Progress, check_cancelled, quiet
from sfumato.engines.memory.table import enter
from sfumato.errors import PolicyError

Defence = Sequence[Any] | Callable[[], Ask]  # controls, or what makes something that answers queries


def attack_controls(
    data: Any,
    controls: Mapping[str, Defence],
    *,
    known: Sequence[str],
    secret: str,
    bounds: Mapping[str, Any] | None = None,
    attacks: Iterable[str] | None = None,
    targets: int = 20,
    most: int = QUERIES,
    within: float = 0.01,
    seed: int = 0,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Try every attack on single people against every control, each time on a fresh database.

    Parameters
    ----------
    data
        The table that stays with its owner.
    controls
        Name to the controls of a `StatisticalDatabase`, or to a function that makes what answers a query.
    known
        Columns by which the questioner knows everybody; people whom they do not tell apart are no targets.
    secret
        What is looked for: a column of numbers, or a condition such as "ill = yes".
    bounds
        Column to its bounds, for controls that need them.
    attacks
        Names of attacks; all unless given.
    targets, most
        How many people are attacked, drawn by the seed, and how many queries each attack may put.
    within
        How near a number has to come, as a share of the range of its column; of a condition, the side of one half.
    seed
        Of who is attacked, and of the sets that attackers draw.
    progress
        A function of a message and a share.

    Returns
    -------
    A frame with a row per attack and control: how many were tried, the shares that were found out `right`, `wrong`, or
    for whom `nothing` came out, what guessing the most frequent or the middle value gets right, and the `queries` and
    `refusals` on average.
    """
    if not isinstance(controls, Mapping) or not controls:
        got = "none" if isinstance(controls, Mapping) else type(controls).__name__
        raise PolicyError("controls must be named", got=got, allowed='{"size": [sf.QuerySetSize(3)]}')
    frame = enter(data)[0]
    names = column_names(known, "known")
    known_columns(names, frame.columns)
    chosen = [one_of(name, "attack", TARGETED) for name in (TARGETED if attacks is None else attacks)]
    near, limit = share_of(within, "within"), whole_number(most, "most")
    looked_for = secret if secret in frame.columns else parse_formula(secret)
    if isinstance(looked_for, str) and not frame.get_column(looked_for).dtype.is_numeric():
        raise PolicyError(f'"{secret}" has no numbers to add up', hint=f'look for a condition, as "{secret} = yes"')
    true = _true(frame, looked_for)
    register = frame.select(names)
    alone = np.flatnonzero(register.is_unique().to_numpy())
    if not len(alone):
        raise PolicyError("nobody is known by these columns alone", allowed="columns that tell some people apart")
    rng = np.random.default_rng(whole_number(seed, "seed", 0))
    people = np.sort(rng.permutation(alone)[: whole_number(targets, "targets")])
    found = []
    for i, (control, defence) in enumerate(controls.items()):
        for j, name in enumerate(chosen):
            check_cancelled()
            (progress or quiet)(f"{name} against {control}", (i * len(chosen) + j) / (len(controls) * len(chosen)))
            if name == "extremes" and not isinstance(looked_for, str):
                continue
            outcomes = []
            for person in people:
                ask = _answering(frame, names, looked_for, defence, bounds)
                questioner = Questioner(ask, register, int(person), looked_for, np.random.default_rng([seed, j]), limit)
                value = TARGETED[name](questioner)
                outcomes.append(
                    (_right(value, true, int(person), near, looked_for), questioner.queries, questioner.refusals)
                )
            found.append(
                {"attack": name, "control": control, **_row(outcomes), "guess": _guess(true, near, looked_for)}
            )
    return pl.DataFrame(found)


def _answering(frame: pl.DataFrame, known: Sequence[str], secret: str | Formula, defence: Defence, bounds: Any) -> Ask:
    """A fresh database as something that answers."""
    if callable(defence):
        return defence()
    values = [secret] if isinstance(secret, str) else []
    keys = [*known, *(name for name in getattr(secret, "columns", ()) if name not in known)]
    given = {} if bounds is None else {"bounds": bounds}
    database = StatisticalDatabase(frame, controls=defence, values=values, keys=keys, **given)
    return lambda query: database.ask(query).value


def _true(frame: pl.DataFrame, secret: str | Formula) -> np.ndarray:
    found = frame.get_column(secret).to_numpy() if isinstance(secret, str) else secret.rows(frame)
    return np.asarray(found, float)


def _right(value: float | None, true: np.ndarray, person: int, within: float, secret: str | Formula) -> bool | None:
    """Whether what came out is right; None where nothing did."""
    if value is None or not np.isfinite(value):
        return None
    if not isinstance(secret, str):
        return bool((value > 0.5) == (true[person] > 0.5))
    return bool(abs(value - true[person]) <= within * float(np.ptp(true)) + 1e-9)


def _guess(true: np.ndarray, within: float, secret: str | Formula) -> float:
    middle = np.median(true) if isinstance(secret, str) else float(true.mean() > 0.5)
    return float((np.abs(true - middle) <= (within * np.ptp(true) if isinstance(secret, str) else 0)).mean())


def _row(outcomes: Sequence[tuple[bool | None, int, int]]) -> dict[str, Any]:
    tried = len(outcomes)
    shares = {word: sum(one[0] is value for one in outcomes) / tried for word, value in _WORDS.items()}
    means = {"queries": sum(one[1] for one in outcomes) / tried, "refusals": sum(one[2] for one in outcomes) / tried}
    return {"tried": tried, **shares, **means}


_WORDS = {"right": True, "wrong": False, "nothing": None}
