"""What fields of forms offer: the names of resources that there are."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from app.web.data import LOOKED_THROUGH, of_dataset
from app.web.forms import Form
from app.web.visits import NoSuchPage, Visit
from app.web.words import is_ref

Choices = list[tuple[str, str]]
"""Values of a field, each with what is shown for it."""

NONE: Final = ("", "none")


async def names(visit: Visit, kind: str) -> list[str]:
    """The names of the newest resources of a kind."""
    page = await getattr(visit.client, kind).page(limit=LOOKED_THROUGH)
    return [one.name for one in page.items]


async def names_of_dataset(visit: Visit, kind: str, dataset: str) -> list[str]:
    """The same of those that are about a dataset."""
    return [one["name"] for one in await of_dataset(visit, kind, dataset)]


def named(form: Form, field: str) -> str:
    """The resource that a hidden field names, for an address; NoSuchPage if nothing can be called so."""
    name = form.text(field)
    if not is_ref(name):
        raise NoSuchPage
    return name


async def attackers(visit: Visit) -> Choices:
    """Dictionaries, and sets of them, which take their places."""
    single, sets = await asyncio.gather(names(visit, "dictionaries"), names(visit, "dictionary_sets"))
    return [*offered(single), *((name, f"{name} (a set)") for name in sets)]


def offered(values: Sequence[str]) -> Choices:
    """Names as choices that are shown as they are."""
    return [(name, name) for name in values]
