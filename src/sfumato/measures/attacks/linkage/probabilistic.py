"""Probabilistic linkage: Fellegi and Sunter's weights for and against two records being the same person's."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.label_grammar import says_nothing
from sfumato.core.microdata import encode
from sfumato.core.parameters import share_of
from sfumato.core.wording import percent, quoted
from sfumato.errors import MissingExtra, PolicyError
from sfumato.measures.attacks.linkage import LinkedPair, common_columns, credited, pair_of
from sfumato.measures.attacks.result import MOST, Attack
from sfumato.measures.labels_cover import read_labels

PAIRS = 2_000_000  # compared at most
RULES = 8  # sets of columns, on one of which a pair must agree
FEW = 20  # pairs per record, where the model learns
TRAINED_ON = 500_000  # pairs that the model learns from
Tally = dict[tuple[int, ...], int]  # pairs that agree on a set of columns
BEST = """
with pair as (
    select case when source_dataset_l = 'external' then unique_id_l else unique_id_r end as e,
           case when source_dataset_l = 'external' then unique_id_r else unique_id_l end as r,
           match_weight as w, match_probability as p
    from {pairs}
), top as (select e, max(w) as w from pair group by e)
select pair.e, count(*) as ties, max(pair.p) as p, min(pair.r) as r, coalesce(bool_or(pair.r = truth.r), false) as hit
from pair join top on pair.e = top.e and pair.w >= top.w - 1e-9 left join truth on truth.e = pair.e
group by pair.e order by pair.e
"""


def probabilistic_linkage(
    released: Any,
    external: Any,
    columns: Any = None,
    *,
    truth: Any = None,
    upper: float = 0.9,
    lower: float = 0.5,
    hierarchies: Mapping[str, Any] | None = None,
    max_pairs: int = PAIRS,
    seed: int = 0,
    most: int = MOST,
) -> Attack:
    """How many people of an external table are found by weighing which columns agree.

    For each column m is the probability that it agrees for the same person and u for different ones; agreement adds
    log2(m/u) to the weight of a pair (u being that of the value: rare ones say more), disagreement
    log2((1 - m)/(1 - u)), an unknown value nothing. u comes from random
    pairs, m from expectation maximisation, through splink. Each person is linked to the released record of the highest
    weight: a link where its probability is at least `upper`, for review from `lower` on, no link below. The success
    counts the best record whatever its weight; of n equally good ones one is picked blindly, and so is any where
    nothing agrees. Where it is not known who is who, the probabilities themselves are added up. Of labels that overlap
    and cover the same value, the value agrees with the most frequent one only.

    Parameters
    ----------
    released, external
        Frames or paths: the release, and the table with the people an attacker knows.
    columns
        The columns to link on; by default all that both tables have.
    truth
        Who is who: a pair of column names (released, external), the released row of each external row (-1: none), or
        "unknown"; by default row i is row i where both tables have as many rows.
    upper, lower
        The two thresholds of the match probability.
    hierarchies
        Column to the hierarchy that explains its labels; a value agrees with the label that covers it.
    max_pairs
        Compare so many pairs at most: only pairs that agree on enough columns are looked at, and where that does not
        do, only some of the people.
    seed
        Of the random pairs.
    most
        How many row numbers to name.

    References
    ----------
    Fellegi, Sunter, "A theory for record linkage", JASA 1969; Winkler, "Using the EM algorithm for weight computation
    in the Fellegi-Sunter model of record linkage", 1988; Linacre et al., "Splink", 2022.
    """
    upper, lower = share_of(upper, "upper"), share_of(lower, "lower")
    if lower > upper:
        what = "the thresholds are no probabilities in order"
        raise PolicyError(what, got=f"lower {lower:g}, upper {upper:g}", allowed="0 <= lower <= upper <= 1")
    pair = pair_of(released, external, truth)
    names = common_columns(pair, columns)
    ours, theirs = _agreeing(pair, names, hierarchies)
    tally = _tally(ours, theirs)
    rules, pairs = _blocks(tally, ours.width, ours.height * theirs.height, max_pairs)
    rows = np.arange(pair.external.height)
    if pairs > max_pairs:  # even full agreement leaves too many pairs: some people stand for all
        few = max(1, int(len(rows) * max_pairs / pairs))
        rows = np.sort(np.random.default_rng(seed).choice(len(rows), few, replace=False))
        some = rows.tolist()
        pair = LinkedPair(pair.released, pair.external[some], None if pair.truth is None else pair.truth[rows])
        theirs = theirs[some]
    best = _linked(pair, ours, theirs, tally, rules, seed)
    credit, p, links = _credit(pair, best, upper)
    review = (p >= lower) & (p < upper)
    expected = float(credit.sum())
    told = "are expected to be found" if pair.truth is not None else "are expected to be found, as the model has it"
    sentence = (
        f"Weighing agreement on {quoted(names)}, {int(links.sum())} of {len(credit)} people are linked to a released "
        f"record, {int(review.sum())} are for review, {int((~links & ~review).sum())} are not linked; taking the best "
        f"record for each, {expected:.1f} ({percent(expected / len(credit))}) {told}; "
        f"guessing finds {percent(pair.baseline)}."
    )
    details: dict[str, Any] = {
        "columns": list(names),
        "compared": list(ours.columns),
        "links": int(links.sum()),
        "review": int(review.sum()),
        "non-links": int((~links & ~review).sum()),
        "upper": float(upper),
        "lower": float(lower),
        "truth known": pair.truth is not None,
    }
    if pair.truth is not None:
        right = float(credit[links].sum())
        details["precision"] = right / int(links.sum()) if links.any() else None
        details["recall"] = right / pair.present if pair.present else None
    found = None if pair.truth is not None else _rows(pair, best)
    attack = credited("probabilistic linkage", pair, credit, sentence, most, rows=found, seed=seed, details=details)
    if "external rows" in attack.details:
        people = [int(rows[i]) for i in attack.details["external rows"]]
        return replace(attack, details={**attack.details, "external rows": people})
    return replace(attack, exposed=tuple(int(rows[i]) for i in attack.exposed))


def _agreeing(
    pair: LinkedPair, names: Sequence[str], hierarchies: Mapping[str, Any] | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables as numbers of released labels, missing where a label says nothing; columns that tell nothing go."""
    ours, theirs = {}, {}
    for name in names:
        values, code = encode(pair.external.get_column(name))
        labels, label = encode(pair.released.get_column(name))
        known = values.text[: len(values) - values.missing]
        cover = read_labels(labels.text, known, (hierarchies or {}).get(name), wildcard=True, name=name)
        of_value = np.arange(len(values)) + len(labels)  # a value that no label covers agrees with nothing
        blank = np.array([says_nothing(text) for text in labels.text])
        exact = {text: i for i, text in enumerate(labels.text)}
        for i in np.argsort(labels.count, kind="stable").tolist():  # the most frequent of overlapping labels comes last
            if not blank[i]:
                of_value[cover.members[i]] = i
        for v, text in enumerate(known):
            of_value[v] = exact.get(text, of_value[v])
        one = pl.Series(np.arange(len(labels))).set(pl.Series(blank), None).gather(label)
        other = pl.Series(of_value).set(pl.Series([text is None for text in values.text]), None).gather(code)
        some, others = set(one.unique().drop_nulls()), set(other.unique().drop_nulls())
        if some & others and len(some | others) > 1:  # else all pairs agree, or none does
            ours[name], theirs[name] = one.cast(pl.Int64), other.cast(pl.Int64)
    return pl.DataFrame(ours), pl.DataFrame(theirs)


def _linked(
    pair: LinkedPair,
    ours: pl.DataFrame,
    theirs: pl.DataFrame,
    tally: Tally,
    rules: Sequence[tuple[int, ...]],
    seed: int,
) -> pl.DataFrame:
    """The best released records of each external one that has any: e, ties, p, r (one of them), hit."""
    if not ours.width:
        return pl.DataFrame(schema={"e": pl.Int64, "ties": pl.Int64, "p": pl.Float64, "r": pl.Int64, "hit": pl.Boolean})
    try:
        import duckdb
        import pyarrow  # noqa: F401  (Polars hands its columns over through it)
        import splink.comparison_library as compare
        from splink import DuckDBAPI, Linker, SettingsCreator, block_on
        from splink.blocking_rule_library import CustomRule
    except ImportError:
        raise MissingExtra("splink", "linkage") from None
    columns = [f"c{i}" for i in range(ours.width)]
    base = duckdb.connect(":memory:")
    try:
        api = DuckDBAPI(connection=base)
        tables = []
        for name, frame in (("external", theirs), ("released", ours)):
            plain = frame.rename(dict(zip(frame.columns, columns, strict=True)))
            numbered = plain.with_columns(unique_id=pl.Series(np.arange(frame.height)))
            tables.append(api.register(numbered.to_arrow(), dataset_display_name=name, table_name=name))
        settings = SettingsCreator(
            link_type="link_only",
            comparisons=[compare.ExactMatch(name).configure(term_frequency_adjustments=True) for name in columns],
            blocking_rules_to_generate_predictions=[
                block_on(*(columns[i] for i in rule)) if rule else CustomRule("1=1") for rule in rules
            ],
            probability_two_random_records_match=min(0.5, 1 / max(ours.height, theirs.height)),
            retain_matching_columns=False,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            linker = Linker(tables, settings, log_level="CRITICAL")
            try:
                _train(linker, tally, max(ours.height, theirs.height), columns, seed)
                pairs = linker.inference.predict()
            except Exception:  # its message is a page of SQL
                what = f"no model of agreement can be fitted to {quoted(ours.columns)}"
                raise PolicyError(what, hint="use deterministic or distance linkage") from None
        row = np.arange(theirs.height)
        own = row * 0 - 1 if pair.truth is None else pair.truth
        base.register("truth", pl.DataFrame({"e": row, "r": own}).to_arrow())
        return base.sql(BEST.format(pairs=pairs.physical_name)).pl()
    finally:
        base.close()


def _train(linker: Any, tally: Tally, rows: int, columns: Sequence[str], seed: int) -> None:
    """u from random pairs; m of each column from pairs that agree on others, where matches are not too rare."""
    from splink import block_on

    linker.training.estimate_u_using_random_sampling(max_pairs=TRAINED_ON, seed=seed, num_chunks=1)
    for rule in _lessons(tally, len(columns), FEW * rows):
        try:
            linker.training.estimate_parameters_using_expectation_maximisation(
                block_on(*(columns[i] for i in rule)) if rule else "1=1", estimate_without_term_frequencies=True
            )
        except Exception:  # nothing agrees, or nothing but matches does: m stays as it is by default
            continue


def _lessons(tally: Tally, width: int, few: int) -> list[tuple[int, ...]]:
    """Sets of columns to agree on while m of the others is estimated, few enough pairs each, until all have had a turn.

    Small sets come first, for they teach most; for a column that stands in all of them, all the others must agree.
    """
    rules: list[tuple[int, ...]] = []
    left = set(range(width))
    for chosen, _ in sorted(
        ((c, p) for c, p in tally.items() if p <= few), key=lambda entry: (len(entry[0]), entry[1])
    ):
        if left - set(chosen):
            rules.append(chosen)
            left &= set(chosen)
    for column in sorted(left):
        rest = tuple(i for i in range(width) if i != column)
        if tally.get(rest, 0) <= TRAINED_ON:
            rules.append(rest)
    return rules


def _blocks(tally: Tally, width: int, every: int, max_pairs: int) -> tuple[list[tuple[int, ...]], int]:
    """Sets of columns on one of which a pair must agree to be compared, and how many pairs that leaves at most.

    The sets are as small as the number of pairs allows, the rarest agreements first; if it can be, no column stands in
    all of them, so that an error in one does not rule the pair out.
    """
    if every <= max_pairs or not width:
        return [()], 0
    best: tuple[list[tuple[int, ...]], int] | None = None
    for size in range(1, width):
        some = sorted((pairs, chosen) for chosen, pairs in tally.items() if len(chosen) == size)
        total = np.cumsum([pairs for pairs, _ in some])
        take = min(int((total <= max_pairs).sum()), RULES)
        if take:
            rules = [chosen for _, chosen in some[:take]], int(total[take - 1])
            best = best or rules
            if not set.intersection(*map(set, rules[0])):
                return rules
    everything = tuple(range(width))
    return best or ([everything], tally[everything])


def _tally(ours: pl.DataFrame, theirs: pl.DataFrame) -> Tally:
    """How many pairs agree on each set of the columns with the most values, on all columns, and on all but one."""
    widest = 7 if ours.height + theirs.height <= 200_000 else 4
    rarest = sorted(sorted(range(ours.width), key=lambda i: -ours.to_series(i).n_unique())[:widest])
    sets = [chosen for size in range(1, len(rarest) + 1) for chosen in combinations(rarest, size)]
    sets += [*combinations(range(ours.width), max(ours.width - 1, 0)), tuple(range(ours.width))]
    return {chosen: _agreements(ours, theirs, chosen) for chosen in dict.fromkeys(sets) if chosen}


def _agreements(ours: pl.DataFrame, theirs: pl.DataFrame, chosen: tuple[int, ...]) -> int:
    """How many pairs agree on some columns."""
    names = [ours.columns[i] for i in chosen]
    one = ours.select(names).drop_nulls().group_by(names).agg(pl.len().cast(pl.Int64).alias("\0 ours"))
    other = theirs.select(names).drop_nulls().group_by(names).agg(pl.len().cast(pl.Int64).alias("\0 theirs"))
    return int(one.join(other, on=names).select(pl.col("\0 ours") * pl.col("\0 theirs")).sum().item() or 0)


def _credit(pair: LinkedPair, best: pl.DataFrame, upper: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per external row: the probability of being right, the match probability of its best record, whether linked."""
    n, ours = pair.external.height, pair.released.height
    blind = np.full(n, 1 / ours) if pair.truth is None else np.where(pair.truth >= 0, 1 / ours, 0.0)
    credit, p = blind, np.zeros(n)
    row = best.get_column("e").to_numpy()
    ties = best.get_column("ties").to_numpy()
    p[row] = best.get_column("p").to_numpy()
    right = p[row] if pair.truth is None else best.get_column("hit").to_numpy().astype(np.float64)
    credit[row] = right / ties
    links = np.zeros(n, np.bool_)
    links[row] = p[row] >= upper
    return credit, p, links


def _rows(pair: LinkedPair, best: pl.DataFrame) -> np.ndarray:
    """The released row of each external one that has a single best record."""
    rows = np.full(pair.external.height, -1, np.int64)
    sole = best.filter(pl.col("ties") == 1)
    rows[sole.get_column("e").to_numpy()] = sole.get_column("r").to_numpy()
    return rows
