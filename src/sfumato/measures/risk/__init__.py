"""Disclosure risk of any table: one measure per file, the table that names them, and the summary behind `sf.risk`."""

from __future__ import annotations

from typing import Any

from sfumato.core.registry import Variant
from sfumato.measures.risk.achievement import achieved
from sfumato.measures.risk.attackers import journalist, marketer, prosecutor
from sfumato.measures.risk.column_subsets import subsets
from sfumato.measures.risk.copied_uniques import copied_uniques, repeats
from sfumato.measures.risk.disco import disco
from sfumato.measures.risk.individual_risk import household, individual
from sfumato.measures.risk.interval_window import interval_disclosure
from sfumato.measures.risk.log_linear_risk import log_linear
from sfumato.measures.risk.nearest_record import nearest_record
from sfumato.measures.risk.replicated_uniques import replicated_uniques
from sfumato.measures.risk.suda import suda, suda_attributes, suda_risk
from sfumato.measures.risk.summary import assessed, risk_summary
from sfumato.measures.risk.synthetic_membership import likely_but_absent, synthetic_membership
from sfumato.measures.risk.uniqueness import population_uniqueness, sample_uniqueness, unique_in_population
from sfumato.measures.risk.unsafe import minimum_unsafe, unsafe_share

__all__ = [
    "RISKS",
    "achieved",
    "assessed",
    "copied_uniques",
    "disco",
    "household",
    "individual",
    "interval_disclosure",
    "journalist",
    "likely_but_absent",
    "log_linear",
    "marketer",
    "minimum_unsafe",
    "nearest_record",
    "population_uniqueness",
    "prosecutor",
    "repeats",
    "replicated_uniques",
    "risk_summary",
    "sample_uniqueness",
    "subsets",
    "suda",
    "suda_attributes",
    "suda_risk",
    "synthetic_membership",
    "unique_in_population",
    "unsafe_share",
]

# The example of a measure is what it is asked, beside the table.
_QUASI = {"quasi": ["age", "zip", "sex"]}
_SYNTHETIC = {"synthetic": "synthetic.csv", "hold_out": "hold_out.csv"}
RAAB = "Raab, Nowok, Dibben 2024"
RISKS: dict[str, Variant[Any]] = {
    "prosecutor": Variant(prosecutor, example=_QUASI, cite="El Emam 2013"),
    "journalist": Variant(journalist, example=_QUASI, cite="El Emam 2013"),
    "marketer": Variant(marketer, example=_QUASI, cite="El Emam 2013"),
    "sample-uniqueness": Variant(sample_uniqueness, example=_QUASI, cite="Skinner, Marsh, Openshaw, Wymer 1994"),
    "population-uniqueness": Variant(
        population_uniqueness,
        example=_QUASI | {"sampling_fraction": 0.01, "model": "dankar"},
        cite="Dankar, El Emam, Neisa, Roffey 2012",
    ),
    "unique-in-population": Variant(
        unique_in_population, example=_QUASI | {"population": "population.csv"}, cite="Skinner and Elliot 2002"
    ),
    "individual": Variant(individual, example=_QUASI | {"weight": "weight"}, cite="Benedetti and Franconi 1998"),
    "household": Variant(
        household, example=_QUASI | {"weight": "weight", "household": "household"}, cite="Franconi and Polettini 2004"
    ),
    "log-linear": Variant(log_linear, example=_QUASI | {"sampling_fraction": 0.01}, cite="Skinner and Shlomo 2008"),
    "suda": Variant(suda, example=_QUASI | {"sampling_fraction": 0.01}, cite="Manning, Haglin, Keane 2008"),
    "minimum-unsafe": Variant(minimum_unsafe, example=_QUASI, cite="Willenborg and de Waal 1996"),
    "subsets": Variant(subsets, example=_QUASI | {"up_to": 3}, cite="Motwani and Xu 2007"),
    "interval-disclosure": Variant(
        interval_disclosure,
        example={"released": "released.csv", "columns": ["age"], "rank": 10, "sd": 0.1},
        cite="Mateo-Sanz, Sebé, Domingo-Ferrer 2004",
    ),
    "achieved": Variant(
        achieved,
        example=_QUASI | {"sensitive": ["disease"]},
        cite="Machanavajjhala et al. 2007; Li, Li, Venkatasubramanian 2007; Cao and Karras 2012",
    ),
    "copied-uniques": Variant(copied_uniques, example=_SYNTHETIC, cite="Nowok, Raab, Dibben 2017"),
    "replicated-uniques": Variant(replicated_uniques, example=_SYNTHETIC | _QUASI, cite=RAAB),
    "disco": Variant(disco, example=_SYNTHETIC | _QUASI | {"target": "disease"}, cite=RAAB),
    "nearest-record": Variant(nearest_record, example=_SYNTHETIC, cite="Platzer and Reutterer 2021; Gower 1971"),
    "synthetic-membership": Variant(
        synthetic_membership, example=_SYNTHETIC, cite="Hayes, Melis, Danezis, De Cristofaro 2019; DeLong et al. 1988"
    ),
    "likely-but-absent": Variant(likely_but_absent, example=_SYNTHETIC, cite="Hayes et al. 2019; DeLong et al. 1988"),
}
