"""Where in a body something is named that there is not."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from app.domain.errors import InvalidInput, NotFound, PrivacyRiskError, joined, unknown_reference


def of_reference(error: NotFound, body: Any, in_address: Collection[str]) -> PrivacyRiskError:  # noqa: ANN401
    """What an operation answers that has found nothing of this kind: 404 is for the address alone.

    The body names it where a member is called as the kind is, or else, unless the address does, anywhere but
    in the name of what is to be made. It makes no difference whether it is another tenant's.
    """
    places = [place for place in _places(body, "", "") if place[1] == error.ref and place[0] != "/name"]
    words = error.kind.split("_")
    of_kind = [pointer for pointer, _, member in places if words[0] in member or member.endswith(words[-1])]
    if in_address and (error.ref in in_address or not places) and not of_kind:
        return error
    pointer = next(iter([*of_kind, *(pointer for pointer, *_ in places)]), "")
    return InvalidInput([unknown_reference(pointer, error)])


def _places(node: Any, pointer: str, member: str) -> Iterator[tuple[str, str, str]]:  # noqa: ANN401
    """Each text of the body: its place, itself, and the member that it, or the list around it, belongs to."""
    match node:
        case str():
            yield pointer, node, member
        case dict():
            for name, inner in node.items():
                yield from _places(inner, joined(pointer, name), name)
        case list():
            for number, inner in enumerate(node):
                yield from _places(inner, joined(pointer, number), member)
