"""What forms show of criteria, searches and losses has its line in every language."""

from __future__ import annotations

import pytest

from sfumato.report.translation import Missing, translated
from sfumato.studio.tasks import forms


@pytest.mark.parametrize("kind", ["criteria", "searches", "losses"])
def test_titles_summaries_and_parameters_are_translated(kind):
    missing = Missing()
    for one in forms.variants(kind, None).values():
        said = [one["stops"], one["leaves"], *(parameter["help"] for parameter in one["parameters"])]
        for text in (*said, *([one["summary"]] if kind != "criteria" else [])):
            translated(text, "it", missing)
    assert missing == []


def test_every_criterion_says_what_it_stops_and_what_it_leaves_open():
    for name, one in forms.variants("criteria", None).items():
        assert one["stops"], name
        assert one["leaves"], name
