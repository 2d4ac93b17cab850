"""The verb choose: which k, from thresholds in use, the attackers, the population, and what each k costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato import __version__
from sfumato.comparing.axes import utility_axis
from sfumato.comparing.choosing import ATTACKERS, USUAL_KS, KChoice, choice, needed, write_choice
from sfumato.comparing.points import Point, plan
from sfumato.core.parameters import one_of, path_of, real_number, whole_number
from sfumato.core.progress import Progress, cancellable
from sfumato.criteria.model import SMALLEST_FRACTION
from sfumato.engines.memory.table import enter
from sfumato.errors import MissingExtra, PolicyError, warn
from sfumato.verbs import Names
from sfumato.verbs.compare import CompareWarning, compare


@cancellable
def choose(
    data: Any,
    *,
    quasi: Names | Sequence[Names],
    identifying: Names = (),
    sensitive: Names = (),
    insensitive: Names = (),
    weight: str | None = None,
    rest: str = "refuse",
    normalise: bool | Sequence[str] = False,
    limit: float | None = None,
    attacker: str = "prosecutor",
    population: int | None = None,
    k: Sequence[int] | None = None,
    search: Any = "auto",
    loss: Any = "lm",
    suppression: float | int = 0,
    require: Any = (),
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, tuple[int, int]] | None = None,
    ends: str = "rounded",
    output: str | Path | None = None,
    seed: int | None = None,
    workers: int = 2,
    progress: Progress | None = None,
) -> KChoice:
    """What helps to choose k: the k that each threshold in use takes, and what every k costs.

    A release is made for each k, measured, and thrown away, as `compare` does it.

    Parameters
    ----------
    data, identifying, sensitive, insensitive, weight, rest, normalise, hierarchies, levels, ends, seed, workers,
        progress: as `compare` takes them.
    quasi: the columns that others may know, one set of them.
    limit: the highest risk that you accept, above 0 and at most 1, as in 0.09.
    attacker: whose risk the limit is about. The "prosecutor" knows that somebody is in the table; the "journalist" does
        not, and needs `population`; the "marketer" links everybody, and the average counts.
    population: how many people the table is drawn from. What it changes is estimated, not proven.
    k: those to try; 2 to 50 where none are given.
    search, loss, suppression, require: one each, of all releases; `require` beside k.
    output: a folder for choice.html, choice.svg, choice.json and, with matplotlib, choice.png, beside the map.

    Returns
    -------
    A mapping: `points` (k, loss, highest, average, marketer, ...), `thresholds` (limit, use, source and the k of each
    attacker), `knee` (from which on more costs more), `suggested` and `why`.

    >>> import sfumato as sf
    >>> table = {"age": [31, 32, 33, 34, 57, 58, 59, 60] * 3}
    >>> found = sf.choose(table, quasi=["age"], limit=0.2, k=[2, 3, 6, 12])
    >>> found["suggested"], found["thresholds"][0]["prosecutor"]
    (5, 5)
    """
    frame = enter(data)[0]
    one_of(attacker, "attacker", ATTACKERS)
    if limit is not None:
        limit = float(real_number(limit, "limit", 0, 1, above=True))
    fraction = None
    if population is not None:
        population = whole_number(population, "population", max(1, frame.height))
        fraction = frame.height / population
        if fraction < SMALLEST_FRACTION:
            raise PolicyError("the population is out of range", got=population)
    elif attacker == "journalist":
        what = "the journalist's risk takes the size of the population"
        raise PolicyError(what, hint="give population, or take the prosecutor")
    sets = [quasi] if isinstance(quasi, str) or all(isinstance(name, str) for name in quasi) else list(quasi)
    if len(sets) != 1:
        raise PolicyError("choose takes one set of quasi-identifiers", got=f"{len(sets)} sets", hint="run it for each")
    [names] = sets
    tried = _tried(k, frame.height, limit, attacker, fraction)
    planned = plan(search, loss, require, suppression, tried)
    points_of_k = [point for point in planned.points if isinstance(point, Point)]
    if len(points_of_k) != len(tried):
        what = "choose takes one search, one loss, one suppression and one list of criteria"
        raise PolicyError(what, hint="compare takes several")
    kept_low = points_of_k[0].loss
    points = compare(
        frame, quasi=names, identifying=identifying, sensitive=sensitive, insensitive=insensitive, weight=weight,
        rest=rest, normalise=normalise, search=search, k=tried, require=require, loss=loss, suppression=suppression,
        hierarchies=hierarchies, levels=levels, ends=ends, utility=kept_low, risk="highest", output=output, seed=seed,
        workers=workers, progress=progress,
    )  # fmt: skip
    rows = points.to_dicts()
    about = {
        "rows": frame.height,
        "quasi": [names] if isinstance(names, str) else list(names),
        "search": " ".join(filter(None, (rows[0]["search"], rows[0]["parameters"]))),
        "measure": utility_axis(kept_low, ()).text,
        "require": rows[0]["require"],
        "suppression": rows[0]["suppression"],
        "population": population,
        "sampling_fraction": fraction,
    }
    found = choice(about, rows, limit, attacker)
    if output is not None:
        try:
            write_choice(path_of(output), found, __version__)
        except MissingExtra as error:  # all but the png is there
            warn(CompareWarning(f"choice.png is not drawn: {error}"))
    return found


def _tried(k: Any, rows: int, limit: float | None, attacker: str, fraction: float | None) -> list[int]:
    """The k to make releases for: those given, or the usual ones and that of the limit, none above the rows."""
    if k is not None:
        listed: Mapping[int, Any] = dict.fromkeys([k] if isinstance(k, int) else k)
        return sorted(whole_number(one, "k", 1) for one in listed)
    own = () if limit is None or attacker == "marketer" else (needed(limit, fraction)[attacker],)
    usual = sorted({one for one in (*USUAL_KS, *own) if one <= rows})
    return usual or [1]
