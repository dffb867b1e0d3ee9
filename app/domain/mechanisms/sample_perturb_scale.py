"""Sample, perturb, scale: large groups are drawn from fewer records and published in copies of these.

Wang et al. (2012), algorithm 1, as published and in two safer modes (Definitions: balanced samples). The
copies tell how large the sample was. Where that follows from the group's shares, as published, it tells these
better than the records do; ``balanced_fixed`` takes the same size of every large group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.catalogue.catalogue_types import ADDED_LATER
from app.domain.classes.reconstruction import Bound, Estimates, greatest_retention
from app.domain.classes.reconstruction_groups import GroupsUnderTest, ReconstructionQuestion
from app.domain.classes.released import Release
from app.domain.errors import Fault, InvalidInput, NotSupported, refuse
from app.domain.mechanisms.balanced_samples import (
    balanced_sizes,
    copies,
    expanded,
    fixed_size,
    sampled_counts,
)
from app.domain.mechanisms.coin_samples import (
    chances_of_nothing,
    coin_copies,
    coin_limits,
    coin_sampled_counts,
)
from app.domain.mechanisms.drawing import replaced
from app.domain.mechanisms.drawn_release import PublishedRetention
from app.domain.mechanisms.mechanism import Bits, Drawn, Mechanism, MechanismContext, MechanismPlan
from app.domain.mechanisms.plan_constants import SAMPLE_CONSTANTS
from app.domain.mechanisms.sample_guarantees import (
    KNOWN_LEAK,
    SampleMode,
    guarantee_of_samples,
    warnings_of_samples,
)
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.mechanisms.uniform_column import UniformColumn, UniformReplacementParameters, unfit
from app.domain.mechanisms.uniform_guarantees import RECONSTRUCTION_BOUND
from app.domain.tables.distinct import one_of_each
from app.domain.tables.numbers import rounded_down

SECONDS_PER_RECORD: Final = 1.2e-7
SECONDS_PER_ENTRY: Final = 3e-7
"""Of the counts of values in groups."""
BYTES_PER_RECORD: Final = 160


@dataclass(frozen=True, kw_only=True)
class SamplePerturbScale(UniformReplacementParameters):
    """How values are replaced, and how many records of a group they are drawn for."""

    mode: Annotated[
        SampleMode,
        doc(
            "`balanced_fixed`: of every larger group as many records as are within the bound whatever they "
            "show. `balanced`: as many as its own shares allow, which the copies give away. `paper`: as "
            "published, with samples of random size that may be above the bound and give the shares away, to "
            "compare with; needs `accept_known_leak`."
        ),
    ] = "balanced_fixed"
    bound: Annotated[
        Bound,
        doc("By which upper bound samples are small enough: the one of the source, or the tighter one."),
    ] = "chernoff_simple"
    accept_known_leak: Annotated[
        bool,
        ADDED_LATER,
        doc(
            "Draw with the mode `paper`, though its copies tell a group's shares better than plain "
            "perturbation does. Needs the scope `govern`."
        ),
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.accept_known_leak and self.mode != "paper":
            raise InvalidInput.of(
                "/accept_known_leak",
                "not-of-mode",
                f"The mode {self.mode} has no leak that is to be accepted.",
                "Leave accept_known_leak out.",
            )


@dataclass(frozen=True, eq=False)
class PublishedSamples(PublishedRetention):
    """What a reader needs to count: the values that may be drawn, p, and what sizes of samples follow from.

    No size of a sample that depends on data.
    """

    mode: Annotated[SampleMode, doc("How large samples are.")]
    sample_size: Annotated[
        int | None,
        doc("Of larger groups so many records were drawn, and published in copies; null: not told."),
    ]
    groups_suppressed: Annotated[
        int | None,
        doc(
            "Of the mode `paper`: groups of which by chance no record was sampled, so that none is "
            "published; null: the plan counts them."
        ),
    ] = None
    epsilon: Annotated[
        float | None, doc("What sizes of samples follow from, with delta and the bound; null: not told.")
    ] = None
    delta: Annotated[float | None, doc("See there.")] = None
    bound: Annotated[Bound | None, doc("See there.")] = None

    @property
    def keeps_sizes(self) -> bool:
        """Whether as many records are published of each group as it has: no group may be suppressed."""
        return self.mode == "balanced_fixed"


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
    def _tops(self) -> Longs:
        return GroupsUnderTest(self.column.counts, self.question).tops

    @cached_property
    def limits(self) -> Floats:
        """(G,) as published: the real number of records to draw of each group, ∞ of one within its bound."""
        return coin_limits(self._tops, self.column.counts.sizes, self.question, self.parameters.bound)

    @cached_property
    def sizes(self) -> Longs:
        """(G,) records to draw of each group, 0 for one that is suppressed; of a mode that rounds exactly."""
        groups = self.column.counts
        if self.parameters.mode == "balanced_fixed":
            return np.minimum(groups.sizes, self.fixed)
        return balanced_sizes(self._tops, groups.sizes, self.question, self.parameters.bound)

    @property
    def is_by_coins(self) -> bool:
        """Whether sizes of samples are chance."""
        return self.parameters.mode == "paper"

    @property
    def is_cut(self) -> Bools:
        """(G,) groups of which fewer records are drawn than they have, but some."""
        sizes = self.column.counts.sizes
        return np.isfinite(self.limits) if self.is_by_coins else (self.sizes > 0) & (self.sizes < sizes)

    def sampled(self, bits: Bits) -> tuple[Longs, Ints]:
        """(s,) group and value of each record of the samples, groups ascending."""
        groups = self.column.counts
        if self.is_by_coins:
            return expanded(groups, coin_sampled_counts(groups, self.limits, bits))
        return expanded(groups, sampled_counts(groups, self.sizes, bits))

    def copies(self, owners: Longs, bits: Bits) -> Longs:
        """(s,) how often each record of the samples is published; ``owners`` (s,) are their groups."""
        sizes = self.column.counts.sizes
        if self.is_by_coins:
            return coin_copies(owners, sizes, bits)
        return copies(owners, sizes, self.sizes, bits)

    def missing(self) -> tuple[Fault, ...]:
        """What is in the way of a draw."""
        own, above = self.parameters, self.column.above_cap()
        if self.is_by_coins and not own.accept_known_leak:
            leak = Fault(
                "/mechanism/accept_known_leak",
                "known-leak",
                f"The mode paper is drawn as published, to compare with. {KNOWN_LEAK}",
                "Choose balanced_fixed; or, with the scope govern, set accept_known_leak.",
            )
            return (*above, leak)
        if above or self._is_sure_of_rows:
            return above
        size, p = self.least
        why = (
            "of no group a record is sure to be sampled: nothing at all might be published"
            if self.is_by_coins
            else f"not even a group of one record is within {own.bound}: every group would be suppressed"
        )
        fault = Fault(
            "/mechanism/p",
            "sample-below-one",
            f"With p = {own.p:.9g}, epsilon = {own.epsilon:.9g} and delta = {own.delta:.9g} {why}. Of "
            f"records with one value a sample may have {size:.4g}.",
            f"Give p of at most {p}, by which it may have one record; or a smaller epsilon or delta.",
        )
        return (fault,)

    @cached_property
    def least(self) -> tuple[float, str]:
        """The bound on samples of records that all have one value, and the p up to which it is one record.

        A bound falls as a value grows more frequent, so that no sample of other records is bound to fewer.
        """
        own, one = self.parameters, np.ones(1, dtype=np.int64)
        found = Estimates(one, one, self.column.replacement, own.epsilon).greatest_sizes(own.bound, own.delta)
        p = greatest_retention(own.bound, one, one, self.column.m, own.epsilon, own.delta)
        return float(found[0]), rounded_down(p)

    @property
    def suppressed(self) -> tuple[float, float]:
        """Groups that are suppressed, and their records; about how many to expect where that is chance."""
        groups = self.column.counts
        if self.is_by_coins:
            gone = chances_of_nothing(groups, self.limits)
            return _to_one_digit(float(gone.sum())), _to_one_digit(float(groups.sizes @ gone))
        is_gone = self.sizes == 0
        return float(np.count_nonzero(is_gone)), float(groups.sizes[is_gone].sum())

    @property
    def _is_sure_of_rows(self) -> bool:
        """Whether something is published whatever comes of the draw."""
        if self.is_by_coins:
            return bool((chances_of_nothing(self.column.counts, self.limits) == 0).any())
        return bool(self.sizes.any())


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
    samples, mode = _Samples(UniformColumn.of(context, parameters), parameters), parameters.mode
    missing, n = samples.missing(), context.table.n_records
    return MechanismPlan(
        constants=_constants(samples, bool(missing)),
        missing=missing,
        seconds=SECONDS_PER_RECORD * n + SECONDS_PER_ENTRY * len(samples.column.counts.values),
        bytes=BYTES_PER_RECORD * n,
        guarantees=() if missing else (guarantee_of_samples(samples.column, mode, parameters.bound),),
        warnings=tuple(warnings_of_samples(samples.column, mode, samples.fixed, samples.least)),
    )


def _constants(samples: _Samples, infeasible: bool) -> dict[str, float]:
    column, groups = samples.column, samples.column.counts
    constants = column.constants | {"sample_size_whatever_is_shown": samples.fixed}
    if infeasible:
        return constants
    is_cut, (gone, records_gone) = samples.is_cut, samples.suppressed
    return constants | {
        "groups_sampled": int(np.count_nonzero(is_cut)),
        "records_of_groups_sampled": int(groups.sizes[is_cut].sum()),
        "groups_suppressed": gone,
        "records_suppressed": records_gone,
    }


def _to_one_digit(expected: float) -> float:
    """Whole: more digits of an expectation would tell the shares that it follows from."""
    return 0.0 if expected < 0.5 else float(f"{expected:.0e}")


def _draw(context: MechanismContext, parameters: SamplePerturbScale, bits: Bits) -> Drawn[PublishedSamples]:
    reason = _supports(context, parameters)
    if reason is not None:
        raise NotSupported.because(reason)
    column = UniformColumn.of(context, parameters)
    samples = _Samples(column, parameters)
    refuse(samples.missing())
    owners, values = samples.sampled(bits)
    drawn = replaced(values, TransitionMatrix(np.full(column.m, parameters.p)), bits)
    times = samples.copies(owners, bits)
    published = np.repeat(drawn, times)
    # Records of a group are alike in all that is not drawn, so that one of each stands for them.
    rows = one_of_each(column.of_record, column.counts.n_classes)[np.repeat(owners, times)]
    columns = [column.shown[rows, j] for j in range(column.shown.shape[1])]
    columns[column.column] = column.leaves.take(published).astype(np.int32)
    told = PublishedSamples(
        column.attribute,
        column.values,
        parameters.p,
        parameters.mode,
        samples.fixed if parameters.mode == "balanced_fixed" else None,
        column.counts.n_classes - len(np.unique(owners)) if samples.is_by_coins else None,
        parameters.epsilon,
        parameters.delta,
        parameters.bound,
    )
    return Drawn(tuple(columns), told)


SAMPLE_PERTURB_SCALE: Final = Mechanism(
    name="sample_perturb_scale",
    title="Sample, perturb, scale: values of large groups drawn from fewer records, and copied",
    source=(
        "Wang et al. (2012), algorithm 1, with exact totals (Definitions: balanced samples) or as published"
    ),
    family="sample",
    parameters=SamplePerturbScale,
    published=PublishedSamples,
    guarantees=(RECONSTRUCTION_BOUND,),
    constants=SAMPLE_CONSTANTS,
    supports=_supports,
    plan=_plan,
    draw=_draw,
    keeps_records=False,
    accepts_leak=lambda parameters: parameters.accept_known_leak,
)
