"""Beliefs of an attacker who knows a population, in fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from app.domain.models.rho_privacy import RhoPrivacy
from tests.oracles.pairs_of_records import Shown, exact


@dataclass
class Believed(Shown):
    """People are listed with their sensitive value; beliefs by Theorem 3.1, in fractions."""

    def is_bad(self, criterion, record):
        if not isinstance(criterion, RhoPrivacy):
            return super().is_bad(criterion, record)
        j = self.table.position(criterion.attribute)
        counts = self.values(criterion, record)
        own = [self.table.codes[record, i] for i in self.table.quasi_identifiers]
        shown = (0,) * len(own) if record in self.block else self.rows[record]
        like = [person for person in self.people if self.covers(own, person)]
        like_class = [person for person in self.people if self.covers(shown, person)]
        values = {*self.table.codes[:, j].tolist(), *(person[-1] for person in self.people)}
        prior, weights = {}, {}
        for value in values:
            n_own = sum(value in (0, person[-1]) for person in like)
            n_class = sum(value in (0, person[-1]) for person in like_class)
            if value and counts[value] and not n_class:
                return True
            prior[value] = Fraction(n_own, len(like)) if like else Fraction(0)
            known = bool(like) and n_class
            weights[value] = (
                counts[value] * prior[value] * Fraction(len(like_class), n_class) if known else Fraction(0)
            )
        total = sum(weights.values())
        if not total:
            return True
        low, high = exact(criterion.rho_1), exact(criterion.rho_2)
        return any(
            (prior[value] < low and weights[value] / total > high)
            or (prior[value] > 1 - low and weights[value] / total < 1 - high)
            for value in values - {0}
        )


def with_values(table):
    return (table.position(*table.sensitive),)
