"""Forms of numbers, dates and missing values as people write them, brought to one form, column by column.

A column is read in a form only where all of its values have it; what two forms would read differently is refused.
Everything stays text: 16.10.1961 becomes 1961-10-16, 1.234,50 becomes 1234.50, and N/A among numbers is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.microdata import DATE, DATETIME, INTEGER, NUMBER
from sfumato.core.names import CODE_NAMES, DIRECT, POSTCODES, WEAK
from sfumato.core.printed import printed
from sfumato.core.roles import digits_of, name_runs
from sfumato.core.wording import count, listed, quoted
from sfumato.errors import ColumnError, ReadError, did_you_mean

_MARKERS = """
na n/a n.a. n.a #n/a #na <na> nan -nan null (null) none nil \\n . .. ... ? ?? - -- --- – — #null! #value! #div/0!
#num! #ref! #name? k.a. k.a k/a n.d. n.d nd n/d s.d. s/d missing (missing)
"""  # in small letters: what stands for a missing value among numbers or dates
MARKER = rf"(?i)^\s*(?:{'|'.join(map(re.escape, _MARKERS.split()))})\s*$"
MARKERS = frozenset(_MARKERS.split())
CODE_WORDS = DIRECT | WEAK | POSTCODES | CODE_NAMES | {"cap", "ops"}  # in names of columns whose digits are no amounts
ORDERS = {"dmy": "day, month, year", "mdy": "month, day, year", "ymd": "year, month, day"}
SAID = {"dmy": 'dates="dmy"', "mdy": 'dates="mdy"', "ymd": 'dates="ymd"'}
PARTS = {"d": "day", "m": "month", "y": "year"}
DECIMALS = {"comma": ",", "point": "."}
UNIT = r"US\$|[€$£¥₹]|zł|Kč|kr\.?|SFr\.?|Fr\.|CHF|EUR|USD|GBP|JPY|SEK|NOK|DKK|PLN|CZK|%|‰"
SIGNED = rf"^([+-]?)\s*(?:{UNIT})?\s*([+-]?)\s*([0-9.,' ]*[0-9][0-9.,' ]*?)\s*(?:{UNIT})?$"
CLOCK = r"(?:(?:T| +|, *)([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:[.,][0-9]{1,9})?))?(?: *([AaPp])\.?[Mm]\.?)?)?"
DAY = r"^([0-9]{1,4})([./-])([0-9]{1,2})([./-])([0-9]{1,4})" + CLOCK + "$"
_MONTHS = """
january jan januar janner jänner jaenner gennaio gen, february feb februar feber febbraio,
march mar märz maerz mrz marzo, april apr aprile, may mai maggio mag, june jun juni giugno giu,
july jul juli luglio lug, august aug agosto ago,
september sep sept settembre set sett, october oct oktober okt ottobre ott, november nov novembre,
december dec dezember dez dicembre dic
"""
MONTHS = {word: str(i) for i, words in enumerate(_MONTHS.split(","), 1) for word in words.split()}
_MONTH = f"({'|'.join(sorted(MONTHS, key=len, reverse=True))})"
_DAY, _YEAR, _REST = r"([0-9]{1,2})(?:\.|st|nd|rd|th|º|°)?", "([0-9]{4}|[0-9]{2})", "((?:T| |, *[0-9]).*)?$"
NAMED = {
    "dmy": rf"(?i)^{_DAY}[ /-]*{_MONTH}[ .,/-]*{_YEAR}{_REST}",  # 5 May 2020, 5. Mai 2020, 05-MAY-2020, 5MAY2020
    "mdy": rf"(?i)^{_MONTH}[ ./-]*{_DAY}[ ,/-]+{_YEAR}{_REST}",  # May 5, 2020
    "ymd": rf"(?i)^([0-9]{{4}})[ /-]*{_MONTH}[ ./-]*{_DAY}{_REST}",  # 2020-May-05
}  # dates with the name of a month in English, German or Italian
SPAN = 80  # years that dates of one column lie apart, above which two digits may be of two centuries
AHEAD = 20  # years from now on that two digits may stand for where no name speaks of birth
_BORN = (
    "birth birthdate birthday dob dateofbirth born geburtsdatum geburtstag geburt geboren nascita nato nata datanascita"
)
BORN = frozenset(_BORN.split())
_NAMED = "|".join(f"(?:{pattern})" for pattern in NAMED.values())
LOOKS = rf"{DAY}|{_NAMED}|{NUMBER}|^[(+-]?\s*(?:{UNIT})?\s*[+-]?\s*[0-9.,][0-9.,' ]*(?:{UNIT})?\)?-?$"
STILL = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]00:00(?::00(?:\.0+)?)?$"  # a clock at midnight
WHOLE = r"^[0-9]+\.0$"  # as programs write whole numbers of a column that has gaps
DOTTED = frozenset({"icd", "icd9", "icd10"})  # codes whose decimals say something
ZERO = r"^[+-]?0[0-9]"  # a number that keeps a leading zero is a code
GROUPED = {
    (decimal, mark): rf"^[+-]?(?:[1-9][0-9]{{0,2}}(?:{re.escape(mark)}[0-9]{{3}})*|0)(?:{re.escape(point)}[0-9]+)?$"
    if mark
    else rf"^[+-]?(?:[0-9]+(?:{re.escape(point)}[0-9]*)?|{re.escape(point)}[0-9]+)$"
    for decimal, point in DECIMALS.items()
    for mark in ("", *(".,' ".replace(point, "")))
}  # numbers by their decimal mark and the one between thousands
VALUE = pl.col("value")
BY_NAME = "months by name"
PARTLY, FEW = 0.1, 20  # share of values that are no dates, among so many, up to which a column is told to be of dates
SAMPLE = 2_000  # values that rule most columns of text out


class ReadWarning(UserWarning):
    """How a file was read, where that was not as it is written."""


@dataclass(frozen=True)
class Forms:
    """What the caller said about the forms of values: None is found out from the columns.

    `missing` are texts that are missing in every column, or by column; `verbatim` are columns left as written.
    """

    missing: Sequence[str] | Mapping[str, Sequence[str]] | None = None
    dates: str | None = None
    decimal: str | None = None
    verbatim: bool | Sequence[str] = False

    def __post_init__(self) -> None:
        if self.decimal in (",", "."):
            object.__setattr__(self, "decimal", "comma" if self.decimal == "," else "point")
        for option, known in (("dates", ORDERS), ("decimal", DECIMALS)):
            given = getattr(self, option)
            if given is not None and given not in known:
                allowed = ", ".join(f"{name} ({words})" for name, words in known.items())
                raise ReadError(f"{option} is unknown", got=repr(given), allowed=allowed)
        listed = list(self.missing.values()) if isinstance(self.missing, Mapping) else [self.missing or []]
        if any(isinstance(one, str) or not all(isinstance(text, str) for text in one) for one in listed):
            raise ReadError("missing must be a list of texts, or such lists by column", got=type(self.missing).__name__)
        if isinstance(self.verbatim, str):
            raise ReadError("verbatim must be a list of columns, or True for all", got="text")

    def markers(self, column: str) -> Sequence[str]:
        """The texts that are declared missing in a column."""
        by_column = self.missing.get(column, ()) if isinstance(self.missing, Mapping) else self.missing
        return by_column or ()

    def named(self) -> list[str]:
        """The columns that are named."""
        named = list(self.missing) if isinstance(self.missing, Mapping) else []
        return named if isinstance(self.verbatim, bool) else [*named, *self.verbatim]

    def record(self) -> dict[str, Any]:
        """What a manifest may say of it: in which columns texts were declared missing, not which."""
        columns = list(self.missing) if isinstance(self.missing, Mapping) else ["*"] if self.missing else []
        return ({"missing": columns} if columns else {}) | ({"decimal": self.decimal} if self.decimal else {})

    def keeps(self, column: str) -> bool:
        """Whether a column stays as written."""
        return self.verbatim if isinstance(self.verbatim, bool) else column in self.verbatim


@dataclass(frozen=True)
class ColumnForm:
    """How the values of one column are written: `order` of dates, or marks of numbers; neither where they are plain."""

    order: str | None = None
    clock: bool = False  # dates with a time of day
    decimal: str | None = None  # "comma" or "point", where there is one
    thousands: str = ""
    unit: bool = False
    signed: bool = False  # what is owed stands in brackets, or has its sign behind
    whole: bool = False  # codes that a program wrote as 80331.0
    named: bool = False  # dates with the name of a month
    latest: int | None = None  # the last of the hundred years that two digits stand for

    def read(self, values: pl.Series) -> pl.Series:
        """The values in plain form; missing where they are markers, or not written so."""
        if self.order is not None:
            return _days(_select(values, _bare(VALUE)), self)
        return _select(values, self._number(_bare(VALUE)))

    def _number(self, text: pl.Expr) -> pl.Expr:
        if self.rewritten:
            text = _amount(text)
            text = text.str.replace_all(self.thousands, "", literal=True) if self.thousands else text
            text = text.str.replace(",", ".", literal=True) if self.decimal == "comma" else text
            return pl.when(text.str.contains(NUMBER)).then(text)
        text = text.str.replace(r"\.0$", "") if self.whole else text
        return pl.when(~_is_marker(text)).then(text)

    @property
    def decimal_mark(self) -> str | None:
        """That of the file, where it is told: a space or an apostrophe between thousands leaves it open."""
        return self.decimal or {",": "point", ".": "comma"}.get(self.thousands)

    @property
    def rewritten(self) -> bool:
        """Whether its numbers are not plain."""
        return bool(self.thousands or self.unit or self.signed or self.decimal == "comma")

    def words(self) -> str:
        """How its numbers are written."""
        marks = {".": "a point", ",": "a comma", " ": "a space", "'": "an apostrophe"}
        parts = [f"{marks[self.thousands]} between thousands"] if self.thousands else []
        parts += ["a decimal comma"] if self.decimal == "comma" else []
        parts += ["a unit or percent sign"] if self.unit else []
        parts += ["brackets or a sign behind them for those below zero"] if self.signed else []
        return listed(parts)


@dataclass(frozen=True)
class FormsFound:
    """The form of each column that is not plain, cells that were read as missing, and what looked like a form."""

    forms: Mapping[str, ColumnForm] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    left: Mapping[str, str] = field(default_factory=dict)  # why a column that looks like dates or numbers is text

    def notes(self, cells: bool = True) -> list[str]:
        """What was decided, in sentences that name columns and no values; `cells`: with how many are missing."""
        found = []
        for order, words in ORDERS.items():
            names = [name for name, form in self.forms.items() if form.order == order]
            if names:
                found.append(f"dates are read as {words} in {quoted(names)}")
        years: dict[int, list[str]] = {}
        for name, form in self.forms.items():
            if form.latest is not None:
                years.setdefault(form.latest, []).append(name)
        found += [f"years of two digits are {last - 99} to {last} in {quoted(names)}" for last, names in years.items()]
        ways: dict[str, list[str]] = {}
        for name, form in self.forms.items():
            if form.order is None and form.rewritten:
                ways.setdefault(form.words(), []).append(name)
        found += [f"numbers are read with {words} in {quoted(names)}" for words, names in ways.items()]
        if codes := [name for name, form in self.forms.items() if form.whole]:
            found.append(f"codes are read without the decimals that a program gave them in {quoted(codes)}")
        if self.missing:
            many = sum(self.missing.values())
            what = f"{count(many, 'cell')} {'is' if many == 1 else 'are'}" if cells else "some cells are"
            found.append(f"{what} read as missing in {quoted(self.missing)}")
        return found + [f'"{name}" is read as text: {why}' for name, why in self.left.items()]

    def record(self) -> dict[str, Any]:
        """The same for a manifest: what all values of a column have in common.

        That values are missing, or have a mark between thousands, may be so of one row, which may be suppressed.
        """
        dates = {name: form.order for name, form in self.forms.items() if form.order}
        units = [name for name, form in self.forms.items() if form.unit]
        years = {name: form.latest for name, form in self.forms.items() if form.latest is not None}
        found = {"dates": dates, "years_up_to": years, "units": units}
        return {key: value for key, value in found.items() if value}


def skip_note(skipped: int, given: int | None) -> list[str]:
    """What to say of lines above the header that nobody said to skip."""
    return (
        [f"{count(skipped, 'line')} above the header {'is' if skipped == 1 else 'are'} skipped"]
        if skipped and given is None
        else []
    )


def read_forms(frame: pl.DataFrame, forms: Forms, name: str) -> tuple[pl.DataFrame, FormsFound]:
    """The frame with its text columns in plain forms, and which forms they had; `name` is that of the file.

    >>> read_forms(pl.DataFrame({"born": ["16.10.1961", "?"]}), Forms(), "t.csv")[0].get_column("born").to_list()
    ['1961-10-16', None]
    """
    frame, missing = declare_missing(frame, forms)
    texts = [column for column, dtype in frame.schema.items() if dtype == pl.String and not forms.keeps(column)]
    looks = _looks(frame, texts)
    found = settle(looks, forms, name)
    columns = []
    for column, form in found.items():
        series = frame.get_column(column)
        columns.append(apply_form(form, series))
        if gone := columns[-1].null_count() - series.null_count():
            missing[column] = missing.get(column, 0) + gone
    left = {column: look.left for column, look in looks.items() if look.left}
    return frame.with_columns(columns), FormsFound(found, missing, left)


def apply_form(form: ColumnForm, series: pl.Series, name: str | None = None) -> pl.Series:
    """The values of a column in plain form; with the name of a file, a ReadError where they are written otherwise."""
    column = series.alias("value")  # whatever it is called
    known = column.drop_nulls().unique()
    plain = form.read(known)
    if name is not None and not _select(known.filter(plain.is_null()), _is_marker(_bare(VALUE))).all():
        what = f'{name}: "{series.name}" is not written as in the first rows of the file'
        raise ReadError(what, hint=f"pass {_verbatim(series.name)}")
    return column.replace_strict(known, plain, default=None, return_dtype=pl.String).alias(series.name)


def parse_block(frame: pl.DataFrame, forms: Forms, found: Mapping[str, ColumnForm], name: str) -> pl.DataFrame:
    """Some rows of a streamed file in the forms that its first rows have; a ReadError where they have others."""
    frame = declare_missing(frame, forms)[0]
    return frame.with_columns([apply_form(form, frame.get_column(column), name) for column, form in found.items()])


def declare_missing(frame: pl.DataFrame, forms: Forms) -> tuple[pl.DataFrame, dict[str, int]]:
    """The frame without the values that were declared missing, and how many there were by column."""
    for column in forms.named():
        if column not in frame.columns:
            hint = did_you_mean(column, frame.columns)
            raise ColumnError(f'the table has no column "{column}"', allowed=", ".join(frame.columns), hint=hint)
    missing, columns = {}, []
    for series in frame.iter_columns() if forms.missing else ():
        markers = [marker.strip() for marker in forms.markers(series.name)]
        gone = printed(series.alias("value")).str.strip_chars().is_in(markers).fill_null(False) if markers else None
        if gone is not None and gone.any():
            missing[series.name] = int(gone.sum())
            columns.append(_select(series, pl.when(~pl.lit(gone)).then(VALUE)))
    return frame.with_columns(columns), missing


def suggest_missing(series: pl.Series) -> list[str]:
    """The values of a column of text that stand for missing ones elsewhere, as they are written."""
    if series.dtype != pl.String:
        return []
    known = series.alias("value").drop_nulls().unique()
    told = known.filter(_select(known, _is_marker(_bare(VALUE)))).to_list()
    return sorted(text for text in told if text.strip().lower() not in ("none", "nil", "nd"))  # may be an answer


@dataclass(frozen=True)
class Look:
    """The forms that all values of a column have; `decides` is the decimal mark, or the order of dates, of the file
    that it is proof of."""

    forms: tuple[ColumnForm, ...] = ()
    decides: str | None = None
    left: str = ""  # why it is text, though it looks like something else


def _looks(frame: pl.DataFrame, texts: Sequence[str]) -> dict[str, Look]:
    """What columns of text can be read as; all at once where a look at each would take long in a wide table."""
    step = max(1, frame.height // SAMPLE)
    some = pl.DataFrame([frame.get_column(name).alias(str(i)) for i, name in enumerate(texts)]).gather_every(step)
    every = pl.all().str
    likely, numbers, whole, grouped = (
        [bool(found) for found in some.select(every.contains(pattern).all()).row(0)] if texts else []
        for pattern in (rf"[0-9]|inf|{MARKER}", NUMBER, INTEGER, GROUPED["comma", "."])
    )
    found: dict[str, Look] = {}
    for i, name in enumerate(texts):
        series = frame.get_column(name)
        plain = whole[i] or (not grouped[i] and not _digits_are_codes(name))
        if step == 1 and numbers[i] and plain:
            look = None if whole[i] else Look(decides="point")
        else:
            look = _look(series.alias("value"), name) if likely[i] and series.count() else None
        found |= {} if look is None else {name: look}
    return found


def _look(series: pl.Series, name: str) -> Look | None:
    """What a column can be read as; None where it is plain, or text. Most are told apart by a sample."""
    step = max(1, len(series) // SAMPLE)
    if step > 1:
        some = _known(series.gather_every(step))
        if not some.str.contains(LOOKS).all():
            return _partly_dates(some)
        if some.len() and some.str.contains(NUMBER).all():
            whole = bool(some.str.contains(r"^[+-]?[0-9]+$").all())
            plain = whole or (not _digits_are_codes(name) and not some.str.contains(GROUPED["comma", "."]).all())
            if plain and _all_numbers(series, whole):
                return None if whole else Look(decides="point")
        elif some.len() and some.str.contains(f"{DATE}|{DATETIME}").all():
            here, every = some.str.len_bytes(), series.str.len_bytes()
            alike = (every.min(), every.max()) == (here.min(), here.max()) and bool(
                (series.str.slice(4, 1) == "-").all()
            )
            if alike and not some.str.contains(STILL).all():
                return None
    every = series.drop_nulls().unique()
    known = _known(every)
    if not known.len() or not known.str.contains(LOOKS).all():
        return _partly_dates(known)
    changed = bool((every.len() > known.len()) or (_select(every, _bare(VALUE)) != every).any())
    if known.str.contains(STILL).all():
        return Look((ColumnForm(order="ymd"),))
    if known.str.contains(DATE).all() or known.str.contains(DATETIME).all():
        return Look((ColumnForm(),) if changed else ())
    return _dates(known, name) or _numbers(known, name, changed) or _partly_dates(known)


def _all_numbers(series: pl.Series, whole: bool) -> bool:
    if whole and series.cast(pl.Int64, strict=False).null_count() == series.null_count():
        return True
    numbers = series.cast(pl.Float64, strict=False)
    return numbers.null_count() == series.null_count() and not numbers.is_nan().any()


def _dates(known: pl.Series, name: str) -> Look | None:
    """The orders of day, month and year in which all values are dates."""
    written = next((order for order, pattern in NAMED.items() if known.str.contains(pattern).all()), None)
    texts = known if written is None else _select(known, _numbered(VALUE, written))
    if texts.null_count() or not texts.str.contains(DAY).all():
        return None
    parts = _select(texts, VALUE.str.extract_groups(DAY)).struct.unnest()
    first, mark, second, again, third, *clock = parts.iter_columns()
    if (mark != again).any() or mark.n_unique() > 1:
        return None
    digits = first.str.len_bytes(), third.str.len_bytes()
    short = written != "ymd" and bool((digits[0] <= 2).all() and (digits[1] == 2).all())
    if short and name_runs(name) & CODE_WORDS:
        return None
    if (digits[0] == 4).all() and (digits[1] <= 2).all():
        orders = ["ymd"]
    elif short or ((digits[0] <= 2).all() and (digits[1] == 4).all()):
        orders = ["dmy", "mdy", "ymd"] if short and mark[0] == "-" else ["dmy", "mdy"]
    else:
        return None
    # a clock that stands still at midnight in all of them is none
    still = (clock[0].fill_null("0").cast(pl.Int64) == 0) & (clock[1].fill_null("00") == "00")
    timed = not (still & clock[2].fill_null("00").str.contains(r"^00([.,]0*)?$") & clock[3].is_null()).all()
    last = date.today().year if short else None
    forms = [
        ColumnForm(order=order, clock=timed, named=written is not None, latest=last)
        for order in ([written] if written else orders)
    ]
    fit = [form for form in forms if not form.read(known).null_count()]
    if not fit:
        return Look(left="it looks like dates, but some of its values are no day of any calendar")
    same = len(fit) > 1 and (first.str.zfill(2) == second.str.zfill(2)).all() and len(fit) < 3
    if same:  # of 01/01/2020 both are the same day
        fit = fit[:1]
    if short and all(_two_centuries(form, known, name) for form in fit):
        return Look(left="its years of two digits may be of two centuries")
    sure = written is None and not same and (len(fit) == 1 or mark[0] == ".")  # nobody writes month.day.year by himself
    return Look(tuple(fit), fit[0].order if sure else None)


def _two_centuries(form: ColumnForm, known: pl.Series, name: str) -> bool:
    """Whether dates lie far apart only because none is taken to lie ahead, as those of plans may, and of births not."""
    if name_runs(name) & BORN or form.latest is None:
        return False
    ahead = replace(form, latest=form.latest + AHEAD)
    years = (one.read(known).str.head(4).cast(pl.Int64).to_numpy() for one in (form, ahead))
    far, near = (int(np.ptp(some)) for some in years)
    return far > SPAN >= 2 * near


def _partly_dates(known: pl.Series) -> Look | None:
    """A note where values are dates in several forms, of which none is that of all; their shapes, not the values."""
    named = _select(known, pl.any_horizontal([VALUE.str.contains(pattern) for pattern in NAMED.values()]))
    parts = _select(known, VALUE.str.extract_groups(DAY)).struct.unnest().with_columns(named.alias("named"))
    first, last = pl.col("1").str.len_bytes(), pl.col("5").str.len_bytes()
    shape = (
        pl.when(pl.col("named")).then(pl.lit(BY_NAME))
        .when((pl.col("2") == pl.col("4")) & (first != 3) & (last != 3))
        .then(
            pl.when(first == 4).then(pl.lit("yyyy")).otherwise(pl.lit("00")) + pl.col("2") + "00" + pl.col("4")
            + pl.when((last == 4) & (first < 4)).then(pl.lit("yyyy")).otherwise(pl.lit("00"))
        )
    )  # fmt: skip
    shapes = parts.select(shape).to_series()
    if not known.len() or shapes.null_count() > PARTLY * known.len() or (shapes.null_count() and known.len() < FEW):
        return None
    found = sorted(shapes.drop_nulls().unique().to_list())
    if shapes.null_count():
        return Look(left="most of its values are dates, and some are not")
    return (
        Look(left=f"its dates are written in several forms ({listed(found)})")
        if len(found) > 1 or found == [BY_NAME]
        else None
    )


def _numbers(known: pl.Series, name: str, changed: bool) -> Look | None:
    """The marks with which all values are numbers."""
    if known.str.contains(NUMBER).all():
        points = known.str.contains(".", literal=True)
        plain = ColumnForm() if changed else None
        if _digits_are_codes(name) and known.str.contains(WHOLE).all():
            return Look((ColumnForm(whole=True),), "point")
        if not points.any() or known.str.contains(r"(?i)[ei]").any():
            return Look((plain,) if plain else ())
        if not known.str.contains(GROUPED["comma", "."]).all() or name_runs(name) & CODE_WORDS:
            return Look((plain,) if plain else (), "point")
        return Look((ColumnForm(decimal="point"), ColumnForm(thousands=".")))
    signed = _select(known, _signed(VALUE))
    front, behind = VALUE.str.extract(rf"^[+-]?\s*({UNIT})", 1), VALUE.str.extract(rf"({UNIT})$", 1)
    units, body = _select(signed, pl.coalesce(front, behind)), _select(signed, _amount(VALUE))
    if not signed.str.contains(SIGNED).all() or name_runs(name) & CODE_WORDS or body.str.contains(ZERO).any():
        return None
    if units.n_unique() > 1:
        return Look(left="its numbers have several units, or some of them none")
    unit = units[0] is not None
    marks = {mark for mark in ".,' " if body.str.contains(mark, literal=True).any()}
    behind_or_brackets = bool((signed != known).any())
    if not marks:
        return Look((ColumnForm(unit=unit, signed=behind_or_brackets),))
    fit: dict[ColumnForm, None] = {}
    for (decimal, thousands), pattern in GROUPED.items():
        if marks <= {DECIMALS[decimal], thousands} and marks >= {*thousands} and body.str.contains(pattern).all():
            mark = decimal if DECIMALS[decimal] in marks else None
            fit[ColumnForm(None, False, mark, thousands, unit, behind_or_brackets)] = None
    proof = {form.decimal_mark for form in fit}
    if not fit and _select(body, pl.any_horizontal([VALUE.str.contains(one) for one in GROUPED.values()])).all():
        return Look(left="its numbers are written in several forms")
    return Look(tuple(fit), proof.pop() if len(proof) == 1 else None) if fit else None


def _digits_are_codes(name: str) -> bool:
    return digits_of(name) != "numbers" and not name_runs(name) & DOTTED


def settle(looks: Mapping[str, Look], forms: Forms, name: str) -> dict[str, ColumnForm]:
    """One form per column: by the option where the values leave it open, else by what the other columns say."""
    proof = {look.decides for look in looks.values()}
    said = proof & {*DECIMALS} if forms.decimal is None else {forms.decimal}
    sure = proof & {"dmy", "mdy"}
    order = forms.dates or (next(iter(sure)) if len(sure) == 1 else None)
    decimal = next(iter(said)) if len(said) == 1 else None
    found: dict[str, ColumnForm] = {}
    for column, look in looks.items():
        fit = look.forms
        if len(fit) > 1 and fit[0].order is not None:
            ways = [form.order for form in fit]
            chosen = next((one for one in (forms.dates, look.decides, order) if one in ways), None)
            fit = tuple(form for form in fit if form.order == chosen)
            if len(fit) != 1:
                firsts = [f"the {PARTS[one[0]]}" for one in ways if one]
                what = f'{name}: the dates in "{column}" can be read with {listed(firsts, "or")} first'
                options = " or ".join(SAID[one.order] for one in look.forms if one.order)
                raise ReadError(what, hint=f"pass {options}, or {_verbatim(column)}")
        elif len(fit) > 1:
            fit = tuple(form for form in fit if form.decimal_mark == decimal)
            if len(fit) != 1:
                what = f'{name}: the numbers in "{column}" have a mark that can be decimal or between thousands'
                raise ReadError(what, hint=f'pass decimal="comma" or decimal="point", or {_verbatim(column)}')
        if fit and fit[0] != ColumnForm(decimal="point"):
            found[column] = fit[0]
    return found


def _verbatim(column: str) -> str:
    return f"verbatim=[{json.dumps(column, ensure_ascii=False)}] to leave them as written"


def _select(series: pl.Series, expression: pl.Expr) -> pl.Series:
    return series.to_frame("value").select(expression).to_series().alias(series.name)  # whatever the column is called


def _known(series: pl.Series) -> pl.Series:
    """The different values of a column, bare and without markers."""
    bare = _select(series, _bare(VALUE)).drop_nulls().unique()
    return bare.filter(~_select(bare, _is_marker(VALUE)))


def _bare(text: pl.Expr) -> pl.Expr:
    """Text without blanks around it, and with one kind of blank, minus and apostrophe."""
    for marks, plain in (("[\u00a0\u2007\u2009\u202f]", " "), ("\u2212", "-"), ("[’´`]", "'")):
        text = text.str.replace_all(marks, plain)
    return text.str.strip_chars()


def _is_marker(text: pl.Expr) -> pl.Expr:
    return text.str.to_lowercase().is_in(list(MARKERS))


def _signed(text: pl.Expr) -> pl.Expr:
    """A number with its sign in front: books write what is owed in brackets, or with the sign behind."""
    return text.str.replace(r"^\((.*)\)$", "-$1").str.replace(r"^([0-9].*)-$", "-$1")


def _amount(text: pl.Expr) -> pl.Expr:
    """The sign and digits of a number, without its unit."""
    return _signed(text).str.replace(SIGNED, "${1}${2}${3}")


def _numbered(text: pl.Expr, order: str) -> pl.Expr:
    """A date with the number of its month in place of the name, and points between."""
    parts = text.str.extract_groups(NAMED[order]).struct
    month = (
        parts.field(str(order.index("m") + 1))
        .str.to_lowercase()
        .replace_strict(MONTHS, default=None, return_dtype=pl.String)
    )
    found = [month if letter == "m" else parts.field(str(place + 1)) for place, letter in enumerate(order)]
    return pl.concat_str(found, separator=".") + parts.field("4").fill_null("")


def _days(values: pl.Series, form: ColumnForm) -> pl.Series:
    """Dates as ISO 8601 writes them; missing where there is no such day."""
    order, clock = form.order or "", form.clock
    values = _select(values, _numbered(VALUE, order)) if form.named else values
    parts = values.str.extract_groups(DAY).struct.unnest()
    at = {letter: pl.col(str(2 * place + 1)) for place, letter in enumerate(order)}
    whole = at["y"].str.len_bytes() == (4 if form.latest is None else 2)
    if form.latest is not None:
        late, year = form.latest % 100, at["y"].cast(pl.Int64, strict=False)
        at["y"] = (year + form.latest - late - 100 * (year > late).cast(pl.Int64)).cast(pl.String)
    hour, minute, second, half = (pl.col(str(place)) for place in (6, 7, 8, 9))
    day = at["y"].str.zfill(4) + "-" + at["m"].str.zfill(2) + "-" + at["d"].str.zfill(2)
    good = whole & day.str.to_date("%Y-%m-%d", strict=False).is_not_null()
    if clock:
        hours, after = hour.fill_null("0").cast(pl.Int64), half.str.to_lowercase() == "p"
        good &= pl.when(half.is_null()).then(hours < 24).otherwise(hours.is_between(1, 12))
        hours = pl.when(half.is_null()).then(hours).otherwise(hours % 12 + 12 * after.cast(pl.Int64))
        minute = minute.fill_null("00")
        second = second.fill_null("00").str.replace(",", ".", literal=True)
        good &= (minute < "60") & (second < "60")
        day = day + "T" + hours.cast(pl.String).str.zfill(2) + ":" + minute + ":" + second
    return parts.select(pl.when(good).then(day)).to_series().alias(values.name)
