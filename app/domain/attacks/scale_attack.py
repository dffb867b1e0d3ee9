"""Scale attack: the share of a group's most frequent value, from how often its values are repeated.

Sample, perturb, scale publishes the values of a sample in copies. Where the size of the sample follows from
the group's shares, as in Wang et al. (2012), algorithm 1, a reader who knows the parameters computes the size
from the copies, and the share from the size: better than from the values, and of large groups better than
from values that are perturbed without any sampling (Definitions: sizes of samples).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, doc

from app.domain.arrays import Bools, Floats, Longs
from app.domain.attacks.copy_patterns import chance_of_fitting, copy_factors, shares_of_sizes
from app.domain.attacks.shown_groups import (
    KnownAttributes,
    ShownGroups,
    generalised_values,
    known_attributes,
    shown_groups,
)
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import FROM_ZERO, LOW, LOW_ASIDE, SHARE
from app.domain.classes.grouping import SensitiveName
from app.domain.classes.reconstructed_shares import estimated_shares, variances
from app.domain.classes.reconstruction import Bound, Estimates, UniformReplacement
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.domain.classes.sensitive_counts import greatest_by_class
from app.domain.errors import InvalidInput, NotSupported
from app.domain.mechanisms.sample_perturb_scale import PublishedSamples
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick

SECONDS_PER_CELL: Final = 6e-8
SECONDS_PER_GROUP: Final = 2e-6

BY_CHANCE: Final = 0.5
"""Copies are read of counts that fewer such numbers than this, or larger ones, would be expected to fit by
chance: of groups that are not sampled about none is then read, of those that are nearly all that can be."""
UNTOLD: Final = (
    "The release was drawn when it was not published what sizes of samples follow from. Measure a later one."
)

Given = Annotated[float | None, Gt(0), Lt(1)]


@dataclass(frozen=True, kw_only=True)
class ScaleParameters:
    """Of what attribute, and, where nothing was drawn, what samples would follow from."""

    quasi_identifiers: KnownAttributes = None
    attribute: SensitiveName = None
    p: Annotated[
        Given, doc("Of records: with this probability a sampled value would be kept. null: as published.")
    ] = None
    epsilon: Annotated[
        float | None,
        Ge(1e-9),
        Le(1000),
        doc("Of records: what sizes of samples would follow from, with delta. null: as published."),
    ] = None
    delta: Annotated[Given, doc("See there.")] = None
    least_copies: Annotated[
        int,
        Ge(1),
        Le(10**6),
        doc("Nothing is read from fewer copies of a value: two or three may be chance."),
    ] = 3
    top: Annotated[int, Ge(1), Le(200), doc("Most groups to list.")] = 10


@dataclass(frozen=True)
class ShareRead:
    """What the copies of one group tell."""

    shows: Annotated[tuple[CellValue, ...], doc("What its rows show, in the order of `quasi_identifiers`.")]
    records: Annotated[int, doc("Its rows.")]
    copies: Annotated[int, doc("So often, or once more, the counts say, every sampled value is published.")]
    sample: Annotated[float, FROM_ZERO, doc("How large the sample then was, about.")]
    share: Annotated[float, SHARE, doc("The share of the most frequent value that this size follows from.")]
    estimated: Annotated[
        float | None, doc("The unbiased estimate of that share from the values; null of records.")
    ]
    truth: Annotated[
        float | None,
        SHARE,
        doc("The true share of the most frequent value; null where a rule generalised the groups."),
    ]


@dataclass(frozen=True)
class ScaleAttack:
    """What the copies of a release tell of its groups, beside its values."""

    attribute: Annotated[str, doc("The sensitive attribute.")]
    quasi_identifiers: Annotated[tuple[str, ...], doc("Attributes that rows were grouped by.")]
    mode: Annotated[str, doc("How large samples are; `paper` of records, of which it is what would be told.")]
    verdict: Annotated[str, doc("What the copies tell, in a sentence.")]
    groups: Annotated[int, doc("Groups larger than a sample of records of one value would be.")]
    groups_told: Annotated[
        int,
        LOW,
        doc(
            "Of these, groups whose counts fit a number of copies that they would rather not fit by chance, "
            "and whose values agree with what it tells."
        ),
    ]
    records_told: Annotated[int, LOW, doc("Rows in these groups.")]
    error_of_copies: Annotated[
        float | None,
        FROM_ZERO,
        LOW_ASIDE,
        doc(
            "Root of the mean square of (share − truth) / truth over these groups; null where not known. "
            "Nobody is safe because it is large: then too many copies were read."
        ),
    ]
    error_of_values: Annotated[
        float | None, FROM_ZERO, doc("The same of `estimated`; null where not known, and of records.")
    ]
    largest: Annotated[tuple[ShareRead, ...], doc("The groups told, the largest first.")]


@dataclass(frozen=True, eq=False)
class _Asked:
    """What sizes of samples follow from, and what was published."""

    question: ReconstructionQuestion
    bound: Bound
    published: PublishedSamples | None

    @classmethod
    def of(cls, context: MeasureContext, own: ScaleParameters, m: int) -> _Asked:
        """InvalidInput if something is missing, or given beside what is published."""
        published = None if context.drawn is None else context.drawn.published
        if not isinstance(published, PublishedSamples):
            p, epsilon, delta = (_present(own, name) for name in ("p", "epsilon", "delta"))
            return cls(
                ReconstructionQuestion(UniformReplacement(p, m), epsilon, delta), "chernoff_simple", None
            )
        for name in ("p", "epsilon", "delta"):
            if getattr(own, name) is not None:
                raise InvalidInput.of(
                    f"/measure/{name}",
                    "published",
                    f"The release says itself what {name} is.",
                    "Leave it out.",
                )
        if published.epsilon is None or published.delta is None or published.bound is None:
            raise NotSupported.because(UNTOLD)
        question = ReconstructionQuestion(published.uniform, published.epsilon, published.delta)
        return cls(question, published.bound, published)

    @property
    def mode(self) -> str:
        """Of records as published."""
        return "paper" if self.published is None else self.published.mode

    @property
    def least_limit(self) -> float:
        """s(1): the greatest sample of records that all have one value."""
        one = np.ones(1, dtype=np.int64)
        return float(self.limits(one, one)[0])

    @property
    def least_sample(self) -> int:
        """No larger group has fewer records sampled: ⌊s(1)⌋, and where coins decide three deviations less.

        Of each of m values one record more or less may be sampled.
        """
        chance = math.ceil(1.5 * math.sqrt(self.question.replacement.m)) if self.mode == "paper" else 0
        return max(1, math.floor(min(self.least_limit, 2.0**53)) - chance)

    def expected(self, shown: ShownGroups, group: int) -> Floats:
        """How many rows show each value: as they do, or of records, of all m values, would do in the mean."""
        counts, own = shown.counts, self.question.replacement
        entries = slice(*counts.starts[group : group + 2].tolist())
        if self.published is not None:
            return counts.counts[entries].astype(np.float64)
        found = np.full(own.m, counts.sizes[group] * own.elsewhere)
        found[counts.values[entries]] += counts.counts[entries] * own.p
        return found

    def are_told(self, shown: ShownGroups, groups: Longs, factors: Longs, most: Longs) -> Bools:
        """(k,) groups whose counts would hardly fit so many copies by chance, or more up to ``most``."""
        chances = [
            chance_of_fitting(self.expected(shown, *own[:1]), *own[1:])
            for own in zip(groups.tolist(), factors.tolist(), most.tolist(), strict=True)
        ]
        return np.array(chances, dtype=np.float64) < BY_CHANCE

    def limits(self, tops: Longs, sizes: Longs) -> Floats:
        """(k,) the greatest samples of groups with these most frequent values."""
        own = self.question
        return Estimates(tops, sizes, own.replacement, own.epsilon).greatest_sizes(self.bound, own.delta)


def _present(own: ScaleParameters, name: str) -> float:
    found = getattr(own, name)
    if found is None:
        raise InvalidInput.of(
            f"/measure/{name}",
            "missing",
            f"Of records nothing says what {name} would be.",
            f"Give {name}, or measure a release that sample_perturb_scale has drawn.",
        )
    return float(found)


@dataclass(frozen=True, eq=False)
class _Read:
    """What copies tell of some groups (k,), and how many there are that may be sampled."""

    n_large: int
    groups: Longs
    copies: Longs
    shares: Floats
    estimated: Floats | None
    truths: Floats | None


def _read(shown: ShownGroups, asked: _Asked, least_copies: int, truths: Floats | None) -> _Read:
    """The groups whose copies tell something; ``truths`` (G,)."""
    counts, question = shown.counts, asked.question
    tops, large = greatest_by_class(counts, counts.counts, 0), counts.sizes > asked.least_limit
    most = np.where(large, counts.sizes // asked.least_sample, 0)
    if asked.mode == "balanced_fixed":
        factors = np.zeros(len(most), dtype=np.int64)
    elif asked.published is None:
        limits = asked.limits(tops, counts.sizes)
        # Of less than one record there is hardly a sample: the group would be suppressed.
        is_cut = large & (counts.sizes > limits) & (limits >= 1)
        factors = np.where(is_cut, counts.sizes / np.where(is_cut, limits, 1.0), 0.0).astype(np.int64)
    else:
        factors = copy_factors(counts, most)
    groups = np.flatnonzero(factors >= least_copies)
    groups = groups[np.argsort(-counts.sizes[groups], kind="stable")]
    groups = groups[asked.are_told(shown, groups, factors[groups], most[groups])]
    samples = counts.sizes[groups] / (factors[groups] + 0.5)
    shares, estimated = shares_of_sizes(samples, question, asked.bound), None
    if asked.published is not None:
        estimated = estimated_shares(tops[groups], counts.sizes[groups], question.replacement)
        # Whether values agree with what copies tell, within three errors of so many sampled records. Beside
        # these copies tell sizes, and about as well shares, to one in 2·B + 1.
        errors = np.sqrt(variances(shares * samples, samples, question.replacement)) / samples
        is_near = np.abs(shares - estimated) <= 3 * errors + shares / (2 * factors[groups] + 1)
        groups, shares, estimated = groups[is_near], shares[is_near], estimated[is_near]
    return _Read(
        int(np.count_nonzero(large)),
        groups,
        factors[groups],
        shares,
        estimated,
        None if truths is None else truths[groups],
    )


def _compute(context: MeasureContext, parameters: ScaleParameters, tick: Tick) -> ScaleAttack:
    shown = shown_groups(context, parameters.attribute, parameters.quasi_identifiers)
    asked = _Asked.of(context, parameters, len(shown.labels))
    sizes = shown.counts.sizes
    if context.drawn is None:
        own = shown
    else:
        own = shown_groups(replace(context, drawn=None), shown.name, parameters.quasi_identifiers)
    tops = greatest_by_class(own.counts, own.counts.counts, 0) / own.counts.sizes
    place = {tuple(nodes): i for i, nodes in enumerate(own.nodes.tolist())}
    found = [place.get(tuple(nodes), -1) for nodes in shown.nodes.tolist()]
    read = _read(shown, asked, parameters.least_copies, None if -1 in found else np.asarray(tops[found]))
    tick(1)
    return ScaleAttack(
        attribute=shown.name,
        quasi_identifiers=shown.names,
        mode=asked.mode,
        verdict=_verdict(asked, read, int(sizes[read.groups].sum())),
        groups=read.n_large,
        groups_told=len(read.groups),
        records_told=int(sizes[read.groups].sum()),
        error_of_copies=_error(read.shares, read.truths),
        error_of_values=None if read.estimated is None else _error(read.estimated, read.truths),
        largest=tuple(
            ShareRead(
                shows=shown.shows(int(group)),
                records=int(sizes[group]),
                copies=int(read.copies[i]),
                sample=float(sizes[group] / (read.copies[i] + 0.5)),
                share=float(read.shares[i]),
                estimated=None if read.estimated is None else float(read.estimated[i]),
                truth=None if read.truths is None else float(read.truths[i]),
            )
            for i, group in enumerate(read.groups[: parameters.top].tolist())
        ),
    )


def _error(found: Floats, truths: Floats | None) -> float | None:
    """Root of the mean square of the relative error; None without a truth or a group."""
    if truths is None or not len(truths):
        return None
    return math.sqrt(float(((found / truths - 1.0) ** 2).mean()))


def _verdict(asked: _Asked, read: _Read, records: int) -> str:
    if asked.mode == "balanced_fixed":
        return (
            "Of every larger group as many records were sampled, whatever they show, and that number is "
            "published: copies tell nothing more."
        )
    if not len(read.groups):
        fit = "would fit" if asked.published is None else "fit"
        return (
            f"No group's counts {fit} a number of copies that counts of their size would not fit by chance "
            "as well: this reader learns nothing from them."
        )
    told = f"{len(read.groups):,} groups with {records:,} rows"
    if asked.published is None:
        return f"Sampled as published, {told} would have copies that tell their most frequent value's share."
    return f"The copies of {told} tell the share of their most frequent value by the sizes of samples."


def _supports(context: MeasureContext, parameters: ScaleParameters) -> str | None:
    published = None if context.drawn is None else context.drawn.published
    if isinstance(published, PublishedSamples) and published.epsilon is None:
        return UNTOLD
    _Asked.of(context, parameters, 2)
    known = known_attributes(context.table, parameters.quasi_identifiers)
    if context.drawn is not None and known != context.table.quasi_identifiers:
        # Rows that agree in fewer attributes are several samples.
        raise InvalidInput.of(
            "/measure/quasi_identifiers",
            "not-those-of-the-release",
            "Each sample is of rows that agree in all quasi-identifiers of the release.",
            "Leave quasi_identifiers out.",
        )
    return generalised_values(context, parameters.attribute)


def _cost(context: MeasureContext, parameters: ScaleParameters) -> Cost:
    table = context.table if context.drawn is None else context.drawn.table
    rows = table.n_records + context.table.n_records
    seconds = SECONDS_PER_CELL * rows * (table.n_attributes + 4) + SECONDS_PER_GROUP * table.reduced.size
    return Cost(seconds, 60 * rows + 200 * table.reduced.size, 1, "classes")


SCALE_ATTACK: Final = Measure(
    name="scale_attack",
    title="Scale attack: shares in groups from the copies of samples",
    source="Definitions: sizes of samples; of Wang et al. (2012), algorithm 1",
    guarantee="heuristic",
    parameters=ScaleParameters,
    result=ScaleAttack,
    cost=_cost,
    compute=_compute,
    supports=_supports,
    example=Example(
        "would the copies of samples tell the shares of large groups?",
        "proposal-copies",
        parameters={"p": 0.5, "epsilon": 1.0, "delta": 0.6, "quasi_identifiers": ("race",), "top": 3},
    ),
    protects=False,
    reads=frozenset({"records", "samples"}),
)
