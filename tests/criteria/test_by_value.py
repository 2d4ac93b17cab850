"""Distributions given from outside: both sides against the definition in plain Python, releases, files and refusals."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.anonymize import say_promises
from sfumato.criteria import parse
from sfumato.errors import PolicyError, ReadError
from sfumato.report.translation import translated
from tests.fuzz import FUZZ

WORDS = ("a", "b", "c", "d", None)
NUMBERS = ("2", "9", "10", "30", None)
REFERENCE = {"flu": 0.5, "asthma": 0.3, "ulcer": 0.2}


def distance(name: str, one: list[str | None], q: dict[str | None, Fraction], line: list[str | None]) -> float:
    """The distance of a class from q, by the definition."""
    p = {v: Fraction(one.count(v), len(one)) for v in set(one)}
    if name == "equal":
        return float(sum(abs(p.get(v, 0) - q.get(v, 0)) for v in {*p, *q}) / 2)
    if name == "kl":
        return sum(float(x) * math.log(x / q[v]) if q.get(v) else math.inf for v, x in p.items())
    if not set(p) <= set(line):
        return math.inf
    steps = [abs(sum(p.get(v, 0) - q[v] for v in line[: i + 1])) for i in range(len(line))]
    return float(sum(steps) / max(len(line) - 1, 1))


def draw_reference(rng: random.Random, values: tuple[str | None, ...]) -> dict[str, int]:
    known = rng.sample(values, rng.randint(1, len(values)))
    return {value or "": rng.choice([0, 1, 2, 5]) for value in known} | {known[0] or "": 3, "99": rng.choice([0, 2])}


@pytest.mark.slow
@pytest.mark.parametrize("values", [WORDS, NUMBERS], ids=["words", "numbers"])
def test_both_sides_are_the_definition(search, released, values):
    rng = random.Random(7)
    for _ in range(25 * FUZZ):
        given = draw_reference(rng, values)
        total = sum(given.values())
        q = {v or None: Fraction(n, total) for v, n in given.items()}
        key = float if values is NUMBERS else str
        line = [*sorted((v for v in q if v), key=key), *([None] if None in q else [])]
        classes = [rng.choices(values, k=rng.randint(1, 6)) for _ in range(rng.randint(1, 4))]
        classes.append([next(v for v in q if v in values)])
        others = rng.choices(values, k=3)  # of rows that are suppressed, which must not matter
        for name in ("equal", "ordered", "kl"):
            far = [distance(name, one, q, line) for one in classes]
            t = rng.choice([0.2, 0.5, 0.9, *(d for d in far if d <= 1)])
            asked = sf.TCloseness("s", t, name, reference=given)
            fine = [d <= t + 1e-12 for d in far]
            assert asked.holds(search(classes, others)).tolist() == fine
            found = asked.audit(released(classes))
            assert (found.holds, found.failing_classes) == (all(fine), fine.count(False))
            assert found.measured == pytest.approx(max(far))
        for kind in ("basic", "enhanced"):
            beta = rng.choice([0.5, 1, 3])
            asked = sf.BetaLikeness("s", beta, kind, reference=given)
            fine = []
            for one in classes:
                gains = [(v, Fraction(one.count(v), len(one)), q.get(v, 0)) for v in set(one)]
                caps = {v: min(beta, -math.log(x)) if kind == "enhanced" and x else beta for v, _, x in gains}
                fine.append(all(p <= x or (x and (p - x) / x <= caps[v] + 1e-12) for v, p, x in gains))
            assert asked.holds(search(classes, others)).tolist() == fine
            found = asked.audit(released(classes))
            assert (found.holds, found.failing_classes) == (all(fine), fine.count(False))


def register(rows: int = 120) -> pl.DataFrame:
    rng = random.Random(3)
    diseases = rng.choices([*REFERENCE], [5, 3, 2], k=rows)
    return pl.DataFrame({"age": [rng.randint(20, 60) for _ in range(rows)], "disease": diseases})


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked", [sf.TCloseness("disease", 0.3, reference=REFERENCE), sf.BetaLikeness("disease", 1.5, reference=REFERENCE)]
)
def test_a_release_holds_the_reference_and_is_verified_by_it_alone(asked, tmp_path):
    release = sf.anonymize(register(), quasi=["age"], require=[sf.KAnonymity(3), asked], suppression=0.1)
    folder = release.save(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["policy"]["require"][1]["reference"] == dict(sorted(REFERENCE.items()))
    assert not manifest["whole"]  # nothing of the table itself has to be published
    assert sf.verify(folder).holds
    page = (folder / "report.html").read_text()
    assert "The reference, given from outside" in page
    assert "reference = 3 values" in page
    manifest["policy"]["require"][1]["reference"] = manifest["promises"][1]["parameters"]["reference"] = {"flu": 1}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert not sf.verify(folder).holds
    manifest["policy"]["require"][1]["reference"] = str(tmp_path / "any.csv")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ReadError, match="a reference is a mapping"):
        sf.verify(folder)


def test_the_distribution_of_the_table_itself_is_refused_where_rows_are_suppressed():
    table = pl.DataFrame({"age": [20] * 6 + [70], "disease": ["flu", "ulcer"] * 3 + ["ulcer"]})
    own = dict(table["disease"].value_counts().iter_rows())
    asked = [sf.KAnonymity(3), sf.TCloseness("disease", 0.4, reference=own)]
    options = {"quasi": ["age"], "search": "tuple-suppression"}
    with pytest.raises(PolicyError, match="in this very table, which would give the suppressed rows away"):
        sf.anonymize(table, require=asked, suppression=1, **options)
    assert sf.anonymize(table[:6], require=asked, **options).verification.holds


def test_a_file_is_read(tmp_path):
    file = tmp_path / "population.csv"
    file.write_text('disease;people\nflu;50\n"asthma";30\nulcer;20\n;1\n')
    wanted = sf.TCloseness("disease", 0.2, reference={"flu": 50, "asthma": 30, "ulcer": 20, "": 1})
    assert sf.TCloseness("disease", 0.2, reference=file) == wanted
    assert parse(f"t-closeness disease 0.2 reference={file}") == wanted
    assert parse("beta-likeness disease 2 reference=flu=0.5 reference=a=b=1e-1") == sf.BetaLikeness(
        "disease", 2, reference={"flu": 0.5, "a=b": 0.1}
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("flu,1\nulcer\n", "line 2 of the reference .* is not a value and a number"),
        ("flu,1\nflu,2\n", "line 2 of the reference .* has a value that stood there before"),
        ("value,share\n", "must map values of the column"),
        ("flu,-1\n", "a number of reference is out of range"),
    ],
)
def test_a_file_that_is_no_distribution_is_refused(tmp_path, text, says):
    file = tmp_path / "population.csv"
    file.write_text(text)
    with pytest.raises(PolicyError, match=says):
        sf.TCloseness("disease", 0.2, reference=file)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"distance": "hierarchical", "reference": REFERENCE}, "a reference has no hierarchical distance"),
        ({"reference": {"flu": 0}}, "the numbers of reference have no total"),
        ({"reference": {}}, "must map values of the column"),
        ({"reference": {"flu": float("nan")}}, "a number of reference is out of range"),
        ({"reference": {"flu": 1e308, "ulcer": 1e308}}, "a number of reference is out of range"),
        ({"reference": "no such file.csv"}, "cannot be read"),
    ],
)
def test_a_reference_that_is_no_distribution_is_refused(given, says):
    with pytest.raises(PolicyError, match=says):
        sf.TCloseness("disease", 0.2, **given)


def test_a_reference_that_cannot_be_compared_with_the_column_is_refused(search):
    with pytest.raises(PolicyError, match='no value of column "s" occurs in the reference'):
        sf.TCloseness("s", 0.2, reference={"Flu": 1}).holds(search([["flu"]]))
    asked = sf.TCloseness("s", 0.2, "ordered", reference={"9": 1, "10": 1, "many": 1})
    with pytest.raises(PolicyError, match="in another order"):
        asked.holds(search([["9", "10"]]))


def strictest(per: dict[str, float], bound: float, one: list[str | None], best=max) -> float:
    return best(per.get(v or "", bound) for v in one)


def tail(one: list[str | None]) -> int:
    """The records of all values but the most frequent one."""
    return sum(sorted((one.count(v) for v in set(one)), reverse=True)[1:])


@pytest.mark.slow
def test_bounds_per_value_on_both_sides(search, released):
    """Every class is held to the strictest bound among its values; shares to the bound of their own value."""
    rng = random.Random(5)
    for _ in range(40 * FUZZ):
        classes = [rng.choices(WORDS, [5, 3, 2, 1, 1], k=rng.randint(1, 9)) for _ in range(rng.randint(1, 5))]
        others = [*WORDS, *rng.choices(WORDS, k=2)]
        whole = [*others, *(v for one in classes for v in one)]
        q = {v: Fraction(whole.count(v), len(whole)) for v in set(whole)}
        named = [v or "" for v in rng.sample(WORDS, rng.randint(1, 3))]
        more, less = ({v: rng.choice(some) for v in named} for some in ([2, 3, 4], [0.1, 0.25, 0.4]))
        entropy = [
            -sum(one.count(v) / len(one) * math.log(one.count(v) / len(one)) for v in set(one)) for one in classes
        ]
        guarded = rng.choice([None, ("a", "b")])
        caps = dict.fromkeys(guarded or (v or "" for v in WORDS), 0.5) | less
        by_hand = {
            sf.DistinctLDiversity("s", 2, per=more): [len(set(one)) >= strictest(more, 2, one) for one in classes],
            sf.EntropyLDiversity("s", 1.5, per=more): [
                e >= math.log(strictest(more, 1.5, one)) - 1e-12 for e, one in zip(entropy, classes, strict=True)
            ],
            sf.RecursiveCLDiversity("s", 3, 2, per=less): [
                max(map(one.count, one)) < strictest(less, 3, one, min) * tail(one) - 1e-12 for one in classes
            ],
            sf.TCloseness("s", 0.45, per=less): [
                distance("equal", one, q, []) <= strictest(less, 0.45, one, min) + 1e-12 for one in classes
            ],
            sf.AlphaK(0.5, 2, "s", guarded, per=less): [
                len(one) >= 2 and all(one.count(v or None) / len(one) <= cap + 1e-12 for v, cap in caps.items())
                for one in classes
            ],
        }
        for asked, fine in by_hand.items():
            assert asked.holds(search(classes, others)).tolist() == fine, asked
            found = asked.audit(released(classes, others))
            assert (found.holds, found.failing_classes) == (all(fine), fine.count(False)), asked


def test_what_bounds_per_value_declare():
    per = {"HIV": 5}
    assert sf.DistinctLDiversity("s", 3, per=per).monotonicity == "merge"
    assert not sf.DistinctLDiversity("s", 3, per=per).wildcard
    assert sf.EntropyLDiversity("s", 3, per=per).monotonicity == "none"
    assert sf.TCloseness("s", 0.3, per={"HIV": 0.1}).monotonicity == "none"
    assert sf.RecursiveCLDiversity("s", 3, 2, per={"HIV": 1}).monotonicity == "none"
    assert sf.AlphaK(0.5, 2, "s", per={"HIV": 0.1}).monotonicity == "merge"


def test_they_are_named():
    """In the repr, in the sentence of the promise, and in its translation."""
    asked = sf.DistinctLDiversity("s", 3, per={"HIV": 5})
    assert repr(asked) == "DistinctLDiversity(attribute='s', l=3, per={'HIV': 5})"
    assert repr(sf.DistinctLDiversity("s", 3)) == "DistinctLDiversity(attribute='s', l=3)"
    assert repr(sf.TCloseness("s", 0.2, reference={"b": 1, "a": 2}, quasi=["age"])).endswith(
        "reference={'a': 2, 'b': 1}, quasi=('age',))"
    )
    assert len(repr(sf.BetaLikeness("s", 2, reference={str(i): 1 for i in range(1000)}))) < 200
    assert asked.sentence().endswith('different values. A stricter bound holds for "HIV".')
    many = sf.AlphaK(0.5, 2, "s", per=dict.fromkeys("abcde", 0.1))
    assert many.sentence().endswith('A stricter bound holds for "a", "b", "c" and 2 more.')
    for one, there in ((asked, 'Per "HIV" vale'), (many, 'Per "a", "b", "c" e 2 altri vale')):
        missing: list[str] = []
        assert there in translated(one.sentence(), "it", missing)
        assert not missing


@pytest.mark.slow
@pytest.mark.parametrize("search", ["optimal", "mondrian", "k-member", "auto"])
@pytest.mark.parametrize(
    "asked",
    [
        sf.DistinctLDiversity("disease", 2, per={"ulcer": 3}),
        sf.EntropyLDiversity("disease", 1.5, per={"ulcer": 2.2}),
        sf.RecursiveCLDiversity("disease", 3, 2, per={"ulcer": 2}),
        sf.TCloseness("disease", 0.4, per={"ulcer": 0.2}),
        sf.AlphaK(0.8, 2, "disease", per={"ulcer": 0.3}),
    ],
    ids=["distinct", "entropy", "recursive", "t", "alpha"],
)
def test_a_release_with_bounds_per_value(asked, search, tmp_path):
    release = sf.anonymize(register(), quasi=["age"], require=[sf.KAnonymity(2), asked], search=search)
    by_class = release.data.group_by("age").agg("disease")["disease"].to_list()
    for one in (list(one) for one in by_class if "ulcer" in one):
        if asked.model == "distinct-l-diversity":
            assert len(set(one)) == 3
        if asked.model == "alpha-k":
            assert one.count("ulcer") / len(one) <= 0.3
    folder = release.save(tmp_path / "out")
    assert json.loads((folder / "manifest.json").read_text())["policy"]["require"][1]["per"] == dict(asked.per)
    assert sf.verify(folder).holds


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("distinct-l-diversity disease 3 per=HIV=2", "a number of per is out of range; got 2; allowed: a number >= 3"),
        ("distinct-l-diversity disease 3 per=HIV=3.5", "a number of per is out of range; got 3.5; allowed: a whole"),
        ("t-closeness disease 0.3 per=HIV=0.4", "<= 0.3"),
        ("alpha-k 0.5 2 disease per=HIV=0", "a number > 0"),
        ("entropy-l-diversity disease 2 per=HIV", "per must map values of the column"),
    ],
)
def test_bounds_per_value_that_are_refused(line, says):
    with pytest.raises(PolicyError) as caught:
        parse(line)
    assert says in str(caught.value)


def test_values_that_do_not_occur_are_refused_by_the_search_and_counted_by_verify(search, released):
    asked = sf.DistinctLDiversity("s", 1, per={"a": 2, "HIV": 2})
    with pytest.raises(PolicyError, match=r'1 of 2 values in per do not occur in column "s"'):
        asked.holds(search([["a", "b"]]))
    found = asked.audit(released([["a", "b"]]))
    assert (found.holds, found.note) == (
        True,
        '1 of 2 values with a bound of their own do not occur in the released "s"',
    )


def test_the_terminal_names_bounds_per_value(capsys):
    """The owner's policy, which the manifest holds anyway; of many their number."""
    for per, shown in (({"HIV": 5, "": 4}, "per=missing=4, HIV=5"), (dict.fromkeys("abcdef", 4), "per=6 values")):
        asked = sf.DistinctLDiversity("s", 3, per=per)
        promise = {"model": asked.model, "parameters": asked.parameters(), "quasi": ["age"], "holds": True}
        say_promises([promise | {"sentence": asked.sentence(), "measured": 5, "bound": 3, "note": None}])
        assert f"distinct-l-diversity (attribute=s, l=3, {shown}) on age" in capsys.readouterr().out
