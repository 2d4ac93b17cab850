"""What is asked of a stream: what is known before its first batch, and all of it once that has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from sfumato.core import parameters
from sfumato.core.fingerprint import secret_seed
from sfumato.core.parameters import column_name, column_names, mapping, whole_number
from sfumato.core.roles import Roles, check_roles
from sfumato.core.wording import quoted
from sfumato.criteria import DistinctLDiversity, KAnonymity
from sfumato.errors import ColumnError, PolicyError
from sfumato.hierarchies.spec import parse
from sfumato.release.about import about_of
from sfumato.release.ends import ends_named
from sfumato.release.request import criteria, recipes_of, warn_of_unprotected
from sfumato.series.streams.columns import domains_of
from sfumato.series.streams.values import StreamAlgorithm

MOST_ROWS = 10_000_000  # that may wait


@dataclass(frozen=True)
class StreamRequest:
    """What is asked of a stream, checked against its first batch."""

    algorithm: StreamAlgorithm
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    insensitive: tuple[str, ...]
    identifying: tuple[str, ...]
    person: str | None
    k: int
    l: Mapping[str, int]  # sensitive column to how many values
    delay: int
    recipes: Mapping[str, Any]
    domains: Mapping[str, tuple[Any, Any]]
    ends: str
    seed: int
    time: str | None = None

    @property
    def released(self) -> tuple[str, ...]:
        """The columns that are released."""
        return (*self.quasi, *self.sensitive, *self.insensitive)

    @property
    def looked_at(self) -> tuple[str, ...]:
        """The columns that are needed while a row waits."""
        extra = [name for name in (self.person, self.time) if name is not None and name not in self.released]
        return (*self.released, *extra)


@dataclass(frozen=True)
class StreamSpec:
    """What is asked of a stream before anything of it is known."""

    algorithm: StreamAlgorithm
    roles: Roles
    person: str | None
    k: int
    l: Mapping[str, int]
    delay: int
    hierarchies: Any
    domains: Mapping[str, tuple[Any, Any]]
    ends: str
    seed: int
    time: str | None
    about: Mapping[str, Any] = field(default_factory=dict)  # in its owner's words, which may be others later

    def plain(self) -> dict[str, Any]:
        """What is asked, in plain values: a run that goes on is asked for the same."""
        given = mapping(self.hierarchies, "hierarchies")
        return {
            "search": {"name": self.algorithm.name, **self.algorithm.parameters()},
            "roles": [[role, list(names)] for role, names in self.roles.named()],
            "person": self.person,
            "time": self.time,
            "k": self.k,
            "l": dict(self.l),
            "delay": self.delay,
            "hierarchies": {name: parse(spec).describe() for name, spec in given.items()},
            "domains": {name: [str(one) for one in pair] for name, pair in self.domains.items()},
            "ends": self.ends,
        }

    def bind(self, frame: pl.DataFrame) -> StreamRequest:
        """The request for a stream whose first batch has these columns."""
        hidden = [name for name in (self.person, self.time) if name is not None and self.roles.role(name) is None]
        roles = Roles(
            identifying=(*self.roles.identifying, *hidden),
            quasi=self.roles.quasi,
            sensitive=self.roles.sensitive,
            insensitive=self.roles.insensitive,
            unprotected=self.roles.unprotected,
        )
        if faults := check_roles(frame.columns, roles):
            raise (
                ColumnError(faults[0]) if len(faults) == 1 else PolicyError("the roles do not fit the stream:", faults)
            )
        if free := roles.without(frame.columns):
            hint = "name each in identifying (dropped), quasi (blurred), sensitive or insensitive (released as it is)"
            raise PolicyError(f"the role of {quoted(free)} is not said", hint=hint)
        recipes = recipes_of(frame, self.hierarchies, self.roles.quasi[0])
        return StreamRequest(
            algorithm=self.algorithm,
            quasi=self.roles.quasi[0],
            sensitive=self.roles.sensitive,
            insensitive=self.roles.insensitive,
            identifying=roles.identifying,
            person=self.person,
            k=self.k,
            l=self.l,
            delay=self.delay,
            recipes={name: recipe for name, recipe in recipes.items() if name in self.roles.quasi[0]},
            domains=self.domains,
            ends=self.ends,
            seed=self.seed,
            time=self.time,
        )


def parse_request(
    algorithm: StreamAlgorithm,
    *,
    person: Any,
    quasi: Any,
    sensitive: Any,
    insensitive: Any,
    identifying: Any,
    require: Any,
    delay: Any,
    hierarchies: Any,
    domains: Any,
    ends: Any,
    seed: Any,
    time: Any,
    unprotected: Any = (),
    about: Any = None,
) -> StreamSpec:
    """The parameters of the verb, checked."""
    names = column_names(quasi, "quasi")
    if person is not None:
        person = column_name(person, "person")
    if time is not None:
        time = column_name(time, "time")
    if algorithm.waits:
        k, l = _required(require)
        delay = whole_number(delay, "delay", 1, MOST_ROWS)
        if delay < k:
            what = "the delay is shorter than it takes k rows to arrive: nothing could be released"
            raise PolicyError(what, got=f"delay={delay}, k={k}", allowed=f"a delay of {k} or more")
        if time is not None:
            raise PolicyError("time is for an algorithm that passes rows on at once", hint='search="z-anonymity"')
    else:
        if require is not None and not (isinstance(require, Iterable) and not [*require]):
            what = "an algorithm that passes values on at once makes no classes: nothing can be required of them"
            raise PolicyError(what, hint="leave require out")
        k, l, delay = 1, {}, 1
    roles = Roles(
        identifying=column_names(identifying, "identifying"),
        quasi=(names,),
        sensitive=tuple(dict.fromkeys((*column_names(sensitive, "sensitive"), *l))),
        insensitive=column_names(insensitive, "insensitive"),
        unprotected=column_names(unprotected, "unprotected"),
    )
    if wrong := [name for name in roles.unprotected if name not in roles.sensitive or name in l]:
        what = f"{quoted(wrong)} cannot be unprotected: sensitive columns are that no criterion is about"
        raise PolicyError(what, hint="leave it out of unprotected")
    if person in names or person in roles.sensitive or person in roles.insensitive:
        raise PolicyError("the person column says whose each row is, and is not released", got=f'"{person}"')
    algorithm.check(roles, person)
    warn_of_unprotected(roles, l, arriving=True)
    number = secret_seed(parameters.seed_of(seed), "stream") & (2**63 - 1)
    return StreamSpec(
        algorithm, roles, person, k, l, delay, hierarchies, domains_of(domains, names), ends_named(ends),
        number or 1, time, about_of(about, [name for _, names in roles.named() for name in names]),
    )  # fmt: skip


def _required(require: Any) -> tuple[int, dict[str, int]]:
    """k, and l per sensitive column."""
    if require is None:
        raise PolicyError("nothing is required of the release", hint="for example require=[sf.KAnonymity(10)]")
    k, l = 0, dict[str, int]()
    for one in criteria(require):
        plain = isinstance(one, KAnonymity) or (isinstance(one, DistinctLDiversity) and one.per is None)
        if not plain or one.quasi is not None:
            allowed = "k-anonymity and distinct l-diversity, over all quasi-identifiers"
            raise PolicyError(f"{one.model} cannot be kept while rows arrive", allowed=allowed)
        if isinstance(one, KAnonymity):
            k = max(k, one.k)
        else:
            l[one.attribute] = max(l.get(one.attribute, 1), one.l)
    if k == 0:
        raise PolicyError("a stream needs k-anonymity among what is required", hint="add sf.KAnonymity(10)")
    return k, l
