"""The bill of materials of an image (CycloneDX 1.6, JSON) and the licences of what is in it.

Usage, in the image: python bill_of_materials.py FOLDER PRODUCT. Python packages are told by what they say of
themselves, Debian's by its database; the licences of these lie in /usr/share/doc/PACKAGE/copyright.
Needs nothing but the standard library.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).parents[1]
LICENCE_FILES = ("licen", "copying", "notice", "authors")
DPKG_FORMAT = "${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\n"


def main(folder: Path, product: Path) -> None:
    """Write ``sbom.cdx.json`` and ``licences/`` into the folder, for the product in that other one."""
    found = sorted(metadata.distributions(), key=lambda own: own.name.lower())
    for distribution in found:
        copy_licences(distribution, folder / "licences" / distribution.name.lower())
    components = [*map(python_component, found), swagger_ui(product), *debian_components()]
    text = json.dumps(document(version(product), components), indent=1, ensure_ascii=False)
    (folder / "sbom.cdx.json").write_text(text + "\n", encoding="utf-8")
    print(f"bill of materials: {len(components)} components, {len(found)} of them Python packages")


def document(own_version: str, components: list[dict[str, Any]]) -> dict[str, Any]:
    """The document; without time and serial number, so that equal images have equal ones."""
    product = {
        "type": "application", "bom-ref": "privacy-risk", "name": "privacy-risk", "version": own_version,
        "licenses": [{"expression": "Apache-2.0"}],
    }  # fmt: skip
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"component": product},
        "components": components,
    }  # fmt: skip


def component(kind: str, name: str, own_version: str, licences: list[dict[str, Any]]) -> dict[str, Any]:
    """One library by its package URL."""
    package, _, qualifiers = kind.partition("?")
    url = f"pkg:{package}/{quote(name)}@{quote(own_version, safe='')}"
    url += f"?{qualifiers}" if qualifiers else ""
    own = {"type": "library", "bom-ref": url, "name": name, "version": own_version, "purl": url}
    return {**own, "licenses": licences} if licences else own


def python_component(distribution: metadata.Distribution) -> dict[str, Any]:
    """A Python package; vulnerabilities are looked up by its URL, which has hyphens alone."""
    name = distribution.name.lower().replace("_", "-")
    return component("pypi", name, distribution.version, licences_of(distribution))


def licences_of(distribution: metadata.Distribution) -> list[dict[str, Any]]:
    """By expression where the package has one, or else as it puts it: in a line, or by classifiers."""
    about = distribution.metadata
    if expression := about.get("License-Expression"):
        return [{"expression": expression}]
    said = (about.get("License") or "").strip()
    names = [said] if said and "\n" not in said else []
    names = names or [
        own.rsplit(" :: ", 1)[-1] for own in about.get_all("Classifier", []) if own.startswith("License ::")
    ]
    return [{"license": {"name": name}} for name in names]


def copy_licences(distribution: metadata.Distribution, target: Path) -> None:
    """Copy the files with which a package states its licence."""
    for file in distribution.files or ():
        if ".dist-info" in str(file) and file.name.lower().startswith(LICENCE_FILES):
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file.locate()), target / "-".join(file.parts[1:]))


def swagger_ui(product: Path) -> dict[str, Any]:
    """The only part that is no package of Python or Debian; its licence lies beside it."""
    first = (product / "app/api/static/swagger-ui/VERSION.txt").read_text(encoding="utf-8").split(",")[0]
    name, _, own_version = first.partition(" ")
    return component("npm", name, own_version, [{"expression": "Apache-2.0"}])


def debian_components() -> Iterator[dict[str, Any]]:
    """Debian's packages, if this is a Debian."""
    program = shutil.which("dpkg-query")
    if program is None:
        return
    told = subprocess.run([program, "-W", "-f", DPKG_FORMAT], capture_output=True, text=True, check=True)  # noqa: S603
    for line in told.stdout.splitlines():
        status, name, own_version, architecture = line.split("\t")
        if status.startswith("ii"):  # others have been removed
            yield component(f"deb/debian?arch={architecture}", name, own_version, [])


def version(product: Path) -> str:
    """The product's, as its package says it."""
    text = (product / "app/__init__.py").read_text(encoding="utf-8")
    return text.partition('__version__: Final = "')[2].partition('"')[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT)
