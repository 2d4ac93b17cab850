"""Configured: a frozen dataclass whose fields are the parameters of a step or a generator, as in a policy file."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.registry import field_values, variant_name
from sfumato.errors import PolicyError


class Configured:
    """A frozen dataclass with a name in a table, whose fields are its parameters."""

    def settle(self, **checked: Any) -> None:
        """Put checked parameters into the frozen value."""
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """Its name in the table."""
        return variant_name(type(self).__name__)

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values, as in a policy file; those left open are left out."""
        found = {name: _plain(value) for name, value in field_values(self).items()}
        return {name: value for name, value in found.items() if value is not None and not _is_empty(value)}

    def refuse(self, what: str, **more: Any) -> PolicyError:
        """An error of it."""
        return PolicyError(f"{self.name}: {what}", **more)


def _is_empty(value: Any) -> bool:
    return isinstance(value, list) and not value


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
