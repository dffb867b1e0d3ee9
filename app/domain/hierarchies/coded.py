"""Hierarchies of values whose structure is known: codes, places, times; and of values by how rare they are.

Each puts a value below what its code says, and ⊥ above. Levels on which every value is what it was one below
are left out: where all postcodes of the United States have five digits, there is no level of five digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from app.domain.errors import InvalidInput
from app.domain.hierarchies.builders import distinct_leaves
from app.domain.hierarchies.code_tables.countries import COUNTRIES
from app.domain.hierarchies.code_tables.diagnoses import icd_9_chapter, icd_10_block
from app.domain.hierarchies.code_tables.postcodes import POSTCODES, Country
from app.domain.hierarchies.code_tables.us_states import US_STATES
from app.domain.hierarchies.code_tables.vocabularies import SAID, vocabulary
from app.domain.hierarchies.definitions import nodes_of_levels
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.hierarchies.hierarchy_definitions import (
    Coded,
    CountriesDefinition,
    DiagnosesDefinition,
    DiagnosisSystem,
    PostcodesDefinition,
    TimesDefinition,
    VocabularyDefinition,
)

Ancestors = tuple[str, ...] | None
"""What a value generalises to, nearest first; None for a value that is no such code."""

_NAMED: Final = 5
_ICD_10: Final = re.compile(r"([A-Z]\d\d)(?:\.?[0-9A-Z]{1,4})?[*†+!]?", re.ASCII)
_ICD_9: Final = re.compile(r"(\d{3}|V\d\d|E\d{3})(?:\.\d{1,2})?", re.ASCII)
_TIME: Final = re.compile(r"(([01]\d|2[0-3]):[0-5]\d)(?::[0-5]\d(?:\.\d+)?)?", re.ASCII)
_PARTS_OF_DAY: Final = ("night", "morning", "afternoon", "evening")


def coded(values: Sequence[str], definition: Coded) -> Hierarchy:
    """The values below what the definition knows of their codes.

    InvalidInput names the first values that are no such codes, unless the definition has a label for them.
    """
    above, said, form = _reading(definition)
    found = {value: above(value) for value in distinct_leaves(values)}
    unread = [value for value, ancestors in found.items() if ancestors is None]
    if unread and definition.others is None:
        named = ", ".join(repr(value) for value in unread[:_NAMED])
        raise InvalidInput.of(
            "/values",
            "no-such-code",
            f"{len(unread)} of {len(found)} values are not {said}: {named}"
            f"{' and more' if len(unread) > _NAMED else ''}.",
            f"Write {form}; or name in others what such values are put below.",
        )
    if definition.others == "":
        raise InvalidInput.of(
            "/others", "empty-label", "The label is empty.", "Name it, or leave others out."
        )
    if unread and any(definition.others in above for above in found.values() if above is not None):
        raise _taken("/others", definition.others, "what known codes are put below")
    return _of_ancestors(found, definition.others or "")


def code_prefixes(values: Sequence[str], lengths: Sequence[int]) -> Hierarchy:
    """Codes below their first ``lengths[i]`` characters; a shorter code is its own prefix.

    InvalidInput if the lengths do not descend.
    """
    for i, length in enumerate(lengths):
        if i and length >= lengths[i - 1]:
            raise InvalidInput.of(
                f"/lengths/{i}",
                "not-descending",
                f"The length {length} is not below {lengths[i - 1]}.",
                "Write the lengths in descending order, each once.",
            )
    return _of_ancestors(
        {value: tuple(value[:length] for length in lengths) for value in distinct_leaves(values)}, ""
    )


def rare_values(counts: Mapping[str, int], at_least: int, other: str) -> Hierarchy:
    """Values of at least so many rows as they are, all others below one label; then ⊥."""
    if not other:
        raise InvalidInput.of("/other", "empty-label", "The label is empty.", "Name it.")
    rare = {value for value, rows in counts.items() if rows < at_least}
    if rare and counts.get(other, 0) >= at_least:
        raise _taken("/other", other, "a value that is kept")
    rows = [[value, other if value in rare else value] for value in distinct_leaves([*counts])]
    return Hierarchy(*nodes_of_levels(rows))


def _taken(pointer: str, label: str | None, by: str) -> InvalidInput:
    """What is wrong with a label under which other values would pass for what they are not."""
    return InvalidInput.of(
        pointer,
        "label-taken",
        f"The label {label!r} is that of {by}.",
        "Choose a label that nothing else has.",
    )


def diagnosis_ancestors(value: str, system: DiagnosisSystem = "icd-10") -> Ancestors:
    """Category, block and chapter of a code of ICD-10, category and chapter of one of ICD-9-CM."""
    if system == "icd-10":
        match = _ICD_10.fullmatch(value.strip().upper())
        above = icd_10_block(match[1]) if match else None
        return (match[1], *above) if match and above else None
    match = _ICD_9.fullmatch(value.strip().upper())
    chapter = icd_9_chapter(match[1]) if match else None
    return (match[1], chapter) if match and chapter else None


def postcode_ancestors(value: str, country: Country) -> Ancestors:
    """The areas that a country's postcode begins with, smallest first."""
    match = POSTCODES[country].fullmatch(value.replace(" ", "").upper())
    return match.groups() if match else None


def country_ancestors(value: str) -> Ancestors:
    """Sub-region and region of a country's code or name."""
    name = value.strip().casefold()
    return COUNTRIES.get(name) or COUNTRIES.get(name.replace("-", " ").replace("_", " "))


def us_state_ancestors(value: str) -> Ancestors:
    """Division and region of a state's code or name."""
    return US_STATES.get(value.strip().casefold())


def time_ancestors(value: str) -> Ancestors:
    """Minute, hour and part of the day: night 0 to 6, morning to 12, afternoon to 18, evening to 24."""
    match = _TIME.fullmatch(value.strip())
    if match is None:
        return None
    minute, hour = match.groups()
    return minute, f"{hour}:00-{hour}:59", _PARTS_OF_DAY[int(hour) // 6]


def _reading(definition: Coded) -> tuple[Callable[[str], Ancestors], str, str]:
    """What is above a value, what such values are called, and how they are written."""
    match definition:
        case PostcodesDefinition(country=country):
            said = f"postcodes of {country}"
            return lambda value: postcode_ancestors(value, country), said, "them whole, as the country does"
        case DiagnosesDefinition(system=system):
            form = "I21.4 or I21" if system == "icd-10" else "250.01, V10 or E850"
            said = "codes of ICD-10" if system == "icd-10" else "codes of ICD-9-CM"
            return lambda value: diagnosis_ancestors(value, system), said, form
        case CountriesDefinition():
            return country_ancestors, "countries", "DE, DEU or Germany"
        case TimesDefinition():
            return time_ancestors, "times of day", "14:35 or 14:35:10"
        case VocabularyDefinition(vocabulary=name, language=language):
            known = vocabulary(name, language)
            if known is None:
                raise InvalidInput.of(
                    "/language",
                    "no-such-vocabulary",
                    f"There is no vocabulary {name!r} in that language.",
                    "Take another language, or rows of your own.",
                )
            return known.ancestors, SAID[name], "them as the vocabulary has them"
        case _:
            return us_state_ancestors, "states", "IN or Indiana"


def _of_ancestors(found: Mapping[str, Ancestors], others: str) -> Hierarchy:
    """The hierarchy of values with what is above them, without levels that change nothing."""
    height = max((len(above) for above in found.values() if above is not None), default=1)
    rows = [[value, *(above or (others,) * height)] for value, above in found.items()]
    kept = [
        level for level in range(height + 1) if not level or any(row[level] != row[level - 1] for row in rows)
    ]
    return Hierarchy(*nodes_of_levels([[row[level] for level in kept] for row in rows]))
