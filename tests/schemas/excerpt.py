"""Writes the schemas beside this file from the packages that hold them; see README.md.

``python tests/schemas/excerpt.py FOLDER``, where FOLDER holds both packages: ``pip install --no-deps --target
FOLDER kubernetes-validate==1.37.0 check-jsonschema==0.39.0``.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KUBERNETES = "kubernetes_validate/kubernetes-json-schema/v1.37.0-local-strict"
COMPOSE = "check_jsonschema/builtin_schemas/vendor"
ROOTS = (
    "io.k8s.api.apps.v1.Deployment",
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    "io.k8s.api.batch.v1.Job",
    "io.k8s.api.core.v1.ConfigMap",
    "io.k8s.api.core.v1.Service",
    "io.k8s.api.core.v1.ServiceAccount",
    "io.k8s.api.networking.v1.NetworkPolicy",
    "io.k8s.api.policy.v1.PodDisruptionBudget",
)
_REFERENCE = re.compile(r'"\$ref":"[^"#]*#/\$defs/([^"]+)"')


def undescribed(schema: Any) -> Any:
    """The schema without what only people read."""
    if isinstance(schema, list):
        return [undescribed(own) for own in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: undescribed(own)
        for key, own in schema.items()
        if not (key == "description" and isinstance(own, str))
    }


def write(folder: Path) -> None:
    """The definitions that the kinds of ROOTS lead to, and the Compose specification's schema as it is."""
    known = json.loads((folder / KUBERNETES / "_definitions.json").read_text())["$defs"]
    definitions: dict[str, str] = {}
    wanted = list(ROOTS)
    while wanted:
        name = wanted.pop()
        if name not in definitions:
            definitions[name] = json.dumps(undescribed(known[name]), sort_keys=True, separators=(",", ":"))
            wanted += _REFERENCE.findall(definitions[name])
    lines = (
        f'"{name}":' + _REFERENCE.sub(r'"$ref":"#/$defs/\1"', definitions[name])
        for name in sorted(definitions)
    )
    (HERE / "kubernetes-1.37.json").write_text('{"$defs":{\n' + ",\n".join(lines) + "\n}}\n")
    (HERE / "compose-spec.json").write_bytes((folder / COMPOSE / "compose-spec.json").read_bytes())


if __name__ == "__main__":
    write(Path(sys.argv[1]))
