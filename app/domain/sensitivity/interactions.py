"""Interactions: harm that sets of attributes do only together, the family Φ3 (Definitions: sensitivity).

A set weighs the same whatever its values are, and counts only while all of its attributes are disclosed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Bools, Floats, Integers, Ints
from app.domain.errors import Fault
from app.domain.hierarchies.definitions import MAX_FAULTS
from app.domain.tables.distinct import distinct_rows

DEFAULT_ORDER = 4
"""The most attributes of a set unless the profile says otherwise: the number of sets grows with its power."""

MAX_INTERACTIONS = 2_000

JOIN = " & "


@dataclass(frozen=True)
class GivenInteraction:
    """The weight of a set of two or more attributes, given by their names; may be +∞."""

    attributes: tuple[str, ...]
    weight: float

    @property
    def label(self) -> str:
        """How the set is named in documents and reports: its attributes, joined."""
        return JOIN.join(self.attributes)


@dataclass(frozen=True)
class GivenInteractions:
    """The sets that weigh something, of at most ``order`` attributes each.

    ``allow_negative`` admits weights below 0 where Φ stays monotone; without it they are refused.
    """

    sets: tuple[GivenInteraction, ...]
    order: int = DEFAULT_ORDER
    allow_negative: bool = False


@dataclass(frozen=True, eq=False)
class Interaction:
    """A set of ``attributes``, ascending positions in the table; ``weights`` (G,) per weight group."""

    attributes: tuple[int, ...]
    weights: Floats


def interaction_sums(interactions: Sequence[Interaction], disclosed: Bools, groups: Ints | None) -> Floats:
    """Sum of the weights of the sets that are disclosed whole, float64 (r,).

    ``disclosed`` (r, m) says which attributes are not ⊥; ``groups`` (r,) the weight groups (None: all 0).
    Added set by set in the order given, whatever the rows, so that equal rows get equal sums.
    """
    r, m = disclosed.shape
    n_groups = len(interactions[0].weights) if interactions else 1
    group = np.zeros(r, np.int32) if groups is None else groups
    columns: list[Integers] = [*disclosed.astype(np.int32).T, group]
    patterns = distinct_rows(columns, [2] * m + [n_groups], r)
    shown = np.ascontiguousarray(patterns.codes[:, :m].T == 1)
    total = np.zeros(patterns.size)
    for interaction in interactions:
        counted = np.flatnonzero(np.logical_and.reduce([shown[j] for j in interaction.attributes]))
        total[counted] += interaction.weights[patterns.codes[counted, m]]
    return total[patterns.inverse]


def faults_of_interactions(attributes: Sequence[str], given: GivenInteractions) -> list[Fault]:
    """Sets that are too small, too large, repeated or unknown, and weights that are not admitted."""
    if len(given.sets) > MAX_INTERACTIONS:
        return [
            Fault(
                "/interactions/sets",
                "too-many-interactions",
                f"There are {len(given.sets)} sets of attributes with a weight.",
                f"At most {MAX_INTERACTIONS} are accepted.",
            )
        ]
    faults: list[Fault] = []
    seen: set[frozenset[str]] = set()
    for i, one in enumerate(given.sets):
        pointer = f"/interactions/sets/{i}"
        faults += _faults_of_set(pointer, one, attributes, given.order)
        if frozenset(one.attributes) in seen:
            faults.append(
                Fault(
                    pointer,
                    "duplicate-interaction",
                    f"The set {one.label!r} was given a weight before.",
                    "Give each set of attributes at most one weight.",
                )
            )
        seen.add(frozenset(one.attributes))
        faults += faults_of_interaction_weights(
            f"{pointer}/weight", one.label, np.array([one.weight]), given.allow_negative
        )
    return faults[:MAX_FAULTS]


def faults_of_interaction_weights(
    pointer: str, label: str, weights: Floats, allow_negative: bool
) -> list[Fault]:
    """Weights of a set that are no number, −∞, or negative without leave; NaN is one of them."""
    if (weights >= 0).all() or (allow_negative and (weights > -math.inf).all()):
        return []
    return [
        Fault(
            pointer,
            "negative-interaction",
            f"The interaction {label!r} has a weight that is not in "
            + ("(−∞, ∞]." if allow_negative else "[0, ∞]."),
            "Give it a weight of 0 or more, or inf; a negative one only with allow_negative, and only where "
            "disclosing more never does less harm.",
        )
    ]


def _faults_of_set(
    pointer: str, given: GivenInteraction, attributes: Sequence[str], order: int
) -> list[Fault]:
    known = ", ".join(attributes)
    faults = [
        Fault(
            f"{pointer}/attributes",
            "unknown-attribute",
            f"There is no disclosed attribute {name!r}.",
            f"The attributes are: {known}.",
        )
        for name in given.attributes
        if name not in attributes
    ]
    if len(set(given.attributes)) != len(given.attributes) or len(given.attributes) < 2:
        faults.append(
            Fault(
                f"{pointer}/attributes",
                "not-a-set",
                f"An interaction is of two or more different attributes; {given.label!r} is not.",
                "The weight of a single attribute belongs to its own weights.",
            )
        )
    if len(given.attributes) > order:
        faults.append(
            Fault(
                f"{pointer}/attributes",
                "order-too-high",
                f"The set {given.label!r} has {len(given.attributes)} attributes, the order is {order}.",
                "Raise the order of the profile, or split the set.",
            )
        )
    return faults
