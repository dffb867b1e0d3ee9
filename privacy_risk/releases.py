"""What ``anonymise`` answers: the table, the rule, what was reached, and a policy that asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from privacy_risk.columns import Roles
from privacy_risk.notebook_views import GOOD, Bar, bars, view
from privacy_risk.release_policy import save
from privacy_risk.text_tables import html_list, html_table, number_text, text_table
from privacy_risk.usual import number_of
from privacy_risk.values import Json

Frame = TypeVar("Frame")
_NEARLY: Final = 1e-9


@dataclass(frozen=True)
class Reached:
    """A criterion as it was asked for, and what the classes that remain attain of it."""

    criterion: Json
    attained: float | None
    """None where nothing is left to judge, for all records are suppressed."""

    @property
    def letter(self) -> str:
        """``k``, ``l``, ``t`` or ``beta``."""
        return number_of(self.criterion)

    @property
    def of(self) -> str:
        """The attribute that it is about, such as `` of income``; empty for none."""
        attribute = self.criterion.get("attribute")
        return "" if attribute is None else f" of {attribute}"

    def __str__(self) -> str:
        """Such as ``k = 5 (k anonymity, 5 asked for)``; a dash where nothing is left to judge."""
        kind, asked = self.criterion["kind"].replace("_", " "), number_text(self.criterion[self.letter])
        return f"{self.letter} = {number_text(self.attained)}{self.of} ({kind}, {asked} asked for)"


@dataclass(frozen=True)
class AttributeLoss:
    """The level that a quasi-identifier is shown at, None if records have their own; its loss: 0 to 1."""

    name: str
    level: int | None
    loss: float


@dataclass(frozen=True)
class Report:
    """What was reached, and what it cost.

    ``loss`` is the geometric loss of docs/least-loss.md, ``gap`` how far it is at most from the least that is
    possible: 0 if it is proven to be the least. Suppressed records are among the ``records``, and lose all.
    Where a column names ``persons``, classes count them; so many of them lose all their records.
    ``smallest_class`` is None if all records are suppressed: there are no classes then.
    """

    records: int
    suppressed: int
    classes: int
    smallest_class: int | None
    loss: float
    gap: float | None
    reached: tuple[Reached, ...]
    losses: tuple[AttributeLoss, ...]
    persons: int | None = None
    persons_suppressed: int | None = None

    @property
    def k(self) -> int | None:
        """Size of the smallest class; None without any."""
        return self.smallest_class

    @property
    def suppressed_share(self) -> float:
        """The suppressed as a share of all records."""
        return self.suppressed / self.records

    def __str__(self) -> str:
        return "\n".join((*self._lines(), "", text_table(list(self._rows()))))

    def _repr_html_(self) -> str:
        return html_list(self._lines()) + html_table(list(self._rows()))

    def _lines(self) -> Iterator[str]:
        of = unit = lost = ""
        if self.persons is not None:
            of, unit = f" of {self.persons:,} persons", " persons"
            lost = f"; {self.persons_suppressed:,} persons lose all their records"
        share = f"({100 * self.suppressed_share:.2f} %){lost}"
        if self.smallest_class is None:
            yield f"{self.records:,} records{of}, all suppressed {share}: every cell of the release is *"
            return
        classes = f"{self.classes:,} classes, the smallest of {self.smallest_class:,}{unit}"
        yield f"{self.records:,} records{of} in {classes}; {self.suppressed:,} suppressed {share}"
        if hidden := [own.name for own in self.losses if own.loss > 1 - _NEARLY]:
            said = "generalised to the top in every row, which does not count as suppressed"
            yield f"{', '.join(hidden)}: {said}"
        yield from map(str, self.reached)
        proven = (
            "proven to be the least" if self.gap == 0 else f"at most {number_text(self.gap)} from the least"
        )
        yield f"loss {number_text(self.loss)}, {proven}"

    def _rows(self) -> Iterator[Sequence[str]]:
        yield ("quasi-identifier", "level", "loss")
        for own in self.losses:
            yield (own.name, "its own" if own.level is None else str(own.level), number_text(own.loss))


@dataclass(frozen=True, repr=False)
class Release(Generic[Frame]):
    """A table that may leave, and how it was made; printed, and shown in notebooks, as its report.

    ``frame`` is of the library of the table that was given. Its cells are texts, what is suppressed or
    missing is ``*``, and its rows stand in an order that says nothing of the records'. ``rule`` is the rule
    as POST /v1/rules takes it, ``policy`` a gate policy that asks for what was asked of the release. The
    first of the ``notes`` says what a row of the table is, and who said so.
    """

    frame: Frame
    report: Report
    rule: Json
    roles: Roles
    notes: tuple[str, ...]
    policy: Mapping[str, Any]

    def save_policy(self, path: str | PathLike[str], *, reasons: Mapping[str, str] | None = None) -> None:
        """Write the policy: JSON if the file is called so, else YAML; long hierarchies in files beside it.

        ``reasons`` say why sensitive columns, which leave as they are, may do so though who knows a value
        finds its record. Until each has one, here or in the file, every verdict is ``error``.
        """
        save(self.policy, reasons or {}, Path(path))

    def __str__(self) -> str:
        first, *others = self.notes
        return "\n".join((first, str(self.report), "", str(self.roles), *(f"  {own}" for own in others)))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        headline, *lines = self.report._lines()
        title = "Loss of each quasi-identifier: 0 as it was, 1 nothing left"
        lost = [Bar(own.name, own.loss, number_text(own.loss), GOOD) for own in self.report.losses]
        folded = [("columns", self.roles._repr_html_()), ("notes", html_list(self.notes[1:]))]
        told = (*self.notes[:1], *lines)
        return view(headline, bars(title, lost), told, list(self.report._rows()), folded)
