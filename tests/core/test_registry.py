"""Variants from outside: registered, or brought by a package; refused with what is missing, loaded when asked for."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.generators import Generator, SyntheticModel
from sfumato.core.protocols import ClassesView, Criterion, Flags, Loss, LossOfClasses, LossOfLabels, Search
from sfumato.core.registry import Registry, members
from sfumato.criteria import Model, parse
from sfumato.criteria.audit import Finding, Groups
from sfumato.errors import PolicyError, ReadError
from sfumato.losses import LabelLoss
from sfumato.search.problem import Problem, Solution

TABLE = {"age": [31, 32, 33, 34, 58, 59], "zip": ["a", "a", "b", "b", "b", "b"], "ill": list("xyxyxy")}
DATA: dict[str, Any] = {"quasi": ["age", "zip"], "sensitive": ["ill"], "unprotected": ["ill"]}


@dataclass(frozen=True)
class PairsOnly(Model):
    """Every class has an even number of rows, of at least `least`."""

    least: int
    kind: str = "even"

    bounded_by: ClassVar[str] = "least"

    def sentence(self) -> str:
        return f"Every group has an even number of records, of at least {self.least}."

    def holds(self, classes: ClassesView) -> Flags:
        return np.asarray((classes.size >= self.least) & (classes.size % 2 == 0))

    def audit(self, groups: Groups) -> Finding:
        sizes = groups.sizes["size"].to_list()
        failing = sum(n < self.least or n % 2 == 1 for n in sizes)
        return Finding(not failing, min(sizes), self.least, failing)


@dataclass(frozen=True)
class FirstOnly(LabelLoss):
    """Only whether a label covers more than one value."""

    def cost(self, labels: Any) -> np.ndarray:
        return (labels.leaves > 1).astype(np.float64)


@dataclass(frozen=True)
class Topmost(Search):
    """What optimal finds, under another name (AG_TS, heuristic)."""

    code: ClassVar[str] = "AG_TS"
    guarantee: ClassVar[str] = "heuristic"

    def __call__(self, problem: Problem) -> Solution:
        return sf.Optimal()(problem)


def by_letter(letters: int = 1) -> Any:
    """Values by their first letters."""
    return sf.redact("right") if letters == 1 else sf.flat()


@pytest.fixture
def registered() -> Iterator[None]:
    sf.register("pairs-only", PairsOnly, example=PairsOnly(2), cite="of the test")
    sf.register("first-only", FirstOnly, example=FirstOnly())
    sf.register("topmost", Topmost, example=Topmost())
    sf.register("by-letter", by_letter, example=by_letter())
    yield
    for table, name in ((sf.CRITERIA, "pairs-only"), (sf.LOSSES, "first-only"), (sf.SEARCHES, "topmost")):
        table.remove(name)
    sf.HIERARCHIES.remove("by-letter")


@pytest.mark.usefixtures("registered")
def test_what_is_registered_works_by_name_and_by_value(tmp_path: Path) -> None:
    for require in (
        "pairs-only 2",
        PairsOnly(2),
        {"model": "pairs-only", "least": 2},
        [sf.KAnonymity(2), PairsOnly(2)],
    ):
        found = sf.anonymize(TABLE, require=require, search="topmost", loss="first-only", **DATA)
        assert found.verification.holds
    folder = sf.anonymize(
        TABLE, require=PairsOnly(2), search=Topmost(), loss=FirstOnly(aggregate="sum"),
        hierarchies={"zip": "by-letter:2", "age": {"by-letter": 2}}, **DATA,
    ).save(tmp_path / "out")  # fmt: skip
    assert sf.verify(folder).holds
    assert "even number" in (folder / "report.html").read_text("utf-8")


@pytest.mark.usefixtures("registered")
def test_verify_refuses_a_model_that_is_not_known(tmp_path: Path) -> None:
    folder = sf.anonymize(TABLE, require=PairsOnly(2), **DATA).save(tmp_path / "out")
    sf.CRITERIA.remove("pairs-only")
    try:
        with pytest.raises(ReadError, match=r'promises "pairs-only", a privacy model that is not known here.*install'):
            sf.verify(folder)
    finally:
        sf.register("pairs-only", PairsOnly, example=PairsOnly(2))


@pytest.mark.usefixtures("registered")
def test_the_shell_reads_parameters_by_their_types() -> None:
    assert parse("pairs-only 4 12") == PairsOnly(4, "12")
    assert parse("pairs-only kind=7 least=2") == PairsOnly(2, "7")


def test_a_value_of_a_class_that_is_not_registered_is_refused() -> None:
    for keyword, value in (("require", PairsOnly(2)), ("search", Topmost()), ("loss", FirstOnly())):
        asked: dict[str, Any] = {"require": sf.KAnonymity(2), **DATA, keyword: value}
        with pytest.raises(PolicyError, match=r"not a (criterion|search|loss); got \w+; allowed: .*sf.register"):
            sf.anonymize(TABLE, **asked)


@dataclass
class Thawed:
    """Not frozen."""

    model: str = "thawed"
    bound: int = 1
    bounded_by: str = "bound"


@pytest.mark.parametrize(
    ("name", "make", "example", "words"),
    [
        ("pairs", PairsOnly, PairsOnly(2), 'must be named "pairs-only", not "pairs"'),
        ("pairs-only", PairsOnly, sf.KAnonymity(2), "the example is a KAnonymity, not a PairsOnly"),
        (
            "thawed",
            Thawed,
            Thawed(),
            "no frozen dataclass.*criterion it lacks side, .*audit, parameters, sentence",
        ),
        ("topmost", type("Topmost", (Topmost,), {}), Topmost(), "no docstring"),
    ],
)
def test_a_refusal_names_what_is_missing(name: str, make: Any, example: Any, words: str) -> None:
    with pytest.raises(PolicyError) as error:
        sf.register(name, make, example=example)
    assert re.search(words, " ".join(error.value.faults)), error.value


def test_a_name_is_taken_by_another_class_only() -> None:
    sf.register("k-anonymity", sf.KAnonymity, example=sf.KAnonymity(5), cite="Samarati 2001")  # as a notebook does
    taken = dataclass(frozen=True)(type("KAnonymity", (sf.KAnonymity,), {"__doc__": "Mine.", "__module__": "mine"}))
    with pytest.raises(PolicyError, match='the name "k-anonymity" is taken'):
        sf.register("k-anonymity", taken, example=taken(2))


def test_every_variant_of_ours_keeps_its_contract() -> None:
    for table in (sf.CRITERIA, sf.LOSSES, sf.SEARCHES):
        for name, variant in table.items():
            assert table.name_of(variant.example) == name
            assert table.faults(name, variant) == [] or name in ("auto", "safepub")  # spelt as in its paper
    for name, variant in sf.HIERARCHIES.items():
        assert sf.HIERARCHIES.faults(name, variant) == []


def test_members_of_a_contract() -> None:
    assert members(Search) == [
        "code",
        "guarantee",
        "splits",
        "wildcard",
        "counts_labels",
        "by_level",
        "private",
        "fragments",
        "counts_population",
        "needs",
        "traces",
        "__call__",
    ]
    assert {"by_label", "cost", "combine"} <= set(members(LossOfLabels))
    assert set(members(LossOfClasses)) - set(members(Loss)) == {"value", "floor"}
    assert {"holds", "audit", "monotonicity", "by_people", "of_population", "how"} <= set(members(Criterion))
    assert {"fits_counts", "fit_counts"} <= set(members(Generator))
    assert {"spent", "draw"} <= set(members(SyntheticModel))


def test_a_class_that_stands_alone_is_told_which_capabilities_it_lacks() -> None:
    alone = type("Alone", (), {name: None for name in members(Search) if name != "counts_population"})
    assert sf.SEARCHES.lacking(alone()) == ["counts_population"]
    own = {name: None for name in members(Criterion) if name not in ("by_people", "of_population")}
    lone = dataclass(frozen=True)(type("Lone", (), {**own, "__doc__": "Stands alone."}))
    with pytest.raises(PolicyError) as error:
        sf.register("lone", lone, example=lone())
    assert "as a criterion it lacks by_people, of_population" in " ".join(error.value.faults)


def package(folder: Path, name: str, points: str, code: str) -> None:
    """A package as pip leaves it: a module, and its entry points beside."""
    (folder / f"{name.replace('-', '_')}.py").write_text(code)
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


@pytest.fixture
def criteria(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[Criterion]:
    """A table like that of criteria, in a world with three packages, two of them broken."""
    package(
        tmp_path, "good-privacy", "[sfumato.criteria]\npairs-only = good_privacy:PAIRS\n",
        "import sfumato\nfrom tests.core.test_registry import PairsOnly as P\nPAIRS = sfumato.Variant(P, P(2))\n",
    )  # fmt: skip
    package(tmp_path, "torn-privacy", "[sfumato.criteria]\ntorn = torn_privacy:TORN\n", "import nowhere_at_all\n")
    package(tmp_path, "odd-privacy", "[sfumato.criteria]\nodd = odd_privacy:ODD\n", "ODD = 5\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "good_privacy", raising=False)
    return Registry("criteria", "criterion", (Criterion,), {"k-anonymity": sf.CRITERIA["k-anonymity"]})


def test_a_package_brings_its_own(criteria: Registry[Criterion]) -> None:
    assert list(criteria) == ["k-anonymity", "odd", "pairs-only", "torn"]
    assert "good_privacy" not in sys.modules  # names are known without importing
    assert criteria["pairs-only"].make is PairsOnly
    assert criteria.name_of(PairsOnly(4)) == "pairs-only"
    assert criteria.value(PairsOnly(4)) == PairsOnly(4)


def test_a_broken_package_is_named_and_breaks_nothing_else(criteria: Registry[Criterion]) -> None:
    assert criteria["k-anonymity"].example == sf.KAnonymity(5)
    with pytest.raises(PolicyError, match='"torn" of the package "torn-privacy" cannot be loaded: ModuleNotFoundError'):
        criteria["torn"]
    with pytest.raises(
        PolicyError, match=r'"odd-privacy" does not keep its contract:\s+.*no sfumato.Variant but a int'
    ):
        criteria["odd"]
    assert criteria["pairs-only"].make is PairsOnly


def test_two_packages_with_one_name_are_both_named(criteria: Registry[Criterion], tmp_path: Path) -> None:
    package(tmp_path, "more-privacy", "[sfumato.criteria]\npairs-only = good_privacy:PAIRS\n", "")
    with pytest.raises(PolicyError, match=r'"pairs-only" of the package "(good|more)-privacy" is brought by "'):
        criteria["pairs-only"]


@pytest.mark.usefixtures("registered")
def test_a_search_or_loss_that_is_gone_leaves_the_promises_verifiable(tmp_path: Path) -> None:
    release = sf.anonymize(TABLE, k=2, search=Topmost(), loss=FirstOnly(), **DATA)
    folder = release.save(tmp_path / "out")
    sf.SEARCHES.remove("topmost")
    sf.LOSSES.remove("first-only")
    try:
        assert sf.verify(folder).holds
    finally:
        sf.register("first-only", FirstOnly, example=FirstOnly())
        sf.register("topmost", Topmost, example=Topmost())


@pytest.mark.parametrize("model", [["k-anonymity"], {"k": 2}, 5, None])
def test_a_manifest_whose_model_is_no_text_is_refused(tmp_path: Path, model: Any) -> None:
    folder = sf.anonymize(TABLE, k=2, **DATA).save(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["policy"]["require"][0]["model"] = model
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ReadError, match=r"policy.require.0"):
        sf.verify(folder)


@pytest.mark.slow
def test_nothing_of_a_package_is_read_on_import_or_for_our_own_names() -> None:
    code = (
        "import importlib.metadata as m\n"
        "read = m.entry_points\n"
        "def refused(**given): assert 'sfumato' not in str(given); return read(**given)\n"
        "m.entry_points = refused\n"
        "import sfumato as sf\n"
        "table = {'age': [31, 32, 58, 59], 'zip': list('aabb')}\n"
        "sf.anonymize(table, quasi=['age', 'zip'], k=2, search='optimal', loss=sf.LM()).manifest\n"
        "from sfumato.cli import main\n"
        "main(['--help'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout
