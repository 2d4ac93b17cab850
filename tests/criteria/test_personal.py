"""k and l by each person's own wish: both sides against plain Python, releases, and what is no wish."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.cells import classes_of, count_cells, count_histogram
from sfumato.core.microdata import encode
from sfumato.criteria.audit import Groups
from sfumato.errors import Infeasible, PolicyError
from tests.fuzz import FUZZ


def drawn(rng: random.Random) -> pl.DataFrame:
    """Rows of a few classes, with a disease and a wish."""
    rows = rng.randint(2, 24)
    wishes = rng.choices([None, 0, 1, 2, 3, 5], [6, 1, 2, 2, 1, 1], k=rows)
    return pl.DataFrame(
        {"q": rng.choices("uvw", k=rows), "s": rng.choices(["a", "b", "c", "d", None], k=rows), "wish": wishes},
        schema={"q": pl.String, "s": pl.String, "wish": pl.Int64},
    )


def both_sides(table: pl.DataFrame, asked: object) -> tuple[list[bool], object]:
    """What the search says of each class of q, in order, and what verify finds."""
    categories, codes = encode(table["q"])
    cells, of = count_cells(["q"], [codes], [len(categories)])
    for name in ("s", "wish"):
        found, code = encode(table[name])
        cells.histograms[name] = count_histogram(of, len(cells), code, found.text, None)  # type: ignore[index]
    classes = classes_of(cells, np.arange(len(cells), dtype=np.int32), len(cells))
    texts = {name: table[name].cast(pl.String) for name in ("s", "wish")}
    return asked.holds(classes).tolist(), asked.audit(Groups(table.select("q"), texts))


def test_both_sides_are_the_definition():
    rng = random.Random(11)
    for _ in range(40 * FUZZ):
        table = drawn(rng)
        groups = [part for _, part in sorted(table.partition_by("q", as_dict=True).items())]
        k = rng.choice([1, 2, 3])
        wishes = [max([k, *(w for w in one["wish"] if w is not None)]) for one in groups]
        for asked, reached in (
            (sf.PersonalKAnonymity("wish", k), [one.height for one in groups]),
            (sf.PersonalLDiversity("s", "wish", k), [len(set(one["s"])) for one in groups]),
        ):
            fine = [n >= wish for n, wish in zip(reached, wishes, strict=True)]
            holds, found = both_sides(table, asked)
            assert holds == fine
            assert (found.holds, found.failing_classes, found.measured) == (all(fine), fine.count(False), min(reached))


@pytest.mark.slow
@pytest.mark.parametrize("search", ["optimal", "mondrian", "k-member", "auto", "tds"])
@pytest.mark.parametrize("suppression", [0, 0.1])
def test_every_wish_is_met_in_a_release(search, suppression, tmp_path):
    rng = random.Random(f"{search} {suppression}")
    for trial in range(2 * FUZZ):
        rows = 50
        table = pl.DataFrame(
            {
                "age": [rng.randint(20, 69) for _ in range(rows)],
                "disease": rng.choices(["flu", "asthma", "ulcer", "HIV"], k=rows),
                "wish": rng.choices([None, 2, 3, 4], [6, 2, 1, 1], k=rows),
                "many": rng.choices([None, 4, 12], [9, 3, 1], k=rows),
            }
        )
        asked = [sf.PersonalKAnonymity("many", 2), sf.PersonalLDiversity("disease", "wish")]
        try:
            release = sf.anonymize(table, quasi=["age"], require=asked, search=search, suppression=suppression)
        except Infeasible:
            continue
        for one in release.data.partition_by("age"):
            assert one.height >= max([2, *one["many"].drop_nulls()])
            assert one["disease"].n_unique() >= max([1, *one["wish"].drop_nulls()])
        folder = release.save(tmp_path / str(trial))
        assert sf.verify(folder).holds


def test_what_is_no_wish_is_refused_and_breaks_a_release(search, released):
    asked = sf.PersonalKAnonymity("s", 1)
    for wrong in ("many", "-1", "1.5", "inf"):
        with pytest.raises(PolicyError, match='1 of 2 values of column "s" are no wishes'):
            asked.holds(search([["1", wrong]], attributes=["s"]))
    assert not asked.audit(released([["many"] * 9], attributes=["s"])).holds
    assert asked.audit(released([["2.0", None]], attributes=["s"])).holds


def test_a_search_that_only_counts_rows_refuses_it():
    table = {"age": [1, 2, 3, 4], "wish": [2, 2, None, None]}
    with pytest.raises(PolicyError, match="k-optimize"):
        sf.anonymize(table, quasi=["age"], require=sf.PersonalKAnonymity("wish"), search="k-optimize")


def test_nothing_is_promised_about_the_wishes_themselves():
    table = {"age": [30, 31, 32, 33], "wish": [2, None, 2, None]}
    asked = {"quasi": ["age"], "require": sf.PersonalKAnonymity("wish", 2)}
    with pytest.warns(sf.UnprotectedWarning, match='nothing protects "wish"'):
        sf.anonymize(table, **asked)
    assert sf.anonymize(table, **asked, unprotected=["wish"]).verification.holds
    with pytest.raises(sf.errors.ColumnError, match="which a criterion protects"):
        sf.anonymize(table, quasi=["age"], require=sf.PersonalLDiversity("wish", "wish"), unprotected=["wish"])
