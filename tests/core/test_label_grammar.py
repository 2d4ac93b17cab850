"""Labels that are printed are read back as the same set of values."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.label_grammar import Range, range_text, read_printed, read_run, read_set, run_text, set_text
from sfumato.measures.labels_cover import covers

NUMBER = st.integers(-(10**9), 10**9) | st.decimals(-1000, 1000, places=2)
NUMBERS = st.lists(NUMBER, min_size=2, max_size=30, unique=True)
DAYS = st.lists(st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)), min_size=2, max_size=30, unique=True)
WORDS = st.lists(
    st.text("abcXYZ äß()[]<>=", min_size=1, max_size=8).map(str.strip).filter(lambda word: word and word[0] != "["),
    min_size=2,
    max_size=12,
    unique=True,
)


@given(NUMBERS | DAYS, st.data())
def test_ranges(values: list[int | Decimal | dt.date], data: st.DataObject) -> None:
    values = sorted(values)
    text = [str(value) for value in values]
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, len(values) - 1)] * 2)))
    closed = data.draw(st.booleans())
    label = range_text(text[low], text[high], closed)
    assert read_printed(label) == Range(text[low], text[high], True, closed)
    assert covers([label], text)[0].tolist() == [low <= i < high + closed for i in range(len(text))]
    for first, last, inside in ((None, text[high], range(high)), (text[low], None, range(low, len(text)))):
        label = range_text(first, last)
        assert read_printed(label)[:2] == (first, last)
        assert covers([label], text)[0].nonzero()[0].tolist() == [*inside]


@given(WORDS, st.data())
def test_sets(words: list[str], data: st.DataObject) -> None:
    words = sorted(words)
    inside = sorted(data.draw(st.sets(st.integers(0, len(words) - 1), min_size=2)))
    label = set_text([words[i] for i in inside])
    if len(inside) <= 8:
        assert read_set(label) == [words[i] for i in inside]
        assert covers([label], words)[0].nonzero()[0].tolist() == inside
    else:
        assert label == run_text(words[inside[0]], words[inside[-1]])
        assert read_run(label) == (words[inside[0]], words[inside[-1]])
        assert covers([label], words)[0].nonzero()[0].tolist() == [*range(inside[0], inside[-1] + 1)]
