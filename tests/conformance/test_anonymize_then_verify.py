"""Whatever the table and the policy: a release keeps its promises, or there is none, with a reason."""

from __future__ import annotations

import datetime
import math
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from tests.fuzz import examples

CALM = list(HealthCheck)
NASTY = st.sampled_from(
    [
        "",
        " ",
        "*",
        "a",
        "b",
        "{a, b}",
        "[1, 2]",
        "=1+1",
        "'",
        "a,b",
        'q"',
        "é",
        "e\u0301",
        "日本",
        "\n",
        "null",
        "NaN",
        "0",
        "-0",
        "1",
        "1.0",
        "01",
    ]
)
VALUES = {
    "small": st.integers(0, 5),
    "huge": st.sampled_from([0, 1, -1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]),
    "beyond": st.sampled_from([0, 10**30, -(10**30), 10**30 + 1]),
    "float": st.sampled_from([0.0, -0.0, 1.0, 1.5, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324]),
    "text": NASTY,
    "any text": st.text(max_size=3),
    "flag": st.booleans(),
    "date": st.sampled_from([datetime.date(1970, 1, 1), datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]),
    "time": st.sampled_from([datetime.datetime(2024, 1, 1, 12), datetime.datetime(2024, 1, 1, 12, 0, 0, 1)]),
    "digits": st.sampled_from(["1", "2", "10", "007", "7", "1e3", "-5", "+5"]),
    "mixed": st.one_of(st.integers(0, 2), st.sampled_from(["0", "1", "x"]), st.booleans(), st.just(1.0)),
    "same": st.just("same"),
}


@st.composite
def columns(draw: st.DrawFn, rows: int) -> list[Any]:
    kind = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    missing = draw(st.booleans())
    return draw(st.lists(st.one_of(st.none(), kind) if missing else kind, min_size=rows, max_size=rows))


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Any]]:
    rows = draw(st.one_of(st.integers(1, 4), st.integers(5, 30)))
    table = {f"q{i}": draw(columns(rows)) for i in range(draw(st.integers(1, 4)))}
    table["s"] = draw(columns(rows))
    if draw(st.booleans()):
        table["unique"] = list(range(rows))
    return table


criteria = st.one_of(
    st.just([]),
    st.builds(lambda l: [sf.DistinctLDiversity("s", l)], st.integers(1, 4)),
    st.builds(lambda l: [sf.EntropyLDiversity("s", l)], st.sampled_from([1, 1.5, 2, 3])),
    st.builds(lambda c, l: [sf.RecursiveCLDiversity("s", c, l)], st.sampled_from([0.5, 1, 3]), st.integers(1, 3)),
    st.builds(
        lambda t, d: [sf.TCloseness("s", t, d)],
        st.sampled_from([0.1, 0.3, 0.6, 1]),
        st.sampled_from(["equal", "ordered", "kl"]),
    ),
    st.builds(lambda a, k: [sf.AlphaK(a, k, "s")], st.sampled_from([0.4, 0.5, 0.9, 1]), st.integers(1, 4)),
    st.builds(
        lambda b, kind: [sf.BetaLikeness("s", b, kind)],
        st.sampled_from([0.2, 1, 4, 1e9]),
        st.sampled_from(["basic", "enhanced"]),
    ),
    st.builds(
        lambda d, absent: [sf.DeltaDisclosure("s", d, absent)],
        st.sampled_from([0.3, 1, 3, 2000]),
        st.sampled_from(["violates", "skipped"]),
    ),
    st.builds(lambda k, f: [sf.KMap(k, f)], st.integers(1, 30), st.sampled_from([0.01, 0.3, 1])),
    st.builds(lambda t: [sf.AverageRisk(t)], st.sampled_from([0.1, 0.3, 1 / 3, 0.7, 1])),
    st.builds(lambda t: [sf.SampleUniqueness(t)], st.sampled_from([0, 0.1, 0.25, 1])),
    st.builds(
        lambda t, f, e: [sf.PopulationUniqueness(t, f, e)],
        st.sampled_from([0, 0.05, 0.3, 1]),
        st.sampled_from([0.01, 0.1, 0.5, 1]),
        st.sampled_from(["dankar", "pitman", "zayatz", "snb"]),
    ),
)


def prints(value: Any) -> str:
    """The printed form of a released value."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value == 0:
        return "0.0"
    return str(value)


def smallest_class(table: pl.DataFrame, quasi: list[str]) -> int:
    return min(Counter(tuple(prints(v) for v in row) for row in table.select(quasi).iter_rows()).values())


@settings(max_examples=examples(1500), deadline=None, suppress_health_check=CALM)
@given(
    table=tables(), k=st.integers(1, 5), more=criteria, search=st.sampled_from(["mondrian", "optimal"]),
    suppression=st.sampled_from([0, 1, 3, 0.1, 0.5, 1.0]), split=st.booleans(),
)  # fmt: skip
def test_release_keeps_its_promises(
    table: dict[str, list[Any]], k: int, more: list[Any], search: str, suppression: float, split: bool
) -> None:
    names = [name for name in table if name.startswith("q")]
    sets = [names[:2], names[1:]] if split and len(names) > 2 else [names]
    before = {name: list(values) for name, values in table.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.RoleWarning)
        try:
            release = sf.anonymize(
                table,
                quasi=sets,
                sensitive=["s"],
                rest="release",
                require=[sf.KAnonymity(k), *more],
                search=search,
                suppression=suppression,
            )
        except (sf.errors.Infeasible, sf.errors.ColumnError) as no:
            assert str(no)
            return
    assert repr(table) == repr(before)
    assert release.verification.holds
    rows = len(table["s"])
    assert 0 < release.table.height == rows - release.solution.verdict.suppressed
    assert release.solution.verdict.suppressed <= release.policy.limit(rows)
    assert math.isfinite(release.solution.verdict.loss)
    for names in sets:
        assert smallest_class(release.table, names) >= k
    again = sf.verify(
        release.table, quasi=sets, require=[sf.KAnonymity(k), *[c for c in more if not c.uses_overall_distribution]]
    )
    assert again.holds


@pytest.mark.slow
@settings(max_examples=examples(400), deadline=None, suppress_health_check=CALM)
@given(
    table=tables(),
    k=st.integers(1, 3),
    more=criteria,
    search=st.sampled_from(["mondrian", "optimal"]),
    seed=st.integers(0, 3),
)
def test_saved_release_proves_itself(
    table: dict[str, list[Any]],
    k: int,
    more: list[Any],
    search: str,
    seed: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    names = [name for name in table if name.startswith("q")]
    folder = tmp_path_factory.mktemp("release") / "out"
    format = ["csv", "parquet", "tsv", "csv"][seed]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.RoleWarning)
        try:
            release = sf.anonymize(
                table, quasi=names, sensitive=["s"], identifying=["unique"] if "unique" in table else [],
                rest="release",
                require=[sf.KAnonymity(k), *more], search=search, suppression=0.3, seed=seed,
                order=["canonical", "random"][seed % 2],
            )  # fmt: skip
            release.save(folder, format=format)
        except (sf.errors.Infeasible, sf.errors.ColumnError) as no:
            assert str(no)
            assert not folder.exists()
            return
        except sf.errors.PolicyError as no:
            assert "cannot be shown from the release alone" in str(no)
            assert not folder.exists()
            return
    found = sf.verify(folder)
    assert found.holds
    assert found.rows == release.table.height
    assert "unique" not in release.table.columns


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None, suppress_health_check=CALM)
@given(
    table=tables(),
    k=st.integers(1, 4),
    search=st.sampled_from(["mondrian", "optimal"]),
    order=st.randoms(use_true_random=False),
)
def test_row_order_does_not_matter(table: dict[str, list[Any]], k: int, search: str, order: Any) -> None:
    names = [name for name in table if name.startswith("q")]
    rows = list(range(len(table["s"])))
    order.shuffle(rows)
    turned = {name: [values[i] for i in rows] for name, values in table.items()}
    frames = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.RoleWarning)
        for one in (table, turned):
            try:
                release = sf.anonymize(
                    one,
                    quasi=names,
                    sensitive=["s"],
                    rest="release",
                    require=sf.KAnonymity(k),
                    search=search,
                    suppression=0.2,
                )
            except (sf.errors.Infeasible, sf.errors.ColumnError) as no:
                frames.append(type(no))
                continue
            frames.append(Counter(tuple(prints(v) for v in row) for row in release.table.select(names).iter_rows()))
    assert frames[0] == frames[1]


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """A release that is refused leaves no folder, not even a temporary one."""
    with pytest.raises(sf.errors.Infeasible):
        sf.anonymize({"q": [1, 2]}, quasi=["q"], require=sf.KAnonymity(3)).save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
