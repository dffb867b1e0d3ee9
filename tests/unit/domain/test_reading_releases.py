"""As what measures read a release that a mechanism made."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.domain.analyses.catalogue import MEASURES
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.classes.grouping import Grouping
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.mechanisms.sample_perturb_scale import PublishedSamples
from app.domain.mechanisms.uniform_perturbation import PublishedUniform
from app.domain.models.k_anonymity import ANONYMITY, EQUIVALENCE_CLASSES
from app.domain.models.reading import as_read_by, unreadable
from app.domain.rules.rule import CellRule, TableRule
from tests.oracles.drawn_releases import context_of, drawn_of, measured
from tests.oracles.perturbation_by_hand import table_of
from tests.unit.measures.diversity_tables import measured as measured_under

TABLE = table_of([6, 4, 2], [1, 2, 1, 2, 3, 3, 3, 1, 1, 1, 2, 3])
BY_CLASSES = [own for own in MEASURES if "classes" in own.reads]


def test_measures_that_look_at_quasi_identifiers_alone_read_the_classes_of_drawn_rows():
    assert {own.name for own in BY_CLASSES} == {
        own.name for own in MEASURES if own.looks_at == "quasi_identifiers"
    }
    assert all("records" in own.reads for own in MEASURES)
    assert all(issubclass(own.parameters, Grouping) for own in BY_CLASSES)


def test_the_page_names_the_measures_that_read_a_drawn_release():
    page = (Path(__file__).parents[3] / "docs" / "mechanisms.md").read_text()
    for reads in ("classes", "matrix", "matrix_and_prior", "retention", "samples", "rows", "table"):
        (line,) = re.findall(rf"^\| `{reads}` \|.*\|(.*)\|$", page, re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", line)) == {own.name for own in MEASURES if reads in own.reads}


@pytest.mark.parametrize("rule", [None, TableRule((1, 0))], ids=["as it is", "suppressed"])
def test_the_classes_of_a_draw_are_those_of_the_table_under_its_rule(rule):
    context = context_of(TABLE, drawn_of(TABLE, rule=rule))
    found = measured(EQUIVALENCE_CLASSES, context, k=4)
    under = measured_under(EQUIVALENCE_CLASSES, TABLE, rule or TableRule((0, 0)), k=4)
    assert replace(found, worst=None) == replace(under, worst=None)
    assert found.worst.records == under.worst.records
    # What is named are rows of the release.
    shown = as_read_by(EQUIVALENCE_CLASSES, context).table.codes[np.array(found.worst.rows) - 1, 0]
    assert len(shown) == found.worst.records == np.count_nonzero(context.drawn.table.codes[:, 0] == shown[0])


def test_rows_that_a_rule_for_single_records_suppressed_are_left_out():
    shown = TABLE.codes.copy()
    shown[:3, 0] = 0
    context = context_of(TABLE, drawn_of(TABLE, rule=CellRule(shown)))
    found = measured(EQUIVALENCE_CLASSES, context, k=4)
    assert (found.judged.records_suppressed, found.judged.records_judged) == (3, 9)
    asked = EQUIVALENCE_CLASSES.parameters(missing="excluded")
    assert "does not tell which quasi-identifiers are missing" in unreadable(
        EQUIVALENCE_CLASSES, context, asked
    )


def test_drawn_values_are_no_quasi_identifiers():
    asked = EQUIVALENCE_CLASSES.parameters(quasi_identifiers=("age", "illness"))
    reason = unreadable(EQUIVALENCE_CLASSES, context_of(TABLE, drawn_of(TABLE)), asked)
    assert "'illness' is among the quasi-identifiers" in reason
    assert unreadable(EQUIVALENCE_CLASSES, context_of(TABLE, None), asked) is None


def test_a_measure_of_records_or_of_a_matrix_says_why_it_cannot_read_rows():
    context = context_of(TABLE, drawn_of(TABLE))
    reason = unreadable(ANONYMITY, context, ANONYMITY.parameters())
    assert "nobody can tell whose a row is that the mechanism perturbation made" in reason
    of_matrix = replace(ANONYMITY, reads=frozenset({"records", "matrix"}))
    assert unreadable(of_matrix, context, ANONYMITY.parameters()) is None
    other = context_of(TABLE, DrawnRelease(TABLE, "synthesis", object()))
    assert "the mechanism synthesis publishes none" in unreadable(of_matrix, other, ANONYMITY.parameters())
    of_rows = replace(ANONYMITY, reads=frozenset({"records", "rows"}))
    assert unreadable(of_rows, other, ANONYMITY.parameters()) is None


def test_drawn_values_are_not_read_as_shown_where_nothing_tells_how_they_were_drawn():
    """Uniform perturbation publishes its matrix but no frequencies, samples in copies no matrix at all."""
    values = tuple(CellValue(own) for own in TABLE.hierarchies[1].labels[1:])
    uniform = DrawnRelease(TABLE, "uniform_perturbation", PublishedUniform("illness", values, 0.4))
    samples = DrawnRelease(
        TABLE, "sample_perturb_scale", PublishedSamples("illness", values, 0.4, "balanced_fixed", 5)
    )
    by = {own: replace(ANONYMITY, reads=frozenset({own})) for own in ("rows", "matrix", "matrix_and_prior")}
    asked = ANONYMITY.parameters()
    assert unreadable(by["rows"], context_of(TABLE, uniform), asked) is None
    assert unreadable(by["matrix"], context_of(TABLE, uniform), asked) is None
    assert "how frequent" in unreadable(by["matrix_and_prior"], context_of(TABLE, uniform), asked)
    for measure in by.values():
        assert "publishes none" in unreadable(measure, context_of(TABLE, samples), asked)
    grouped = EQUIVALENCE_CLASSES.parameters(quasi_identifiers=("age", "illness"))
    assert "'illness' is among" in unreadable(EQUIVALENCE_CLASSES, context_of(TABLE, samples), grouped)
    kept = 0.4 + 0.6 / len(values)
    assert uniform.expected_retention == pytest.approx(kept)
    assert samples.expected_retention is None
