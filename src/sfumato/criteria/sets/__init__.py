"""Promises about several tables that are published together, one per file, and the table that names them.

>>> set_promise("frequency-l-diversity", attribute="disease", l=3)
FrequencyLDiversity(attribute='disease', l=3)
"""

from __future__ import annotations

from typing import Any

from sfumato.core.forms import make_variant
from sfumato.core.protocols import SetPromise
from sfumato.core.registry import Registry, Variant
from sfumato.criteria.sets.fragmentation import Fragmentation
from sfumato.criteria.sets.frequency_l_diversity import FrequencyLDiversity
from sfumato.criteria.sets.hidden_cells import HiddenCells
from sfumato.criteria.sets.hkp_coherence import HKPCoherence
from sfumato.criteria.sets.k_anonymous_leaves import KAnonymousLeaves
from sfumato.criteria.sets.k_anonymous_patterns import KAnonymousPatterns
from sfumato.criteria.sets.kkm_anonymity import KKMAnonymity
from sfumato.criteria.sets.km_anonymity import KMAnonymity
from sfumato.criteria.sets.l_diverse_slicing import LDiverseSlicing
from sfumato.criteria.sets.linked_hidden_cells import LinkedHiddenCells
from sfumato.criteria.sets.loose_association import LooseAssociation
from sfumato.criteria.sets.m_invariance import MInvariance
from sfumato.criteria.sets.m_uniqueness import MUniqueness
from sfumato.criteria.sets.perturbed_cells import PerturbedCells
from sfumato.criteria.sets.pooled_counts import PooledCounts
from sfumato.criteria.sets.published_frequency import PublishedFrequency
from sfumato.criteria.sets.stated_cells import StatedCells
from sfumato.criteria.sets.view_k_anonymity import ViewKAnonymity

__all__ = [
    "SET_PROMISES",
    "Fragmentation",
    "FrequencyLDiversity",
    "HKPCoherence",
    "HiddenCells",
    "KAnonymousLeaves",
    "KAnonymousPatterns",
    "KKMAnonymity",
    "KMAnonymity",
    "LDiverseSlicing",
    "LinkedHiddenCells",
    "LooseAssociation",
    "MInvariance",
    "MUniqueness",
    "PerturbedCells",
    "PooledCounts",
    "PublishedFrequency",
    "StatedCells",
    "ViewKAnonymity",
    "set_promise",
]

_OURS: tuple[Variant[SetPromise], ...] = (
    Variant(
        FrequencyLDiversity,
        example=FrequencyLDiversity("disease", 3),
        cite="Xiao and Tao 2006",
        words="Frequency l-diversity of groups",
        stops="Learning the sensitive value of a person whose row is found, from the group that it is in.",
        leaves="Rows stand as they are: that a person is in the table, and all else of the row, is known. Where values "
        "go with quasi-identifiers, a model learnt of both tables guesses better than 1/l (deFinetti attack). "
        "Rows that are suppressed have too frequent values: whoever misses a known person knows the value.",
    ),
    Variant(
        LDiverseSlicing,
        example=LDiverseSlicing("disease", 3),
        cite="Li et al. 2012",
        words="l-diverse slicing",
        stops="Learning the sensitive value of a person from all that else is known of them, or from the bucket that "
        "they are in.",
        leaves="Values stand as they are: which of them a bucket has is known, and often that a person is in the "
        "table. Where values go with quasi-identifiers, a model learnt of the tables guesses better than 1/l. "
        "Rows that are suppressed have too frequent values: whoever misses a known person knows the value.",
    ),
    Variant(
        Fragmentation,
        example=Fragmentation([["name", "disease"], ["ssn"]]),
        cite="Ciriani et al. 2010",
        words="Confidentiality constraints",
        stops="Reading who has what, where several columns tell it together: no table shows all of them, and nothing "
        "joins the tables.",
        leaves="Each fragment stands as it is, and tells who is in the table where its columns do. What nearly "
        "everybody has is known of each without joining, and columns that depend on each other join their fragments.",
    ),
    Variant(
        LooseAssociation,
        example=LooseAssociation([["name", "disease"]], 4),
        cite="De Capitani di Vimercati et al. 2010",
        words="k-loose association",
        stops="Learning from the groups which row of one fragment belongs to which of the other.",
        leaves="Who knows what some people of a group have learns more of the rest. Where values of two fragments go "
        "together, a model learnt of the groups guesses better than 1/k. "
        "Rows that are suppressed have too frequent values: whoever misses a known person knows the value.",
    ),
    Variant(
        KMAnonymity,
        example=KMAnonymity(5, 2),
        cite="Terrovitis, Mamoulis and Kalnis 2008",
        words="k^m-anonymity",
        stops="Finding the basket of a person by a few of its items, and with it all others (linkage).",
        leaves="Whoever knows more than m items, what is not in the basket or how many items are, may find it. Baskets "
        "that fit may agree in further items, which are then known without finding one (homogeneity).",
    ),
    Variant(
        KKMAnonymity,
        example=KKMAnonymity(5, 2),
        cite="Poulis et al. 2013",
        words="(k,k^m)-anonymity",
        stops="Finding a person by quasi-identifiers and a few items together (linkage).",
        leaves="Whoever knows more than m items, what a person does not have or how many items, may find them. People "
        "who fit may agree in further items, which are then known without finding one (homogeneity).",
    ),
    Variant(
        HKPCoherence,
        example=HKPCoherence(0.8, 5, 2),
        cite="Xu, Wang, Fu and Yu 2008",
        words="(h,k,p)-coherence",
        stops="Finding the basket of a person by a few public items, and becoming sure of a private one (linkage, "
        "homogeneity).",
        leaves="Whoever knows more than p public items, or private ones, may find a basket. A share below h may still "
        "be far above that among all baskets (skewness).",
    ),
    Variant(
        ViewKAnonymity,
        example=ViewKAnonymity("name", "disease", 3, distinct=("ward",), selected={"old": ("age",)}),
        cite="Yao et al. 2005",
        words="k-anonymity of views",
        stops="Rebuilding who has which value by joining the tables, with the conditions that they were selected by.",
        leaves="The k values need not be equally probable, and may mean much the same. Whoever knows single people, or "
        "has another table about them, can rule some out.",
    ),
    Variant(
        HiddenCells,
        example=HiddenCells({"sex": [["f", "*"], ["m", "*"]]}),
        cite="Fischetti and Salazar 2001",
        words="Hidden cells",
        stops="Computing a hidden cell of a table from the totals and the cells that are published.",
        leaves="How near an attacker comes to a hidden value, and what contributors know who know their own part, is "
        "the owner's to show. Whoever knows that a pattern costs least can rule out values for which another would.",
    ),
    Variant(
        LinkedHiddenCells,
        example=LinkedHiddenCells({"by sex": {"sex": [["f", "*"], ["m", "*"]]}}),
        cite="Cox 1980",
        words="Hidden cells of linked tables",
        stops="Computing a hidden cell, or what tables differ in, from several tables of the same people.",
        leaves="Other tables of the same people, which are not among these. How near an attacker comes to a hidden "
        "value, and what contributors know who know their own part, is the owner's to show.",
    ),
    Variant(
        PublishedFrequency,
        example=PublishedFrequency(3),
        cite="Hundepool et al. 2012",
        words="Minimum frequency",
        stops="Recognising one or two people in a published cell.",
        leaves="All people of a row may be in one cell, which is then known of each of them; empty cells say so.",
    ),
    Variant(
        StatedCells,
        example=StatedCells(("A cell has at least 3 contributors.",)),
        cite="Hundepool et al. 2012",
        words="Rules for cells",
        stops="Contributors who take what they know of themselves off a cell, and find another's part.",
        leaves="More contributors together than were tried; what is known of them from other tables.",
    ),
    Variant(
        PerturbedCells,
        example=PerturbedCells("Each count is a multiple of 5."),
        cite="Hundepool et al. 2012",
        words="Changed cells",
        stops="Taking a published number for what was counted.",
        leaves="How large a change can be is known: a number that is far from what others expect still says so.",
    ),
    Variant(
        MUniqueness,
        example=MUniqueness("disease", 3),
        cite="Xiao and Tao 2007",
        words="m-uniqueness of groups",
        stops="Learning the sensitive value of a person whose group is known, from this release alone.",
        leaves="That a person is in the table, and the range of their quasi-identifiers, is known. Values that are "
        "alike, as two kinds of cancer are, count as different.",
    ),
    Variant(
        MInvariance,
        example=MInvariance("disease", 3),
        cite="Xiao and Tao 2007",
        words="m-invariance over releases",
        stops="Learning the sensitive value of a person by intersecting the groups that they are in over releases.",
        leaves="Who knows the values of others in a group learns more of the rest. A value that nobody had before is "
        "that of somebody who arrived, unless counterfeits may have it. Beside a counterfeit, the more frequent value "
        "is the likelier one.",
    ),
    Variant(
        KAnonymousPatterns,
        example=KAnonymousPatterns(5),
        cite="Atzori et al. 2008",
        words="k-anonymous patterns",
        stops="Finding a few people by what they have and what they lack, from differences of published supports.",
        leaves="Supports of itemsets that are not published follow from others within bounds, which may leave a few "
        "people: the note says of how many patterns. Whoever knows some of the people, or how many there are, can "
        "subtract them.",
    ),
    Variant(
        KAnonymousLeaves,
        example=KAnonymousLeaves(5, 2),
        cite="Friedman, Wolff and Schuster 2008",
        words="k-anonymous leaves",
        stops="Finding a few people by the conditions of a rule, or of several rules together.",
        leaves="Conditions were chosen by looking at the people: that one was chosen tells a little. Whoever knows "
        "which rule is about somebody learns how probable each class is.",
    ),
    Variant(
        PooledCounts,
        example=PooledCounts(5),
        cite="Domingos and Pazzani 1997",
        words="Pooled counts",
        stops="Finding a few people by a rare value, or by what is left of a class without other values of its column.",
        leaves="How probable each class is for somebody with known values can be computed: that is what it is for. "
        "Whoever knows some of the people can subtract them. Where one column follows from another, their counts can "
        "be subtracted, too, and may differ by a few people.",
    ),
)
SET_PROMISES = Registry("set_promises", "promise about several tables", (SetPromise,), {v.name: v for v in _OURS})


def set_promise(name: str, **parameters: Any) -> Any:
    """A promise from its name and parameters."""
    return make_variant(SET_PROMISES, "promise about several tables", name, parameters)
