"""What a search for the least loss found, as the rule that is stored."""

from __future__ import annotations

import json

import numpy as np
import pytest

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.k_map import KMap
from app.domain.rules.rule import apply
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.tables.table import Table
from app.services.rules.rule_documents import rule_of
from app.services.searches.least_loss import result_of_anonymity

TREE = Hierarchy.from_parents({"a": [None], "b": [None]})
ILLNESS = Hierarchy.from_parents({"flu": [None], "cold": [None]})


@pytest.mark.parametrize("suppressed", ["excluded", "own_block"])
def test_suppressed_records_show_their_sensitive_values_only_as_a_block_of_their_own(suppressed):
    codes = np.array([[1, 1], [1, 2], [1, 1], [2, 2]], dtype=np.int32)
    table = Table(("x", "illness"), (TREE, ILLNESS), codes, sensitive=frozenset({"illness"}))
    dictionary = Dictionary(4, (link_nodes("x", TREE, np.array([1, 1, 1, 2], dtype=np.int32)),))
    problem = AnonymityProblem((KMap(2),), 0.25, suppressed=suppressed)
    plan = least_loss_plan(table, problem, dictionary=dictionary)
    found = plan.combine({0: plan.run_block(0, lambda _: None)})
    document = json.loads(json.dumps(result_of_anonymity(found, table, plan, "0" * 64)))
    shown = apply(rule_of(document["rule"], table), table).tolist()
    assert shown == [[1, 1], [1, 2], [1, 1], [0, 0 if suppressed == "excluded" else 2]]
