"""What remains by kind of disclosure, and the safeguards taken beside the known threats, phase by phase.

Kinds: G. Duncan, D. Lambert, The risk of disclosure for microdata, 1989. Threats: D. Solove, A taxonomy of
privacy, 2006.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.core.wording import number, one_in
from sfumato.engines.order import INPUT
from sfumato.measures.reach import Reach
from sfumato.report.manifest import Manifest, constructed, fewest_people, look, measured, model, rows, table
from sfumato.report.markup import Markup, join, name, names, section, tag
from sfumato.report.markup import table as html_table
from sfumato.report.sections.about import said
from sfumato.report.sections.headline import attack, lines, marked

IDENTITY, ATTRIBUTE, INFERENTIAL = "Identity disclosure", "Attribute disclosure", "Inferential disclosure"
KINDS = {
    IDENTITY: "Somebody finds out which record is that of a person.",
    ATTRIBUTE: "Somebody learns what a sensitive column says of a person, whether the record is found or not.",
    INFERENTIAL: "Somebody guesses a value better than before, from what the table tells about people alike.",
}
PROMISED = {
    "k-anonymity": (IDENTITY,),
    "personal-k-anonymity": (IDENTITY,),
    "k-map": (IDENTITY,),
    "confident-delta-presence": (ATTRIBUTE,),
    "delta-presence": (ATTRIBUTE,),  # that somebody is in the table at all is what it says of them
    "average-risk": (IDENTITY,),
    "sample-uniqueness": (IDENTITY,),
    "population-uniqueness": (IDENTITY,),
    "differential-privacy": (IDENTITY, ATTRIBUTE, INFERENTIAL),
    "alpha-k": (IDENTITY, ATTRIBUTE),
    "xy-anonymity": (IDENTITY, ATTRIBUTE),
    "xy-linkability": (IDENTITY, ATTRIBUTE),
    "distinct-l-diversity": (ATTRIBUTE,),
    "entropy-l-diversity": (ATTRIBUTE,),
    "recursive-cl-diversity": (ATTRIBUTE,),
    "personal-l-diversity": (ATTRIBUTE,),
    "t-closeness": (INFERENTIAL,),
    "beta-likeness": (INFERENTIAL,),
    "delta-disclosure": (INFERENTIAL,),
}
ATTRIBUTE_ATTACKS = ("homogeneity", "background-knowledge", "similarity", "negative-disclosure")
INFERENTIAL_ATTACKS = ("skewness", "inference")
FINDS = ("Not covered", "Stand alone", "As a key", "Not hidden")  # lines of the headline about finding somebody
NO_GAIN = "No attack of this kind that was tried does better than guessing."
TAKEN, PARTLY, OPEN, OUTSIDE = "Taken", "In part", "Open", "Outside"


def kind_of(attacked: Mapping[str, Any]) -> str:
    """The kind of disclosure that an attack is after.

    >>> kind_of({"name": "background knowledge"}), kind_of({"name": "singling-out (univariate)"})
    ('Attribute disclosure', 'Identity disclosure')
    """
    called = str(attacked.get("name")).replace(" ", "-")
    return ATTRIBUTE if called in ATTRIBUTE_ATTACKS else INFERENTIAL if called in INFERENTIAL_ATTACKS else IDENTITY


def kinds_of(promise: Mapping[str, Any]) -> tuple[str, ...]:
    """The kinds of disclosure that a promise is about; one from outside is about its column, or about finding people.

    >>> kinds_of({"model": "alpha-k"}), kinds_of({"model": "own", "parameters": {"attribute": "disease"}})
    (('Identity disclosure', 'Attribute disclosure'), ('Attribute disclosure',))
    """
    own = ATTRIBUTE if (promise.get("parameters") or {}).get("attribute") else IDENTITY
    found = () if promise.get("model") == "integrity" else (own,)
    return PROMISED.get(str(promise.get("model")), found)


def remaining(manifest: Manifest, reach: Reach) -> Markup:
    """The section of what remains: identity, attribute and inferential disclosure."""
    intro = "What is promised against each kind of disclosure, and what the released rows still give away."
    body = [
        (join([tag("b", kind), tag("span", told, class_="quiet said")]), _promised(manifest, reach, kind),
         _lines(_remains(manifest, reach, kind)))
        for kind, told in KINDS.items()
    ]  # fmt: skip
    shown = html_table(("Kind", "Promised", "What remains"), body, "Disclosure by kind", "stack kinds")
    return section("kinds", "What remains, by kind of disclosure", tag("p", intro), shown)


def _promised(manifest: Manifest, reach: Reach, kind: str) -> Markup:
    """The promises against one kind, those by construction after the proven ones."""
    found = [
        tag("span", model(promise)) if promise.get("holds") else
        tag("span", tag("span", model(promise)), ": ", tag("span", "does not hold", class_="alarm"))
        for promise in (*reach.promises, *constructed(manifest)) if kind in kinds_of(promise)
    ]  # fmt: skip
    return _lines(found or [tag("span", "Nothing", class_="quiet")])


def _remains(manifest: Manifest, reach: Reach, kind: str) -> list[Markup]:
    said: list[Markup] = []
    if kind == IDENTITY:
        risks = [(look(one, "risk", "highest"), look(one, "risk", "average")) for one in measured(manifest)]
        known = [(high, mean) for high, mean in risks if high is not None and mean is not None]
        if known:
            high, mean = max(high for high, _ in known), max(mean for _, mean in known)
            if (people := fewest_people(manifest)) is not None:  # several records may be of one person
                high = max(high, 1 / people)
            told = f"The right record is picked at most {one_in(high)} times, and {one_in(mean)} times on average."
            said.append(join([told]))
        said += [marked(parts) for term, parts in lines(reach) if term in FINDS]
    elif kind == ATTRIBUTE:
        said += [join([name(column), " is sensitive, and no promise is about it."]) for column in reach.unprotected]
    tried = [one for one in reach.attacks if kind_of(one) == kind]
    if tried:
        worst = max(tried, key=lambda one: one.get("advantage") or 0.0)
        said.append(marked(attack(worst)) if worst.get("advantage") else join([NO_GAIN]))
    elif kind != IDENTITY:
        said.append(join(["No attack of this kind was tried."]))
    return said


def _lines(parts: Sequence[Markup]) -> Markup:
    return join([tag("span", part, class_="line") for part in parts])


Safeguard = tuple[str, object]  # how far it goes, and what it is
LOOKS = {OPEN: "alarm", OUTSIDE: "quiet"}
THREATS = {
    "Collection": {
        "Surveillance": "Firms or states watch people.",
        "Interrogation": "People are pressed for answers.",
    },
    "Processing": {
        "Aggregation": "Facts from several sources are put together.",
        "Identification": "Data are tied to a person.",
        "Insecurity": "Data are lost, or changed by others.",
        "Secondary use": "Data serve another purpose than the one agreed.",
        "Exclusion": "People do not know what is held about them, and have no say.",
    },
    "Dissemination": {
        "Breach of confidentiality": "What was told in confidence is passed on.",
        "Disclosure": "True facts about a person become known.",
        "Exposure": "What is intimate is shown.",
        "Increased accessibility": "Data are easier to reach than before.",
        "Blackmail": "Somebody threatens to tell.",
        "Appropriation": "Somebody uses the identity of a person.",
        "Distortion": "A person is shown in a false light.",
    },
    "Outside of these phases": {
        "Intrusion": "Somebody enters into a life uninvited.",
        "Decisional interference": "Others meddle in what is for a person to decide.",
    },
}


def safeguards(manifest: Manifest, reach: Reach) -> Markup:
    """The section that sets the safeguards taken beside the known threats."""
    taken = _safeguards(manifest, reach)
    tables: list[Markup] = []
    for phase, threats in THREATS.items():
        body = [
            (join([tag("b", threat), tag("span", told, class_="quiet said")]),
             tag("span", taken[threat][0], class_=LOOKS.get(taken[threat][0])),
             taken[threat][1])
            for threat, told in threats.items()
        ]  # fmt: skip
        head = ("Threat", "State", "Safeguard")
        tables += [tag("h3", phase), html_table(head, body, "Threats and safeguards", "stack threats")]
    intro = (
        "The known threats to the privacy of people, by the phase in which they arise, and what this release does "
        "about each. A release answers for its table; what is open, or outside, is for the controller to settle."
    )
    return tag("div", section("threats", "Threats and safeguards", tag("p", intro), *tables), class_="own-page")


def _safeguards(manifest: Manifest, reach: Reach) -> dict[str, Safeguard]:
    """What is done about each threat, as far as manifest and rows tell."""
    removed = [str(column) for column in rows(manifest, "policy", "identifying")]
    before = OUTSIDE, "The table was collected before: a release collects nothing."
    never = OUTSIDE, "A release neither causes nor prevents it."
    state, found = _identity(manifest, reach)
    gone = join(["Removed: ", names(removed), "."]) if removed else join(["No column is named as identifying."])
    disclosed = _disclosed(reach)
    return {
        "Surveillance": before,
        "Interrogation": before,
        "Aggregation": (state, found),
        "Identification": (state, _lines([gone, join([found])])),
        "Insecurity": _secure(manifest),
        "Secondary use": _stated(manifest, "purpose", "Stated purpose: ", "No purpose is stated."),
        "Exclusion": _stated(manifest, "controller", "Whom to ask: ", "No controller is named."),
        "Breach of confidentiality": _stated(
            manifest, "recipient", "Stated recipient: ", "No recipient is named: take it that anybody reads it."
        ),
        "Disclosure": disclosed,
        "Exposure": _exposed(manifest, reach),
        "Increased accessibility": _accessible(reach),
        "Blackmail": (
            _worse(state, disclosed[0]),
            "It takes what identification and disclosure give: their safeguards are those against it.",
        ),
        "Appropriation": (TAKEN if removed else PARTLY, gone),
        "Distortion": _true(manifest),
        "Intrusion": never,
        "Decisional interference": never,
    }


def _identity(manifest: Manifest, reach: Reach) -> Safeguard:
    kept = [one for one in reach.promises if IDENTITY in kinds_of(one)]
    if not kept or not all(one.get("holds") for one in reach.promises):
        return OPEN, "No promise that holds keeps people from being found."
    smallest = min((size for one in measured(manifest) if (size := look(one, "smallest"))), default=None)
    found = "Nobody is found for certain by the quasi-identifiers."
    if smallest is not None and smallest > 1:
        found = f"Whoever joins it with another list finds at least {number(smallest)} records that fit."
    if reach.with_known is not None and reach.with_known.rows:
        alone = f"{number(reach.with_known.rows)} of {number(reach.rows)} records"
        return PARTLY, f"{found} Whoever knows the columns that are not covered too singles out {alone} (measured)."
    return (PARTLY if reach.uncovered or (reach.with_known is None and reach.unprotected) else TAKEN), found


def _disclosed(reach: Reach) -> Safeguard:
    kept = [
        one for one in reach.promises
        if one.get("holds") and {ATTRIBUTE, INFERENTIAL} & set(kinds_of(one))
    ]  # fmt: skip
    if reach.unprotected:
        return (PARTLY if kept else OPEN), join(["Nothing protects ", names(reach.unprotected), "."])
    if not kept:
        return PARTLY, "No sensitive column is named."
    promised = [tag("span", model(one)) for one in kept]
    if any(one.get("advantage") and kind_of(one) != IDENTITY for one in reach.attacks):
        return PARTLY, _lines([*promised, join(["What attacks still gain stands under what remains."])])
    return TAKEN, _lines(promised)


def _exposed(manifest: Manifest, reach: Reach) -> Safeguard:
    state, _ = _identity(manifest, reach)
    if not rows(manifest, "policy", "sensitive"):
        return PARTLY, "No sensitive column is named."
    if state == OPEN:
        return OPEN, "Sensitive values may stand beside the record of one person."
    return _worse(state, _disclosed(reach)[0]), "Sensitive values stand beside people who look alike."


def _worse(*states: str) -> str:
    return max(states, key=(TAKEN, PARTLY, OPEN).index)


def _secure(manifest: Manifest) -> Safeguard:
    if not look(manifest, "data", "sha256"):
        return OPEN, "The file has no fingerprint here."
    known = "The manifest holds the SHA-256 of the file: a change is noticed."
    return PARTLY, f"{known} How the original is kept is not known here."


def _stated(manifest: Manifest, key: str, before: str, nothing: str) -> Safeguard:
    text = said(manifest, key)
    return (OPEN, nothing) if text is None else (PARTLY, join([before, text]))


def _accessible(reach: Reach) -> Safeguard:
    who = "Who may read it, and from when on, is not known here."
    if reach.order == INPUT:
        return OPEN, f"The rows stand in the order of the input. {who}"
    return PARTLY, f"The order of the rows tells nothing of the input. {who}" if reach.order else who


def _true(manifest: Manifest) -> Safeguard:
    if look(manifest, "foreign") or not table(manifest, "solution"):
        return OPEN, "How the table was made is not known here."
    if rows(manifest, "perturbed"):
        return PARTLY, "Steps changed some values into others: they are not those of a person."
    if any(look(column, "form") == "draw" for column in table(manifest, "data", "numbers").values()):
        return PARTLY, "Some numbers are drawn at random within their range: they are not those of a person."
    return TAKEN, "Values are coarser than they were, and none is made up."
