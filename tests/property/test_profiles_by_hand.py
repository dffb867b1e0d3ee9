"""The risk profile of small releases, and what texts say: against loops over records and what is meant."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.privacy_profile import PRIVACY_PROFILE, PrivacyProfileParameters
from app.domain.analyses.safe_harbor_values import SAFE_HARBOR_VALUES, SafeHarborParameters
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from tests.oracles import closeness_by_hand as closeness
from tests.oracles import diversity_by_hand as diversity
from tests.oracles.effort import examples

SOME = settings(max_examples=examples(60), deadline=None)
PLACES = {"a": "north", "b": "north", "c": "south", "d": "south"}
PLACE = Hierarchy.from_parents(
    {own: [above] for own, above in PLACES.items()} | {"north": [None], "south": [None]}
)
ILLNESSES = ("cancer", "flu", "hiv")
ILLNESS = Hierarchy.from_parents({"cancer": [None], "viral": [None], "flu": ["viral"], "hiv": ["viral"]})
VIRAL = (1, 2)


def context_of(table, rule=None):
    return MeasureContext(table, rule, None, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero")


def figures_of_classes(classes, threshold):
    """Sizes of classes, and what the attackers of re-identification expect of them."""
    sizes = [sum(own) for own in classes]
    n, at_risk = sum(sizes), sum(own for own in sizes if 1 / own > threshold)
    yield "k", min(sizes)
    yield "mean_size", n / len(sizes)
    yield "unique_share", sizes.count(1) / n
    yield "prosecutor.highest", 1 / min(sizes)
    yield "prosecutor.average_per_record", len(sizes) / n
    yield "prosecutor.share_at_risk", at_risk / n
    yield "marketer.share_re_identified", len(sizes) / n


def figures_of_values(classes):
    """Each model of the values in classes, by the definitions; the least private class counts."""
    totals = [sum(column) for column in zip(*classes, strict=True)]
    n, own = sum(totals), [dict(enumerate(counts)) for counts in classes]
    present = [{v: k for v, k in counts.items() if k} for counts in own]
    yield "distinct_l", min(len(counts) for counts in present)
    entropies = [
        -sum(k / sum(c.values()) * math.log(k / sum(c.values())) for k in c.values()) for c in present
    ]
    yield "entropy_l", math.exp(min(entropies))
    for ell in (2, 3):
        least = [diversity.least_c(counts, ell) for counts in present]
        yield f"c_min({ell})", math.inf if None in least else max(least)
    yield "alpha", max(max(counts) / sum(counts) for counts in classes)
    distances = {
        "equal": closeness.equal,
        "ordered": closeness.ordered,
        "hierarchical": lambda p, q: closeness.hierarchical(p, q, (0, VIRAL)),
        "kl": lambda p, q: closeness.kl(closeness.shares(p), closeness.shares(q)),
        "js": closeness.js,
    }
    for name, distance in distances.items():
        yield f"t.{name}", max(distance(totals, counts) for counts in classes)
    yield "delta.natural", max(closeness.greatest_ratio(totals, counts) for counts in classes)
    yield "delta_of_present.natural", max(closeness.greatest_ratio(totals, c, False) for c in classes)
    gains = [
        (gain, total / n)
        for counts in classes
        for gain, total in zip(closeness.gains(totals, counts), totals, strict=True)
    ]
    yield "beta_basic", max(0, *(gain for gain, _ in gains))
    # Enhanced likeness allows at most a gain of −ln p, so that no β is enough for more.
    impossible = any(gain > -math.log(share) for gain, share in gains)
    yield "beta_enhanced", math.inf if impossible else max(0, *(gain for gain, _ in gains))


def shares_of_attacks(classes):
    """(measure, number) → share or belief, with the measures' own defaults."""
    totals = [sum(column) for column in zip(*classes, strict=True)]
    n = sum(totals)

    def share(is_exposed):
        return sum(is_exposed(counts) for counts in classes) / n

    found = {
        ("homogeneity_attack", f"{name}.share_of_records"): share(
            lambda own, least=least: sum(own) * (max(own) >= least * sum(own))
        )
        for name, least in (("complete", 1), ("near", 0.95))
    }
    for negations in (0, 1):
        found["background_knowledge_attack", f"share_exposed({negations})"] = share(
            lambda own, j=negations: sum(
                k for k in own if k and k >= 0.95 * (k + sum(sorted(_without(own, k))[: 2 - j]))
            )
        )
    found["skewness_attack", "share_exposed"] = share(
        lambda own: sum(own) * any(gain > 1 for gain in closeness.gains(totals, own))
    )
    found["similarity_attack", "worst_belief"] = max(
        closeness.worst_posterior(own, VIRAL, 0) for own in classes
    )
    return found


def _without(counts, one):
    left = list(counts)
    left.remove(one)
    return left


@SOME
@given(
    st.lists(st.tuples(st.sampled_from(sorted(PLACES)), st.integers(0, 2)), max_size=14),
    st.sampled_from([0, 1, 2]), st.floats(0.05, 0.95),
)  # fmt: skip
def test_every_figure_of_the_profile_is_that_of_the_definitions(rows, level, threshold):
    # Every value occurs, so that its share of the table is above 0.
    rows = [*rows, ("a", 0), ("a", 1), ("c", 2)]
    codes = [[PLACE.node_of(place), ILLNESS.node_of(ILLNESSES[v])] for place, v in rows]
    table = Table(
        ("place", "illness"), (PLACE, ILLNESS), np.array(codes, np.int32), sensitive=frozenset({"illness"})
    )
    shown = (lambda own: own, PLACES.get, lambda _: "*")[level]
    by_place = defaultdict(lambda: [0, 0, 0])
    for place, v in rows:
        by_place[shown(place)][v] += 1
    classes = list(by_place.values())
    parameters = PrivacyProfileParameters(threshold=threshold, suppressed="own_block")
    found = PRIVACY_PROFILE.compute(context_of(table, TableRule((level, 0))), parameters, lambda _: None)
    attacks = shares_of_attacks(classes)
    expected = dict(figures_of_classes(classes, threshold)) | dict(figures_of_values(classes))
    assert found.left_out == ()
    assert len(found.figures) == len(expected) + len(attacks)
    for own in found.figures:
        value = attacks[own.measure, own.name] if (own.measure, own.name) in attacks else expected[own.name]
        assert own.value == pytest.approx(float(value), rel=1e-9, abs=1e-12), own.name


def table_of_texts(columns):
    """A table of these texts, None where one is missing."""
    trees = [
        Hierarchy.from_parents({own: [None] for own in sorted({*column} - {None})}) for column in columns
    ]
    codes = [tree.encode(list(column))[0] for tree, column in zip(trees, columns, strict=True)]
    return Table(tuple(f"c{j}" for j in range(len(columns))), tuple(trees), np.stack(codes, axis=1))


MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")


@st.composite
def dates(draw):
    """(text, whether it is finer than a year) of a day, a month, a week, a quarter, or a year alone."""
    year, month, day = draw(st.integers(1900, 2026)), draw(st.integers(1, 10)), draw(st.integers(1, 28))
    fine = (
        f"{year}-{month:02}-{day:02}", f"{year}-{month:02}", f"{year}-Q{1 + month // 4}",
        f"{year}-W{day + 10}", f"{day:02}.{month:02}.{year}", f"{month}/{day}/{year}",
        f"{day} {MONTHS[month - 1]} {year}", f"{MONTHS[month - 1]} {year}", f"{year}{month:02}{day:02}",
    )  # fmt: skip
    coarse = (
        str(year),
        f"{year // 10 * 10}s",
        f"{year}-{year + 5}",
        f"[{year}, {year + 5}[",
        f"before {year}",
    )
    is_fine = draw(st.booleans())
    return draw(st.sampled_from(fine if is_fine else coarse)), is_fine


@st.composite
def ages(draw):
    """(text, whether it tells apart people above 89) of an age or a range of ages."""
    age, more = draw(st.integers(86, 93) | st.integers(0, 118)), draw(st.integers(1, 30))
    return draw(
        st.sampled_from(
            [
                (str(age), age > 89),
                (f"{age}+", age > 90),
                (f"{age} or more", age > 90),
                (f"over {age}", age + 1 > 90),
                (f"below {age}", age - 1 > 89),
                (f"≤ {age}", age > 89),
                (f"{age} or less", age > 89),
                (f"[{age}, {age + more}[", age > 90 if age + more >= 120 else age + more - 1 > 89),
                (f"[{age}, {age + more}]", age > 90 if age + more >= 120 else age + more > 89),
            ]
        )
    )


@st.composite
def birth_years(draw):
    """(text, whether it tells somebody's age above 89 in 2026) of a year of birth."""
    year, more = draw(st.integers(1933, 1939) | st.integers(1900, 2020)), draw(st.integers(1, 9))
    return draw(
        st.sampled_from(
            [
                (str(year), 2026 - year > 89),
                (f"[{year}, {year + more}[", 2026 - year > 89),
                # Who was born in 1936 is 89 or 90, and may be in the class of all above 89 or not.
                (f"before {year}", year < 1936),
            ]
        )
    )


@st.composite
def zip_codes(draw):
    """(text, whether it has more than three digits, or three that few share) of a ZIP code."""
    digits, kept = f"{draw(st.integers(0, 99999)):05}", draw(st.integers(2, 5))
    start = draw(st.sampled_from([digits[:3], "036", "893"]))
    whole = start + digits[3:]
    return whole[:kept] + "*" * (5 - kept), kept > 3 or (kept == 3 and start in RESTRICTED)


RESTRICTED = ("036", "893", "102")


def cells(kind):
    return st.lists(kind, min_size=8, max_size=8)


@SOME
@given(cells(dates()), cells(ages()), cells(birth_years()), cells(zip_codes()), st.booleans())
def test_cells_that_say_too_much_are_those_that_were_meant_to(when, old, born, lives, is_suppressed):
    columns = [[text for text, _ in own] for own in (when, old, born, lives)]
    table = table_of_texts(columns)
    rule = TableRule((0, 0, 0, table.heights[3] if is_suppressed else 0))
    asked = SafeHarborParameters(("c1",), ("c2",), 2026, ("c3",), RESTRICTED)
    found = SAFE_HARBOR_VALUES.compute(context_of(table, rule), asked, lambda _: None)
    expected = [sum(too_much for _, too_much in own) for own in (when, old, born, lives)]
    expected[3] *= not is_suppressed
    assert [found.dates, found.ages, found.birth_years, found.zip_codes] == expected
    assert found.cells == sum(expected)
    kinds = zip(("c0", "c1", "c2", "c3"), ("date", "age", "birth_year", "zip_code"), expected, strict=True)
    assert {(own.attribute, own.kind, own.cells) for own in found.attributes} == {
        own for own in kinds if own[2]
    }
