"""The role of a column, judged by its name, its values, and how many of them differ."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np

from app.domain.direct_identifiers.recognition import TITLES, recognised_kinds
from app.services.datasets.ingest.column_types import TypeProposal
from app.services.datasets.ingest.role_words import (
    DIRECT,
    DROPPED,
    NUMBER_WORDS,
    PERSONS_NUMBER,
    QUASI,
    SENSITIVE,
    SUBJECTS,
    Subject,
)

_RECOGNISED_ROWS: Final = 2_000
_PARTS: Final = re.compile(r"[^\W\d_]+|\d+")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST_SPAN: Final = 4

_FEWEST_NUMBERS: Final = 0.1
_NEARLY_ALL: Final = 0.9
_FEW_VALUES: Final = 5
_ENOUGH_ROWS: Final = 50
_LONGEST_MARK: Final = 3
"""A few longer texts may be the names of a few doctors, or two telephone numbers."""
_RECORD_DIGITS: Final = 7
_SHAPE_SHARE: Final = 0.9
_LEAST_OF_TEXTS: Final = 3

_ICD_10: Final = re.compile(r"[A-TV-Z]\d[0-9AB](?:\.?[0-9A-Z]{1,4})?[*+!]?")
_AMOUNT: Final = re.compile(r"[-+]?\d[\d.,' ]*[.,]\d{2}(?: ?[€$£¥]| [A-Z]{3})?|[€$£¥] ?\d[\d.,' ]*")
_MALE: Final = frozenset(
    "m male man mannlich homme h hombre masculino maschio mezczyzna".split()  # noqa: SIM905
)
_OTHER_SEXES: Final = frozenset(
    """
    f w d x u k female woman weiblich femme mujer feminino femenino femmina vrouw kobieta divers other unknown
    """.split()  # noqa: SIM905 - words are read more easily so
)


@dataclass(frozen=True)
class RoleProposal:
    """A role, why, and whether the cells are codes, also if they are written as numbers.

    ``is_guess`` says that neither name nor cells tell what the column is about, only how its values repeat.
    """

    role: str
    reason: str
    is_code: bool = False
    is_guess: bool = False


@dataclass(frozen=True)
class _Column:
    """What a role is judged by."""

    name: str
    rows: int
    counts: Mapping[str, int]
    type: TypeProposal

    @property
    def present(self) -> int:
        return sum(self.counts.values())

    @property
    def is_unique(self) -> bool:
        return len(self.counts) == self.rows > 1

    @property
    def distinct_share(self) -> float:
        return len(self.counts) / max(1, self.present)

    def share(self, holds: Callable[[str], bool]) -> float:
        """Share of the distinct texts of which something holds."""
        return sum(map(holds, self.counts)) / max(1, len(self.counts))


def propose_role(name: str, cells: Sequence[str | None], type_: TypeProposal) -> RoleProposal:
    """The role that fits a column best, never a disclosed one for what looks like a direct identifier.

    First come direct identifiers recognised in the cells, then what the name says, then what the cells are
    written like, then how often values repeat. No cell is shown in the reason.
    """
    column = _Column(name, len(cells), Counter(cell for cell in cells if cell is not None), type_)
    subject = subject_of(name)
    return (
        _recognised(column, cells)
        or _numbering(column, subject)
        or _named(column, subject)
        or _shaped(column)
        or replace(_counted(column), is_guess=True)
    )


def subject_of(name: str) -> Subject | None:
    """What a column of this name is about: the subject with the longest word that is found in the name."""
    # Up to four words of the name that follow one another, written as one.
    tokens = _tokens(name)
    spans = frozenset(
        "".join(tokens[start:end])
        for start in range(len(tokens))
        for end in range(start + 1, min(len(tokens), start + _LONGEST_SPAN) + 1)
    )
    fits = ((len(word.strip("*?")), -place, word) for word, place in _words() if _fits(word, spans))
    _, place, word = max(fits, default=(0, 1, ""))
    return replace(SUBJECTS[-place], is_unsure=word.endswith("?")) if place <= 0 else None


@cache
def _words() -> tuple[tuple[str, int], ...]:
    """Every word, written without its joints, with the place of its subject."""
    return tuple(
        (word.replace("+", ""), place) for place, own in enumerate(SUBJECTS) for word in sorted(own.words)
    )


def _fits(word: str, spans: Collection[str]) -> bool:
    if "*" not in word:
        return word.removesuffix("?") in spans
    inside = word.strip("*")
    if word.startswith("*") and word.endswith("*"):
        return any(inside in span for span in spans)
    if word.startswith("*"):
        return any(span.endswith(inside) for span in spans)
    return any(span.startswith(inside) for span in spans)


def _tokens(name: str) -> list[str]:
    """The words of a name, also of one written in camel case, in lower case and without accents."""
    decomposed = unicodedata.normalize("NFKD", _CAMEL.sub(" ", name))
    plain = "".join(sign for sign in decomposed if not unicodedata.combining(sign)).casefold()
    return _PARTS.findall(plain.replace("ł", "l"))


def _recognised(column: _Column, cells: Sequence[str | None]) -> RoleProposal | None:
    """Never to be released if the cells look like direct identifiers."""
    counts = Counter(cell for cell in cells[:_RECOGNISED_ROWS] if cell is not None)
    found = recognised_kinds(list(counts), np.array(list(counts.values()), dtype=np.int64))
    named = [f"{TITLES[own.kind]} ({100 * own.share:.0f} %)" for own in found if own.is_direct_identifier]
    if not named:
        return None
    return _never_released(column, f"A direct identifier: its cells look like {', '.join(named)}.")


def _never_released(column: _Column, reason: str) -> RoleProposal:
    return RoleProposal("identifier" if column.is_unique else "other", reason, is_code=True)


def _numbering(column: _Column, subject: Subject | None) -> RoleProposal | None:
    """Never to be released if name and values say that it numbers persons or records."""
    tokens = _tokens(column.name)
    is_free = subject is None or subject.role not in (QUASI, SENSITIVE)
    last = tokens[-1] if tokens else ""
    is_number = last in PERSONS_NUMBER and column.distinct_share >= _FEWEST_NUMBERS
    is_number |= is_free and last in NUMBER_WORDS and column.distinct_share >= _NEARLY_ALL
    if not is_number:
        return None
    if column.is_unique:
        return _never_released(column, "Every row has another value, and its name says that it numbers them.")
    return _never_released(column, "Its name and its many values say that it numbers persons or records.")


def _named(column: _Column, subject: Subject | None) -> RoleProposal | None:
    """The role of what the name says, unless the values speak against it."""
    if subject is None:
        return None
    says = f"Its name {'may say' if subject.is_unsure else 'says'} {subject.title}"
    if column.type.type == "date" and "date" not in subject.title:
        says = f"Its cells are dates, and its name says {subject.title}"
    if subject.role == DIRECT:
        is_few = len(column.counts) <= _FEW_VALUES and column.present >= _ENOUGH_ROWS
        if is_few and all(len(text) <= _LONGEST_MARK for text in column.counts):
            return RoleProposal(QUASI, f"{says}, but so few values tell nobody apart; others may know them.")
        return _never_released(column, f"A direct identifier: its name says {subject.title}.")
    if subject.role == DROPPED:
        return RoleProposal("other", f"{says}, which should not be released.")
    if _are_texts(column):
        return RoleProposal("other", f"{says}, but its cells are free text, which may name people.")
    knows = "others must not learn" if subject.role == SENSITIVE else "others may know"
    asked = " Look whether it does: the word has other meanings." if subject.is_unsure else ""
    return RoleProposal(subject.role, f"{says}, which {knows}.{asked}", subject.is_code, subject.is_unsure)


def _are_texts(column: _Column) -> bool:
    """Whether nearly every cell has a text of several words of its own."""
    is_varied = column.present >= _ENOUGH_ROWS and column.distinct_share >= _NEARLY_ALL
    return is_varied and column.share(lambda text: len(text.split()) >= _LEAST_OF_TEXTS) >= _SHAPE_SHARE / 2


def _shaped(column: _Column) -> RoleProposal | None:
    """The role of what the cells are written like, where the name says nothing."""
    if not column.counts:
        return None
    is_icd = column.share(lambda text: _ICD_10.fullmatch(text) is not None) >= _SHAPE_SHARE
    # Numbers of persons may begin with a letter too, but have no point and do not repeat.
    has_points = any("." in text for text in column.counts)
    if is_icd and len(column.counts) > 1 and (has_points or column.distinct_share < _NEARLY_ALL):
        return RoleProposal(SENSITIVE, "Its cells look like diagnoses (ICD-10), which others must not learn.")
    is_few = len(column.counts) <= _FEW_VALUES
    values = {"".join(_tokens(text)) for text in column.counts} if is_few else set()
    if values & _MALE and values & _OTHER_SEXES and values <= _MALE | _OTHER_SEXES:
        return RoleProposal(QUASI, "Its cells look like sexes, which others may know.")
    is_amount = column.share(lambda text: _AMOUNT.fullmatch(text) is not None) >= _SHAPE_SHARE
    if is_amount and column.distinct_share >= _FEWEST_NUMBERS:
        return RoleProposal(SENSITIVE, "Its cells look like amounts of money, which others must not learn.")
    return None


def _counted(column: _Column) -> RoleProposal:
    """The role that follows from how many values there are, where nothing else says anything."""
    if column.is_unique and column.type.type in ("categorical", "text"):
        return _never_released(column, "Every row has another value.")
    if column.is_unique and column.type.type == "number" and _are_numbers_of_rows(column):
        return _never_released(column, "Every row has another whole number.")
    if _are_record_numbers(column):
        return _never_released(column, "Its cells are long numbers built alike, of persons or records.")
    if column.type.type == "text" or _are_texts(column):
        return RoleProposal("other", "Nearly every row has another text.")
    return RoleProposal(QUASI, "Its values repeat, so others may know them.")


def _are_record_numbers(column: _Column) -> bool:
    """Whether its cells are many codes of one shape with so many digits that they tell persons apart."""
    shapes = {re.sub(r"\d", "9", text) for text in column.counts}
    if len(shapes) != 1 or column.type.type == "date" or column.distinct_share < _FEWEST_NUMBERS:
        return False
    (shape,) = shapes
    return shape.count("9") >= _RECORD_DIGITS and len(column.counts) > _FEW_VALUES and "," not in shape


def _are_numbers_of_rows(column: _Column) -> bool:
    """Whether its values are whole numbers that are many or have no gaps."""
    if not all(re.fullmatch(r"\d{1,15}", text) for text in column.counts):
        return False
    numbers = [int(text) for text in column.counts]
    return len(numbers) >= _ENOUGH_ROWS or max(numbers) - min(numbers) == len(numbers) - 1
