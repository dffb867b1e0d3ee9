"""People drawn from public lists: shapes, cells kept by chance and parts, by enumeration of small cases."""

import itertools
import math
import os
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.dirichlet_disclosure import exact_chances, least_delta, log_probabilities, outputs
from app.domain.mechanisms.dirichlet_multinomial import DIRICHLET_MULTINOMIAL, DirichletMultinomial, prior_of
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.polya_urn import Urns
from app.domain.mechanisms.public_cells import UNIT, PublicCells
from app.domain.tables.table import Table
from tests.oracles.perturbation_by_hand import stream

HOMES = Hierarchy.from_parents({f"h{i}": [f"s{i // 4}"] for i in range(8)} | {"s0": [None], "s1": [None]})
WORK = Hierarchy.from_parents({"Chi": [None], "Day": [None]})


def flat(labels):
    return Hierarchy.from_parents({label: [None] for label in dict.fromkeys(labels)})


def list_of(**columns):
    """A dataset with these columns of text."""
    trees = [flat(own) for own in columns.values()]
    codes = [
        [tree.node_of(own) for own in labels] for tree, labels in zip(trees, columns.values(), strict=True)
    ]
    return Table(tuple(columns), tuple(trees), np.array(codes, dtype=np.int32).T)


def people(homes, works=None):
    codes = [
        [WORK.node_of(own) for own in works or ["Chi"] * len(homes)],
        [0 if own is None else HOMES.node_of(own) for own in homes],
    ]
    return Table(
        ("work", "home"), (WORK, HOMES), np.array(codes, dtype=np.int32).T, sensitive=frozenset({"home"})
    )


def context(table, listed=None):
    lists = {} if listed is None else {"places": listed}
    return MechanismContext(table, public=frozenset({"home"}), lists=lists)


def asked(**more):
    return DirichletMultinomial(**{"partition": ("work",), "epsilon": 2.0, "domain": "places"} | more)


def sampled_law(table, alpha, chances):
    """The probability of each output: over all sets of kept cells, exactly as they are kept."""
    found = Counter()
    empty = np.flatnonzero(table == 0)
    for kept in itertools.product((False, True), repeat=len(empty)):
        chance = math.prod(
            chances[i] if keep else 1 - chances[i] for i, keep in zip(empty, kept, strict=True)
        )
        if not chance:
            continue
        cells = np.sort(np.concatenate([np.flatnonzero(table), empty[list(kept)]]))
        drawn = np.zeros((len(one := outputs(int(table.sum()), len(cells))), len(table)), dtype=int)
        drawn[:, cells] = one
        law = np.exp(log_probabilities(one, table[cells], np.full(len(cells), alpha)))
        for output, own in zip(drawn.tolist(), law.tolist(), strict=True):
            found[tuple(output)] += chance * own
    return found


def steps(table):
    for i, j in itertools.permutations(range(len(table)), 2):
        if table[i]:
            other = table.copy()
            other[i] -= 1
            other[j] += 1
            yield other


@pytest.mark.spec("LD-D17", "LD-E4")
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("chances", [(0.3, 0.3, 0.3), (1.0, 0.5, 0.5), (1.0, 0.8, 0.1), (0.9, 0.9, 0.9, 0.9)])
@pytest.mark.parametrize(
    ("epsilon", "delta", "certificate"),
    [("4", "0.05", "exact_tail"), ("3.7", "0", "pure"), ("6", "0.01", "exact_tail")],
)
def test_sampled_cells_keep_what_is_promised_of_every_small_table(n, chances, epsilon, delta, certificate):
    """Both forms, at the ε of the whole: the one that is paid for cells that need not be kept included."""
    counted = tuple(sorted(Counter(chances).items()))
    found = prior_of(n, ((1, len(chances)),), Fraction(epsilon), Fraction(delta), certificate, counted)
    if found is None:
        assert min(chances) < 0.3
        return
    alpha, proven = found
    assert Fraction(proven) <= Fraction(delta)
    tables = [np.array(own) for own in outputs(n, len(chances))]
    laws = {tuple(own): sampled_law(own, float(alpha), chances) for own in tables}
    factor = math.exp(float(epsilon)) * (1 + 1e-9)
    for table in tables:
        one = laws[tuple(table)]
        near = [laws[tuple(own)] for own in steps(table)]
        for other in near:
            assert sum(max(0, one[m] - factor * other[m]) for m in one) <= proven + 1e-12
        pairs = [
            (laws[tuple(a)], laws[tuple(b)])
            for a, b in itertools.permutations([table, *steps(table)], 2)
            if np.abs(a - b).sum() == 2
        ]
        loud = sum(one[m] for m in one if any(a[m] > factor * b[m] for a, b in pairs))
        assert loud <= proven + 1e-12


def test_a_prior_that_pays_for_no_chance_is_too_small():
    """A control: the ε of all cells is not kept where some need not be kept."""
    alpha, _ = prior_of(2, ((1, 3),), Fraction(2), Fraction(0), "pure")
    one, other = (sampled_law(np.array(own), float(alpha), (0.3, 0.3, 0.3)) for own in ((1, 1, 0), (2, 0, 0)))
    assert max(one[m] / other[m] for m in one) > math.exp(2) * 1.5


def test_what_a_plan_says_that_no_output_exceeds_is_not_exceeded_by_sampled_cells():
    listed = list_of(home=["h0", "h1", "h2"], inclusion=["0.5", "0.25", "1"])
    plan = DIRICHLET_MULTINOMIAL.plan(
        context(people(["h0", "h1", "h1"]), listed), asked(epsilon=5.0, delta=0.01, certificate="exact_tail")
    )
    alpha, loss = plan.constants["alpha_least"], plan.constants["greatest_loss"]
    chances = (1.0, 0.5, 0.25, 1.0)
    tables = [np.array(own) for own in outputs(3, 4)]
    laws = {tuple(own): sampled_law(own, alpha, chances) for own in tables}
    worst = max(
        math.log(own / laws[tuple(other)][m])
        for table in tables
        for other in steps(table)
        for m, own in laws[tuple(table)].items()
    )
    assert worst <= loss
    assert plan.guarantees[0].parameters["epsilon"] == 5.0


@pytest.mark.parametrize(
    ("shape", "epsilon", "delta", "certificate"),
    [
        (((1, 2), (3, 1)), "2", "0.05", "exact_tail"),
        (((1, 1), (2, 1), (5, 1)), "1.6", "0.02", "exact_tail"),
        (((1, 2), (4, 1)), "1", "0", "pure"),
    ],
)
@pytest.mark.parametrize("n", [1, 3, 5])
def test_unequal_priors_keep_what_is_promised_of_every_small_table(n, shape, epsilon, delta, certificate):
    alpha, proven = prior_of(n, shape, Fraction(epsilon), Fraction(delta), certificate)
    assert Fraction(proven) <= Fraction(delta)
    priors = float(alpha) * np.array([multiple for multiple, many in shape for _ in range(many)], dtype=float)
    for table in map(np.array, outputs(n, len(priors))):
        assert exact_chances(table, priors, float(epsilon)).disclosure <= proven * (1 + 1e-9) + 1e-15
        for other in steps(table):
            assert least_delta(table, other, priors, float(epsilon)) <= float(delta) + 1e-12


def test_a_list_is_read_with_its_numbers_rounded_up():
    listed = list_of(
        home=["h5", "h0", "h1"],
        prior=["1.5", "0.5", "50"],
        inclusion=["0.0000001", "1", "0.5"],
        density=["0", "2", "1"],
    )
    cells = PublicCells.of(HOMES, 0, 0, listed, "home")
    labels = [HOMES.labels[own] for own in cells.nodes.tolist()]
    assert labels == [HOMES.labels[0], "h0", "h1", "h5"]
    assert cells.multiples.tolist() == [1, 1, 112, 3]  # 100 has more than three binary digits
    assert cells.inclusion.tolist() == [UNIT, UNIT, UNIT // 2, 1]
    assert cells.of_node[[HOMES.node_of(own) for own in ("h0", "h5", "h7", "s0")]].tolist() == [1, 3, 0, 0]
    assert cells.of_node[0] == 0
    fine = list_of(home=["h0", "h1", "h2"], inclusion=["0.0378", "0.12345", "0.9999"])
    assert PublicCells.of(HOMES, 0, 0, fine, "home").inclusion.tolist() == [UNIT, 37_800, 124_000, UNIT]
    whole = PublicCells.of(HOMES, 0, 0, list_of(home=[f"h{i}" for i in range(8)]), "home")
    assert (whole.has_outside, whole.shape, whole.chances) == (False, ((1, 8),), ())
    assert whole.of_node[0] == -1


def test_in_parts_people_are_placed_by_density():
    """All words of a part together: every value as often as its density says, in millionths."""
    listed = list_of(home=["h0", "h1", "h3", "h4"], density=["0.5", "0", "0.25", "9"])
    cells = PublicCells.of(HOMES, 0, 1, listed, "home")
    assert [HOMES.labels[own] for own in cells.nodes.tolist()] == [HOMES.labels[0], "s0", "s1"]
    drawn = cells.shown(np.array([1] * 300_000 + [2] * 5 + [0] * 5, dtype=np.int32), stream("place"))
    many = Counter(HOMES.labels[own] for own in drawn.tolist())
    assert (many["h4"], many[HOMES.labels[0]], many["h1"]) == (5, 5, 0)
    # six standard deviations
    assert abs(many["h0"] - 200_000) < 6 * math.sqrt(300_000 * 2 / 9)
    assert many["h0"] + many["h3"] == 300_000


@pytest.mark.parametrize("more", [{"part_levels": 1}, {"domain": None, "part_levels": 1}, {}])
def test_people_are_drawn_of_lists_and_parts(more):
    listed = list_of(home=["h0", "h1", "h4"], density=["1", "1", "2"])
    table = people(["h0"] * 20 + ["h1", None, "h7"] * 5, ["Chi"] * 20 + ["Day"] * 15)
    if more.get("domain", "") is None:
        table = people(["h0"] * 20 + ["h1", "h6", "h7"] * 5, ["Chi"] * 20 + ["Day"] * 15)
    drawn = DIRICHLET_MULTINOMIAL.draw(context(table, listed), asked(**more), os.urandom)
    assert Counter(drawn.columns[0].tolist()) == Counter(table.codes[:, 0].tolist())
    shown = {HOMES.labels[own] for own in drawn.columns[1].tolist()}
    assert shown <= ({f"h{i}" for i in range(8)} if "domain" in more else {HOMES.labels[0], "h0", "h1", "h4"})
    assert drawn.published.outside == ("domain" not in more)


def test_sampled_cells_are_drawn_as_their_law_says():
    """400,000 urns of two people in h0, and h1 kept by chance. It fails by chance once in a million."""
    listed = list_of(home=["h0", "h1"], inclusion=["1", "0.25"])
    cells = PublicCells.of(HOMES, 0, 0, listed, "home")
    runs, alpha = 400_000, Fraction(1, 2)
    of_people = np.full(2 * runs, 1, dtype=np.int32)
    bits = stream("kept")
    units, of_units = cells.prior_units(of_people, np.arange(0, 2 * runs, 2), bits)
    urns = Urns(np.full(runs, 2), np.full(runs, alpha.numerator), np.full(runs, alpha.denominator), units)
    drawn = urns.drawn(of_people, bits, of_units).reshape(-1, 2)
    law = sampled_law(np.array([0, 2, 0]), 0.5, (1.0, 1.0, 0.25))
    for output, chance in law.items():
        many = int((np.sort(drawn, axis=1) == np.repeat(np.arange(3), output)).all(axis=1).sum())
        assert abs(many - runs * chance) <= 5.5 * math.sqrt(runs * chance * (1 - chance))


@pytest.mark.parametrize(
    ("more", "pointer", "code"),
    [
        ({"part_levels": 2}, "/mechanism/part_levels", "no-level"),
        ({"domain": "others"}, "/mechanism/domain", "no-list"),
        (
            {"delta": 0.01, "certificate": "reference_sample"},
            "/mechanism/certificate",
            "certificate-of-all-cells",
        ),
    ],
)
def test_what_fits_no_list_is_named(more, pointer, code):
    listed = list_of(home=["h0", "h1"], inclusion=["1", "0.25"])
    with pytest.raises(InvalidInput) as error:
        DIRICHLET_MULTINOMIAL.plan(context(people(["h0"]), listed), asked(**more))
    (fault,) = error.value.faults
    assert (fault.pointer, fault.code) == (pointer, code)


def test_a_part_without_density_and_an_epsilon_that_chance_uses_up_are_named():
    with pytest.raises(InvalidInput, match="no density"):
        PublicCells.of(HOMES, 0, 1, list_of(home=["h0", "h4"], density=["0", "1"]), "home")
    listed = list_of(home=["h0", "h1"], inclusion=["1", "0.01"])
    plan = DIRICHLET_MULTINOMIAL.plan(context(people(["h0"]), listed), asked())
    (fault,) = plan.missing
    assert (fault.code, "5.298" in fault.message) == ("too-much-noise", True)


@pytest.mark.spec("LD-D15")
@pytest.mark.parametrize("more", [{"domain": None}, {}, {"domain": None, "part_levels": 1}])
def test_what_the_owner_expects_is_what_all_draws_show_on_average(more):
    """By enumeration: total variation, the probability of a disclosure, and the loss of one release."""
    table = people(["h0", "h0", "h1", "h4", "h4"], ["Chi"] * 3 + ["Day"] * 2)
    listed = list_of(home=["h0", "h1", "h4"], prior=["1", "1", "2"])
    question = asked(**{"epsilon": 1.5, "delta": 0.05, "certificate": "exact_tail"} | more)
    cells = {"home": ["", "h0", "h1", "h4"], "prior": [1, 1, 1, 2]}
    if "domain" in more:
        cells = {"home": [f"h{i}" for i in range(8)], "prior": [1] * 8}
    if "part_levels" in more:
        cells = {"home": ["s0", "s1"], "prior": [1, 1]}
    place = {"h0": "s0", "h1": "s0", "h4": "s1"} if "part_levels" in more else {}
    released = people(["h4", "h4", "h4", "h0", "h1"], ["Chi"] * 3 + ["Day"] * 2)
    found = DIRICHLET_MULTINOMIAL.value(context(table, listed), question, released)
    before = DIRICHLET_MULTINOMIAL.value(context(table, listed), question, None)
    assert (before.worst_loss, before.above_caps) == (None, None)
    assert (before.sizes, before.disclosure) == (found.sizes, found.disclosure)
    sizes = {own.people: own for own in found.sizes}
    wanted, disclosures, losses = 0.0, [], []
    for homes, drawn in ((["h0", "h0", "h1"], ["h4"] * 3), (["h4", "h4"], ["h0", "h1"])):
        counts, shown = (
            np.array([[place.get(own, own) for own in of].count(cell) for cell in cells["home"]])
            for of in (homes, drawn)
        )
        priors = sizes[len(homes)].alpha * np.array(cells["prior"], dtype=float)
        every = outputs(len(homes), len(counts))
        law = np.exp(log_probabilities(every, counts, priors))
        variation = float(law @ np.abs(every - counts).sum(axis=1)) / 2 / len(homes)
        assert sizes[len(homes)].total_variation == pytest.approx(variation, rel=1e-9)
        wanted += variation * len(homes) / 5
        disclosures.append(exact_chances(counts, priors, 1.5).disclosure)
        near = [log_probabilities(shown, own, priors) for own in (counts, *steps(counts))]
        losses.append(max(abs(a - near[0]) for a in near))
    assert found.total_variation == pytest.approx(wanted, rel=1e-9)
    assert found.disclosure == pytest.approx(max(disclosures), rel=1e-9, abs=1e-15)
    assert found.worst_loss >= max(losses) * (1 - 1e-9)
    assert found.worst_loss <= math.log1p(3 / min(own.alpha for own in found.sizes)) * (1 + 1e-9)


def test_the_chance_of_a_disclosure_is_that_of_the_worst_partition():
    """Of six people and of three, all in one home."""
    jobs = [job for job, n in zip(("Chi", "Day"), (6, 3), strict=True) for _ in range(n)]
    question = asked(domain=None, epsilon=1.0, delta=0.1, certificate="exact_tail")
    found = DIRICHLET_MULTINOMIAL.value(context(people(["h0"] * len(jobs), jobs)), question, None)
    each = [
        exact_chances(np.array([own.people] + [0] * 7), np.full(8, own.alpha), 1.0).disclosure
        for own in found.sizes
    ]
    assert len(set(each)) == 2
    assert found.disclosure == pytest.approx(max(each), rel=1e-9)


def test_what_is_expected_of_many_people_is_what_a_simulation_shows():
    """500 people with 300 in one of 8 homes: the mean of 4,000 draws, within six standard errors."""
    table = people(["h0"] * 300 + ["h1"] * 199 + ["h2"])
    question = asked(domain=None, epsilon=1.0)
    found = DIRICHLET_MULTINOMIAL.value(context(table), question, None)
    alpha = found.sizes[0].alpha
    counts = np.array([300, 199, 1, 0, 0, 0, 0, 0])
    rng = np.random.default_rng(7)
    drawn = np.array([rng.multinomial(500, own) for own in rng.dirichlet(counts + alpha, 4000)])
    apart = np.abs(drawn - counts).sum(axis=1) / 1000
    assert abs(apart.mean() - found.total_variation) < 6 * apart.std() / math.sqrt(4000)
    assert found.disclosure is None


def test_of_cells_kept_by_chance_the_owner_sees_priors_alone():
    listed = list_of(home=["h0", "h1"], inclusion=["1", "0.25"])
    found = DIRICHLET_MULTINOMIAL.value(context(people(["h0"] * 4), listed), asked(epsilon=5.0), None)
    assert (found.total_variation, found.disclosure, found.worst_loss) == (None, None, None)
    assert [(own.people, own.partitions, own.total_variation) for own in found.sizes] == [(4, 1, None)]
