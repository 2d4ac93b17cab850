"""[population] of a policy: the table of the population that models count."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.policyfile.tables import PopulationFile

FILES = ("reference", "population", "distribution")  # parameters that name one
BESIDE = ("population", "sampling_fraction")  # a model has its population in the one, or needs none with the other


def population_of(checked: Any, bad: Any, folder: Path) -> Any:
    """The table that [population] names: its path, or what is streamed from there; None where nothing is written, or it
    has faults, which are told elsewhere."""
    if bad or not isinstance(checked, PopulationFile) or checked.path is None:
        return None
    path = folder / Path(checked.path).expanduser()
    if not checked.stream:
        return path
    from sfumato.engines.files.table import scan

    return scan(path)


def with_files(item: Mapping[str, Any], population: Any, folder: Path) -> dict[str, Any]:
    """The parameters of a model of a policy file, their files as seen from here, with the population that it counts."""
    parameters = {key: value for key, value in item.items() if key != "model"}
    files = {key: str(folder / parameters[key]) for key in FILES if isinstance(parameters.get(key), str)}
    beside = (
        {"population": population} if population is not None and takes_population(item["model"], parameters) else {}
    )
    return {**parameters, **files, **beside}


def takes_population(model: Any, parameters: Mapping[str, Any]) -> bool:
    """Whether a model, with these parameters, counts the population that stands beside it.

    >>> takes_population("delta-presence", {"low": 0}), takes_population("k-map", {"k": 20, "sampling_fraction": 0.1})
    (True, False)
    """
    from sfumato.criteria import CRITERIA

    known = {one.name for one in CRITERIA[model].parameters} if model in CRITERIA else set()
    return "population" in known and not parameters.keys() & {*BESIDE}
