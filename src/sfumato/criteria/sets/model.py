"""SetModel: what every promise about several tables shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.core.parameters import check_fields
from sfumato.core.protocols import SetPromise
from sfumato.core.registry import field_values, variant_name
from sfumato.criteria.model import Promise, settled
from sfumato.criteria.sets.published import PublishedSet
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class SetModel(SetPromise):
    """A promise about tables that are published together; its parameters are the fields of its dataclass."""

    def __post_init__(self) -> None:
        check_fields(self, self.model)

    @property
    def model(self) -> str:
        """Its name in the table of promises."""
        return variant_name(type(self).__name__)

    @property
    def bound(self) -> float | int:
        """What the measured value is compared with."""
        value: float | int = getattr(self, self.bounded_by)
        return value

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values; those left open are left out."""
        found = {name: value for name, value in field_values(self).items() if value is not None}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def examined_set(promise: Any, published: PublishedSet) -> Promise:
    """The promise as the published tables keep or break it; what cannot be checked is broken."""
    try:
        found = promise.audit(published)
    except PolicyError as error:
        return unkept(promise, error.what)
    return settled(unkept(promise, None), found, "groups")


def unkept(promise: Any, note: str | None) -> Promise:
    """The promise where nothing could be measured, which breaks it."""
    parameters, sentence = promise.parameters(), promise.sentence()
    return Promise(promise.model, parameters, (), False, None, promise.bound, sentence, note, promise.how)
