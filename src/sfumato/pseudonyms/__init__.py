"""The pseudonyms: steps that replace what tells who somebody is; one file each. A table with them is not anonymous."""

from __future__ import annotations

from sfumato.core.protocols import Masker
from sfumato.core.registry import Registry, Variant
from sfumato.pseudonyms.date_shift import DateShift
from sfumato.pseudonyms.format_preserving import FormatPreserving
from sfumato.pseudonyms.key_file import KeyFile, new
from sfumato.pseudonyms.keyed_tokens import KeyedTokens
from sfumato.pseudonyms.random_tokens import RandomTokens
from sfumato.pseudonyms.rotation import renew, reverse, rotate
from sfumato.pseudonyms.sealed_cells import unseal
from sfumato.pseudonyms.substitution import Substitution

__all__ = [
    "PSEUDONYMS",
    "DateShift",
    "FormatPreserving",
    "KeyFile",
    "KeyedTokens",
    "RandomTokens",
    "Substitution",
    "new",
    "renew",
    "reverse",
    "rotate",
    "unseal",
]

PSEUDONYMS: Registry[Masker] = Registry(
    "pseudonyms",
    "pseudonym",
    (Masker,),
    {
        "keyed-tokens": Variant(KeyedTokens, example=KeyedTokens("patient"), cite="Krawczyk et al. 1997"),
        "random-tokens": Variant(
            RandomTokens, example=RandomTokens("patient", vault="study.vault"), cite="ISO/IEC 20889 2018"
        ),
        "format-preserving": Variant(FormatPreserving, example=FormatPreserving("patient"), cite="Dworkin 2016"),
        "substitution": Variant(Substitution, example=Substitution("surname"), cite="ISO 25237 2017"),
        "date-shift": Variant(DateShift, example=DateShift("admitted", person="patient"), cite="Hripcsak et al. 2016"),
    },
)
