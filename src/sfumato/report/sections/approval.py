"""The end of the report: what risk remains, in one paragraph, and beside it the place to sign."""

from __future__ import annotations

from sfumato.core.masked import NOT_ANONYMOUS
from sfumato.core.wording import number, one_in, percent
from sfumato.measures.reach import Reach
from sfumato.report.manifest import Manifest, constructed, is_drawn, is_synthetic, look, measured, promises, quasi
from sfumato.report.markup import Markup, join, names, section, tag
from sfumato.report.markup import name as name_
from sfumato.report.sections.attacks import described
from sfumato.report.sections.headline import ALTERED, altered
from sfumato.report.sections.synthesis import left_open, said_of_copies

LINES = ("Name", "Role", "Date", "Signature")
# who signed, and when, must not change these bytes, which are signed
DIGITAL = (
    "A digital signature stands in ",
    tag("code", "signature.json"),
    " beside this file, if it was signed: ",
    tag("code", "sfumato verify"),
    " shows by whom, and whether it is valid.",
)
PROVEN = "What is promised above is proven of the released rows; what follows is measured, and no promise."
UNKNOWN = (
    "Not to be proven from the table: what others know beyond these columns, what other tables about the same people "
    "tell, and whether each column has the right role."
)


def approval(manifest: Manifest, reach: Reach) -> Markup:
    """The section to be filled in by hand."""
    file, digest = look(manifest, "data", "file"), look(manifest, "data", "sha256")
    told = ["I have read this report", " on ", tag("bdi", file) if file else "the released table"]
    told += [", the file with SHA-256 ", tag("code", digest)] if digest else []
    boxes = tag(
        "p", *(tag("span", tag("i", class_="box"), text) for text in ("I approve", "I do not approve")), class_="boxes"
    )
    lines = [tag("div", tag("dt", line), tag("dd", class_="blank")) for line in LINES]
    decision = tag("div", tag("p", *told, ", and decide on its publication:"), boxes, tag("dl", *lines, class_="sign"))
    risk = tag("div", tag("h3", "What risk remains"), tag("p", residual(manifest, reach)), class_="remains")
    digital = None if look(manifest, "foreign") else tag("p", *DIGITAL, class_="quiet")
    return section("signature", "Approval", tag("div", risk, decision, class_="decide"), digital)


def residual(manifest: Manifest, reach: Reach) -> Markup:
    """What remains: what is promised where that holds, what was measured, and what nobody can prove."""
    said: list[object] = [f"{look(manifest, 'pseudonymous')} "] if look(manifest, "pseudonymous") else []
    if is_synthetic(manifest):
        first = () if constructed(manifest) else (NOT_ANONYMOUS,)
        said += [f"{one} " for one in (*first, said_of_copies(manifest), *left_open(manifest))]
    known, broken = [one for one in quasi(manifest) if one], [one for one in promises(manifest) if not one.get("holds")]
    if broken:
        said.append(f"{ALTERED if altered(broken) else 'A promise does not hold'}: what remains is not bounded. ")
    else:
        built = [f"By construction: {one['sentence']} " for one in constructed(manifest) if one.get("sentence")]
        said += [f"{PROVEN} "] if promises(manifest) else [] if built else ["Nothing is promised. "]
        said += built
    entries = [(look(one, "risk", "highest"), look(one, "risk", "average")) for one in measured(manifest)]
    highest = max((risk for risk, _ in entries if risk is not None), default=None)
    average = max((risk for _, risk in entries if risk is not None), default=None)
    if highest is not None and known and not is_drawn(manifest):  # of drawn records none is the right one
        who = join([names(one) for one in known], ", or the ")
        chance = f" of one person picks the right record at most {one_in(highest)} times"
        mean = "" if average is None else f", and {one_in(average)} times on average"
        said += ["Somebody who knows the ", who, f"{chance}{mean} (measured). "]
    if reach.with_known is not None and reach.with_known.rows:
        alone = f"{number(reach.with_known.rows)} of {number(reach.rows)} records"
        known_too = "were not perturbed" if reach.masked else "are not covered too"
        known_too = "were not made anew" if reach.synthetic else known_too
        said.append(f"Whoever knows the columns that {known_too} singles out {alone} (measured). ")
    worst = reach.worst
    if worst is not None and worst.get("advantage"):
        column = (worst.get("details") or {}).get("column")
        of = [] if column is None else [" of ", name_(column)]
        shares = f"{percent(worst.get('success'))} of the records, guessing for {percent(worst.get('baseline'))}"
        said += [
            "The best attack that was tried, ",
            described(worst)[0].lower(),
            *of,
            f", succeeds for {shares} (measured). ",
        ]
    return join([*said, UNKNOWN])
