"""Confidentiality constraints: sets of columns that must not be seen together, and fragments that keep them apart."""

from __future__ import annotations

from sfumato.fragments.constraints.release import release_fragments

__all__ = ["release_fragments"]
