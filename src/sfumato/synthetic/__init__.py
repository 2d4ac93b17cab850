"""Synthetic tables: rows drawn from a model of others; one generator per file, and the table that names them."""

from __future__ import annotations

from sfumato.core.protocols import Generator
from sfumato.core.registry import Registry, Variant
from sfumato.synthetic.bayes import Bayes
from sfumato.synthetic.bootstrap import Bootstrap
from sfumato.synthetic.combining import combine
from sfumato.synthetic.gaussian_copula import GaussianCopula
from sfumato.synthetic.hybrid import Hybrid
from sfumato.synthetic.linked import LinkedTables
from sfumato.synthetic.marginals import Marginals
from sfumato.synthetic.mix import Mix
from sfumato.synthetic.model import load_model
from sfumato.synthetic.multivariate_normal import MultivariateNormal
from sfumato.synthetic.sequential_trees import SequentialTrees

__all__ = [
    "GENERATORS",
    "Bayes",
    "Bootstrap",
    "GaussianCopula",
    "Hybrid",
    "LinkedTables",
    "Marginals",
    "Mix",
    "MultivariateNormal",
    "SequentialTrees",
    "combine",
    "load_model",
]

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
        "bootstrap": Variant(Bootstrap, example=Bootstrap(), cite="Efron 1979"),
    },
)
