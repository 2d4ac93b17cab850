"""Either: alternatives, a file in which values have several parents, and which alternative labels tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.core.hierarchy import Categories
from sfumato.errors import HierarchyError, PolicyError
from sfumato.hierarchies import either, file, flat, intervals, learned, parse, redact, wide

Column = Callable[..., Categories]
ZIPS = ("91412", "91413", "91422", "91423")
EDGES = [edge for z in ZIPS for edge in ((z, z[:4] + "*"), (z, z[:3] + "*" + z[4]))]
EDGES += [(mask, "914**") for mask in ("9141*", "9142*", "914*2", "914*3")] + [("914**", "*")]


def masked(*values: str) -> list[tuple[str, str]]:
    """Every mask of the values, with one character more masked each."""
    found, ready = dict[tuple[str, str], None](), list(values)
    for node in ready:
        above = [f"{node[:i]}*{node[i + 1 :]}" for i in range(len(node)) if node[i] != "*"]
        found |= dict.fromkeys((node, mask) for mask in above)
        ready += [mask for mask in above if mask not in ready]
    return list(found)


def test_a_value_with_two_direct_generalisations(column: Column) -> None:
    first, second = either(EDGES).alternatives
    assert first.build(column(list(ZIPS))).path(0) == ("91412", "9141*", "914**", "*")
    assert second.build(column(list(ZIPS))).path(0) == ("91412", "914*2", "914**", "*")
    assert second.build(column(list(ZIPS))).leaves == ZIPS  # the masks of the first are no leaves of the second


def test_every_way_up(column: Column) -> None:
    """Three characters are masked in six orders; the masks of a value stand in the order of its characters."""
    edges, values = masked("123", "145"), column(["123", "145"])
    paths = [one.build(values).path(0) for one in either(edges).alternatives]
    assert paths == [
        ("123", "*23", "**3", "***"),
        ("123", "*23", "*2*", "***"),
        ("123", "1*3", "**3", "***"),
        ("123", "1*3", "1**", "***"),
        ("123", "12*", "*2*", "***"),
        ("123", "12*", "1**", "***"),
    ]
    with pytest.raises(
        HierarchyError, match="too many ways up, each of which is searched; got 120; allowed: at most 32"
    ):
        either(masked("12345"))


def test_a_value_with_fewer_parents_follows_its_last(column: Column) -> None:
    edges = [("a", "x"), ("a", "y"), ("b", "x"), ("c", "y"), ("x", "*"), ("y", "*")]
    built = [one.build(column(["a", "b", "c"])).paths() for one in either(edges).alternatives]
    assert built[0] == [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")]
    assert built[1] == [("a", "y", "*"), ("b", "x", "*"), ("c", "y", "*")]


def test_lines_of_the_wide_form(column: Column, tmp_path: Path) -> None:
    place = tmp_path / "zip.csv"
    place.write_text("12;1*;*\n12;*2;*\n13;1*;*\n13;*3;*\n", encoding="utf-8")
    for spec in (either(place), either(file(place)), either(wide(place)), parse("either:zip.csv", tmp_path)):
        built = [one.build(column(["12", "13"])).paths() for one in spec.alternatives]  # type: ignore[attr-defined]
        assert built == [[("12", "1*", "*"), ("13", "1*", "*")], [("12", "*2", "*"), ("13", "*3", "*")]]
        assert spec.describe().startswith("either parent in ")
    assert parse({"either": "zip.csv"}, tmp_path).describe() == "either parent in file zip.csv"


def test_labels_tell_the_alternative(column: Column) -> None:
    right, left = redact("right"), redact("left")
    both, values = either(right, left), column(["47602", "47677"])
    assert both.told_by(["476**"], values) == right
    assert both.told_by(["***77", None], values) == left
    assert both.told_by(["*"], values) == both.told_by(["47602"], values) == right  # of both: the first
    ages = either(intervals(5, 10), intervals(20))
    assert ages.told_by(["[20, 30)"], column([21, 27])) == intervals(5, 10)
    assert ages.told_by(["[20, 40)"], column([21, 27])) == intervals(20)


def test_values(column: Column) -> None:
    assert either(either("redact:right", "redact:left"), "flat") == either(redact(), redact("left"), flat())
    assert parse("either:redact:right or redact:left,2,4") == either(redact(), redact("left", steps=[2, 4]))
    assert parse({"either": [{"redact": "left"}, "flat"]}) == either(redact("left"), flat())
    assert parse({"either": [list(edge) for edge in EDGES]}) == either(EDGES)
    assert parse("either:redact:right or flat").describe() == "either redact right or flat"
    assert either("redact", "flat").codes
    assert not either("intervals:5", "flat").codes


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (["redact:right"], "takes two different hierarchies or more; got redact right"),
        (["flat", flat()], "takes two different hierarchies or more; got flat, flat"),
        ([], "takes two different hierarchies or more; got none"),
        (
            [[("a", "x"), ("x", "*")]],
            "got file given rows. Hint: one file is enough where a value has two parents in it",
        ),
        (
            ["redact:right", "redact:1,3"],
            "either takes one redact of each side; got either redact right or redact right by",
        ),
        (["flat", learned()], "takes hierarchies that are given; got learned"),
        (["flat", "redcat"], 'did you mean "redact"'),
    ],
)
def test_refuses(given: list[object], fault: str) -> None:
    with pytest.raises(PolicyError, match=fault):
        either(*given)
    with pytest.raises(PolicyError, match="either needs a value"):
        parse("either:")
