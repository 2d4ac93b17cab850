"""A privacy model, an information loss and a search for Sfumato."""

from sfumato_example.bottom_up_generalisation import BottomUpGeneralisation
from sfumato_example.i_loss import ILoss
from sfumato_example.ke_anonymity import KEAnonymity

__all__ = ["BottomUpGeneralisation", "ILoss", "KEAnonymity"]
