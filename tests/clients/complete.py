"""Whether generated clients have every operation of the OpenAPI document, whole.

Usage: python tests/clients/complete.py DOCUMENT TYPES PACKAGE LOG. Exits 1, and says which are missing.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

LOSSES = re.compile(r"will not be generated|Unable to process|Cannot parse|Traceback|^ERROR", re.MULTILINE)
"""What the generator of Python clients says where it leaves something out, and ends with status 0."""


def main(document: str, types: str, package: str, log: str) -> int:
    """Print how many operations there are, and name those that a client lacks."""
    paths = json.loads(Path(document).read_text(encoding="utf-8"))["paths"]
    ids = {operation["operationId"] for path in paths.values() for operation in path.values()}
    declared = Path(types).read_text(encoding="utf-8").partition("export interface operations {")[2]
    in_typescript = set(re.findall(r"^    (\w+): \{$", declared, re.MULTILINE))
    in_python = {path.stem for path in Path(package, "api").glob("*/*.py")}
    faults = [f"TypeScript lacks {name}" for name in sorted(ids - in_typescript)]
    faults += [f"Python lacks {name}" for name in sorted(ids - in_python)]
    said = Path(log).read_text(encoding="utf-8")
    faults += [line for line in said.splitlines() if LOSSES.search(line)]
    print(f"{len(ids)} operations, {len(faults)} faults of generated clients", *faults, sep="\n")
    return 1 if faults or not ids else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
