"""Every example of the OpenAPI document is an instance of its schema, and of one branch of each ``oneOf``.

Usage: python tests/clients/examples.py openapi/openapi.json, with jsonschema. Exits 1 if an example is none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

NAMED = ("properties", "patternProperties", "schemas", "paths")
"""Keywords of names, which may be those of other keywords, with something each."""
VALUES = ("default", "const", "enum", "mapping")


def examples_in(node: Any, place: str = "") -> Iterator[tuple[str, str, Any]]:
    """Each example: where it stands, where its schema does, and its value or the reference to it."""
    if isinstance(node, list):
        for number, inner in enumerate(node):
            yield from examples_in(inner, f"{place}/{number}")
    if not isinstance(node, dict):
        return
    below = f"{place}/schema" if "schema" in node else place
    given = node.get("examples", ())
    if isinstance(given, dict):
        yield from ((f"{place}/examples/{name}", below, own) for name, own in given.items())
    else:
        yield from ((f"{place}/examples/{number}", below, {"value": own}) for number, own in enumerate(given))
    if "example" in node:
        yield f"{place}/example", below, {"value": node["example"]}
    for key, inner in node.items():
        at = f"{place}/{key.replace('~', '~0').replace('/', '~1')}"
        if key in NAMED:
            for name, own in inner.items():
                yield from examples_in(own, f"{at}/{name.replace('~', '~0').replace('/', '~1')}")
        elif key not in ("example", "examples", *VALUES):
            yield from examples_in(inner, at)


def main(path: str) -> int:
    """Print what is wrong, and how many examples there are."""
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    registry = Registry().with_resource("urn:document", DRAFT202012.create_resource(document))
    resolver = registry.resolver("urn:document")
    found, wrong = 0, 0
    for place, schema, example in examples_in(document):
        found += 1
        if "$ref" in example:
            example = resolver.lookup(example["$ref"]).contents
        judge = Draft202012Validator({"$ref": f"urn:document#{quoted(schema)}"}, registry=registry)
        for error in judge.iter_errors(example["value"]):
            wrong += 1
            print(f"{place}: {error.json_path}: {error.message[:300]}", file=sys.stderr)
    print(f"{found} examples, {wrong} faults")
    return 0 if found and not wrong else 1


def quoted(pointer: str) -> str:
    """A JSON pointer as the fragment of an address."""
    return pointer.replace("%", "%25").replace("^", "%5E").replace("{", "%7B").replace("}", "%7D")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
