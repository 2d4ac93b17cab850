"""sfumato compare: many releases of one table, as a map of risk and utility."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes, say, say_json, say_table, say_written, tell
from sfumato.cli.options import PROMISES, SEARCH, option
from sfumato.core.wording import number, scalar

if TYPE_CHECKING:
    import polars as pl

    from sfumato.policyfile.file import PolicyFile

Given = dict[tuple[str | int, ...], Any]


def compare(
    source: options.Files = None,
    *,
    roles: options.RoleOptions,
    k: Annotated[
        options.Texts, option("--k", "Least numbers of rows that look alike: 2,5,10.", PROMISES, "N,N")
    ] = None,
    require: Annotated[
        options.Texts, option("--require", 'As "t-closeness disease 0.1,0.2": each number is tried.', PROMISES, "MODEL")
    ] = None,
    suppression: Annotated[
        options.Texts, option("--suppression", "Rows that may be dropped: 0,0.02 are shares.", PROMISES, "N,N")
    ] = None,
    search: Annotated[
        options.Texts,
        option("--search", "Methods: mondrian,optimal if not given; none beside others.", SEARCH, "NAME,NAME"),
    ] = None,
    loss: Annotated[
        options.Texts, option("--loss", "What the methods keep low: lm (default).", SEARCH, "NAME,NAME")
    ] = None,
    mask: Annotated[
        options.Texts,
        option("--mask", 'A masking: "rank-swapping p={5,15}", "mdav k=5; rounding base=10".', SEARCH, "STEPS"),
    ] = None,
    synthesize: Annotated[
        options.Texts,
        option("--synthesize", 'A generator: "sequential-trees leaf={5,20}".', SEARCH, "GENERATOR"),
    ] = None,
    utility: Annotated[
        str | None, option("--utility", 'On x: a loss (lm), or as "learning target=pay".', SEARCH, "NAME")
    ] = None,
    risk: Annotated[
        str | None, option("--risk", "On y: average (default), highest, or an attack.", SEARCH, "NAME")
    ] = None,
    dimensions: Annotated[
        bool, option("--dimensions", "Also by fewer quasi-identifiers: what each one costs.", SEARCH)
    ] = False,
    seed: options.Seed = None,
    workers: Annotated[int, option("--workers", "Releases made at the same time: 2 if not given.", SEARCH, "N")] = 2,
    ends: options.Ends = None,
    output: Annotated[Path | None, options.output("Folder of the map; a second run goes on in it.", "FOLDER")] = None,
    reading: options.MemoryReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Release a table in many ways, measure each, and map risk against utility.

    Nothing is kept of the releases but their figures. Lists stand between commas; those beside a policy file override
    it. Each --mask is a masking to compare, its steps between semicolons, and each --synthesize a generator; a list in
    braces makes several. Beside them risk is that of linkage, and utility the accuracy of random counts. Ctrl-C keeps
    the finished points of the folder.
    """
    from sfumato.losses import LOSSES
    from sfumato.search import SEARCHES

    faults: list[str] = []
    named = inputs.named(source, reading, policies=True)
    policy = named.policy is not None
    given: Given = {
        **roles.keys(faults),
        ("search", "seed"): seed,
        ("output", "ends"): ends,
        ("output", "path"): ".",  # no release is written
    }
    masks, generators = _masks(mask or [], faults), _generators(synthesize or [], faults)
    only = bool(masks or generators) and search == ["none"]
    searches = listed(None if only else search, SEARCHES) or ([] if policy else ["mondrian", "optimal"])
    lists: dict[str, list[Any]] = {
        "method": [options.named(text, "method", SEARCHES, "--search", faults) for text in searches],
        "loss": [options.named(text, "name", LOSSES, "--loss", faults) for text in listed(loss, LOSSES)],
        "suppression": [scalar(text) for text in listed(suppression, ())],
    }
    ks = whole(listed(k, ()), faults)
    if not ks and not require and not policy:
        ks = [2, 5, 10]
    try:
        told, found, kept = run(
            "compare", named, given, lists, ks, require or [], faults, output,
            {"utility": utility, "risk": risk, "workers": workers, "dimensions": dimensions, "extremes": True,
             "mask": masks, "synthesize": generators, **({"search": []} if only else {})},
        )  # fmt: skip
    except KeyboardInterrupt:
        raise SystemExit(interrupted_run(output, as_json)) from None
    _show(found, told, kept, output, as_json)
    return 0 if (found["status"] == "done").any() else 2


def _masks(texts: Sequence[str], faults: list[str]) -> list[Any]:
    """The maskings of all flags as they are written, or faults."""
    from sfumato.verbs.steps import masks_of

    return _read("--mask", texts, masks_of, faults)


def _generators(texts: Sequence[str], faults: list[str]) -> list[Any]:
    """The generators of all flags as they are written, or faults."""
    from sfumato.verbs.compare import generators_of

    return _read("--synthesize", texts, generators_of, faults)


def _read(flag: str, texts: Sequence[str], read: Callable[[str], list[Any]], faults: list[str]) -> list[Any]:
    from sfumato.errors import PolicyError

    found: list[Any] = []
    for text in texts:
        try:
            read(text)
            found.append(text)
        except PolicyError as error:
            faults.append(f"{flag}: {error}")
    return found


def listed(texts: Sequence[str] | None, names: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Values between commas, of all flags. Parameters may hold commas too, as weights do, so that where a value has
    parameters a new one starts only at a known name.

    >>> listed(["mondrian,optimal seconds=2"], ["mondrian", "optimal"])
    ['mondrian', 'optimal seconds=2']
    >>> listed(["lm weights=age:2,zip:1,ncp"], ["lm", "ncp"])
    ['lm weights=age:2,zip:1', 'ncp']
    """
    found: list[str] = []
    for text in texts or ():
        parts = text.split(",")
        if "=" in text and names:
            head = re.compile(r"\s*(" + "|".join(map(re.escape, names)) + r")(\s|$)")
            for i in range(len(parts) - 1, 0, -1):
                if not head.match(parts[i]):
                    parts[i - 1 : i + 1] = [f"{parts[i - 1]},{parts[i]}"]
        found += [part.strip() for part in parts if part.strip()]
    return found


def alternatives(texts: Sequence[str]) -> list[list[str]]:
    """Models whose numbers stand in lists as one list of models per combination.

    >>> alternatives(["t-closeness disease 0.1,0.2", "k-map 5"])
    [['t-closeness disease 0.1', 'k-map 5'], ['t-closeness disease 0.2', 'k-map 5']]
    """
    return [list(one) for one in product(*(_each(text) for text in texts))]


def _each(text: str) -> list[str]:
    """One model per combination of the numbers that stand between commas."""
    lists = re.compile(r"(?<=[\s=])[-+]?[0-9.]+(?:e-?[0-9]+)?(?:,[-+]?[0-9.]+(?:e-?[0-9]+)?)+(?=\s|$)")
    found = lists.search(text)
    if found is None:
        return [text]
    return [one for n in found[0].split(",") for one in _each(text[: found.start()] + n + text[found.end() :])]


def whole(texts: Sequence[str], faults: list[str]) -> list[int]:
    """Whole numbers from their texts, or a fault."""
    if any(not text.isdecimal() for text in texts):
        faults.append("--k: must be whole numbers between commas, as in 2,5,10")
        return []
    return [int(text) for text in texts]


def run(
    verb: str,
    named: inputs.NamedSource,
    given: Given,
    lists: Mapping[str, list[Any]],
    ks: list[int],
    require: list[str],
    faults: list[str],
    output: Path | None,
    more: Mapping[str, Any],
) -> tuple[list[str], Any, list[str]]:
    """Check everything, compare or choose; notes, what was found, and the files written."""
    import sfumato as sf
    from sfumato.engines.memory.table import MemoryTable
    from sfumato.policyfile.file import check
    from sfumato.release.request import dropped_missing

    with Progress("reading") as progress, notes() as told:
        models = [options.models(ks[0] if ks else None, one, faults) for one in alternatives(require)]
        first = {("search", name): values[0] for name, values in lists.items() if values}
        draft = options.draft(named, given | first, models[0], faults)
        table, base = inputs.checked(draft, verb)

        def other(changed: Given, models: Sequence[Mapping[str, Any]] = models[0]) -> PolicyFile:
            return check(options.draft(named, given | first | changed, models, faults), table.columns)

        keywords = base.keywords()
        data = table.data
        if drop := keywords.pop("drop_missing"):
            every = MemoryTable(data)
            fewer = dropped_missing(every, every, base.roles, drop)[0]
            data = fewer.sample(fewer.rows())
        more = {**more, **_steps_of_file(verb, keywords.pop("mask"), more)}
        beside = ("order", "row_key", "require", "unprotected", "profile", "tidy", "numbers", "about", "account")
        for name in (*beside, "person", "household"):
            keywords.pop(name)
        for name, key in (("method", "search"), ("loss", "loss"), ("suppression", "suppression")):
            rest = [getattr(other({("search", name): value}), key) for value in lists[name][1:]]
            keywords[key] = [keywords[key], *rest]
        asked = [base.require, *(other({}, one).require for one in models[1:])]
        if ks:
            keywords["k"] = ks
            asked = [tuple(c for c in one if not isinstance(c, sf.KAnonymity)) for one in asked]
        keywords["require"] = [list(one) for one in asked]
        found = getattr(sf, verb)(data, **{**keywords, **more}, output=output, progress=progress)
    files = [] if output is None else sorted(str(path) for path in output.iterdir())
    return told, found, files


def _steps_of_file(verb: str, steps: Sequence[tuple[str, Any]], more: Mapping[str, Any]) -> dict[str, Any]:
    """The steps of a policy file, which are one more masking to compare."""
    from sfumato.errors import PolicyError

    if not steps:
        return {}
    if verb != "compare":
        raise PolicyError(f"{verb} tries searches only, and the policy has steps of masking", hint="leave [[mask]] out")
    return {"mask": [[step for _, step in steps], *more["mask"]]}


def interrupted_run(output: Path | None, as_json: bool) -> int:
    """Say what an interrupt leaves; the exit code."""
    from sfumato.cli.exits import interrupted
    from sfumato.comparing.points import FILE

    message = "interrupted, nothing written"
    if output is not None and (output / FILE).exists():
        message = f"interrupted; finished points are kept in {output / FILE}, and the same command goes on from there"
    return interrupted(message, as_json)


def _show(found: pl.DataFrame, told: list[str], files: list[str], output: Path | None, as_json: bool) -> None:
    from sfumato.cli.phrases import in_flags

    every = found.to_dicts()
    ends = [row for row in every if row["status"] == "end"]
    most = max(row["columns"] or 0 for row in every)
    rows = [row for row in every if row["columns"] == most]
    fewer = [row for row in every if row not in (*rows, *ends)]
    if as_json:
        told_ends = {row["search"].partition(" ")[0]: {n: row[n] for n in ("risk", "utility", "score")} for row in ends}
        document = {"points": rows, "ends": told_ends, **({"dimensions": [*fewer, *rows]} if fewer else {})}
        say_json({**document, "folder": None if output is None else str(output), "files": files, "notes": told})
        return
    tell(told)
    done = [row for row in rows if row["status"] == "done"]
    optional = [name for name in ("parameters", "minimised", "k", "require", "suppression") if _tells(rows, name)]
    figures: tuple[str, ...] = ("utility", "risk", "score", "loss", "suppressed", "classes", "seconds")
    if all(row["loss"] is not None and abs(row["loss"] + row["utility"] - 1) < 1e-9 for row in done):
        figures = tuple(name for name in figures if name != "loss")  # it is 1 - utility
    head = ["search", *optional, *figures, ""]
    body = [
        [row["search"], *(_cell(row[name]) for name in optional), *(_cell(row[name]) for name in figures),
         "front" if row["pareto"] else "" if row["status"] == "done" else row["status"]]
        for row in rows
    ]  # fmt: skip
    right = [i for i, name in enumerate(head) if name in ("k", "suppression", *figures)]
    say_table(head, body, right=right)
    front = sum(row["pareto"] for row in rows)
    say(f"{len(done)} of {len(rows)} released; {front} on the Pareto front")
    several = [name for name in optional if len({row[name] for row in rows}) > 1]
    scored = [row for row in (*rows, *ends) if row["score"] is not None]
    best = min(scored, key=lambda row: row["score"], default=None)
    if best is not None:
        known = [f"{row['search']} {_cell(row['score'])}" for row in ends if row["score"] is not None]
        say(f"least score (mean of risk and loss): {_cell(best['score'])}, {_point(best, several)};")
        say(f"  {', '.join(known)}")
    if fewer:
        _show_dimensions([*fewer, *rows], several)
    for reason in dict.fromkeys(row["reason"] for row in rows if row["reason"]):
        say(f"  {next(row['status'] for row in rows if row['reason'] == reason)}: {in_flags(reason)}")
    if files:
        say_written(files)


def _point(row: Mapping[str, Any], optional: Sequence[str]) -> str:
    words = [row["search"], *(f"{name} {_cell(row[name])}" for name in optional if row[name] not in (None, ""))]
    return ", ".join(words)


def _show_dimensions(rows: Sequence[Mapping[str, Any]], optional: Sequence[str]) -> None:
    """What is lost by the number of quasi-identifiers: a line per point, a column per number."""
    numbers = sorted({row["columns"] for row in rows})
    lost: dict[str, dict[int, float | None]] = {}
    for row in rows:
        own = lost.setdefault(_point(row, optional), {})
        own[row["columns"]] = None if row["utility"] is None else 1 - row["utility"]
    say()
    head = ["loss by quasi-identifiers", *map(str, numbers)]
    body = [[name, *(_cell(own.get(n)) for n in numbers)] for name, own in lost.items()]
    say_table(head, body, right=range(1, len(head)))


def _tells(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Whether a column tells points apart, or says what is asked."""
    values = {row[name] for row in rows if name != "minimised" or row[name]}
    return len(values) > 1 or (name in ("k", "require", "suppression") and bool(values - {None, "", 0.0}))


def _cell(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) and 0.001 <= abs(value) < 1000 else number(value, "-")
