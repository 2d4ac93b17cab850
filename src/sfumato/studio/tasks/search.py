"""A search over the table of a project: what it gives, in figures and words, or what keeps it from giving anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import Infeasible
from sfumato.policyfile.protection import made_by
from sfumato.studio.tasks.compare import measured
from sfumato.studio.tasks.table import checked, draft_of
from sfumato.studio.tasks.trial import released, tried

# what a release depends on
ASKED = ("input", "roles", "hierarchies", "levels", "require", "mask", "search", "synthesis")
SHOWN = 3  # labels that are told of a column


def find(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """The figures of what the policy gives, or the closest verdict and what would help."""
    by = made_by(asked["tables"])
    try:
        if by == "recoding":
            release = released(asked, progress)
            notes = tried(asked, progress).notes if release.in_memory else ()
            return {"by": by, **figures(release), "notes": list(notes)}
        return changed(asked, progress)
    except Infeasible as error:
        closest = error.closest if isinstance(error.closest, Mapping) else {}
        told = {"what": error.what, "got": error.got, "allowed": error.allowed, "hint": error.hint}
        return {
            "by": by,
            "infeasible": {key: None if value is None else str(value) for key, value in told.items()},
            "suppressed": closest.get("suppressed"),
            "levels": closest.get("levels"),
            "rows": table_rows(asked),
        }


def changed(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """What masking, or a generator, made of the table: what was checked of it, and what it comes to."""
    release = tried(asked, progress).release
    facts = [{"sentence": one.sentence, "holds": one.holds} for one in release.facts]
    return {**measured(asked, progress), "outcome": release.verification.outcome, "facts": facts}


def table_rows(asked: Mapping[str, Any]) -> int:
    """How many rows the table has."""
    opened, _ = checked(draft_of(asked), made_by(asked["tables"]))
    return int(opened.data.rows() if opened.stored else opened.data.height)


def figures(release: Any) -> dict[str, Any]:
    """What a release comes to, for its owner's eyes: plain values."""
    from sfumato.losses import LOSSES, loss_name
    from sfumato.report.manifest import titled
    from sfumato.search import SEARCHES, search_name

    solution, verdict, name = release.solution, release.solution.verdict, search_name(release.search)
    worst = min(release.verification.classes, key=lambda one: one["smallest"])
    return {
        "search": name,
        "title": titled(SEARCHES, name),
        "choice": None if solution.choice is None else {"why": solution.choice.why, "next": solution.choice.runner_up},
        "optimal": solution.optimal,
        "seconds": solution.seconds,
        "rows": release.verification.rows + verdict.suppressed,
        "suppressed": verdict.suppressed,
        "loss": verdict.loss,
        "loss_title": titled(LOSSES, loss_name(release.policy.loss)),
        "classes": worst["classes"],
        "smallest": worst["smallest"],
        "risk": worst["risk"]["highest"],
        "average_risk": worst["risk"]["average"],
        "levels": solution.levels,
        "columns": [_column(release, one, verdict.per_attribute.get(one)) for one in release.policy.columns],
    }


def _column(release: Any, name: str, loss: float | None) -> dict[str, Any]:
    """What became of a column: its level where it has one, and its most frequent labels."""
    attribute = release.microdata.attribute(name)
    level = (release.solution.levels or {}).get(name)
    found = {"name": name, "loss": loss, "values": len(attribute.categories), "level": level,
             "height": None if level is None else attribute.ladder.height}  # fmt: skip
    if not release.in_memory:
        return {**found, "labels": None, "shown": []}
    from sfumato.core.printed import printed

    labels = (
        printed(release.table.get_column(name))
        .alias("label")
        .value_counts()
        .sort("count", "label", descending=[True, False])
    )
    return {**found, "labels": labels.height, "shown": labels.get_column("label").head(SHOWN).to_list()}
