"""Roles: checked against a table, suggested from names and values, never quoting a value."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.core.roles import ROLES, Reason, Roles, check_roles, reasons, suggest, suggest_together, undecided

COLUMNS = ["name", "age", "zip", "sex", "disease", "w"]


def test_good_roles_have_no_faults() -> None:
    roles = Roles(("name",), (("age", "zip"), ("age", "sex")), ("disease",), (), "w")
    assert check_roles(COLUMNS, roles) == []
    assert [roles.role(column) for column in COLUMNS] == [
        "identifying",
        "quasi",
        "quasi",
        "quasi",
        "sensitive",
        "weight",
    ]
    assert roles.role("other") is None
    assert [role for role, _ in roles.named()] == list(ROLES)


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        (Roles(), ["quasi is empty"]),
        (Roles(quasi=((),)), ["quasi is empty"]),
        (Roles(quasi=(("age",), ())), ["quasi set 2 is empty"]),
        (Roles(quasi=(("agee",),)), ['"agee"', 'did you mean "age"?']),
        (Roles(quasi=(("xyz",),)), ['"xyz"', "the table has", '"name"']),
        (Roles(quasi=(("age", "age"),)), ['quasi names the column "age" twice']),
        (Roles(("name", "name"), (("age",),)), ['identifying names the column "name" twice']),
        (Roles(quasi=(("age",),), sensitive=("age",)), ['"age" has 2 roles: quasi and sensitive']),
        (Roles(("age",), (("age",),)), ["identifying and quasi"]),
        (Roles(quasi=(("age",),), weight="age"), ["quasi and weight"]),
        (Roles(quasi=(("age",),), sensitive=("sex",), insensitive=("sex",)), ["sensitive and insensitive"]),
    ],
)
def test_each_fault_is_told(roles: Roles, words: list[str]) -> None:
    faults = check_roles(COLUMNS, roles)
    assert len(faults) == 1
    assert all(word in faults[0] for word in words), faults


def test_all_faults_at_once_and_repeated_headers() -> None:
    roles = Roles(("nam",), (("age", "age"),), ("zip",), ("zip",))
    faults = check_roles([*COLUMNS, "age"], roles)
    assert len(faults) == 4
    assert "twice" in faults[0]


@pytest.mark.parametrize(
    ("role", "names"),
    [
        (
            "identifying",
            "name Name first_name FirstName Vorname Nachname prénom apellidos e-mail E_Mail phone Telefon mobile ssn "
            "passport IBAN patient_id PatientID id customer-id street_address IP user_name",
        ),
        (
            "quasi",
            "age Alter âge edad dob birth_date DateOfBirth Geburtsdatum zip zip_code postcode PLZ code_postal sex "
            "Gender Geschlecht race ethnicity marital-status marital_status Familienstand job occupation Beruf "
            "education native-country Country city Stadt region",
        ),
        (
            "sensitive",
            "disease diagnosis Diagnose ICD10 icd_code main_diagnosis disease_name salary Salary_Class income Gehalt "
            "wage religion HIV hiv_status cost admission_diagnosis",
        ),
    ],
)
def test_names_in_several_languages(role: str, names: str) -> None:
    for name in names.split():
        frame = pl.DataFrame({name: ["x", "y", "x"]})
        assert suggest(frame)[0].role == role, name


def test_words_inside_words_do_not_count() -> None:
    frame = pl.DataFrame({"voltage": [1.5, 2.5] * 20, "package": [1, 1] * 20, "usage": [3, 4] * 20})
    assert [s.role for s in suggest(frame)] == ["insensitive"] * 3


@pytest.mark.parametrize("kind", [pl.Float64, pl.String])
def test_weights_are_of_samples_or_of_bodies(kind: type[pl.DataType]) -> None:
    column = pl.Series([70.5, 81.0]).cast(kind)
    roles = lambda *names: [s.role for s in suggest_together(pl.DataFrame(dict.fromkeys(names, column)))]  # noqa: E731
    assert roles("weight") == ["weight"]
    assert roles("age", "sampling_weight", "household_weights") == ["quasi", "weight", "identifying"]
    assert roles("weight", "height") == ["quasi", "quasi"]
    assert roles("birth_weight") == ["quasi"]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (["ann@x.org", "bob@y.net", "c@z.de"], "e-mail"),
        (["+49 89 123456", "089 / 7654321", "(030) 1234567"], "telephone"),
        (["DE89370400440532013000", "GB82 WEST 1234 5698 7654 32", "FR1420041010050500013M02606"], "IBAN"),
        (["123-45-6789", "987-65-4321", "111-22-3333"], "social security"),
        (["10.0.0.1", "192.168.1.20", "8.8.8.8"], "network"),
        (["3f2504e0-4f89-11d3-9a0c-0305e82c3301"] * 3, "UUID"),
        (["long remarks about how somebody is doing, and about whom she told it"] * 3, "free text"),
        ([f"person {i}" for i in range(60)], "nearly every row"),
        ([str(1000 + i) for i in range(60)], "own number"),
    ],
)
def test_values_give_identity_away(values: list[str], why: str) -> None:
    frame = pl.DataFrame({"c": values})
    found = suggest(frame)[0]
    assert found.role == "identifying"
    assert why in found.why
    assert not any(value in found.why for value in values)
    assert reasons(frame)["c"].role == "identifying"


@pytest.mark.parametrize(
    ("values", "role"),
    [
        (["2001-02-03", "1999-12-31", "01.02.2003"], "quasi"),
        (["f", "M", "F", "m"], "quasi"),
        (["north", "south", "north", "south"], "quasi"),
        (["12.5", "13.5", "900"] * 20, "insensitive"),
        ([None, None], "insensitive"),
        (["", ""], "insensitive"),
        ([str(i * 7919 % 100_003) for i in range(40)], "identifying"),
    ],
)
def test_values_without_a_telling_name(values: list[str | None], role: str) -> None:
    assert suggest(pl.DataFrame({"c": pl.Series(values, dtype=pl.String)}))[0].role == role


def test_types_other_than_text() -> None:
    frame = pl.DataFrame(
        {
            "d": pl.Series([0, 1]).cast(pl.Date),
            "b": [True, False],
            "k": pl.Series(["north", "south"]).cast(pl.Categorical),
            "l": [[1], [2]],
        }
    )
    assert [s.role for s in suggest(frame)] == ["quasi", "identifying", "quasi", "identifying"]
    many = suggest(pl.concat([frame] * 30))
    assert [s.role for s in many] == ["quasi", "insensitive", "quasi", "identifying"]


def test_only_columns_without_a_role_are_undecided() -> None:
    frame = pl.DataFrame({"e-mail": ["x"], "name": ["y"], "age": [3], "x": [1]})
    found = undecided(frame, Roles(identifying=("e-mail",), quasi=(("x",),)))
    assert [one.column for one in found] == ["name", "age"]
    assert found[1].reason == Reason("quasi", "name", "the name says something others can know about a person")
    assert undecided(frame, Roles(tuple(frame.columns))) == []
