"""Choosing k: what each attacker needs under each threshold, the knee of the loss, and a page that shows it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from sfumato.comparing.curves import Curve, curve_chart
from sfumato.comparing.drawing import Scene, css, png, svg
from sfumato.comparing.page import drawn_twice
from sfumato.core.wording import Described, count, number, one_in, percent
from sfumato.criteria.k_map import KMap
from sfumato.engines.atomic import atomic_file
from sfumato.measures.risk.attackers import least_size
from sfumato.measures.standards.thresholds import THRESHOLDS, RiskThreshold
from sfumato.report.markup import Markup, facts, join, names, section, tag
from sfumato.report.markup import table as markup_table
from sfumato.report.page import html, style_of

ATTACKERS = ("prosecutor", "journalist", "marketer")
USUAL_KS = (2, 3, 5, 8, 11, 12, 20, 30, 50)
BEND = 0.05  # of the height of the curve: less than that below the straight line is no knee
KNOWS = {
    "prosecutor": "knows that somebody is in the table: 1/k at most",
    "journalist": "does not know who is in the table: 1 over the people alike in the population",
    "marketer": "links everybody, and is content with many: the average",
}


class KChoice(Described, dict[str, Any]):
    """What helps to choose k, by name: points, thresholds, knee, suggested, why."""

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """The suggestion, and the k that each threshold takes."""
        facts = [("suggested", f"{number(self['suggested'], 'none')}: {self['why']}"),
                 ("knee", number(self["knee"], "none"))]  # fmt: skip
        facts += [
            (f"{limit_words(one)}, {one['use']}", f"k {k_words(one[self['attacker']], self)}")
            for one in self["thresholds"]
        ]
        return f"k for {count(self['rows'], 'row')} by {', '.join(self['quasi'])}", facts


def knee(ks: Sequence[int], losses: Sequence[float]) -> int | None:
    """The k at which the loss bends upwards: the point farthest below the straight line from the first to the last.

    k counts by its logarithm, for each doubling of it halves the risk. None where no point lies clearly below.

    >>> knee([2, 4, 8, 16, 32], [0.0, 0.02, 0.05, 0.1, 0.5]), knee([2, 4, 8], [0.1, 0.2, 0.3])
    (16, None)

    Satopää, Albrecht, Irwin, Raghavan, Finding a "kneedle" in a haystack, 2011.
    """
    if len(ks) < 3 or losses[-1] <= losses[0]:
        return None
    wide, tall = math.log(ks[-1] / ks[0]), losses[-1] - losses[0]
    below = [math.log(k / ks[0]) / wide - (loss - losses[0]) / tall for k, loss in zip(ks, losses, strict=True)]
    best = max(range(len(ks)), key=lambda i: below[i])
    return ks[best] if below[best] >= BEND else None


def needed(limit: float, fraction: float | None) -> dict[str, int]:
    """The k that keeps the risk of a record within a limit: known of the prosecutor, estimated of the journalist.

    The journalist's is that of k-map: so many records that their people in the population are enough, at a level of
    5%. Without a sampling fraction it is the prosecutor's.

    >>> needed(0.09, None), needed(0.05, 0.1)
    ({'prosecutor': 12, 'journalist': 12}, {'prosecutor': 20, 'journalist': 6})
    """
    people = int(least_size(limit))
    return {"prosecutor": people, "journalist": people if fraction is None else KMap(people, fraction).least_size}


def choice(
    about: Mapping[str, Any], points: Sequence[Mapping[str, Any]], limit: float | None, attacker: str
) -> KChoice:
    """All that is known of which k to take, from the releases that were made."""
    fraction = about["sampling_fraction"]
    rows = [_figures(p, about["rows"], fraction) for p in points]
    done = [row for row in rows if row["status"] == "done"]
    bend = knee([row["k"] for row in done], [row["loss"] for row in done])
    asked = (() if limit is None else (RiskThreshold(limit, "your limit", ""),)) + THRESHOLDS
    thresholds = [
        {"limit": one.limit, "use": one.use, "source": one.source, **needed(one.limit, fraction),
         "marketer": next((row["k"] for row in done if row["marketer"] <= one.limit + 1e-12), None)}
        for one in asked
    ]  # fmt: skip
    found = {**about, "attacker": attacker, "limit": limit, "points": rows, "thresholds": thresholds, "knee": bend}
    suggested, why = _suggested(found, done)
    return KChoice({**found, "suggested": suggested, "why": why})


def _figures(point: Mapping[str, Any], rows: int, fraction: float | None) -> dict[str, Any]:
    """The figures of a release: highest and average risk, and the share that a marketer finds."""
    done = point["status"] == "done"
    average = point["classes"] / (rows - point["suppressed"]) if done else None  # the mean of 1/n over records
    return {
        "k": point["k"],
        "loss": 1 - point["utility"] if done else None,
        "suppressed": point["suppressed"],
        "classes": point["classes"],
        "highest": point["risk"],
        "average": average,
        "marketer": average if average is None or fraction is None else average * fraction,
        "status": point["status"],
        "reason": point["reason"],
    }


def _suggested(found: Mapping[str, Any], done: Sequence[Mapping[str, Any]]) -> tuple[int | None, str]:
    losses = {row["k"]: row["loss"] for row in done}
    bend, attacker = found["knee"], found["attacker"]
    if not done:
        return None, "No release could be made: see why beside each k."
    if found["limit"] is None:
        if bend is None:
            return None, "The loss has no knee, and no limit is given: choose a threshold."
        return bend, f"From here on each doubling of k costs more. No limit is given: {_risk_words(bend)}."
    least = found["thresholds"][0][attacker]
    if least is None:
        return None, f"No k that was tried keeps the {attacker}'s risk within {percent(found['limit'])}."
    if least > found["rows"]:
        return None, f"It takes a k of {number(least)}, and the table has {count(found['rows'], 'row')}."
    told = f"The least k that keeps the {attacker}'s risk within {percent(found['limit'])}."
    if bend is not None and bend < least:
        told += f" It is beyond the knee at {bend}: it costs, and the limit asks for it."
    elif bend is not None and bend > least and least in losses:
        more = number(losses[bend] - losses[least], digits=2)
        told += f" The knee is at {bend}: up to there more protection costs less than beyond ({more} more loss)."
    return least, told


def _risk_words(k: int) -> str:
    return f"the highest risk is 1 in {k}"


def limit_words(threshold: Mapping[str, Any]) -> str:
    """A limit as it is usually written: a share of round percent as such, else a chance."""
    limit = threshold["limit"]
    return one_in(limit) if abs(1 / limit - round(1 / limit)) < 1e-9 else percent(limit)


def k_words(k: int | None, found: Mapping[str, Any]) -> str:
    """A k, or that none which was tried is enough."""
    tried = [row["k"] for row in found["points"] if row["status"] == "done"]
    return number(k) if k is not None else f"over {number(max(tried))}" if tried else "-"


def loss_chart(found: Mapping[str, Any], width: float = 920, heading: bool = True) -> Scene:
    """Loss over k, with the knee and the k that is suggested ringed."""
    done = [row for row in found["points"] if row["status"] == "done"]
    ringed: dict[float, str] = {}
    if found["suggested"] is not None:
        ringed[found["suggested"]] = "suggested"
    if found["knee"] is not None:
        ringed[found["knee"]] = "knee, suggested" if found["knee"] == found["suggested"] else "knee"
    told = [
        (row["k"], row["loss"], f"k {row['k']}: loss {row['loss']:.4f}, highest risk {row['highest']:.4f}")
        for row in done
    ]
    description = "; ".join(words for _, _, words in told) + f". {found['why']}"
    curve = Curve(found["search"], 0, 0, tuple(told), ringed)
    loss = f"loss ({found['measure']})"
    return curve_chart([curve], "k", loss, "What k costs", description, width, heading, legend=False)


READING = (
    "A point is a release that was made and measured, and then thrown away. Each doubling of k halves the risk of a "
    "record, so k is drawn by its logarithm. The knee is the point farthest below the straight line between the "
    "ends: up to it more protection is cheap, beyond it dear."
)
NOTE = (
    "k speaks of the quasi-identifiers named here, and of finding people, not of what stands beside them: a group that "
    "looks alike may share what is sensitive. The figures compare releases with the original: keep them in the house "
    "that has the original."
)


def choice_page(found: Mapping[str, Any], version: str) -> str:
    """The choice as a page of HTML: light and dark, nothing from another host."""
    style = style_of("page.css") + files("sfumato.comparing").joinpath("map.css").read_text(encoding="utf-8") + css()
    suggested = found["suggested"]
    head = tag(
        "header", tag("p", "Choosing k", class_="over"),
        tag("h1", "No k is suggested" if suggested is None else f"Suggested: k = {number(suggested)}"),
        tag("p", found["why"], class_="lead"), _asked(found),
    )  # fmt: skip
    figure = section(
        "curve",
        "What k costs",
        drawn_twice("choice", lambda width: loss_chart(found, width, heading=False)),
        tag("p", READING, class_="quiet"),
    )
    main = tag("main", _thresholds(found), figure, _tried(found), tag("p", NOTE, class_="quiet"))
    footer = tag("footer", f"Made by Sfumato {version} from choice.json and nothing else.")
    return html("Choosing k", style, [head, main, footer])


def _asked(found: Mapping[str, Any]) -> Markup:
    population = found["population"]
    people = None if population is None else f"{number(population)} people, {percent(found['sampling_fraction'])} here"
    return facts(
        [
            ("Rows", number(found["rows"])),
            ("Quasi-identifiers", names(found["quasi"])),
            ("Population", people),
            ("Attacker", found["attacker"]),
            ("Limit", None if found["limit"] is None else percent(found["limit"])),
            ("Method", found["search"]),
        ]
    )


def _thresholds(found: Mapping[str, Any]) -> Markup:
    """The k that each threshold takes, for each attacker."""
    losses = {row["k"]: row["loss"] for row in found["points"]}
    head = ["Limit", "Used for", *(who.capitalize() for who in ATTACKERS), "Loss, prosecutor"]
    rows = [
        [limit_words(one), join([one["use"], tag("br") if one["source"] else None,
                                 tag("span", one["source"], class_="quiet") if one["source"] else None]),
         *(k_words(one[who], found) for who in ATTACKERS), number(losses.get(one["prosecutor"]), "not tried")]
        for one in found["thresholds"]
    ]  # fmt: skip
    told = "The journalist's k is estimated from the size of the population, at a level of 5% (k-map)." if found[
        "population"] is not None else "Without the size of the population the journalist is a prosecutor."  # fmt: skip
    known = facts([(who.capitalize(), text) for who, text in KNOWS.items()], "record")
    table = markup_table(
        head, rows, "The k that keeps each attacker's risk within a threshold in use.", "stack wide-head"
    )
    return section("thresholds", "What others accept", table, tag("p", told, class_="quiet"), known)


def _tried(found: Mapping[str, Any]) -> Markup:
    head = ["k", "Loss", "Highest risk", "Average risk", "Marketer finds", "Suppressed", "Groups"]
    rows = []
    for row in found["points"]:
        if row["status"] != "done":
            rows.append([number(row["k"]), row["status"], *[""] * 5])
            continue
        shares = [percent(row[name]) for name in ("highest", "average", "marketer")]
        rows.append([number(row["k"]), f"{row['loss']:.4f}", *shares, number(row["suppressed"]),
                     number(row["classes"])])  # fmt: skip
    return section("tried", "The releases", markup_table(head, rows, "One release for every k.", "stack"))


def write_choice(folder: Path, found: Mapping[str, Any], version: str) -> None:
    """choice.json, choice.html, choice.svg and, last, choice.png: MissingExtra where only that cannot be drawn."""
    scene = loss_chart(found)
    text = json.dumps(found, ensure_ascii=False, indent=1, allow_nan=False)
    drawn = str(svg(scene, "choice"))
    for file, content in (("choice.json", text), ("choice.html", choice_page(found, version)), ("choice.svg", drawn)):
        with atomic_file(folder / file, overwrite=True) as place:
            place.write_bytes((content.rstrip("\n") + "\n").encode("utf-8"))
    picture = png(scene)
    with atomic_file(folder / "choice.png", overwrite=True) as place:
        place.write_bytes(picture)
