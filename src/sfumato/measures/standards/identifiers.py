"""The eighteen identifiers of HIPAA's Safe Harbor, 45 CFR 164.514(b)(2)(i), and the column names that tell them."""

from __future__ import annotations

from sfumato.role_words import QUASI, SENSITIVE
from sfumato.roles import name_runs

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
    physicianname doctorname nextofkin""",
    2: """address streetaddress street strasse anschrift adresse rue direccion calle indirizzo city town municipality
    stadt ort gemeinde wohnort ville commune ciudad citta cidade comune county precinct parish suburb district
    residence neighbourhood neighborhood location latitude longitude lat lon lng geocode geohash birthplace
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
    10: """iban bic kontonummer accountnumber accountno accountid account creditcard creditcardnumber cardnumber
    debitcard bankaccount routingnumber""",
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
    steuerid steuernummer uuid guid""",
}
NAMES = {word: number for number, words in _NAMES.items() for word in words.split()}
_ZIPS = """zip zipcode zip5 zip3 postcode postalcode postal plz postleitzahl codepostal codigopostal cap cep
postnummer"""
_AGES = "age ages alter edad eta idade leeftijd ageyears ageinyears"
_BIRTH_YEARS = "birthyear yearofbirth yob geburtsjahr anneenaissance"
_DATES = """date dates datum fecha data dob birth birthdate birthday geburtsdatum geburtstag naissance nacimiento
nascita admission admitted admit discharge discharged death died deceased dod visit visited encounter appointment
surgery onset entlassung aufnahme sterbedatum todestag besuch deces ingreso alta muerte timestamp"""
ZIPS, AGES, BIRTH_YEARS, DATES = (frozenset(words.split()) for words in (_ZIPS, _AGES, _BIRTH_YEARS, _DATES))


def by_name(column: str) -> int | None:
    """The number of the identifier that the name of a column tells, the longest run of its words deciding; or None.

    >>> by_name("E-Mail_Address"), by_name("LicensePlate"), by_name("patient name"), by_name("country name")
    (6, 12, 1, None)
    """
    found = name_runs(column)
    told = sorted((len(run), NAMES[run]) for run in found if run in NAMES)
    if told:
        return told[-1][1]
    if found == {"month"}:
        return 3
    return 1 if found & {"name", "names"} and not found & (QUASI | SENSITIVE) else None
