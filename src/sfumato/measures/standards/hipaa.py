"""The eighteen identifiers of HIPAA's Safe Harbor, 45 CFR 164.514(b)(2)(i), and the column names that tell them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.names import AMOUNTS, BODY, QUASI, SENSITIVE, WEIGHT
from sfumato.core.printed import printed
from sfumato.core.roles import FEW_VALUES, Reason, last_word, name_runs, reasons
from sfumato.core.wording import percent
from sfumato.engines.memory.table import enter
from sfumato.measures.standards.finding import Objection
from sfumato.measures.standards.values import (
    COMPACT,
    COMPACT_MONTH,
    MONTH,
    age_fault,
    birth_year_fault,
    counted_date,
    date_fault,
    detect,
    short_date,
    zip_fault,
)

TITLES = {
    1: "names",
    2: "geographic subdivisions smaller than a state",
    3: "dates more precise than the year, or ages over 89",
    4: "telephone numbers",
    5: "fax numbers",
    6: "e-mail addresses",
    7: "social security numbers",
    8: "medical record numbers",
    9: "health plan beneficiary numbers",
    10: "account numbers",
    11: "certificate or licence numbers",
    12: "vehicle identifiers and licence plates",
    13: "device identifiers and serial numbers",
    14: "web addresses (URL)",
    15: "network addresses (IP)",
    16: "biometric identifiers",
    17: "full-face photographs and comparable images",
    18: "other unique identifying numbers, characteristics or codes",
}

# Beside the words of role_words.DIRECT, each of which stands here once, those that a health record is known to use.
_NAMES = {
    1: """firstname lastname fullname surname forename givenname familyname middlename maidenname vorname nachname
    familienname prenom nom nomdefamille nombre apellido apellidos nome cognome sobrenome imie nazwisko voornaam
    achternaam fornavn etternavn efternamn fornamn patientname customername personname nickname initials
    physicianname doctorname nextofkin fname lname mname""",
    2: """address streetaddress street strasse anschrift adresse rue direccion calle indirizzo city town municipality
    stadt ort gemeinde wohnort ville commune ciudad citta cidade comune county precinct parish suburb district
    residence hometown neighbourhood neighborhood location latitude longitude lat lon lng geocode geohash birthplace
    censustract censusblock""",
    3: "birthmonth dayofbirth monthofbirth geburtsmonat admissionmonth dischargemonth",
    4: """phone telephone phonenumber mobile mobilenumber cellphone cellnumber tel telefon telefono handy homephone
    workphone""",
    5: "fax faxnumber telefax",
    6: "email mail emailaddress mailadresse courriel correo",
    7: """ssn socialsecurity socialsecuritynumber sin nino nir sozialversicherungsnummer svnr""",
    8: """mrn medicalrecordnumber medicalrecord medrec patientid patid patientnumber patientno chartnumber chartno
    encounterid visitid admissionid hospitalnumber accessionnumber""",
    9: """memberid nhsnumber versichertennummer beneficiary beneficiaryid beneficiarynumber subscriberid
    subscribernumber policynumber policyid insuranceid insurancenumber medicareid medicaidid mbi hicn healthplanid
    healthplannumber""",
    10: """iban bic kontonummer accountnumber accountno accountid account acct acctno acctnumber creditcard
    creditcardnumber cardnumber debitcard bankaccount routingnumber""",
    11: """licence license licensenumber licencenumber driverslicense driverlicense driverslicence certificate
    certificatenumber passport passportnumber passnummer reisepass passeport pasaporte deanumber npi""",
    12: """licenseplate licenceplate numberplate platenumber kennzeichen vin vinnumber vehicleid
    vehicleidentificationnumber""",
    13: """deviceid imei macaddress deviceserial serialnumber serialno udi implantid devicenumber imsi meid""",
    14: "url website webaddress homepage uri",
    15: "ip ipaddress ipaddr ipv4 ipv6",
    16: """signature fingerprint voiceprint biometric biometrics retina irisscan retinascan faceid facialgeometry
    dnasequence""",
    17: "photo photograph picture image portrait selfie faceimage headshot",
    18: """username login nif dni curp cpf personid subjectid customerid userid employeeid studentid nationalid taxid
    steuerid steuernummer uuid guid caseno casenumber caseid claimno claimnumber claimid fallnummer""",
}
NAMES = {word: number for number, words in _NAMES.items() for word in words.split()}
_ZIPS = """zip zipcode zip5 zip3 zip4 zip9 postcode postalcode postal plz postleitzahl codepostal codigopostal cap cep
postnummer"""
_AGES = "age ages alter edad eta idade leeftijd ageyears ageinyears"
_BIRTH_YEARS = "birthyear yearofbirth yob geburtsjahr anneenaissance annonascita anodenacimiento geboortejaar"
_BIRTHS = "birth born dob birthdate birthday geburtsdatum geburtstag geboren naissance nacimiento nascita"
_DAYS = """date dates datum fecha dob dod dt timestamp epoch datetime createdat updatedat birthdate birthday
geburtsdatum sterbedatum todestag"""
_MONTHS = "month months mo mos monat monate mois meses mesi maanden agemonths ageinmonths"
_WEEKS = "week weeks wochen semaines semanas settimane weken gestational"
_SINCE_BIRTH = "day days tage tagen jours dias giorni dagen"
_DATES = """date dates datum fecha data dob birth birthdate birthday geburtsdatum geburtstag naissance nacimiento
nascita admission admitted admit discharge discharged death died deceased dod visit visited encounter appointment
surgery onset entlassung aufnahme sterbedatum todestag besuch deces ingreso alta muerte timestamp"""
ZIPS, AGES, BIRTH_YEARS, BIRTHS, DATES, DAYS = (
    frozenset(words.split()) for words in (_ZIPS, _AGES, _BIRTH_YEARS, _BIRTHS, _DATES, _DAYS)
)
PER_YEAR = {12: frozenset(_MONTHS.split()), 52: frozenset(_WEEKS.split()), 365: frozenset(_SINCE_BIRTH.split())}
_PARTS = "month monat mois mes mese quarter quartal weekday dayofweek wochentag"  # of a date, finer than its year
_CODES = "cpt hcpcs ndc snomed rxnorm rxcui loinc atc drg"  # of what is done or given, not of people
_ABOUT = "size type score count status finding findings result category class population density"
_BODILY = "tumor tumour lesion pain fracture wound injury infection ulcer"
PARTS_OF_DATES, CODES, ABOUT, BODILY = (frozenset(words.split()) for words in (_PARTS, _CODES, _ABOUT, _BODILY))
TOLD = CODES | QUASI | SENSITIVE | AMOUNTS | BODY | WEIGHT  # what a column of numbers may be that is no place


def by_name(column: str) -> int | None:
    """The number of the identifier that the name of a column tells, the longest run of its words deciding; or None.

    >>> by_name("E-Mail_Address"), by_name("LicensePlate"), by_name("patient name"), by_name("country name")
    (6, 12, 1, None)
    """
    found = name_runs(column)
    if last_word(column) in ABOUT:  # the size of a city is no city
        return None
    told = sorted((len(run), NAMES[run]) for run in found if run in NAMES)
    if told:
        return None if told[-1][1] == 2 and found & BODILY else told[-1][1]
    if found == {"month"} or (found & PARTS_OF_DATES and found & DATES):
        return 3
    return 1 if found & {"name", "names"} and not found & (QUASI | SENSITIVE) else None


FLAGS = frozenset({"true", "false", "yes", "no", "y", "n", "0", "1", "ja", "nein", "oui", "non", "si"})
RECORDS = frozenset({"name", "pattern", "text", "key"})  # what names or numbers records; amounts of money do not
MOST = 0.9  # of the values of a column that are nearly all alike
SUPPRESSED = r"^[*xX#?]*$"  # a value that tells nothing any more


def hipaa(data: Any, *, year: int | None = None) -> tuple[Objection, ...]:
    """What stands in the way of Safe Harbor: every column that holds one of the eighteen identifiers.

    A column is found by its name (several languages; the words of `core.roles`), by its values (patterns and check
    digits, dates, ages, ZIP codes), or by both. What is suppressed (`*`, missing) is no finding. Of ZIP codes the first
    three digits may stay, unless 20,000 people or fewer live there; of dates the year; ages over 89 as `>= 90`, and in
    no range that ends above 89. Numbers in columns whose name says nothing are ZIP codes where nearly all have five
    digits, and coordinates where two columns stand side by side that can be. Columns that look as if they numbered or
    named records otherwise are the eighteenth. Findings name columns, never values.

    Parameters
    ----------
    data
        A table: the original, to see what is to do, or a release, to see that it is done.
    year
        The year that years of birth are measured against, to find those of people over 89 (and decades and ranges that
        reach there); not checked unless given.

    Examples
    --------
    >>> table = {"Name": ["Ann", "Bob"], "zip": ["130**", "036**"], "age": [30, 95], "contact": ["a@b.org", "*"]}
    >>> [(f.column, f.identifier, f.how, f.share) for f in hipaa(table)]
    [('Name', 1, 'name', 1.0), ('zip', 2, 'value', 0.5), ('age', 3, 'value', 0.5), ('contact', 6, 'value', 0.5)]

    References
    ----------
    45 CFR 164.514(b)(2); HHS Office for Civil Rights, "Guidance regarding methods for de-identification of protected
    health information", 2012.
    """
    frame = enter(data)[0]
    looks, places = reasons(frame, few_rows=FEW_VALUES), _places(frame)
    found: list[Objection] = []
    for series in frame.iter_columns():
        column = _Column(series)
        if not column.told:
            continue
        mine = _named(column) + _valued(column, year)
        if series.name in places:
            share = column.told / column.rows
            mine.append(column.finding(2, "value", share, "(beside another column they look like coordinates)"))
        look = looks.get(series.name)
        if not mine and look is not None and look.kind == "names" and 2 * len(column.text) >= column.told:
            mine = [column.finding(1, "value", column.told / column.rows, f"({look.why})")]
        if not mine and not column.flag and look is not None and _numbers_records(series.name, look):
            mine = [column.finding(18, "value", column.told / column.rows, f"({look.why})")]
        found += _joined(mine)
    return tuple(found)


def _numbers_records(name: str, look: Reason) -> bool:
    """Whether a column looks as if it numbered or named records, and its name does not say that it has other codes."""
    if look.role != "identifying" or look.kind not in RECORDS or name_runs(name) & CODES:
        return False
    return look.kind != "name" or last_word(name) not in ABOUT


class _Column:
    """The distinct printed values of a column that still tell something, and how often each occurs."""

    def __init__(self, series: pl.Series) -> None:
        self.name, self.rows, self.dtype = series.name, len(series), series.dtype
        counts = printed(series).alias("text").value_counts(name="count")
        counts = counts.filter(pl.col("text").is_not_null() & ~pl.col("text").str.contains(SUPPRESSED))
        self.whole = bool(counts["text"].str.contains(r"^\d+\.0$").any()) and bool(
            counts["text"].str.contains(r"^\d+(?:\.0)?$").all()
        )  # whole numbers that were read as floats
        if self.whole:
            counts = counts.with_columns(pl.col("text").str.strip_suffix(".0"))
        self.text, self.count = counts["text"], counts["count"]
        self.told = int(self.count.sum())
        few = self.text.head(len(FLAGS) + 1).str.to_lowercase().to_list()
        self.flag = set(few) <= FLAGS  # whether there is a telephone is no number of one

    def share(self, fault: Callable[[str], bool], among: str = "") -> float:
        """The share of rows whose value is at fault; only those that match `among` are looked at."""
        some = self.text.str.contains(among)
        hits = pl.Series([fault(text) for text in self.text.filter(some).to_list()], dtype=pl.Boolean)
        return int(self.count.filter(some).filter(hits).sum()) / self.rows

    def finding(self, identifier: int, how: str, share: float, why: str) -> Objection:
        sentence = f'"{self.name}" holds {TITLES[identifier]} {why} in {percent(share)} of the rows.'
        return Objection(self.name, identifier, TITLES[identifier], how, share, sentence.replace("  ", " "))


def _named(column: _Column) -> list[Objection]:
    identifier = by_name(column.name)
    if identifier is None or column.flag or name_runs(column.name) & ZIPS:  # of ZIP codes the digits decide
        return []
    return [column.finding(identifier, "name", column.told / column.rows, "(its name says so)")]


def _valued(column: _Column, year: int | None) -> list[Objection]:
    words, found = name_runs(column.name), []

    def add(identifier: int, share: float, why: str) -> None:
        if share > 0:
            found.append(column.finding(identifier, "value", share, f"({why})"))

    numeric = column.dtype.is_numeric() or column.whole
    if words & ZIPS:
        add(2, column.share(lambda text: zip_fault(text, numeric)), "beyond the first three digits of large areas")
    elif not words & (TOLD | DATES):
        add(2, _five_digits(column), "they look like ZIP codes of five digits")
    if "fips" in words:  # those of states have two digits
        add(2, column.share(lambda text: len(text) > 3, among=r"^\d+$"), "codes of counties or of parts of them")
    if words & AGES:
        often = next((n for n, units in PER_YEAR.items() if words & units), 1)
        add(3, column.share(lambda text: age_fault(text, often)), "ages over 89")
    if words & (BIRTH_YEARS | BIRTHS) and year is not None:
        add(3, column.share(lambda text: birth_year_fault(text, year)), "birth years of people over 89")
    if words & DAYS or max(words, key=len, default="") in DATES:
        add(3, column.share(counted_date, among=r"^\d+(?:\.\d+)?$"), "dates more precise than the year, counted")
        add(3, column.share(short_date, among=r"^[\d/.-]+$"), "dates more precise than the year")
    if bool(column.text.str.contains(r"^\d{6}$").any()):
        compact = column.share(lambda text: COMPACT_MONTH.match(text) is not None, among=r"^\d{6}$")
        most = len(column.text) > 1 and compact * column.rows > MOST * column.told
        add(3, compact if words & DATES or most else 0.0, "dates more precise than the year")
    if bool(column.text.str.contains(r"^\d{8}$").any()):
        compact = column.share(lambda text: COMPACT.match(text) is not None, among=r"^\d{8}$")
        most = 2 * compact * column.rows > column.told  # eight digits are seldom a date by chance
        add(3, compact if words & DATES or most else 0.0, "dates more precise than the year")
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        whole = bool(column.text.str.contains(r"^\d{4}-01-01(?:T00:00:00)?$").all())  # years kept as dates
        add(3, 0.0 if whole else column.told / column.rows, "dates more precise than the year")
    elif not numeric and column.dtype != pl.Boolean:
        add(3, column.share(date_fault, among=r"\d"), "dates more precise than the year")
        months = column.share(lambda text: MONTH.fullmatch(text.strip()) is not None) * column.rows
        several = len(column.text) > 1 and months > MOST * column.told
        add(3, column.told / column.rows if several else 0.0, "months")
    if column.dtype != pl.Boolean and not column.dtype.is_float():
        for detector, share in detect(column.text, column.count):
            add(detector.identifier, share * column.told / column.rows, f"its values look like {detector.what}")
    return found


def _five_digits(column: _Column) -> float:
    """The share of rows with five digits, or four and a mask, where nearly all have them and most are not round."""
    of = int(column.count.filter(column.text.str.contains(r"^\d{5}$|^\d{4}[*xX#]$")).sum())
    round_ones = int(column.count.filter(column.text.str.contains("0$")).sum())
    some = len(column.text) > 1 and of >= MOST * column.told and 2 * round_ones <= column.told
    return of / column.rows if some else 0.0


def _places(frame: pl.DataFrame) -> set[str]:
    """Columns side by side, of latitudes and of longitudes to four decimals or more, whose names say nothing."""
    reach = [_reach(series) for series in frame.iter_columns()]
    sides = [i for i in range(len(reach) - 1) if reach[i] + reach[i + 1] <= 270]  # 90 and 180
    return {frame.columns[j] for i in sides for j in (i, i + 1)}


def _reach(series: pl.Series) -> float:
    """The greatest number of a column that may have latitudes or longitudes; infinite for another."""
    if not (series.dtype.is_float() or series.dtype == pl.String):
        return np.inf
    text = printed(series).drop_nulls()
    text = text.filter(~text.str.contains(SUPPRESSED))
    fine = text.filter(text.str.contains(r"^[-+]?\d{1,3}\.\d{3,}$"))  # a float prints no zeros at its end
    exact = int(fine.str.contains(r"\.\d{4}").sum())
    if len(fine) < max(2, MOST * len(text)) or 2 * exact < len(fine) or name_runs(series.name) & TOLD:
        return np.inf
    size = fine.cast(pl.Float64).abs().to_numpy()
    return float(size.max()) if size.max() <= 180 and np.median(size) > 1 else np.inf


def _joined(found: list[Objection]) -> list[Objection]:
    """One finding per identifier: where name and values agree, the higher share."""
    joined: dict[int, Objection] = {}
    for finding in found:
        other = joined.get(finding.identifier)
        if other is None:
            joined[finding.identifier] = finding
        else:
            how = finding.how if finding.how == other.how else "name and value"
            more = max(finding, other, key=lambda f: f.share)
            joined[finding.identifier] = Objection(
                more.column, more.identifier, more.title, how, more.share, more.sentence
            )
    return list(joined.values())
