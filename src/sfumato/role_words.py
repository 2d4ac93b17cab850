"""Words and patterns that give a column's role away; read by `sfumato.roles`.

Words of column names stand in lower case, without accents or signs: "Birth-Date" is read as birth, date, birthdate.
"""

from __future__ import annotations

_DIRECT = """
email mail emailaddress mailadresse courriel correo phone telephone phonenumber mobile cellphone tel telefon
telefono handy fax ssn socialsecurity socialsecuritynumber sin nhsnumber nino nif dni curp cpf nir
sozialversicherungsnummer svnr versichertennummer passport passportnumber passnummer reisepass passeport pasaporte
iban bic kontonummer accountnumber creditcard cardnumber firstname lastname fullname surname forename givenname
familyname middlename maidenname username login vorname nachname familienname prenom nom nomdefamille nombre
apellido apellidos nome cognome sobrenome imie nazwisko voornaam achternaam fornavn etternavn efternamn fornamn
address streetaddress street strasse anschrift adresse rue direccion calle indirizzo mrn medicalrecordnumber
patientid patid patientnumber personid subjectid customerid userid employeeid studentid memberid nationalid taxid
steuerid steuernummer licence license licenseplate licenceplate numberplate kennzeichen vin ip ipaddress macaddress
url deviceid imei photo signature fingerprint uuid guid
"""  # points to one person
_SENSITIVE = """
disease diseases illness diagnosis diagnoses diagnose diagnostic diagnostico diagnosi icd icd9 icd10 dx condition
krankheit maladie enfermedad malattia comorbidity symptom symptoms treatment therapy medication drug drugs procedure
hiv aids cancer disability behinderung handicap mentalhealth pregnancy pregnant bloodtype genotype mutation
labresult salary salaryclass income wage wages earnings pay gehalt lohn einkommen salaire revenu revenue sueldo
salario ingreso stipendio reddito debt wealth balance credit creditscore cost costs charge charges kosten cout coste
expenditure expend savings religion confession konfession glaube faith politics politicalparty party union
tradeunion sexualorientation orientation crime conviction offence offense verdict grade grades score outcome
"""  # what people keep private
_QUASI = """
dob birth birthdate birthday dateofbirth birthyear yearofbirth yob geburtsdatum geburtstag geburtsjahr naissance
datenaissance fechanacimiento nacimiento nascita datanascita age ages alter edad eta idade leeftijd agegroup zip
zipcode postcode postalcode postal plz postleitzahl codepostal codigopostal cap cep postnummer sex gender geschlecht
sexe sexo genere sesso genre kjonn kon geslacht race ethnicity ethnic ethnie etnia rasse hautfarbe maritalstatus
marital married familienstand zivilstand etatcivil estadocivil statocivile civilstatus relationship relat household
householdsize hhcivil job jobtitle occupation profession beruf metier emploi ocupacion profesion professione lavoro
workclass employer employment employmentstatus laborstatus labourstatus education educationlevel educationnum
bildung ausbildung schooling degree studies formation educacion istruzione country land pays pais paese nation
nationality nativecountry birthplace birthcountry citizenship staatsangehorigkeit nationalitat nationalite
nacionalidad nazionalita city town municipality stadt ort gemeinde wohnort ville commune ciudad citta cidade comune
county region state province bundesland kanton canton departement provincia district residence urbrur neighbourhood
location latitude longitude lat lon hoursperweek admission admissiondate discharge dischargedate language sprache
langue height bodyheight bodyweight bmi eyecolor haircolor
"""  # what others can know about a person
_WEAK = """
name names id ids identifier number nummer nr no key rowid recordid record index
"""  # names or numbers something, a record unless other words say what
_WEIGHT = """
weight weights wt wgt sampleweight samplingweight surveyweight designweight finalweight personweight householdweight
householdweights hochrechnungsfaktor gewicht poids ponderation fnlwgt afnlwgt perwt hhwt pwgt expansionfactor
"""  # how many people a record stands for
_BODY = """
body birth kg lb lbs height bmi groesse grosse taille
"""  # with these a weight is of a body
_SEXES = """
m f w d male female man woman mann frau maennlich weiblich männlich homme femme hombre mujer masculin féminin
masculino femenino
"""  # values, not names

DIRECT, SENSITIVE, QUASI, WEAK, WEIGHT, BODY, SEXES = (
    frozenset(words.split()) for words in (_DIRECT, _SENSITIVE, _QUASI, _WEAK, _WEIGHT, _BODY, _SEXES)
)

PHONES = "telephone numbers"
PATTERNS = {
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    "account numbers (IBAN)": r"^[A-Z]{2}\d{2} ?(?:[A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}$",
    "network addresses": r"^\d{1,3}(?:\.\d{1,3}){3}$",
    "unique keys (UUID)": r"^(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$",
    "social security numbers": r"^\d{3}-\d{2}-\d{4}$",
    "card numbers": r"^\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{1,7}$",
    "web addresses": r"^https?://",
    PHONES: r"^(?:\+|00|\(?0)[0-9][0-9 ()/.-]{5,}[0-9]$",
}
DATES = "|".join(
    (
        r"^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}",
        r"^\d{1,2}[ .-]+\p{L}{3,9}\.?[ ,.-]+\d{2,4}$",  # 3 March 1999
        r"^\p{L}{3,9}\.? \d{1,2},? \d{4}$",
        r"^\d{4}-\d{2}$|^\d{1,2}/\d{4}$",  # a month
        r"^\d{1,2}:\d{2}(?::\d{2}.*)?$",
    )
)
COMPACT = r"^(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$"
CODES = r"^\p{L}{1,4}[-_ ]?\d[0-9A-Za-z.-]{0,8}(?: \d[A-Za-z]{2})?$"  # of diseases, jobs, places; not digits alone
