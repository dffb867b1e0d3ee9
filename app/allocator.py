"""How the C library keeps what a process has freed.

Each thread that allocates is given an arena of its own, and what it frees there serves no other thread. Work
that threads take in turns then fills one arena after the other: a process that answers requests grows for
hours, though it holds no more than before.
"""

from __future__ import annotations

import ctypes
from typing import Final

M_ARENA_MAX: Final = -8


def share_one_arena() -> None:
    """Have all threads of this process, and of those that it forks, allocate from the same arena.

    To be called before there is a thread: an arena that is there already is used on.
    """
    _told("mallopt", M_ARENA_MAX, 1)


def give_back_freed() -> None:
    """Return to the system what this process has freed."""
    _told("malloc_trim", 0)


def _told(function: str, *arguments: int) -> None:
    """Call what glibc has; other C libraries, as musl, keep their memory in ways of their own."""
    own = getattr(ctypes.CDLL(None), function, None)
    if own is not None:
        own(*arguments)
