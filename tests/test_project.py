"""The project holds together: version, exported names, locks, docs, and the rules that no linter knows."""

from __future__ import annotations

import ast
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import sfumato
from tests import conftest
from tests.fuzz import slow_but

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "sfumato"
SOURCE = sorted(PACKAGE.rglob("*.py"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]

EXPORTED = [
    "AIM",
    "AdditiveNoise",
    "AlphaK",
    "AlphaKLocal",
    "Anatomy",
    "Annealing",
    "Anonymizer",
    "Apriori",
    "AssumedKeysWarning",
    "AttributeSuppression",
    "Automatic",
    "AverageRisk",
    "BASKET_SEARCHES",
    "BCastle",
    "Barnardisation",
    "BasketRelease",
    "Bayes",
    "BetaLikeness",
    "Bootstrap",
    "BottomUp",
    "CASTLE",
    "CAvg",
    "CELL_RULES",
    "CRITERIA",
    "Cancelled",
    "CellKey",
    "CellRestriction",
    "CompareWarning",
    "ConfidentDeltaPresence",
    "ControlledRounding",
    "CorrelatedNoise",
    "CountAuditing",
    "DPMicroaggregation",
    "Database",
    "Datafly",
    "DateShift",
    "DeltaDisclosure",
    "DeltaPresence",
    "Dependency",
    "DeterministicRounding",
    "DifferentialPrivacy",
    "Discernibility",
    "DistinctLDiversity",
    "Dominance",
    "EntropyLDiversity",
    "Exact",
    "ExtremeAuditing",
    "FADS",
    "Folder",
    "ForestGeneralisation",
    "ForestSuppression",
    "FormatPreserving",
    "FrequentItemsets",
    "GENERATORS",
    "GaussianCopula",
    "Generalisation",
    "Genetic",
    "GlobalRecoding",
    "GowerMicroaggregation",
    "GreedySuppression",
    "GroupDisclosure",
    "HIERARCHIES",
    "HKPCoherence",
    "Height",
    "Hierarchy",
    "Hybrid",
    "Hypercube",
    "Incognito",
    "IndividualRanking",
    "Iterated",
    "KAnonymity",
    "KAnonymousLeaves",
    "KAnonymousPatterns",
    "KAnonymousTree",
    "KKMAnonymity",
    "KMAnonymity",
    "KMap",
    "KMember",
    "KOptimize",
    "KeyedTokens",
    "LM",
    "LOSSES",
    "Lightning",
    "LinkedTables",
    "LossyCompression",
    "MASKERS",
    "MASSC",
    "MDAV",
    "MHM",
    "MINERS",
    "MPALM",
    "MST",
    "Marginals",
    "MaskedRelease",
    "Measure",
    "MinedRelease",
    "MinimalSuppression",
    "MinimumFrequency",
    "Mix",
    "Modular",
    "MoleSuppression",
    "Mondrian",
    "MuArgus",
    "MultiplicativeNoise",
    "MultivariateNormal",
    "MultivariateTopCoding",
    "NCP",
    "NetworkFlow",
    "NonUniformEntropy",
    "OLA",
    "OfflineAuditingWarning",
    "OnePassKMeans",
    "Optimal",
    "OptimalCut",
    "OutlierNoise",
    "PPercent",
    "PROTECTIONS",
    "PSEUDONYMS",
    "PersonalKAnonymity",
    "PersonalLDiversity",
    "PooledCounts",
    "PooledNaiveBayes",
    "PopulationUniqueness",
    "Pram",
    "Precision",
    "PriorPosterior",
    "PrivBayes",
    "ProtectedTable",
    "QUERY_ATTACKS",
    "QUERY_CONTROLS",
    "QueryOrder",
    "QueryRefused",
    "QuerySetOverlap",
    "QuerySetSize",
    "ROMM",
    "RandomRounding",
    "RandomSample",
    "RandomTokens",
    "RankSwapping",
    "ReadWarning",
    "Recoded",
    "RecordSwapping",
    "RecursiveCLDiversity",
    "Redesign",
    "Refined",
    "RefinedMicroaggregation",
    "Release",
    "ReleaseSet",
    "Republished",
    "Requests",
    "Resampling",
    "RestrictedNoise",
    "RiskSuppression",
    "RobustMicroaggregation",
    "RoleWarning",
    "RoundedAnswers",
    "Rounding",
    "RowOrderWarning",
    "SEARCHES",
    "SET_PROMISES",
    "SPALM",
    "STREAMS",
    "SafePub",
    "Samarati",
    "SampleUniqueness",
    "Sampling",
    "SequentialTrees",
    "Shuffling",
    "Slicing",
    "SpellingWarning",
    "StatTable",
    "StatisticalDatabase",
    "Substitution",
    "SumAuditing",
    "SuppressionWarning",
    "Swapping",
    "SynthesizedRelease",
    "TCloseness",
    "TDS",
    "TFRP",
    "Table",
    "TableView",
    "TabularAdjustment",
    "TopBottomCoding",
    "TopDown",
    "TupleSuppression",
    "UnprotectedWarning",
    "VMDAV",
    "ValueMap",
    "Variant",
    "ViewsFinding",
    "XYAnonymity",
    "XYLinkability",
    "ZAnonymity",
    "__version__",
    "anonymize",
    "anonymize_baskets",
    "attack",
    "attack_controls",
    "attack_queries",
    "audit_table",
    "check_views",
    "choose",
    "compare",
    "dates",
    "dp",
    "either",
    "errors",
    "explain",
    "file",
    "flat",
    "fragment",
    "hierarchies",
    "inspect",
    "intervals",
    "learned",
    "levels",
    "load_model",
    "mask",
    "measures",
    "mine",
    "new_key",
    "order",
    "protect",
    "pseudonyms",
    "read",
    "read_table",
    "redact",
    "register",
    "release_views",
    "republish",
    "risk",
    "scan",
    "sign",
    "stream",
    "suggest",
    "synthesize",
    "synthetic",
    "tabulate",
    "tree",
    "true_shares",
    "trust",
    "utility",
    "verify",
    "wide",
    "write_edges",
    "write_wide",
]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~;\[]", name, maxsplit=1)[0]).lower()


def locked(name: str) -> dict[str, str]:
    """Package to version, as a lock file pins them."""
    text = (ROOT / name).read_text("utf-8")
    return {canonical(package): version for package, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)}


def pages() -> list[str]:
    docs = ROOT / "docs"
    return sorted(page.relative_to(docs).as_posix() for page in docs.rglob("*.md"))


def nav() -> list[str]:
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    return sorted(re.findall(r"[\w/.-]+\.md\b", text[text.index("\nnav:") :]))


def test_version_is_one() -> None:
    assert sfumato.__version__ == PROJECT["project"]["version"]


def test_readme_names_the_wheel_that_is_built() -> None:
    assert f"dist/sfumato-{sfumato.__version__}-py3-none-any.whl" in (ROOT / "README.md").read_text("utf-8")


def test_every_python_that_ci_runs_is_classified() -> None:
    stated = {line.rsplit(" ", 1)[1] for line in PROJECT["project"]["classifiers"] if "Python :: 3." in line}
    forms = (ROOT / ".github" / "workflows").glob("*.yml")
    run = {one for form in forms for one in re.findall(r'"(3\.\d+)"', form.read_text("utf-8"))}
    assert stated == run


def test_changelog_has_the_version() -> None:
    assert f"## [{sfumato.__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_exported_names_are_pinned() -> None:
    assert sorted(sfumato.__all__) == EXPORTED


@pytest.mark.parametrize("name", EXPORTED)
def test_exported_name_is_there(name: str) -> None:
    assert getattr(sfumato, name) is not None


def test_the_facade_is_typed() -> None:
    """What is fetched when first used is imported for type checkers, under the same names."""
    body = ast.parse((PACKAGE / "__init__.py").read_text("utf-8")).body
    [block] = [node for node in body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    typed = {alias.asname for line in block.body if isinstance(line, ast.ImportFrom) for alias in line.names}
    assert typed == set(EXPORTED) - {"__version__"}


@pytest.mark.slow
def test_a_misspelt_keyword_is_an_error_to_mypy(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(
        "import sfumato as sf\n"
        "reveal_type(sf.anonymize)\n"
        "sf.anonymize({}, quasi=['age'], k=5)\n"
        "sf.anonymize({}, qasi=['age'])\n"
        "reveal_type(sf.anonymize({}, quasi=['age'], k=5))\n"
        "sf.anonymize({}, quasi=['age'], k=5).data\n"
        "sf.anonymize({}, quasi=['age'], k=5).dta\n"
        "release = sf.anonymize({}, quasi=['age'], search='anatomy')\n"
        "assert isinstance(release, sf.ReleaseSet)\n"
        "release.tables\n"
    )
    command = [sys.executable, "-m", "mypy", str(tmp_path / "user.py")]  # with what the lint has cached
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    lines = found.stdout.splitlines()
    assert any(':2: note: Revealed type is "def (data: Any, *, quasi:' in line for line in lines), found.stdout
    assert [line for line in lines if "user.py:3" in line] == []
    assert any("user.py:4: error" in line and "qasi" in line for line in lines)
    assert any("user.py:5" in line and "Recoded | Any" in line for line in lines), found.stdout
    assert [line.partition(": error: ")[0][-9:] for line in lines if ": error: " in line] == ["user.py:4", "user.py:7"]


def test_import_is_light() -> None:
    heavy = "{'numpy', 'numba', 'polars', 'pandas', 'pyarrow', 'pydantic'}"
    code = f"import sys, sfumato; print(*sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


def test_files_are_short() -> None:
    lines = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8").count("\n") for path in SOURCE}
    assert {path: count for path, count in lines.items() if count > 600} == {}


def test_three_modules_at_the_root() -> None:
    assert {path.name for path in PACKAGE.glob("*.py")} <= {"__init__.py", "__main__.py", "errors.py"}


def test_no_family_of_files_by_prefix() -> None:
    """Three files that share a first word want to be a folder."""
    for folder in {path.parent for path in SOURCE}:
        words = Counter(path.stem.split("_")[0] for path in folder.glob("*.py") if path.stem != "__init__")
        assert {word for word, files in words.items() if files > 2 and len(word) > 1} == set(), folder


def test_nothing_outside_asks_which_engine_it_is() -> None:
    """An engine declares what it can do; what it is, nobody else need know."""
    engines = {
        node.name
        for path in (PACKAGE / "engines").rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and path.parent.name in ("memory", "files", "sql", "spark")
    }
    for path in SOURCE:
        if (PACKAGE / "engines") not in path.parents:
            asked = re.findall(r"isinstance\([^()]*, ([\w |]+)\)", path.read_text("utf-8"))
            assert {name for names in asked for name in names.split(" | ")} & engines == set(), path


def test_no_two_public_classes_share_a_name() -> None:
    classes = [
        node.name
        for path in SOURCE
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert {name for name, often in Counter(classes).items() if often > 1} == set()


def test_source_names_no_cdn() -> None:
    cdn = re.compile(r"\bcdn\.|cdnjs|jsdelivr|unpkg|googleapis|gstatic|bootstrapcdn|cloudflare|esm\.sh|skypack")
    kinds = {".py", ".html", ".css", ".js", ".svg", ".toml"}
    files = [path for path in (ROOT / "src").rglob("*") if path.suffix in kinds]
    assert len(files) >= len(SOURCE)
    assert [str(path) for path in files if cdn.search(path.read_text("utf-8").lower())] == []


def test_every_page_is_in_the_nav() -> None:
    assert nav() == pages()


def test_all_holds_every_extra() -> None:
    [everything] = EXTRAS["all"]
    assert set(re.findall(r"\w+", everything.removeprefix("sfumato"))) == set(EXTRAS) - {"all"}


@pytest.mark.parametrize(
    "lock", ["requirements.lock", "requirements-core.lock", "requirements-bench.lock", "requirements-bench-dp.lock"]
)
def test_lock_holds_names_versions_and_hashes_only(lock: str) -> None:
    text = (ROOT / lock).read_text("utf-8")
    entry = r"[\w.-]+==[\w.+!-]+(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    assert re.fullmatch(f"(?:{entry})+", text)


def test_locks_cover_the_dependencies() -> None:
    core = PROJECT["project"]["dependencies"] + PROJECT["build-system"]["requires"]
    groups = PROJECT["dependency-groups"]
    extras = [need for extra, needs in EXTRAS.items() if extra != "all" for need in needs]
    for lock, needs in (
        ("requirements-core.lock", core),
        ("requirements.lock", core + extras + groups["test"] + groups["docs"]),
        ("requirements-bench.lock", groups["bench"]),
        ("requirements-bench-dp.lock", groups["bench-dp"]),
    ):
        assert {canonical(need) for need in needs} - set(locked(lock)) == set(), lock


def test_core_lock_is_part_of_the_lock() -> None:
    assert locked("requirements-core.lock").items() <= locked("requirements.lock").items()


def test_core_has_neither_pandas_nor_pyarrow() -> None:
    assert {"pandas", "pyarrow"} & set(locked("requirements-core.lock")) == set()


def test_ci_runs_make_test_and_nothing_else() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    commands = [line for line in script.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    assert [line.split()[0] for line in commands] == ["set", "cd", "make"]
    assert commands[-1] == "make test"


def test_a_long_subject_of_a_commit_is_refused() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    [hook] = [part for part in text.split("- id: ") if part.startswith("commit-subject")]
    assert "stages: [commit-msg]" in hook
    [pattern] = re.findall(r"entry: (.+)", hook)
    refused = re.compile(pattern, re.MULTILINE | re.DOTALL)  # as pygrep does, of the bytes of the file
    assert refused.search("x" * 73 + "\n\nWhy.\n")
    assert not refused.search("x" * 72 + "\n\n" + "y" * 100 + "\n")


def test_make_lists_its_targets() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"make (\w+)", listed)) >= {"setup", "demo", "test", "lint", "bench", "docs", "clean", "help"}


def traced(work: Callable[[], Any]) -> tuple[set[str], list[str]]:
    """The files of Sfumato whose functions run, and those on the way to the last search that is called."""
    files: set[str] = set()
    deepest: list[str] = []
    prefix = f"{PACKAGE}{os.sep}"

    def note(frame: Any, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(prefix) or frame.f_code.co_name == "<module>":
            return
        files.add(name.removeprefix(prefix))
        if "/search/" in name and frame.f_code.co_name == "__call__":
            way = [name]
            while (frame := frame.f_back) is not None:
                if frame.f_code.co_filename.startswith(prefix):
                    way.append(frame.f_code.co_filename)
            deepest[:] = list(dict.fromkeys(one.removeprefix(prefix) for one in reversed(way)))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return files, deepest


def trace(source: str, folder: Path) -> tuple[list[str], list[str]]:
    """The files that a release goes through, and the way to the search."""
    ages = {"age": [20 + i % 50 for i in range(400)], "sex": ["f", "m"] * 200, "ill": ["a", "b", "c", "d"] * 100}
    table = pl.DataFrame(ages)
    asked: dict[str, Any] = {"quasi": ["age", "sex"], "require": sfumato.DistinctLDiversity("ill", 2), "k": 5}
    anonymize, data = sfumato.anonymize, table
    if source == "parquet":
        table.write_parquet(folder / "in.parquet")
        data = sfumato.scan(folder / "in.parquet")
    if source == "sqlite":
        with closing(sqlite3.connect(folder / "in.db")) as connection:
            connection.execute("create table t (age int, sex text, ill text)")
            connection.executemany("insert into t values (?, ?, ?)", table.rows())
            connection.commit()
        data = sfumato.Database(str(folder / "in.db"), "t")
    to = {} if source == "frame" else {"to": sfumato.Folder(folder / "out", overwrite=True)}
    anonymize(data, search="mondrian", **asked, **to)
    files, way = traced(lambda: anonymize(data, search="mondrian", **asked, **to))
    return sorted(files), way


@pytest.mark.parametrize(("source", "most"), slow_but([("frame", 44), ("parquet", 91), ("sqlite", 99)], ("frame", 44)))
def test_few_files_lie_between_a_table_and_its_release(source: str, most: int, tmp_path: Path) -> None:
    """With a report for what goes to a folder. The hot loop is called by the search, the search by the pipeline."""
    code = f"import json; from pathlib import Path; from tests.test_project import trace; f = Path({str(tmp_path)!r})"
    run = [sys.executable, "-W", "ignore", "-c", f"{code}; print(json.dumps(trace({source!r}, f)))"]
    done = subprocess.run(run, capture_output=True, text=True, cwd=ROOT, check=True)  # where no test ran before
    files, way = json.loads(done.stdout.splitlines()[-1])
    assert 20 < len(files) <= most, files
    thread = ["core/progress.py", "verbs/__init__.py"]  # where the verb works
    assert way == [*thread, "release/pipeline.py", "search/mondrian/mondrian.py"]


def test_the_order_of_steps_is_read_in_one_sitting() -> None:
    assert len((PACKAGE / "release" / "pipeline.py").read_text("utf-8").splitlines()) <= 250


def test_only_its_file_reads_a_manifest() -> None:
    allowed = {"release/manifest.py", "engines/documents.py"}
    allowed.add("engines/atomic.py")  # below it: which files of a folder are those of a release
    read = re.compile(r"json\.loads|\bread_document\b")
    named = re.compile(r"manifest\.json|import .*\bMANIFEST\b")  # and not `release.manifest.NAME`
    found = []
    for path in SOURCE:
        text = path.read_text("utf-8")
        if path.relative_to(PACKAGE).as_posix() not in allowed and read.search(text) and named.search(text):
            found.append(path.name)
    assert not found


class Asked:
    """What a hook sees of a run of pytest."""

    def __init__(self, *args: str, **options: object) -> None:
        given = {"numprocesses": None, "dist": "no", "collectonly": False, "usepdb": False, "capture": "fd"}
        self.args, self.option = list(args), SimpleNamespace(**given | options)

    def getoption(self, name: str, default: object = None) -> object:
        return getattr(self.option, name, default)

    def getini(self, name: str) -> list[str]:
        return ["tests"]


def test_two_processes_share_all_tests_and_start_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def processes(*args: str, **options: object) -> object:
        asked = Asked(*args, **options)
        conftest.pytest_cmdline_main(asked)  # type: ignore[arg-type]
        return asked.option.numprocesses

    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    assert processes("tests") == 2
    assert processes("tests/core") is None
    assert processes("tests", numprocesses=0) == 0
    assert processes("tests", usepdb=True) is None
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    assert processes("tests") is None
