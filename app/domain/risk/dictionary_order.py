"""The order ≪ on dictionaries, and when an estimated one bounds the true risk (Definitions: upper bound).

θ ≪ η: every entity of θ is also in η, possibly vaguer; η may have more entities. Under its hypotheses
the risk under θ is then an upper bound of the risk under η. A bound is claimed only if none of them fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.counting.counter import Counter
from app.domain.dictionaries.dictionary import Dictionary, LinkedAttribute, codes_with_texts
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP, UNKNOWN
from app.domain.risk.models import MODEL_I, RiskModel
from app.domain.rules.rule import CellRule, Rule, apply
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.table import Table

Breach = Literal["entity_missing", "value_not_more_general"]
Holds = Literal["true", "false", "assumed"]
_Answer = tuple[Holds, str]
"""Whether a hypothesis holds, and why."""
HypothesisName = Literal[
    "dictionary_order",
    "unique_identifiers",
    "own_rows_consistent",
    "rule_generalises",
    "consistency_mode",
    "psi_le_phi",
    "model",
]


@dataclass(frozen=True)
class OrderAnswer:
    """Whether θ ≪ η; if not, the first entity of θ, in its order, that breaks it.

    ``attribute`` is the first attribute of the table on which the entity's value in η is not ⪰ that in θ,
    None where η lacks the entity.
    """

    holds: bool
    entity: Any = None
    attribute: str | None = None
    breach: Breach | None = None


@dataclass(frozen=True)
class Hypothesis:
    """One hypothesis (Definitions: upper bound), whether it holds, and why."""

    name: HypothesisName
    holds: Holds
    reason: str


@dataclass(frozen=True)
class BoundAnswer:
    """Whether the risk under an estimated dictionary is an upper bound of the risk under the true one.

    ``claimed`` if no hypothesis is false; ``rests_on_assumptions`` if some could only be assumed.
    """

    claimed: bool
    rests_on_assumptions: bool
    hypotheses: tuple[Hypothesis, ...]


def dictionary_order(theta: Dictionary, eta: Dictionary, table: Table) -> OrderAnswer:
    """Whether ``theta`` ≪ ``eta`` on the attributes of a table; O(N·m).

    Both are linked to the table's hierarchies and have identifiers (InvalidInput otherwise). Attributes that
    one does not carry are ⊥ in it. What counts is what the cells mean, whatever their consistency mode.
    """
    if theta.entity_ids is None or eta.entity_ids is None:
        raise InvalidInput.of(
            "/dictionaries",
            "ids-not-comparable",
            "The order of two dictionaries needs an identifier in both.",
            "Declare an identifier in both.",
        )
    row_of = {entity: row for row, entity in enumerate(eta.entity_ids.tolist())}
    # Row of each entity of θ in η, −1 where η lacks it.
    theirs = np.array([row_of.get(entity, -1) for entity in theta.entity_ids.tolist()], dtype=np.int64)
    missing = np.flatnonzero(theirs < 0)
    first = int(missing[0]) if len(missing) else theta.n_entities
    broken: str | None = None
    for attribute in table.attributes:
        at = _first_breach(_link(theta, attribute), _link(eta, attribute), theirs, first)
        if at < first:
            first, broken = at, attribute
    if first == theta.n_entities:
        return OrderAnswer(True)
    entity = theta.entity_ids[first]
    if broken is None:
        return OrderAnswer(False, entity, None, "entity_missing")
    return OrderAnswer(False, entity, broken, "value_not_more_general")


def own_rows_consistent(table: Table, dictionary: Dictionary) -> bool:
    """Hypothesis (iii): every record's own entity is in the dictionary and consistent with the record.

    InvalidInput unless the identifiers of the two mean the same entities.
    """
    return bool(Counter(table, dictionary).own_rows.consistent(table.codes).all())


def bound_hypotheses(
    table: Table,
    rule: Rule,
    estimated: Dictionary,
    true: Dictionary | None,
    sensitivity: Sensitivity,
    failure: Sensitivity | None = None,
    model: RiskModel = MODEL_I,
    subsumed: Sequence[str] = (),
) -> BoundAnswer:
    """Check the hypotheses (Definitions: upper bound) for one rule.

    ``estimated`` and ``true`` are written for the consistency modes in use, the same for both; ``true`` is
    None where the attacker's dictionary is not known: then what concerns it is assumed, but for the
    attributes on which it would be compared in subsumed mode. The theorem is about the loss; of
    the risk models it carries over to those in which N does not enter.
    """
    answers: dict[HypothesisName, _Answer] = {
        "dictionary_order": _order(table, estimated, true),
        "unique_identifiers": _unique(estimated, true),
        "own_rows_consistent": _own(table, estimated),
        "rule_generalises": _generalises(table, rule),
        "consistency_mode": _modes(estimated, true, subsumed if true is None else ()),
        "psi_le_phi": _failure(table, rule, sensitivity, failure),
        "model": _model(model),
    }
    found = tuple(Hypothesis(name, holds, reason) for name, (holds, reason) in answers.items())
    return BoundAnswer(
        claimed=all(hypothesis.holds != "false" for hypothesis in found),
        rests_on_assumptions=any(hypothesis.holds == "assumed" for hypothesis in found),
        hypotheses=found,
    )


# --- the order ---------------------------------------------------------------------------------------


def _link(dictionary: Dictionary, attribute: str) -> LinkedAttribute | None:
    return next((link.meaning for link in dictionary.links if link.attribute == attribute), None)


def _first_breach(
    ours: LinkedAttribute | None, theirs: LinkedAttribute | None, row: Longs, limit: int
) -> int:
    """First row of θ below ``limit`` whose value is not ⪯ that of the same entity in η, else ``limit``."""
    if theirs is None:
        return limit
    row = row[:limit]
    column, code_of, text_of = codes_with_texts(theirs)
    wanted = column[row]
    if ours is None:
        # ⊥ in every row, as if it were carried: a set of all leaves says no more.
        all_leaves = np.diff(theirs.starts) == theirs.hierarchy.n_leaves
        nodes = _nodes(theirs)
        passed = (nodes == TOP) | ((nodes == UNKNOWN) & all_leaves)
        bad = np.flatnonzero(~passed[code_of][wanted])
        return int(bad[0]) if len(bad) else limit
    own_column, own_code, own_text = codes_with_texts(ours)
    pairs, inverse = np.unique(
        own_column[:limit].astype(np.int64) * max(1, len(code_of)) + wanted, return_inverse=True
    )
    a, b = pairs // max(1, len(code_of)), pairs % max(1, len(code_of))
    below = _below(ours, own_code[a], own_text[a], theirs, code_of[b], text_of[b])
    bad = np.flatnonzero(~below[inverse.reshape(-1)])
    return int(bad[0]) if len(bad) else limit


def _below(
    ours: LinkedAttribute, a: Ints, a_text: Ints, theirs: LinkedAttribute, b: Ints, b_text: Ints
) -> Bools:
    """Per pair of codes, whether cell a ⪯ cell b."""
    lower, upper = _nodes(ours)[a], _nodes(theirs)[b]
    passed: Bools = upper == TOP
    named = (lower != UNKNOWN) & (upper != UNKNOWN)
    passed[named] = ours.hierarchy.are_above(upper[named], lower[named])
    for i in np.flatnonzero(~named & ~passed).tolist():
        mine, other = _leaves(ours, int(a[i])), _leaves(theirs, int(b[i]))
        if len(mine) and len(other):
            passed[i] = bool(np.isin(mine, other).all())
        elif not len(mine) and not len(other):
            passed[i] = _text(ours, int(a_text[i])) == _text(theirs, int(b_text[i]))
    return passed


def _nodes(link: LinkedAttribute) -> Ints:
    """The node of each code, −1 for sets that are not one and for values outside the hierarchy."""
    nodes = np.full(link.n_codes, UNKNOWN, dtype=np.int32) if link.nodes is None else link.nodes
    return np.where(link.everything, TOP, nodes).astype(np.int32)


def _leaves(link: LinkedAttribute, code: int) -> Ints:
    if link.everything[code]:
        return np.arange(link.hierarchy.n_leaves, dtype=np.int32)
    return link.leaves[link.starts[code] : link.starts[code + 1]]


def _text(link: LinkedAttribute, position: int) -> str | None:
    return link.outside.labels[position] if link.outside is not None and position >= 0 else None


# --- the hypotheses ----------------------------------------------------------------------------------


def _order(table: Table, estimated: Dictionary, true: Dictionary | None) -> _Answer:
    if true is None:
        return "assumed", "The true dictionary holds every entity of this one, as precisely or vaguer."
    if estimated.entity_ids is None or true.entity_ids is None:
        return "false", "A dictionary without identifiers cannot be compared."
    answer = dictionary_order(estimated, true, table)
    if answer.holds:
        return "true", "Every entity is in the true dictionary, as precisely or vaguer."
    if answer.attribute is None:
        return "false", "The true dictionary lacks an entity of the estimated one."
    return "false", f"An entity's {answer.attribute!r} is not vaguer or equal in the true dictionary."


def _unique(estimated: Dictionary, true: Dictionary | None) -> _Answer:
    if true is None:
        return "assumed", "No entity has two rows in the true dictionary."
    if estimated.entity_ids is None or true.entity_ids is None:
        return "false", "A dictionary without identifiers may repeat an entity."
    return "true", "No identifier is repeated in either dictionary."


def _own(table: Table, estimated: Dictionary) -> _Answer:
    if not estimated.comparable_ids:
        return "false", "The dictionary's identifiers are not those of the dataset: this cannot be checked."
    if own_rows_consistent(table, estimated):
        return "true", "Every record is consistent with its own row in the dictionary."
    return "false", "Some record's entity is missing in the dictionary or contradicts it."


def _generalises(table: Table, rule: Rule) -> _Answer:
    if isinstance(rule, CellRule):
        for j, hierarchy in enumerate(table.hierarchies):
            if not hierarchy.are_above(rule.codes[:, j], table.codes[:, j]).all():
                return "false", "Some disclosed value does not generalise the original."
    return "true", "Every disclosed value is the original or more general."


def _modes(estimated: Dictionary, true: Dictionary | None, of_unknown: Sequence[str]) -> _Answer:
    modes = {link.attribute: link.mode for link in estimated.links}
    # An attribute that only the true dictionary carries passes every row of the estimated one.
    links = estimated.links if true is None else estimated.links + true.links
    subsumed = dict.fromkeys([*(link.attribute for link in links if link.mode == "subsumed"), *of_unknown])
    if subsumed:
        return (
            "false",
            f"Under subsumed consistency of {', '.join(subsumed)} a vaguer row may cease to be a candidate.",
        )
    if true is not None and any(modes.get(x.attribute, x.mode) != x.mode for x in true.links):
        return "false", "The two dictionaries are compared in different modes."
    return "true", "A row that becomes vaguer stays consistent."


def _failure(table: Table, rule: Rule, sensitivity: Sensitivity, failure: Sensitivity | None) -> _Answer:
    if failure is None:
        return "true", "Failed identification does no harm."
    codes = apply(rule, table)
    phi, psi = sensitivity.phi(codes, sensitivity.groups), failure.phi(codes, failure.groups)
    if (psi <= phi).all():
        return "true", "Failed identification never does more harm than success."
    return "false", "For some record failed identification does more harm than success."


def _model(model: RiskModel) -> _Answer:
    if model.name in ("I", "II"):
        return "true", f"The risk of model {model.name} falls as candidates are added."
    if model.depends_on_entities or not model.is_monotone:
        return "false", "The theorem is about models in which more candidates mean less risk: I and II."
    return "true", "The risk falls as candidates are added."
