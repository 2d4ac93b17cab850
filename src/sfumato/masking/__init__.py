"""The maskers: steps that change values, so that a table no longer shows whose they were; one file each."""

from __future__ import annotations

from sfumato.core.protocols import Masker
from sfumato.core.registry import Registry, Variant
from sfumato.masking.additive_noise import AdditiveNoise
from sfumato.masking.correlated_noise import CorrelatedNoise
from sfumato.masking.dp_microaggregation import DPMicroaggregation
from sfumato.masking.generalisation import Generalisation
from sfumato.masking.global_recoding import GlobalRecoding
from sfumato.masking.lossy_compression import LossyCompression
from sfumato.masking.massc import MASSC
from sfumato.masking.multiplicative_noise import MultiplicativeNoise
from sfumato.masking.multivariate_top_coding import MultivariateTopCoding
from sfumato.masking.outlier_noise import OutlierNoise
from sfumato.masking.pram import Pram
from sfumato.masking.rank_swapping import RankSwapping
from sfumato.masking.record_swapping import RecordSwapping
from sfumato.masking.resampling import Resampling
from sfumato.masking.restricted_noise import RestrictedNoise
from sfumato.masking.risk_suppression import RiskSuppression
from sfumato.masking.romm import ROMM
from sfumato.masking.rounding import Rounding
from sfumato.masking.sampling import Sampling
from sfumato.masking.shuffling import Shuffling
from sfumato.masking.swapping import Swapping
from sfumato.masking.top_bottom_coding import TopBottomCoding
from sfumato.search.microaggregation import MICROAGGREGATIONS

__all__ = ["MASKERS", "Rounding"]

MASKERS: Registry[Masker] = Registry(
    "maskers",
    "masker",
    (Masker,),
    {
        "pram": Variant(
            Pram, example=Pram(invariant=True), cite="Gouweleeuw, Kooiman, Willenborg and de Wolf 1998", words="PRAM"
        ),
        "additive-noise": Variant(AdditiveNoise, example=AdditiveNoise(share=0.2), cite="Kim 1986"),
        "correlated-noise": Variant(
            CorrelatedNoise, example=CorrelatedNoise(share=0.2), cite="Kim 1986; Tendick and Matloff 1994"
        ),
        "romm": Variant(ROMM, example=ROMM(p=0.2), cite="Ting, Fienberg and Trottini 2008", words="ROMM"),
        "outlier-noise": Variant(OutlierNoise, example=OutlierNoise(), cite="Templ and Meindl 2008"),
        "multiplicative-noise": Variant(
            MultiplicativeNoise,
            example=MultiplicativeNoise(kind="two-sided", a=0.1, b=0.2),
            cite="Kim and Winkler 2003",
        ),
        "resampling": Variant(
            Resampling, example=Resampling(t=3), cite="Heer 1993; Domingo-Ferrer and Mateo-Sanz 1999"
        ),
        "lossy-compression": Variant(
            LossyCompression, example=LossyCompression(keep=0.01), cite="Domingo-Ferrer and Torra 2001"
        ),
        "shuffling": Variant(Shuffling, example=Shuffling(), cite="Muralidhar and Sarathy 2006"),
        "restricted-noise": Variant(RestrictedNoise, example=RestrictedNoise(share=0.2), cite="Brand 2002"),
        "generalisation": Variant(
            Generalisation,
            example=Generalisation({"age": 1}, hierarchies={"age": "intervals:10"}),
            cite="Samarati 2001",
        ),
        "global-recoding": Variant(
            GlobalRecoding, example=GlobalRecoding(groups=5), cite="Willenborg and de Waal 2001"
        ),
        "massc": Variant(MASSC, example=MASSC(["age", "sex"]), cite="Singh, Yu and Dunteman 2003", words="MASSC"),
        "record-swapping": Variant(
            RecordSwapping,
            example=RecordSwapping(["state", "county"], household="home", risk="age"),
            cite="Zayatz 2007",
        ),
        "rank-swapping": Variant(RankSwapping, example=RankSwapping(p=5), cite="Moore 1996"),
        "swapping": Variant(Swapping, example=Swapping("income", keys=["age"]), cite="Dalenius and Reiss 1982"),
        "multivariate-top-coding": Variant(
            MultivariateTopCoding, example=MultivariateTopCoding(alpha=0.01), cite="Templ 2017"
        ),
        "risk-suppression": Variant(
            RiskSuppression, example=RiskSuppression(["age", "sex"], k=3), cite="Templ, Kowarik and Meindl 2015"
        ),
        "rounding": Variant(Rounding, example=Rounding(base=10), cite="Willenborg and de Waal 2001"),
        "sampling": Variant(Sampling, example=Sampling(fraction=0.1), cite="Cochran 1977"),
        "top-bottom-coding": Variant(
            TopBottomCoding, example=TopBottomCoding(top=99, kind="percentile"), cite="Hundepool et al. 2012"
        ),
        **MICROAGGREGATIONS,
        "dp-microaggregation": Variant(
            DPMicroaggregation,
            example=DPMicroaggregation("income", k=30, bounds={"income": (0, 200_000)}),
            cite="Soria-Comas, Domingo-Ferrer, Sánchez and Martínez 2014",
            words="Private microaggregation",
        ),
    },
)
