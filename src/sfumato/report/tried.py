"""The attacks that need the original: the regulator's three, and linkage where it is known who is who."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from sfumato.errors import SfumatoError
from sfumato.measures.utility import Pair

LINKED = 20_000  # people who are looked for in the release
ALONE = ("homogeneity", "background-knowledge", "skewness", "similarity", "negative-disclosure")
LINKAGE = ("deterministic_linkage", "distance_linkage")
Found = list[Mapping[str, Any]]


def attacks_with_original(
    pair: Pair, sets: Sequence[Sequence[str]], secrets: Sequence[str], trees: Mapping[str, Any]
) -> tuple[Found, list[str]]:
    """What the attacks achieve for each set of quasi-identifiers, and what was left out."""
    found: Found = []
    people = _people(pair)
    for names in sets:
        tried = _tried(partial(_three, pair, names, [name for name in secrets if name not in names], trees))
        for attack in LINKAGE if pair.rows is not None else ():
            tried += _tried(partial(_linked, attack, pair, people, names, trees))
        found += [{**attack, "quasi": list(names)} for attack in tried]
    if pair.rows is None:
        return found, ["Linkage was not tried: it is not known which original row each released row came from."]
    if len(people) < pair.released.height:
        return found, [f"Linkage was tried for {len(people):,} people, drawn at random with a fixed seed."]
    return found, []


def _tried(attack: Callable[[], Found]) -> Found:
    """An attack that these tables do not allow is left out."""
    try:
        return attack()
    except (SfumatoError, ImportError, AttributeError):
        return []


def _three(pair: Pair, names: Sequence[str], secrets: Sequence[str], trees: Mapping[str, Any]) -> Found:
    """Singling out, linkability, inference."""
    from sfumato.measures.attacks import attack_summary

    given: dict[str, Any] = {"quasi": names, "sensitive": secrets, "original": pair.original, "hierarchies": trees}
    every = attack_summary(pair.released, **given, most=0)
    return [attack for name, attack in every.items() if name.partition(":")[0] not in ALONE]


def _people(pair: Pair) -> np.ndarray:
    """The released rows whose people are looked for."""
    every = np.arange(pair.released.height)
    return every if len(every) <= LINKED else np.sort(np.random.default_rng(0).choice(every, LINKED, replace=False))


def _linked(attack: str, pair: Pair, people: np.ndarray, names: Sequence[str], trees: Mapping[str, Any]) -> Found:
    from sfumato.measures import attacks

    assert pair.rows is not None
    known = {column: tree for column, tree in trees.items() if column in names}
    given: dict[str, Any] = {"columns": list(names), "truth": people.tolist(), "hierarchies": known, "most": 0}
    return [getattr(attacks, attack)(pair.released, pair.original[pair.rows[people]], **given).to_dict()]
