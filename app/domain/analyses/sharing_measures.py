"""Sharing in a network of people: how far an item leaks, what a plan costs, which is best, what to show whom.

People are the records of the measured dataset, by its identifier. Edges, plans, pairs, trust and interests
are further datasets that name them; edges may name people without a profile.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Len, MaxLen, doc

from app.domain.arrays import Bools, Floats, Integers, Longs, greatest_first
from app.domain.catalogue.catalogue_types import CellValue, ColumnName, DatasetRef
from app.domain.catalogue.meanings import FROM_ZERO, LOW_AMOUNT
from app.domain.errors import InvalidInput, counted, pointing_into
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.networks import plans
from app.domain.networks.common_friends import common_friends, shared_friends
from app.domain.networks.diffusion import MOST_REACH, Kernel, spread
from app.domain.networks.graph import Graph, graph_of_edges, rows_named
from app.domain.networks.trust import Decreasing, TrustRule, agreement, risk_weights, with_entries
from app.domain.search.recommendations import (
    MOST_ANSWERS,
    Invitations,
    PublishedObjective,
    Recommendation,
    enumerated,
    recommendation_of,
    recommendations,
)
from app.domain.tables.table import Table, unknown_attribute

SECONDS_PER_ROW: Final = 1e-6
SECONDS_PER_PRODUCT: Final = 1e-8
BYTES_PER_ROW: Final = 150
MOST_NEIGHBOURS: Final = 60
SECONDS_PER_INVITATION: Final = 2e-3
SECONDS_PER_ANSWER: Final = 1e-6
_WARNING: Final = (
    "The published objective discloses the more, the fewer friends are in common, and everything to "
    "strangers: it is no recommendation. Give a risk_cap for one."
)
SKIP = Annotated[int, Ge(0), Le(1_000_000_000), doc("Rows left out before the first one listed.")]


@dataclass(frozen=True, kw_only=True)
class EdgeParameters:
    """Who is linked with whom."""

    source: Annotated[ColumnName, doc("Column of the person who shares, in all further datasets.")]
    target: Annotated[ColumnName, doc("Column of the person who receives, in all further datasets.")]
    directed: Annotated[bool, doc("Whether edges lead one way only.")] = False
    edges: Annotated[DatasetRef | None, doc("A row per edge; null: trust needs none.")] = None
    most: Annotated[int, Ge(1), Le(100_000), doc("How many rows are listed.")] = 100


@dataclass(frozen=True, kw_only=True)
class NetworkParameters(EdgeParameters):
    """Who is linked with whom, and who trusts whom."""

    weight: Annotated[ColumnName | None, doc("Column of the edges' weights; null: 1 each.")] = None
    trust: Annotated[TrustRule, doc("0, agreement (1 or −1), or the friends in common.")] = "unknown"
    trust_attributes: Annotated[tuple[ColumnName, ...], MaxLen(100), doc("Attributes that must agree.")] = ()
    trust_table: Annotated[DatasetRef | None, doc("Trust as users state it, which replaces others.")] = None
    trust_column: Annotated[ColumnName, doc("Column of `trust_table` with the trust.")] = "trust"
    decreasing: Annotated[
        Decreasing, doc("How risk falls with trust T: linear (1 − T)/2, exp(−T), or reciprocal 1/(1 + T).")
    ] = "linear"


@dataclass(frozen=True, kw_only=True)
class DiffusionParameters(NetworkParameters):
    """Whose item spreads, and how."""

    owner: Annotated[CellValue, Len(1, 1_000), doc("The owner's identifier; needs the scope `data:read`.")]
    item_sensitivity: Annotated[float, Ge(0), Le(1e12), doc("Φ of the item.")] = 1.0
    kernel: Annotated[Kernel, doc("How it spreads: see the measure's page.")] = "random_walk"
    time: Annotated[float, Ge(0), Le(1_000), doc("Time of the kernels random_walk and laplacian.")] = 1.0
    steps: Annotated[int, Ge(0), Le(1_000), doc("Steps of the kernel steps.")] = 1
    is_leakage: Annotated[bool, doc("Whether the weights of a person must sum to 1, not be scaled.")] = False


@dataclass(frozen=True, kw_only=True)
class InterestParameters(NetworkParameters):
    """By what interests utility counts."""

    interests: Annotated[DatasetRef | None, doc("What a level is worth to each; null: 1 to all.")] = None
    as_printed: Annotated[bool, doc("Count utility by the interests of the owner, as printed.")] = False


@dataclass(frozen=True, kw_only=True)
class SharingParameters(InterestParameters):
    """Which plan is scored."""

    plan: Annotated[DatasetRef, doc("A row per pair, and columns of levels, named as the attributes.")]


@dataclass(frozen=True, kw_only=True)
class PlanParameters(InterestParameters):
    """Which problem a plan has to solve: one of λ, the cap and the floor."""

    pairs: Annotated[DatasetRef | None, doc("A row per pair that may share; null: along all edges.")] = None
    trade_off: Annotated[float | None, Ge(0), Le(1e12), doc("λ: least loss − λ · utility.")] = None
    loss_cap: Annotated[float | None, Ge(0), Le(1e100), doc("Greatest utility of at most this loss.")] = None
    utility_floor: Annotated[float | None, Ge(0), Le(1e100), doc("Least loss of this utility.")] = None
    method: Annotated[plans.Method, doc("greedy, with a bound, or exact: up to 200,000 cells.")] = "greedy"
    skip: SKIP = 0


@dataclass(frozen=True, kw_only=True)
class InvitationParameters(EdgeParameters):
    """Who is invited by whom, and what risk is taken."""

    pairs: Annotated[DatasetRef, doc("A row per invitation: the source is invited by the target.")]
    risk_cap: Annotated[
        float | None, Ge(0), Le(1e12), doc("Greatest Φ/ξ of what is shown, of the greatest utility.")
    ] = None
    published_trade_off: Annotated[
        float | None,
        Gt(0),
        Le(1e12),
        doc("λ of the published objective λξ/Φ + u^κ, which is no recommendation."),
    ] = None
    published_exponent: Annotated[int, Ge(0), Le(10), doc("κ of the published objective.")] = 1
    consistent_in: Annotated[
        Literal["all", "any"],
        doc("Attributes in which friends must be consistent; any: small profiles only."),
    ] = "all"
    skip: SKIP = 0


@dataclass(frozen=True)
class RecipientRisk:
    """What an item does at one recipient."""

    id: Annotated[CellValue, doc("The recipient.")]
    risk: Annotated[float, LOW_AMOUNT, doc("Risk of giving the item to this person.")]
    exposure: Annotated[float, doc("The quantity that the paper prints, which grows with trust.")]
    trust: Annotated[float, doc("Trust of the owner in this person.")]


@dataclass(frozen=True)
class Neighbour:
    """A friend of the owner, or a friend of one."""

    id: Annotated[CellValue, doc("The person.")]
    distance: Annotated[int, doc("1 for those to whom an edge leads from the owner, 2 for their friends.")]
    risk: Annotated[float, LOW_AMOUNT, doc("Risk of giving the item to this person.")]
    trust: Annotated[float, doc("Trust of the owner in this person.")]
    friends: Annotated[tuple[CellValue, ...], doc("Others of this list to whom edges lead.")]


@dataclass(frozen=True)
class DiffusionRisk:
    """Risk of an item of one owner at every recipient."""

    people: Annotated[int, doc("People of the network.")]
    without_profile: Annotated[int, doc("People whom only edges name.")]
    without_edges: Annotated[int, doc("People whom no edge names.")]
    edges: Annotated[int, doc("Edges, loops and repeated ones left out.")]
    loops: Annotated[int, doc("Edges from a person to the same one.")]
    repeated: Annotated[int, doc("Edges that were given before.")]
    risk_kept: Annotated[float, LOW_AMOUNT, doc("Risk while only the owner has the item.")]
    mean: Annotated[float, LOW_AMOUNT, doc("Mean risk over all recipients.")]
    truncation_error: Annotated[float, FROM_ZERO, doc("Bound on the error of cutting a series off.")]
    recipients: Annotated[tuple[RecipientRisk, ...], doc("The riskiest recipients, in descending order.")]
    neighbourhood: Annotated[
        tuple[Neighbour, ...],
        doc("The riskiest friends of the owner, then of their friends; up to 60 people."),
    ]
    neighbours_left_out: Annotated[int, doc("Friends of the owner, and of friends, who are not listed.")]


@dataclass(frozen=True)
class AttributeSharing:
    """What is shared of one attribute."""

    attribute: Annotated[str, doc("The attribute.")]
    height: Annotated[int, doc("Its greatest level, at which everything is shown.")]
    loss: Annotated[float, LOW_AMOUNT, doc("Loss of all owners.")]
    utility: Annotated[float, FROM_ZERO, doc("Utility of all people.")]


@dataclass(frozen=True)
class PersonSharing:
    """What sharing does to one person."""

    id: Annotated[CellValue, doc("The person.")]
    loss: Annotated[float, LOW_AMOUNT, doc("Loss by what the person shows.")]
    utility: Annotated[float, FROM_ZERO, doc("Utility by what the person sees.")]


@dataclass(frozen=True)
class SharingLoss:
    """Loss and utility of a sharing plan."""

    pairs: Annotated[int, doc("Pairs of two people in the plan.")]
    with_oneself: Annotated[int, doc("Rows of one person twice, which are left out.")]
    loss: Annotated[float, LOW_AMOUNT, doc("L, over all owners.")]
    utility: Annotated[float, FROM_ZERO, doc("U, over all people.")]
    attributes: Annotated[tuple[AttributeSharing, ...], doc("Each attribute of the plan.")]
    people: Annotated[tuple[PersonSharing, ...], doc("People of the greatest losses, in descending order.")]


@dataclass(frozen=True)
class PlannedPair:
    """What one person shows another."""

    source: Annotated[CellValue, doc("Who shares.")]
    target: Annotated[CellValue, doc("Who sees it.")]
    levels: Annotated[Mapping[str, int], doc("Attribute → level; 0 shows nothing.")]


@dataclass(frozen=True)
class SharingPlan:
    """A plan of who sees what, and what it costs and brings."""

    pairs: Annotated[int, doc("Pairs of two people who may share.")]
    sharing: Annotated[int, doc("Pairs that share something.")]
    loss: Annotated[float, LOW_AMOUNT, doc("L, over all owners.")]
    utility: Annotated[float, FROM_ZERO, doc("U, over all people.")]
    bound: Annotated[float, doc("No plan has a better L − λU, U or L, whichever was asked for.")]
    is_optimal: Annotated[bool, doc("Whether the bound proves the plan optimal.")]
    plan: Annotated[tuple[PlannedPair, ...], doc("Pairs that share something, by owner and recipient.")]


@dataclass(frozen=True)
class Answer:
    """The answer to one invitation."""

    person: Annotated[CellValue, doc("Who is invited.")]
    inviter: Annotated[CellValue, doc("Who would see what is shown.")]
    recommendation: Annotated[Recommendation, doc("What to show.")]


@dataclass(frozen=True)
class Answers:
    """What to show in answer to invitations."""

    invitations: Annotated[int, doc("Pairs of two people, each once.")]
    repeated: Annotated[int, doc("Further rows: pairs given before, and one person twice.")]
    accepted: Annotated[int, doc("Invitations to accept.")]
    unproven: Annotated[int, doc("Invitations to which something more useful may exist.")]
    attributes: Annotated[tuple[str, ...], doc("What the levels are of.")]
    answers: Annotated[tuple[Answer, ...], doc("The answers, in the order of people and inviters.")]
    warning: Annotated[str | None, doc("What speaks against following them.")] = None


class _Network:
    """The people by number, those with profiles first, and what further datasets say of them."""

    def __init__(self, context: MeasureContext, asked: EdgeParameters) -> None:
        if context.table.entity_ids is None:
            words = "The dataset of profiles declares no identifier, by which others could name people."
            raise InvalidInput.of("/dataset", "no-identifier", words, "Give a column the role identifier.")
        self.context, self.asked = context, asked
        self.number = {str(person): i for i, person in enumerate(context.table.entity_ids.tolist())}
        self.graph: Graph | None = None
        if asked.edges is not None:
            table, sources, targets = self.pairs(asked.edges, "edges")
            column = asked.weight if isinstance(asked, NetworkParameters) else None
            weights = None if column is None else _numbers(table, column, "weight")
            self.graph = graph_of_edges(len(self.number), sources, targets, weights, asked.directed)

    def pairs(self, dataset: DatasetRef, field: str) -> tuple[Table, Longs, Longs]:
        """A further dataset and the two people of each row; edges add those who are not known yet."""
        table, ends = self.context.others[dataset].table, []
        is_header = np.ones(table.n_records, dtype=bool)
        for place in ("source", "target"):
            name = getattr(self.asked, place)
            codes, labels = _column(table, name, place)
            number = np.full(len(labels), -1, dtype=np.int64)
            for node in np.unique(codes[codes > 0]).tolist():
                if field == "edges":
                    self.number.setdefault(labels[node], len(self.number))
                number[node] = self.number.get(labels[node], -1)
            ends.append(number[codes])
            is_header &= np.array([label == name for label in labels])[codes]
        _refuse_rows(is_header, field, "header-row", "repeat the names of the columns")
        _refuse_rows((ends[0] < 0) | (ends[1] < 0), field, "unknown-person", "name nobody who is known")
        return table, ends[0], ends[1]

    def distinct_pairs(self, dataset: DatasetRef) -> tuple[Longs, Longs, int]:
        """The pairs of two people in a dataset, ascending, and how many of its rows add none."""
        table, first, second = self.pairs(dataset, "pairs")
        n = len(self.number)
        first, second = np.divmod(np.unique((first * n + second)[first != second]), n)
        return first, second, table.n_records - len(first)

    def linked(self) -> Graph:
        """The network; InvalidInput without edges."""
        if self.graph is None:
            raise InvalidInput.of("/edges", "missing", "This needs edges.", "Name a dataset of them.")
        return self.graph

    def trust(self, asked: NetworkParameters, owners: Longs, others: Longs) -> Floats:
        """Trust of the first of each pair in the second, (p,)."""
        table, n = self.context.table, len(self.number)
        trust = np.zeros(len(others))
        if asked.trust == "attributes":
            if not asked.trust_attributes:
                raise InvalidInput.of("/trust_attributes", "missing", "No attribute is named.", "Name some.")
            codes = np.zeros((n, len(asked.trust_attributes)), dtype=np.int32)
            for k, name in enumerate(asked.trust_attributes):
                codes[: table.n_records, k] = _column(table, name, "trust_attributes")[0]
            trust = agreement(codes, owners, others)
        if asked.trust == "common_friends":
            trust = common_friends(self.linked(), owners, others).astype(np.float64)
        if asked.trust_table is None:
            return trust
        stated, sources, targets = self.pairs(asked.trust_table, "trust_table")
        values = _numbers(stated, asked.trust_column, "trust_column")
        return with_entries(trust, owners * n + others, sources * n + targets, values)


def _column(table: Table, name: str, field: str) -> tuple[Longs, tuple[str, ...]]:
    """The codes of a column and their labels; InvalidInput at the field that names it."""
    if name not in table.attributes:
        raise InvalidInput([unknown_attribute(f"/{field}", name, table)])
    j = table.position(name)
    return table.codes[:, j].astype(np.int64), table.hierarchies[j].labels


def _numbers(table: Table, name: str, field: str) -> Floats:
    """A column's cells as finite numbers."""
    codes, labels = _column(table, name, field)
    values = np.full(len(labels), np.nan)
    for node in np.unique(codes[codes > 0]).tolist():
        with suppress(ValueError):
            values[node] = float(labels[node])
    _refuse_rows(~np.isfinite(values[codes]), field, "not-a-number", f"hold no finite number in {name!r}")
    return values[codes]


def _refuse_rows(bad: Bools, field: str, code: str, what: str) -> None:
    if bad.any():
        rows = np.flatnonzero(bad)
        words = f"Of the dataset, {counted(len(rows), 'row')} {what} ({rows_named(rows)})."
        raise InvalidInput.of(f"/{field}", code, words, "Correct these rows, or leave them out.")


def _leaked(context: MeasureContext, parameters: DiffusionParameters, tick: Tick) -> DiffusionRisk:
    with pointing_into("/measure"):
        network = _Network(context, parameters)
        graph, owner = network.linked(), network.number.get(parameters.owner)
        if parameters.is_leakage:
            graph.require_leakage()
        if owner is None or graph.n_people == 1:
            words = "Nobody has this identifier, or there is nobody else."
            raise InvalidInput.of("/owner", "unknown-person", words, "Name one of two people or more.")
        everybody = np.arange(graph.n_people)
        trust = network.trust(parameters, np.full(graph.n_people, owner), everybody)
        weights = risk_weights(trust, parameters.decreasing)
        weights[owner] = 0.0  # What returns to its owner does no harm.
        how = parameters.kernel, parameters.time, parameters.steps
        found, phi = spread(graph, weights, *how), parameters.item_sensitivity
        of_person = np.stack([phi * found.values, phi * spread(graph, trust, *how).values, trust], axis=1)
    tick(1)
    names, others = list(network.number), np.delete(everybody, owner)
    risks, with_edges = of_person[:, 0], np.union1d(graph.links.indices, graph.links.nonzero()[0])
    riskiest = others[greatest_first(risks[others], parameters.most)]
    return DiffusionRisk(
        graph.n_people, graph.n_people - context.table.n_records, graph.n_people - len(with_edges),
        graph.links.nnz // (1 if graph.directed else 2), graph.loops, graph.repeated,
        float(risks[owner]), float(risks[others].mean()), phi * found.truncation_error,
        tuple(RecipientRisk(CellValue(names[v]), *of_person[v].tolist()) for v in riskiest.tolist()),
        *_neighbourhood(graph, owner, risks, trust, names),
    )  # fmt: skip


def _neighbourhood(
    graph: Graph, owner: int, risks: Floats, trust: Floats, names: Sequence[str]
) -> tuple[tuple[Neighbour, ...], int]:
    """The owner's friends and theirs, up to :data:`MOST_NEIGHBOURS`, and how many are left out."""
    first = graph.links[[owner]].indices
    second = np.setdiff1d(graph.links[first].indices, np.append(first, owner))
    steps = (ring[greatest_first(risks[ring], MOST_NEIGHBOURS)] for ring in (first, second))
    near = np.concatenate([*steps])[:MOST_NEIGHBOURS]
    among = graph.links[near][:, near]
    found = tuple(
        Neighbour(
            CellValue(names[v]), 1 if v in first else 2, float(risks[v]), float(trust[v]),
            tuple(CellValue(names[near[j]]) for j in sorted(among[[i]].indices)),
        )
        for i, v in enumerate(near.tolist())
    )  # fmt: skip
    return found, len(first) + len(second) - len(near)


def _scored(context: MeasureContext, parameters: SharingParameters, tick: Tick) -> SharingLoss:
    table = context.table
    with pointing_into("/measure"):
        network = _Network(context, parameters)
        plan, owners, recipients = network.pairs(parameters.plan, "plan")
        n, names = len(network.number), [name for name in plan.attributes if name in table.attributes]
        if not names:
            raise InvalidInput([unknown_attribute("/plan", plan.attributes[-1], table)])
        is_again = np.ones(plan.n_records, dtype=bool)
        is_again[np.unique(owners * n + recipients, return_index=True)[1]] = False
        _refuse_rows(is_again, "plan", "repeated-pair", "name a pair again")
        levels = np.stack([_numbers(plan, name, "plan") for name in names], axis=1)
        kept = np.flatnonzero(owners != recipients)
        sharing = _sharing(network, parameters, names, owners[kept], recipients[kept])
        is_level = (levels == np.rint(levels)) & (levels >= 0) & (levels <= sharing.heights)
        _refuse_rows(~is_level.all(axis=1), "plan", "not-a-level", "hold no level from 0 to the height")
        losses, utilities = plans.scores_of(sharing, levels[kept])
    tick(1)
    ids, of_person = list(network.number), np.stack([losses.sum(axis=1), utilities.sum(axis=1)], axis=1)
    of_attribute = [sharing.heights.tolist(), losses.sum(axis=0).tolist(), utilities.sum(axis=0).tolist()]
    greatest = greatest_first(of_person[:, 0], parameters.most).tolist()
    return SharingLoss(
        len(kept), plan.n_records - len(kept), float(losses.sum()), float(utilities.sum()),
        tuple(AttributeSharing(*row) for row in zip(names, *of_attribute, strict=True)),
        tuple(PersonSharing(CellValue(ids[i]), *of_person[i].tolist()) for i in greatest),
    )  # fmt: skip


def _sharing(
    network: _Network, asked: InterestParameters, names: Sequence[str], owners: Longs, recipients: Longs
) -> plans.Sharing:
    """What sharing attributes among pairs costs and brings."""
    table, sensitivity, n = network.context.table, given(network.context.sensitivity), len(network.number)
    sensitivities, interests = np.zeros((n, len(names))), np.ones((n, len(names)))
    for k, name in enumerate(names):
        j, groups = table.position(name), sensitivity.personal_groups
        sensitivities[: table.n_records, k] = sensitivity.weights(j, table.codes[:, j], groups)
    if asked.interests is not None:
        stated = network.context.others[asked.interests].table
        rows = np.array([network.number.get(str(person), -1) for person in stated.own_ids.tolist()])
        _refuse_rows(rows < 0, "interests", "unknown-person", "name nobody who is known")
        interests[:] = 0.0
        interests[rows] = np.stack([_numbers(stated, name, "interests") for name in names], axis=1)
    weights = risk_weights(network.trust(asked, owners, recipients), asked.decreasing)
    heights = np.array([table.hierarchies[table.position(name)].height for name in names])
    return plans.Sharing(owners, recipients, weights, sensitivities, interests, heights, asked.as_printed)


def _planned(context: MeasureContext, parameters: PlanParameters, tick: Tick) -> SharingPlan:
    names, asked = context.table.attributes, parameters
    with pointing_into("/measure"):
        if (asked.trade_off, asked.loss_cap, asked.utility_floor).count(None) != 2:
            words = "A plan solves one problem: give one of trade_off, loss_cap and utility_floor."
            raise InvalidInput.of("/trade_off", "one-of", words, "Leave out the two others.")
        network = _Network(context, asked)
        if asked.pairs is None:
            owners, recipients = (ends.astype(np.int64) for ends in network.linked().links.nonzero())
        else:
            owners, recipients, _ = network.distinct_pairs(asked.pairs)
        sharing = _sharing(network, asked, names, owners, recipients)
        if asked.trade_off is not None:
            plan = plans.least_trade_off(sharing, asked.trade_off)
        elif asked.loss_cap is not None:
            plan = plans.greatest_utility(sharing, asked.loss_cap, asked.method)
        else:
            plan = plans.least_loss(sharing, given(asked.utility_floor), asked.method)
        losses, utilities = plans.scores_of(sharing, plan.levels)
    tick(1)
    ids, shown = list(network.number), np.flatnonzero(plan.levels.any(axis=1))
    listed = shown[asked.skip : asked.skip + asked.most]
    ends = ([CellValue(ids[i]) for i in own[listed].tolist()] for own in (owners, recipients))
    levels = (dict(zip(names, row, strict=True)) for row in plan.levels[listed].tolist())
    return SharingPlan(
        len(owners), len(shown), float(losses.sum()), float(utilities.sum()), plan.bound, plan.is_optimal,
        tuple(PlannedPair(*row) for row in zip(*ends, levels, strict=True)),
    )  # fmt: skip


def _answered(context: MeasureContext, parameters: InvitationParameters, tick: Tick) -> Answers:
    answers, counts = list[Answer](), np.zeros(2, dtype=np.int64)
    cap, trade_off, in_any = (
        parameters.risk_cap,
        parameters.published_trade_off,
        parameters.consistent_in == "any",
    )
    published = None if trade_off is None else PublishedObjective(trade_off, parameters.published_exponent)
    with pointing_into("/measure"):
        if (cap is None) == (published is None):
            words = "Exactly one of risk_cap and published_trade_off says which answer is the best."
            raise InvalidInput.of("/risk_cap", "one-of", words, "Give a cap on the risk.")
        network = _Network(context, parameters)
        people, inviters, repeated = network.distinct_pairs(parameters.pairs)
        if (people >= context.table.n_records).any():
            words = "Somebody who is invited has no profile."
            raise InvalidInput.of("/pairs", "no-profile", words, "Leave out pairs whose source has none.")
        ids, listed = list(network.number), range(parameters.skip, parameters.skip + parameters.most)
        for part, places, friends in shared_friends(network.linked(), people, inviters):
            asked = replace(
                _invitations(context, people[part], places, friends), in_any=in_any, published=published
            )
            found = enumerated(asked, cap) if cap is None or in_any else recommendations(asked, cap)
            counts += found.accepted.sum(), (~found.is_optimal).sum()
            for row in range(max(listed.start, part.start), min(listed.stop, part.stop)):
                ends = CellValue(ids[people[row]]), CellValue(ids[inviters[row]])
                answers.append(Answer(*ends, recommendation_of(asked, found, row - part.start)))
            tick(part.stop)
    accepted, unproven = counts.tolist()
    shown = context.table.attributes
    return Answers(
        len(people), repeated, accepted, unproven, shown, tuple(answers), _WARNING if published else None
    )


def _invitations(context: MeasureContext, people: Longs, places: Longs, friends: Integers) -> Invitations:
    """Of people by their profiles; a friend's missing value, or missing profile, is covered by ⊥ only."""
    table, sensitivity = context.table, given(context.sensitivity)
    shape = len(people), table.n_attributes, max(table.heights, default=0) + 1
    weights, utilities, heights = np.empty(shape), np.empty(shape), np.empty(shape[:2], dtype=np.int64)
    joins = np.zeros((len(friends), shape[1]), dtype=np.int16)
    groups = None if sensitivity.personal_groups is None else sensitivity.personal_groups[people]
    for j, hierarchy in enumerate(table.hierarchies):
        codes = np.append(table.codes[:, j], 0)
        theirs = codes[np.minimum(friends, table.n_records)]
        heights[:, j] = hierarchy.depth[codes[people]]
        for level in range(shape[2]):
            nodes = hierarchy.ancestor_steps(level)[codes[people]]
            weights[:, j, level] = sensitivity.weights(j, nodes, groups)
            utilities[:, j, level] = context.utility.values[j][nodes]
            # A tree's nodes are in preorder: those below a node follow it, and their leaves are its own.
            of_friends, last = nodes[places], hierarchy.leaf_hi
            joins[:, j] += (of_friends > theirs) | (last[theirs] > last[of_friends])
    return Invitations(weights, utilities, heights, joins, np.bincount(places, minlength=len(people)))


def _adds_up(context: MeasureContext, parameters: EdgeParameters) -> str | None:
    if given(context.sensitivity).family in ("linear", "linear_personal"):
        return None
    return "Loss adds up over attributes. Name a profile of the family linear or linear_personal."


def _cost(context: MeasureContext, parameters: EdgeParameters) -> Cost:
    rows = context.table.n_records + sum(other.table.n_records for other in context.others.values())
    products = 0.0
    if isinstance(parameters, DiffusionParameters):
        is_series = parameters.kernel == "laplacian"
        columns = [column for other in context.others.values() for column in other.table.codes.T if is_series]
        degree = max((int(np.bincount(column).max()) for column in columns), default=1)
        reach = MOST_REACH if is_series and parameters.weight else parameters.time * degree
        products = parameters.steps + parameters.time + 18 * math.sqrt(reach) + 60
    seconds, units = rows * (SECONDS_PER_ROW + products * SECONDS_PER_PRODUCT), 1
    if isinstance(parameters, InvitationParameters):
        units = context.others[parameters.pairs].table.n_records
        seconds += units * SECONDS_PER_INVITATION
        if parameters.risk_cap is None or parameters.consistent_in == "any":
            sizes = math.prod(height + 1.0 for height in context.table.heights)
            seconds += units * min(sizes, MOST_ANSWERS) * SECONDS_PER_ANSWER
    return Cost(seconds, rows * BYTES_PER_ROW, units, "sparse")


DIFFUSION_RISK: Final = Measure(
    name="diffusion_risk",
    title="Risk of an item that spreads in a network of people",
    source="Fouad (2012), section 7.3 (Definitions: diffusion risk)",
    guarantee="bound",
    parameters=DiffusionParameters,
    result=DiffusionRisk,
    cost=_cost,
    compute=_leaked,
    protects=False,
    tells_counts=True,
    repeats=False,
    example=Example(
        "how far does what a member gives to a friend leak?",
        "members-leaked",
        parameters={"edges": "friendships", "source": "member", "target": "friend", "owner": "m-02"},
    ),
)
_OF_SUMS: Final[dict[str, Any]] = {
    "needs": frozenset({"sensitivity"}), "supports": _adds_up, "cost": _cost,
    "protects": False, "tells_counts": True, "repeats": False,
}  # fmt: skip
_FRIENDS: Final = {"source": "member", "target": "friend"}
SHARING_LOSS: Final = Measure(
    name="sharing_loss",
    title="Loss and utility of a plan of who sees what",
    source="Fouad (2012), section 7.4 (Definitions: sharing plans)",
    guarantee="exact",
    parameters=SharingParameters,
    result=SharingLoss,
    compute=_scored,
    **_OF_SUMS,
    example=Example(
        "what does it cost and bring to show friends this much?",
        "members-shared",
        sensitivity="members-harm-added",
        parameters={**_FRIENDS, "plan": "friendships"},
    ),
)
SHARING_PLAN: Final = Measure(
    name="sharing_plan",
    title="Best plan of who sees what",
    source="Fouad (2012), section 7.4 (Definitions: sharing plans)",
    guarantee="bound",
    parameters=PlanParameters,
    result=SharingPlan,
    compute=_planned,
    **_OF_SUMS,
    example=Example(
        "what should friends show each other, if a unit of utility is worth this much loss?",
        "members-planned",
        sensitivity="members-harm-added",
        parameters={**_FRIENDS, "pairs": "friendships", "trade_off": 2},
    ),
)
SHARING_RECOMMENDATION: Final = Measure(
    name="sharing_recommendation",
    title="What to show in answer to an invitation",
    source="Fouad (2012), section 7.5 (Definitions: recommendations)",
    guarantee="bound",
    parameters=InvitationParameters,
    result=Answers,
    compute=_answered,
    **_OF_SUMS,
    example=Example(
        "how much of a profile may be shown to a friend of friends?",
        "members-invited",
        sensitivity="members-harm-added",
        parameters={**_FRIENDS, "edges": "friendships", "pairs": "friendships", "risk_cap": 1},
    ),
)
