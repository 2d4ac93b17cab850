from __future__ import annotations

import csv
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.core.hierarchy import Categories, Hierarchy, HierarchyNote, write_edges, write_wide
from sfumato.errors import HierarchyError, PolicyError
from sfumato.hierarchies import file, tree, wide

Column = Callable[..., Categories]
EDGES = "flu,lung\nasthma,lung\nulcer,stomach\nlung,*\nstomach,*\n"
ROWS = "flu;lung;*\nasthma;lung;*\nulcer;stomach;*\n"
PATHS = [("flu", "lung", "*"), ("asthma", "lung", "*"), ("ulcer", "stomach", "*")]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def put(text: str, encoding: str = "utf-8", name: str = "h.csv") -> Path:
        (tmp_path / name).write_bytes(text.encode(encoding))
        return tmp_path / name

    return put


def faults_of(recipe: object, categories: Categories) -> tuple[str, ...]:
    with pytest.raises(HierarchyError) as caught:
        recipe.build(categories)  # type: ignore[attr-defined]
    return caught.value.faults


def test_both_forms_give_the_same_tree(write: Callable[..., Path], column: Column) -> None:
    values = column(["asthma", "flu"])
    assert file(write(EDGES)).build(values).paths() == PATHS
    assert file(write(ROWS)).build(values).paths() == PATHS
    assert tree([line.split(",") for line in EDGES.split()]).build(values).paths() == PATHS
    assert (
        tree({"flu": "lung", "asthma": "lung", "ulcer": "stomach", "lung": "*", "stomach": "*"}).build(values).paths()
        == PATHS
    )
    assert wide(PATHS).build(values).paths() == PATHS
    assert wide([*PATHS, (None, "lung", "*")]).build(values).leaves[-1] == ""


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_sniffed(write: Callable[..., Path], column: Column, delimiter: str) -> None:
    assert file(write(EDGES.replace(",", delimiter))).build(column(["flu"])).paths() == PATHS
    assert file(write(ROWS.replace(";", delimiter))).build(column(["flu"])).paths() == PATHS


def test_delimiter_may_be_given(write: Callable[..., Path], column: Column) -> None:
    assert file(write(EDGES.replace(",", ":")), delimiter=":").build(column(["flu"])).paths() == PATHS
    with pytest.raises(PolicyError, match="one character"):
        file("x.csv", delimiter="::")


def test_commas_inside_labels_are_no_delimiter(write: Callable[..., Path], column: Column) -> None:
    plain = file(write("21;[20, 25);*\n26;[25, 30);*\n")).build(column([21, 26]))
    assert plain.path(0) == ("21", "[20, 25)", "*")
    quoted = file(write('"a;b",x\nc,"x"\nx,*\n')).build(column(["a;b", "c"]))
    assert quoted.paths() == [("a;b", "x", "*"), ("c", "x", "*")]


def test_bom_crlf_quotes_blank_lines_and_missing_end(write: Callable[..., Path], column: Column) -> None:
    text = '\r\nflu;"lung";*\r\n\r\n  \r\n"a ""big"" one\r\nin two lines";lung;*\r\n;;\r\nulcer;stomach;*'
    built = file(write(text, encoding="utf-8-sig")).build(column(["flu"]))
    assert built.leaves == ("flu", 'a "big" one\r\nin two lines', "ulcer")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_encodings(write: Callable[..., Path], column: Column, encoding: str) -> None:
    built = file(write("Zürich;Schweiz;*\nGenève;Schweiz;*\n", encoding=encoding)).build(column(["Zürich"]))
    assert built.path(1) == ("Genève", "Schweiz", "*")


def test_two_columns_of_a_wide_file_are_edges(write: Callable[..., Path], column: Column) -> None:
    path = write("Male;*\nFemale;*\n")
    assert file(path).build(column(["Female"])).paths() == wide(path).build(column(["Female"])).paths()


def test_repeated_lines_are_no_fault(write: Callable[..., Path], column: Column) -> None:
    assert file(write(EDGES + EDGES)).build(column(["flu"])).paths() == PATHS
    assert file(write(ROWS + ROWS)).build(column(["flu"])).paths() == PATHS


def test_empty_value_may_be_a_leaf(write: Callable[..., Path], column: Column) -> None:
    built = file(write(ROWS + ";unknown;*\n")).build(column(["flu"], missing=True))
    assert built.path(3) == ("", "unknown", "*")


def test_ragged_trees_are_padded_with_a_note(write: Callable[..., Path], column: Column) -> None:
    padded = [("flu", "lung", "*"), ("gout", "gout", "*")]
    with pytest.warns(HierarchyNote, match=r"h.csv: 1 of 2 leaves"):
        assert file(write("flu,lung\nlung,*\ngout,*\n")).build(column(["gout"])).paths() == padded
    with pytest.warns(HierarchyNote, match=r"h.csv: 1 of 2 leaves"):
        assert file(write("flu;lung;*\ngout;*\n")).build(column(["gout"])).paths() == padded
    with pytest.warns(HierarchyNote):
        assert file(write("flu;lung;*\ngout;*;\n")).build(column(["gout"])).paths() == padded
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        file(write(EDGES)).build(column(["flu"]))


def test_edge_faults_are_told_together(write: Callable[..., Path], column: Column) -> None:
    path = write("flu,lung\nlung,*\nflu,head\nhead,other\na,b\nb,c\nc,a\nd,d\nalone\ne,\n")
    faults = faults_of(file(path), column(["flu", "unknown", "lung"]))
    assert faults == (
        f"{path}, line 9: an edge is child and parent, neither empty; got columns: 1",
        f"{path}, line 10: an edge is child and parent, neither empty; got columns: 1",
        f"{path}, lines 1, 3: a value has two parents",
        f"{path}, line 8: a value is its own parent (a cycle)",
        f"{path}, lines 5, 6, 7: a cycle",
        f"{path}, lines 2, 4: no single root: 2 parents have no parent of their own",
        f'{path}: 1 of 3 values of "x" are inner nodes, not leaves',
        f'{path}: 1 of 3 values of "x" are not covered',
    )


def test_edges_without_any_root(write: Callable[..., Path], column: Column) -> None:
    faults = faults_of(file(write("a,b\nb,a\n")), column([]))
    assert any("lines 1, 2: a cycle" in fault for fault in faults)
    assert any("no single root: every node has a parent" in fault for fault in faults)


def test_wide_faults_are_told_together(write: Callable[..., Path], column: Column) -> None:
    path = write("flu;lung;body;*\nasthma;lung;chest;*\nulcer;stomach;body;all\nflu;head;body;*\ngout;;body;*\nalone\n")
    faults = faults_of(file(path), column(["flu", "unknown"]))
    assert faults == (
        f"{path}, line 6: has one column only",
        f"{path}, line 5: column 2 is empty",
        f"{path}, lines 1, 3: no single root: the last column holds 2 labels",
        f"{path}, lines 1, 4: a value stands twice, with different levels above it",
        f"{path}, lines 1, 2: the same label of level 1 stands under two labels of level 2",
        f"{path}, lines 1, 3: the same label of level 2 stands under two labels of level 3",
        f'{path}: 1 of 2 values of "x" are not covered',
    )


def test_lines_are_counted_in_the_file(write: Callable[..., Path], column: Column) -> None:
    path = write('"two\nlines",x\n\nx,*\nb,b\n')
    assert f"{path}, line 5: a value is its own parent (a cycle)" in faults_of(tree(path), column([]))


def test_headers_are_suspected(write: Callable[..., Path], column: Column) -> None:
    for text in ("child,parent\n" + EDGES, "value;level1;level2\n" + ROWS):
        assert "is line 1 a header?" in " ".join(faults_of(file(write(text)), column(["flu"])))


def test_spaces_are_part_of_names(write: Callable[..., Path], column: Column) -> None:
    path = write("Male, *\nFemale, *\n")
    faults = faults_of(file(path), column(["Male"]))
    assert faults[0] == f"{path}, line 1: the name of the root begins or ends with a space"
    assert f"{path}, lines 1, 2: a name begins or ends with a space" in faults[1]
    assert file(write(" a,x\na,x\nx,*\n")).build(column([" a"])).leaves == (" a", "a")


def test_files_that_hold_no_hierarchy(write: Callable[..., Path], column: Column, tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="one column only"):
        file(write("a\nb\n")).build(column(["a"]))
    with pytest.raises(HierarchyError, match="empty"):
        file(write("\n \n;;\n")).build(column(["a"]))
    with pytest.raises(HierarchyError, match=r'cannot be read.*did you mean "h.csv"'):
        file(tmp_path / "hh.csv").build(column(["a"]))
    with pytest.raises(HierarchyError, match="cannot be read"):
        file(tmp_path / "none" / "h.csv").build(column(["a"]))
    with pytest.raises(HierarchyError, match="line 2: the quotes do not match"):
        file(write('a,x\n"b,x\nx,*\n')).build(column(["a"]))
    (tmp_path / "h.bin").write_bytes(b"\x81\x8d\x8f\n")
    with pytest.raises(HierarchyError, match="is no text"):
        file(tmp_path / "h.bin").build(column(["a"]))
    with pytest.raises(PolicyError, match="path"):
        file(3)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="list of rows"):
        tree(["a,b"])


def test_values_of_the_table_are_not_told(write: Callable[..., Path], column: Column) -> None:
    with pytest.raises(HierarchyError, match="are not covered") as caught:
        file(write(EDGES)).build(column(["secret"]))
    assert "secret" not in str(caught.value)


def test_a_hopeless_file_does_not_flood(write: Callable[..., Path], column: Column) -> None:
    faults = faults_of(file(write("".join(f"{i},{i}\n" for i in range(5000)) + "a,*\n")), column([]))
    assert len(faults) == 101
    assert faults[-1] == "and 4900 more"


@pytest.mark.slow
def test_long_edge_lists_and_chains(write: Callable[..., Path], column: Column) -> None:
    many = "".join(f"v{i},g{i % 300}\n" for i in range(50_000)) + "".join(f"g{i},*\n" for i in range(300))
    assert file(write(many)).build(column(["v7"])).path(7) == ("v7", "g7", "*")
    chain = "".join(f"n{i},n{i + 1}\n" for i in range(3000))
    assert tree(write(chain)).build(column(["n0"])).height == 3000


def test_describe_tells_the_name_of_the_file_alone() -> None:
    assert file("/home/me/disease.csv").describe() == "file disease.csv"
    assert tree("/home/me/disease.csv").describe() == "tree disease.csv"
    assert wide([("a", "*")]).describe() == "wide given rows"


def read_column(path: Path, delimiter: str, which: str | int) -> list[str]:
    with path.open(newline="") as lines:
        if isinstance(which, int):
            return sorted({row[which] for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True) if row})
        return sorted({row[which] for row in csv.DictReader(lines, delimiter=delimiter)})


ARX = {
    "age": (100, 4),
    "education": (16, 3),
    "marital-status": (7, 2),
    "native-country": (41, 2),
    "occupation": (14, 2),
    "race": (5, 1),
    "salary-class": (2, 1),
    "sex": (2, 1),
    "workclass": (8, 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ARX)
def test_hierarchies_of_arx(shared: Path, column: Column, tmp_path: Path, name: str) -> None:
    path = shared / "data" / "arx" / f"adult_hierarchy_{name}.csv"
    values = column(read_column(shared / "data" / "arx" / "adult.csv", ";", name))
    built = file(path).build(values)
    assert (len(built.leaves), built.height) == ARX[name]
    assert built.labels[-1] == ("*",)
    for row in path.read_text().splitlines():
        fields = tuple(row.split(";"))
        assert built.path(built.leaves.index(fields[0])) == fields
    write_wide(built, tmp_path / "wide.csv")
    assert (tmp_path / "wide.csv").read_text() == "".join(";".join(row) + "\n" for row in built.paths())
    write_edges(built, tmp_path / "edges.csv")
    assert same(file(tmp_path / "edges.csv").build(values), built)


@pytest.mark.parametrize(("name", "which", "height"), [("gender", 9, 1), ("race", 8, 1), ("marital_status", 5, 2)])
def test_edge_lists_of_adult(shared: Path, column: Column, tmp_path: Path, name: str, which: int, height: int) -> None:
    values = column(read_column(shared / "data" / "adult" / "adult.data", ",", which))
    built = file(shared / "data" / "adult" / f"adult_{name}.txt").build(values)
    assert built.height == height
    assert set(values.text) <= set(built.leaves)
    write_edges(built, tmp_path / "edges.csv")
    assert same(file(tmp_path / "edges.csv").build(values), built)


def test_the_faulty_file_of_bank(shared: Path, column: Column) -> None:
    path = shared / "data" / "bank" / "bank_job.txt"
    faults = faults_of(file(path), column(read_column(shared / "data" / "bank" / "bank.csv", ";", "job")))
    assert f"{path}, lines 2, 11: a value has two parents" in faults
    assert f"{path}, lines 1, 3, 4, 5, 8, 9: no single root: 6 parents have no parent of their own" in faults
    assert f"{path}, lines 11, 12: but for spaces a value is its own parent" in faults
    assert any(fault.startswith(f"{path}, lines 1, 2, 4") and "spaces are part of a name" in fault for fault in faults)


def same(one: Hierarchy, other: Hierarchy) -> bool:
    return one.labels == other.labels and one.ancestor.tolist() == other.ancestor.tolist()
