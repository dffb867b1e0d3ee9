"""Dirichlet-multinomial synthesis: the people of public partitions, with one attribute drawn anew.

How many people each combination of the partition's attributes has is public and published exactly. In each
partition as many people are drawn as it has, by a Pólya urn of its people and of a prior that is equal for
all values that the drawn attribute can have (Machanavajjhala (2008), chapter 4, corrected; earlier in
Machanavajjhala et al. (2008)). Values are those that a public hierarchy declares, at the level of a public
rule; the prior is the least that the certificate finds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, MaxLen, doc

from app.domain.arrays import Ints, Longs
from app.domain.catalogue.catalogue_types import ColumnName
from app.domain.classes.ratios import as_written
from app.domain.errors import Fault, InvalidInput, NotSupported, refuse
from app.domain.mechanisms.dirichlet_calibration import (
    Certificate,
    calibrate,
    lower_gamma,
    noise_share,
    proven_delta,
)
from app.domain.mechanisms.dirichlet_guarantees import PeopleDrawn, guarantees_of, warnings_of
from app.domain.mechanisms.guarantee_models import BOUNDED_PRIVACY, PROBABILISTIC_PRIVACY
from app.domain.mechanisms.mechanism import Bits, Drawn, Mechanism, MechanismContext, MechanismPlan
from app.domain.mechanisms.noise_law import not_less
from app.domain.mechanisms.plan_constants import DIRICHLET_CONSTANTS, EPSILONS_COMPARED
from app.domain.mechanisms.polya_urn import LARGEST_BOUND, Urns
from app.domain.mechanisms.private_release import (
    PublishedPrivately,
    RuleIsPublic,
    levels_of,
    require_private,
    rule_faults,
    why_no_public_rule,
)
from app.domain.mechanisms.public_domains import why_undeclared
from app.domain.mechanisms.rule_before import bytes_disclosed, disclosed, shown_attributes
from app.domain.tables.distinct import DistinctRows, distinct_rows
from app.domain.tables.table import no_attribute

PLACES: Final = 12
"""Of priors as decimals; fewer where a word of 64 bits does not hold so many."""
MOST_PEOPLE_OF_TAILS: Final = 1_000
MOST_PEOPLE_OF_ALL_TAILS: Final = 5_000
"""With e^ε of at most 3 no count is far above its cap: up to so many people tails are summed, of one size and
of all different ones."""
SECONDS_PER_SIZE: Final = 0.02
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

    def __post_init__(self) -> None:
        require_private(self, self.epsilon)
        if (self.certificate == "pure") != (self.delta == 0):
            raise InvalidInput.of(
                "/delta",
                "delta-of-other-certificate",
                "The certificate pure has a delta of 0; each other one has a delta above 0.",
                "Give both, such as exact_tail with a delta of 0.000001; or leave both out.",
            )
        if self.certificate == "reference_sample" and lower_gamma(self.ratio_epsilon) <= 2:
            raise InvalidInput.of(
                "/certificate",
                "epsilon-too-small",
                f"A reference sample needs e^epsilon above 3; epsilon is {self.epsilon:.6g}.",
                "Give an epsilon above 1.0986123, or the certificate exact_tail or pure.",
            )
        if len(set(self.partition)) < len(self.partition):
            raise InvalidInput.of(
                "/partition", "duplicate-attribute", "An attribute is named twice.", "Name each once."
            )

    @property
    def ratio_epsilon(self) -> Fraction:
        """ε, exactly."""
        return as_written(self.epsilon)


@dataclass(frozen=True, eq=False)
class PublishedDirichletMultinomial(PublishedPrivately):
    """What is published beside the rows."""

    what_rows_are = (
        "drawn people, of whom some are copies of people and some of nobody, which nothing tells apart"
    )
    why_not_counted = (
        "its people are drawn from those drawn before, too, and no error of their counts is computed"
    )
    attribute: Annotated[ColumnName, doc("The attribute that was drawn.")]
    partition: Annotated[
        tuple[ColumnName, ...], doc("Those whose combinations have as many people as before.")
    ]
    epsilon: Annotated[float, doc("ε of the guarantee.")]
    delta: Annotated[float, doc("δ of the guarantee, of a partition.")]
    certificate: Annotated[Certificate, doc("What proves it.")]
    cells: Annotated[int, doc("Values that could be drawn.")]
    sizes: Annotated[tuple[int, ...], doc("How many people partitions have, ascending.")]
    priors: Annotated[
        tuple[float, ...],
        doc(
            "α of each size: of n people, k with a value, (k + α)·n / (n + cells·α) are expected to show it."
        ),
    ]


@dataclass(frozen=True)
class Prior:
    """α = ``numerator`` / ``scale`` of a value in a partition, and the δ that is proved with it."""

    numerator: int
    scale: int
    delta: float

    @property
    def alpha(self) -> Fraction:
        """The prior of one value."""
        return Fraction(self.numerator, self.scale)


@lru_cache(maxsize=2**14)
def prior_of(
    n: int, cells: int, epsilon: Fraction, delta: Fraction, certificate: Certificate
) -> Prior | None:
    """The least prior found of so many people whose urn draws words of 64 bits; None if there is none.

    Where 12 decimal places are too many it is rounded up to fewer and proved anew; if that fails, which more
    noise can do to a tail by its threshold alone, it is the one of ``pure``.
    """
    least = calibrate(n, cells, epsilon, delta, certificate)
    pure = calibrate(n, cells, epsilon, 0, "pure")
    for places in range(PLACES, -1, -1):
        scale = 10**places
        for alpha in dict.fromkeys((least.alpha, pure.alpha)):
            numerator = math.ceil(alpha * scale)
            if 2 * scale * n + cells * numerator > LARGEST_BOUND:
                continue
            rounded = Fraction(numerator, scale)
            proven = (
                least.delta
                if rounded == least.alpha
                else proven_delta(n, cells, rounded, epsilon, certificate)
            )
            if Fraction(proven) <= delta:
                return Prior(numerator, scale, proven)
    return None


@dataclass(frozen=True, eq=False)
class _People:
    """The people as a rule leaves them, and what each part of the table is for."""

    context: MechanismContext
    asked: DirichletMultinomial
    column: int

    @classmethod
    def of(cls, context: MechanismContext, asked: DirichletMultinomial) -> _People:
        """InvalidInput unless all shown attributes but one are a public partition."""
        table, shown = context.table, shown_attributes(context)
        faults = []
        for at, name in enumerate(asked.partition):
            if name not in table.attributes:
                faults.append(no_attribute(f"/mechanism/partition/{at}", name, table.attributes))
            elif name in table.sensitive and name in shown:
                faults.append(
                    Fault(
                        f"/mechanism/partition/{at}",
                        "not-public",
                        f"{name!r} is sensitive: how many people have which value of it would be published "
                        "exactly.",
                        "Draw it, suppress it by a rule, or give it another role if it is public.",
                    )
                )
        refuse(faults)
        drawn = [name for name in shown if name not in asked.partition]
        if not drawn:
            raise InvalidInput.of(
                "/mechanism/partition",
                "nothing-drawn",
                "All attributes that are shown are in the partition: none is drawn.",
                "Leave out of the partition the one attribute that is not public.",
            )
        found = cls(context, asked, table.position(drawn[0]))
        if len(drawn) > 1:
            cells = math.prod(len(cls(context, asked, table.position(name)).domain) for name in drawn)
            raise InvalidInput.of(
                "/mechanism/partition",
                "several-drawn",
                f"{len(drawn)} attributes are outside of the partition: {', '.join(map(repr, drawn[:5]))}. "
                f"Drawn together they could have {cells:,} values, each with a prior; one is drawn.",
                "Name those that are public, suppress others by a rule, or make one attribute of them with a "
                "hierarchy that declares its values.",
            )
        if len(found.domain) == 1:
            raise InvalidInput.of(
                "/mechanism/partition",
                "one-value",
                f"{found.name!r} can have one value only: everybody has it, and nothing is drawn.",
                "Draw another attribute, or give a rule with a less general level.",
            )
        return found

    @property
    def name(self) -> str:
        """The attribute that is drawn."""
        return self.context.table.attributes[self.column]

    @cached_property
    def domain(self) -> Ints:
        """(K,) the nodes that can be drawn, ascending: those of all declared values at the rule's level."""
        hierarchy = self.context.table.hierarchies[self.column]
        found = hierarchy.ancestors_at(levels_of(self.context)[self.column])[hierarchy.leaves]
        return np.unique(found).astype(np.int32)

    @cached_property
    def shown(self) -> Ints:
        """(n, attributes) nodes under the rule."""
        return disclosed(self.context)

    @cached_property
    def partitions(self) -> DistinctRows:
        """People who agree in all attributes but the one that is drawn."""
        table = self.context.table
        others = [j for j in range(table.n_attributes) if j != self.column]
        if not others:
            n, none = table.n_records, np.empty((1, 0), dtype=np.int32)
            return DistinctRows(none, np.array([n]), np.zeros(n, dtype=np.int32))
        sizes = [table.sizes[j] for j in others]
        return distinct_rows([self.shown[:, j] for j in others], sizes, table.n_records)

    @cached_property
    def sizes(self) -> tuple[Longs, Longs]:
        """(d,) how many people partitions have, ascending, and how many have so many."""
        return np.unique(self.partitions.counts, return_counts=True)

    @cached_property
    def priors(self) -> tuple[Prior | None, ...]:
        """Of each of these sizes."""
        return tuple(self.prior(n, self.asked.ratio_epsilon) for n in self.sizes[0].tolist())

    def prior(self, n: int, epsilon: Fraction) -> Prior | None:
        """Of one size, with this ε; where tails are too much work by ``pure``."""
        delta, certificate = as_written(self.asked.delta), self.asked.certificate
        if certificate == "exact_tail" and n > MOST_PEOPLE_OF_TAILS and lower_gamma(epsilon) <= 2:
            return prior_of(n, len(self.domain), epsilon, delta, "pure")
        return prior_of(n, len(self.domain), epsilon, delta, certificate)

    @property
    def is_too_much_work(self) -> bool:
        """Whether the tails of all sizes are too many to be summed."""
        if self.asked.certificate != "exact_tail" or lower_gamma(self.asked.ratio_epsilon) > 2:
            return False
        sizes = self.sizes[0]
        return bool(sizes[-1] > MOST_PEOPLE_OF_TAILS or sizes.sum() > MOST_PEOPLE_OF_ALL_TAILS)

    @cached_property
    def numbers(self) -> PeopleDrawn:
        """What the priors mean for the whole table; only where all sizes have one."""
        (sizes, times), cells = self.sizes, len(self.domain)
        found = [own for own in self.priors if own is not None]
        shares = [
            noise_share(n, cells * float(own.alpha)) for n, own in zip(sizes.tolist(), found, strict=True)
        ]
        of_table = sum(Fraction(own.delta) * many for own, many in zip(found, times.tolist(), strict=True))
        return PeopleDrawn(
            attribute=self.name,
            partition=self.asked.partition,
            partitions=int(times.sum()),
            people=self.context.table.n_records,
            of_one=int(times[sizes == 1].sum()),
            cells=cells,
            delta_of_partition=max(own.delta for own in found),
            delta_of_table=min(1.0, not_less(Fraction(of_table))),
            noise_share=float(np.dot(shares, sizes * times)) / self.context.table.n_records,
        )


def _supports(context: MechanismContext, parameters: DirichletMultinomial) -> str | None:
    reason = why_no_public_rule(context)
    if reason is not None:
        return reason
    why = ". Every value that there can be gets a prior, and values known from the data would tell of them."
    return why_undeclared(context, [_People.of(context, parameters).name], why)


def _missing(people: _People) -> Iterator[Fault]:
    yield from rule_faults(people.context, people.asked.rule_is_public)
    if people.is_too_much_work:
        yield Fault(
            "/mechanism/certificate",
            "too-much-work",
            f"With e^epsilon of at most 3 tails are summed of partitions of up to {MOST_PEOPLE_OF_TAILS:,} "
            f"people, whose different sizes add up to at most {MOST_PEOPLE_OF_ALL_TAILS:,}.",
            "Give an epsilon above 1.0986123, or the certificate pure with a delta of 0.",
        )
    elif None in people.priors:
        n = int(people.sizes[0][people.priors.index(None)])
        yield Fault(
            "/mechanism/epsilon",
            "too-much-noise",
            f"The prior of {len(people.domain):,} values in a partition of {n:,} people is too large to be "
            "drawn from exactly.",
            "Give a greater epsilon, another certificate, or a rule with a more general level.",
        )


def _plan(context: MechanismContext, parameters: DirichletMultinomial) -> MechanismPlan:
    people = _People.of(context, parameters)
    missing, n = tuple(_missing(people)), context.table.n_records
    is_drawn = not people.is_too_much_work and None not in people.priors
    (sizes, times), cells = people.sizes, len(people.domain)
    median = int(sizes[np.searchsorted(np.cumsum(times), times.sum() // 2, side="right")])
    constants: dict[str, float] = {
        "partitions": int(times.sum()),
        "size_least": int(sizes[0]),
        "size_median": median,
        "size_greatest": int(sizes[-1]),
        "values": cells,
    }
    if is_drawn:
        priors = [float(own.alpha) for own in people.priors if own is not None]
        constants |= {
            "alpha_least": min(priors),
            "alpha_greatest": max(priors),
            "greatest_loss": max(math.log1p(n / own) for n, own in zip(sizes.tolist(), priors, strict=True)),
            "delta_of_partition": people.numbers.delta_of_partition,
            "delta_of_table": people.numbers.delta_of_table,
            "noise_share": people.numbers.noise_share,
        }
    for epsilon in EPSILONS_COMPARED:
        prior = people.prior(median, as_written(epsilon))
        total = math.inf if prior is None else cells * float(prior.alpha)
        constants[f"noise_share_at_epsilon_{epsilon:g}"] = (
            1.0 if prior is None else noise_share(median, total)
        )
    return MechanismPlan(
        constants=constants,
        missing=missing,
        seconds=SECONDS_PER_SIZE * len(sizes) + SECONDS_PER_PERSON * n,
        bytes=BYTES_PER_PERSON * n + bytes_disclosed(context) * n,
        guarantees=()
        if missing
        else guarantees_of(context, people.numbers, parameters.epsilon, parameters.delta),
        warnings=warnings_of(people.numbers, parameters.epsilon) if is_drawn else (),
    )


def _bars(context: MechanismContext, parameters: DirichletMultinomial) -> tuple[Fault, ...]:
    people = _People.of(context, parameters)
    can_be = np.zeros(context.table.sizes[people.column], dtype=bool)
    can_be[people.domain] = True
    if can_be[people.shown[:, people.column]].all():
        return ()
    fault = Fault(
        "/mechanism/partition",
        "missing-drawn-values",
        f"Some records have no value of {people.name!r} that could be drawn: it is missing, or more general "
        "than the declared values.",
        "Leave these records out, or map missing values to a declared value of their own in the data.",
    )
    return (fault,)


def _draw(
    context: MechanismContext, parameters: DirichletMultinomial, bits: Bits
) -> Drawn[PublishedDirichletMultinomial]:
    reason = _supports(context, parameters)
    if reason is not None:
        raise NotSupported.because(reason)
    people = _People.of(context, parameters)
    refuse((*_missing(people), *_bars(context, parameters)))
    priors = [own for own in people.priors if own is not None]
    sizes, column = people.sizes[0], people.column
    order = np.argsort(people.partitions.inverse, kind="stable")
    of_size = np.searchsorted(sizes, people.partitions.counts)
    urns = Urns(
        people.partitions.counts,
        np.array([own.numerator for own in priors], dtype=np.int64)[of_size],
        np.array([own.scale for own in priors], dtype=np.int64)[of_size],
        len(people.domain),
    )
    cells = np.searchsorted(people.domain, people.shown[order, column]).astype(np.int32)
    columns = [people.shown[order, j] for j in range(context.table.n_attributes)]
    columns[column] = people.domain[urns.drawn(cells, bits)]
    published = PublishedDirichletMultinomial(
        attribute=people.name,
        partition=parameters.partition,
        epsilon=parameters.epsilon,
        delta=parameters.delta,
        certificate=parameters.certificate,
        cells=len(people.domain),
        sizes=tuple(sizes.tolist()),
        priors=tuple(float(own.alpha) for own in priors),
    )
    return Drawn(tuple(columns), published)


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
)
