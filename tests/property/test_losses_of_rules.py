"""What searches say that a rule loses is what the measure says of its release, number by number."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.information_loss import INFORMATION_LOSS, InformationLossParameters
from app.domain.hierarchies.hierarchy import TOP
from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import LossChoice
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, TableRule, apply
from app.domain.search.local_recoding.cells import Cells, cell_loss_of
from app.domain.search.local_recoding.class_losses import recoding_loss_of
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.losses_by_hand import KINDS, TREES, classes_of, divergence_by_hand, tables, value

FIELDS = {"precision": "precision_loss", "height": "generalisation_height"}
DOMAINS = ("declared", "active")


def said_by_the_measure(table: Table, rule, domain: str | None) -> dict[str, float]:
    """Every loss of a release."""
    utility = build_utility(table, "depth_sum")
    context = MeasureContext(table, rule, None, None, None, utility, MODEL_I, "zero")
    found = INFORMATION_LOSS.compute(context, InformationLossParameters(leaf_domain=domain), lambda _: None)
    told = {kind: getattr(found, FIELDS.get(kind, kind)) for kind in KINDS}
    if domain == "active":
        told |= {"geometric": found.geometric_active, "arithmetic": found.arithmetic_active}
    return told


def check_rules(table: Table, seed: int, domain: str, shows_sensitive: bool) -> None:
    """Every rule of levels, once as it is and once with some of its classes suppressed."""
    generator = np.random.default_rng(seed)
    for levels in itertools.product(range(3), range(4)):
        rule = TableRule((*levels, 0))
        classes = classes_of(table, levels)
        of_record = classes.of_row[table.reduced.inverse]
        suppressed = generator.random(len(classes.sizes)) < 0.4
        if suppressed.any():
            # Of whom nothing is shown nobody can say whether the rule suppresses them.
            suppressed[of_record[~apply(rule, table)[:, :2].any(axis=1)]] = True
        gone = suppressed[of_record]
        losses = {kind: loss_of(table, LossChoice(kind, domain)) for kind in KINDS}
        told = said_by_the_measure(table, rule, domain)
        found = {kind: value(loss, table, levels, None) for kind, loss in losses.items()}
        assert found == pytest.approx(told, abs=1e-9), (levels, domain)
        if not gone.any():
            continue
        shown = apply(rule, table).copy()
        shown[gone, : 2 if shows_sensitive else 3] = TOP
        told = said_by_the_measure(table, CellRule(shown), domain)
        found = {kind: value(loss, table, levels, suppressed) for kind, loss in losses.items()}
        # Of a release whose cells have no levels only those of cells that have changed are known.
        assert told.pop("height") <= found.pop("height")
        assert found == pytest.approx(told, abs=1e-9), (levels, domain)
        by_hand, _ = divergence_by_hand(table, shown, domain == "declared")
        assert found["kl_divergence"] == pytest.approx(by_hand, abs=1e-9), (levels, domain)


@pytest.mark.deep
@pytest.mark.spec("LD-E26", "FM-2")
@settings(max_examples=examples(12), deadline=None)
@given(tables(), st.integers(0, 10**6), st.sampled_from(DOMAINS), st.booleans())
def test_a_rule_that_suppresses_classes_loses_what_the_measure_says_of_it(
    table, seed, domain, shows_sensitive
):
    check_rules(table, seed, domain, shows_sensitive)


@pytest.mark.deep
@settings(max_examples=examples(200), deadline=None)
@given(tables(), st.integers(0, 10**6), st.sampled_from(DOMAINS), st.booleans())
def test_rules_of_many_tables_lose_what_the_measure_says(table, seed, domain, shows_sensitive):
    check_rules(table, seed, domain, shows_sensitive)


def check_records(table: Table, steps: np.ndarray, choice: LossChoice) -> None:
    """A rule for single records; ``steps`` up (d, 2) of the distinct ones."""
    cells = Cells(table, cell_loss_of(table, choice))
    steps = np.asfortranarray(np.minimum(steps, cells.most), dtype=np.int16)
    codes = cells.codes(steps)
    of, n_classes = cells.classes(codes)
    recoded = SimpleNamespace(steps=steps, codes=codes, of=of.astype(np.int64), n_classes=n_classes)
    loss = recoding_loss_of(cells, choice)
    for hides_sensitive in (False, True):
        rule = cells.rule(steps, hides_sensitive=hides_sensitive)
        told = said_by_the_measure(table, rule, choice.leaves)[choice.kind]
        assert loss.of(recoded) == pytest.approx(told, abs=1e-9)
    assert loss.weighed(recoded) >= told - 1e-9 * max(1.0, abs(told)), "moves are guided from above"


@settings(max_examples=examples(20), deadline=None)
@given(tables(), st.sampled_from(KINDS), st.sampled_from(DOMAINS), st.integers(0, 10**6))
def test_a_rule_of_records_loses_what_the_measure_says_of_its_release(table, kind, domain, seed):
    """Some of the distinct records step up in some of their attributes."""
    generator = np.random.default_rng(seed)
    steps = generator.integers(4, size=(table.reduced.size, 2))
    steps[generator.random(len(steps)) < generator.random()] = 0
    check_records(table, steps, LossChoice(kind, domain))


@pytest.mark.parametrize("domain", DOMAINS)
def test_nobody_who_is_disclosed_has_a_sensitive_value(domain):
    """Then the attribute is suppressed for everybody, and ⊥ says of no record that it lacks a value."""
    columns = zip(TREES, (("a", "c"), ("p", "s"), ("2", "1")), strict=True)
    codes = np.array([[tree.node_of(text) for text in own] for tree, own in columns], dtype=np.int32).T
    codes[0, 2] = TOP
    table = Table(("x", "y", "s"), TREES, codes, sensitive=frozenset({"s"}))
    steps = np.where(table.reduced.codes[:, [2, 2]] == TOP, 0, 9)
    check_records(table, steps, LossChoice("kl_divergence", domain))
