"""Pictures of lessons as SVG, a file per family. Colours come from the page; no sign is a colour alone."""

from __future__ import annotations

from sfumato.studio.pictures.circles import circles_picture
from sfumato.studio.pictures.densities import densities_picture
from sfumato.studio.pictures.histograms import Gauge, histograms_picture
from sfumato.studio.pictures.lattice import bars_picture, lattice_picture
from sfumato.studio.pictures.matrix import matrix_picture
from sfumato.studio.pictures.plane import plane_picture
from sfumato.studio.pictures.tree import tree_picture

__all__ = [
    "Gauge",
    "bars_picture",
    "circles_picture",
    "densities_picture",
    "histograms_picture",
    "lattice_picture",
    "matrix_picture",
    "plane_picture",
    "tree_picture",
]
