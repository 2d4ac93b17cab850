"""Words of column names, in several languages, and what they say.

They stand in lower case, without accents or signs: "Birth-Date" is read as birth, date, birthdate.
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
langue height bodyheight bodyweight bmi eyecolor haircolor isco isco08 nace isced nuts nuts1 nuts2 nuts3 ags fips istat
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

_POSTCODES = """
zip zipcode zipcodes postcode postcodes postalcode postal plz postleitzahl codepostal codigopostal cep postnummer npa
"""  # their digits are no amounts
_CODE_NAMES = """
code codes coded kode codice codici codigo cod schluessel schlussel kennziffer icd icd9 icd10 atc loinc drg isco isco08
isic nace ateco wz2008 nuts ags fips istat naics sic soc blz bic sku phone telephone telefon telefono telefonnummer
phonenumber telephonenumber mobilenumber handynummer fax faxnumber
"""  # nor are these
_CATEGORIES = """
sex gender geschlecht sesso race ethnicity ethnic religion nationality citizenship country region province provincia
kanton canton district county state municipality gemeinde comune marital maritalstatus civil civilstatus familienstand
relation relationship relat occupation profession job beruf professione industry sector branche department abteilung
reparto ward station type kind category art typ tipo
"""  # nor are whole numbers for these
_AMOUNTS = """
count counts anzahl numero minutes seconds hours days months years year age alter eta calls lines length size width
height amount total sum sums mean average avg median min max share rate ratio percent pct density distance km population
income salary price cost costs bill score points rank lat lon latitude longitude
"""  # beside these, a number is of something in the place or of the kind that the name says
_ITALIAN = """
residenza nascita domicilio comune citta codice lavoro azienda indirizzo provincia paziente cliente spedizione
"""  # of Italian names: cap is a postcode beside these or alone; the market cap is none

DIRECT, SENSITIVE, QUASI, WEAK, WEIGHT, BODY, SEXES = (
    frozenset(words.split()) for words in (_DIRECT, _SENSITIVE, _QUASI, _WEAK, _WEIGHT, _BODY, _SEXES)
)
POSTCODES, CODE_NAMES, CATEGORIES, AMOUNTS, ITALIAN = (
    frozenset(words.split()) for words in (_POSTCODES, _CODE_NAMES, _CATEGORIES, _AMOUNTS, _ITALIAN)
)
