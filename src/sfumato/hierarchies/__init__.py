"""Hierarchies: one builder per file. A builder gives a recipe, and the recipe builds once the values are known."""

from __future__ import annotations

from sfumato.core.hierarchy import Recipe
from sfumato.core.registry import Registry, Variant
from sfumato.hierarchies.dates import dates
from sfumato.hierarchies.edits import (
    HierarchyNode,
    group_labels,
    hierarchy_tree,
    insert_level,
    merge_groups,
    move_group,
    remove_level,
    rename_label,
    set_cut_points,
    split_group,
)
from sfumato.hierarchies.either import either
from sfumato.hierarchies.file import file
from sfumato.hierarchies.flat import flat
from sfumato.hierarchies.intervals import intervals
from sfumato.hierarchies.learned import learned
from sfumato.hierarchies.levels import levels
from sfumato.hierarchies.order import order
from sfumato.hierarchies.redact import redact
from sfumato.hierarchies.spec import parse
from sfumato.hierarchies.templates.amounts import age, income
from sfumato.hierarchies.templates.icd10 import icd10
from sfumato.hierarchies.templates.occupations import isced, isco, nace
from sfumato.hierarchies.templates.places import coordinates, countries, ip, nuts
from sfumato.hierarchies.templates.prefixes import postcode, prefix
from sfumato.hierarchies.tree import tree
from sfumato.hierarchies.wide import wide

__all__ = [
    "HIERARCHIES",
    "TEMPLATES",
    "HierarchyNode",
    "age",
    "coordinates",
    "countries",
    "dates",
    "either",
    "file",
    "flat",
    "group_labels",
    "hierarchy_tree",
    "icd10",
    "income",
    "insert_level",
    "intervals",
    "ip",
    "isced",
    "isco",
    "learned",
    "levels",
    "merge_groups",
    "move_group",
    "nace",
    "nuts",
    "order",
    "parse",
    "postcode",
    "prefix",
    "redact",
    "remove_level",
    "rename_label",
    "set_cut_points",
    "split_group",
    "tree",
    "wide",
]

TEMPLATES: dict[str, Variant[Recipe]] = {
    "age": Variant(age, example=age(), cite="45 CFR 164.514(b)(2)"),
    "income": Variant(income, example=income(), cite=""),
    "icd10": Variant(icd10, example=icd10(), cite="WHO, ICD-10, 2019", words="ICD-10"),
    "countries": Variant(countries, example=countries(), cite="ISO 3166; United Nations M49"),
    "nuts": Variant(nuts, example=nuts(), cite="Eurostat, NUTS", words="NUTS"),
    "postcode": Variant(postcode, example=postcode("de"), cite=""),
    "prefix": Variant(prefix, example=prefix(5, 2), cite=""),
    "isco": Variant(isco, example=isco(), cite="ILO, ISCO-08", words="ISCO-08"),
    "nace": Variant(nace, example=nace(), cite="Eurostat, NACE Rev. 2", words="NACE"),
    "isced": Variant(isced, example=isced(), cite="UNESCO, ISCED 2011", words="ISCED"),
    "ip": Variant(ip, example=ip(), cite="", words="IP addresses"),
    "coordinates": Variant(coordinates, example=coordinates(), cite=""),
}
_OURS: dict[str, Variant[Recipe]] = {
    "intervals": Variant(intervals, example=intervals(5, 10, 20), cite=""),
    "redact": Variant(redact, example=redact("right"), cite=""),
    "dates": Variant(dates, example=dates("month", "year", "decade"), cite=""),
    "levels": Variant(levels, example=levels("*"), cite=""),
    "order": Variant(order, example=order(["low", "mid", "high", "top"], fanouts=[2, 2]), cite=""),
    "tree": Variant(tree, example=tree([("flu", "lung"), ("asthma", "lung"), ("lung", "*"), ("ulcer", "*")]), cite=""),
    "wide": Variant(wide, example=wide([("flu", "lung", "*"), ("ulcer", "stomach", "*")]), cite=""),
    "file": Variant(file, example=file("disease.csv"), cite=""),
    "either": Variant(either, example=either("redact:right", "redact:left"), cite=""),
    "flat": Variant(flat, example=flat(), cite=""),
    "learned": Variant(learned, example=learned(), cite=""),
    **TEMPLATES,
}
HIERARCHIES = Registry("hierarchies", "hierarchy", (Recipe,), _OURS)
