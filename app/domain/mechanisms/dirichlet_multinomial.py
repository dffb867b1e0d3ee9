"""Dirichlet-multinomial synthesis: the people of public partitions, with one attribute drawn anew.

How many people each combination of the partition's attributes has is public and published exactly. In each
partition as many people are drawn as it has, by a Pólya urn of its people and of a prior for each cell that
the drawn attribute can have (Machanavajjhala (2008), chapter 4, corrected; earlier in Machanavajjhala et al.
(2008)). Cells are the values of a public hierarchy at the level of a public rule, or those of a public list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, MaxLen, doc

from app.domain.arrays import Ints, Longs
from app.domain.catalogue.catalogue_types import ADDED_LATER, ColumnName, DatasetRef
from app.domain.classes.ratios import as_written
from app.domain.errors import Fault, InvalidInput, NotSupported, refuse
from app.domain.mechanisms.dirichlet_calibration import (
    Certificate,
    calibrate,
    lower_gamma,
    noise_share,
    proven_delta,
    sampled_delta,
    sampled_domain,
)
from app.domain.mechanisms.dirichlet_disclosure import (
    MOST_OUTPUTS,
    exact_chances,
    violations,
    worst_losses,
)
from app.domain.mechanisms.dirichlet_guarantees import guarantees_of, warnings_of
from app.domain.mechanisms.expected_people import (
    ExpectedPeople,
    PartitionsOfSize,
    expected_total_variation,
)
from app.domain.mechanisms.guarantee_models import BOUNDED_PRIVACY, PROBABILISTIC_PRIVACY
from app.domain.mechanisms.mechanism import Bits, Drawn, Mechanism, MechanismContext, MechanismPlan
from app.domain.mechanisms.noise_law import not_less
from app.domain.mechanisms.plan_constants import DIRICHLET_CONSTANTS, EPSILONS_COMPARED
from app.domain.mechanisms.polya_urn import Urns, is_drawable
from app.domain.mechanisms.private_release import (
    PublishedPrivately,
    RuleIsPublic,
    levels_of,
    require_private,
    rule_faults,
    why_no_public_rule,
)
from app.domain.mechanisms.public_cells import Chances, PublicCells, Shape
from app.domain.mechanisms.public_domains import why_undeclared
from app.domain.mechanisms.rule_before import bytes_disclosed, disclosed, shown_attributes
from app.domain.tables.distinct import DistinctRows, distinct_rows
from app.domain.tables.table import Table, no_attribute

PLACES: Final = 12
"""Of priors as decimals; fewer where a word of 64 bits does not hold so many."""
SLOW: Final = 2.5
MOST_SQUARES: Final = 500_000
"""With a smaller e^ε − 1 no count is far above its cap, and tails are long: they are summed while the squares
of the different sizes add up to so many for each value."""
SECONDS_PER_SIZE: Final = 0.02
SECONDS_PER_CELL: Final = 2e-8
"""Of each partition, where cells are kept by chance."""
SECONDS_PER_PERSON: Final = 5e-7
BYTES_PER_PERSON: Final = 100


@dataclass(frozen=True, kw_only=True)
class DirichletMultinomial:
    """What is public, what is drawn, and how hard neighbours are to tell apart."""

    partition: Annotated[
        tuple[ColumnName, ...],
        MaxLen(100),
        doc(
            "The attributes that are public: how many people each of their combinations has is published "
            "exactly. The one other attribute is drawn; none of them may be sensitive. Without any all "
            "people are one partition."
        ),
    ]
    epsilon: Annotated[
        float,
        Ge(0.0001),
        Le(20),
        doc(
            "ε: another value of one person changes the probability of no set of published tables by more "
            "than the factor e^ε. Taken as the decimal it is written as, of at most 9 places."
        ),
    ]
    delta: Annotated[
        float,
        Ge(0),
        Le(0.1),
        doc(
            "δ of a partition: the probability of an output that tells more. Taken as the decimal it is "
            "written as; 0 with the certificate `pure`, above 0 with the others."
        ),
    ] = 0.0
    certificate: Annotated[
        Certificate,
        doc(
            "What proves the prior: `pure`, for every output; `exact_tail`, by the probability of a count "
            "above its cap; `reference_sample`, by a just unrepresentative count, which needs ε above ln 3."
        ),
    ] = "pure"
    rule_is_public: RuleIsPublic = False
    domain: Annotated[
        DatasetRef | None, ADDED_LATER,
        doc(
            "A dataset that lists, from public knowledge alone, the values that can be drawn, in a column "
            "named as the attribute; null: all declared ones, with equal priors. Other values are shown as "
            "suppressed. It may have columns of numbers up to a million: `prior`, relative to others; "
            "`inclusion`, the probability that a value which nobody of a partition has is kept, which ε pays "
            "for; `density`, of the value in its part."
        ),
    ] = None  # fmt: skip
    part_levels: Annotated[
        int, Ge(0), Le(50), ADDED_LATER,
        doc(
            "People are drawn in parts, so many levels above the values; in a part every drawn person is "
            "placed by the density of the list, or evenly without one."
        ),
    ] = 0  # fmt: skip

    def __post_init__(self) -> None:
        require_private(self, self.epsilon)
        if (self.certificate == "pure") != (self.delta == 0):
            raise InvalidInput.of(
                "/delta",
                "delta-of-other-certificate",
                "The certificate pure has a delta of 0; each other one has a delta above 0.",
                "Give both, such as exact_tail with a delta of 0.000001; or leave both out.",
            )
        if self.certificate == "reference_sample" and lower_gamma(as_written(self.epsilon)) <= 2:
            raise InvalidInput.of(
                "/certificate",
                "epsilon-too-small",
                f"A reference sample needs e^epsilon above 3; epsilon is {self.epsilon:.6g}.",
                "Give an epsilon above 1.0986123, or the certificate exact_tail or pure.",
            )


@dataclass(frozen=True, eq=False)
class PublishedDirichletMultinomial(PublishedPrivately):
    """What is published beside the rows."""

    what_rows_are = "drawn people: copies of people, and others, which nothing tells apart"
    why_not_counted = "people are drawn from those drawn before, and no error of their counts is computed"
    attribute: Annotated[ColumnName, doc("The attribute that was drawn.")]
    partition: Annotated[tuple[ColumnName, ...], doc("The public attributes, published as they are.")]
    epsilon: Annotated[float, doc("ε of the guarantee.")]
    delta: Annotated[float, doc("δ of the guarantee, of a partition.")]
    certificate: Annotated[Certificate, doc("What proves it.")]
    cells: Annotated[int, doc("Values or parts that could be drawn, and the one outside, if there is one.")]
    sizes: Annotated[tuple[int, ...], doc("How many people partitions have, ascending.")]
    priors: Annotated[
        tuple[float, ...],
        doc(
            "Least α of each: of n people, k with a value whose prior is c·α, (k + c·α)·n/(n + |α|) are "
            "expected to be drawn with it, |α| as in `totals`; c is 1 without a column `prior`. Where chance "
            "keeps values, |α| is the sum over those that are kept."
        ),
    ]
    outside: Annotated[bool, doc("Whether a suppressed value is of people outside of the list.")] = False
    totals: Annotated[
        tuple[float, ...],
        doc("|α| of each: the sum of the priors of its values, at most where chance keeps them."),
    ] = ()


@lru_cache(maxsize=2**14)
def prior_of(
    n: int, shape: Shape, epsilon: Fraction, delta: Fraction, certificate: Certificate, chances: Chances = ()
) -> tuple[Fraction, float] | None:
    """The least prior found whose urn draws words of 64 bits, and its δ; None if there is none.

    ``shape`` says how many cells have which multiple of it, ``chances`` how many are kept with which
    probability, if not all are. Where 12 decimal places are too many it is rounded up to fewer and proved
    anew, else that of ``pure`` is.
    """
    if chances:
        return _sampled_prior(n, epsilon, delta, dict(chances))
    units = sum(multiple * many for multiple, many in shape)
    weights = {Fraction(multiple): many for multiple, many in shape}
    cells = sum(weights.values())
    choices = [calibrate(n, cells, epsilon, delta, own, weights).alpha for own in (certificate, "pure")]
    for scale in (10**places for places in range(PLACES, -1, -1)):
        for alpha in (Fraction(math.ceil(own * scale), scale) for own in choices):
            if is_drawable(n, alpha, units):
                proven = proven_delta(n, weights, alpha, epsilon, certificate)
                if Fraction(proven) <= delta:
                    return alpha, proven
    return None


def _sampled_prior(
    n: int, epsilon: Fraction, delta: Fraction, chances: Mapping[float, int]
) -> tuple[Fraction, float] | None:
    """The same of sampled cells, by exact tails: ε is what is left of the whole for those that are kept.

    A prior of at most c in every cell costs c·ln 2, and the least chance f costs ln 1/f: for c = 1, 2, …
    until the prior that the rest of ε needs is no greater.
    """
    most = 1
    while (left := left_of(epsilon, chances, most)) > 0:
        found = sampled_domain(n, chances, left, delta).alpha
        for scale in (10**places for places in range(PLACES, -1, -1)):
            alpha = Fraction(math.ceil(found * scale), scale)
            if alpha <= most and is_drawable(n, alpha, sum(chances.values())):
                is_pure = alpha * Fraction(gamma := lower_gamma(left)) >= n
                proven = 0.0 if is_pure else sampled_delta(n, chances, alpha, gamma)[0]
                if Fraction(proven) <= delta:
                    return alpha, proven
        most = max(most + 1, math.ceil(found))
    return None


def left_of(epsilon: Fraction, chances: Mapping[float, int], most: int) -> Fraction:
    """ε − ln 1/f − c·ln 2, rounded down to nine places; ε where all cells are kept."""
    if not chances:
        return epsilon
    spent = most * math.log(2) - math.log(min(chances))
    return Fraction(math.floor((epsilon - Fraction(spent * (1 + 1e-12))) * 10**9), 10**9)


@dataclass(frozen=True, eq=False)
class _People:
    """The people as a rule leaves them; ``column`` is the place of the attribute that is drawn."""

    context: MechanismContext
    asked: DirichletMultinomial
    column: int

    @classmethod
    def of(cls, context: MechanismContext, asked: DirichletMultinomial) -> _People:
        """InvalidInput unless all shown attributes but one are a public partition."""
        table, shown, pointer = context.table, shown_attributes(context), "/mechanism/partition"
        for at, name in enumerate(asked.partition):
            if name not in table.attributes:
                raise InvalidInput([no_attribute(f"{pointer}/{at}", name, table.attributes)])
            if name in table.sensitive and name in shown:
                raise InvalidInput.of(
                    f"{pointer}/{at}",
                    "not-public",
                    f"{name!r} is sensitive, and how many people have which value of it would be published.",
                    "Draw it, suppress it by a rule, or give it another role if it is public.",
                )
        drawn = [cls(context, asked, table.position(own)) for own in shown if own not in asked.partition]
        if not drawn:
            raise InvalidInput.of(
                pointer,
                "nothing-drawn",
                "All attributes that are shown are in the partition: none is drawn.",
                "Leave out of the partition the one attribute that is not public.",
            )
        if len(drawn) > 1:
            cells = math.prod(len(own.context.table.hierarchies[own.column].leaves) for own in drawn)
            raise InvalidInput.of(
                pointer,
                "several-drawn",
                f"{len(drawn)} attributes are outside of the partition: "
                f"{', '.join(repr(own.name) for own in drawn[:5])}. Drawn together they could have "
                f"{cells:,} values, each with a prior; one is drawn.",
                "Name those that are public, suppress others by a rule, or make one attribute of them with a "
                "hierarchy that declares its values.",
            )
        if len(drawn[0].cells.nodes) == 1:
            raise InvalidInput.of(
                pointer,
                "one-value",
                f"{drawn[0].name!r} can have one value only: everybody has it, and nothing is drawn.",
                "Draw another attribute, or give a rule with a less general level or fewer part_levels.",
            )
        return drawn[0]

    @property
    def name(self) -> str:
        """The attribute that is drawn."""
        return self.context.table.attributes[self.column]

    @cached_property
    def cells(self) -> PublicCells:
        """What people are drawn from."""
        asked, tree = self.asked, self.context.table.hierarchies[self.column]
        level = levels_of(self.context)[self.column]
        listed = None if asked.domain is None else self.context.lists.get(asked.domain)
        if asked.domain is not None and listed is None:
            message = "There is no such list here: the mechanism is asked for without its datasets."
            raise InvalidInput.of("/mechanism/domain", "no-list", message, "Leave the domain out.")
        if level + asked.part_levels >= max(tree.height, 1):
            message = f"The hierarchy of {self.name!r} has no such level below the one that suppresses."
            raise InvalidInput.of("/mechanism/part_levels", "no-level", message, "Give fewer part_levels.")
        found = PublicCells.of(tree, level, asked.part_levels, listed, self.name)
        if found.chances and found.units > len(found.nodes):
            message = "Cells that are kept by chance are proved for equal priors only."
            remedy = "Leave out one of the columns prior and inclusion."
            raise InvalidInput.of("/mechanism/domain", "unequal-priors", message, remedy)
        if found.chances and asked.certificate == "reference_sample":
            message = "A reference sample is no proof where cells are kept by chance."
            remedy = "Choose exact_tail or pure, or leave out the column inclusion."
            raise InvalidInput.of("/mechanism/certificate", "certificate-of-all-cells", message, remedy)
        return found

    @cached_property
    def shown(self) -> Ints:
        """(n, attributes) nodes under the rule."""
        return disclosed(self.context)

    @cached_property
    def partitions(self) -> DistinctRows:
        """People who agree in all attributes but the one that is drawn; without others all do."""
        return self.partitions_of(self.shown)

    def partitions_of(self, rows: Ints) -> DistinctRows:
        """The same of other rows."""
        sizes, others = self.context.table.sizes, [j for j in range(rows.shape[1]) if j != self.column]
        columns = [rows[:, j] for j in others] or [np.zeros(len(rows), dtype=np.int32)]
        return distinct_rows(columns, [sizes[j] for j in others] or [1], len(rows))

    @cached_property
    def sizes(self) -> tuple[Longs, Longs]:
        """(d,) how many people partitions have, ascending, and how many have so many."""
        return np.unique(self.partitions.counts, return_counts=True)

    @cached_property
    def priors(self) -> tuple[tuple[Fraction, float] | None, ...]:
        """α and δ of each of these sizes."""
        return tuple(self.prior(n, self.asked.epsilon) for n in self.sizes[0].tolist())

    def prior(self, n: int, epsilon: float) -> tuple[Fraction, float] | None:
        """Of one size, with this ε; where tails are too much work by ``pure``."""
        certificate = "pure" if self.is_work(float(n) ** 2, epsilon) else self.asked.certificate
        delta = as_written(self.asked.delta if certificate != "pure" else 0.0)
        return prior_of(n, self.cells.shape, as_written(epsilon), delta, certificate, self.cells.chances)

    def is_work(self, squares: float, epsilon: float) -> bool:
        """Whether the tails of sizes with this sum of squares are too many to be summed."""
        left = left_of(as_written(epsilon), dict(self.cells.chances), 1)
        is_slow = self.asked.certificate == "exact_tail" and math.expm1(left) <= SLOW
        return is_slow and squares > MOST_SQUARES * len(self.cells.nodes)

    def total(self, n: int, alpha: Fraction | float) -> float:
        """|α|, the sum of all priors; where chance keeps values its mean, if all n people have others."""
        kept = min(sum(own * many for own, many in self.cells.chances) + n, len(self.cells.nodes))
        return float(alpha) * (kept if self.cells.chances else self.cells.units)

    def share(self, n: int, alpha: Fraction | float) -> float:
        """The expected share of the prior; of sampled cells at most, as it is concave in the kept ones."""
        return noise_share(n, self.total(n, alpha))

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """What is in the way of a draw."""
        found = [*rule_faults(self.context, self.asked.rule_is_public)]
        if self.is_work(float((self.sizes[0].astype(float) ** 2).sum()), self.asked.epsilon):
            message = "With so small an epsilon the tails of partitions of so many people are not summed."
            remedy = "Give an epsilon of 1.3 or more, or the certificate pure with a delta of 0."
            found.append(Fault("/mechanism/certificate", "too-much-work", message, remedy))
        elif None in self.priors:
            message = f"The prior of {len(self.cells.nodes):,} values is too large to be drawn from exactly."
            if self.cells.chances:
                least = self.cells.chances[0][0]
                message = f"Cells kept with a chance of {least:g} take {math.log(2 / least):.4g} of epsilon."
            remedy = "Give a greater epsilon, another certificate, or a rule with a more general level."
            found.append(Fault("/mechanism/epsilon", "too-much-noise", message, remedy))
        return tuple(found)

    @property
    def numbers(self) -> dict[str, float]:
        """The constants of a plan: those of priors only where nothing is in the way."""
        sizes, times = self.sizes
        median = int(sizes[np.searchsorted(np.cumsum(times), times.sum() // 2, side="right")])
        found: dict[str, float] = {
            "partitions": int(times.sum()),
            "partitions_of_one": int(times[sizes == 1].sum()),
            "size_median": median,
            "size_greatest": int(sizes[-1]),
            "values": len(self.cells.nodes),
        }
        for epsilon in EPSILONS_COMPARED:
            prior = self.prior(median, epsilon)
            share = 1.0 if prior is None else self.share(median, prior[0])
            found[f"noise_share_at_epsilon_{epsilon:g}"] = share
        if self.faults:
            return found
        proven = [own for own in self.priors if own is not None]
        alphas, deltas = np.array([float(own) for own, _ in proven]), [own for _, own in proven]
        of_table = sum(Fraction(own) * many for own, many in zip(deltas, times.tolist(), strict=True))
        shares = [self.share(n, own) for n, (own, _) in zip(sizes.tolist(), proven, strict=True)]
        of_chance = max((-math.log(own) for own, _ in self.cells.chances), default=0.0)
        of_kept = np.ceil(alphas) * math.log(2) if self.cells.chances else np.zeros(len(alphas))
        return found | {
            "alpha_least": float(alphas.min()),
            "alpha_greatest": float(alphas.max()),
            "greatest_loss": float((np.log1p(sizes / alphas) + of_kept).max()) + of_chance,
            "delta_of_partition": max(deltas),
            "delta_of_table": min(1.0, not_less(Fraction(of_table))),
            "noise_share": float(np.average(shares, weights=sizes * times)),
        }


def _supports(context: MechanismContext, parameters: DirichletMultinomial) -> str | None:
    reason = why_no_public_rule(context)
    if reason is not None:
        return reason
    why = ". Every value that there can be gets a prior, and values known from the data would tell of them."
    return why_undeclared(context, [_People.of(context, parameters).name], why)


def _plan(context: MechanismContext, parameters: DirichletMultinomial) -> MechanismPlan:
    people, n = _People.of(context, parameters), context.table.n_records
    missing, numbers, asked = people.faults, people.numbers, parameters
    kept = len(people.partitions.counts) * len(people.cells.nodes) if people.cells.chances else 0
    described = (people.name, numbers, asked.epsilon, people.cells)
    return MechanismPlan(
        constants=numbers,
        missing=missing,
        seconds=SECONDS_PER_SIZE * len(people.sizes[0]) + SECONDS_PER_PERSON * n + SECONDS_PER_CELL * kept,
        bytes=(BYTES_PER_PERSON + bytes_disclosed(context)) * n,
        guarantees=() if missing else guarantees_of(context, asked.partition, asked.delta, *described),
        warnings=() if missing else tuple(warnings_of(*described)),
    )


def _bars(context: MechanismContext, parameters: DirichletMultinomial) -> tuple[Fault, ...]:
    people = _People.of(context, parameters)
    if (people.cells.of_node[people.shown[:, people.column]] >= 0).all():
        return ()
    message = f"Some records have no declared value of {people.name!r}: it is missing, or more general."
    remedy = "Leave these records out, or map missing values to a declared value of their own in the data."
    return (Fault("/mechanism/partition", "missing-drawn-values", message, remedy),)


def _draw(
    context: MechanismContext, parameters: DirichletMultinomial, bits: Bits
) -> Drawn[PublishedDirichletMultinomial]:
    reason = _supports(context, parameters)
    if reason is not None:
        raise NotSupported.because(reason)
    people = _People.of(context, parameters)
    refuse((*people.faults, *_bars(context, parameters)))
    alphas = [own[0] for own in people.priors if own is not None]
    sizes, column = people.sizes[0], people.column
    order = np.argsort(people.partitions.inverse, kind="stable")
    of_size = np.searchsorted(sizes, people.partitions.counts)
    parts = np.array([own.as_integer_ratio() for own in alphas], dtype=np.int64)[of_size]
    counts, cells = people.partitions.counts, people.cells
    columns = [people.shown[order, j] for j in range(context.table.n_attributes)]
    of_people = cells.of_node[columns[column]]
    units, of_units = cells.prior_units(of_people, np.cumsum(counts) - counts, bits)
    urns = Urns(counts, parts[:, 0], parts[:, 1], units)
    columns[column] = cells.shown(urns.drawn(of_people, bits, of_units), bits)
    published = PublishedDirichletMultinomial(
        attribute=people.name,
        partition=parameters.partition,
        epsilon=parameters.epsilon,
        delta=parameters.delta,
        certificate=parameters.certificate,
        cells=len(cells.nodes),
        sizes=tuple(sizes.tolist()),
        priors=tuple(map(float, alphas)),
        outside=cells.has_outside,
        totals=tuple(people.total(n, own) for n, own in zip(sizes.tolist(), alphas, strict=True)),
    )
    return Drawn(tuple(columns), published)


def _value(
    context: MechanismContext, parameters: DirichletMultinomial, released: Table | None
) -> ExpectedPeople:
    """What is expected of a draw, and what the release tells, if there is one: of the records as they are."""
    people = _People.of(context, parameters)
    cells, n, column = people.cells, context.table.n_records, people.column
    drawn = np.empty((0, context.table.n_attributes), dtype=np.int32) if released is None else released.codes
    both = np.concatenate([people.shown, drawn])
    of_partition = people.partitions_of(both).inverse
    order = np.argsort(of_partition, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(of_partition))[:-1])
    alphas = dict(zip(people.sizes[0].tolist(), [float(own[0]) for own in people.priors if own], strict=True))
    variations: dict[int, list[float]] = {size: [] for size in alphas}
    losses, above, k = [], 0, len(cells.nodes)
    n_outputs = sum(math.comb(size + k - 1, k - 1) for size in people.partitions.counts.tolist())
    disclosures: dict[bytes, float] = {}
    for rows in parts:
        found, of_row = np.unique(cells.of_node[both[rows, column]], return_inverse=True)
        counts, shown = (np.bincount(of_row[own], minlength=len(found)) for own in (rows < n, rows >= n))
        alpha, is_there = alphas[size := int(counts.sum())], counts > 0
        priors = alpha * cells.multiples[found]
        losses.append(float(worst_losses(shown, counts, priors, len(found) < k)))
        above += int(violations(shown, counts, priors, math.expm1(parameters.epsilon)).sum())
        in_mean = expected_total_variation(counts[is_there], priors[is_there], alpha * cells.units)
        variations[size].append(in_mean)
        if n_outputs <= MOST_OUTPUTS:
            every = np.zeros(k, dtype=np.int64)
            every[found] = counts
            if (key := every.tobytes()) not in disclosures:  # many small partitions are alike
                chances = exact_chances(every, alpha * cells.multiples, parameters.epsilon)
                disclosures[key] = chances.disclosure
    sizes = [
        PartitionsOfSize(size, len(own), alphas[size], people.share(size, alphas[size]), float(np.mean(own)))
        for size, own in variations.items()
    ]
    if cells.chances:  # other cells are kept each time
        return ExpectedPeople(tuple(replace(own, total_variation=None) for own in sizes))
    variation = math.fsum(size * math.fsum(own) for size, own in variations.items()) / n
    disclosure = max(disclosures.values(), default=None)
    if released is None:
        return ExpectedPeople(tuple(sizes), variation, disclosure)
    return ExpectedPeople(tuple(sizes), variation, disclosure, max(losses), above)


DIRICHLET_MULTINOMIAL: Final = Mechanism(
    name="dirichlet_multinomial",
    title="Dirichlet-multinomial synthesis: one attribute drawn anew for the people of public partitions",
    source="Machanavajjhala (2008), chapter 4; Machanavajjhala et al. (2008), with corrected certificates",
    family="synthesise",
    parameters=DirichletMultinomial,
    published=PublishedDirichletMultinomial,
    guarantees=(BOUNDED_PRIVACY, PROBABILISTIC_PRIVACY),
    constants=DIRICHLET_CONSTANTS,
    supports=_supports,
    plan=_plan,
    draw=_draw,
    keeps_records=False,
    hides_records=True,
    bars=_bars,
    value=_value,
)
