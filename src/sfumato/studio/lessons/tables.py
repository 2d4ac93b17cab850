"""The small tables of lessons: the classic ones of the literature, and how they are released there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Rows = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class LessonTable:
    """A small table: how its columns get coarser, as a policy file says it, and who is looked for in it.

    `released` are the labels by which the literature releases it, row by row, in the columns `public`; without them
    rows look alike that have the same quasi-identifiers. `person` is the row that an attacker looks for, known by the
    columns `known`. `trees` are hierarchies of sensitive columns: the path of each value to the root.
    """

    columns: tuple[str, ...]
    rows: Rows
    quasi: tuple[str, ...]
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    k: int = 2
    sensitive: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    released: Rows = ()
    person: int = 0
    name: str = ""
    known: tuple[str, ...] = ()
    trees: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)

    def values(self, column: str) -> list[str]:
        """The values of a column as they print, row by row."""
        at = self.columns.index(column)
        return [str(row[at]) for row in self.rows]

    @property
    def person_name(self) -> str:
        """Who is looked for: by name, or by what is known of them."""
        known = [self.values(column)[self.person] for column in self.known or self.quasi]
        return self.name or f"({', '.join(known)})"

    @property
    def release_columns(self) -> tuple[str, ...]:
        """The columns by which rows look alike."""
        return self.public or self.quasi

    @property
    def release_labels(self) -> list[tuple[str, ...]]:
        """What each row prints in these."""
        if self.released:
            return [tuple(map(str, row)) for row in self.released]
        return list(zip(*(self.values(column) for column in self.quasi), strict=True))


PATIENTS = (
    ("47677", 29, "F", "heart disease"), ("47602", 22, "F", "heart disease"), ("47678", 27, "M", "heart disease"),
    ("47905", 43, "F", "flu"), ("47909", 52, "M", "heart disease"), ("47906", 47, "M", "cancer"),
    ("47605", 30, "M", "heart disease"), ("47673", 36, "M", "cancer"), ("47607", 32, "F", "cancer"),
)  # fmt: skip
RELEASED = (("476**", "2*"),) * 3 + (("4790*", ">=40"),) * 3 + (("476**", "3*"),) * 3
EARNED = (
    (3, "gastric ulcer"), (4, "gastritis"), (5, "stomach cancer"), (6, "gastritis"), (11, "flu"), (8, "bronchitis"),
    (7, "bronchitis"), (9, "pneumonia"), (10, "stomach cancer"),
)  # fmt: skip
ILLNESS = (
    *((one, "stomach disease", "digestive", "any illness") for one in ("gastric ulcer", "gastritis", "stomach cancer")),
    *((one, "respiratory infection", "respiratory", "any illness") for one in ("flu", "bronchitis", "pneumonia")),
)
PLANE = ((25, 20), (27, 22), (31, 25), (33, 24), (38, 40), (41, 44), (44, 41), (47, 60), (52, 63), (55, 58), (61, 30),
         (66, 28))  # fmt: skip
JOBS = (("cat1", 1975, "4350", "HIV"), ("cat1", 1955, "4350", "HIV"), ("cat1", 1955, "5432", "flu"),
        ("cat1", 1955, "5432", "fever"), ("cat2", 1975, "4350", "flu"), ("cat2", 1975, "4350", "fever"))  # fmt: skip
VIEWS = (
    ("Sue", "F", "hypertension"), ("Claire", "F", "obesity"), ("Ann", "F", "chest pain"), ("John", "M", "obesity"),
    ("David", "M", "obesity"), ("Mary", "F", "short breath"), ("Alice", "F", "short breath"),
    ("Carol", "F", "chest pain"), ("Kate", "F", "short breath"),
)  # fmt: skip
TABLES = {
    "plane": LessonTable(("age", "income"), PLANE, ("age", "income"),
                         {"age": {"intervals": [10, 20, 40]}, "income": {"intervals": [10, 20, 40]}}, 3),
    "patients": LessonTable(("zipcode", "age", "sex", "disease"), PATIENTS, ("zipcode", "age", "sex"),
                            {"zipcode": {"redact": "right"}, "age": {"intervals": [10, 20, 40]}, "sex": {"flat": True}},
                            sensitive=("disease",), public=("zipcode", "age"), released=RELEASED, person=2, name="Bob",
                            known=("zipcode", "age")),
    "salaries": LessonTable(("zipcode", "age", "salary", "disease"),
                            tuple((*row[:2], *more) for row, more in zip(PATIENTS, EARNED, strict=True)),
                            ("zipcode", "age"), {"zipcode": {"redact": "right"}, "age": {"intervals": [10, 20, 40]}}, 3,
                            sensitive=("salary", "disease"), public=("zipcode", "age"), released=RELEASED, person=2,
                            name="Bob", known=("zipcode", "age"), trees={"disease": ILLNESS}),
    "jobs": LessonTable(("job", "birth", "postcode", "illness"), JOBS, ("job", "birth", "postcode"),
                        {"job": {"flat": True}, "birth": {"flat": True}, "postcode": {"redact": "right"}},
                        sensitive=("illness",), public=("job", "birth", "postcode"),
                        released=tuple((row[0], "*", row[2]) for row in JOBS), name="Ada",
                        known=("job", "birth", "postcode")),
    "views": LessonTable(("name", "sex", "disease"), VIEWS, ("sex",), {"sex": {"flat": True}},
                         sensitive=("disease",), person=3, name="John", known=("name",)),
}  # fmt: skip
