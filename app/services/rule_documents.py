"""Rules as stored documents, and back.

A table-level document has a level per attribute. A record-level one has the levels of all records in one
compressed column-major block, and their hash, which stands for them wherever the document is hashed.
Identity and suppression are table-level rules like any other: equal meaning, equal hash.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from app.domain.errors import InvalidInput
from app.domain.rules import RecordRule, Rule, TableRule
from app.domain.tables import Table
from app.services.fingerprints import resource_sha256
from app.services.references import document_of, reference
from app.services.resources import JsonObject, Kind, NewResource, Stored

TABLE_LEVEL: Final = "table_level"
RECORD_LEVEL: Final = "record_level"


def rule_document(rule: Rule, attributes: tuple[str, ...]) -> JsonObject:
    """The rule as plain JSON, without the dataset that it is for."""
    if isinstance(rule, TableRule):
        return {"kind": TABLE_LEVEL, "levels": dict(zip(attributes, rule.levels, strict=True))}
    steps = rule.steps.astype("<i2")
    packed = steps.astype("|i1") if steps.max() < 128 else steps
    return {
        "kind": RECORD_LEVEL,
        "attributes": list(attributes),
        "rows": len(steps),
        "records": int(steps.any(axis=1).sum()),
        "steps_sha256": hashlib.sha256(steps.tobytes("F")).hexdigest(),
        "steps_type": packed.dtype.str,
        "steps": base64.b64encode(zlib.compress(packed.tobytes("F"))).decode("ascii"),
    }


def rule_of(document: JsonObject, table: Table) -> Rule:
    """The rule of a document, for the table that it was made for."""
    if document["kind"] == TABLE_LEVEL:
        return TableRule(tuple(document["levels"][attribute] for attribute in table.attributes))
    return RecordRule(_steps_of(document))


def rule_sha256(document: JsonObject, dataset_sha256: str) -> str:
    """The hash of the rule's meaning for a dataset, whether it is stored or not."""
    if document["kind"] == TABLE_LEVEL:
        meaning: JsonObject = {"levels": document["levels"]}
    else:
        meaning = {key: document[key] for key in ("attributes", "rows", "steps_sha256")}
    return resource_sha256(Kind.RULE, meaning, {"dataset": dataset_sha256})


def rule_in_short(document: JsonObject, kind: str | None = None) -> JsonObject:
    """Kind, levels and number of records with levels of their own, as summaries show them."""
    return {
        "kind": kind or document["kind"],
        "levels": document.get("levels"),
        "records": document.get("records"),
    }


def new_rule(
    name: str,
    document: JsonObject,
    dataset: Stored,
    kind: str | None = None,
    found_by: str | None = None,
) -> NewResource:
    """The rule as a resource to be stored.

    ``kind`` is the word that it was asked for with; ``found_by`` the hash of the optimisation that found it.
    """
    return NewResource(
        Kind.RULE,
        name,
        rule_sha256(document, dataset.sha256),
        {"dataset": dataset.name, **rule_in_short(document, kind)},
        {**document, "dataset": reference(dataset), "found_by": found_by},
        (dataset.id,),
    )


def require_rule_of(rule: Stored, dataset: Stored) -> JsonObject:
    """The rule's document; InvalidInput if it was made for another dataset."""
    document = document_of(rule)
    if document["dataset"]["sha256"] != dataset.sha256:
        raise InvalidInput.of(
            "/rule",
            "other-dataset",
            f"The rule {rule.name!r} is for the dataset {document['dataset']['name']!r}, "
            f"not for {dataset.name!r}.",
            "Create a rule for this dataset, or name the dataset of the rule.",
        )
    return document


def _steps_of(document: JsonObject) -> npt.NDArray[np.int16]:
    raw = zlib.decompress(base64.b64decode(document["steps"]))
    flat: npt.NDArray[Any] = np.frombuffer(raw, dtype=np.dtype(document["steps_type"]))
    shape = (document["rows"], len(document["attributes"]))
    return np.asfortranarray(flat.reshape(shape, order="F"), dtype=np.int16)
