"""Information losses: one file each. A loss of labels costs a row per column, a loss of classes is made of sizes."""

from __future__ import annotations

from typing import Any

from sfumato.core.protocols import Loss, LossOfClasses, LossOfLabels
from sfumato.core.registry import Registry, Variant
from sfumato.losses.c_avg import CAvg
from sfumato.losses.discernibility import Discernibility
from sfumato.losses.height import Height
from sfumato.losses.lm import LM
from sfumato.losses.model import ClassLoss, LabelLoss
from sfumato.losses.ncp import NCP
from sfumato.losses.non_uniform_entropy import NonUniformEntropy
from sfumato.losses.precision import Precision

__all__ = [
    "LM",
    "LOSSES",
    "NCP",
    "CAvg",
    "ClassLoss",
    "Discernibility",
    "Height",
    "LabelLoss",
    "NonUniformEntropy",
    "Precision",
    "loss",
    "loss_name",
]

_OURS: dict[str, Variant[Loss]] = {
    "lm": Variant(LM, example=LM(), cite="Iyengar 2002", words="loss metric (LM)"),
    "ncp": Variant(NCP, example=NCP(), cite="Xu et al. 2006", words="normalised certainty penalty (NCP)"),
    "discernibility": Variant(Discernibility, example=Discernibility(), cite="Bayardo and Agrawal 2005"),
    "c-avg": Variant(CAvg, example=CAvg(), cite="LeFevre et al. 2006", words="average class size (C-avg)"),
    "precision": Variant(Precision, example=Precision(), cite="Sweeney 2002", words="precision, as a loss"),
    "height": Variant(Height, example=Height(), cite="Samarati 2001", words="height in the lattice"),
    "non-uniform-entropy": Variant(
        NonUniformEntropy, example=NonUniformEntropy(), cite="Gionis and Tassa 2009", words="non-uniform entropy"
    ),
}
LOSSES = Registry("losses", "loss", (LossOfLabels, LossOfClasses), _OURS)


def loss(spec: Any) -> Any:
    """A loss from its name, or a loss as it is.

    >>> loss("ncp")
    NCP(aggregate='mean', weights=None)
    """
    return LOSSES.value(spec)


def loss_name(value: Any) -> str:
    """The table name of a loss."""
    return str(LOSSES.name_of(value))
