"""Forms: the parameters of a variant, as lists, documents and forms show them, and a variant made of what is filled in.

Everything is read off the class or function itself: names, order and defaults off its signature, types and ranges off
its annotations (`core.parameters` checks by the same), and a line of help off its docstring.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin

from sfumato.core.parameters import LARGEST, Annotation, Declared, OneOf, PerColumn, Real, Whole, Written, declared_by
from sfumato.core.wording import from_flag, number, scalar
from sfumato.errors import PolicyError, SfumatoError, did_you_mean

if TYPE_CHECKING:
    from sfumato.core.registry import Registry, Variant

TYPES = {str: "text", int: "whole number", float: "number", bool: "yes or no", Path: "path", dict: "mapping"}
TYPES |= dict.fromkeys((Mapping, typing.Mapping), "mapping") | dict.fromkeys((tuple, list, Sequence, Iterable), "list")
Fault = tuple[str | None, str]  # the parameter that is wrong, where it is one, and what is wrong


@dataclass(frozen=True)
class NumberRange:
    """The numbers from `least` to `greatest`, None where there is no end, without an end that is open."""

    least: float | None
    greatest: float | None
    open_least: bool = False
    open_greatest: bool = False

    def __str__(self) -> str:
        low = "" if self.least is None else f"{'>' if self.open_least else '>='} {number(self.least)}"
        high = "" if self.greatest is None else f"{'<' if self.open_greatest else '<='} {number(self.greatest)}"
        return " and ".join(end for end in (low, high) if end)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a variant: what a form asks for.

    `type` is "whole number", "number", "yes or no", "choice", "text", "path", "column", "columns", "list", "lists" (a
    list, or several), "mapping", "table" (data), "variant" (of the table in `refers_to`) or "value" (anything else).
    Choices beside a range are words that stand for a number. `many` are given one after the other, as the widths of
    intervals.
    """

    name: str
    type: str
    required: bool
    default: Any
    help: str
    range: NumberRange | None = None
    choices: tuple[str, ...] = ()
    refers_to: str | None = None
    many: bool = False

    @property
    def allowed(self) -> str:
        """What it may be, in a few words."""
        parts = [self.type if self.type not in ("choice", "value") else ""]
        parts[0] += f" {self.range}" if self.range is not None and str(self.range) else ""
        parts[0] += f" ({self.refers_to})" if self.refers_to not in (None, self.type, "column") else ""
        return " or ".join(part for part in (parts[0].strip(), ", ".join(self.choices)) if part)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for json."""
        known = self.range
        ends = ("least", "greatest", "open_least", "open_greatest")
        return {
            "name": self.name,
            "type": self.type,
            "required": self.required,
            "default": _plain(self.default),
            "range": None if known is None else {end: getattr(known, end) for end in ends},
            "choices": list(self.choices),
            "refers_to": self.refers_to,
            "many": self.many,
            "help": self.help,
        }


@cache
def parameters_of(make: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The parameters of a class or a function, in order.

    >>> from sfumato.criteria import KAnonymity
    >>> parameters_of(KAnonymity)[0].allowed
    'whole number >= 1'
    """
    annotations, signature = declared_by(make), inspect.signature(make).parameters
    shared = {name: one.check.help for name, one in annotations.items() if one.check is not None and one.check.help}
    helps = _helps(make, tuple(signature), shared)
    return tuple(_parameter(name, p, annotations[name], helps.get(name, "")) for name, p in signature.items())


def _parameter(name: str, of: inspect.Parameter, known: Annotation, help_: str) -> Parameter:
    check = known.check
    many = of.kind is of.VAR_POSITIONAL
    needed = check is not None and check.needed
    choices = check.options if isinstance(check, OneOf) else ()
    of_number = check.other if isinstance(check, OneOf) else check.each if isinstance(check, PerColumn) else check
    return Parameter(
        name,
        _type(known, of_number if isinstance(check, OneOf) and check.other else check),
        needed or (of.default is of.empty and not many),
        () if many else None if needed or of.default is of.empty else of.default,
        help_,
        _range(of_number),
        tuple(choices),
        getattr(check, "refers_to", None),
        many,
    )


def _type(known: Annotation, check: Declared | None) -> str:
    if isinstance(check, Written):
        return check.kind
    if check is not None:
        return check.type
    hints = get_args(known.hint) if get_origin(known.hint) in (UnionType, typing.Union) else (known.hint,)
    found = {TYPES.get(get_origin(hint) or hint, "value") for hint in hints if hint is not type(None)}
    return found.pop() if len(found) == 1 else "value"


def _range(check: Declared | None) -> NumberRange | None:
    if isinstance(check, Whole):
        return NumberRange(check.least, None if check.most >= LARGEST else check.most)
    if not isinstance(check, Real):
        return None
    return NumberRange(check.least, None if check.most >= LARGEST else check.most, check.above, check.below)


def _helps(make: Callable[..., Any], names: Collection[str], shared: Mapping[str, str]) -> dict[str, str]:
    """What docstrings say of parameters, that of a class before those of its bases, or what others share."""
    texts = [
        inspect.cleandoc(one.__doc__ or "") for one in (inspect.getmro(make) if isinstance(make, type) else (make,))
    ]
    said, mentioned = ({name: line for text in reversed(texts) for name, line in read(text, names).items()}
                       for read in (_entries, _mentions))  # fmt: skip
    return {**mentioned, **shared, **said}


def _entries(text: str, names: Collection[str]) -> dict[str, str]:
    """Entries of a docstring: `k`: text; k, l: text; `k`, text; of a list of parameters; or a line k with text below.

    >>> _entries("Rounds.\\n\\nbase: the width of the grid. points: where to, if\\nnot everywhere.", ["base", "points"])
    {'base': 'the width of the grid', 'points': 'where to, if not everywhere'}
    """
    one = rf"`?(?:{'|'.join(map(re.escape, names)) or '(?!)'})`?"
    these = rf"{one}(?:(?:, | and ){one})*"
    text = re.sub(rf"(?m)^({these})\n    ", r"\n\1: ", text)
    found: dict[str, str] = {}
    for paragraph in re.split(r"\n\s*\n", text):
        listed = paragraph.startswith("Parameters: ")
        start = r"(?:^|(?<=[.;:]\s)|(?<=\n))"
        hits = [*re.finditer(rf"{start}({these}){'[:,]' if listed else ':'}\s", paragraph)]
        for hit, after in zip_longest(hits, hits[1:]):
            said = _sentence(paragraph[hit.end() : after.start() if after else None])
            for name in re.findall(r"\w+", hit[1].replace(" and ", " ")):
                found.setdefault(name, said)
    return {name: said for name, said in found.items() if said}


def _mentions(text: str, names: Collection[str]) -> dict[str, str]:
    """The first sentence, after the first line, that has a parameter between backticks."""
    sentences = [" ".join(s.split()) for s in re.split(r"(?<=[.;:])\s+(?=[A-Z`])|\n\s*\n", text.partition("\n")[2])]
    found = {name: next((s for s in sentences if re.search(rf"`{name}[`=]", s)), "") for name in names}
    return {name: _sentence(said) for name, said in found.items() if said}


def _sentence(text: str) -> str:
    """The first sentence, on one line."""
    line = " ".join(text.split())
    return re.split(r"(?<=[^.][.])\s", line)[0].rstrip(" .;,")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list | frozenset | set):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def read_text(parameter: Parameter, text: str) -> Any:
    """What somebody wrote into a field of a form, as the parameter takes it. Lists have commas, or lines; several of
    them a slash between them; of a mapping, a value with bars is a list.

    >>> read_text(Parameter("quasi", "columns", True, None, ""), "age, zip")
    ['age', 'zip']
    >>> read_text(Parameter("cuts", "lists", True, None, ""), "18, 65 / 65")
    [[18, 65], [65]]
    >>> read_text(Parameter("bounds", "mapping", True, None, ""), "age=0|120, pay=1")
    {'age': [0, 120], 'pay': 1}
    """
    if text in parameter.choices or parameter.type in ("text", "choice", "column", "path"):
        return text
    lines = ",".join(line.strip().rstrip(",") for line in text.splitlines() if line.strip())
    if parameter.type == "lists" and "/" in lines:
        return [[scalar(one) for one in from_flag(part)] for part in lines.split("/") if part.strip(" ,")]
    if parameter.type == "mapping":
        pairs = [part.rpartition("=") for part in from_flag(lines)]
        return {key.strip(): _scalars(value) for key, _, value in pairs} if all(key for key, _, _ in pairs) else text
    if parameter.type in ("columns", "list", "lists") or parameter.many:
        found = from_flag(lines)
        return found if parameter.type in ("columns", "text") else [scalar(one) for one in found]
    return scalar(text)


def _scalars(text: str) -> Any:
    return [scalar(one) for one in text.split("|")] if "|" in text else scalar(text)


def as_text(value: Any) -> str:
    """A value as it is typed into a field, so that `read_text` reads it back.

    >>> as_text({"HIV": 3, "flu, mild": [2, 4]}), as_text(["a", 2]), as_text([[18, 65], [65]]), as_text(None)
    ('HIV=3, "flu, mild=2|4"', 'a, 2', '18, 65 / 65', '')
    """
    if isinstance(value, Mapping):
        value = [f"{key}={'|'.join(map(str, one)) if isinstance(one, list | tuple) else one}"
                 for key, one in value.items()]  # fmt: skip
    if not isinstance(value, list | tuple):
        return "" if value is None else str(value)
    if any(isinstance(one, list | tuple) for one in value):
        lists = [as_text(one if isinstance(one, list | tuple) else [one]) for one in value]
        return " / ".join(lists) if len(lists) > 1 else f"{lists[0]} /"
    return ", ".join(_quoted(str(one)) for one in value)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if {*text} & {*',"'} or text != text.strip() else text


def fill(name: str, variant: Variant[Any], values: Mapping[str, Any]) -> tuple[Any | None, list[Fault]]:
    """A variant made of plain values, as a form, JSON or TOML has them, or None and all faults.

    >>> from sfumato.criteria import CRITERIA
    >>> fill("k-anonymity", CRITERIA["k-anonymity"], {"k": 5})[0]
    KAnonymity(k=5)
    >>> [parameter for parameter, _ in fill("k-anonymity", CRITERIA["k-anonymity"], {"k": 0, "l": 2})[1]]
    ['l', 'k']
    """
    if faults := faults_of(name, variant, values):
        return None, faults
    try:
        return _made(name, variant, values), []
    except SfumatoError as error:
        return None, [(None, fault) for fault in getattr(error, "faults", ()) or (str(error),)]


def make_variant(table: Mapping[str, Variant[Any]], what: str, name: str, values: Mapping[str, Any]) -> Any:
    """A variant of a table by its name, made of plain values; a PolicyError names all faults.

    >>> from sfumato.losses import LOSSES
    >>> make_variant(LOSSES, "loss", "ncp", {"aggregate": "sum"})
    NCP(aggregate='sum', weights=None)
    """
    if name not in table:
        raise PolicyError(f"unknown {what}", got=repr(name), allowed=", ".join(table), hint=did_you_mean(name, table))
    faults = [fault for _, fault in faults_of(name, table[name], values)]
    if len(faults) == 1:
        raise PolicyError(faults[0] if faults[0].startswith(name) else f"{name}: {faults[0]}")
    if faults:
        raise PolicyError(f"{name} cannot be made of these parameters", faults)
    return _made(name, table[name], values)


def faults_of(
    name: str, variant: Variant[Any], values: Mapping[str, Any], beside: Collection[str] = (), called: str = "parameter"
) -> list[Fault]:
    """What is wrong with values, each by itself; `beside` are other keys of their table, which may have been meant."""
    known = {parameter.name: parameter for parameter in parameters_of(variant.make)}
    faults: list[Fault] = []
    for given in values:
        if given not in known:
            hint = did_you_mean(given, [*known, *beside]) or f"{name} takes {', '.join(known) or 'no parameters'}"
            faults.append((given, f'unknown {called} "{given}"; {hint}'))
    if missing := [p.name for p in known.values() if p.required and values.get(p.name) is None]:
        faults.append((None, f"{name} needs {' and '.join(missing)}"))
    annotations = declared_by(variant.make)
    for key, value in values.items():
        if key in known and not known[key].many and (fault := _wrong(name, key, annotations[key], _frozen(value))):
            faults.append((key, fault))
    return faults


def _made(name: str, variant: Variant[Any], values: Mapping[str, Any]) -> Any:
    """The variant, which checks how its parameters go together."""
    given = {key: _frozen(value) for key, value in values.items()}
    listed = [one for p in parameters_of(variant.make) if p.many for one in given.pop(p.name, ())]
    try:
        return variant.make(*listed, **given)
    except (TypeError, ValueError, AttributeError, OverflowError):  # whose words may quote values
        raise PolicyError(f"{name}: the parameters do not fit") from None


def _frozen(value: Any) -> Any:
    """Lists as tuples, for parameters are frozen values."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _wrong(name: str, key: str, known: Annotation, value: Any) -> str | None:
    """What is wrong with one value by itself, or None."""
    if value is None and known.optional:
        return None
    if known.check is None or isinstance(known.check, Written):
        fault = _wrong_type(known.hint, value)
        return f"{key} {fault}" if fault else None
    try:
        known.check(value, known.check.called(key, name))
    except SfumatoError as error:
        return str(error)
    return None


def _wrong_type(hint: Any, value: Any) -> str | None:
    """What the value should have been, or None where it is."""
    if hint is Any or hint is object:
        return None
    from pydantic import ConfigDict, TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError

    try:
        adapter = TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
    except (PydanticUserError, TypeError):
        return None
    for form in (value, list(value) if isinstance(value, tuple) else value):
        try:
            adapter.validate_python(form, strict=True)
            return None
        except ValidationError as error:
            message = str(error.errors()[0]["msg"])
    return in_our_words(message)


def in_our_words(message: str) -> str:
    """A message of pydantic in the words of a policy file."""
    words = {"Input should be": "must be", "a valid integer": "a whole number", "a valid ": "a ", "dictionary": "table"}
    for theirs, ours in words.items():
        message = message.replace(theirs, ours)
    return message


def variant_of_words(registry: Registry[Any], what: str, spec: Any) -> Any:
    """A variant as `registry.value` has it, or named with parameters in one text, as in "castle beta=100"."""
    if not isinstance(spec, str) or " " not in spec.strip():
        return registry.value(spec)
    name, *given = spec.split()
    pairs = [word.partition("=") for word in given]
    return make_variant(registry, what, name, {key: scalar(value) for key, _, value in pairs})
