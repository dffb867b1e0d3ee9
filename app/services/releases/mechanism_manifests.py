"""Manifests of releases that a mechanism made: what is stored of them, and what each actor is shown.

Cells' values, which parameters and what is published may name, stand in the encrypted document alone and are
shown to who may read the data. What a draw is worth beside others is told when the manifest is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any, Final

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.mechanisms.catalogue import MECHANISMS, AnyMechanism
from app.domain.mechanisms.common_hypotheses import NOT_SHOWN_OTHERWISE, ONE_RECORD_PER_PERSON
from app.domain.mechanisms.dirichlet_guarantees import TOTALS_ARE_PUBLIC, VALUES_ARE_DECLARED
from app.domain.mechanisms.guarantee_models import BOUNDED_PRIVACY, DIFFERENTIAL_PRIVACY, worth
from app.domain.mechanisms.mechanism import MechanismPlan
from app.domain.mechanisms.private_release import RULE_IS_PUBLIC
from app.domain.mechanisms.public_dictionary import DICTIONARY_IS_PUBLIC
from app.domain.mechanisms.public_domains import DOMAIN_IS_PUBLIC, DRAWN_BEFORE
from app.domain.mechanisms.several_draws import (
    bounded_guarantee_together,
    guarantee_together,
    private_guarantee_together,
)
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from app.services.datasets.cell_values import without_cell_values
from app.services.fingerprints import plain
from app.services.gates.evidence_masking import shown_resource
from app.services.readers import reader_of
from app.services.releases.draws import Draw, DrawState
from app.services.resources import Actor, JsonObject, Scope, Stored, document_of
from app.services.rules.rule_definitions import IdentityDefinition
from app.services.rules.rule_documents import rule_document, rule_sha256, suppression_in_short

BY_NAME: Final = {mechanism.name: mechanism for mechanism in MECHANISMS}
PEOPLE: Final = "people"
"""Where the summary keeps by what draws of other deliveries of the same people are counted."""
_NOT_KNOWN_OF_ALL: Final[Mapping[str, Any]] = {
    "holds": "assumed",
    "reason": "Of a draw of which no release is stored it is not known any more.",
}
_CARRIED: Final = (ONE_RECORD_PER_PERSON, RULE_IS_PUBLIC, DICTIONARY_IS_PUBLIC.id)
"""What draws of whole records rest on together as each of them does, if any does or may do."""
_CARRIED_OF_VALUES: Final = (TOTALS_ARE_PUBLIC, DOMAIN_IS_PUBLIC, NOT_SHOWN_OTHERWISE, VALUES_ARE_DECLARED)
"""The same of draws that replace one value of a record."""
NOT_COMPARED: Final = (
    "Something was drawn, or deleted that was given out, of which it is not known whether it has any of "
    "these people."
)
DRAWN_ONCE: Final = "drawn_once"
"""The hypothesis that the draws of the same data bear out or refute."""


def is_drawn(release: Stored) -> bool:
    """Whether a mechanism made the release."""
    return "mechanism" in release.summary


def hides_records(release: Stored) -> bool:
    """Whether a differentially private mechanism made the release."""
    mechanism = BY_NAME.get(release.summary["mechanism"]["name"])
    return mechanism is not None and mechanism.hides_records


def mechanism_summary(
    mechanism: AnyMechanism,
    plan: MechanismPlan,
    *,
    independent: bool,
    csv_sha256: str,
    people: JsonObject | None,
) -> JsonObject:
    """What the summary of a release holds of its mechanism.

    ``people`` is what is kept of other deliveries of the same people; None where none were looked for.
    """
    found = {} if people is None else {PEOPLE: people}
    return {
        **found,
        "name": mechanism.name,
        "version": mechanism.version,
        "family": mechanism.family,
        "guarantees": [plain(own) for own in plan.guarantees],
        "warnings": list(plan.warnings),
        "independent_of_earlier": independent,
        "csv_sha256": csv_sha256,
    }


def rule_summary(rule: Stored | None, table: Table, dataset_sha256: str) -> JsonObject:
    """The rule that generalised the quasi-identifiers: the identity, without a name, if there was none."""
    if rule is not None:
        return {
            "name": rule.name,
            "kind": rule.summary["kind"],
            "sha256": rule.sha256,
            "levels": rule.summary["levels"],
            **suppression_in_short(rule.summary),
        }
    identity = rule_document(TableRule((0,) * table.n_attributes), table.attributes)
    return {
        "name": "",
        "kind": IdentityDefinition.kind,
        "sha256": rule_sha256(identity, dataset_sha256),
        "levels": identity["levels"],
        **suppression_in_short(identity),
    }


def shown_release(
    actor: Actor,
    release: Stored,
    state: DrawState | None,
    all_draws: Sequence[Stored | Draw] = (),
    refuted: Mapping[str, Hypothesis] = MappingProxyType({}),
    budget: JsonObject | None = None,
) -> Stored:
    """The release as the actor may see it.

    ``state`` is that of its draw, if it was drawn; ``all_draws`` are all draws of the same data, if there are
    several, as for :func:`together`; ``refuted`` is by attribute which hypothesis other releases refute;
    ``budget`` is how that of its table stands.
    """
    shown = shown_resource(actor, release)
    if state is None:
        return shown
    summary = shown.summary
    if hides_records(release):
        # Who knows all records but one could find that one by a hash of the data.
        summary = {**summary, "dataset_sha256": None, "rule": {**summary["rule"], "sha256": None}}
    told = {
        # Hashes by which draws of other contents count are nobody's business.
        **{key: own for key, own in shown.summary["mechanism"].items() if key != PEOPLE},
        **_values_shown(actor, release),
        "guarantees": guarantees_known(release, state, refuted),
        "draw": state.number,
        "draws": state.total,
        "together": together(all_draws, refuted) if all_draws else None,
        "budget": budget,
    }
    return replace(shown, summary={**summary, "mechanism": told, "withdrawn_at": state.withdrawn_at})


def guarantees_known(
    release: Stored, state: DrawState, refuted: Mapping[str, Hypothesis]
) -> list[JsonObject]:
    """The guarantees of a release with what is known by now of their hypotheses, and what is left of them."""
    return [
        _with_known(guarantee, _drawn_once(state, release), refuted.get(_attribute_of(guarantee)))
        for guarantee in _promised(release)
    ]


def _promised(release: Stored) -> list[JsonObject]:
    """The guarantees as they were stored, each with what is known of the domain of its attribute."""
    stored: list[JsonObject] = release.summary["mechanism"]["guarantees"]
    before = asdict(DRAWN_BEFORE)
    return [
        own
        if not _attribute_of(own) or any(one["id"] == DOMAIN_IS_PUBLIC for one in own["hypotheses"])
        else {**own, "hypotheses": [*own["hypotheses"], before]}
        for own in stored
    ]


def _values_shown(actor: Actor, release: Stored) -> JsonObject:
    """Parameters and what is published, where the release was read with its document."""
    if release.document is None:
        return {"parameters": None, "published": None}
    asked: JsonObject = release.document["mechanism"]
    published: JsonObject = release.document["published"]
    if Scope.DATA_READ in actor.scopes:
        return {"parameters": asked["parameters"], "published": published}
    mechanism = BY_NAME.get(asked["name"])
    if mechanism is None or mechanism.version != asked["version"]:
        # Which values another version names cannot be told.
        return {"parameters": None, "published": None}
    return {
        "parameters": without_cell_values(mechanism.parameters, asked["parameters"]),
        "published": without_cell_values(mechanism.published, published),
    }


def together(draws: Sequence[Stored | Draw], refuted: Mapping[str, Hypothesis]) -> JsonObject:
    """What several draws of the same data promise together, with what is known of that by now.

    ``draws`` are their releases, the oldest first, and one of them at least is stored; of another it is the
    draw, with what it spends as the certified guarantee said that it had.
    """
    known = [own for own in draws if isinstance(own, Stored)]
    promised = [guarantee for own in known for guarantee in _promised(own)]
    if any(hides_records(own) for own in known):
        rests_on = {own["id"] for one in promised for own in one["hypotheses"]}
        carried = [_weakest(promised, own) for own in _CARRIED if own in rests_on]
        if len(known) < len(draws):
            carried = [own if own.holds == "no" else replace(own, **_NOT_KNOWN_OF_ALL) for own in carried]
            carried += [Hypothesis(own, **_NOT_KNOWN_OF_ALL) for own in _CARRIED if own not in rests_on]
        stated = [_promised_privacy(own) for own in draws]
        weakest = min((own["status"] for own in promised), key=worth)
        replacing = [own for own in promised if own["model"] == BOUNDED_PRIVACY]
        of_records = [own for own in stated if own is not None]
        names = attributes_of(replacing)
        if len(names) == 1 and len(replacing) + len(of_records) == len(draws):
            (name,) = names
            carried += [_weakest(promised, own) for own in _CARRIED_OF_VALUES if own in rests_on]
            losses = [own["parameters"] for own in replacing], of_records
            bounded = bounded_guarantee_together(name, *losses, carried, weakest)
            return _with_known(plain(bounded), refuted.get(name))
        return _with_known(plain(private_guarantee_together(stated, carried, weakest)))
    # Another delivery may call it otherwise.
    attributes = sorted(attributes_of(promised))
    found = guarantee_together(
        ", ".join(attributes),
        [_published(own) if isinstance(own, Stored) else None for own in draws],
        _weakest(promised, ONE_RECORD_PER_PERSON),
        _weakest(promised, DOMAIN_IS_PUBLIC),
    )
    return _with_known(plain(found), *map(refuted.get, attributes))


def _promised_privacy(release: Stored | Draw) -> Mapping[str, float | str] | None:
    """The parameters of the guarantee of a differentially private release; None for another release."""
    if isinstance(release, Draw):
        if release.loss is None:
            return None
        declared = {} if release.least_records is None else {"least_records": release.least_records}
        # They come from such parameters, and become the same again.
        return {"epsilon": float(release.loss.epsilon), "delta": float(release.loss.delta), **declared}
    guarantees = release.summary["mechanism"]["guarantees"]
    return next((own["parameters"] for own in guarantees if own["model"] == DIFFERENTIAL_PRIVACY), None)


def _published(release: Stored) -> object | None:
    """What was published, of the mechanism's own type; None if another version of the mechanism did."""
    mechanism = BY_NAME.get(release.summary["mechanism"]["name"])
    if mechanism is None or mechanism.version != release.summary["mechanism"]["version"]:
        return None
    found: object = reader_of(mechanism.published).validate_python(published_fields(release))
    return found


def _weakest(promised: Sequence[JsonObject], hypothesis: str) -> Hypothesis:
    """What is known of a hypothesis of all guarantees: it holds only if it does for each."""
    found = [own for one in promised for own in one["hypotheses"] if own["id"] == hypothesis]
    return Hypothesis(**min(found, key=lambda own: ("no", "assumed", "yes").index(own["holds"])))


def published_fields(release: Stored) -> JsonObject:
    """What the mechanism published, as the fields of its own type."""
    kept: JsonObject = document_of(release)["published"]
    return {key: own for key, own in kept.items() if key not in ("kind", "version")}


def attributes_of(guarantees: Iterable[JsonObject]) -> set[str]:
    """The attributes that stored guarantees are about."""
    return {_attribute_of(own) for own in guarantees} - {""}


def _attribute_of(guarantee: JsonObject) -> str:
    """Empty where it is about no single one."""
    return str(guarantee["parameters"].get("attribute", ""))


def _with_known(guarantee: JsonObject, *known: Hypothesis | None) -> JsonObject:
    """A stored guarantee with what is known by now of its hypotheses, and what that leaves of it."""
    by_id = {own.id: asdict(own) for own in known if own is not None}
    hypotheses: list[JsonObject] = [by_id.get(own["id"], own) for own in guarantee["hypotheses"]]
    fails = any(own["holds"] == "no" for own in hypotheses)
    standing: Any = "none" if fails else guarantee["status"]
    return {**guarantee, "hypotheses": hypotheses, "standing": standing}


def _drawn_once(state: DrawState, release: Stored) -> Hypothesis:
    """Whether there is no other draw of the same data, or of some of the same people."""
    if state.total > 1 and hides_records(release):
        return Hypothesis(
            DRAWN_ONCE,
            "no",
            f"{state.total} draws of the uploaded content, or of people who are in it, are counted, of which "
            f"this is number {state.number}. Its own ε and δ say what it tells beside the others; what all "
            "of them tell is said of them together.",
        )
    if state.total > 1:
        return Hypothesis(
            DRAWN_ONCE,
            "no",
            f"{state.total} draws are counted of this attribute of the uploaded content, of whole records of "
            "it, or of either of other uploaded contents that have some of the same people. This is number "
            f"{state.number}. Who has several that a person is in multiplies what each tells of that "
            "person, so that together they may exceed the bound (Definitions: perturbation).",
        )
    people = release.summary["mechanism"].get(PEOPLE)
    unknown = "" if people is None else people["unknown"]
    if not unknown and not state.is_compared:
        unknown = NOT_COMPARED
    return Hypothesis(
        DRAWN_ONCE,
        "assumed" if unknown else "yes",
        "No other draw that tells the same of the uploaded content is counted, deleted releases included; "
        "the same question is answered by this one. "
        + (unknown or "No draw of another delivery with a person of this one was found."),
    )
