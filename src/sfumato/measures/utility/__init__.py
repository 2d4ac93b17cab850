"""Utility: what a release is still good for, measured on any pair of an original and a released table.

>>> table = {"age": [20, 30, 40, 60], "sex": ["f", "m", "f", "m"]}
>>> release = {"age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"], "sex": ["f", "m", "f", "m"]}
>>> information_loss(table, release, "age").value, direct_comparison(table, release).value
(0.375, 0.25)
"""

from __future__ import annotations

from typing import Any

from sfumato.core.registry import Variant
from sfumato.measures.utility.classification_metric import classification_metric
from sfumato.measures.utility.contingency import contingency
from sfumato.measures.utility.correlations import correlations
from sfumato.measures.utility.direct_comparison import direct_comparison
from sfumato.measures.utility.distribution import distribution_distance, kl_divergence
from sfumato.measures.utility.eigenvalues import eigenvalues
from sfumato.measures.utility.entropy_loss import entropy_loss
from sfumato.measures.utility.il1s import il1s
from sfumato.measures.utility.information_loss import information_loss
from sfumato.measures.utility.interval_overlap import interval_overlap
from sfumato.measures.utility.learning import learning
from sfumato.measures.utility.marginals import marginals
from sfumato.measures.utility.numeric_error import numeric_error
from sfumato.measures.utility.pair import Pair, pair_of
from sfumato.measures.utility.propensity import propensity
from sfumato.measures.utility.query_error import query_error
from sfumato.measures.utility.summary import utility_summary
from sfumato.measures.utility.train_on_synthetic import train_on_synthetic

__all__ = [
    "OF_SYNTHETIC",
    "UTILITIES",
    "Pair",
    "classification_metric",
    "contingency",
    "correlations",
    "direct_comparison",
    "distribution_distance",
    "eigenvalues",
    "entropy_loss",
    "il1s",
    "information_loss",
    "interval_overlap",
    "kl_divergence",
    "learning",
    "marginals",
    "numeric_error",
    "pair_of",
    "propensity",
    "query_error",
    "train_on_synthetic",
    "utility_summary",
]

# The example of a measure is what it is asked beside the two tables.
UTILITIES: dict[str, Variant[Any]] = {
    "information-loss": Variant(information_loss, example={"loss": "lm"}, cite="Iyengar 2002; Xu et al. 2006"),
    "kl-divergence": Variant(kl_divergence, example={}, cite="Kifer and Gehrke 2006"),
    "classification-metric": Variant(classification_metric, example={"target": "disease"}, cite="Iyengar 2002"),
    "numeric-error": Variant(numeric_error, example={"on": "means"}, cite="Domingo-Ferrer and Torra 2001"),
    "il1s": Variant(il1s, example={}, cite="Mateo-Sanz, Sebe, Domingo-Ferrer 2004"),
    "eigenvalues": Variant(eigenvalues, example={}, cite="Templ 2008"),
    "direct-comparison": Variant(direct_comparison, example={}, cite="Domingo-Ferrer and Torra 2001"),
    "contingency": Variant(contingency, example={"dimension": 2}, cite="Domingo-Ferrer and Torra 2001"),
    "entropy-loss": Variant(entropy_loss, example={}, cite="Kooiman, Willenborg, Gouweleeuw 1998"),
    "distribution-distance": Variant(distribution_distance, example={"distance": "hellinger"}, cite="Hellinger 1909"),
    "query-error": Variant(query_error, example={"queries": 200}, cite="LeFevre et al. 2006; Xiao and Tao 2006"),
    "learning": Variant(learning, example={"target": "disease"}, cite="Iyengar 2002; Brickell and Shmatikov 2008"),
    "propensity": Variant(
        propensity,
        example={"model": "logistic"},
        cite="Woo, Reiter, Oganian, Karr 2009; Snoke, Raab, Nowok, Dibben, Slavkovic 2018",
    ),
    "marginals": Variant(marginals, example={"ways": (1, 2)}, cite="McKenna, Miklau, Sheldon 2021"),
    "correlations": Variant(correlations, example={}, cite="Bergsma 2013; Kelley 1935"),
    "interval-overlap": Variant(
        interval_overlap, example={"outcome": "disease"}, cite="Karr, Kohnen, Oganian, Reiter, Sanil 2006"
    ),
    "train-on-synthetic": Variant(
        train_on_synthetic, example={"target": "disease"}, cite="Esteban, Hyland, Rätsch 2017"
    ),
}
# Of tables whose values are whole, as a model draws them: a label that covers several values is another value to them.
OF_SYNTHETIC = ("propensity", "marginals", "correlations", "interval-overlap", "train-on-synthetic")
