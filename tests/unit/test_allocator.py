"""What is asked of the C library's allocator, and that libraries without such functions are left alone."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from app.allocator import M_ARENA_MAX, give_back_freed, share_one_arena


def test_the_allocator_is_told_and_one_that_cannot_be_told_stops_nothing(monkeypatch: pytest.MonkeyPatch):
    told: list[tuple[int, ...]] = []
    glibc = SimpleNamespace(mallopt=lambda *own: told.append(own), malloc_trim=lambda *own: told.append(own))
    for library in (glibc, SimpleNamespace()):
        monkeypatch.setattr(ctypes, "CDLL", lambda _, library=library: library)
        share_one_arena()
        give_back_freed()
    assert told == [(M_ARENA_MAX, 1), (0,)]
