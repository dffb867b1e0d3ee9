"""Whether a new OpenAPI document breaks clients of a released one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

Json = Mapping[str, Any]

_METHODS: Final = ("get", "put", "post", "patch", "delete")
_DEEPEST: Final = 30


def breaking_changes(released: Json, current: Json) -> list[str]:
    """What a client of the released document could rely on and the current one no longer grants.

    Requests must not be narrowed: no operation, parameter or field taken away, none made required, no type
    or value excluded. Answers must not be widened: no field taken away, none made optional, no type added.
    """
    return list(_Comparison(released, current).changes())


class _Comparison:
    def __init__(self, released: Json, current: Json) -> None:
        self._released = released
        self._current = current

    def changes(self) -> Iterator[str]:
        for path, operations in self._released["paths"].items():
            for method in _METHODS:
                if method not in operations:
                    continue
                where = f"{method.upper()} {path}"
                now = self._current["paths"].get(path, {}).get(method)
                if now is None:
                    yield f"{where}: the operation is gone"
                else:
                    yield from self._operation(where, operations[method], now)

    def _operation(self, where: str, old: Json, new: Json) -> Iterator[str]:
        if old.get("operationId") != new.get("operationId"):
            yield f"{where}: the operationId changed"
        yield from self._parameters(where, old, new)
        old_body, new_body = old.get("requestBody", {}), new.get("requestBody", {})
        if new_body.get("required") and not old_body.get("required"):
            yield f"{where}: the body became required"
        for media_type, content in old_body.get("content", {}).items():
            if media_type not in new_body.get("content", {}):
                yield f"{where}: {media_type} is no longer accepted"
                continue
            schema = new_body["content"][media_type].get("schema", {})
            yield from self._sent(f"{where} body", content.get("schema", {}), schema, 0)
        yield from self._answers(where, old["responses"], new["responses"])

    def _parameters(self, where: str, old: Json, new: Json) -> Iterator[str]:
        before = {(p["in"], p["name"]): p for p in old.get("parameters", ())}
        after = {(p["in"], p["name"]): p for p in new.get("parameters", ())}
        for key, parameter in before.items():
            if key not in after:
                yield f"{where}: the parameter {key[1]} is gone"
                continue
            place = f"{where} parameter {key[1]}"
            yield from self._sent(place, parameter["schema"], after[key]["schema"], 0)
        for key, parameter in after.items():
            if parameter.get("required") and not before.get(key, {}).get("required"):
                yield f"{where}: the parameter {key[1]} became required"

    def _answers(self, where: str, old: Json, new: Json) -> Iterator[str]:
        for status, answer in old.items():
            if not status.startswith("2"):
                continue
            if status not in new:
                yield f"{where}: it no longer answers {status}"
                continue
            before = self._resolve(self._released, answer).get("content", {})
            after = self._resolve(self._current, new[status]).get("content", {})
            for media_type, content in before.items():
                now = after.get(media_type)
                if now is None:
                    yield f"{where}: it no longer answers {media_type}"
                else:
                    place = f"{where} answer {status}"
                    yield from self._got(place, content.get("schema", {}), now.get("schema", {}), 0)

    def _sent(self, where: str, old: Json, new: Json, depth: int) -> Iterator[str]:
        """What was accepted and no longer is."""
        old, new = self._resolve(self._released, old), self._resolve(self._current, new)
        if depth > _DEEPEST:
            return
        lost = _types(old) - _types(new)
        if _types(new) and lost:
            yield f"{where}: {', '.join(sorted(lost))} is no longer accepted"
        if "enum" in new and set(map(str, old.get("enum", ["anything"]))) - set(map(str, new["enum"])):
            yield f"{where}: values are no longer accepted"
        for name in set(new.get("required", ())) - set(old.get("required", ())):
            yield f"{where}: the field {name} became required"
        yield from _tightened(where, old, new)
        for name, schema in old.get("properties", {}).items():
            if name in new.get("properties", {}):
                yield from self._sent(f"{where}/{name}", schema, new["properties"][name], depth + 1)
            elif new.get("additionalProperties", True) is False:
                yield f"{where}: the field {name} is gone"
        yield from self._inner(where, old, new, depth, self._sent)

    def _got(self, where: str, old: Json, new: Json, depth: int) -> Iterator[str]:
        """What was answered and no longer is, and what was not and may be now."""
        old, new = self._resolve(self._released, old), self._resolve(self._current, new)
        if depth > _DEEPEST:
            return
        added = _types(new) - _types(old)
        if _types(old) and added:
            yield f"{where}: it may now be {', '.join(sorted(added))}"
        for name in set(old.get("required", ())) - set(new.get("required", ())):
            if name in new.get("properties", {}):
                yield f"{where}: the field {name} may now be missing"
        for name, schema in old.get("properties", {}).items():
            if name in new.get("properties", {}):
                yield from self._got(f"{where}/{name}", schema, new["properties"][name], depth + 1)
            else:
                yield f"{where}: the field {name} is gone"
        yield from self._inner(where, old, new, depth, self._got)

    def _inner(self, where: str, old: Json, new: Json, depth: int, compare: Any) -> Iterator[str]:
        """The items of arrays, the values of objects, and the members of unions, matched by their title."""
        for keyword in ("items", "additionalProperties"):
            if isinstance(old.get(keyword), Mapping) and isinstance(new.get(keyword), Mapping):
                yield from compare(f"{where}/{keyword}", old[keyword], new[keyword], depth + 1)
        for keyword in ("anyOf", "oneOf"):
            now = {_label(member): member for member in _members(new.get(keyword, ()))}
            for member in _members(old.get(keyword, ())):
                label = _label(member)
                if label in now:
                    yield from compare(f"{where}/{label}", member, now[label], depth + 1)
                elif compare == self._sent:
                    yield f"{where}: {label} is no longer accepted"

    @staticmethod
    def _resolve(document: Json, part: Json) -> Json:
        """A schema or an answer, wherever it is written."""
        if "$ref" in part:
            kind, name = part["$ref"].removeprefix("#/components/").split("/")
            found: Json = document["components"][kind][name]
            return found
        return part


def _types(schema: Json) -> set[str]:
    found = schema.get("type", ())
    return {found} if isinstance(found, str) else set(found)


def _members(union: Iterable[Json]) -> Iterator[Json]:
    """The members of a union, with those of a union within it in that one's place."""
    for member in union:
        inner = member.get("oneOf", member.get("anyOf"))
        yield from (member,) if inner is None else _members(inner)


def _label(schema: Json) -> str:
    return str(schema.get("$ref", schema.get("type", schema.get("const", "value")))).rsplit("/", 1)[-1]


def _tightened(where: str, old: Json, new: Json) -> Iterator[str]:
    for keyword in ("maximum", "maxLength", "maxItems", "maxProperties", "exclusiveMaximum"):
        if keyword in new and new[keyword] < old.get(keyword, float("inf")):
            yield f"{where}: {keyword} was lowered to {new[keyword]}"
    for keyword in ("minimum", "minLength", "minItems", "minProperties", "exclusiveMinimum"):
        if keyword in new and new[keyword] > old.get(keyword, float("-inf")):
            yield f"{where}: {keyword} was raised to {new[keyword]}"
    if "pattern" in new and new["pattern"] != old.get("pattern"):
        yield f"{where}: the pattern changed"
