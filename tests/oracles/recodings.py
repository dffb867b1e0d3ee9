"""Local recoding: small tables, and what records show."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.entropy_l_diversity import EntropyLDiversity
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.reidentification_risk import AverageRisk
from app.domain.models.t_closeness import TCloseness
from app.domain.rules.rule import apply
from app.domain.search.budget import UNLIMITED
from app.domain.tables.table import Table
from tests.oracles.search_instances import hierarchies

ILLNESS = Hierarchy.from_parents({"flu": [None], "cold": [None], "asthma": [None]})


@st.composite
def tables(draw, most_attributes=3, most_records=12):
    """Missing, inner and leaf quasi-identifiers, unbalanced trees, and a sensitive attribute."""
    trees = [draw(hierarchies()) for _ in range(draw(st.integers(1, most_attributes)))]
    n = draw(st.integers(1, most_records))
    codes = [
        [*(draw(st.integers(0, tree.n_nodes - 1)) for tree in trees), draw(st.integers(1, 3))]
        for _ in range(n)
    ]
    names = (*(f"a{j}" for j in range(len(trees))), "illness")
    return Table(names, (*trees, ILLNESS), np.array(codes, dtype=np.int32), sensitive=frozenset({"illness"}))


def solved(plan_type, table, problem, budget=UNLIMITED):
    plan = plan_type(table, problem, budget)
    return plan.combine({0: plan.run_block(0, lambda _: None)})


def passes(criterion, values, whole):
    """Whether one class, given by its sensitive values, meets a criterion."""
    counts, n = Counter(values), len(values)
    match criterion:
        case KAnonymity():
            return n >= criterion.k
        case DistinctLDiversity():
            return len(counts) >= criterion.l
        case EntropyLDiversity():
            return -sum(c / n * math.log(c / n) for c in counts.values()) >= math.log(criterion.l) - 1e-12
        case TCloseness():
            distance = sum(abs(counts[v] / n - whole[v] / whole.total()) for v in whole) / 2
            return distance <= float(criterion.t) + 1e-9
        case BetaLikeness(bound="basic", groups=None):
            gains = [Fraction(counts[v] * whole.total(), n * whole[v]) - 1 for v in whole]
            most = criterion.beta_negative
            lost = most is not None and -min(gains) > Fraction(str(most))
            return max(gains) <= Fraction(str(criterion.beta)) and not lost
    return True


def meets(problem, table, shown):
    """Whether disclosed quasi-identifiers, a tuple per record, meet all criteria and the limit."""
    values = table.codes[:, -1].tolist()
    whole = Counter(values)
    suppressed = [not any(row) for row in shown]
    if sum(suppressed) > math.floor(problem.suppression_limit * len(shown) + 1e-9):
        return False
    if problem.missing == "excluded":
        quasi = table.codes[:, :-1].tolist()
        if any(0 in row and not gone for row, gone in zip(quasi, suppressed, strict=True)):
            return False
    judged = [i for i, gone in enumerate(suppressed) if problem.suppressed == "own_block" or not gone]
    if problem.missing == "excluded":
        # Who is left out for a missing value is in no block that is judged.
        judged = [i for i in judged if 0 not in table.codes[i, :-1].tolist()]
    classes: dict[tuple[int, ...], list[int]] = {}
    for i in judged:
        classes.setdefault(shown[i], []).append(values[i])
    for criterion in problem.privacy:
        if isinstance(criterion, AverageRisk):
            disclosed = [own for row, own in classes.items() if any(row)]
            for kept in (disclosed, list(classes.values())):
                if kept and len(kept) / sum(map(len, kept)) > float(criterion.threshold) + 1e-9:
                    return False
        elif not all(passes(criterion, own, whole) for own in classes.values()):
            return False
    return True


def shown_by(rule, table):
    return [tuple(row) for row in apply(rule, table)[:, : table.n_attributes - 1].tolist()]


def above(tree, node):
    found = [node]
    while found[-1]:
        found.append(tree.parents[found[-1]][0])
    return found


def leaves_under(tree, node):
    inner = {parent for own in tree.parents for parent in own}
    return sum(leaf not in inner and node in above(tree, leaf) for leaf in range(len(tree.parents)))


SMALL = Hierarchy.from_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"], ["d", "d", "*"]])


CHAIN = Hierarchy.from_parents({"p": ["pq"], "q": ["pq"], "pq": [None], "r": [None]})
"""Its leaf r is nearer to ⊥ than the others."""
