"""Fields of bodies described by docstrings: a text below the field, where it would make its line too long.

Pydantic reads such texts too, but looks for the source anew for each class, which takes seconds in all.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BaseModel, Field


class Described(BaseModel):
    """Base of all bodies: what a field is stands in its declaration or below it."""

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401 - pydantic's
        super().__init_subclass__(**options)
        said = texts_below_fields(cls)
        for name in said.keys() & cls.__annotations__.keys():
            cls.__annotations__[name] = Annotated[cls.__annotations__[name], Field(description=said[name])]


def texts_below_fields(described: type) -> Mapping[str, str]:
    """Field of a class → the text below it, in one line; fields without one are left out.

    Fields may be inherited from classes of the same top-level package.
    """
    package = described.__module__.partition(".")[0]
    texts: dict[str, str] = {}
    for own in reversed(described.__mro__):
        if own.__module__.partition(".")[0] == package:
            texts |= _docstrings(own.__module__).get(own.__qualname__, {})
    return texts


@functools.cache
def _docstrings(module: str) -> Mapping[str, Mapping[str, str]]:
    """Class of a module → field → the text below it, in one line."""
    try:
        classes = ast.parse(inspect.getsource(sys.modules[module])).body
    except (KeyError, OSError, TypeError):  # there is no source to read
        return {}
    return {
        own.name: {
            field.target.id: " ".join(below.value.value.split())
            for field, below in pairwise(own.body)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if isinstance(below.value.value, str)
        }
        for own in classes
        if isinstance(own, ast.ClassDef)
    }
