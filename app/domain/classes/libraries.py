"""A library whose parts few questions need: each is imported by the first that does."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any, Final


class Library:
    """Stands for a library that is not imported yet.

    One thread at a time imports: parts that need each other, as those of SciPy do, may otherwise wait for
    each other in two threads, and Python ends one of the two by an exception.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, part: str) -> Any:  # noqa: ANN401 - whatever the library has
        """The part, which is at hand from then on."""
        with _importing:
            found = getattr(import_module(self._name), part)
        self.__dict__[part] = found
        return found


_importing: Final = threading.RLock()
