"""Classes made by hand, in the shape in which a search hands them to a criterion, and the same as released groups."""

from __future__ import annotations

import pytest

from sfumato.testing.classes import released_side, search_side


@pytest.fixture(scope="session")
def search():
    return search_side


@pytest.fixture(scope="session")
def released():
    return released_side
