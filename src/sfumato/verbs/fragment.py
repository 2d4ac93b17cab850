"""fragment: take a table apart, so that no published table shows columns that must not be seen together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.core import parameters
from sfumato.core.policy import Policy
from sfumato.core.progress import Progress, cancellable, quiet
from sfumato.core.roles import REST, Roles
from sfumato.engines.memory.table import MemoryTable
from sfumato.engines.tables import store_of
from sfumato.errors import PolicyError
from sfumato.fragments.constraints.release import FragmentRequest, release_fragments
from sfumato.fragments.constraints.values import constraints_of, sizes_of
from sfumato.release.release_set import ReleaseSet
from sfumato.release.request import refuse_undecided

__all__ = ["fragment"]

SINGLETONS = ("drop", "encrypt")


@cancellable
def fragment(
    data: Any,
    *,
    constraints: Sequence[Sequence[str]],
    singletons: str = "drop",
    key: str | None = None,
    k: int | Sequence[int] | None = None,
    between: Sequence[str] = (),
    suppression: float | int = 0,
    insensitive: Sequence[str] = (),
    rest: str = "refuse",
    seed: int | None = None,
    progress: Progress | None = None,
) -> ReleaseSet:
    """Take a table apart into the fewest tables of which none shows all columns of a constraint.

    Each column stands in one fragment, as it is; rows stand in an order of their own in each, and nothing joins them.
    With `k`, two fragments are joined loosely: rows have groups, and a table has the pairs of groups; each row of one
    is then associated with k rows of the other that differ in what is constrained.

    Parameters
    ----------
    data: a pandas, Polars or PyArrow frame, a dict of lists, or the path of a file. It is never modified.
    constraints: lists of columns that must not be seen together. None may include another. A list of one column says
        that it must not be seen at all.
    singletons: what becomes of such columns: "drop" (unless given), or "encrypt", each cell in its own way, which
        `sf.pseudonyms.unseal` turns back. key: the key file for that; the owner's key without one.
    k: with how many rows of the other fragment each row is associated, or the sizes of groups in the two fragments,
        whose product it is. between: a column of each of the two fragments, where there are more.
        suppression: rows that may be left out where no group can take them, a count or a share.
    insensitive: columns that no constraint names and that may be seen beside any. rest: "release" releases other
        columns without a constraint too; "refuse" (unless given) those that look as if they told who somebody is.
    seed: of the random numbers, under the owner's key; without one, by chance. progress: as for `anonymize`.

    Returns
    -------
    A `ReleaseSet`: its `tables` are `fragment_1`, `fragment_2` and so on, with `k` also `association`.

    Raises
    ------
    PolicyError: the constraints make no sense. Infeasible: there are no groups for so large a k.
    UndecidedColumns: columns without a constraint may tell who somebody is.

    >>> import sfumato as sf
    >>> table = {"name": ["Ann", "Bob"], "zip": [1, 2], "disease": ["flu", "gout"]}
    >>> found = sf.fragment(table, constraints=[["name", "disease"]], insensitive=["zip"])
    >>> [list(part.frame.columns) for part in found.parts], found.verification.outcome
    ([['name', 'zip'], ['disease']], 'holds')
    """
    parameters.one_of(singletons, "singletons", SINGLETONS)
    parameters.one_of(rest, "rest", REST)
    if seed is not None:
        parameters.whole_number(seed, "seed", 0)
    if key is not None and singletons != "encrypt":
        raise PolicyError("key is for encrypted columns", hint='singletons="encrypt"')
    report_progress, sizes = progress or quiet, sizes_of(k)
    between = parameters.column_names(between, "between")
    if sizes is None and (between or suppression):
        raise PolicyError("between and suppression are for a loose association", hint="give k, or leave them out")
    if store_of(data) is not None:
        raise PolicyError("a table is taken apart in memory", hint="read it with sf.read, and pass the frame")
    engine = MemoryTable(data)
    columns = engine.frame.columns
    found = constraints_of(constraints, columns)
    named = dict.fromkeys(name for one in found for name in one)
    insensitive = parameters.column_names(insensitive, "insensitive")
    parameters.known_columns([*insensitive, *between], columns)
    refuse_undecided(engine.frame, Roles(insensitive=(*named, *insensitive), rest=rest), ())
    encrypted = {}
    if singletons == "encrypt":
        from sfumato.pseudonyms.sealed_cells import seal

        alone = [one[0] for one in found if len(one) == 1]
        encrypted = {name: seal(engine.frame.get_column(name), key, seed) for name in alone}
    limit = Policy((), (), suppression).limit(engine.frame.height)
    request = FragmentRequest(found, encrypted, sizes, parameters.is_whole(k), tuple(between), limit, seed)
    return release_fragments(engine, request, report_progress)
