"""sfumato fragment: take a table apart, so that no file shows columns that must not be seen together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes
from sfumato.cli.options import PROMISES, ROLES, WRITING, option
from sfumato.cli.release_set import show_set
from sfumato.core.wording import scalar


def fragment(
    source: options.Files = None,
    *,
    constraint: Annotated[
        list[str] | None,
        option("--constraint", "Columns that must not be seen together; may be repeated.", PROMISES, "A,B"),
    ] = None,
    singletons: Annotated[
        str | None, option("--singletons", "Columns that must not be seen: drop (default) or encrypt.", ROLES, "WHAT")
    ] = None,
    key: Annotated[str | None, option("--key", "Key file of encrypted columns.", ROLES, "FILE")] = None,
    k: Annotated[
        str | None, option("--k", "Join two fragments loosely: N rows of the other for each, or N,M.", PROMISES, "N")
    ] = None,
    between: Annotated[
        options.Texts, option("--between", "A column of each of the fragments to join.", PROMISES, "A,B")
    ] = None,
    suppression: Annotated[
        str | None, option("--suppression", "Rows that no group takes: share or count.", PROMISES, "S")
    ] = None,
    insensitive: Annotated[
        options.Texts, option("--insensitive", "Columns that may be seen beside any.", ROLES, "A,B")
    ] = None,
    rest: Annotated[str | None, option("--rest", "Other columns: refuse (default) or release.", ROLES, "WHAT")] = None,
    seed: Annotated[int | None, option("--seed", "Of the random numbers.", PROMISES, "N")] = None,
    output: Annotated[Path | None, options.output("The folder of the release, which is made.", "FOLDER")] = None,
    format: Annotated[str | None, options.FORMAT] = None,
    overwrite: Annotated[bool, option("--overwrite", "Replace an earlier release.", WRITING)] = False,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Take a table apart into the fewest files of which none shows all columns of a --constraint.

    A constraint on one column says that it must not be seen. With --k two fragments are joined loosely, by groups of
    rows. In a policy file the same stands in [fragments].
    """
    import sfumato as sf
    from sfumato.engines.atomic import check_target
    from sfumato.errors import UndecidedColumns
    from sfumato.policyfile.fragments import check_fragments

    sizes: Any = None if k is None else [scalar(one) for one in k.split(",")]
    own: dict[str, Any] = {
        "constraints": None if constraint is None else [options.joined([one]) for one in constraint],
        "singletons": singletons,
        "key": None if key is None else str(Path(key).expanduser().absolute()),
        "k": sizes[0] if sizes is not None and len(sizes) == 1 else sizes,
        "between": options.joined(between),
        "suppression": None if suppression is None else scalar(suppression),
        "insensitive": options.joined(insensitive),
        "rest": rest,
        "seed": seed,
    }
    given: dict[tuple[str | int, ...], Any] = {("fragments", name): value for name, value in own.items()}
    out = {"path": None if output is None else str(output.absolute()), "format": format, "overwrite": overwrite or None}
    given |= {("output", name): value for name, value in out.items()}
    data = inputs.named(source, reading, policies=True)
    policy = check_fragments(options.draft(data, given, (), ()))
    check_target(policy.output, policy.overwrite)
    with Progress("reading") as progress, notes() as told:
        table = inputs.table(Path(policy.source.paths[0]), policy.source.reader, other=False)
        try:
            found = sf.fragment(table, **policy.keywords, progress=progress)
        except UndecidedColumns as error:
            raise error.told_in("shell" if data.policy is None else "file") from None
        found.save(policy.output, policy.format, overwrite=policy.overwrite)
    show_set(found, output or policy.output, told or [], as_json)
    return 0
