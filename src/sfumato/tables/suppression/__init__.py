"""Cell suppression: which cells of a table to hide, so that no unsafe one can be worked out from the others."""

from __future__ import annotations

from sfumato.tables.suppression.exact import Exact
from sfumato.tables.suppression.hypercube import Hypercube
from sfumato.tables.suppression.modular import Modular
from sfumato.tables.suppression.network_flow import NetworkFlow

__all__ = ["Exact", "Hypercube", "Modular", "NetworkFlow"]
