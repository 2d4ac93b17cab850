"""Standards: a table held against HIPAA's Safe Harbor, the terms of the GDPR, and the threshold of clinical data."""

from __future__ import annotations

from sfumato.measures.standards.clinical import clinical
from sfumato.measures.standards.finding import Check, Objection, Profile
from sfumato.measures.standards.gdpr import gdpr
from sfumato.measures.standards.hipaa import hipaa
from sfumato.measures.standards.profile import PROFILES, profile, profile_named, safe_harbor

__all__ = [
    "PROFILES",
    "Check",
    "Objection",
    "Profile",
    "clinical",
    "gdpr",
    "hipaa",
    "profile",
    "profile_named",
    "safe_harbor",
]
