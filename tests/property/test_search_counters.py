"""Searches report as many nodes and evaluations as the documentation says, counted by hand."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import assume, given

from app.domain.hierarchies.hierarchy import TOP
from app.domain.search.blocks import carry_out
from app.domain.search.lattices.search import search_lattice
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.solvers import Aruba, Enumeration
from app.domain.tables.numbers import tie_margin
from tests.oracles.lattices import QUESTIONS, THOROUGH, frontier_by_hand, random_lattice
from tests.oracles.search_instances import BruteForce, contexts, objective_of


def looks_like(context, attribute, code):
    """What a value is, step by step up to ⊥: consistent entities, harm and utility."""
    table, dictionary = context.table, context.dictionary
    tree, steps = table.hierarchies[attribute], []
    while True:
        covered = set(tree.leaves_of(code).tolist())
        consistent = tuple(
            code == TOP
            or bool(link.everything[entry])
            or not covered.isdisjoint(link.leaves[link.starts[entry] : link.starts[entry + 1]].tolist())
            for link in dictionary.links
            if link.attribute == table.attributes[attribute]
            for entry in link.column
        )
        harm = tuple(context.sensitivity.shapes[attribute][:, code].tolist())
        steps.append((consistent, harm, float(context.utility.values[attribute][code])))
        if code == TOP:
            return tuple(steps)
        code = int(tree.parents[code][0])


@THOROUGH
@given(contexts(), QUESTIONS)
def test_enumeration_counts_the_forms_that_single_records_can_be_disclosed_in(context, question):
    """Each once: neither records alike again, nor what lies above a record's own top in its lattice.

    Records are alike if the attacker, the harm and the utility tell them apart at no step.
    """
    assume(context.sensitivity.groups is None)
    loops = BruteForce(context, "zero")
    first_of = {
        tuple(looks_like(context, j, code) for j, code in enumerate(row)): i
        for i, row in reversed(list(enumerate(context.table.codes.tolist())))
    }
    forms = sum(len(list(loops.record_nodes(row))) for row in first_of.values())
    outcome = carry_out(
        plan(context, Problem(objective_of(*question), "record_level", "zero"), Enumeration())
    )
    assert set(vars(outcome.counters).values()) == {forms}
    assert forms <= outcome.n_rules * len(first_of)


def looked_at_for_ties(risk, frontier):
    """What is one step more specific than a node that ties with the best of the frontier, step by step."""
    best = min(risk[node] for node in frontier)
    limit = best + 2 * tie_margin(best)
    open_ = [node for node in frontier if risk[node] <= limit]
    reached, looked = set(open_), set()
    while open_:
        node = open_.pop()
        for j, level in enumerate(node):
            below = (*node[:j], level - 1, *node[j + 1 :])
            if level:
                looked.add(below)
                if risk[below] <= limit and below not in reached:
                    reached.add(below)
                    open_.append(below)
    return looked


def test_aruba_evaluates_the_risk_of_the_border_and_of_what_settles_ties():
    """The border is all that the optimal value takes; which of the rules that tie comes first takes more."""
    rng = np.random.default_rng(11)
    compared = tied = 0
    while compared < 60:
        lattice = random_lattice(rng)
        floor = float(rng.choice([1.0, 2.5, 4.0]))
        frontier = frontier_by_hand(lattice.utilities, floor)
        if not frontier or math.isinf(min(lattice.scores[node] for node in frontier)):
            continue
        found = search_lattice(lattice, Problem(MinRisk(floor), "record_level"), Aruba())
        more = looked_at_for_ties(lattice.scores, frontier) - frontier
        assert found.value_risks == len(frontier)
        assert found.risk_evaluations == len(frontier) + len(more)
        compared, tied = compared + 1, tied + bool(more)
    assert tied > 5
