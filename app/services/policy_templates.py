"""Policies to start from, which come with the product as files."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from app.domain.errors import NotFound
from app.domain.policies.policy import Policy
from app.services.policy_documents import policy_of
from app.services.structured_text import read_yaml

NAMES: Final = ("public-release", "trusted-partner", "internal-analytics")
"""The templates, the strictest first."""


@dataclass(frozen=True)
class Template:
    """A policy and the file that it is from."""

    policy: Policy
    text: str


@functools.cache
def templates() -> tuple[Template, ...]:
    """All templates, the strictest first."""
    folder = files("app.services") / "policy_files"
    texts = [(folder / f"{name}.yaml").read_text(encoding="utf-8") for name in NAMES]
    return tuple(Template(policy_of(read_yaml(text).value), text) for text in texts)


def template(name: str) -> Template:
    """The template of this name; NotFound otherwise."""
    for own in templates():
        if own.policy.name == name:
            return own
    raise NotFound("policy template", name)
