from __future__ import annotations

import gzip

import polars as pl
import pytest

from sfumato.engines.files.forms import ReadWarning
from sfumato.engines.files.read import describe_csv, read
from sfumato.engines.files.table import FileTable
from sfumato.errors import ColumnError, EmptyTable, ReadError


@pytest.fixture
def file(tmp_path):
    def make(content: str | bytes, name: str = "t.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def test_cells_are_text_verbatim(file):
    frame = read(file("zip,price,n,when\n01234,1.10,+5,2024-1-2\n00000, 2 a,,x\n"))
    assert frame.rows() == [("01234", "1.10", "+5", "2024-1-2"), ("00000", " 2 a", None, "x")]
    assert set(frame.dtypes) == {pl.String}


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,2\n3,4\n",
        "a,b\n1,2\n3,4",
        "a,b\r\n1,2\r\n3,4\r\n",
        "a,b\r1,2\r3,4\r",
        "\n\na,b\n\n1,2\n\n\n3,4\n\n\n",
        "a,b\r\n\r\n1,2\r\n  \r\n3,4\r\n",
        "a,b\r\r\n1,2\r\r\n3,4\r\r\n",
        '"a","b"\n"1","2"\n\n"3","4"\n',
        "'a','b'\n'1','2'\n'3','4'\n",
        "a, b\n1, 2\n3, 4\n",
        'a, b\n1, "2"\n3, "4"\n',
        "a;b\n1;2\n3;4\n",
        "a\tb\n1\t2\n3\t4\n",
        "a|b\n1|2\n3|4\n",
    ],
)
def test_one_table_written_in_many_ways(file, content):
    frame = read(file(content))
    assert frame.to_dict(as_series=False) == {"a": ["1", "3"], "b": ["2", "4"]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "latin-1"])
def test_encodings_are_recognised(file, encoding):
    path = file("näme,ort\nJosé,Århus\nZoë,Köln\n".encode(encoding))
    assert read(path).rows() == [("José", "Århus"), ("Zoë", "Köln")]
    assert read(path).columns == ["näme", "ort"]


def test_encoding_can_be_given_and_is_checked(file):
    path = file("a,b\nпривет,1\n".encode("koi8-r"))
    assert read(path, encoding="koi8-r").rows() == [("привет", "1")]
    with pytest.raises(ReadError, match="ascii"):
        read(path, encoding="ascii")
    with pytest.raises(ReadError, match="unknown"):
        read(path, encoding="klingon")


def test_damaged_utf8_is_not_taken_for_another_encoding(file):
    lines = "a,b\n" + "é,ü\n" * 20
    with pytest.raises(ReadError, match="line 22"):
        read(file(lines.encode() + b"\xe9,x\n"))


def test_quotes_hold_separators_line_breaks_and_quotes(file):
    frame = read(file('a,b\n"x, y","line\nbreak"\n"say ""hi""",""\n'))
    assert frame.rows() == [("x, y", "line\nbreak"), ('say "hi"', None)]


def test_quotes_inside_fields_are_letters(file):
    assert read(file('item,n\n5" pipe,1\n"a ""b""",2\n')).rows() == [('5" pipe', "1"), ('a "b"', "2")]
    assert read(file('item,n\n"x",1\n'), quote="").rows() == [('"x"', "1")]


def test_no_header_gives_numbered_names_and_can_be_said(file):
    path = file("Ann,31\nBob,47\n")
    assert read(path).columns == ["column_1", "column_2"]
    assert read(path, header=True).rows() == [("Bob", "47")]
    assert read(file("name,city\nAnn,Rome\n"), header=False).height == 2


def test_an_empty_name_in_the_header_is_numbered(file):
    assert read(file(",x\n1,5\n2,6\n")).columns == ["column_1", "x"]


def test_columns_are_chosen_in_order(file):
    path = file("a,b,c\n1,2,3\n")
    assert read(path, columns=["c", "a"]).rows() == [("3", "1")]
    with pytest.raises(ColumnError, match='"age"'):
        read(file("ages,b\n1,2\n"), columns=["age"])


def test_a_compressed_file_is_read_as_it_is(file):
    assert read(file(gzip.compress(b"a,b\n1,2\n"), "t.csv.gz")).rows() == [("1", "2")]
    with pytest.raises(ReadError, match="gzip"):
        read(file(gzip.compress(b"a,b\n1,2\n")[:-9], "u.csv.gz"))


def test_tsv_means_tab(file):
    assert read(file("a,b\tc\n1,2\t3\n", "t.tsv")).columns == ["a,b", "c"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a,b\n1,2\nsecret\n", 3),
        ("a,b\n1,2\nsecret,3,4\n", 3),
        ("a,b\n1\n2,3,secret\n", 2),
        ('a,b\n"x\ny",2\n\nsecret\n', 5),
        ('a,b\n1,2\n"secret,3\n4,5\n', 3),
        ('a,b\n1,2\n"sec"ret,3\n', 3),
    ],
)
def test_a_line_at_fault_is_named_without_its_content(file, content, line):
    with pytest.raises(ReadError, match=rf"t\.csv: line {line} ") as caught:
        read(file(content))
    assert "sec" not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_null_byte_is_refused_with_its_line(file):
    with pytest.raises(ReadError, match="line 2 has a null byte"):
        read(file(b"a,b\n1,x\0y\n"))


@pytest.mark.parametrize("content", ["", "\n\n", "  \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(file, content):
    with pytest.raises(ReadError, match="is empty"):
        read(file(content))


def test_a_header_alone_is_an_empty_table(file):
    with pytest.raises(EmptyTable, match="no rows"):
        read(file("a,b\n"))


def test_a_name_twice_is_refused(file):
    with pytest.raises(ColumnError, match="columns 1 and 3"):
        read(file("a,b,a\n1,2,3\n"))


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a\nx\n\ny\n", 3),
        ("a\r\nx\r\n\r\ny\r\n", 3),
        ("a\nx\n\n", 3),
        ("a\nx\n\n\n\n", 3),
        ("\na\nx\n", 1),
        ('a\n"x\n\ny"\n\nz\n', 5),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_blank_line_in_a_file_of_one_column_may_be_a_missing_value(file, content, line, streamed):
    path = file(content)
    with pytest.raises(ReadError, match=f"line {line} is blank"):
        FileTable(path).sample(10) if streamed else read(path)


@pytest.mark.parametrize("streamed", [False, True])
def test_missing_values_and_blanks_in_a_file_of_one_column(file, streamed):
    path = file('a\n"x\n\ny"\n""\n \nz\n')
    found = FileTable(path).sample(10) if streamed else read(path)
    assert found.get_column("a").to_list() == ["x\n\ny", None, " ", "z"]


def test_a_header_that_starts_like_a_compressed_file(file):
    assert read(file("x\x01y,b\n1,2\n")).to_dict(as_series=False) == {"x\x01y": ["1"], "b": ["2"]}


def test_a_device_is_no_file():
    with pytest.raises(ReadError, match="is a device or a pipe"):
        read("/dev/null")


def test_a_file_that_is_not_there(file, tmp_path):
    file("a\n1\n", "patients.csv")
    with pytest.raises(ReadError, match=r'did you mean "patients\.csv"'):
        read(tmp_path / "patient.csv")
    with pytest.raises(ReadError, match="folder"):
        read(tmp_path)
    with pytest.raises(ReadError, match="does not exist"):
        read(tmp_path / "nowhere" / "x.csv")


def test_a_file_that_may_not_be_read(file, monkeypatch):
    path = file("a,b\n1,2\n")

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(ReadError, match="Permission denied"):
        read(path)
    with pytest.raises(ReadError, match="cannot be read"):
        read("x" * 5_000 + ".csv")


def test_unknown_formats_and_options_that_do_not_apply(file, tmp_path):
    with pytest.raises(ReadError, match=r"csv.*parquet"):
        read(file("a\n1\n", "t.xyz"))
    assert read(file("a,b\n1,2\n", "t.xyz"), format="csv").rows() == [("1", "2")]
    with pytest.raises(ReadError, match='did you mean "parquet"'):
        read(file("a\n1\n"), format="parket")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(ReadError, match="separator"):
        read(tmp_path / "t.parquet", separator=",")
    for bad in ("", "ab", "é", "\n"):
        with pytest.raises(ReadError, match="separator"):
            read(file("a,b\n1,2\n"), separator=bad)


def test_a_dialect_can_be_shown_before_reading(file):
    found = describe_csv(file("näme;age\nJosé;3\n".encode("cp1252")))
    assert (found.separator, found.encoding, found.header, found.names) == (";", "cp1252", True, ("näme", "age"))


def test_public_tables_are_read_without_being_told_how(shared):
    data = shared / "data"
    adult = read(data / "adult" / "adult.data")
    assert adult.shape == (32_561, 15)
    assert adult.row(0)[:4] == ("39", "State-gov", "77516", "Bachelors")
    assert read(data / "arx" / "adult.csv").shape == (30_162, 9)
    assert read(data / "bank" / "bank.csv").columns[:3] == ["age", "job", "marital"]
    assert read(data / "sdc" / "testdata.csv").shape == (4_580, 15)
    assert read(data / "sdc" / "ten_records.csv").shape == (10, 4)
    assert read(data / "arx" / "adult_hierarchy_sex.csv").rows() == [("Male", "*"), ("Female", "*")]


@pytest.mark.slow
def test_a_fault_far_behind_the_head_is_found(file):
    lines = "a,b,c\n" + "1,2,3\n" * 100_000
    assert read(file(lines)).height == 100_000
    with pytest.raises(ReadError, match="line 100002 has 2 fields, the first line has 3"):
        read(file(lines + "1,2\n"))


@pytest.mark.slow
def test_a_header_longer_than_the_head(file):
    names = [f"a_rather_long_name_of_a_column_{i}" for i in range(5_000)]
    frame = read(file(";".join(names) + "\n" + ";".join(["1"] * 5_000) + "\n"))
    assert frame.shape == (1, 5_000)
    assert frame.columns == names


def test_a_long_cell(file):
    cell = "x" * 200_000 + "\n\ny"
    assert read(file(f'a,b\n"{cell}",1\n\n2,5" pipe\n')).rows() == [(cell, "1"), ("2", '5" pipe')]


TITLED = "Patients of ward 3\nAs of: 1.2.2024\n\nname;age;town\nAnn;31;Rome\nBob;47;Rome\n"


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (TITLED, 3),
        ("Report;;\n;;\nname;age;town\nAnn;31;Rome\nBob;47;Rome\n", 2),
        ('"Report\nof 2024"\nname,age,town\nAnn,31,Rome\nBob,47,Rome\n', 2),
        ("# exported\nname\tage\ttown\nAnn\t31\tRome\nBob\t47\tRome\n", 1),
    ],
)
def test_lines_above_the_header_are_skipped_and_told(file, content, lines):
    path = file(content)
    what = f"{lines} lines above the header are" if lines > 1 else "1 line above the header is"
    with pytest.warns(ReadWarning, match=what):
        frame = read(path)
    assert frame.to_dict(as_series=False) == {"name": ["Ann", "Bob"], "age": ["31", "47"], "town": ["Rome", "Rome"]}
    with pytest.warns(ReadWarning, match=what):
        assert FileTable(path).sample(9).equals(frame)
    assert FileTable(path, skip=lines).sample(9).equals(read(path, skip=lines))


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,2\n3,4\n",
        '"age","sex"\n"1",31,"f"\n"2",47,"m"\n',  # R writes no name above the row names
        "short\nAnn,Rome,x\nBob,Oslo,y\n",  # no line is a header beyond doubt
    ],
)
def test_no_line_is_skipped_where_the_header_is_in_doubt(file, content):
    assert describe_csv(file(content)).skip == 0


def test_skip_is_checked_and_lines_at_fault_count_from_the_top(file):
    path = file(TITLED + "Cid;9\n")
    with pytest.raises(ReadError, match="line 7 has 2 fields, the header has 3"):
        read(path)
    with pytest.raises(ReadError, match="skip must be a whole number"):
        read(path, skip=-1)
    with pytest.raises(ReadError, match="nothing below the 50 lines"):
        read(path, skip=50)


@pytest.mark.parametrize("open_", [read, lambda path, **more: FileTable(path, **more).sample(9)])
def test_columns_name_a_table_without_a_header(file, open_):
    rows = [("31", "F", "flu"), ("47", "M", "cold")]
    frame = open_(file("31,F,flu\n47,M,cold\n"), columns=["age", "sex", "ill"])
    assert (frame.columns, frame.rows()) == (["age", "sex", "ill"], rows)
    words = file("Rome,F,flu\nOslo,M,cold\n", "words.csv")  # its first line could be a header
    assert open_(words, columns=["town", "sex", "ill"]).height == 2
    assert open_(words, columns=["flu", "F"]).rows() == [("cold", "M")]
    with pytest.raises(ColumnError, match="no header, and columns names 2; got 3 columns"):
        open_(file("31,F,flu\n47,M,cold\n"), columns=["age", "sex"])
    with pytest.raises(ColumnError, match="twice"):
        open_(file("31,F,flu\n47,M,cold\n"), columns=["age", "sex", "sex"])
    with pytest.raises(ColumnError, match='no column "town"'):
        open_(words, columns=["town"])


def test_a_line_that_tells_excel_the_separator_is_taken_at_its_word(file):
    path = file("sep=|\r\nname|town\r\nAnn, jr|Rome;x\r\n")
    with pytest.warns(ReadWarning, match="1 line above the header is skipped"):
        assert read(path).to_dict(as_series=False) == {"name": ["Ann, jr"], "town": ["Rome;x"]}
