"""Views: several projections and selections of one private table, and what joining them gives away."""

from __future__ import annotations

from sfumato.fragments.views.check import ViewsFinding, check_views
from sfumato.fragments.views.release import release_views
from sfumato.fragments.views.values import Dependency, TableView

__all__ = ["Dependency", "TableView", "ViewsFinding", "check_views", "release_views"]
