"""First names and surnames of some seventy languages and countries, from the lists that Faker ships.

Only the lists are read, never Faker's generator. They are loaded when names are asked for first.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Final

from faker.providers import address, company, person

_FEWEST_LETTERS: Final = 2


@dataclass(frozen=True)
class NameLists:
    """Single words in the form that :func:`plain` gives.

    Parameters
    ----------
    first, last
        First names and surnames.
    titles
        What stands before or behind a name.
    others
        What stands only in the names of businesses and streets, which are often called after people.
    """

    first: frozenset[str]
    last: frozenset[str]
    titles: frozenset[str]
    others: frozenset[str]


def plain(text: str) -> str:
    """A text without case, accents and signs that nobody sees, for comparison with the lists."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    kept = (s for s in decomposed if not unicodedata.combining(s) and unicodedata.category(s) != "Cf")
    return unicodedata.normalize("NFC", "".join(kept))


@cache
def name_lists() -> NameLists:
    """The lists: about 59,000 names, some 15 MB and 0.4 s at the first call."""
    first, last = _listed(person, "first_name"), _listed(person, "last_name")
    titles = _listed(person, "prefix") | _listed(person, "suffix")
    others = _listed(company, "company_suffix") | _listed(address, "street_")
    return NameLists(
        first,
        last,
        titles - first - last,
        others - first - last - titles,
    )


def _listed(providers: ModuleType, name: str) -> frozenset[str]:
    """The words of all lists that are called so."""
    words: set[str] = set()
    for module in iter_modules(providers.__path__):
        if module.ispkg:
            provider = import_module(f"{providers.__name__}.{module.name}").Provider
            for attribute in dir(provider):
                listed = getattr(provider, attribute) if name in attribute else None
                if isinstance(listed, list | tuple | Mapping | set):
                    words.update(_words(listed))
    return frozenset(words)


def _words(listed: Iterable[object]) -> Iterator[str]:
    """The words of a list's entries; some lists hold lists, or pairs of a name and how often it occurs."""
    for entry in listed:
        if isinstance(entry, str):
            for word in plain(entry).replace("-", " ").replace(".", " ").split():
                if len(word) >= _FEWEST_LETTERS or not word.isascii():
                    yield word
        elif isinstance(entry, Iterable):
            yield from _words(entry)
