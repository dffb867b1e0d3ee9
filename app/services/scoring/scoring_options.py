"""How a score is taken, beside what it is of: the options that assessments, searches and measures share.

Their document names only what is not the default, so that a request which leaves an option out and one which
spells its default out mean, and hash, the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from app.domain.dictionaries.consistency import COMPATIBLE, Consistency
from app.domain.errors import Fault, refuse
from app.domain.risk.attackers import View
from app.domain.risk.loss import AbsentPolicy
from app.domain.risk.models import MODEL_I, RiskModel
from app.domain.risk.utility import Model, Utility, build_utility
from app.domain.tables.table import Table
from app.services.fingerprints import plain
from app.services.resources import JsonObject

DisplayRounding = Literal["none", "nearest"]


@dataclass(frozen=True)
class UtilitySpec:
    """How the use of a disclosed table is measured.

    ``weights`` are what attributes count, 1 where not named; ``values`` belong to ``custom``: attribute →
    label → value. ``round_before_constraint`` lets a search compare the mean of the table rounded to the
    nearest whole number with its threshold, as published results did; ``display_rounding`` adds rounded
    means to results and changes no comparison (Definitions: rounded utility).
    """

    kind: Model = "depth_sum"
    weights: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    round_before_constraint: bool = False
    display_rounding: DisplayRounding = "none"

    def on(self, table: Table) -> Utility:
        """The utility for a table; InvalidInput with every offending attribute, weight and value."""
        return build_utility(table, self.kind, self.weights, self.values)

    def document(self) -> str | JsonObject:
        """The canonical form that is stored and hashed: the kind alone, or an object without the defaults.

        A weight of 1 is a default too.
        """
        given: JsonObject = {
            "weights": {name: float(weight) for name, weight in self.weights.items() if weight != 1},
            "values": {
                name: {label: float(value) for label, value in own.items()}
                for name, own in self.values.items()
            },
            "round_before_constraint": self.round_before_constraint,
            "display_rounding": "" if self.display_rounding == "none" else self.display_rounding,
        }
        more = {key: value for key, value in given.items() if value}
        return plain({"kind": self.kind, **more}) if more else self.kind

    def shown(self) -> str | JsonObject:
        """The canonical form for lists: of custom values only how many each attribute has."""
        document = self.document()
        if isinstance(document, str) or "values" not in document:
            return document
        return {**document, "values": {name: len(given) for name, given in document["values"].items()}}

    @classmethod
    def of(cls, document: str | Mapping[str, Any]) -> UtilitySpec:
        """The utility that :meth:`document` wrote down."""
        return cls(**({"kind": document} if isinstance(document, str) else document))


DEPTH_SUM: Final = UtilitySpec()


@dataclass(frozen=True)
class ConsistencyOptions:
    """When a disclosed value and a dictionary's cell agree: by default, and attribute by attribute."""

    default: Consistency = COMPATIBLE
    attributes: Mapping[str, Consistency] = field(default_factory=dict)

    def document(self) -> JsonObject:
        """Plain JSON; attributes that say what the default says are left out."""
        default = _consistency_document(self.default)
        attributes = {name: _consistency_document(own) for name, own in self.attributes.items()}
        return {
            "default": default,
            "attributes": {name: own for name, own in sorted(attributes.items()) if own != default},
        }

    @classmethod
    def of(cls, document: JsonObject) -> ConsistencyOptions:
        """The options that :meth:`document` wrote down."""
        attributes = {name: Consistency(**own) for name, own in document["attributes"].items()}
        return cls(Consistency(**document["default"]), attributes)

    def check(self, table: Table) -> None:
        """Raise InvalidInput for every attribute that the table does not disclose."""
        faults = [
            Fault(
                f"/consistency/attributes/{name}",
                "unknown-attribute",
                f"The dataset discloses no attribute {name!r}.",
                "It discloses: " + ", ".join(table.attributes) + ".",
            )
            for name in self.attributes
            if name not in table.attributes
        ]
        refuse(faults)


def _consistency_document(consistency: Consistency) -> JsonObject:
    if consistency.mode != "jaro":
        return {"mode": consistency.mode}
    return {
        "mode": consistency.mode,
        "threshold": float(consistency.threshold),
        "normalise": consistency.normalise,
    }


NO_CONSISTENCY: JsonObject = ConsistencyOptions().document()


@dataclass(frozen=True)
class ScoringOptions:
    """How a score is taken.

    ``attacker_view`` None is what is usual for the attacker's dictionaries: ``known`` for a single one,
    ``bayes`` for a set with a prior, ``worst_case`` for one without.
    """

    utility: UtilitySpec = DEPTH_SUM
    absent_policy: AbsentPolicy = "zero"
    risk_model: RiskModel = MODEL_I
    consistency: ConsistencyOptions = field(default_factory=ConsistencyOptions)
    attacker_view: View | None = None

    def document(self) -> JsonObject:
        """Plain JSON: utility and absent policy always, the others unless they are as usual."""
        document: JsonObject = {
            "utility": self.utility.document(),
            "absent_policy": self.absent_policy,
        }
        if self.risk_model != MODEL_I:
            document["risk_model"] = _model_document(self.risk_model)
        if self.consistency.document() != NO_CONSISTENCY:
            document["consistency"] = self.consistency.document()
        if self.attacker_view not in (None, "known"):
            document["attacker_view"] = self.attacker_view
        return document

    def shown(self) -> JsonObject:
        """Plain JSON with every option, for summaries."""
        return {
            "utility": self.utility.shown(),
            "absent_policy": self.absent_policy,
            "risk_model": _model_document(self.risk_model),
            "consistency": self.consistency.document(),
            "attacker_view": self.attacker_view or "known",
        }

    @classmethod
    def of(cls, document: JsonObject) -> ScoringOptions:
        """The options of a document; it may hold other keys too."""
        model = document.get("risk_model", MODEL_I.name)
        return cls(
            UtilitySpec.of(document["utility"]),
            document["absent_policy"],
            RiskModel("custom", model["formula"]) if isinstance(model, dict) else RiskModel(model),
            ConsistencyOptions.of(document.get("consistency", NO_CONSISTENCY)),
            document.get("attacker_view"),
        )


def _model_document(model: RiskModel) -> str | JsonObject:
    return model.name if model.formula is None else {"kind": "custom", "formula": model.formula}
