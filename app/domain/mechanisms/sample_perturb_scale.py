"""Sample, perturb, scale: large groups are drawn from fewer records and published in copies of these.

Wang et al. (2012), algorithm 1, in two safer modes (Definitions: balanced samples). The copies tell how large
the sample was. Where that follows from the group's shares, as published, it tells these better than the
records do; ``balanced_fixed`` takes the same size of every large group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final, Literal

import numpy as np
from annotated_types import doc

from app.domain.arrays import Longs
from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.classes.reconstruction import Bound
from app.domain.classes.reconstruction_groups import GroupsUnderTest, ReconstructionQuestion
from app.domain.classes.released import Release
from app.domain.errors import Fault, NotSupported, refuse
from app.domain.mechanisms.balanced_samples import (
    balanced_sizes,
    copies,
    expanded,
    fixed_size,
    sampled_counts,
)
from app.domain.mechanisms.drawing import replaced
from app.domain.mechanisms.drawn_release import PublishedValues
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.mechanism import Bits, Drawn, Mechanism, MechanismContext, MechanismPlan
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.mechanisms.uniform_column import UniformColumn, UniformReplacementParameters, unfit
from app.domain.mechanisms.uniform_guarantees import guarantee_of_groups, warnings_of

SECONDS_PER_RECORD: Final = 1.2e-7
SECONDS_PER_ENTRY: Final = 3e-7
"""Of the counts of values in groups."""
BYTES_PER_RECORD: Final = 160
SampleMode = Literal["balanced_fixed", "balanced"]


@dataclass(frozen=True, kw_only=True)
class SamplePerturbScale(UniformReplacementParameters):
    """How values are replaced, and how many records of a group they are drawn for."""

    mode: Annotated[
        SampleMode,
        doc(
            "`balanced_fixed`: of every larger group as many records as are within the bound whatever they "
            "show. `balanced`: as many as its own shares allow, which the copies give away."
        ),
    ] = "balanced_fixed"
    bound: Annotated[
        Bound,
        doc("By which upper bound samples are small enough: the one of the source, or the tighter one."),
    ] = "chernoff_simple"


@dataclass(frozen=True, eq=False)
class PublishedSamples(PublishedValues):
    """What a reader needs to count: the values that may be drawn, p, and what depends on no data."""

    p: Annotated[
        float, doc("With this probability a sampled value is kept by the coin; else each is as likely.")
    ]
    mode: Annotated[SampleMode, doc("How large samples are.")]
    sample_size: Annotated[
        int | None,
        doc("Of larger groups so many records were drawn, and published in copies; null: not told."),
    ]

    @cached_property
    def replacement(self) -> TransitionMatrix:
        """The matrix by which each sampled value was replaced: those published are copies of these."""
        return TransitionMatrix(np.full(len(self.values), self.p))


@dataclass(frozen=True, eq=False)
class _Samples:
    """The groups and how many records of each are drawn."""

    column: UniformColumn
    parameters: SamplePerturbScale

    @cached_property
    def question(self) -> ReconstructionQuestion:
        own = self.parameters
        return ReconstructionQuestion(self.column.replacement, own.epsilon, own.delta)

    @cached_property
    def fixed(self) -> int:
        return fixed_size(self.question, self.parameters.bound)

    @cached_property
    def sizes(self) -> Longs:
        """(G,) records to draw of each group, 0 for one that is suppressed."""
        groups = self.column.counts
        if self.parameters.mode == "balanced_fixed":
            return np.minimum(groups.sizes, self.fixed)
        tops = GroupsUnderTest(groups, self.question).tops
        return balanced_sizes(tops, groups.sizes, self.question, self.parameters.bound)

    def missing(self) -> tuple[Fault, ...]:
        """What is in the way of a draw."""
        above = self.column.above_cap()
        if above or self.sizes.any():
            return above
        own = self.parameters
        fault = Fault(
            "/mechanism/p",
            "sample-below-one",
            f"With p = {own.p:.9g}, epsilon = {own.epsilon:.9g} and delta = {own.delta:.9g} not even a group "
            f"of one record is within {own.bound}: every group would be suppressed.",
            "Give a smaller p, epsilon or delta.",
        )
        return (fault,)

    @property
    def suppressed(self) -> tuple[int, int]:
        """Groups that are suppressed, and their records."""
        gone = self.sizes == 0
        return int(np.count_nonzero(gone)), int(self.column.counts.sizes[gone].sum())


def _supports(context: MechanismContext, parameters: SamplePerturbScale) -> str | None:
    reason = unfit(context, parameters)
    if reason is not None:
        return reason
    release = Release(context.table)
    own = release.sensitive(parameters.attribute, "/mechanism/attribute")
    others = release.other_sensitive(own)
    if others:
        return (
            f"Records are published in copies, and beside {own!r} the dataset has sensitive attributes of "
            f"its own: {', '.join(others)}. Leave these out of the dataset, or use uniform_perturbation."
        )
    return None


def _plan(context: MechanismContext, parameters: SamplePerturbScale) -> MechanismPlan:
    samples = _Samples(UniformColumn.of(context, parameters), parameters)
    missing, n = samples.missing(), context.table.n_records
    return MechanismPlan(
        constants=_constants(samples, bool(missing)),
        missing=missing,
        seconds=SECONDS_PER_RECORD * n + SECONDS_PER_ENTRY * len(samples.column.counts.values),
        bytes=BYTES_PER_RECORD * n,
        guarantees=() if missing else (_guarantee(samples),),
        warnings=_warnings(samples),
    )


def _constants(samples: _Samples, infeasible: bool) -> dict[str, float]:
    column, groups = samples.column, samples.column.counts
    constants: dict[str, float] = {
        "values": column.m,
        "p_cap": column.parameters.cap(column.m),
        "gamma": column.replacement.amplification,
        "sample_size_whatever_is_shown": samples.fixed,
        "groups": groups.n_classes,
    }
    if infeasible:
        return constants
    is_cut = (samples.sizes > 0) & (samples.sizes < groups.sizes)
    gone, records_gone = samples.suppressed
    return constants | {
        "groups_sampled": int(np.count_nonzero(is_cut)),
        "records_of_groups_sampled": int(groups.sizes[is_cut].sum()),
        "groups_suppressed": gone,
        "records_suppressed": records_gone,
    }


def _warnings(samples: _Samples) -> tuple[str, ...]:
    own, found = samples.parameters, list(warnings_of(samples.column))
    found.append(
        "Values are published in copies: records are no independent draws, and a count over them has a "
        "larger error than as many records of a plain perturbation."
    )
    gone, records = samples.suppressed
    if gone:
        found.append(
            f"{gone:,} groups with {records:,} records are suppressed: no sample of them is small enough."
        )
    if own.mode == "balanced":
        found.append(
            "How often values are repeated tells how large a group's sample was, and that follows from its "
            "shares: a reader may compute them better than from the values. Choose balanced_fixed."
        )
    return tuple(found)


def _guarantee(samples: _Samples) -> PrivacyGuarantee:
    column, own = samples.column, samples.parameters
    is_fixed = own.mode == "balanced_fixed"
    return guarantee_of_groups(
        column,
        own.bound,
        f"By {own.bound}, whatever sample is drawn of a group, an upper bound of the probability that "
        f"the estimate of the share of a {column.attribute!r} in it is off by more than "
        f"{own.epsilon:.6g} of it is at least {own.delta:.6g}. This says nothing of the "
        "probability itself.",
        "certified" if is_fixed else "heuristic",
        (
            Hypothesis(
                "samples_within_bound",
                "yes",
                "The largest share that any rounding of a sample can have was computed of every group.",
            ),
            Hypothesis(
                "sizes_tell_nothing",
                "yes" if is_fixed else "assumed",
                "Of every larger group as many records are drawn, whatever they show."
                if is_fixed
                else "Readers are taken not to infer from repeated values how large a sample was.",
            ),
        ),
        "Wang et al. (2012), theorem 5.16, claims it of samples of random size, which may be above the "
        "bound, and whose sizes tell the shares (Definitions: balanced samples).",
    )


def _draw(context: MechanismContext, parameters: SamplePerturbScale, bits: Bits) -> Drawn[PublishedSamples]:
    reason = _supports(context, parameters)
    if reason is not None:
        raise NotSupported.because(reason)
    column = UniformColumn.of(context, parameters)
    samples = _Samples(column, parameters)
    refuse(samples.missing())
    groups, sizes = column.counts, samples.sizes
    owners, values = expanded(groups, sampled_counts(groups, sizes, bits))
    drawn = replaced(values, TransitionMatrix(np.full(column.m, parameters.p)), bits)
    published = np.repeat(drawn, copies(owners, groups.sizes, sizes, bits))
    # The rows of each group, one group after another as the drawn values are; suppressed groups have none.
    rows = np.argsort(column.of_record, kind="stable")
    rows = rows[sizes[column.of_record[rows]] > 0]
    columns = [column.shown[rows, j] for j in range(column.shown.shape[1])]
    columns[column.column] = column.leaves.take(published).astype(np.int32)
    is_fixed = parameters.mode == "balanced_fixed"
    told = PublishedSamples(
        column.attribute, column.values, parameters.p, parameters.mode, samples.fixed if is_fixed else None
    )
    return Drawn(tuple(columns), told)


SAMPLE_PERTURB_SCALE: Final = Mechanism(
    name="sample_perturb_scale",
    title="Sample, perturb, scale: values of large groups drawn from fewer records, and copied",
    source="Wang et al. (2012), algorithm 1, with exact totals (Definitions: balanced samples)",
    family="sample",
    parameters=SamplePerturbScale,
    published=PublishedSamples,
    supports=_supports,
    plan=_plan,
    draw=_draw,
    keeps_records=False,
)
