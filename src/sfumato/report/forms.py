"""Forms of the report: one to publish with a release, and one that compares with the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.release.manifest import data_of
from sfumato.report.manifest import constructed, is_masked, is_synthetic, measured, spoken, without_copy
from sfumato.report.markup import Markup
from sfumato.report.page import report_page
from sfumato.report.sections.about import about
from sfumato.report.sections.approval import approval
from sfumato.report.sections.attacks import attacks
from sfumato.report.sections.columns import losses, roles
from sfumato.report.sections.disclosure import remaining, safeguards
from sfumato.report.sections.headline import reach_from
from sfumato.report.sections.masking import as_checked, beside_original, checked, class_risk, steps
from sfumato.report.sections.method import foreign, method, reproduction, suppression
from sfumato.report.sections.promises import least_size, promised, risks, sizes
from sfumato.report.sections.standards import held_to, profiles, standards
from sfumato.report.sections.synthesis import drawing, repeating
from sfumato.report.translation import language_of, translated_page

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from sfumato.core.policy import Verdict
    from sfumato.measures.reach import Reach
    from sfumato.measures.standards.finding import Profile
    from sfumato.measures.table import TupleCounts

__all__ = ["internal_report", "report"]

LEAST = 5  # original values of fewer records are not named where no k is promised


def report(
    manifest: Mapping[str, Any],
    released: pl.DataFrame | None = None,
    reach: Reach | None = None,
    held: tuple[Profile, ...] | None = None,
    language: str | None = None,
    counts: TupleCounts | None = None,
) -> str:
    """The public report as a page of HTML, without script and without anything from another host.

    All it says comes from the manifest and the released table, so that whatever may be published there may be published
    here; the same release gives the same bytes, from memory or from its files. Parts that are null or missing are left
    out, and without the table what is drawn from it; attacks and rows that stand alone are those of the reach.

    Parameters
    ----------
    manifest: the content of `manifest.json`.
    released: the released rows. reach: theirs, where it is known already. held: what the standards say, where known.
    language: "en" or "it"; as the manifest says if not given. counts: those of the released rows, out of core, which
    facts of steps are checked by.

    Example
    -------
    >>> report({"promises": []}).startswith("<!doctype html>")
    True
    """
    manifest = {**manifest, "data": data_of(manifest)}
    if is_masked(manifest):
        page = _masked(manifest, released, reach, counts=counts)
        return translated_page(page, language_of(language or spoken(manifest)))
    manifest = as_checked(manifest, released) if manifest.get("steps") else manifest
    parts: list[Markup | None] = [about(manifest), promised(manifest), sizes(manifest), risks(manifest)]
    made_from = ("" if reach is None else "counts of the released table, ") + "manifest.json and nothing else"
    parts[1:1] = _stepped(manifest)
    reach = reach_from(manifest, released) if reach is None else reach
    held = profiles(manifest, released) if held is None else held
    standard = held_to(manifest, held)
    if released is not None and released.height:
        from sfumato.report.sections.columns import heat_map, shapes
        from sfumato.report.sections.evidence import evidence
        from sfumato.report.sections.sample import sample

        found = evidence(manifest, released, reach)
        parts += [
            attacks(found.attacks, found.left_out),
            remaining(manifest, reach),
            standards(held, standard),
            sample(manifest, released),
            shapes(found.shapes),
            heat_map(found.heat),
        ]
        made_from = "the released file, its manifest.json and nothing else"
    else:
        parts += [attacks(reach.attacks, reach.left_out)] if reach.attacks else []
        parts += [remaining(manifest, reach)]
        parts += [standards(held, standard)] if held or standard else []
    sections = [*parts, *_record(manifest), safeguards(manifest, reach), approval(manifest, reach)]
    page = report_page(manifest, reach, sections, made_from, standards=held, standard=standard)
    return translated_page(page, language_of(language or spoken(manifest)))


def _masked(
    manifest: Mapping[str, Any],
    released: pl.DataFrame | None,
    reach: Reach | None,
    original: pl.DataFrame | None = None,
    counts: TupleCounts | None = None,
    **compared: Any,
) -> str:
    """The report of a masked table: what the steps did, and what can be checked; with the original the internal one."""
    from sfumato.report.sections.columns import heat_map, shapes
    from sfumato.report.sections.evidence import evidence
    from sfumato.report.sections.sample import sample

    manifest = as_checked(manifest, counts if released is None else released)
    reach = reach_from(manifest, released) if reach is None else reach
    manifest = without_copy(manifest)
    made = [drawing(manifest), repeating(manifest)] if is_synthetic(manifest) else [steps(manifest)]
    parts: list[Markup | None] = [about(manifest), *made]
    parts += [promised(manifest)] if manifest["promises"] else []
    parts += [checked(manifest), *class_risk(manifest)]
    made_from = ("" if counts is None else "counts of the released table, ") + "manifest.json and nothing else"
    if original is not None and released is not None:
        public = evidence(manifest, released, reach)
        if is_synthetic(manifest):
            from sfumato.report.sections import synthetic_measures

            own = {key: compared[key] for key in ("synthesis", "least")}
            told = synthetic_measures.beside_original(manifest, released, original, public, **own)
        else:
            del compared["synthesis"]
            told, tried = beside_original(manifest, released, original, public, **compared)
            reach = replace(reach, attacks=tried)
        parts = [*parts, *told]
        made_from = "the released file, its manifest.json and the original"
    elif reach.attacks or reach.left_out:
        parts += [attacks(reach.attacks, reach.left_out)]
    if original is None and released is not None and released.height:
        found = evidence(manifest, released, reach)
        parts += [sample(manifest, released), shapes(found.shapes), heat_map(found.heat)]
        made_from = "the released file, its manifest.json and nothing else"
    parts += [roles(manifest), reproduction(manifest), approval(manifest, reach)]
    return report_page(manifest, reach, parts, made_from, internal=original is not None)


def internal_report(
    manifest: Mapping[str, Any],
    released: pl.DataFrame,
    original: pl.DataFrame,
    *,
    rows: np.ndarray | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    exact: Verdict | None = None,
    synthesis: Any = None,
    language: str | None = None,
) -> str:
    """The internal report: the public one, and the comparison with the original, which must not be published.

    Parameters
    ----------
    manifest, released: as for `report`.
    original: the table behind the release; columns that the release lacks, such as names, are not looked at.
    rows: the original row of each released row, where known: some measures and attacks need it.
    hierarchies: column to hierarchy, to read the labels of the release by.
    exact: what the search measured, where known: its losses are of the original values. synthesis: the release, where
        it was drawn from a model, which knows the rows that were held out. language: as for `report`.
    """
    from sfumato.report.sections.columns import heat_map, shapes
    from sfumato.report.sections.evidence import benefit, comparison, evidence

    manifest = {**manifest, "data": data_of(manifest)}
    least = max([size for entry in measured(manifest) if (size := least_size(manifest, entry))], default=LEAST)
    if is_masked(manifest):
        asked = {"rows": rows, "hierarchies": hierarchies, "least": max(least, 2), "synthesis": synthesis}
        page = _masked(manifest, released, None, original, **asked)
        return translated_page(page, language_of(language or spoken(manifest)))
    reach = reach_from(manifest, released)
    public = evidence(manifest, released, reach)
    found = comparison(manifest, released, original, public, rows=rows, hierarchies=hierarchies, least=max(least, 2))
    shown, held = found.shown, profiles(manifest, released, original)
    standard = held_to(manifest, held)
    reach = replace(reach, attacks=shown.attacks)
    manifest = as_checked(manifest, released) if manifest.get("steps") else manifest
    parts = [
        about(manifest),
        *_stepped(manifest),
        promised(manifest),
        sizes(manifest),
        risks(manifest, found.before),
        attacks(shown.attacks, shown.left_out, with_original=True),
        remaining(manifest, reach),
        standards(held, standard, with_original=True),
        shapes(shown.shapes, found.least),
        heat_map(shown.heat, found.least),
        benefit(found.measures, found.left_out),
        *_record(manifest, found.suppressed, exact),
        safeguards(manifest, reach),
        approval(manifest, reach),
    ]
    made_from = "the released file, its manifest.json and the original"
    page = report_page(manifest, reach, parts, made_from, internal=True, standards=held, standard=standard)
    return translated_page(page, language_of(language or spoken(manifest)))


def _stepped(manifest: Mapping[str, Any]) -> list[Markup]:
    """What steps did before or after a search."""
    return [steps(manifest), checked(manifest)] if manifest.get("steps") else []


def _record(
    manifest: Mapping[str, Any], by_size: Sequence[tuple[str, int, int]] = (), exact: Verdict | None = None
) -> list[Markup]:
    """How the release was made; of another tool's nothing but the file is known."""
    if manifest.get("foreign"):
        return [foreign(manifest)]
    untold = exact is None and constructed(manifest)  # a private release does not tell what it left out
    return [
        *([] if untold else [losses(manifest, exact), suppression(manifest, by_size)]),
        roles(manifest),
        method(manifest),
        reproduction(manifest),
    ]
