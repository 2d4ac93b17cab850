"""Words with an order and codes with prefixes: what the values of a column themselves say about how to group them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np

from sfumato.core.label_grammar import NUMBER, read_range
from sfumato.hierarchies.similar import MOST_VALUES

# One scale a line; ranks in order, each with its words in English, German and Italian.
_SCALES = """
none/no/keine/kein/nessuno/nessuna/assente, minimal/minimale, mild/slight/leicht/lieve/leggero, moderate/moderat/massig/mittel/moderato, severe/schwer/grave/severo, very severe/sehr schwer/molto grave, critical/kritisch/critico, fatal/todlich/fatale
none/no/keine/nessuno, very low/sehr niedrig/sehr gering/molto basso/molto bassa, low/niedrig/gering/basso/bassa, medium/mid/middle/average/intermediate/normal/mittel/medio/media/normale, high/hoch/alto/alta, very high/sehr hoch/molto alto/molto alta, extreme/extrem/estremo
xxs, xs/extra small, s/small/klein/piccolo/piccola, m/medium/mittel/medio/media, l/large/big/gross/grande, xl/extra large/sehr gross/molto grande, xxl, xxxl
january/jan/januar/janner/gennaio/gen, february/feb/februar/febbraio, march/mar/marz/mrz/marzo, april/apr/aprile, may/mai/maggio/mag, june/jun/juni/giugno/giu, july/jul/juli/luglio/lug, august/aug/agosto/ago, september/sep/sept/settembre/set, october/oct/oktober/okt/ottobre/ott, november/nov/novembre, december/dec/dezember/dez/dicembre/dic
monday/mon/montag/mo/lunedi/lun, tuesday/tue/tues/dienstag/di/martedi/mar, wednesday/wed/mittwoch/mi/mercoledi/mer, thursday/thu/thur/thurs/donnerstag/do/giovedi/gio, friday/fri/freitag/fr/venerdi/ven, saturday/sat/samstag/sonnabend/sa/sabato/sab, sunday/sun/sonntag/so/domenica/dom
strongly disagree/disagree strongly/stimme uberhaupt nicht zu/stimme gar nicht zu/per niente d accordo/totalmente in disaccordo, disagree/stimme nicht zu/lehne ab/in disaccordo/poco d accordo, somewhat disagree/slightly disagree/stimme eher nicht zu, neutral/neither agree nor disagree/neither/undecided/teils teils/unentschieden/neutrale/ne d accordo ne in disaccordo/indeciso, somewhat agree/slightly agree/stimme eher zu/abbastanza d accordo, agree/stimme zu/d accordo, strongly agree/agree strongly/stimme voll zu/stimme voll und ganz zu/molto d accordo/totalmente d accordo
never/nie/niemals/mai, rarely/seldom/selten/raramente, sometimes/occasionally/manchmal/gelegentlich/a volte/qualche volta, often/frequently/oft/haufig/spesso, very often/sehr oft/molto spesso, always/immer/sempre
daily/taglich/giornaliero, weekly/wochentlich/settimanale, monthly/monatlich/mensile, quarterly/vierteljahrlich/trimestrale, yearly/annually/annual/jahrlich/annuale
very dissatisfied/sehr unzufrieden/molto insoddisfatto, dissatisfied/unzufrieden/insoddisfatto, neutral/neither/weder noch/neutrale, satisfied/zufrieden/soddisfatto, very satisfied/sehr zufrieden/molto soddisfatto
very poor/very bad/sehr schlecht/pessimo, poor/bad/schlecht/cattivo/scarso, fair/average/mittelmassig/discreto/mediocre, good/gut/buono, very good/sehr gut/molto buono, excellent/outstanding/ausgezeichnet/ottimo/eccellente
sehr gut, gut, befriedigend, ausreichend, mangelhaft, ungenugend
insufficiente, sufficiente, discreto, buono, distinto, ottimo
a+, a, a-, b+, b, b-, c+, c, c-, d+, d, d-, e, f
never/nie/mai/never smoker/nieraucher/mai fumatore, former/ex/former smoker/ehemaliger raucher/ex raucher/ex fumatore, current/current smoker/smoker/raucher/fumatore
baby/infant/saugling/neonato, child/kind/bambino, teenager/adolescent/jugendlicher/adolescente, young adult/junger erwachsener/giovane adulto, adult/erwachsener/adulto, middle aged, senior/elderly/old/senioren/anziano
none/no schooling/illiterate/kein abschluss/ohne abschluss/nessun titolo/analfabeta, preschool/kindergarten/vorschule/scuola materna, 1st 4th/primary/primary school/elementary/elementary school/grundschule/scuola elementare/licenza elementare/scuola primaria, 5th 6th, 7th 8th/middle school/lower secondary/hauptschule/hauptschulabschluss/volksschule/scuola media/licenza media, 9th, 10th/realschule/realschulabschluss/mittlere reife, 11th, 12th, hs grad/high school/high school graduate/secondary/secondary school/upper secondary/fachabitur/abitur/gymnasium/matura/maturita/diploma/diploma superiore/scuola superiore, vocational/apprenticeship/lehre/ausbildung/berufsausbildung/formazione professionale, some college/fachschule, assoc voc/associate voc, assoc acdm/associate/associate degree/associates, bachelor/bachelors/bachelor s/bachelor degree/undergraduate/college/laurea/laurea triennale, master/masters/master s/master degree/graduate/postgraduate/diplom/magister/universitat/university/laurea magistrale, prof school/professional degree, doctorate/phd/doctoral/doctor/promotion/doktorat/dottorato
"""  # noqa: E501
_OTHERS = "unknown, other, others, unbekannt, andere, sonstige, keine angabe, na, n a, sconosciuto, altro, non noto"
OTHERS = frozenset(_OTHERS.split(", "))
SEVERAL = 3  # ranks that make an order
MANY_CODES = 10  # different values before they count as codes
FEWER = 1.5  # times as many groups below a level of prefixes
MOST_ROWS = 0.95  # that say whether texts are codes
CODE = re.compile(r"(?!9+([./-])9+\1(?:99){1,2}$)(?=.*9)[A9./_-]+")  # no 16.10.1961, whose first digits say the least
ICD = re.compile(r"[A-Z][0-9][0-9A-Z](?:\.[0-9A-Z]{1,4})?")
ICD_WIDTH = 8  # the longest code of ICD-10-CM, with its dot


def plain_word(text: str) -> str:
    """A word in one spelling: small letters, without accents and signs; plus and minus stay after a letter.

    >>> plain_word("Täglich"), plain_word("Strongly-Disagree"), plain_word("B+")
    ('taglich', 'strongly disagree', 'b+')
    """
    letters = unicodedata.normalize("NFKD", text.replace("ß", "ss").casefold())
    plain = "".join(c for c in letters if not unicodedata.combining(c)).strip()
    if re.fullmatch(r"[a-f][+-]", plain):
        return plain
    return re.sub("[^a-z0-9]+", " ", plain).strip()


@cache
def scales() -> list[dict[str, int]]:
    """The rank of each word, scale by scale."""
    lines = [line.split(", ") for line in _SCALES.strip().splitlines()]
    return [{word: rank for rank, words in enumerate(line) for word in words.split("/")} for line in lines]


def word_order(texts: Sequence[str], digits: str = "numbers") -> list[int] | None:
    """The places of texts in the order of what they say, where all but a word for other values are of one scale.

    Codes have none: with `digits` other than numbers, whole numbers are not in the order of these.

    >>> word_order(["high", "low", "medium"]), word_order(["65+", "20-29", "<20"]), word_order(["bus", "car", "tram"])
    ([1, 2, 0], [2, 1, 0], None)
    """
    words = [plain_word(text) for text in texts]
    for scale in scales():
        ranks = {scale[word] for word in words if word in scale}
        if (
            len(ranks) >= SEVERAL
            and max(map(len, words)) > 1
            and all(word in scale or word in OTHERS for word in words)
        ):
            return sorted(range(len(texts)), key=lambda i: (scale.get(words[i], len(scale)), texts[i]))
    ends = [_ends(text) if digits == "numbers" or not text.isdecimal() else None for text in texts]
    known = [pair for pair in ends if pair is not None]
    if len(set(known)) >= SEVERAL and all(pair or word in OTHERS for pair, word in zip(ends, words, strict=True)):
        last = (float("inf"), float("inf"))
        return sorted(range(len(texts)), key=lambda i: (ends[i] or last, texts[i]))
    return None


def _ends(text: str) -> tuple[float, float] | None:
    """The ends of a range of numbers, as 20-29, <20, 65+ or 20 to 29 years; those of a number are itself."""
    bare = re.sub(r"\s*(years|yrs|jahre|anni|and over|and older|und alter|und älter)\s*$", "", text.strip().casefold())
    bare = bare + "+" if re.search(r"(and over|and older|und älter|e oltre)\s*$", text.casefold()) else bare
    if NUMBER.match(bare):
        return float(bare), float(bare)
    found = read_range(bare)
    if found is None or any(end is not None and not NUMBER.match(end) for end in (found.low, found.high)):
        return None
    low = float("-inf") if found.low is None else float(found.low)
    return low, float("inf") if found.high is None else float(found.high)


def codes_of(texts: Sequence[str], count: Sequence[int] | np.ndarray, digits: str = "numbers") -> list[str] | None:
    """Texts that are codes of one pattern, as A123 or 08012, or diagnoses of ICD-10, whose prefixes say something.

    None where they are not. `count` is how many rows have each: what 95% of the rows have decides, for a few others may
    be suppressed, and their values shall not show in the form of all labels. `digits` are those of whole numbers:
    postcodes get the leading zeros back that they lost as numbers, and many codes may have several lengths.

    >>> codes_of(["1067", "10115", *(f"802{i}" for i in range(10))], [1] * 12, "postcodes")[:3]
    ['01067', '10115', '08020']
    >>> codes_of([f"flat {i}" for i in range(20)], [1] * 20) is None
    True
    """
    if len(texts) < (SEVERAL if digits == "postcodes" else MANY_CODES):
        return None
    rows = np.asarray(count, np.float64)[: len(texts)]
    most = MOST_ROWS * rows.sum()
    texts = _filled(texts, rows) if digits == "postcodes" else list(texts)
    if are_diagnoses(texts, rows):
        return texts
    forms: dict[str, float] = {}
    for text, n in zip(texts, rows.tolist(), strict=True):
        form = re.sub("[0-9]", "9", re.sub("[A-Za-z]", "A", text))
        forms[form] = forms.get(form, 0.0) + n
    width = _width(texts, rows)
    fitting = sum(n for form, n in forms.items() if len(form) == width and CODE.fullmatch(form))
    fits = 3 <= width <= 16 and fitting >= most and max(forms.values()) >= 0.9 * rows.sum()
    several = digits == "codes" and len(texts) > MOST_VALUES
    whole = sum(n for form, n in forms.items() if not form.strip("9"))
    return texts if fits or (several and whole >= most) else None


def are_diagnoses(texts: Sequence[str], rows: np.ndarray) -> bool:
    """Whether nearly all rows have codes of ICD-10, most with a dot."""
    codes = sum(n for text, n in zip(texts, rows.tolist(), strict=True) if ICD.fullmatch(text))
    dots = sum(n for text, n in zip(texts, rows.tolist(), strict=True) if "." in text)
    return bool(codes >= MOST_ROWS * rows.sum() and dots > rows.sum() / 2)


def _width(texts: Sequence[str], rows: np.ndarray) -> int:
    """The length that most rows have."""
    return int(np.bincount(np.array([len(text) for text in texts]), weights=rows).argmax())


def _filled(texts: Sequence[str], rows: np.ndarray) -> list[str]:
    """Digits with zeros in front up to the longest of which there are not just a few rows."""
    often = np.bincount(np.array([len(text) for text in texts]), weights=rows)
    width = int(np.flatnonzero(often > (1 - MOST_ROWS) * rows.sum()).max(initial=0))
    return [text.zfill(width) if text.isdecimal() else text for text in texts]


def prefix_levels(texts: Sequence[str], count: Sequence[int] | np.ndarray, groups: int) -> list[list[str]]:
    """The labels of codes by their prefixes, finest level first: 080**, 08***. Those of ICD-10 cross no chapter.

    A level has at most so many `groups`, and clearly fewer than the one below. A text that is longer or shorter than
    most rows have it keeps its length, and so meets none of the others.
    """
    rows = np.asarray(count, np.float64)[: len(texts)]
    diagnoses = are_diagnoses(texts, rows)
    width = ICD_WIDTH if diagnoses else _width(texts, rows)
    levels, below = [], len(set(texts))
    for shown in range((3 if diagnoses else width - 1), 0, -1):
        # the letters D and H have two chapters each, which part at the second character
        labels = [
            text[: max(shown, 1 + (diagnoses and text[0] in "DH"))].ljust(
                ICD_WIDTH if diagnoses and ICD.fullmatch(text) else len(text), "*"
            )
            for text in texts
        ]
        groups_here = len(set(labels))
        if 1 < groups_here <= groups and groups_here * FEWER <= below:
            levels.append(labels)
            below = groups_here
    return levels
