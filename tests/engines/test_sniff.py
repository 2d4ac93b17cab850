from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engines.files.delimited import column_names, sniff
from sfumato.errors import ColumnError


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_each_separator_is_found(separator):
    text = "name,age,city\nAnn,31,Rome\nBob,47,Paris\n".replace(",", separator)
    found = sniff(text)
    assert (found.separator, found.header, found.names) == (separator, True, ("name", "age", "city"))


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("x;y\n1,5;2,5\n2,5;3,5\n", ";"),  # decimal commas
        ("1,5;2,5\n2,5;3,5\n", ";"),  # the same without a header
        ('name,note\nAnn,"a;b;c"\nBob,"d;e;f"\n', ","),  # inside quotes
        ("name,note\nAnn,a;b\nBob,c\n", ","),
        ("t\tn\n2024-01-01, 10:00\t5\n", "\t"),
        ("id|text\n1|a, b\n2|c, d\n", "|"),
        ("name\nSmith, John\nDoe\n", "|"),  # one column: nothing that would cut it
        ("name\nAnn\nBob\n", ","),
    ],
)
def test_the_separator_is_the_one_that_cuts_every_line_alike(text, separator):
    assert sniff(text).separator == separator


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ('a,b\n"x",1\n', '"'),
        ("a,b\n'x, y',1\n'z',2\n", "'"),
        ("a,b\n'x',\"y\"\n", '"'),
        ("a,b\n'tis,1\n'twas,2\n", '"'),  # apostrophes
        ("a,b\nO'Brien,1\n", '"'),
        ("a,b\nx,1\n", '"'),
    ],
)
def test_single_quotes_need_fields_that_they_enclose(text, quote):
    assert sniff(text).quote == quote


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("name,age\nAnn,31\nBob,47\n", True),
        ("Ann,31\nBob,47\n", False),
        ("2019-01-02,x\n2020-01-02,y\n", False),
        ("sex,town\nM,Rome\nF,Rome\nM,Paris\nF,Rome\n", True),  # words that never come again
        ("M,Rome\nF,Rome\nM,Paris\n", False),
        ("Male;*\nFemale;*\n", False),
        ("name,city\nAnn,Rome\nBob,Paris\n", True),  # no evidence either way
        ("name,age\n", True),
        ("Ann,31\n", False),
        (',"x"\n1,5\n2,6\n', True),  # row names without a name
    ],
)
def test_a_header_is_what_differs_from_the_cells_below(text, header):
    assert sniff(text).header is header


@pytest.mark.parametrize(
    ("text", "skip"),
    [
        ("a, b, c\n1, 2, 3\n", True),
        ("a,b\n1, 2\n3,4\n", False),
        ('a,b\n"x, y","z, w"\n', False),
        ("a\tb\nx y\tz w\n", False),
    ],
)
def test_spaces_are_skipped_only_where_they_follow_every_separator(text, skip):
    assert sniff(text).skip_spaces is skip


def test_what_is_given_is_not_guessed():
    found = sniff("a;b,c\n1;2,3\n", separator=",", quote="", header=False)
    assert (found.separator, found.quote, found.header, found.names) == (",", None, False, ("column_1", "column_2"))


def test_half_a_record_at_the_end_of_the_head_does_not_count():
    head = "a;b\n" + "1,5;2\n" * 3 + '"cut'
    assert sniff(head, whole=False).separator == ";"


def test_a_name_that_is_empty_or_twice_there():
    assert column_names(["a", " ", ""], header=True) == ("a", "column_2", "column_3")
    with pytest.raises(ColumnError, match="columns 1 and 3"):
        column_names(["a", "b", "a"], header=True)
    with pytest.raises(ColumnError, match="columns 1 and 2"):
        column_names(["column_2", ""], header=True)
    assert column_names(["a", "a"], header=False) == ("column_1", "column_2")


CELL = st.text(alphabet='abc xyz,;|\t"\n', min_size=1, max_size=6).map(str.strip).filter(bool)


@given(st.lists(st.tuples(CELL, st.integers(0, 99), CELL), min_size=2, max_size=8), st.sampled_from(",;\t|"))
def test_a_table_written_with_all_fields_quoted_is_always_recognised(rows, separator):
    out = io.StringIO()
    csv.writer(out, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([("name", "age", "note"), *rows])
    found = sniff(out.getvalue())
    assert (found.separator, found.quote, found.names) == (separator, '"', ("name", "age", "note"))
