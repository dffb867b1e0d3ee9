"""How many rules searches rate, and how much these show, from what is known before any is rated.

By measurement. Each of the most general rules that reach a floor of the utility has to be refuted, alone or
with others by one above it; the more of the utility the floor leaves the further these are from the finest
rules, and the fewer there are between. Pruning starts with a dive from ⊥ that rates a neighbour per attribute
and step, and branch and bound refutes rules in smaller boxes. A price of the utility has no floor; how far a
search goes for it depends on what all utility is worth beside the greatest risk. On Adult and on generated
tables of 5,000 to 100,000 records with 6 to 8 attributes, for floors of 0.1 to 0.8 of the utility, 28
searches by pruning rated 0.6 to 1.5 times as many rules as estimated and 24 by branch and bound 0.7 to 1.3
times; they took 0.7 to 2.4 times of the estimate, four fifths of them 0.8 to 1.3 times. Those for prices of
up to two thirds of the greatest risk, with 6,144 to 73,728 rules, took 0.5 to 1.8 times of it.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from app.domain.arrays import Floats
from app.domain.search.table_rules.scores import MIDDLE
from app.domain.search.table_rules.table_level import TableInstance

RULES_COMPARED: Final = 2_000_000
"""Up to so many the utility of each is compared with a floor."""
PRUNED: Final = (2.4, 9.0, 0.63)
BOUNDED: Final = (3.7, 8.3, 0.79)
"""Rules rated by pruning and by branch and bound: the sum of a constant and a multiple of the share of the
utility at the floor, times the most general rules that reach it to a power."""
PER_RULES_AND_WORTH: Final = 80.0
PER_RULES: Final = 15.0
OF_RULES: Final = 0.4
"""Rules rated at a price, times the root of what utility is worth, and below a cap: times a power of all."""


def ratings_by_pruning(instance: TableInstance) -> float:
    """Rules that the search that prunes rates."""
    objective, n_rules = instance.problem.objective, instance.context.n_rules
    if objective.kind == "max_utility":
        wanted = PER_RULES * math.pow(n_rules, OF_RULES)
    elif objective.kind == "lagrangian":
        worth = math.sqrt(_worth(instance, objective.threshold))
        wanted = _dive(instance, 1.0) + PER_RULES_AND_WORTH * math.pow(n_rules, OF_RULES) * worth
    else:
        general, share = _floored(instance)
        wanted = max(_dive(instance, share), _to_refute(PRUNED, general, share))
    return min(n_rules, wanted)


def ratings_by_bounding(instance: TableInstance, otherwise: float) -> float:
    """Rules that branch and bound rates; ``otherwise`` if no floor says it, or there are very many rules."""
    if instance.problem.objective.kind != "min_risk" or instance.context.n_rules > RULES_COMPARED:
        return otherwise
    return min(instance.context.n_rules, _to_refute(BOUNDED, *_floored(instance)))


def share_shown(instance: TableInstance) -> float:
    """Share of the greatest utility that the rules around the optimum show; the middle if nothing tells."""
    if instance.problem.objective.kind != "min_risk" or instance.context.n_rules > RULES_COMPARED:
        return MIDDLE
    return _floored(instance)[1]


def most_general_reaching(utility: Floats, floor: float) -> int:
    """How many rules reach the floor while none that is more general by a level does.

    ``utility`` has an axis per attribute, by levels.
    """
    reaching = utility >= floor
    general = reaching.copy()
    for axis in range(utility.ndim):
        finer = (*[slice(None)] * axis, slice(None, -1))
        broader = (*[slice(None)] * axis, slice(1, None))
        general[finer] &= ~reaching[broader]
    return int(np.count_nonzero(general))


def _floored(instance: TableInstance) -> tuple[int, float]:
    """The most general rules that reach the floor, and its share of the greatest utility."""
    floor, utility = instance.problem.objective.lowest_utility, instance.every_utility
    most = float(utility.max())
    if floor > most:
        return 0, 0.0
    shape = [height + 1 for height in instance.heights]
    share = min(1.0, max(0.0, floor / most)) if most > 0 else 0.0
    return most_general_reaching(utility.reshape(shape), floor), share


def _to_refute(rated: tuple[float, float, float], general: int, share: float) -> float:
    """Rules rated until all others are refuted."""
    constant, per_share, power = rated
    return (constant + per_share * share) * math.pow(general, power)


def _dive(instance: TableInstance, share: float) -> float:
    """Ratings of a dive that goes so far a way from ⊥ to the values themselves."""
    return share * sum(instance.heights) * len(instance.heights)


def _worth(instance: TableInstance, price: float) -> float:
    """What all utility is worth at the price, as a share of the risk of showing all; at most 1."""
    if price == 0.0:
        return 0.0
    finest = (0,) * len(instance.heights)
    worth, risk = price * instance.utility(finest), instance.risks(finest)[0]
    return worth / risk if 0.0 <= worth < risk else 1.0
