"""The types of a class's fields.

Python works annotations out anew whenever it is asked, which takes longer than most of what asks; a class's
do not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, get_type_hints


def field_types(of: Any) -> Mapping[str, Any]:  # noqa: ANN401 - what a test has found to be a class
    """Name → type of each field, with what ``Annotated`` says of it."""
    return _field_types(of)


@cache
def _field_types(of: type[Any]) -> Mapping[str, Any]:
    return MappingProxyType(get_type_hints(of, include_extras=True))
