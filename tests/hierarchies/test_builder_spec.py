from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest

import sfumato.hierarchies as builders
from sfumato.core.exact import exact, printed, show
from sfumato.core.forms import fill
from sfumato.core.hierarchy import Categories, Recipe
from sfumato.errors import HierarchyError, PolicyError
from sfumato.hierarchies import HIERARCHIES, edits, flat, intervals, order, parse, redact
from sfumato.hierarchies.spec import policy_table

Column = Callable[..., Categories]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("intervals:5,10,20", "intervals 5, 10, 20"),
        ("intervals: 5, 10, bottom=18, top=90, origin=0", "intervals 5, 10, bottom 18, top 90"),
        ("cuts:18,40,65/40", "cuts 18, 40, 65 / 40"),
        ("cuts:18,40/40,top=90", "cuts 18, 40 / 40, top 90"),
        ("redact", "redact right"),
        ("redact:left", "redact left"),
        ("redact:right,char=#", "redact right with #"),
        ("redact:2,4", "redact right by 2, 4"),
        ("redact: left, 2, 4, char=#", "redact left by 2, 4 with #"),
        ("dates", "dates day, month, quarter, year, decade"),
        ("dates:month,year", "dates month, year"),
        ("levels:*", "levels given, 1 above the values"),
        ("order:low,mid,high,top", "order of 4 values, fan-outs 2, 2"),
        ("order:a,b,c,d,e,fanouts=3/2", "order of 5 values, fan-outs 3, 2"),
        ("flat", "flat"),
        ("learned", "learned"),
        ("learned:groups=16", "learned, 16 groups"),
        ({"intervals": [5, 10, 20]}, "intervals 5, 10, 20"),
        ({"intervals": 5, "bottom": 18, "top": 90, "origin": 1}, "intervals 5, origin 1, bottom 18, top 90"),
        ({"intervals": [], "cuts": [[1, 2], [2]]}, "cuts 1, 2 / 2"),
        ({"cuts": [[18, 40], [40]], "top": 90}, "cuts 18, 40 / 40, top 90"),
        ({"redact": "right"}, "redact right"),
        ({"redact": "left", "char": "#"}, "redact left with #"),
        ({"redact": [2, 4]}, "redact right by 2, 4"),
        ({"redact": 3}, "redact right by 3"),
        ({"redact": "left", "steps": [2, 4]}, "redact left by 2, 4"),
        ({"dates": ["month", "year"]}, "dates month, year"),
        ({"dates": "year"}, "dates year"),
        ({"levels": ["*"]}, "levels given, 1 above the values"),
        ({"levels": "*"}, "levels given, 1 above the values"),
        ({"levels": [{"a": "x", "b": "x"}, {"x": "*"}]}, "levels given, 2 above the values"),
        ({"order": ["a", "b", "c"], "fanouts": [2]}, "order of 3 values, fan-outs 2"),
        ({"tree": [["a", "*"], ["b", "*"]]}, "tree given rows"),
        ({"wide": [["a", "x", "*"]]}, "wide given rows"),
        ({"flat": True}, "flat"),
        ({"learned": True, "groups": 8}, "learned, 8 groups"),
        ({"Male": "*", "Female": "*"}, "levels given, 1 above the values"),
    ],
)
def test_specs(spec: object, told: str) -> None:
    assert parse(spec).describe() == told


def test_values_pass_through(column: Column) -> None:
    recipe = redact()
    assert parse(recipe) is recipe
    given = flat().build(column(["a", "b"]))
    built = parse(given).build(Categories("other", "text", ("b",), None, column(["b"]).count))
    assert built.attribute == "other"
    assert built.labels == given.labels
    assert parse(given).describe() == "hierarchy given, 1 levels above the values"
    with pytest.raises(HierarchyError, match='given for "x" does not cover 1 of 2 values') as caught:
        parse(given).build(column(["a", "secret"]))
    assert "secret" not in str(caught.value)


def test_files(tmp_path: Path, column: Column) -> None:
    (tmp_path / "disease.csv").write_text("flu,*\ngout,*\n")
    (tmp_path / "plain").write_text("flu,*\ngout,*\n")
    specs: list[object] = ["disease.csv", "file:disease.csv", "tree:disease.csv", "wide:disease.csv", "plain"]
    specs += [Path("disease.csv"), {"file": "disease.csv"}, {"file": "disease.csv", "delimiter": ","}]
    specs += [str(tmp_path / "disease.csv"), {"file": str(tmp_path / "disease.csv")}]
    for spec in specs:
        assert parse(spec, base=tmp_path).build(column(["flu"])).leaves == ("flu", "gout")
    with pytest.raises(HierarchyError, match=r'no hierarchy file .*disaese.csv.*did you mean "disease.csv"'):
        parse("disaese.csv", base=tmp_path)
    with pytest.raises(HierarchyError, match="no hierarchy file"):
        parse({"file": "no/such.csv"}, base=tmp_path)


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        (3, "got int"),
        (None, "got NoneType"),
        (flat, "got function. Hint: call it"),
        (type(flat()), "got type"),
        ([5, 10], "got list"),
        ("intervls:5", 'did you mean "intervals"'),
        ("gone", "no such file"),
        ("intervals", "give widths|needs a value"),
        ("intervals:5,x", "a width of intervals must be a number"),
        ("intervals:5,botom=3", 'intervals has no "botom"; did you mean "bottom"'),
        ("redact:middle", "right, left"),
        ("redact:4,2", "steps of redact must grow; got 4, 2"),
        ("redact:2,left", "a step of redact .* a whole number"),
        ({"redact": [2], "steps": [4]}, "redact has its steps twice"),
        ("dates:mouth", 'did you mean "month"'),
        ("levels:", "a label is empty"),
        ("order:a,b,fanouts=x", "every fan-out must be an integer"),
        ({"intervls": [5]}, 'did you mean "intervals"'),
        ({"redcat": "right", "char": "#"}, 'did you mean "redact"'),
        ({"a": "x"}, "names no kind of hierarchy"),
        ({}, "names no kind of hierarchy"),
        ({"a": 1, "b": 2}, "names no kind of hierarchy"),
        ({"intervals": [5], "redact": "right"}, "names one kind of hierarchy; got intervals, redact"),
        ({"intervals": [5], "botom": 1, "topp": 2}, 'intervals has no "topp"'),
        ({"flat": False}, "flat takes no value"),
        ({"flat": 3}, "flat takes no value"),
        ({"redact": False}, "redact needs a value"),
        ({"order": True}, "order needs a value"),
        ({"order": "abc"}, "list of values"),
        ({"file": 3}, "path"),
        ({"cuts": 3, "origin": "x"}, "origin of intervals must be a number"),
    ],
)
def test_refuses_specs(spec: object, fault: str) -> None:
    with pytest.raises(PolicyError, match=fault):
        parse(spec)


def test_table_of_variants() -> None:
    made = {name for name in builders.__all__ if getattr(getattr(builders, name), "__module__", "") != edits.__name__}
    assert set(HIERARCHIES) == made - {"HIERARCHIES", "TEMPLATES", "parse"}
    for name, variant in HIERARCHIES.items():
        assert variant.make is getattr(builders, name)
        assert isinstance(variant.example, Recipe)
        assert variant.example.describe().startswith("levels" if name == "levels" else name)
        assert variant.summary.endswith((".", "..."))


def test_recipes_are_values() -> None:
    assert intervals(5, 10) == intervals(5.0, "10")
    assert order(["a", "b"]) == order(("a", "b"), [2])
    with pytest.raises(AttributeError):
        redact().side = "left"  # type: ignore[misc]


def test_exact_numbers() -> None:
    assert exact(0.1) + exact("0.2") == exact("0.3")
    assert show(exact("-12.50")) == "-12.5"
    assert show(exact("1e3")) == "1000"
    assert show(exact("0.00")) == "0"
    assert show(exact("-1e300")) == "-1e+300"
    assert show(exact("1.25e-300")) == "1.25e-300"
    assert show(exact("1" * 40)) == "1" * 40
    for wrong in ("", "x", "nan", "inf", True, None, "1e99999999999", "1e-3000", "1/3", 10**5000):
        with pytest.raises(ValueError, match="not a number"):
            exact(wrong)


def test_printed_forms() -> None:
    moment = dt.datetime(2024, 1, 2, 3, 4, 5)
    assert [printed(v) for v in (1, 1.0, True, "a", dt.date(2024, 1, 2))] == ["1", "1.0", "true", "a", "2024-01-02"]
    assert printed(moment) == "2024-01-02T03:04:05"
    assert printed(moment.replace(microsecond=500_000)) == "2024-01-02T03:04:05.500"
    assert printed(moment.replace(microsecond=1)) == "2024-01-02T03:04:05.000001"


@pytest.mark.parametrize("name", [name for name in HIERARCHIES if name not in ("tree", "wide", "file", "either")])
def test_values_of_a_form_are_written_as_a_policy_has_them(name):
    values = {
        "intervals": {"cuts": [18, 65], "top": 90},
        "redact": {"side": "left", "steps": [2]},
        "dates": {"units": ["month", "year"]},
        "levels": {"steps": ["*"]},
        "order": {"values": ["low", "high"], "fanouts": [2]},
        "learned": {"groups": 8},
        "postcode": {"country": "de"},
        "prefix": {"lengths": [3, 2]},
    }.get(name, {})
    made, faults = fill(name, HIERARCHIES[name], values)
    assert not faults
    assert parse(policy_table(name, values)) == made
