"""sfumato verify: which promises hold, from the released file alone."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.cli import inputs, options
from sfumato.cli.anonymize import say_promises, say_reach
from sfumato.cli.console import Progress, notes, say, say_json, tell
from sfumato.cli.options import PROMISES, option
from sfumato.core.wording import count

if TYPE_CHECKING:
    from sfumato.core.roles import Roles
    from sfumato.measures.reach import Reach
    from sfumato.release.verify import Verification

EXIT = {"holds": 0, "broken": 1, "nothing promised": 0, "by construction": 0, "stated": 0}
VERDICTS = {
    "holds": "every promise holds",
    "broken": "a promise does not hold",
    "nothing promised": "nothing is promised of them, so nothing is proven",  # never "holds"
    "stated": "what its rows can show holds; what else is promised is stated by the owner, and not proven",
    "by construction": "what is promised holds by construction, and cannot be proven from the rows",
}


def verify(
    target: options.Targets = None,
    *,
    columns: options.ColumnOptions,
    promises: options.PromiseOptions,
    person: options.Person = None,
    household: options.Household = None,
    population: options.Population = None,
    wildcard: Annotated[
        bool, option("--wildcard", "A missing value matches any value (k and distinct l only).", PROMISES)
    ] = False,
    original: Annotated[
        Path | None,
        option("--original", "The original: for facts of a masked release, and --person.", PROMISES, "FILE"),
    ] = None,
    signer: Annotated[
        Path | None, option("--signer", "A public key: the folder must be signed by it.", PROMISES, "FILE")
    ] = None,
    max_cells: options.MaxCells = None,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Check promises from released rows alone: a release folder, or a table of any tool with --quasi and --k.

    Several files, a pattern or a folder are streamed; --input and --table name a table of a database.

    Of a release that is a table, TARGET is the folder, and --input the database.

    A signature is shown with the key that made it; --signer says whose it must be.

    With --population a release that counts one is proven: without, that is stated.

    With --person people are counted and not rows. Of a folder whose promises count people, that is shown to who has the
    --original too, and stated to others.

    Of a masked release, facts are checked that say what its steps did; they promise nothing of people.

    Exits 0 where every promise and fact holds, or nothing is promised, and 1 where one does not.
    """
    from sfumato.errors import PolicyError
    from sfumato.report.sections.headline import beyond, plain

    given = {**vars(columns), **vars(promises), "wildcard": wildcard}
    asked = [f"--{name}" for name, value in given.items() if value]
    folder = inputs.release_folder(target, asked, reading.stream)
    with Progress("verifying"), notes() as told:
        if folder is not None:
            if asked:
                hint = "name the data file inside to ask other questions of it"
                raise PolicyError(f"a release folder says itself what to verify; got {', '.join(asked)}", hint=hint)
            people = {"person": person, "household": household}
            found, reach = inputs.verify(folder, reading, max_cells, signer, original, people, population)
        else:
            if original is not None:
                what = "--original is for the folder of a masked or synthetic release"
                raise PolicyError(what, hint="name the folder")
            if signer is not None:
                raise PolicyError("--signer is for the folder of a release", hint="name the folder")
            source = inputs.named(target, reading, what="TARGET")
            found, reach = _verify(
                source, columns, promises, population,
                wildcard=wildcard, person=person, household=household, **options.most(max_cells),
            )  # fmt: skip
    if as_json:
        say_json(found.to_dict() | {"reach": reach.to_dict() if found.holds else None})
    else:
        tell(told)
        say(f"{count(found.rows, 'row')}: {verdict_of(found)}{plain(beyond(reach)) if found.holds else ''}")
        say_promises([asdict(promise) for promise in found.promises], found.word(True))
        say_facts(found)
        if found.holds:  # else nothing goes anywhere
            say_reach(reach)
        say_signature(found)
    return EXIT[found.outcome]


def _verify(
    source: inputs.NamedSource,
    columns: options.ColumnOptions,
    promises: options.PromiseOptions,
    population: str | None,
    **more: Any,
) -> tuple[Verification, Reach]:
    """Which promises hold on a table of any tool, and how far they go."""
    import sfumato as sf
    from sfumato.errors import ReadError

    if not source.exists():
        raise ReadError(f"{source.data[0]} does not exist", allowed="the folder of a release, or data")
    faults: list[str] = []
    models = promises.models(faults, population)
    given = {**columns.keys(faults), ("output", "path"): "."}  # nothing is written
    if not source.origin().database:
        source = replace(source, reader={"verbatim": True} | dict(source.reader))  # a promise is about what is printed
    opened, policy = inputs.checked(options.draft(source, given, models, faults))
    found = sf.verify(
        opened.data,
        quasi=[list(names) for names in policy.roles.quasi],
        require=list(policy.require),
        sensitive=list(policy.roles.sensitive),
        hierarchies=policy.hierarchies or None,
        **more,
    )
    return found, _reach(opened.data, policy.roles, found)


def _reach(data: Any, roles: Roles, found: Verification) -> Reach:
    """How far the promises go on a table of any tool: a column without a role is not covered."""
    from sfumato.engines.memory.table import enter
    from sfumato.engines.tables import is_engine
    from sfumato.measures.reach import reach_of
    from sfumato.measures.table import TupleCounts

    table = TupleCounts(data) if is_engine(data) else enter(data)[0]
    return reach_of(
        table if found.holds else None,
        roles={name: roles.role(name) or "insensitive" for name in table.columns},
        quasi=roles.quasi,
        promises=[asdict(promise) for promise in found.promises],
        rows=found.rows,
    )


def verdict_of(found: Verification) -> str:
    """The outcome in words."""
    from sfumato.release.verify import INTEGRITY

    broken = {promise.model for promise in found.promises if not promise.holds}
    if broken == {INTEGRITY}:
        return "the data are not those that the manifest describes"
    if found.outcome == "broken" and not broken:
        untrue = any(fact.holds is False for fact in found.facts)
        return "a fact that it states is not so" if untrue else "the signature is not valid"
    return VERDICTS[found.outcome]


def say_facts(found: Verification) -> None:
    """The facts of a masked or synthetic release, one per line."""
    from sfumato.release.verify import STANDS

    if found.facts:
        say("facts, which promise nothing of people:")
    for fact in found.facts:
        note = f" ({fact.note})" if fact.note else ""
        say(f"  {STANDS[fact.holds]}: {fact.sentence}{note}")


def say_signature(found: Verification) -> None:
    """Who signed a release, whether that is valid, and what nobody can know of it."""
    signature = found.signature
    if signature is not None and signature.name is not None:
        valid = {True: "valid", False: "NOT VALID", None: "not checked"}[signature.valid]
        known = ", by a key that you trust" if signature.known else ""
        say(f'signed by "{signature.name}" on {signature.date}: {valid}{known}')
        say(f'  "{signature.statement}"')
        say(f"  key {signature.key}")
    elif signature is not None:
        say("signature: NOT VALID")
    for fault in signature.faults if signature is not None else ():
        say(f"  {fault}")
    if found.caveat:
        say(f"note: {found.caveat}")
