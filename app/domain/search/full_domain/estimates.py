"""How many rules searches check, and how long that takes beyond counting classes: by measurement.

On Adult (all nine attributes, or the first four, six or seven; 20 to 30,162 records; k from 2 to 25; none to
all of the records suppressed; the losses of classes and the geometric one) 106 searches that took 0.3 s or
more took 0.3 to 1.6 times of the estimate with k-anonymity alone. 20 with 3-diversity or 0.2-closeness took
0.2 to 1.8 times; but where hardly a rule meets a criterion that is told quickly, up to a hundred times less.
Where all attributes are alike, whoever just fails has to be refuted rule by rule: on four to nine attributes
of one hierarchy, drawn alike, 97 searches of 100 to 10,000 records took 0.4 to 3 times of the estimate, four
fifths of them 0.6 to 1.9 times. Sums of losses were fitted again to 105 searches of 1,000 to 995,346 records
with six, seven or nine attributes that took 7 to 370 ms: 95 % took 0.55 to 2 times of the estimate. Where a
fifth of the records or more may be suppressed each rule checked has its loss worked out, which is another
pass over the records.

Where the attributes' losses are compared and not added up, 561 searches over up to 777,600 rules (four to
twelve attributes, 100 to 30,162 records, all shares) took 0.4 to 4.4 times of the estimate by ``maximum``,
93 % of them half to twice of it, and 0.2 to 5.3 times by ``rank``, 86 % of them; 144 others took 0.5 to 1.5
and 0.4 to 1.9 times. Those that took 0.1 s or more and more than twice the estimate had more than 200,000
rules, or might suppress half of the records or all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Floats
from app.domain.classes.wildcards import seconds_of_matching
from app.domain.counting.calibration import (
    SECONDS_PER_BELIEF,
    SECONDS_PER_CHECK_AND_OPEN_RULE,
    SECONDS_PER_CHECK_SUPPRESSING,
    SECONDS_PER_CLASS_LOSS_AND_ROW,
    SECONDS_PER_DIVERGENCE_AND_ROW,
    SECONDS_PER_RANKED_CHECK,
    SECONDS_PER_RANKED_CHECK_AND_ROW,
    SECONDS_PER_RANKED_CHECK_AND_RULE,
    SECONDS_PER_RANKED_PLACE,
    SECONDS_PER_RANKED_RULE,
    SECONDS_PER_RANKED_RULE_AND_PLACE,
    SECONDS_PER_RANKED_SEARCH,
    SECONDS_PER_SUPPRESSED_ROW,
    SECONDS_PER_VALUED_ROW,
)
from app.domain.losses.loss import Aggregate, LossKind
from app.domain.search.record_risk import outer_sum
from app.domain.search.table_rules.estimates import most_general_reaching
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.rarity import STEP
from app.domain.tables.table import Table

AT_BOUNDARY: Final = (1.3, 0.9)
"""Rules checked where all attributes are alike: so many times those at the boundary to a power."""
ROOM: Final = 3.0
"""Rules fail from where their classes would have so many times k records if all were as large."""
STEPS: Final = 0.25
STEPS_SUPPRESSING: Final = 1.8
"""Rules checked per square root of the lattice's rules by losses that are sums of terms."""
MOST_SUPPRESSING: Final = 0.2
"""So many more are checked per share of the records that may be suppressed, up to twice as many."""
MANY_CLASSES: Final = 2_500
"""From so many on the more there may be the fewer are checked: suppressing few of them decides little."""
STEPS_OF_CLASSES: Final = 1.0
OF_SIZE: Final = 0.13
"""The same by losses of classes if nobody may be suppressed, times the records per k to this power."""
MOST_STEPS_OF_CLASSES: Final = 0.6
"""The greatest share of the lattice's rules."""
STEPS_UNORDERED: Final = 0.55
"""The share that is checked if who fails may pass at more specific rules, times the share suppressed."""
ABOUT_THE_SAME: Final = 1.1
RANKED: Final[dict[Aggregate, tuple[float, float]]] = {"maximum": (2.7, 0.2), "rank": (2.85, 0.355)}
"""Rules checked where losses are compared one after another: so many times the lattice's rules to a power."""
RANKED_SUPPRESSING: Final = (1.0, 0.52)
"""The same of a rank if some records may be suppressed, but fewer where these make many classes."""
RANKED_FREE: Final = (0.52, 0.68)
"""The same of both if all may be."""
RANKED_CROWDED: Final = 0.45
"""Share of the rules that a rank then checks where there is room for hardly a class."""
SHARE_BELIEVED: Final = 0.3
"""Of the rules checked so many are judged by beliefs, where others fail k-anonymity, which is told faster."""
RECORDS_PER_CLASS: Final = 10
"""Distinct records per class that is matched with others, roughly: most rules checked are general ones."""
OF_VALUES: Final = 4
"""So many times longer matching takes if the sensitive values of those who match are counted, too."""


@dataclass(frozen=True)
class Asked:
    """What a search is asked.

    Attributes
    ----------
    rules, records, k, allowed
        Rules of its lattice, records, the least size of a class and how many records may be suppressed.
    ordered
        Who fails at a rule fails at every more specific one.
    alike
        Attributes whose levels say about as much: rules that exchange theirs lose alike and refute little.
    boundary
        The most general rules that are expected to fail, if all attributes are alike and nobody may be
        suppressed; else 0.
    """

    rules: int
    records: int
    k: int
    allowed: int
    ordered: bool
    alike: int
    boundary: int

    @property
    def share(self) -> float:
        """Of the records that may be suppressed."""
        return min(1.0, self.allowed / max(1, self.records))

    @property
    def crowds(self) -> float:
        """How many classes there can be at most."""
        return max(1.0, self.records / self.k)

    @property
    def root(self) -> float:
        """Square root of the rules."""
        return math.sqrt(self.rules)

    @property
    def spare(self) -> float:
        """How many classes of k those would make that may be suppressed."""
        return self.allowed / self.k

    def times(self, per_pair: float) -> float:
        """How many times as many rules are checked since attributes are alike."""
        return max(1.0, per_pair * self.alike**2)

    @property
    def steps_unordered(self) -> float:
        """Rules that are checked at least since one that suppresses much refutes few others."""
        return 0.0 if self.ordered else STEPS_UNORDERED * self.rules * self.share


def attributes_alike(quasi: Table) -> int:
    """How many attributes of as many levels have about the same entropy, at most."""
    found: dict[int, list[float]] = {}
    for hierarchy, column in zip(quasi.hierarchies, quasi.reduced.codes.T, strict=True):
        records = np.bincount(column, quasi.reduced.counts)
        shares = records[records > 0] / records.sum()
        found.setdefault(hierarchy.height, []).append(-float(shares @ np.log(shares)))
    return max(
        (
            sum(first <= entropy <= ABOUT_THE_SAME * first for entropy in entropies)
            for entropies in found.values()
            for first in entropies
        ),
        default=0,
    )


def rules_at_boundary(quasi: Table, crowds: float) -> int:
    """How many rules fail of which every more general one passes, by the entropies of the attributes' levels.

    ``crowds`` is how many classes of the least size there could be.
    """
    terms = [np.array([_entropy(values) for values in own.of_all_levels()]) for own in quasi.rarities]
    entropy = outer_sum(terms).reshape([len(term) for term in terms])
    return most_general_reaching(entropy, math.log(max(1.0, crowds / ROOM)))


def _entropy(values: Floats) -> float:
    steps = STEP * np.arange(len(values))
    return float((values * np.exp(-steps)) @ steps)


def steps_of_sums(own: Asked) -> float:
    """Rules that a search checks for the least loss that is a sum of terms."""
    if own.boundary:
        times, power = AT_BOUNDARY
        return min(own.rules, times * math.pow(own.boundary, power))
    if not own.allowed:
        return min(own.rules, STEPS * own.root * own.times(0.4))
    steps = STEPS_SUPPRESSING * (1.0 + min(1.0, own.share / MOST_SUPPRESSING)) * own.root
    steps *= min(1.0, math.sqrt(MANY_CLASSES / own.crowds))
    return max(steps * own.times(0.06), own.steps_unordered)


def steps_of_classes(own: Asked, kind: LossKind) -> float:
    """Rules that a search checks for the least loss of classes."""
    if not own.allowed:
        steps = STEPS_OF_CLASSES * own.root * math.pow(own.crowds, OF_SIZE) * own.times(0.25)
        return min(steps, MOST_STEPS_OF_CLASSES * own.rules)
    steps = _steps_suppressing(own, kind) * own.times(0.1)
    if own.share == 1.0 and kind != "ambiguity":
        # With room for few classes hardly a rule loses much more than all records suppressed.
        steps = max(steps, own.rules / own.crowds)
    return min(max(steps, own.steps_unordered), MOST_STEPS_OF_CLASSES * own.rules)


def steps_of_ranks(own: Asked, aggregate: Aggregate) -> float:
    """Rules that a search checks for the least loss by ``maximum`` or ``rank``."""
    times, power = RANKED[aggregate]
    fewer = 1.0
    if own.share == 1.0:
        (times, power), fewer = RANKED_FREE, math.pow(1 + own.crowds / 300, -0.5)
    elif own.allowed and aggregate == "rank":
        (times, power), fewer = RANKED_SUPPRESSING, math.pow(1 + own.spare / 8, -0.29)
    steps = max(times * math.pow(own.rules, power) * fewer, own.steps_unordered)
    if own.share == 1.0 and aggregate == "rank":
        steps = max(steps, RANKED_CROWDED * own.rules * min(1.0, math.pow(10 / own.crowds, 4)))
    return min(own.rules, steps)


def seconds_of_ranks(own: Asked, places: int, steps: int, rows: int, judging: float) -> float:
    """What such a search takes, of keys of so many places.

    ``judging`` is what a rule takes beyond its sizes of classes, of ``rows`` distinct records.
    """
    per_open = SECONDS_PER_RANKED_CHECK_AND_RULE + SECONDS_PER_RANKED_PLACE * (places - 1) * math.sqrt(
        own.share
    )
    per_rule = (
        SECONDS_PER_RANKED_CHECK + SECONDS_PER_RANKED_CHECK_AND_ROW * rows + per_open * own.rules + judging
    )
    per_held = SECONDS_PER_RANKED_RULE + SECONDS_PER_RANKED_RULE_AND_PLACE * places
    return SECONDS_PER_RANKED_SEARCH + per_held * own.rules + steps * per_rule


def _steps_suppressing(own: Asked, kind: LossKind) -> float:
    """The same where records may be suppressed and some must be disclosed; fitted to what was measured."""
    match kind:
        case "discernibility":
            return 1.15 * own.root * math.pow(own.crowds, 0.22)
        case "ambiguity":
            return 0.97 * own.root * math.pow(own.crowds, 0.275)
        case "kl_divergence":
            # The more may be suppressed the longer, until bounds tell that it is too much.
            free = 0.124 * math.pow(0.4 + own.spare, 0.6) / math.pow(1 + own.spare / 50, 0.45)
            bounded = 1.8 * math.pow(min(1.0, 500 / own.crowds), 0.4)
            return math.pow(own.rules, 0.8) * min(max(free, 1.6 * own.share**2), bounded)
        case _:
            spare = own.spare * min(1.0, own.spare / 4)
            return 0.27 * math.pow(own.rules, 0.8) * math.sqrt(spare) * math.pow(own.share, 0.25)


def seconds_of_suppressing(own: Asked, kind: LossKind, rows: int, open_rules: int) -> float:
    """What checking a rule takes more if records may be suppressed; ``rows`` are distinct records."""
    if not own.allowed:
        return 0.0
    if kind not in SECONDS_PER_CLASS_LOSS_AND_ROW:
        valued = min(1.0, own.share / MOST_SUPPRESSING)
        per_row = SECONDS_PER_SUPPRESSED_ROW + SECONDS_PER_VALUED_ROW * valued
        return SECONDS_PER_CHECK_SUPPRESSING + per_row * rows
    root = math.sqrt(own.share)
    per_row = SECONDS_PER_CLASS_LOSS_AND_ROW[kind] + (
        SECONDS_PER_DIVERGENCE_AND_ROW * root if kind == "kl_divergence" else 0.0
    )
    return (
        SECONDS_PER_CHECK_SUPPRESSING + per_row * rows + SECONDS_PER_CHECK_AND_OPEN_RULE * open_rules * root
    )


def seconds_of_believing(pairs: int, *, after_k: bool) -> float:
    """Estimated time of the beliefs about some pairs; ``after_k`` says that k-anonymity is told before."""
    return pairs * SECONDS_PER_BELIEF * (SHARE_BELIEVED if after_k else 1.0)


def seconds_of_overlapping(quasi: Table, *, of_values: bool) -> float:
    """Estimated time of matching the classes of a rule where missing values match everything."""
    missing = quasi.reduced_missing.astype(np.int8)
    rows, width = missing.shape
    patterns = distinct_rows(list(missing.T), (2,) * width, rows)
    classes = math.ceil(rows / RECORDS_PER_CLASS)
    matching = seconds_of_matching(min(patterns.size, classes), classes, width)
    return matching * (OF_VALUES if of_values else 1)
