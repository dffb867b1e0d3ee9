"""Policies to start from, which come with the product as files; earlier versions stay as they were."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.resources import files
from typing import Final, Literal, get_args

from app.domain.errors import NotFound
from app.domain.policies.policy import Policy
from app.services.datasets.structured_text import read_yaml
from app.services.gates.policy_documents import policy_of

NAMES: Final = ("public-release", "trusted-partner", "internal-analytics")
"""The templates, the strictest first."""

TemplateVersion = Literal[1, 2]
NEWEST: Final = 2


@dataclass(frozen=True)
class Template:
    """A policy and the file that it is from."""

    policy: Policy
    text: str


@functools.cache
def templates(version: TemplateVersion = NEWEST) -> tuple[Template, ...]:
    """All templates of a version, the strictest first."""
    folder = files("app.services.gates") / "policy_files"
    texts = [(folder / f"{name}@{version}.yaml").read_text(encoding="utf-8") for name in NAMES]
    return tuple(Template(policy_of(read_yaml(text).value), text) for text in texts)


def template(ref: str) -> Template:
    """The template ``NAME@VERSION``, or the newest one of a name; NotFound otherwise."""
    for version in reversed(get_args(TemplateVersion)):
        for name, own in zip(NAMES, templates(version), strict=True):
            if ref in (name, f"{name}@{version}"):
                return own
    raise NotFound("policy template", ref)
