"""pd- and npd-recursive diversity as a measure: test vectors S4 and S5, errata, edge cases."""

import math
import tracemalloc

import pytest

from app.domain.errors import InvalidInput
from app.domain.models.disclosure_diversity import DISCLOSURE_DIVERSITY, DisclosureDiversityParameters
from tests.unit.measures import diversity_tables as tables

INF = math.inf


def of_counts(counts, **parameters):
    """One class of these counts; a value that never occurs is of the hierarchy only."""
    found = tables.table(
        ("place", "value"),
        (tables.flat(["everywhere"]), tables.flat(counts)),
        [("everywhere", value) for value, n in counts.items() for _ in range(n)],
        {"value"},
    )
    return tables.measured(DISCLOSURE_DIVERSITY, found, **parameters)


def refusals(**parameters):
    with pytest.raises(InvalidInput) as caught:
        of_counts({"healthy": 1, "sick": 1}, **parameters)
    return [(fault.pointer, fault.code) for fault in caught.value.faults]


@pytest.mark.spec("LD-S4", "LD-D06", "LD-E20", "LD-E24")
@pytest.mark.parametrize(
    ("healthy", "sick", "c", "holds", "c_min"),
    [
        (97, 3, 0.03, False, 3 / 97),
        (98, 3, 0.03, False, 3 / 98),
        (101, 3, 0.03, True, 3 / 101),
        (50, 50, 1.0, False, 1),
        (51, 49, 1.0, True, 49 / 51),
        (0, 5, 1.0, False, INF),
        (5, 0, 0.03, True, 0),
    ],
)
def test_the_sick_are_few_enough_among_the_healthy(healthy, sick, c, holds, c_min):
    found = of_counts({"healthy": healthy, "sick": sick}, harmless=("healthy",), c=c)
    assert (found.is_pd_recursive, found.bounds[0].c_min) == (holds, c_min)
    assert found.pd_records_failing == (0 if holds else healthy + sick)
    assert found.bounds[0].value == ("sick" if sick else None)


@pytest.mark.spec("LD-S4", "LD-E20")
def test_a_class_without_harmful_values_passes_at_any_size_and_depth():
    """And so implies neither k-anonymity nor distinct values, which the result says."""
    found = of_counts({"healthy": 1, "sick": 0}, harmless=("healthy",), l=3, c=0.03)
    assert found.is_pd_recursive
    assert [bound.c_min for bound in found.bounds] == [0] * 4
    assert (found.harmless_classes, found.smallest_harmless_class) == (1, 1)


@pytest.mark.spec("LD-S5", "LD-D06")
@pytest.mark.parametrize(
    ("harmless", "least"),
    [
        ("", [9 / 14, 9 / 8, 9 / 4, 9, INF]),
        ("a", [6 / 17, 3 / 4, 3 / 2, 6, INF]),
        ("ab", [4 / 19, 2 / 5, 1, 4, INF]),
        ("abc", [3 / 20, 3 / 11, 3 / 5, 3, INF]),
        ("d", [9 / 14, 9 / 8, 9 / 4, 9, INF]),
    ],
)
def test_one_block_with_every_set_of_harmless_values(harmless, least):
    found = of_counts({"a": 9, "b": 6, "c": 4, "d": 3, "e": 1}, harmless=tuple(harmless), deepest=6)
    assert [bound.c_min for bound in found.bounds] == least
    assert found.bounds[0].attainable == least[0]


@pytest.mark.spec("LD-S5", "LD-D06")
def test_what_is_protected_needs_its_percentage():
    counts = {"a": 9, "b": 6, "c": 4, "d": 3, "e": 1}
    found = of_counts(counts, protected=("d", "e"), c=10.0, least_percent=4.0)
    assert found.least_protected_percent == pytest.approx(4.347826, abs=5e-7)
    assert [own.percent for own in found.protected] == [300 / 23, 100 / 23]
    assert found.is_npd_recursive
    more = of_counts(counts, protected=("d", "e"), c=10.0, least_percent=4.4)
    assert more.is_pd_recursive
    assert not more.is_npd_recursive
    assert (more.npd_classes_failing, more.npd_records_failing) == (1, 23)
    assert of_counts(counts).least_protected_percent == 100
    assert of_counts({"a": 24, "e": 1}, protected=("e",), least_percent=4.0, c=99.0).is_npd_recursive


@pytest.mark.spec("LD-E17")
def test_the_absence_of_a_value_is_judged_for_attackers_who_rule_out_nothing():
    """Whoever may rule out a value knows that it is absent: every release would fail."""
    found = of_counts({"a": 1, "b": 1, "c": 1}, protected=("a",), least_percent=33.0, l=3, c=2.0)
    assert found.is_npd_recursive
    assert found.protected[0].percent == 100 / 3


@pytest.mark.spec("LD-14")
def test_edge_cases_of_protected_and_harmless_values():
    absent = of_counts({"a": 2, "b": 1, "c": 0}, protected=("c",), least_percent=0.1, c=9.0)
    assert (absent.protected[0].percent, absent.is_npd_recursive) == (0, False)
    assert of_counts({"a": 2, "b": 1, "c": 0}, protected=("c",), c=9.0).is_npd_recursive
    both = of_counts({"a": 9, "b": 1}, harmless=("a",), protected=("a",), least_percent=50.0, c=1.0)
    assert both.is_npd_recursive
    single = of_counts({"a": 5, "b": 0}, harmless=("b",))
    assert (single.is_pd_recursive, single.bounds[0].c_min) == (False, INF)
    assert of_counts({"a": 5, "b": 0}, l=1, c=0.001).is_pd_recursive


def test_a_group_stands_for_the_values_in_it():
    groups = tables.hierarchy([("flu", "mild"), ("cold", "mild"), ("hiv", "grave"), ("cancer", "grave")])
    rows = [("x", own) for own in ("flu", "flu", "cold", "hiv", "cancer")]
    found = tables.table(("q", "s"), (tables.flat("x"), groups), rows, {"s"})
    by_group = tables.measured(DISCLOSURE_DIVERSITY, found, harmless=("mild",), protected=("grave",))
    assert by_group == tables.measured(
        DISCLOSURE_DIVERSITY, found, harmless=("flu", "cold"), protected=("grave",)
    )
    assert by_group.bounds[0].c_min == 1 / 4
    assert by_group.protected[0].percent == 40


def test_each_class_is_judged_and_the_worst_is_named():
    rows = [("x", "ok")] * 9 + [("x", "ill")] + [("y", "ok")] * 2 + [("y", "ill")] * 2 + [("z", "ok")]
    found = tables.table(("q", "s"), (tables.flat("xyz"), tables.flat(["ok", "ill"])), rows, {"s"})
    result = tables.measured(
        DISCLOSURE_DIVERSITY, found, harmless=("ok",), protected=("ill",), c=1.0, least_percent=10.0
    )
    assert result.bounds[0].worst.rows == (11, 12, 13, 14)
    assert (result.bounds[0].endangered, result.bounds[0].tail, result.bounds[0].attainable) == (2, 2, 3 / 12)
    assert (result.pd_classes_failing, result.pd_records_failing) == (1, 4)
    assert result.protected[0].worst.rows == (15,)
    assert (result.npd_classes_failing, result.npd_records_failing) == (2, 5)
    assert (result.harmless_classes, result.smallest_harmless_class) == (1, 1)


def test_other_sensitive_attributes_split_the_classes():
    rows = [("x", "ok", "a"), ("x", "ill", "b")]
    hierarchies = (tables.flat("x"), tables.flat(["ok", "ill"]), tables.flat("ab"))
    found = tables.table(("q", "s", "t"), hierarchies, rows, {"s", "t"})
    split = tables.measured(DISCLOSURE_DIVERSITY, found, attribute="s", harmless=("ok",))
    assert (split.split_by, split.classes, split.pd_records_failing) == (("t",), 2, 1)
    apart = tables.measured(DISCLOSURE_DIVERSITY, found, attribute="s", harmless=("ok",), others="apart")
    assert (apart.split_by, apart.classes, apart.is_pd_recursive) == ((), 1, True)


def test_values_that_cannot_be_meant_are_refused():
    assert refusals(harmless=("unwell",)) == [("/measure/harmless/0", "unknown-value")]
    assert refusals(protected=("sick", "unwell")) == [("/measure/protected/1", "unknown-value")]
    assert refusals(harmless=("sick", "sick")) == [("/measure/harmless", "duplicate-value")]
    assert refusals(harmless=("sick", "healthy")) == [("/measure/harmless", "everything-harmless")]


def test_the_smallest_harmless_class_counts_who_may_be_confused_with_it():
    """k-anonymity counts a record with a missing place among all four, and so does this."""
    rows = [("here", "healthy")] * 3 + [(None, "healthy")]
    hierarchies = (tables.flat(["here", "there"]), tables.flat(["healthy", "sick"]))
    found = tables.table(("place", "value"), hierarchies, rows, {"value"})
    result = tables.measured(DISCLOSURE_DIVERSITY, found, harmless=("healthy",), missing="matches_everything")
    assert (result.harmless_classes, result.smallest_harmless_class) == (2, 4)


def test_a_thousand_values_named_of_ten_thousand_are_not_laid_out_as_a_table():
    """Every label by every value or class would be gigabytes where both are many."""
    values, named = [f"v{i}" for i in range(10_000)], 1000
    found = tables.table(
        ("place", "value"),
        (tables.flat([str(i) for i in range(5000)]), tables.flat(values)),
        [(str(i // 2), value) for i, value in enumerate(values)],
        {"value"},
    )
    labels = tuple(values[:named])
    tables.measured(DISCLOSURE_DIVERSITY, found)
    tracemalloc.start()
    result = tables.measured(
        DISCLOSURE_DIVERSITY, found, harmless=labels, protected=labels, least_percent=10.0
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.harmless_classes == named // 2
    assert len(result.protected) == named
    assert peak < 16 * 2**20


def test_the_estimate_grows_with_the_values_that_each_class_is_searched_for():
    context = tables.context_of(tables.table(("value",), (tables.flat("ab"),), [("a",)] * 1000, {"value"}))
    costs = [
        DISCLOSURE_DIVERSITY.cost(context, DisclosureDiversityParameters(protected=labels))
        for labels in ((), tuple(map(str, range(10_000))))
    ]
    assert costs[1].seconds > costs[0].seconds + 0.05
