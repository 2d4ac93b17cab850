"""Messages of the library in the words of the shell: flags in place of Python."""

from __future__ import annotations

import re

# what messages of the library say to Python, and what that is in the shell; the first that fits comes first
PHRASES: dict[str, str] = {
    r'\bgive bounds=\{"wage": \(0, 9000\)\} and auditing="offline"': (
        'state bounds.wage = [0, 9000] and auditing = "offline" in [control]'
    ),
    r'\bgive auditing="offline", or ask with noise: sf\.dp': (
        'state auditing = "offline" in [control], or ask with noise: --epsilon'
    ),
    r'\bor give auditing="offline"': 'or state auditing = "offline" in [control]',
    r"\bor overwrite it\b": "or give --overwrite",
    r"\ba quantile is asked with noise: sf\.dp": "a quantile is asked with noise: --epsilon",
    r'\bsearch="([a-z-]+)"': r"--search \1",
    r"\bgive population, or take the prosecutor\b": "give --population, or leave --attacker out",
    r"\bleave search out\b": "leave --search out",
    r'\brow_key=\["id"\]': "--row-key id",
    r'\bperson="((?:[^"\\]|\\.)*)" counts people': r'--person "\1" counts people',
    r'\bto="out/"': "-o out/",
    r"\bi_know=True": "--i-know",
    r'\bstate a delta for the session, and accounting="zcdp"': "give --budget-delta and --accounting zcdp",
    r"\bleave the account out": "leave --ledger out",
    r'\bbounds=\{"([^"]*)": \(least, greatest\)\}': r"--bounds \1=LEAST:GREATEST",
    r'\bkeys=\{"([^"]*)": \["a", "b"\]\}': r"--keys \1=a,b",
    r"\bleave levels out\b": "leave --levels out",
    r"\bleave internal_report out\b": "leave --internal-report out",
    r"\bleave encoding= out\b": "leave --encoding out",
    r'\buse by="tables"': 'use --search "samarati by=tables"',
    r'\buse rule="value"': 'use --search "minimal-suppression rule=value"',
    r'\bminimal-suppression with rule="value"': '"minimal-suppression rule=value"',
    r'\bends="exact"': "--ends exact",
    r"\bmax_cells=([\d,]+)": r"--max-cells \1",
    r"\ballow more max_cells\b": "give more --max-cells",
    r"\brequire=\[sf\.KAnonymity\(10\)\]": "--k 10",
    r"measure a sample, as in table\.sample\(100_000\), or read the table into memory, as in sf\.read\(path\)": (
        "measure one file of it, or a sample that fits into memory"
    ),
    r"\bpass an open ADBC connection": "export the table to a file: other databases are reached from Python alone",
    r', ("sqlite:///path"), or an open connection of duckdb or ADBC': r" or \1",
    r"\bpass separator= or quote= for others, or skip=": "give --separator or --quote for others, or --skip",
    r'\bdates="([dmy]{3})"': r"--dates \1",
    r'\bdecimal="comma" or decimal="point"': "--decimal comma or --decimal point",
    r'\bverbatim=\[("(?:[^"\\]|\\.)*")\]': r"--verbatim \1",
    r'\bhierarchies=\{"((?:[^"\\]|\\.)*)": "(learned|flat)"\}': r'--hierarchy "\1=\2"',
    r"\bpass (--dates|--decimal|--verbatim)": r"give \1",
    r'\bpass sheet="\.\.\."': "give --sheet",
    r"\bpass header=False\b": "give --no-header",
    r'\bpass encoding="(\S+)"': r"give --encoding \1",
    r'\bpass encoding=, for example "(\S+)"': r"give --encoding, for example --encoding \1",
    r'\bpass format=, for example format="csv"': (
        'rename the file, or write format = "csv" into [input] of a policy file'
    ),
    r"\bpass the table itself, with the folder of its manifest": "verify it from Python, where its rows are",
    r"\bgive rows \(the original row number of each released row\), or key \(a column in both\)": (
        "give --key, a column in both"
    ),
    r'\bpass truth, as in truth=\("id", "id"\)': "give --key, a column in both that tells who is who",
    r'quasi=\["age", "zip"\], or --quasi age,zip': "--quasi age,zip",
    r'one column or more, as in \["age", "(?:zip|income)"\]': "one column or more, as in --quasi age,zip",
    r"\bup_to=3 \(suda=3 of sf\.risk, --suda-up-to 3\)": "--suda-up-to 3",
    r"\bgive a smaller up_to\b": "give a smaller --subsets",
    r"population_size=(\d+) or sampling_fraction=(\S+)": r"--population \1 or --sampling-fraction \2",
    r"\bverify without wildcard\b": "verify without --wildcard",
    r"\ba recipe such as intervals\(5, 10\), a Hierarchy, a file name or a table": (
        "a table such as { intervals = [5, 10] }, or the name of a file"
    ),
    r"\bcall it, as in flat\(\)": "write it as { flat = true }",
    r"\bnormalise must be True or list columns": "--normalise takes columns, or * for all",
    r"--new-key, or sfumato\.new_key": "--new-key",
    r"\bsf\.suggest\(release\) names one, unprotected=\[(.*?)\] accepts that": (
        r"--suggest names one and its cost, --unprotected \1 accepts that"
    ),
    r'\bchanged="keep"': "--changed keep",
    r'\btake block="suppressive"': "take --block suppressive",
    r'\bsingletons="encrypt"': "--singletons encrypt",
    r"\badd sf\.KAnonymity\(10\)": "add --k 10",
    r'\bperson="patient"': "--person patient",
    r'\boriginal=\[\.\.\.\], person="id"': "--original and --person",
    r"\breleases=\[first, second\]": "--releases first/ second/",
    r"\bread the table into memory, as in sf\.read\(path\), or a sample of its people": (
        "take one file that fits into memory, or a sample of the people"
    ),
    r"\bread it with sf\.read, (?=or take a search)": "take one file that fits into memory, ",
    r"\bread it with sf\.read, and pass the frame": "take one file that fits into memory",
    r'\btabulate with (record|request)="column"': r"give --\1 COLUMN",
    r"\(zero_restricted=False\)": '(--method "controlled-rounding zero_restricted=false")',
    r"\btake exact=False": 'give --method "controlled-rounding exact=false"',
    r"\bbounds are of SumAuditing\(interval=\.\.\.\)": "bounds are of sum-auditing with an interval",
    r"\bin files or by sf\.wide": "in files",
    r", as by exact": ", as by --method exact",
    r"\bsf\.TableSet\(\[sf\.tabulate\(.*\)\]\)": "give each its [[tables]]",
    r"\blevels= says which are published": "--levels says which are published",
    r"\bsf\.tabulate\(data, by=\[\.\.\.\]\) makes one": "sfumato tables make counts one",
    r"\brules=sf\.MinimumFrequency\(3\)": '--rule "minimum-frequency 3"',
    r'=\[\{"': ' = [{ "',
    r'(?<= = \[\{ )"([^"]*)": "\.\.\."\}\]': r'\1 = "..." }] under [protect] of a policy file',
}
MODEL = re.compile(r"\b([A-Z]\w+)(?= asks for classes of at least)")


def in_flags(message: str) -> str:
    """A message of the library with flags in place of Python.

    >>> in_flags('use search="optimal", or allow more max_cells')
    'use --search optimal, or give more --max-cells'
    """
    for python, shell in PHRASES.items():
        message = re.sub(python, shell, message)
    message = re.sub(r"(?<=--max-cells )[\d,]+", lambda found: found[0].replace(",", ""), message)
    return MODEL.sub(_model, message)


def _model(found: re.Match[str]) -> str:
    """The name that --require knows for a class of the library."""
    from sfumato.core.registry import variant_name
    from sfumato.criteria import CRITERIA

    name = variant_name(found[0])
    return name if name in CRITERIA else found[0]
