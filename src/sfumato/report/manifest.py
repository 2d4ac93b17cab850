"""Reading a manifest whose parts may be null or missing, and naming what it holds in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.protocols import BY_CONSTRUCTION
from sfumato.core.registry import Variant
from sfumato.core.wording import count, parameter
from sfumato.criteria import CRITERIA
from sfumato.release.manifest import COPY
from sfumato.report.translation import LANGUAGES

if TYPE_CHECKING:
    import polars as pl

    from sfumato.measures.table import TupleCounts


Manifest = Mapping[str, Any]
OF_PEOPLE = ("partial", "copies_people", "mixes_people")  # ways in which rows of a synthetic table are people's


def look(manifest: Manifest, *path: str) -> Any:
    """What stands at a path, or None where the way there breaks off.

    >>> look({"data": {"rows": 5}}, "data", "rows"), look({"data": None}, "data", "rows")
    (5, None)
    """
    found: Any = manifest
    for step in path:
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def table(manifest: Manifest, *path: str) -> dict[str, Any]:
    """The mapping at a path, empty where there is none."""
    found = look(manifest, *path)
    return {str(key): value for key, value in found.items()} if isinstance(found, Mapping) else {}


def rows(manifest: Manifest, *path: str) -> list[Any]:
    """The list at a path without its nulls, empty where there is none; a single mapping or text is a list of one."""
    found = look(manifest, *path)
    if isinstance(found, Mapping | str):
        return [found]
    return [one for one in found if one is not None] if isinstance(found, Sequence) else []


def spoken(manifest: Manifest) -> str:
    """The language that a manifest asks for; English where it names none that there is."""
    found = look(manifest, "about", "language")
    return found if found in LANGUAGES else "en"


def promises(manifest: Manifest) -> list[Manifest]:
    """The promises that rows can prove or break, and one by construction that is broken all the same."""
    every = [promise for promise in rows(manifest, "promises") if isinstance(promise, Mapping)]
    return [promise for promise in every if promise.get("how") != BY_CONSTRUCTION or not promise.get("holds", True)]


def constructed(manifest: Manifest) -> list[Manifest]:
    """The promises that hold by construction, which no rows can show."""
    every = [promise for promise in rows(manifest, "promises") if isinstance(promise, Mapping)]
    return [promise for promise in every if promise.get("how") == BY_CONSTRUCTION and promise.get("holds", True)]


def by_people(manifest: Manifest) -> list[Manifest]:
    """The promises that count people, of the table or of a population: released rows alone do not show them, unless
    pseudonyms of people are released."""
    every = [*rows(manifest, "people", "promises"), *rows(manifest, "population", "promises")]
    return [promise for promise in every if isinstance(promise, Mapping)]


def counted(manifest: Manifest) -> list[Manifest]:
    """Whom promises count: persons or households, and how many rows one of them has at most."""
    return [unit for unit in rows(manifest, "people", "counted") if isinstance(unit, Mapping)]


def fewest_people(manifest: Manifest) -> int | None:
    """How few people or households a class has at least; None where promises count rows."""
    found = [look(unit, "smallest") for unit in counted(manifest)]
    return min((n for n in found if isinstance(n, int)), default=None)


def measured(manifest: Manifest) -> list[Manifest]:
    """What was measured, one entry per set of quasi-identifiers."""
    return [entry for entry in rows(manifest, "measured") if isinstance(entry, Mapping)]


def quasi(manifest: Manifest) -> list[list[str]]:
    """The sets of quasi-identifiers; one flat list of names is one set."""
    sets = rows(manifest, "policy", "quasi")
    if any(isinstance(one, str) for one in sets):
        return [[str(column) for column in sets]]
    return [[str(column) for column in one if column is not None] for one in sets]


def is_masked(manifest: Manifest) -> bool:
    """Whether steps changed values of the table, so that what holds of it are facts of the steps."""
    return look(manifest, "made_by") in ("masking", "synthesis")


def is_synthetic(manifest: Manifest) -> bool:
    """Whether its rows were drawn from a model."""
    return look(manifest, "made_by") == "synthesis"


def is_drawn(manifest: Manifest) -> bool:
    """Whether all of it was drawn from a model, so that no row is a person's."""
    return is_synthetic(manifest) and not any(look(manifest, "synthesis", of) for of in OF_PEOPLE)


def perturbed(manifest: Manifest) -> list[str]:
    """The columns whose values a step changed into others."""
    return [str(column) for column in rows(manifest, "perturbed")]


def veiled(manifest: Manifest) -> list[str]:
    """The perturbed columns that no promise is about: classes of equal rows say nothing of them."""
    about = {
        str(name) for one in promises(manifest) for name in rows(one, "quasi") + rows(one, "parameters", "attribute")
    }
    return [column for column in perturbed(manifest) if column not in about]


def copies(manifest: Manifest) -> int:
    """How many tables a synthetic release holds."""
    return int(look(manifest, "synthesis", "m") or 1) if is_synthetic(manifest) else 1


def first_copy(manifest: Manifest, released: pl.DataFrame) -> pl.DataFrame:
    """The first of several tables of a synthetic release; all rows where there is one."""
    import polars as pl

    if copies(manifest) == 1:
        return released
    return released.filter(pl.col(COPY).cast(pl.String) == "1").drop(COPY)


def without_copy(manifest: Manifest) -> dict[str, Any]:
    """The same where the number of the copy is no column that anybody knows of a person."""
    if copies(manifest) == 1:
        return dict(manifest)
    sets = [[name for name in one if name != COPY] for one in quasi(manifest)]
    told, sizes = (
        [{**one, "quasi": [name for name in rows(one, "quasi") if name != COPY]} for one in part]
        for part in ([*promises(manifest), *constructed(manifest)], measured(manifest))
    )
    return {**manifest, "promises": told, "measured": sizes, "policy": {**table(manifest, "policy"), "quasi": sets}}


def of_set(manifest: Manifest, entry: Manifest) -> list[str]:
    """The columns of a measured entry, or of the only set where it does not say."""
    sets = quasi(manifest)
    return [str(column) for column in rows(entry, "quasi")] or (sets[0] if len(sets) == 1 else [])


def roles_of(manifest: Manifest, released: pl.DataFrame | TupleCounts | None) -> dict[str, str]:
    """The released columns and their roles, in order; without the table those that the manifest names."""
    columns = [column for column in rows(manifest, "data", "columns") if look(column, "name") is not None]
    said = {str(column["name"]): str(look(column, "role") or "") for column in columns}
    return said if released is None else {name: said.get(name, "insensitive") for name in released.columns}


def called(table: Mapping[str, Variant[Any]], name: str) -> str:
    """What the registry calls a variant; one without words of its own, or not installed here, goes by its name.

    >>> called(CRITERIA, "alpha-k"), called(CRITERIA, "sample-uniqueness"), called(CRITERIA, "entropy-l-diversity")
    ('(α, k)-anonymity', 'sample uniqueness', 'entropy l-diversity')
    """
    words = table[name].words if name in table else ""
    return words or re.sub(r"(?<!\b\w)-", " ", name)


def titled(table: Mapping[str, Variant[Any]], name: str) -> str:
    """The same where a line begins with it.

    >>> titled(CRITERIA, "sample-uniqueness"), titled(CRITERIA, "t-closeness")
    ('Sample uniqueness', 't-closeness')
    """
    words = called(table, name)
    lower = words[1:2] == "-" or (name in table and table[name].words)  # a letter of a formula stays as it is
    return words if lower else words[:1].upper() + words[1:]


def model(promise: Mapping[str, Any]) -> str:
    """The model of a promise in the literature's words.

    >>> model({"model": "k-anonymity", "parameters": {"k": 10}})
    'k-anonymity, k = 10'
    >>> model({"model": "k-anonymity", "parameters": {"k": 10, "quasi": ["age", "zip"]}})
    'k-anonymity, k = 10 over age, zip'
    """
    parameters = dict(promise.get("parameters") or {})
    attribute, over = parameters.pop("attribute", None), parameters.pop("quasi", None)
    named = str(promise.get("model") or "unnamed promise")
    title = titled(CRITERIA, named)
    given = [
        f"{key} = {count(len(value), 'value') if isinstance(value, Mapping) else parameter(value)}"
        for key, value in parameters.items()
        if value is not None
    ]
    told = ", ".join([f"{title} of {attribute}" if attribute is not None else title, *given])
    return f"{told} over {parameter(over)}" if over else told
