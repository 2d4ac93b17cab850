"""Steps: maskers and pseudonyms from what users write: values, shell forms, tables of a policy file."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping
from itertools import product
from typing import Any

from sfumato.core.forms import make_variant
from sfumato.core.parameters import one_of
from sfumato.core.protocols import Masker
from sfumato.core.registry import Variant, variant_name
from sfumato.errors import PolicyError
from sfumato.masking import MASKERS
from sfumato.masking.around_search import AFTER, BEFORE
from sfumato.pseudonyms import PSEUDONYMS
from sfumato.verbs import shell_form

STEPS: Mapping[str, Variant[Masker]] = ChainMap(MASKERS, PSEUDONYMS)  # type: ignore[arg-type]
BRACES = re.compile(r"\{([^{}]*)\}")


def masker(name: str, **parameters: Any) -> Masker:
    """A masker by its name and parameters, as a policy file gives them."""
    found: Masker = make_variant(STEPS, "step", name, parameters)
    return found


def parse(text: str) -> Masker:
    """A masker in its shell form: its name, its columns, its parameters.

    >>> parse("rounding income,tax base=10")
    Rounding(columns=('income', 'tax'), by=(), base=10, points=None, random=False)
    """
    table = written(text)
    return masker(table.pop("step"), **table)


def written(text: str) -> dict[str, Any]:
    """The shell form of a step as a table of a policy file has it."""
    return shell_form.written(text, "step", "step", "rounding income,tax base=10")


def _known(step: Any) -> Masker:
    """A step that is one of those in the tables, or was registered."""
    table = PSEUDONYMS if PSEUDONYMS.name_of(step) is not None else MASKERS
    return table.value(step)


def timed_steps(given: Any) -> tuple[tuple[str, Masker], ...]:
    """Steps around a search: each with "before", which is meant unless "after" is said, as in ("after", step) or in a
    table of a policy file with `when`."""
    listed = list(given) if isinstance(given, list | tuple) else [given]
    found = []
    for one in listed:
        when, step = one if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) else (BEFORE, one)
        if isinstance(step, Mapping) and "when" in step:
            when, step = step["when"], {key: value for key, value in step.items() if key != "when"}
        found.append((one_of(when, "time of a step", (BEFORE, AFTER)), steps_of([step])[0]))
    return tuple(found)


def steps_of(given: Any) -> tuple[Masker, ...]:
    """Steps from values, shell forms and mappings as in a policy file; one alone is a list of one."""
    listed = list(given) if isinstance(given, list | tuple) else [given]
    found = []
    for one in listed:
        if isinstance(one, str):
            found.append(parse(one))
        elif isinstance(one, Mapping):
            rest = {str(k): v for k, v in one.items() if k != "step"}
            if not isinstance(one.get("step"), str):
                raise PolicyError("a step does not name its masker", allowed='{"step": "rounding", "base": 10}')
            found.append(masker(one["step"], **rest))
        else:
            found.append(_known(one))
    if not found:
        raise PolicyError("no step is given", allowed=", ".join(STEPS), hint='for example "rounding base=10"')
    return tuple(found)


def masks_of(given: Any) -> list[tuple[Masker, ...]]:
    """Lists of steps to compare. Each is a step, a list of steps, or a text of steps between semicolons, in which
    p={5,10} stands for one list with p=5 and one with p=10.

    >>> [len(steps) for steps in masks_of(["rounding base=10", "rank-swapping p={5,10}; rounding base=2"])]
    [1, 2, 2]
    """
    found = [steps_of(one) for one in forms_of(given)]
    for step in (step for steps in found for step in steps if step.pseudonymous):
        what = f"{variant_name(type(step).__name__)} gives pseudonyms, which change neither risk nor utility of a table"
        raise PolicyError(what, hint="leave the step out: columns that are identifying are dropped")
    return found


def forms_of(given: Any) -> list[Any]:
    """What is to be compared one by one, as it was written: each text is lists of steps."""
    listed = list(given) if isinstance(given, list | tuple) else [given]
    return [one for entry in listed for one in (swept(entry) if isinstance(entry, str) else [entry])]


def named_in(form: Any) -> tuple[frozenset[str], ...]:
    """The parameters that each step of a form names; of a value it is not known which.

    >>> [sorted(names) for names in named_in(["rounding pay base=10", "pram"])]
    [['base', 'columns', 'step'], ['step']]
    """
    listed = form if isinstance(form, list | tuple) else [form]
    return tuple(
        frozenset(written(one) if isinstance(one, str) else one if isinstance(one, Mapping) else ()) for one in listed
    )


def swept(text: str) -> list[list[str]]:
    """The steps of a text, once for each combination of values in braces."""
    parts = [part.split(",") if i % 2 else [part] for i, part in enumerate(BRACES.split(text))]
    return [[step.strip() for step in "".join(one).split(";") if step.strip()] for one in product(*parts)]


def as_written(step: Masker) -> tuple[str, ...]:
    """The columns whose texts a step takes as they are written: pseudonyms of +39 and of 39 are two."""
    if not step.pseudonymous:
        return ()
    return (*(step.columns if "category" in step.kinds else ()), *step.needs)
