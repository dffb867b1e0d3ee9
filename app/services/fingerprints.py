"""Canonical JSON and the hashes that identify resources and inputs.

A resource's hash covers its meaning: the kind, a version of what that kind means, its own canonical
document, and the hashes of the resources it uses. Ids, names and times never enter a hash, so that
equal content hashes equally in every tenant and every year.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, overload

from app import __version__
from app.evidence import canonical
from app.services.resources import JsonObject, Kind, NewResource

MEANING_VERSION: Final = 1
"""Grows when the same document would come to mean something else, so that old results are not re-used."""


_PLAIN: Final = frozenset({str, int, bool, type(None)})
"""Types that stay what they are, and that nearly everything in a large document has."""


def canonical_json(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """The canonical JSON of the value in plain types, infinities as the string "inf"; NaN is refused."""
    return canonical.canonical_json(plain(value))


@overload
def plain(value: Mapping[str, Any]) -> JsonObject: ...


@overload
def plain(value: Any) -> Any: ...  # noqa: ANN401 - any JSON value


def plain(value: Any) -> Any:
    """The value as JSON types, infinity as "inf".

    Dataclasses become objects, tuples lists, numpy scalars Python numbers.
    """
    kind = type(value)
    if kind in _PLAIN or (kind is float and not math.isinf(value)):
        return value
    if kind is list or kind is tuple:
        return [item if type(item) in _PLAIN else plain(item) for item in value]
    if kind is dict or isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {own.name: plain(getattr(value, own.name)) for own in dataclasses.fields(value)}
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def sha256_of(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Hexadecimal sha256 of the canonical JSON of the value."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def version_of_code(rooms: Iterable[str]) -> str:
    """The version, with a hash of all Python code in these folders of the product."""
    found, app = hashlib.sha256(), Path(__file__).parents[1]
    for path in sorted(path for room in rooms for path in (app / room).rglob("*.py")):
        found.update(f"{path.relative_to(app)}\0".encode() + path.read_bytes() + b"\0")
    return f"{__version__}+{found.hexdigest()}"


def resource_sha256(kind: Kind, document: JsonObject, used: Mapping[str, str]) -> str:
    """The hash of a resource's meaning.

    Parameters
    ----------
    kind
        Kind of the resource.
    document
        What the resource says itself, without ids, names and times of what it uses.
    used
        Role of each used resource → its sha256.
    """
    return sha256_of(
        {"kind": kind.value, "meaning": MEANING_VERSION, "document": document, "uses": dict(used)}
    )


def new_resource(
    kind: Kind,
    name: str | None,
    meaning: JsonObject,
    used: Mapping[str, str],
    summary: JsonObject,
    kept: JsonObject,
    uses: Sequence[str],
) -> NewResource:
    """A resource to be stored; without a name one is made of the hash.

    Parameters
    ----------
    meaning
        What it says itself, which is hashed.
    used
        Role of each used resource → its sha256, hashed too.
    kept
        What its document holds beside the meaning, or in other words.
    uses
        Ids of all used resources; repeated ones count once.
    """
    sha256 = resource_sha256(kind, meaning, used)
    return NewResource(
        kind,
        name or f"{kind.value}-{sha256[:16]}",
        sha256,
        plain(summary),
        {**meaning, **kept},
        tuple(dict.fromkeys(uses)),
    )
