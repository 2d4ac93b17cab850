"""The code in the README, the docs and the docstrings runs, and the site builds without calling home."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import inspect
import io
import linecache
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from tools import masking_pictures, query_pictures, table_pictures
from tools.pictures import DEMO, DRAWINGS, IMAGES, PHOTOGRAPHS, section

import sfumato
from sfumato.cli import main

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "sfumato"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    line: int  # of the first line of code, from 0
    code: str
    kind: str = "python"  # or "console", or "file"
    name: str = ""  # of the file


def blocks(text: str) -> list[Block]:
    """What runs on a page: Python, consoles, and files that the page shows with their names; `notest` is left out."""
    found = []
    for match in FENCE.finditer(text):
        info = match["info"].split()
        title = re.search(r'title="([\w.-]+)"', match["info"])
        kinds = {"python": "python", "py": "python", "pycon": "python", "console": "console"}
        kind = "file" if title else kinds.get(info[0] if info else "", "")
        if kind and "notest" not in info:
            indent = len(match["indent"])
            code = "".join(line[indent:] if line.strip() else "\n" for line in match["code"].splitlines(keepends=True))
            found.append(Block(text.count("\n", 0, match.start("code")), code, kind, title[1] if title else ""))
    return found


def run(block: Block, page: str, names: dict[str, object]) -> None:
    if block.kind == "file":
        Path(block.name).write_text(block.code, "utf-8")
    elif block.kind == "console":
        run_console(block, page)
    elif block.code.lstrip().startswith(">>>"):
        example = doctest.DocTestParser().get_doctest(block.code, names, page, page, block.line)
        example.globs = names  # the parser copies; the blocks of a page share their names
        report: list[str] = []
        doctest.DocTestRunner(optionflags=FLAGS).run(example, out=report.append, clear_globs=False)
        assert not report, "".join(report)
    else:
        # Blank lines before the code make a traceback point at the page's own line.
        exec(compile("\n" * block.line + block.code, page, "exec", dont_inherit=True), names)


def run_console(block: Block, page: str) -> None:
    """Each line that begins with `$` is a command; what follows is what it prints, with `...` for anything."""
    assert block.code.startswith("$ "), f"{page}, line {block.line + 1}: a console begins with a command"
    for part in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        last = next(i for i, line in enumerate(lines) if not line.endswith("\\\n"))
        command = "".join(lines[: last + 1]).replace("\\\n", " ").strip()
        code, got = run_command(command)
        got += f"(exit code {code})\n" if code else ""
        want = "".join(lines[last + 1 :])
        said = re.findall(r"^\(exit code (\d+)\)$", want, re.MULTILINE)  # `...` stands for no failure
        assert said == ([str(code)] if code else []), f"{page}, line {block.line + 1}: $ {command}\nGot:\n{got}"
        same = doctest.OutputChecker().check_output(want, got, FLAGS)
        assert same, f"{page}, line {block.line + 1}: $ {command}\nExpected:\n{want}\nGot:\n{got}"


def run_command(command: str) -> tuple[int, str]:
    """The exit code of a command and what it prints on both streams; `sfumato` runs here, which saves its start."""
    if command.startswith("sfumato "):
        with redirect_stdout(io.StringIO()) as printed, redirect_stderr(printed):
            return main(shlex.split(command, comments=True)[1:]), printed.getvalue()
    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page.read_text("utf-8"))], ids=lambda page: page.name
)
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page.read_text("utf-8")):
        run(block, str(page), names)
    for drawn, made, picture in DRAWINGS:
        if drawn == page.name:
            assert Path(made).read_bytes() == (IMAGES / picture).read_bytes(), f"{picture} is another: make pictures"


def test_pictures_are_small_and_shown() -> None:
    shown = [(page, picture) for page, _, picture in DRAWINGS] + [(page, picture) for page, *_, picture in PHOTOGRAPHS]
    drawn = masking_pictures.PICTURES | table_pictures.PICTURES | query_pictures.PICTURES
    shown += [(page, f"{name}.svg") for name, page in drawn.items()]
    for page, picture in shown:
        shows = f"(docs/images/{picture})", ROOT / "README.md"
        link, where = shows if page == DEMO else (f"images/{picture})", ROOT / "docs" / page)
        assert link in where.read_text("utf-8")
        assert (IMAGES / picture).stat().st_size < 150_000
    assert {path.name for path in IMAGES.iterdir()} == {picture for _, picture in shown}


def test_every_picture_of_the_studio_is_small_and_in_the_tour() -> None:
    tour = (ROOT / "docs" / "studio.md").read_text("utf-8")
    pictures = sorted((ROOT / "docs" / "studio").glob("*.png"))
    assert pictures
    assert [one.name for one in pictures if f"(studio/{one.name})" not in tour] == []
    assert [one.name for one in pictures if one.stat().st_size > 160_000] == []


def test_a_photograph_shows_one_section() -> None:
    report = '<html><body><main><h1>a</h1><section aria-labelledby="x">b</section></main></body></html>'
    assert section(report, "x") == '<html><body><main><section aria-labelledby="x">b</section></body></html>'
    assert section(report, "") == report


@pytest.mark.parametrize("name", sfumato.CRITERIA)
def test_every_model_has_a_page(name: str) -> None:
    text = (ROOT / "docs" / "models" / f"{name}.md").read_text("utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["By hand", "By code", "When it fails"]
    assert "**The threat.**" in text
    assert "**Definition.**" in text
    year = sfumato.CRITERIA[name].cite.split()[-1]
    assert year in text.split("**Paper.**")[1]
    assert f"(models/{name}.md)" in (ROOT / "docs" / "criteria.md").read_text("utf-8")


@pytest.mark.parametrize("name", sfumato.dp.QUERIES)
def test_every_query_has_a_page(name: str) -> None:
    page = f"{name.replace('-', '_')}.md"
    text = (ROOT / "docs" / "dp" / "queries" / page).read_text("utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Sensitivity", "Noise", "Beware"]
    assert sfumato.dp.QUERIES[name].cite.split()[-1] in text
    assert f"({page})" in (ROOT / "docs" / "dp" / "queries" / "index.md").read_text("utf-8")
    assert f"dp/queries/{page}" in (ROOT / "mkdocs.yml").read_text("utf-8")


def test_the_page_of_searches_states_the_defaults_of_the_signatures() -> None:
    """Wherever it names all parameters of a search."""
    text = (ROOT / "docs" / "searches.md").read_text("utf-8")
    held = []
    for name, given in re.findall(r"`([A-Z]\w+)\(([^`]*)\)`", text):
        call = ast.parse(f"f({given})", mode="eval").body
        assert isinstance(call, ast.Call)
        stated = {one.arg: one.value for one in call.keywords}
        defaults = {one.name: one.default for one in inspect.signature(getattr(sfumato, name)).parameters.values()}
        if {*stated} == {*defaults}:
            own = {key: value.left if isinstance(value, ast.BinOp) else value for key, value in stated.items()}
            assert {str(key): ast.literal_eval(value) for key, value in own.items()} == defaults, name
            held.append(name)
    assert {"Refined", "Mondrian", "KMember", "TopDown", "Genetic"} <= {*held}


def test_the_glossary_is_sorted() -> None:
    terms = re.findall(r"^\*\*(.+?)\.\*\*", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE)
    assert terms == sorted(terms, key=str.casefold)
    assert len(terms) > 40


def test_readme_shows_code() -> None:
    assert blocks((ROOT / "README.md").read_text("utf-8"))


def test_blocks_are_found() -> None:
    page = "a\n```python\nx = 1\n```\n```python notest\nno\n```\n- b\n\n"
    page += "  ```py\n  if x:\n      y = 2\n  ```\n```sh\nls\n```\n"
    assert [block.code for block in blocks(page)] == ["x = 1\n", "if x:\n    y = 2\n"]
    assert [block.line for block in blocks(page)] == [2, 10]


def test_blocks_share_names_and_fail_aloud() -> None:
    names: dict[str, object] = {}
    run(Block(0, "x = 1\n"), "page", names)
    run(Block(3, ">>> y = x + 1\n>>> y\n2\n"), "page", names)
    assert names["y"] == 2
    with pytest.raises(AssertionError, match="Expected"):
        run(Block(6, ">>> y\n3\n"), "page", names)


def test_consoles_are_held_to_what_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = '```toml title="a.toml"\nx = 1\n```\n```console\n$ cat a.toml\nx = ...\n$ echo \\\n  b\nb\n```\n'
    file, console = blocks(page)
    run(file, "page", {})
    run(console, "page", {})
    run(Block(0, "$ sfumato verify nothing.csv\n...\n(exit code 2)\n", "console"), "page", {})
    with pytest.raises(AssertionError, match="Expected"):
        run(Block(0, "$ cat a.toml\nx = 2\n", "console"), "page", {})
    with pytest.raises(AssertionError, match="exit code 1"):
        run(Block(0, "$ false\n", "console"), "page", {})


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=module_name)
def test_docstring_examples(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.name == "__main__.py":
        pytest.skip("runs the command line when imported")
    module = importlib.import_module(module_name(path))
    monkeypatch.chdir(tmp_path)
    # It looks for changes of all files that were read, for each example.
    monkeypatch.setattr(linecache, "checkcache", lambda filename=None: None)
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0


@pytest.mark.slow
def test_site_builds_and_calls_no_host(tmp_path: Path) -> None:
    pytest.importorskip("zensical", reason="zensical is not installed (make setup)")
    # Zensical writes beside its configuration and follows no link out of its folder, so it gets a copy.
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    for folder in ("docs", "src", "tools"):  # the reference is made of docstrings
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", "mkdocs.yml"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) >= len(PAGES) - 1
    fetched = re.compile(
        r"""<(?:script|img|iframe)\b[^>]*\bsrc=["']?(?:https?:)?//|<link\b[^>]*\bhref=["']?(?:https?:)?//"""
    )
    assert [page.name for page in pages if fetched.search(page.read_text("utf-8"))] == []


def test_every_public_name_is_in_the_reference() -> None:
    listed = set(re.findall(r"^::: sfumato\.(\w+)$", (ROOT / "docs" / "reference.md").read_text("utf-8"), re.MULTILINE))
    tables = {
        "BASKET_SEARCHES",
        "CELL_RULES",
        "CRITERIA",
        "GENERATORS",
        "HIERARCHIES",
        "LOSSES",
        "MASKERS",
        "MINERS",
        "PROTECTIONS",
        "SEARCHES",
        "SET_PROMISES",
        "STREAMS",
        "PSEUDONYMS",
        "QUERY_ATTACKS",
        "QUERY_CONTROLS",
        "dp",
        "hierarchies",
        "measures",
        "pseudonyms",
        "synthetic",
        "__version__",
    }
    assert set(sfumato.__all__) - tables - listed == set()


def test_inline_parameters_become_numpydoc() -> None:
    griffe = pytest.importorskip("griffe", reason="mkdocstrings is not installed (make setup)")
    assert griffe
    spec = importlib.util.spec_from_file_location("inline_parameters", ROOT / "tools" / "inline_parameters.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0


def test_no_diagram_is_drawn_by_another_host() -> None:
    # The theme fetches mermaid from a CDN when a page holds such a block.
    assert [page.name for page in PAGES if "```mermaid" in page.read_text("utf-8")] == []
