from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engines.files import delimited as module
from sfumato.engines.files.delimited import TextDialect, parse, reader, scan
from sfumato.errors import ReadError
from tests.fuzz import examples


@pytest.mark.parametrize(
    ("text", "regular", "rows"),
    [
        (b"a,b\n1,2\n", True, 2),
        (b"a,b\n1,2", True, 2),
        (b"a,b\r\n1,2\r\n", True, 2),
        (b'a,b\n"x,y\nz",2\n', True, 2),
        (b'a,b\n"x""y",\n', True, 2),
        (b"a,b\n1\n2,3,4\n", False, 3),  # one short and one long have the right number of separators
        (b"a,b\n\n1,2\n", False, 3),
        (b'a,b\n5" pipe,1\n', False, 2),
        (b'a,b\n"x" y,1\n', False, 2),
        (b'a,b\n"x,1\n', False, 1),
    ],
)
def test_every_line_must_have_its_fields(text, regular, rows):
    lines = scan(text, ",", '"', 2)
    assert lines.regular is regular
    if regular:
        assert lines.rows == rows


@pytest.mark.parametrize("text", [b"a\n\nb\n", b"\na\n", b"a\r\n\r\nb\r\n"])
def test_a_blank_line_in_a_single_column_is_not_a_row(text):
    assert not scan(text, ",", '"', 1).regular


@settings(max_examples=examples(300))
@given(st.text(alphabet='ab,"\n\r 1', max_size=40), st.integers(1, 3), st.sampled_from(['"', None]), st.integers(1, 7))
def test_the_fast_way_reads_what_the_plain_reader_reads(body, columns, quote, chunk):
    """Differential: Polars behind the scan against Python's reader, on chunks of any size."""
    names = tuple(f"c{i}" for i in range(columns))
    text = ",".join(names) + "\n" + body
    before, module.CHUNK = module.CHUNK, chunk
    try:
        rows = parse(
            text.encode(), TextDialect(",", quote, header=True, skip_spaces=False, names=names), "x.csv"
        ).rows()
    except ReadError:
        rows = None
    finally:
        module.CHUNK = before
    expected = _plain(text, quote, columns)
    if expected is None:
        # a return in the middle of a line is a letter to Polars and a fault to Python
        assert rows is None or "\r" in body
    else:
        assert rows == expected


def _plain(text, quote, columns):
    import csv

    try:
        rows = list(reader(text, ",", quote, skip_spaces=False, strict=True))
    except csv.Error:
        return None
    if columns == 1 and not all(rows):  # a blank line may be a missing value
        return None
    rows = [row for row in rows if row]
    rows = [row for row in rows if len(row) == columns or not (len(row) == 1 and row[0].isspace())]
    if any(len(row) != columns for row in rows):
        return None
    return [tuple(cell or None for cell in row) for row in rows[1:]]


CELLS = ['"a"', '"b, "', '"c, ""d"""', '""', '" e"', '"f\n\ng"', "h", "", '"i\r\n\r\nj"', '"k,l"', '", "', '""""']
ODD = ["", "", "\r", "  ", '""', "x", ",,", ", , ", '"a" ,b,c', 'a,b"c"']


def texts(number: int) -> list[bytes]:
    """Small files with quotes, blank lines, spaces after commas, and now and then a line that is none of a table."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(number):
        spaces = ["", " ", "  "] if rng.random() < 0.1 else [" " if rng.random() < 0.5 else ""]
        cells = CELLS if rng.random() < 0.5 else CELLS[:1] + CELLS[6:8] if rng.random() < 0.5 else ["u", "v", ""]
        lines = []
        for _ in range(int(rng.integers(1, 6))):
            lines.append(("," + str(rng.choice(spaces))).join(rng.choice(cells, 3)))
            if rng.random() < 0.3:
                lines.append(str(rng.choice(ODD if rng.random() < 0.3 else ["", "\r"])))
        end = "\r\n" if rng.random() < 0.2 else "\n"
        header = '"a", "b", "c"' if spaces == [" "] and rng.random() < 0.7 else "a,b,c"
        found.append((end.join([str(rng.choice(["", end])) + header, *lines]) + str(rng.choice(["", end]))).encode())
    return found


@pytest.mark.slow
def test_blank_lines_spaces_and_quotes_read_as_by_the_slow_way(monkeypatch):
    slow = []
    by_python = module._by_python
    monkeypatch.setattr(module, "_by_python", lambda *given: (slow.append(1), by_python(*given))[1])

    def found(text: bytes, spaces: bool) -> object:
        try:
            return parse(text, TextDialect(",", '"', True, spaces, ("a", "b", "c")), "t.csv").rows()
        except ReadError as error:
            return str(error)

    asked = [(text, spaces) for text in texts(400) for spaces in (False, True)]
    quick = [found(*one) for one in asked]
    assert len(slow) < 520  # of 800
    monkeypatch.setattr(module, "_by_counts", lambda *_: None)
    monkeypatch.setattr(module, "_by_scan", lambda *_: None)
    for one, rows in zip(asked, quick, strict=True):
        assert rows == found(*one), one


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("piece", [1, 30, 1000])
def test_spaces_before_quotes_are_read_in_pieces_of_any_size(monkeypatch, piece, end):
    cells = ["a", "b c", "", " d", "e, f", 'g"', '"', "h\n", '\n"', '"\n"', '"\n', "i,j", ", k", "\n\n"]
    rng = np.random.default_rng(3)
    rows = [tuple(cells[i] for i in rng.integers(len(cells), size=3)) for _ in range(60)]
    # no cell has a space between a comma and a quote: the slow way would read it
    text = end.join(", ".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [("x", "y", "z"), *rows])
    monkeypatch.setattr(module, "PIECE", piece)
    monkeypatch.setattr(module, "_by_python", None)  # the slow way is not needed
    found = parse(text.encode(), TextDialect(",", '"', True, True, ("x", "y", "z")), "t.csv").rows()
    assert found == [tuple(cell.lstrip(" ") or None for cell in row) for row in rows]


def test_a_space_before_a_quote_inside_a_value_stays():
    dialect = TextDialect(",", '"', True, True, ("x", "y"))
    for cell in ('a, "b"', ', "', 'c, ""'):
        text = '"x", "y"\n"1", "' + cell.replace('"', '""') + '"\n'
        assert parse(text.encode(), dialect, "t.csv").rows() == [("1", cell)]


def test_a_blank_line_among_rows_of_missing_values_is_read_slowly_and_right():
    dialect = TextDialect(",", '"', True, False, ("a", "b"))
    assert parse(b'a,b\n"1",2\n\n,\n', dialect, "t.csv").rows() == [("1", "2"), (None, None)]
    assert parse(b"a,b\n1,2\n\n,\n", dialect, "t.csv").rows() == [("1", "2"), (None, None)]
    with pytest.raises(ReadError, match="line 4 has 1 field"):  # the blank line does not make up for it
        parse(b"a,b\n,\n\nx\n", dialect, "t.csv")
