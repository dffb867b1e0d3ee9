"""Diversity of the Adult table, raw and generalised, against loops over its files."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import pytest

from app.domain.models.alpha_k_anonymity import ALPHA_K_ANONYMITY
from app.domain.models.disclosure_diversity import DISCLOSURE_DIVERSITY
from app.domain.models.l_diversity import L_DIVERSITY
from app.domain.rules.rule import TableRule
from tests.oracles import diversity_by_hand as by_hand
from tests.oracles.whole_adult import NEEDS_ADULT, SENSITIVE, adult, files
from tests.unit.measures.diversity_tables import measured

pytestmark = NEEDS_ADULT


def classes_of(levels, attribute, others):
    """The classes' counts of an attribute's values, by their generalised records as text."""
    header, body, rows = files()
    known = [name for name in header if name not in SENSITIVE]
    chains = {name: {row[0]: row for row in rows[name]} for name in known}
    place = {name: j for j, name in enumerate(header)}
    found = defaultdict(Counter)
    for row in body:
        shown = [chains[name][row[place[name]]][levels[name]] for name in known]
        key = (*shown, *(row[place[other]] for other in others))
        found[key][row[place[attribute]]] += 1
    return list(found.values())


GENERALISED = {"age": 3, "education": 1, "marital-status": 1, "native-country": 2, "workclass": 1, "race": 1}


@pytest.mark.deep
@pytest.mark.parametrize("levels", [{}, GENERALISED], ids=["raw", "generalised"])
@pytest.mark.parametrize(("attribute", "others"), [("occupation", "apart"), ("salary-class", "in_classes")])
def test_adult_is_as_diverse_as_loops_over_its_file_say(levels, attribute, others):
    table = adult()
    full = defaultdict(int, levels)
    rule = TableRule(tuple(full[name] for name in table.attributes))
    split = tuple(name for name in SENSITIVE if name != attribute) if others == "in_classes" else ()
    found = classes_of(full, attribute, split)
    asked = {"attributes": (attribute,), "others": others, "l": 3, "c": 2.5}
    [own] = measured(L_DIVERSITY, table, rule, **asked).attributes
    assert (own.classes, own.split_by) == (len(found), split)
    assert own.distinct.value == min(len(block) for block in found)
    assert own.distinct.records_failing == sum(sum(b.values()) for b in found if len(b) < 3)
    assert own.entropy.records_failing == sum(
        sum(b.values()) for b in found if not by_hand.entropy_at_least(b, 3)
    )
    assert own.recursive.records_failing == sum(
        sum(b.values()) for b in found if len(b) < 3 or by_hand.least_c(b, 3) >= 2.5
    )
    assert own.frequency.value == min(sum(b.values()) / max(b.values()) for b in found)
    for bound in own.bounds:
        least = [by_hand.least_c(block, bound.l) for block in found]
        assert bound.c_min == (math.inf if None in least else float(max(least)))
    if split:
        return
    harmless = next(iter(sorted(found[0])))
    pd = measured(DISCLOSURE_DIVERSITY, table, rule, attribute=attribute, others=others, harmless=(harmless,))
    for bound in pd.bounds:
        least = [by_hand.least_c_of_disclosure(block, bound.l, {harmless}) for block in found]
        assert bound.c_min == (math.inf if None in least else float(max(least)))
    share = measured(ALPHA_K_ANONYMITY, table, rule, attribute=attribute)
    assert share.alpha == max(max(block.values()) / sum(block.values()) for block in found)
    assert share.k == min(sum(block.values()) for block in found)
