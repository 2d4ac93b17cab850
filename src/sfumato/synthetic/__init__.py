"""Synthetic tables: rows drawn from a model of others; one generator per file, and the table that names them."""

from __future__ import annotations

from typing import Any

from sfumato.core.generators import Generator
from sfumato.core.registry import Registry, Variant
from sfumato.synthetic.aim import AIM
from sfumato.synthetic.bayes import Bayes
from sfumato.synthetic.bootstrap import Bootstrap
from sfumato.synthetic.combining import combine
from sfumato.synthetic.gaussian_copula import GaussianCopula
from sfumato.synthetic.hybrid import Hybrid
from sfumato.synthetic.linked import LinkedTables
from sfumato.synthetic.marginals import Marginals
from sfumato.synthetic.mix import Mix
from sfumato.synthetic.model import load_model
from sfumato.synthetic.mst import MST
from sfumato.synthetic.multivariate_normal import MultivariateNormal
from sfumato.synthetic.priv_bayes import PrivBayes
from sfumato.synthetic.sequential_trees import SequentialTrees

__all__ = [
    "AIM",
    "GENERATORS",
    "MST",
    "Bayes",
    "Bootstrap",
    "GaussianCopula",
    "Hybrid",
    "LinkedTables",
    "Marginals",
    "Mix",
    "MultivariateNormal",
    "PrivBayes",
    "SequentialTrees",
    "combine",
    "load_model",
]

DOMAIN: dict[str, Any] = {  # of a table of people, for examples
    "bounds": {
        "age": [0, 20, 30, 40, 50, 60, 70, 80, 120],
        "pay": [0.0, 0.0, 2000.0, 4000.0, 6000.0, 8000.0, 10000.0],
        "cents": [0.0, 0.0, 400.0, 800.0, 1600.0],
        "since": ["1990-01-01", "1991-01-01", "1992-01-01"],
        "at": ["2024-01-01T00:00:00", "2024-01-01T01:00:00", "2024-01-01T02:00:00"],
    },
    "keys": {
        "town": ["Bern", "Oslo", "Rome", "Wien"],
        "grade": ["low", "high"],
        "code": ["x", "y", "z"],
    },
    "missing": ["pay", "since", "town", "ill"],
    "bins": 8,
}

GENERATORS: Registry[Generator] = Registry(
    "generators",
    "generator",
    (Generator,),
    {
        "sequential-trees": Variant(
            SequentialTrees, example=SequentialTrees(), cite="Reiter 2005, Nowok, Raab and Dibben 2016"
        ),
        "gaussian-copula": Variant(
            GaussianCopula, example=GaussianCopula(), cite="Cario and Nelson 1997, Schäfer and Strimmer 2005"
        ),
        "multivariate-normal": Variant(
            MultivariateNormal,
            example=MultivariateNormal(),
            cite="Mateo-Sanz, Martínez-Ballesté and Domingo-Ferrer 2004",
        ),
        "bayes": Variant(Bayes, example=Bayes(), cite="Zhang et al. 2017, Chow and Liu 1968"),
        "marginals": Variant(Marginals, example=Marginals(), cite="Deming and Stephan 1940"),
        "hybrid": Variant(Hybrid, example=Hybrid(k=10), cite="Domingo-Ferrer and González-Nicolás 2010"),
        "mix": Variant(Mix, example=Mix(share=0.3), cite="Dandekar, Domingo-Ferrer and Sebé 2002"),
        "linked-tables": Variant(
            LinkedTables, example=LinkedTables(household="home"), cite="Reiter 2005, Hu, Reiter and Wang 2018"
        ),
        "mst": Variant(MST, example=MST(epsilon=1, **DOMAIN), cite="McKenna, Miklau and Sheldon 2021", words="MST"),
        "aim": Variant(
            AIM,
            example=AIM(epsilon=1, max_cells=500, **DOMAIN),
            cite="McKenna, Mullins, Sheldon and Miklau 2022",
            words="AIM",
        ),
        "priv-bayes": Variant(
            PrivBayes, example=PrivBayes(epsilon=1, **DOMAIN), cite="Zhang et al. 2017", words="PrivBayes"
        ),
        "bootstrap": Variant(Bootstrap, example=Bootstrap(), cite="Efron 1979"),
    },
)
