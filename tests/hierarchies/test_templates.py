"""Templates: what each makes of a value, what it refuses, and that a column of digits is one of codes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.hierarchy import Categories
from sfumato.core.microdata import encode, microdata
from sfumato.errors import HierarchyError, PolicyError
from sfumato.hierarchies import HIERARCHIES, TEMPLATES, parse
from sfumato.hierarchies.spec import fixed, written
from sfumato.hierarchies.templates.icd10 import BLOCKS, CHAPTERS, icd10
from sfumato.hierarchies.templates.places import known_countries
from sfumato.report.sections.method import command

Column = Callable[..., Categories]


@pytest.mark.parametrize(
    ("spec", "value", "labels"),
    [
        ("icd10", "J45.1", "J45 J40-J47 J00-J99"),
        ("icd10", "e1172+", "E11 E10-E14 E00-E90"),
        ("icd10", "S72.001A", "S72 S70-S79 S00-T98"),
        ("icd10", "C50", "C50 C50 C00-D48"),
        ("icd10", "D48.9", "D48 D37-D48 C00-D48"),
        ("icd10", "D50", "D50 D50-D53 D50-D89"),
        ("icd10", "H60.1", "H60 H60-H62 H60-H95"),
        ("icd10", "Z3A.20", "Z3A Z3A Z00-Z99"),  # of ICD-10-CM, in no block of the WHO
        ("icd10", "Y09", "Y09 X85-Y09 V01-Y98"),
        ("icd10", "D49.9", "D49 D49 D49"),  # of ICD-10-CM, in no chapter of the WHO
        ("icd10", "V00.01", "V00 V00 V00"),
        ("nuts", "itc41", "ITC4 ITC IT"),
        ("nuts", "EL3", "EL3 EL3 EL"),
        ("prefix:2,5", "08012001", "08012*** 08******"),
        ("prefix:3", "12", "12"),
        ("postcode:de", "01067", "010** 01*** 0****"),
        ("postcode:de", "1067", "010** 01*** 0****"),
        ("postcode:at", "1010", "101* 10** 1***"),
        ("postcode:fr", "75001", "750** 75***"),
        ("postcode:nl", "1012AB", "1012 101* 10** 1***"),
        ("postcode:us", "501", "00501 005** 0****"),
        ("postcode:us", "12345-6789", "12345 123** 1****"),
        ("postcode:pl", "00-950", "00-95* 00-*** 0*-***"),
        ("ip", "192.0.2.7", "192.0.2.0/24 192.0.0.0/16 192.0.0.0/8"),
        ("ip", "2001:db8:1:2::5", "2001:db8:1:2::/64 2001:db8:1::/48 2001:db8::/32"),
    ],
)
def test_labels(spec: str, value: str, labels: str, column: Column) -> None:
    assert parse(spec).build(column([value])).path(0) == (value, *labels.split(), "*")


@pytest.mark.parametrize(
    ("spec", "value", "labels"),
    [
        ("postcode:uk", "ec1a1bb", ("EC1A 1", "EC1A", "EC")),
        ("postcode:se", "11122", ("111 **", "11* **", "1** **")),
        ("isco", "2512", ("251", "25", "2 Professionals")),
        ("isco", "310", ("031", "03", "0 Armed forces occupations")),
        ("nace", "A01.11", ("01.1", "01", "A Agriculture")),
        ("nace", "1.1", ("01.1", "01", "A Agriculture")),
        ("nace", "6201", ("62.0", "62", "J Information and communication")),
        ("isced", "ISCED 2", ("2", "low (0-2)")),
        ("isced", "344", ("3", "medium (3-4)")),
        ("countries", "Côte d’Ivoire", ("Western Africa", "Africa")),
        ("countries", "GBR", ("Northern Europe", "Europe")),
        ("countries", "Vereinigte Staaten", ("Northern America", "Americas")),
        ("countries", "the netherlands", ("Western Europe", "Europe")),
    ],
)
def test_labels_with_spaces(spec: str, value: str, labels: tuple[str, ...], column: Column) -> None:
    assert parse(spec).build(column([value], kind="text")).path(0) == (value, *labels, "*")


@pytest.mark.parametrize(
    ("spec", "values", "fault"),
    [
        ("icd10", ["J45", "secret"], "1 of 2 values .* no ICD-10 codes. Hint: write codes as J45.1"),
        ("countries", ["Italy", "secret"], "1 of 2 values .* no countries of ISO 3166. Hint: write ISO 3166 codes"),
        ("nuts", ["US123"], "no NUTS codes"),
        ("isco", ["2512", "9999"], "1 of 2 values .* no ISCO-08 codes"),
        ("nace", ["04.1", "B01.1"], "2 of 2 values .* no NACE Rev. 2 codes"),
        ("isced", ["16"], "no ISCED 2011 levels"),
        ("ip", ["192.0.2.300"], "no IP addresses"),
        ("postcode:de", ["123456"], "no postcodes of de. Hint: look for postcodes of other countries"),
        ("age", [37, 999], "1 of 2 values .* no ages in years; allowed: 0 to 130. Hint: codes for missing"),
        ("coordinates", [181.0], "no degrees"),
        ("age", ["secret"], "does not hold numbers only"),
    ],
)
def test_refuses_values(spec: str, values: list[object], fault: str, column: Column) -> None:
    with pytest.raises(HierarchyError, match=fault) as caught:
        parse(spec).build(column(values))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ("icd10:5", "this icd10 makes no hierarchy: .* allowed: icd10 takes nothing"),
        ({"icd10": True, "x": 1}, "unexpected keyword argument 'x'"),
        ("postcode", "missing a required argument: 'country'"),
        ("postcode:xx", "unknown country of postcode; got 'xx'; allowed: at, au"),
        ("prefix", "prefix takes at least one length"),
        ("prefix:0", "a length of prefix is out of range"),
        ("icd-10", 'did you mean "icd10"'),
        ({"icd-10": True}, 'did you mean "icd10"'),
    ],
)
def test_refuses_specs(spec: object, fault: str) -> None:
    with pytest.raises(PolicyError, match=fault):
        parse(spec)


def test_every_template_is_public_and_can_be_asked_for_again() -> None:
    for name, variant in TEMPLATES.items():
        recipe = variant.example
        assert HIERARCHIES[name] is variant
        assert fixed(recipe)
        assert not written(recipe)  # its leaves are those of the table
        line, unwritten = command({"policy": {"quasi": [["x"]], "hierarchies": {"x": recipe.describe()}}})
        assert f"--hierarchy x={recipe.describe()} " in line
        assert parse(recipe.describe()) == recipe
        assert not unwritten


def test_blocks_lie_in_chapters_and_countries_are_all_there() -> None:
    assert sorted(BLOCKS) == BLOCKS
    assert sorted(CHAPTERS) == CHAPTERS
    assert len(CHAPTERS) == 22
    assert all(a[4:] < b[:3] for some in (BLOCKS, CHAPTERS) for a, b in pairwise(some))
    for block in BLOCKS:
        assert icd10().path(block[:3])[2] == icd10().path(block[4:])[2]  # type: ignore[index]
    codes = [name for name in known_countries() if len(name) == 2]
    assert len(codes) == 251  # ISO 3166, Kosovo, and uk as it is said
    assert {continent for _, continent in known_countries().values()} == {
        "Africa", "Americas", "Antarctica", "Asia", "Europe", "Oceania"
    }  # fmt: skip


def test_digits_are_codes_and_get_their_zeros_back(column: Column) -> None:
    table = pl.DataFrame({"plz": [1067, 1069, 80331, None], "nace": [111, 6201, 6202, 6201]})
    micro = microdata(
        table, dict.fromkeys(table.columns, "quasi"), {"plz": parse("postcode:de"), "nace": parse("nace")}
    )
    plz, nace = micro.schema
    assert not plz.categories.ordered
    assert plz.categories.text == ("1067", "1069", "80331", None)
    assert plz.ladder.text[1] == ("010**", "803**", None)
    assert nace.ladder.text[2] == ("01", "62")
    assert parse("nace").build(column(["62", "6201"])).label(2, 0) == "62"  # shorter by two: no zero is lost


@pytest.mark.parametrize("search", ["optimal", "mondrian"])
def test_release(search: str) -> None:
    table = pl.DataFrame(
        {"plz": [1067, 1069, 80331, 80333] * 5, "icd": ["J45.1", "J45.0", "I10", "I11"] * 5, "a": [1] * 20}
    )
    given = {"plz": "postcode:de", "icd": {"icd10": True}}
    release = sf.anonymize(table, quasi=["plz", "icd"], insensitive=["a"], hierarchies=given, k=10, search=search)
    assert release.verification.holds
    rows = set(release.table.select("plz", "icd").rows())
    assert rows == {("010**", "J40-J47" if search == "optimal" else "J45"), ("803**", "I10-I15")}
    assert release.manifest["policy"]["hierarchies"] == {"plz": "postcode:de", "icd": "icd10"}


def test_a_name_is_no_file(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    with open("age", "w", encoding="utf-8") as file:
        file.write("17,*\n")
    assert parse("age").describe() == "age"


def test_utility_reads_labels_of_codes() -> None:
    table = pl.DataFrame({"plz": [1067, 1069, 80331, 80333]})
    released = pl.DataFrame({"plz": ["010**", "010**", "80331", "80333"]})
    built = parse("postcode:de").build(microdata(table, {"plz": "quasi"}, {}).schema[0].categories)
    for given in ("postcode:de", built):
        found = sf.measures.utility.information_loss(table, released, ["plz"], hierarchies={"plz": given})
        assert found.value == pytest.approx(1 / 6)  # two of four values, in half of the rows
    assert not microdata(table, {"plz": "quasi"}, {"plz": parse(built)}).schema[0].categories.ordered


@pytest.mark.parametrize(
    ("spec", "value"),
    [("icd10", "J45.1"), ("isco", "2511"), ("isced", "3"), ("countries", "IT"), ("nuts", "DE212"), ("ip", "192.0.2.7"),
     ("postcode:de", "10115"), ("postcode:uk", "SW1A 1AA"), ("postcode:nl", "1012 AB"), ("postcode:us", "10001")],
)  # fmt: skip
def test_a_column_without_codes_has_as_many_levels(spec: str, value: str, column: Column) -> None:
    height = parse(spec).build(column([value])).height
    assert parse(spec).build(encode(pl.Series("x", [None], pl.String))[0]).height == height
