"""One request of somebody who is signed in: what they may read, and the page they get.

Everything that is put into a template is escaped unless it is a picture made here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from app.web import words
from app.web.sessions import Session
from app.web.words import is_ref
from privacy_risk import AsyncClient, Json, ProblemError

_SHARED: Final = Path(__file__).parents[1] / "reports" / "templates" / "shared"
"""Parts that reports for people show as well, by names that begin with ``shared/``."""

TEMPLATES: Final = Environment(
    loader=ChoiceLoader(
        [
            FileSystemLoader(Path(__file__).parent / "templates"),
            PrefixLoader({"shared": FileSystemLoader(_SHARED)}),
        ]
    ),
    autoescape=True,
    undefined=StrictUndefined,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {
    "number": words.number,
    "share": words.share,
    "counted": words.counted,
    "figure": words.figure,
    "moment": words.moment,
    "words": words.words,
    "levels": words.levels_in_words,
    "objective": words.objective,
    "anchor": words.anchor,
    "prose": words.prose,
}
TEMPLATES.globals["address"] = words.address


PAGE_POLICY: Final = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
)


class NoSuchPage(Exception):
    """The address names nothing that can be shown."""


@dataclass(frozen=True)
class Visit:
    """A request with the client of whoever sent it, and the means to make another of the same key."""

    request: Request
    session: Session
    client: AsyncClient
    client_again: Callable[[], AsyncClient]
    key: Json

    @property
    def ref(self) -> str:
        """The resource that the address names."""
        return self.path("ref")

    def path(self, name: str) -> str:
        """A part of the address that names a resource; NoSuchPage if nothing can be called so."""
        value = str(self.request.path_params[name])
        if not is_ref(value):
            raise NoSuchPage
        return value

    def asked(self, name: str) -> str | None:
        """What the query names, such as a policy; None if it names nothing that could exist."""
        value = self.request.query_params.get(name, "")
        return value if is_ref(value) else None

    def number(self, name: str, default: int, least: int = 0, most: int = 2**31 - 1) -> int:
        """A whole number of the query, within bounds."""
        text = self.request.query_params.get(name, "")
        if not (text.isascii() and text.isdecimal() and len(text) <= 10):
            return default
        return max(least, min(int(text), most))

    @cached_property
    def reads_data(self) -> bool:
        """Whether the key may see values of cells."""
        return "data:read" in self.key["scopes"]


@dataclass(frozen=True)
class Page:
    """A template and what it shows."""

    template: str
    shown: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


Handler = Callable[[Visit], Awaitable[Page | Response]]


def rendered(page: Page, visit: Visit | None = None) -> HTMLResponse:
    """The page as HTML; what every page shows comes with the visit."""
    common = {
        "key": None if visit is None else visit.key,
        "scopes": frozenset() if visit is None else frozenset(visit.key["scopes"]),
        "form_token": None if visit is None else visit.session.form_token,
        "here": "" if visit is None else visit.request.url.path,
    }
    html = TEMPLATES.get_template(page.template).render({**common, **page.shown})
    return HTMLResponse(html, page.status, {"Content-Security-Policy": PAGE_POLICY})


async def found(answer: Awaitable[Any]) -> Any:  # noqa: ANN401 - whatever is asked for
    """The answer, or None where there is none: not there, not yet, of no such kind, not for this key."""
    try:
        return await answer
    except ProblemError as problem:
        if problem.status in (403, 404, 409, 422):
            return None
        raise
