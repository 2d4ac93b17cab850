"""The place to sign: what is signed, and by whom."""

from __future__ import annotations

from sfumato.report.look import Manifest, look
from sfumato.report.markup import Markup, section, tag

LINES = ("Name", "Role", "Date", "Signature")
# who signed, and when, must not change these bytes, which are signed
DIGITAL = (
    "A digital signature stands in ",
    tag("code", "signature.json"),
    " beside this file, if it was signed: ",
    tag("code", "sfumato verify"),
    " shows by whom, and whether it is valid.",
)


def signature(manifest: Manifest) -> Markup:
    """The section to be filled in by hand."""
    file, digest = look(manifest, "data", "file"), look(manifest, "data", "sha256")
    told = ["I have read this report", " on ", tag("bdi", file) if file else "the released table"]
    told += [", the file with SHA-256 ", tag("code", digest)] if digest else []
    boxes = tag(
        "p", *(tag("span", tag("i", class_="box"), text) for text in ("I approve", "I do not approve")), class_="boxes"
    )
    lines = [tag("div", tag("dt", line), tag("dd", class_="blank")) for line in LINES]
    return section(
        "signature",
        "Approval",
        tag("p", *told, ", and decide on its publication:"),
        boxes,
        tag("dl", *lines, class_="sign"),
        None if look(manifest, "foreign") else tag("p", *DIGITAL, class_="quiet"),
    )
