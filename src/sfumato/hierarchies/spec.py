"""Specs: the short forms in which a policy or a command line names a hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.hierarchy import Hierarchy, Recipe
from sfumato.core.registry import Registry
from sfumato.errors import HierarchyError, PolicyError, did_you_mean
from sfumato.hierarchies.dates import Dates, dates
from sfumato.hierarchies.either import either
from sfumato.hierarchies.file import File, file
from sfumato.hierarchies.flat import Flat, Given, flat
from sfumato.hierarchies.intervals import Intervals, intervals
from sfumato.hierarchies.learned import learned
from sfumato.hierarchies.levels import ExplicitLevels, levels
from sfumato.hierarchies.order import Order, order
from sfumato.hierarchies.redact import Redact, redact
from sfumato.hierarchies.rows import neighbour
from sfumato.hierarchies.templates.template import NumberTemplate, Template
from sfumato.hierarchies.tree import TreeRecipe, tree
from sfumato.hierarchies.wide import Wide, wide

ENDINGS = (".csv", ".tsv", ".txt")
OPTIONS: dict[str, tuple[str, ...]] = {  # the keys that may stand beside the name in a table
    "intervals": ("origin", "cuts", "bottom", "top"),
    "cuts": ("origin", "bottom", "top"),
    "redact": ("char", "steps"),
    "dates": (),
    "levels": (),
    "order": ("fanouts", "learned"),
    "tree": ("delimiter",),
    "wide": ("delimiter",),
    "file": ("delimiter", "learned"),
    "either": (),
    "flat": (),
    "learned": ("groups", "digits"),
}
READERS: dict[str, Callable[..., Recipe]] = {"tree": tree, "wide": wide, "file": file}


def parse(spec: object, base: str | Path | None = None) -> Recipe:
    """The recipe that a spec names: a recipe, a Hierarchy, a text, or a table as in a policy file.

    A text is the path of a hierarchy file, or a name with its values after a colon: `intervals:5,10,20`,
    `intervals:5,10,top=90`, `cuts:18,40,65/40`, `redact:right`, `redact:left,2,4`, `dates:month,year`,
    `order:low,mid,high`, `levels:*`, `file:disease.csv`, `either:redact:right or redact:left`, `flat`, `learned`,
    `icd10`, `postcode:de`. A table is `{"intervals": [5, 10, 20], "top": 90}`, `{"redact": "right"}`, `{"file":
    "disease.csv"}` and so on, or a plain mapping of values to labels. Relative paths start at `base`.

    >>> parse("intervals:5,10,20").describe(), parse({"redact": "left"}).describe(), parse("flat").describe()
    ('intervals 5, 10, 20', 'redact left', 'flat')
    """
    if isinstance(spec, Hierarchy):
        return Given(spec)
    if not isinstance(spec, str | type) and isinstance(spec, Recipe):
        return spec
    if isinstance(spec, Path):
        return _reader("file", spec, {}, base)
    if isinstance(spec, str):
        return _from_text(spec, base)
    if isinstance(spec, Mapping):
        return _from_table(spec, base)
    what = "a hierarchy is a recipe such as intervals(5, 10), a Hierarchy, a file name or a table"
    hint = "call it, as in flat()" if callable(spec) else None
    raise PolicyError(what, got=type(spec).__name__, hint=hint)


def written(recipe: Recipe | None) -> bool:
    """Whether somebody wrote the hierarchy down, value by value: it then tells nothing of the table it is used on.

    >>> written(parse({"order": ["low", "high"]})), written(parse("redact:right"))
    (True, False)
    >>> written(parse({"order": ["low", "high"], "learned": True}))
    False
    """
    if isinstance(recipe, ExplicitLevels):
        return not isinstance(recipe.steps[0], str)
    return isinstance(recipe, File | TreeRecipe | Wide | Order | Given) and not getattr(recipe, "learned", False)


def fixed(recipe: Recipe | None) -> bool:
    """Whether a value has the same labels whatever else is in the table: its cuts come from no other value.

    >>> [fixed(parse(spec)) for spec in ("intervals:5,10", "learned", "redact:right", "redact:2,4")]
    [True, False, False, True]
    """
    if isinstance(recipe, Redact):
        return bool(recipe.steps)
    return isinstance(recipe, Intervals | Dates | Template | NumberTemplate) or written(recipe)


def public(recipe: Recipe | None, dtype: pl.DataType) -> bool:
    """Whether the labels of a value, and how many levels there are, follow from the value and its type alone.

    >>> [public(parse(spec), pl.String()) for spec in ("flat", "intervals:5", "prefix:2", "dates:day", "dates:year")]
    [True, True, False, False, True]
    """
    if isinstance(recipe, Template) and (recipe.fill or not recipe.steps):  # by the longest code, or by any
        return False
    if isinstance(recipe, Dates) and recipe.counts_days and not dtype.is_temporal():  # whether any has a time
        return False
    return fixed(recipe) or isinstance(recipe, Flat)


def policy_table(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A builder and the values of its parameters as a policy file writes them; `parse` makes the same recipe of it.

    >>> policy_table("intervals", {"widths": [5, 10], "top": 90}), policy_table("learned", {"groups": 8})
    ({'intervals': [5, 10], 'top': 90}, {'learned': True, 'groups': 8})
    """
    parameters = [one.name for one in _registered()[name].parameters]
    beside = OPTIONS[name] if name in OPTIONS else parameters[1:]
    first = next((one for one in parameters if one not in beside), "")
    alone: Any = [] if name == "intervals" else True  # cuts, or ends, without widths
    return {name: values.get(first, alone)} | {key: value for key, value in values.items() if key != first}


def _from_text(text: str, base: str | Path | None) -> Recipe:
    name, _, rest = text.partition(":")
    if name == "either":
        return make(name, rest.split(" or ") if rest else True, {}, base)
    if name in OPTIONS:
        words, options = _words(rest) if rest else ([], {})
        if name == "cuts":
            steps = [level.split(",") for level in rest.split("/")]
            last, options = _words(",".join(steps[-1]))
            return make("cuts", [*steps[:-1], last] if last else steps[:-1], options, base)
        if name in READERS or name == "levels":
            return make(name, rest if name in READERS else [rest], {}, base)
        if name == "redact":
            return make(name, [_number(word) for word in words] or True, options, base)
        if isinstance(fanouts := options.get("fanouts"), str):
            options["fanouts"] = [int(f) if f.isdigit() else f for f in fanouts.split("/")]
        if name == "order" and "learned" in options:
            options["learned"] = {"true": True, "false": False}.get(str(options["learned"]), options["learned"])
        return make(name, words or True, options, base)
    if name in _registered():
        words, options = _words(rest) if rest else ([], {})
        return _registered_recipe(name, [_number(word) for word in words], {k: _number(v) for k, v in options.items()})
    path = _resolve(text, base)
    if path.is_file() or text.lower().endswith(ENDINGS):
        return _reader("file", text, {}, base)
    names = ", ".join(_registered())
    hint = did_you_mean(name, _registered()) or "a hierarchy file ends in .csv, .tsv or .txt"
    raise PolicyError(
        f'unknown hierarchy "{text}", and no such file', allowed=f"a file name, or one of {names}", hint=hint
    )


def _words(text: str) -> tuple[list[str], dict[str, object]]:
    """Values and `key=value` options of a text such as `5,10,top=90`."""
    words: list[str] = []
    options: dict[str, object] = {}
    for word in text.split(","):
        key, equals, value = word.partition("=")
        if equals and key.strip().isidentifier():
            options[key.strip()] = value.strip()
        else:
            words.append(word.strip())
    return words, options


def _from_table(table: Mapping[Any, Any], base: str | Path | None) -> Recipe:
    chosen = [key for key in table if key in OPTIONS]
    for name, beside in ("intervals", "cuts"), ("order", "learned"), ("file", "learned"):  # which are options, too
        if name in chosen and beside in chosen:
            chosen.remove(beside)
    if len(chosen) == 1:
        name = chosen[0]
        return make(name, table[name], {key: value for key, value in table.items() if key != name}, base)
    if len(chosen) > 1:
        raise PolicyError("a table names one kind of hierarchy", got=", ".join(chosen))
    others = [key for key in table if key in _registered()]
    if len(others) == 1:
        rest = {str(key): value for key, value in table.items() if key != others[0]}
        return _registered_recipe(others[0], table[others[0]], rest)
    hints = [hint for key in table if (hint := did_you_mean(str(key), _registered()))]
    if len(table) > 1 and not hints and all(isinstance(label, str) for label in table.values()):
        return levels(table)  # nothing else it could be: values and their labels
    hint = hints[0] if hints else 'values and labels are written {"levels": [{...}]}'
    raise PolicyError("this table names no kind of hierarchy", allowed=", ".join(OPTIONS), hint=hint)


def _registered() -> Registry[Recipe]:
    from sfumato.hierarchies import HIERARCHIES

    return HIERARCHIES


def _registered_recipe(name: str, value: object, options: Mapping[str, object]) -> Recipe:
    """The recipe of a template or of a builder of another package, called with its values and options."""
    values = [] if value is True else list(value) if isinstance(value, list | tuple) else [value]
    make = _registered()[name].make
    try:
        signature(make).bind(*values, **options)
    except TypeError as error:
        takes = ", ".join(map(str, signature(make).parameters.values())) or "nothing"
        raise PolicyError(f"this {name} makes no hierarchy: {error}", allowed=f"{name} takes {takes}") from None
    found: Recipe = make(*values, **options)
    return found


def _number(word: object) -> object:
    """A number where a word is one."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(str(word))
    return word


def make(name: str, value: object, options: Mapping[Any, object], base: str | Path | None = None) -> Recipe:
    """The recipe of that name from its value and options, all of which may come from a file."""
    faults = []
    for key in options:
        if key not in OPTIONS[name]:
            hint = did_you_mean(str(key), OPTIONS[name])
            faults.append(f'{name} has no "{key}"; {hint or "allowed: " + (", ".join(OPTIONS[name]) or "nothing")}')
    if name in ("flat", "learned") and value is not True and value not in ([], {}):
        faults.append(f"{name} takes no value; write {name} = true")
    elif value is False or (value is True and name not in ("flat", "learned", "redact", "dates")):
        faults.append(f"{name} needs a value")
    if faults:
        raise PolicyError(f"this {name} makes no hierarchy", faults)
    given = dict(options)
    if name in READERS:
        return _reader(name, value, given, base)
    if name == "either":
        several = value if isinstance(value, list | tuple) else [value]
        if several and all(isinstance(one, list | tuple) for one in several):
            return either(several)  # edges, or rows
        return either(*(parse(one.strip() if isinstance(one, str) else one, base) for one in several))
    if name == "cuts":
        return intervals(cuts=value if isinstance(value, list | tuple) else [value], **given)
    if name == "redact":
        return _redact([] if value is True else list(value) if isinstance(value, list | tuple) else [value], given)
    if name == "order":
        return order(value, **given)  # type: ignore[arg-type]
    if name in ("flat", "learned"):
        return flat() if name == "flat" else learned(**_integers(given))
    values = [] if value is True else list(value) if isinstance(value, list | tuple) else [value]
    if name == "intervals":
        return intervals(*values, **given)
    return dates(*map(str, values)) if name == "dates" else levels(*values)


def _redact(values: list[Any], options: dict[str, Any]) -> Recipe:
    """`right`, `2, 4` or `left, 2, 4`: the side, the steps or both."""
    if values and isinstance(values[0], str):
        options["side"] = values.pop(0)
    if values and "steps" in options:
        raise PolicyError("redact has its steps twice", hint='write redact = "left" beside steps = [2, 4]')
    return redact(**(options | ({"steps": values} if values else {})))


def _integers(options: Mapping[str, object]) -> dict[str, Any]:
    return {key: int(v) if isinstance(v, str) and v.isdigit() else v for key, v in options.items()}


def _reader(name: str, value: object, options: Mapping[str, Any], base: str | Path | None) -> Recipe:
    if not isinstance(value, str | Path):
        return READERS[name](value, **options)
    path = _resolve(value, base)
    if not path.is_file():
        raise HierarchyError(f"there is no hierarchy file {path}", hint=neighbour(path))
    return READERS[name](path, **options)


def _resolve(value: str | Path, base: str | Path | None) -> Path:
    path = Path(value).expanduser()
    return path if base is None else Path(base) / path
