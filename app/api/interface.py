"""The interface under its prefix: an address's first word leads to its operations, loaded on first use."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from typing import Final

from fastapi import APIRouter
from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from app.api.routers import PARTS
from app.api.routes import PREFIX, Operation, Route
from app.api.services import Services

_WORDS: Final = frozenset(word for part in PARTS for word in part.words)


class Interface(BaseRoute):
    """The operations of all resources as one route, where a request waits for those that it needs alone.

    The first request makes the use cases, too, and leaves them in the application's state.
    """

    def __init__(self, state: State, make_services: Callable[[], Services]) -> None:
        self._state = state
        self._make_services = make_services

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether the address begins as those of some operation do."""
        known = scope["type"] == "http" and _first_word(scope) in _WORDS
        return (Match.FULL if known else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer by the operation, or say what a router says of an address or a method that it lacks."""
        word = _first_word(scope)
        router = _loaded.get(word) if hasattr(self._state, "services") else None
        if router is None:
            # In a thread: it takes tenths of a second, and requests that need nothing new go on.
            router = await asyncio.to_thread(self._load, word)
        try:
            await router(scope, receive, send)
        except HTTPException as error:
            if error.status_code == 405:
                # Each operation knows of its own method alone.
                known = {method for route in router.routes for method in _methods_at(route, scope)}
                error.headers = {"Allow": ", ".join(sorted(known))}
            raise

    def _load(self, word: str) -> APIRouter:
        """The operations whose addresses begin with this word; whoever asks meanwhile waits for the first."""
        with _loading:
            # None of what is defined here is ever garbage, and looking through it would hold requests up.
            gc.disable()
            try:
                if not hasattr(self._state, "services"):
                    self._state.services = self._make_services()
                load(word)
            finally:
                gc.enable()
            gc.freeze()
        return _loaded[word]


def load_ahead(enough: Callable[[], bool]) -> None:
    """Load the operations that requests would load, in the order of the page, until it is enough.

    For a process that has nothing else to do and runs no thread.
    """
    for word in (word for part in PARTS for word in part.words):
        if enough():
            return
        load(word)


def load(word: str) -> None:
    """Load the operations whose addresses begin with this word, unless they are loaded."""
    if word not in _loaded:
        _loaded[word] = _router(word)


_loaded: Final[dict[str, APIRouter]] = {}
"""First word → its operations: the same for all applications of a process, as they hold no state."""
_loading: Final = threading.Lock()


def _methods_at(route: BaseRoute, scope: Scope) -> set[str]:
    """The methods of a route if the address is one of its own."""
    if not isinstance(route, Operation) or route.matches(scope)[0] is Match.NONE:
        return set()
    known = set(route.methods or ())
    return known | {"HEAD"} if "GET" in known else known


def _first_word(scope: Scope) -> str:
    before, _, below = scope["path"].partition(f"{PREFIX}/")
    return "" if before else below.partition("/")[0]


def _router(word: str) -> APIRouter:
    start = f"{PREFIX}/{word}"
    routes: list[BaseRoute] = [
        route
        for part in PARTS
        if word in part.words
        for route in part.router().routes
        if isinstance(route, Operation) and (route.path == start or route.path.startswith(f"{start}/"))
    ]
    for route in routes:
        if isinstance(route, Route):
            route.prepare()
    return APIRouter(routes=routes)
