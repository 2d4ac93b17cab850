"""Request: what is asked of a table, checked before any row is read, and what is checked on the way to a release."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core.compiled import warn_of_compiling
from sfumato.core.exact import zoned
from sfumato.core.fingerprint import secret_seed
from sfumato.core.hierarchy import Categories, HierarchyNote, leaves_of
from sfumato.core.microdata import Microdata, encode
from sfumato.core.parameters import column_names, column_set, known_columns, mapping, one_of, quasi_sets, yes_or_no
from sfumato.core.policy import Policy
from sfumato.core.printed import printed, with_texts
from sfumato.core.progress import Progress
from sfumato.core.protocols import BY_CONSTRUCTION
from sfumato.core.registry import field_values
from sfumato.core.roles import REST, K, Roles, Undecided, check_roles, digits_of, undecided
from sfumato.core.spelling import warn_of_spellings
from sfumato.core.wording import count, gigabytes, quoted
from sfumato.criteria import CRITERIA, criterion, parse
from sfumato.criteria.model import protected_by
from sfumato.criteria.of_labels import OfLabels
from sfumato.engines.files.forms import ReadWarning
from sfumato.engines.numbers import FORMS, NumberForms, canonical, number_forms
from sfumato.engines.order import RANDOM, RowOrder
from sfumato.engines.protocol import Engine, refuse_types
from sfumato.errors import (
    ColumnError,
    EmptyTable,
    Infeasible,
    PolicyError,
    ReadError,
    TooManyCells,
    UndecidedColumns,
    did_you_mean,
    listed_in_shell,
    warn,
)
from sfumato.hierarchies import parse as parse_hierarchy
from sfumato.hierarchies.either import MOST, Either
from sfumato.hierarchies.learned import Learned, have_gaps
from sfumato.measures.table import SAMPLE, estimate
from sfumato.release.facts import Masking
from sfumato.release.overlap import OVERLAP
from sfumato.search import SEARCHES, Automatic, search_name
from sfumato.search.events import Trace
from sfumato.search.problem import Solution

if TYPE_CHECKING:
    from sfumato.release.people import PeopleColumn
    from sfumato.release.verify import Verification

SHOWN = 12  # columns that a warning lists
HINT = 'use search="mondrian", search="optimal", or leave search out'
CELL = 110  # bytes that a cell takes at the peak of a run, beside those of its columns
COLUMN = 70  # bytes per cell and column at that peak
FLOOR = 600_000_000  # bytes that a run takes whatever the cells
LOOKED_AT = 100_000  # rows of an out-of-core table that are looked at for such columns


class RoleWarning(UserWarning):
    """A column without a role looks as if it told who somebody is."""


class UnprotectedWarning(UserWarning):
    """No criterion looks at a sensitive column.

    `words` says whether its reader writes Python, types in a "shell", or is told there what helps anyhow ("suggest");
    `arriving`, that rows are a stream's. Numba, where it compiles, tells a warning again by its text: then `columns`.
    """

    def __init__(self, columns: Sequence[str] | str, words: str = "python", arriving: bool = False) -> None:
        self.columns = columns if isinstance(columns, str) else tuple(columns)
        self.words, self.arriving = words, arriving
        super().__init__(self.columns, words, arriving)

    def __str__(self) -> str:
        if isinstance(self.columns, str):
            return self.columns
        listed, those = ", ".join(f'"{name}"' for name in self.columns), "it" if len(self.columns) == 1 else "them"
        said = f"nothing protects {listed}: no criterion looks at {those}."
        model = f'"distinct-l-diversity {self.columns[0]} 2"'
        if self.words not in ("shell", "suggest"):
            named = f"require=[{model}] has one" if self.arriving else "sf.suggest(release) names one"
            return f"{said} {named}, unprotected=[{listed}] accepts that"
        named = f"--require {model} is one, " if self.arriving else "--suggest names one and its cost, "
        return f"{said} {named * (self.words == 'shell')}--unprotected {listed_in_shell(self.columns)} accepts that"

    def told_in(self, words: str) -> UnprotectedWarning:
        """The same for readers elsewhere."""
        return UnprotectedWarning(self.columns, words, self.arriving)


@dataclass(frozen=True, eq=False)
class Request:
    """A policy and a search, with what both need of the table."""

    policy: Policy
    roles: Roles
    search: Any
    schema: Mapping[str, pl.DataType]
    released: tuple[str, ...]  # columns, in order
    histogram_columns: tuple[str, ...]  # columns whose distributions criteria or search need
    recipes: Mapping[str, Any]  # column to how its hierarchy is made
    levels: Mapping[str, tuple[int, int]]
    normalised: tuple[str, ...]  # sensitive columns in one spelling per value
    seed: int | None
    order: str  # of the released rows
    max_cells: int
    report_progress: Progress
    trace: Trace | None = None  # is called with each step of the search
    about: Mapping[str, Any] = field(default_factory=dict)  # what the release is about, in its owner's words
    numbers: str | Mapping[str, str] = "text"  # what ranges are written as
    row_key: tuple[str, ...] = ()  # columns that tell the rows of an out-of-core table apart
    masking: Masking | None = None  # steps before and after the search
    people: tuple[PeopleColumn, ...] = ()  # who is counted and not rows
    by_people: tuple[Any, ...] = ()  # for these criteria; the policy has what follows for rows
    population: tuple[Engine, tuple[Any, ...]] | None = None  # of whose people these criteria count some
    charge: Callable[[], AbstractContextManager[None]] | None = None  # pays for what is drawn of a private release

    @property
    def counted_by(self) -> tuple[str, ...]:
        """The columns whose distinct tuples are counted."""
        return tuple(dict.fromkeys((*self.policy.columns, *self.histogram_columns)))

    @cached_property
    def row_order(self) -> RowOrder:
        """The order of the released rows."""
        return RowOrder(self.order, self.policy.columns, secret_seed(self.seed) if self.order == RANDOM else None)

    @property
    def wildcard(self) -> bool:
        """Whether a missing value matches any value."""
        return bool(self.search.wildcard)


def criteria(require: Any, k: Any = None, unprovable: bool = False, populations: bool = False) -> tuple[Any, ...]:
    """Criteria from values, shell forms and mappings as in a policy file; one alone is a list of one. With `k`,
    k-anonymity is the first of them. Those that no rows prove, and those that count a population, are refused unless
    they are asked for where that can be."""
    if isinstance(require, str | Mapping) or not isinstance(require, Iterable):
        require = [require]
    if k is not None:
        require = [criterion("k-anonymity", k=k), *require]
    asked = [c.of if isinstance(c, OfLabels) else c for c in require]  # of a policy that was made ready before
    found = tuple(
        parse(c) if isinstance(c, str) else _named(c) if isinstance(c, Mapping) else CRITERIA.value(c) for c in asked
    )
    if not found:
        hint = "for example require=[sf.KAnonymity(10)]"
        raise PolicyError("nothing is required of the release", allowed=", ".join(CRITERIA), hint=hint)
    if not unprovable:
        _refuse_unprovable(found, populations)
    return found


def _named(given: Mapping[Any, Any]) -> Any:
    """The criterion of a mapping, as a manifest or `achieved` writes it: its model and its parameters."""
    if not isinstance(model := given.get("model"), str):
        raise PolicyError("a criterion does not name its model", allowed='{"model": "k-anonymity", "k": 10}')
    return criterion(model, **{str(key): value for key, value in given.items() if key != "model"})


def roles_of(
    frame: pl.DataFrame,
    quasi: Any,
    identifying: Any,
    sensitive: Any,
    insensitive: Any,
    weight: Any,
    needed: Iterable[str],
    unprotected: Any = (),
    rest: Any = "refuse",
    protected: Iterable[str] | None = None,
    promising: bool = True,
) -> Roles:
    """The roles, checked against the table and each other; what a criterion looks at is sensitive, and what is named as
    unprotected is too, which excludes what is `protected`: all that is needed where it is None."""
    if weight is not None and not isinstance(weight, str):
        raise PolicyError("weight must be the name of a column", got=type(weight).__name__)
    if rest not in REST:
        got = f'"{rest}"' if isinstance(rest, str) else type(rest).__name__
        raise PolicyError("rest says what becomes of columns without a role", got=got, allowed=", ".join(REST))
    accepted, needed = column_names(unprotected, "unprotected"), tuple(needed)
    both = {*column_names(sensitive, "sensitive")} & {*(needed if protected is None else protected)}
    secrets = tuple(dict.fromkeys((*column_names(sensitive, "sensitive"), *needed, *accepted)))
    free = column_names(insensitive, "insensitive")
    roles = Roles(column_names(identifying, "identifying"), quasi_sets(quasi), secrets, free, weight, accepted, rest)
    faults = check_roles(frame.columns, roles, both, promising) + [
        f'unprotected names the column "{name}", which a criterion protects'
        for name in accepted
        if name in (needed if protected is None else protected)
    ]
    if faults:
        raise ColumnError(faults[0]) if len(faults) == 1 else PolicyError("the roles do not fit the table:", faults)
    return roles


def sets_named(quasi: Any, require: Iterable[Any]) -> tuple[tuple[str, ...], ...]:
    """The sets of quasi-identifiers that are given; where none is, those that criteria name."""
    given = quasi_sets(quasi)
    return given if any(given) else tuple(dict.fromkeys(c.quasi for c in require if c.quasi)) or given


def refuse_empty(frame: pl.DataFrame, names: Iterable[str]) -> None:
    """A column without any value can be neither blurred nor protected."""
    for name in dict.fromkeys(names):
        if printed(frame.get_column(name)).null_count() == frame.height:
            raise ColumnError(f'column "{name}" is empty: it has no value in any row', hint="leave it out")


def refuse_undecided(frame: pl.DataFrame, roles: Roles, require: Iterable[Any], rows: int | None = None) -> None:
    """Raise UndecidedColumns for columns without a role that look identifying, quasi-identifying or sensitive.

    `rows` is how many the table has of which the frame is a sample.
    """
    if roles.rest == "refuse" and (found := undecided(frame, roles, _least(require), rows)):
        raise UndecidedColumns(found)


def warn_of_undecided(frame: pl.DataFrame, roles: Roles, require: Iterable[Any] = ()) -> None:
    """Name in a warning the columns that `anonymize` would refuse: of verbs that try out a release."""
    if roles.rest == "refuse":
        _warn("no role, so that anonymize would refuse them", undecided(frame, roles, _least(require)))


def warn_of_unmeasured(table: pl.DataFrame | Engine, quasi: Any, sensitive: Any = (), require: Any = ()) -> None:
    """Name in a warning the columns that may tell who somebody is, and that a measure does not look at."""
    promised = criteria(require) if require else ()
    named = (*column_names(sensitive, "sensitive"), *(name for one in promised for name in one.needs))
    roles = Roles(quasi=quasi_sets(quasi), insensitive=named)
    if isinstance(table, pl.DataFrame):
        found = undecided(table, roles, _least(promised))
    else:
        found = undecided(table.sample(LOOKED_AT), roles, _least(promised), table.rows())
    others_know = [one for one in found if one.reason.role in ("identifying", "quasi")]
    _warn("not among the quasi-identifiers, though others may know them", others_know)


def _warn(what: str, found: Sequence[Undecided]) -> None:
    listed = "; ".join(f'"{one.column}" ({one.reason.why})' for one in found[:SHOWN])
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    if found:
        warn(RoleWarning(f"{what}: {listed}{more}"))


def _least(require: Iterable[Any]) -> int:
    """How many rows share a value that is not rare: what the criteria ask of a class."""
    least = max((int(criterion.least_size) for criterion in require), default=1)
    return least if least > 1 else K


def warn_of_unprotected(roles: Roles, protected: Iterable[str], arriving: bool = False) -> None:
    """Name the sensitive columns that no criterion is about, unless that is accepted in writing."""
    if found := {*roles.sensitive} - {*protected, *roles.unprotected}:
        warn(UnprotectedWarning(sorted(found, key=roles.sensitive.index), arriving=arriving))


def recipes_of(frame: pl.DataFrame, hierarchies: Any, quasi: Iterable[str] = ()) -> dict[str, Any]:
    """Column to recipe; `quasi` that were given none, and whose names say codes, have a learned one of codes."""
    for name in mapping(hierarchies, "hierarchies"):
        if name not in frame.columns:
            what = f'there is a hierarchy for column "{name}", which the table does not have'
            raise ColumnError(what, hint=did_you_mean(name, frame.columns))
    given = {name: parse_hierarchy(spec) for name, spec in mapping(hierarchies, "hierarchies").items()}
    refuse_alternatives(given, quasi)
    return {name: Learned(digits=digits) for name in quasi if (digits := digits_of(name)) != "numbers"} | given


def refuse_alternatives(recipes: Mapping[str, Any], quasi: Iterable[str]) -> None:
    """Raise a PolicyError where columns that are no quasi-identifiers have alternatives, or all together too many."""
    several = {name: len(recipe.alternatives) for name, recipe in recipes.items() if isinstance(recipe, Either)}
    known = set(quasi)
    if others := [name for name in several if known and name not in known]:
        what = f"only quasi-identifiers may have alternatives to choose from, and {quoted(others)} is none"
        raise PolicyError(what, hint="give it one hierarchy")
    if (combinations := prod(several.values())) > MOST:
        what = f"the alternatives of {quoted(several)} make too many combinations, each of which is searched"
        raise PolicyError(what, got=f"{combinations:,}", allowed=f"at most {MOST}", hint="give fewer alternatives")


def warn_of_codes(
    table: pl.DataFrame | Engine, recipes: dict[str, Any], given: Any, quasi: Iterable[str]
) -> dict[str, Any]:
    """Say of which columns whole numbers are codes because their names say so, and nobody else does; and which may be
    codes by their gaps: no name says so, and what a few rows say shall not decide how the others are printed. Gives the
    recipes that say something: of a column without whole numbers a name says nothing."""
    schema = table.schema if isinstance(table, pl.DataFrame) else table.schema()
    named = [name for name in recipes if name not in (given or {})]
    whole = [name for name in quasi if name not in recipes and schema[name].is_integer()]
    if not named and not whole:
        return recipes
    sample = (table if isinstance(table, pl.DataFrame) else table.sample(LOOKED_AT)).head(LOOKED_AT)
    looked = {name: encode(sample.get_column(name))[0] for name in named}
    found = [name for name, one in looked.items() if one.kind == "integer"]
    decimal = [name for name, one in looked.items() if one.kind == "decimal" and _whole(one)]
    gaps = [name for name in whole if have_gaps(encode(sample.get_column(name))[0])]
    if found:
        why = "its name says" if len(found) == 1 else "their names say"
        said = f"whole numbers are codes in {quoted(found)}, as {why}: they have no ranges"
        warn(HierarchyNote(f'{said}. hierarchies={{{quoted(found[:1])}: "learned"}} takes them for numbers'))
    if decimal:
        why = "its name says" if len(decimal) == 1 else "their names say"
        said = f"whole numbers are written with decimals in {quoted(decimal)}: they are not taken for codes"
        warn(HierarchyNote(f"{said}, though {why} so. Codes are whole numbers or texts: make them such first"))
    if gaps:
        said = f"whole numbers leave gaps in {quoted(gaps)}, as codes do, and are taken for numbers"
        warn(HierarchyNote(f'{said}. hierarchies={{{quoted(gaps[:1])}: "flat"}} takes them for codes'))
    return {name: one for name, one in recipes.items() if name not in looked or name in found or one.digits != "codes"}


def _whole(categories: Categories) -> bool:
    """Whether numbers with decimals are all whole, as programs write those of a column with gaps."""
    return all(text.endswith(".0") for text in leaves_of(categories))


def learned_without(request: Request, share: float) -> dict[str, Any]:
    """The recipes; what is learned of quasi-identifiers is not learned from the rows far out that may be suppressed."""
    recipes = {name: request.recipes.get(name, Learned()) for name in request.policy.columns}
    return {**request.recipes, **{n: one.without(share) for n, one in recipes.items() if isinstance(one, Learned)}}


def adjusted(search: Any, keep: Any, labels: Any, tidy: Any = None) -> tuple[Any, bool]:
    """A search with the options that the verb gives it, and whether its labels shall be few: what the automatic choice
    shall keep, and how it prints."""
    if tidy is not None:
        yes_or_no(tidy, "tidy")
        if tidy and labels not in (None, "hierarchy"):
            what = "tidy labels are those of hierarchies"
            raise PolicyError(what, got=f"labels {labels}", allowed="hierarchy", hint="leave labels out, or tidy")
    by_itself = isinstance(search, Automatic) and search.labels == "hierarchy" and labels is None
    neat = by_itself if tidy is None else tidy
    if labels is None and tidy is not None and "labels" in field_values(search):
        labels = "hierarchy" if tidy else "given" if search.labels == "hierarchy" else None
    asked = {name: value for name, value in (("keep", keep), ("labels", labels)) if value is not None}
    for name in asked:
        if name not in field_values(search):
            choice = (
                "what the automatic choice of a search shall keep" if name == "keep" else "how a search prints ranges"
            )
            hint = 'leave search out, or use search="auto"'
            raise PolicyError(f"{name} says {choice}", got=f"search {type(search).__name__}", hint=hint)
    return replace(search, **asked), neat


def check_row_key(given: Any, engine: Engine) -> tuple[str, ...]:
    """The columns that tell rows apart; a table in memory does not need any."""
    if not column_names(given, "row_key"):
        return ()
    names = column_set(given, "row_key")
    known_columns(names, schema := engine.schema())
    refuse_types(schema, names)
    return () if engine.in_memory else names


def find_histogram_columns(columns: Collection[str], search: Any, policy: Policy, roles: Roles) -> tuple[str, ...]:
    """The columns whose histograms the criteria or the search need, such as a class attribute."""
    wanted = tuple(search.needs)
    for name in wanted:
        if name not in columns or name in roles.identifying or name in policy.columns:
            raise ColumnError(
                f'{search_name(search)} needs a column "{name}" that is released and not a quasi-identifier',
                hint=did_you_mean(name, columns),
            )
    if policy.both and not search.counts_labels:
        what = f'{search_name(search)} does not count labels of "{policy.both[0]}", which is both quasi and sensitive'
        allowed = ", ".join(name for name, one in SEARCHES.items() if one.example.counts_labels)
        raise PolicyError(what, allowed=allowed, hint="leave search out")
    return tuple(dict.fromkeys((*policy.as_they_are, *wanted)))


def in_forms(
    request: Request, micro: Microdata, labels: dict[str, pl.Series]
) -> tuple[dict[str, pl.Series], NumberForms]:
    """The labels as they are read off what numbers and dates are written as, and what that is."""
    asked = request.numbers
    if asked == "text":
        return labels, NumberForms()
    labels = with_texts(pl.DataFrame(labels), request.schema).to_dict()
    columns = {name: micro.attribute(name).categories for name in labels}
    kinds = {name: "text" if zoned(c.text[0]) else c.kind for name, c in columns.items()}  # bounds have no time zone
    forms = number_forms(asked, labels, kinds, secret_seed(request.seed))
    made = [new for name in forms.form for new in forms.names(name) if new != name]
    if taken := [name for name in made if name in request.released]:
        raise ColumnError(f'numbers would be written to a column "{taken[0]}", which the table has', hint="rename it")
    return labels | {n: canonical(labels[n], forms.kind[n], form) for n, form in forms.form.items()}, forms


def check_numbers(
    numbers: Any, policy: Policy, search: Any, engine: Engine, to_files: bool = True
) -> str | dict[str, str]:
    """What numbers and dates are written as: one form for all columns, or one for each that is named."""
    asked = {"": numbers} if isinstance(numbers, str) else dict(mapping(numbers, "numbers"))
    for name, form in asked.items():
        one_of(form, "form of numbers", FORMS)
        if not isinstance(numbers, str) and name not in policy.columns:
            raise ColumnError(f'numbers names the column "{name}", which is no quasi-identifier',
                              hint=did_you_mean(name, policy.columns))  # fmt: skip
    if set(asked.values()) <= {"text"}:
        return "text"
    apart = [c.model for c in policy.require if c.monotonicity == "none"]
    reasons = {
        "a search in which a missing value matches any value": search.wildcard,
        f"{', '.join(apart)}, which classes that are written alike may break": bool(apart),
    }
    if wrong := [reason for reason, there in reasons.items() if there]:
        raise PolicyError("numbers and dates must be written as text", got=wrong[0], hint="leave out numbers")
    if "draw" in asked.values() and not (engine.in_memory or (engine.draws and to_files)):
        what, allowed = f"values cannot be drawn for a release that stays where {engine.called} lives", FORMS[:-1]
        hint = "ask for bounds, or release files" if engine.draws else "ask for bounds"
        raise PolicyError(what, got="numbers draw", allowed=", ".join(allowed), hint=hint)
    return numbers if isinstance(numbers, str) else asked


def check_weights(engine: Engine, name: str | None) -> None:
    """Survey weights: numbers above 0, none missing."""
    if name is not None and not engine.positive(name):
        raise ColumnError(f'the weights in column "{name}" must be numbers above 0, with none missing')


def check_size(policy: Policy, rows: int) -> None:
    """No table can have a class larger than itself."""
    for one in policy.require:
        if one.least_size > rows:
            raise Infeasible(
                f"{type(one).__name__} asks for classes of at least {one.least_size} rows",
                got=f"a table of {rows}",
                allowed=f"at most {rows}",
                closest={"suppressed": rows},
            )


def check_solution(solution: Solution, search: Any, policy: Policy, rows: int) -> None:
    """Raise Infeasible where a search found nothing that satisfies the policy."""
    if not solution.verdict.satisfied:
        raise Infeasible(
            f"{search_name(search)} found no recoding that satisfies the policy",
            got=f"{solution.verdict.suppressed} of {rows} rows would have to be suppressed",
            allowed=f"at most {min(policy.limit(rows), rows - 1)}",
            hint="allow more suppression, ask for less, or use another search",
            closest={"suppressed": solution.verdict.suppressed},
        )


def distribution(source: Any, name: str) -> dict[str, int]:
    """Printed value to rows in the whole table; the empty string stands for missing."""
    categories = source.attribute(name).categories
    return {(text or ""): int(n) for text, n in zip(categories.text, categories.count, strict=True)}


def hierarchies_of(source: Any, names: Iterable[str]) -> dict[str, Any]:
    """The hierarchies of those attributes of a table that have one."""
    return {name: tree for name in names if (tree := source.attribute(name).hierarchy) is not None}


def refuse_changed(
    whole: Mapping[str, Mapping[str, int]],
    released: Mapping[str, Mapping[str | None, int]] | Mapping[str, Mapping[str, int]],
) -> None:
    """Raise a ReadError where released rows have values that the counted rows did not have, or more of them."""
    for name, shown in released.items():
        if any(n > whole[name].get(value or "", 0) for value, n in shown.items()):
            raise ReadError(f'column "{name}" was changed while the table was read', hint="run it again")


def publishable(
    policy: Policy, whole: Mapping[str, Mapping[str, int]], suppressed: int
) -> dict[str, Mapping[str, int]] | None:
    """The distributions of the whole table that verify needs, or None where they are not to be published.

    With the release they give the suppressed rows away, as one class; and publishing them only where that class
    satisfies the policy would tell, where they are missing, that it does not.
    """
    needed = dict.fromkeys(name for c in policy.require if c.uses_overall_distribution for name in c.needs)
    return None if needed and suppressed else {name: whole[name] for name in needed}


def refuse_own_distribution(policy: Policy, whole: Mapping[str, Mapping[str, int]], suppressed: int) -> None:
    """Raise a PolicyError where what is said to come from outside is the distribution of this table, and rows of it are
    suppressed: the release publishes both, and their difference is those rows."""
    for c in policy.require if suppressed else ():
        given = c.parameters().get("reference")
        own = whole[c.needs[0]] if given else {}
        if not given or not sum(own.values()):
            continue
        totals = sum(given.values()), sum(own.values())
        apart = [abs(given.get(v, 0) / totals[0] - own.get(v, 0) / totals[1]) for v in {*given, *own}]
        if max(apart) < 1e-9 and len(apart) > 1:
            what = f'{c.model}: the reference is the distribution of "{c.needs[0]}" in this very table'
            hint = "take one from outside, or set suppression to 0"
            raise PolicyError(f"{what}, which would give the suppressed rows away", hint=hint)


def refuse_overlap(policy: Policy, found: Verification) -> None:
    """Raise a PolicyError where labels of a column that is quasi-identifying and sensitive may be of the same value."""
    for promise in found.promises:
        name = promise.parameters.get("attribute")
        if not promise.holds and name in policy.both and (promise.note or "").startswith(OVERLAP):
            what = f'labels of "{name}" may stand for the same value, so that {promise.model} cannot be shown'
            raise PolicyError(what, hint="give it a hierarchy whose labels are apart, or use another search")


def refuse_hidden(policy: Policy, found: Verification) -> None:
    """Raise a PolicyError where all that is broken are promises against a distribution that may not be published."""
    require: tuple[Any, ...] = policy.require
    against = {c.model: c.bounded_by for c in require if c.uses_overall_distribution}
    models = list(dict.fromkeys(promise.model for promise in found.promises if not promise.holds))
    if models and all(model in against for model in models):
        raise PolicyError(
            f"{' and '.join(models)} {'hold' if len(models) > 1 else 'holds'} against the whole table, "
            "but cannot be shown from the release alone: "
            "the distribution of the whole table would give the suppressed rows away",
            hint=f"set suppression to 0, or ask for a larger {' and '.join(against[model] for model in models)}",
        )


def _refuse_unprovable(require: Iterable[Any], populations: bool) -> None:
    """Raise a PolicyError where the rows of a table are asked for what holds by construction, or not at all."""
    for c in require:
        if not populations and c.of_population is not None:
            raise PolicyError(f"{c.model} counts a population here, which anonymize and verify alone do")
        if c.how == BY_CONSTRUCTION:
            what = f"no rows prove {c.model}: it follows from how they were made, which the folder of a release says"
            raise PolicyError(what, hint=f"verify the folder; of the rows ask for k-anonymity with k = {c.least_size}")


def look_before(engine: Engine, request: Request) -> bool:
    """Look at the table before the work, and refuse what cannot be released; whether it is released in parts."""
    policy, roles, report_progress = request.policy, request.roles, request.report_progress
    if not engine.in_memory:
        report_progress("looking at a sample", None)
    sample = engine.sample(SAMPLE)
    refuse_undecided(sample, roles, policy.require, None if engine.in_memory else engine.rows())
    warn_of_spellings(sample, [name for name in roles.sensitive if name not in request.normalised])
    warn_of_unprotected(roles, protected_by((*policy.require, *request.by_people)))
    cells = 0 if engine.in_memory else estimate(sample, request.counted_by, request.schema, engine.rows())
    if not engine.in_parts:
        refuse_size(sample, request.counted_by, cells, request.max_cells)
    check_weights(engine, roles.weight)
    warn_of_compiling(report_progress)
    if engine.in_memory or cells > request.max_cells:
        return not engine.in_memory
    needed = gigabytes(memory(cells, len(request.counted_by)))
    report_progress(f"about {cells:,} combinations of values, {needed} of memory", None)
    return False


def memory(cells: int, columns: int) -> int:
    """About how many bytes a run with so many cells takes at its peak."""
    return FLOOR + cells * (CELL + COLUMN * columns)


def refuse_size(sample: pl.DataFrame, columns: Sequence[str], cells: int, most: int) -> None:
    """Raise TooManyCells with advice where the estimated cells are too many."""
    if cells > most:
        values = {name: sample.get_column(name).n_unique() for name in columns}
        worst = sorted(columns, key=values.__getitem__, reverse=True)[:2]
        named = " and ".join(f'"{name}" ({values[name]:,} in a sample of {sample.height:,} rows)' for name in worst)
        raise TooManyCells(
            "the columns have too many different combinations of values to be held in memory",
            got=f"about {cells:,}, which take {gigabytes(memory(cells, len(columns)))}",
            allowed=f"max_cells={most:,}",
            hint=f"coarsen or leave out the columns with the most values, {named}, or allow more max_cells",
        )


def refuse_out_of_core(method: Any, normalise: Any = False) -> None:
    """Raise a PolicyError for what needs rows, or is verified in a way that counts do not allow."""
    if normalise:
        what = "the values of an out-of-core table cannot be brought to one spelling"
        raise PolicyError(what, hint="do so in the table, and leave normalise out")
    if method.wildcard:
        what = "a missing value that matches any value cannot be verified on an out-of-core table"
        raise PolicyError(what, got=f"search {search_name(method)}", hint=HINT)


def dropped_missing(table: Engine, engine: Engine, roles: Roles, given: bool | Sequence[str]) -> tuple[Engine, Engine]:
    """A table, and as it is now, without the rows that lack a quasi-identifier, or a value of the columns given."""
    quasi = [name for names in roles.quasi for name in names]
    columns = tuple(dict.fromkeys(quasi if given is True else column_names(given, "drop_missing")))
    schema = engine.schema()
    known_columns(columns, schema)
    refuse_types(schema, columns)
    gone, rows = engine.missing(columns)
    if not gone:
        return table, engine
    if gone == rows:
        raise EmptyTable(f"every row has a missing value in {quoted(columns)}")
    what = f"{count(gone, 'row')} {'is' if gone == 1 else 'are'} left out for a missing value in {quoted(columns)}"
    warn(ReadWarning(what))
    fewer = engine.without_missing(columns, gone)
    return fewer if table is engine else table.without_missing(columns, gone), fewer
