"""The profile puts side by side what its measures say, and groups the records once for all of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from app.domain.analyses.catalogue import MEASURES
from app.domain.analyses.distinction_and_separation import DISTINCTION_AND_SEPARATION, DistinctionParameters
from app.domain.analyses.privacy_profile import PRIVACY_PROFILE, PrivacyProfileParameters
from app.domain.analyses.singling_out import SINGLING_OUT, SinglingOutParameters
from app.domain.classes import released
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.models.judged import ClassRef
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule
from app.domain.tables.table import Table

ZIP = Hierarchy.from_parents({"13053": ["130"], "13068": ["130"], "14853": [None], "130": [None]})
DISEASE = Hierarchy.from_parents({"flu": [None], "cancer": [None], "hiv": [None]})
JOB = Hierarchy.from_parents({"clerk": [None], "cook": [None]})
ROWS = [
    ("13053", "flu", "clerk"),
    ("13053", "cancer", "cook"),
    ("13068", "flu", "cook"),
    ("13068", "hiv", "clerk"),
    ("13068", "cancer", "clerk"),
    ("14853", "hiv", "cook"),
    ("14853", "hiv", "cook"),
]


def table_with(*sensitive):
    trees = (ZIP, DISEASE, JOB)
    columns = [tree.encode([row[j] for row in ROWS])[0] for j, tree in enumerate(trees)]
    return Table(("zip", "disease", "job"), trees, np.stack(columns, axis=1), sensitive=frozenset(sensitive))


def context_of(table):
    return MeasureContext(table, None, None, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero")


def measured(table, **parameters):
    context, asked = context_of(table), PrivacyProfileParameters(**parameters)
    ticks = []
    found = PRIVACY_PROFILE.compute(context, asked, ticks.append)
    assert ticks == [*range(1, PRIVACY_PROFILE.cost(context, asked).units + 1)]
    return found


def by_name(found):
    return {(own.attribute, own.name): own for own in found.figures}


def test_figures_are_those_of_the_release_with_their_classes():
    found = measured(table_with("disease", "job"))
    figures = by_name(found)
    assert found.sensitive == ("disease", "job")
    assert figures[None, "k"].value == 2
    assert figures[None, "k"].worst == ClassRef((6, 7), 2)
    assert figures[None, "prosecutor.highest"].value == 0.5
    assert figures[None, "prosecutor.share_at_risk"].value == 1.0
    assert figures["disease", "distinct_l"].value == 1
    assert figures["disease", "distinct_l"].worst == ClassRef((6, 7), 2)
    assert figures["disease", "alpha"].value == 1.0
    assert figures["job", "complete.share_of_records"].value == 2 / 7
    assert {own.safer for own in found.figures} == {"higher", "lower"}


def test_threads_change_nothing():
    table = table_with("disease", "job")
    asked = PrivacyProfileParameters(contributions=True, singled_out=True)
    one, several = (
        PRIVACY_PROFILE.compute(
            dataclasses.replace(context_of(table), threads=threads), asked, lambda _: None
        )
        for threads in (1, 8)
    )
    assert several == one
    assert several.contributions is not None
    assert several.singled_out is not None


def test_the_threshold_is_that_of_the_attackers():
    assert (
        by_name(measured(table_with("disease", "job"), threshold=0.4))[None, "prosecutor.share_at_risk"].value
        == 4 / 7
    )


def test_without_sensitive_attributes_classes_alone_are_judged():
    found = measured(table_with())
    assert found.sensitive == ()
    assert {own.attribute for own in found.figures} == {None}
    assert found.judged.quasi_identifiers == ("zip", "disease", "job")


def test_attributes_may_be_named_and_are_no_quasi_identifiers_then():
    found = measured(table_with(), quasi_identifiers=("zip",), attributes=("job",))
    assert (found.sensitive, found.judged.quasi_identifiers) == (("job",), ("zip",))
    with pytest.raises(InvalidInput):
        measured(table_with(), attributes=("job",))


def test_a_sensitive_attribute_that_is_taken_as_known_is_not_judged():
    found = measured(table_with("disease", "job"), quasi_identifiers=("zip", "job"))
    assert (found.sensitive, found.judged.quasi_identifiers) == (("disease",), ("zip", "job"))


def test_every_number_names_a_measure_that_there_is_and_no_number_stands_twice():
    found = measured(table_with("disease"))
    assert {own.measure for own in found.figures} <= {measure.name for measure in MEASURES}
    assert len(by_name(found)) == len(found.figures)


def test_all_measures_share_one_grouping(monkeypatch):
    grouped = []

    def counted(table, disclosed, is_suppressed, grouping, also=()):
        grouped.append(also)
        return original(table, disclosed, is_suppressed, grouping, also)

    original = released.equivalence_classes
    monkeypatch.setattr(released, "equivalence_classes", counted)
    measured(table_with("disease"))
    assert grouped == [()]


def test_what_the_data_do_not_have_is_left_out_with_its_reason():
    """A value with two parents has no earth mover's distance by hierarchy, and its groups overlap."""
    parents = {"flu": ["viral"], "hiv": ["viral", "chronic"], "cancer": ["chronic"]}
    graph = Hierarchy.from_parents(parents | {"viral": [None], "chronic": [None]})
    table = table_with("disease")
    column = graph.encode([row[1] for row in ROWS])[0]
    codes = np.stack([table.codes[:, 0], column, table.codes[:, 2]], axis=1)
    trees = (table.hierarchies[0], graph, table.hierarchies[2])
    found = measured(Table(table.attributes, trees, codes, sensitive=table.sensitive))
    left_out = {own.measure: own for own in found.left_out}
    assert {"t_closeness"} <= set(left_out) <= {"t_closeness", "similarity_attack"}
    assert left_out["t_closeness"].reason.startswith("hierarchical: ")
    assert all(own.reason and own.attribute == "disease" for own in found.left_out)
    assert "t.hierarchical" not in {own.name for own in found.figures}
    assert by_name(found)["disease", "distinct_l"].value == 1
    assert measured(table).left_out == ()


def test_a_release_that_suppresses_everybody_has_a_profile_without_numbers():
    table = table_with("disease")
    context = dataclasses.replace(context_of(table), rule=CellRule(np.zeros_like(table.codes)))
    found = PRIVACY_PROFILE.compute(context, PrivacyProfileParameters(), lambda _: None)
    figures = by_name(found)
    assert found.judged.records_suppressed == len(ROWS)
    assert figures[None, "k"].value is None
    assert figures["disease", "distinct_l"].value is None
    assert all(own.worst is None for own in found.figures)


def test_the_estimate_grows_with_the_pairs_of_sensitive_attributes():
    """Each is held against every other one, so that a hundred of them are no work for a direct answer."""
    flat = Hierarchy.from_parents({"a": [None]})

    def seconds(n: int) -> float:
        names = ("zip", *(f"s{i}" for i in range(n)))
        cells = np.ones((50, n + 1), dtype=np.int32)
        context = context_of(Table(names, (flat,) * (n + 1), cells, sensitive=frozenset(names[1:])))
        return PRIVACY_PROFILE.cost(context, PrivacyProfileParameters()).seconds

    assert seconds(100) > 3
    assert seconds(2) < 0.1


def test_what_columns_contribute_is_what_the_measure_of_it_says():
    table = table_with("disease")
    found = measured(table, contributions=True)
    alone = DISTINCTION_AND_SEPARATION.compute(
        context_of(table),
        DistinctionParameters(columns=("zip", "job"), largest_set=1, shown=2, leave_one_out=True),
        lambda _: None,
    )
    assert found.contributions == alone
    assert found.contributions.all_columns.unique_records == 3
    without = measured(table)
    assert without.contributions is None
    assert without == dataclasses.replace(found, contributions=None)


@pytest.mark.parametrize("missing", ["own_category", "matches_everything", "excluded"])
def test_what_singles_people_out_is_what_the_measure_of_it_says(missing):
    table = table_with("disease")
    found = measured(table, singled_out=True, missing=missing)
    alone = SINGLING_OUT.compute(context_of(table), SinglingOutParameters(missing=missing), lambda _: None)
    assert found.singled_out == alone
    assert found.singled_out.singled_out == 3
    without = measured(table, missing=missing)
    assert without.singled_out is None
    assert without == dataclasses.replace(found, singled_out=None, values_alone=None)


@pytest.mark.parametrize("seed", range(8))
def test_sensitive_values_that_only_one_person_has_are_counted_one_by_one(seed):
    draw = np.random.default_rng(seed)
    tree = Hierarchy.from_parents({f"{one}": [None] for one in range(6)})
    codes = draw.integers(0, tree.n_nodes, (7, 2))  # 0 is a missing value
    persons = draw.integers(0, 4, 7) if seed % 2 else None
    table = Table(("zip", "pay"), (tree, tree), codes, sensitive=frozenset({"pay"}), persons=persons)
    whose = range(7) if persons is None else persons.tolist()
    rows = list(zip(codes[:, 1].tolist(), whose, strict=True))
    alone = sum(pay > 0 and all(other[0] != pay or other[1] == one for other in rows) for pay, one in rows)
    found = measured(table, singled_out=True).values_alone
    assert [(own.attribute, own.records) for own in found] == ([("pay", alone)] if alone else [])
