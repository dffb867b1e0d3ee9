"""Rules as stored documents, and back.

A table-level document has a level per attribute and, if the rule suppresses classes, the least size of those
that it keeps or the criteria that they meet; which records these are follows from the table. Where a
criterion compares classes with a population it also has the hash of the dictionary, and who is suppressed. A
record-level one has the steps of all records in one compressed column-major block, and their hash, which
stands for them wherever the document is hashed. One of cells has the disclosed nodes in the same way, and the
definition that they follow from, if it can be stated anew for other tables: the definition belongs to the
rule's meaning, so that it is hashed, too.
Identity and suppression are table-level rules like any other: equal meaning, equal hash.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools
from app.domain.errors import InvalidInput
from app.domain.models.class_suppression import (
    ALL_ATTRIBUTES,
    ClassSuppression,
    SmallClasses,
    suppress_failing,
    suppress_records,
    suppress_small,
)
from app.domain.policies.objectives import criteria_of
from app.domain.rules.rule import CellRule, RecordRule, Rule, TableRule
from app.domain.search.full_domain.problem import criterion_document
from app.domain.tables.table import Table
from app.services.fingerprints import resource_sha256
from app.services.resources import JsonObject, Kind, NewResource, Stored, document_of, reference
from app.services.rules.rule_definitions import TableLevelDefinition

TABLE_LEVEL: Final = "table_level"
RECORD_LEVEL: Final = "record_level"
CELLS: Final = "cells"
SUPPRESSION: Final = "suppress_classes_below"
SUPPRESSION_OF_FAILING: Final = "suppress_classes_failing"
SUPPRESSION_KEYS: Final = (SUPPRESSION, SUPPRESSION_OF_FAILING, "missing", "suppressed")
ORDER: Final = "suppression_order"
DICTIONARY: Final = "dictionary"
MEANING: Final = "meaning"
"""Version of what ``suppress_classes_below`` means; documents of the first one say none."""
POPULATION_SHA256: Final = "dictionary_sha256"
"""Hash of the dictionary that criteria compare the classes with."""
_SUPPRESSED_ROWS: Final = "suppressed_rows"

Suppression = SmallClasses | ClassSuppression
"""What a rule of levels suppresses beside them."""


@dataclass(frozen=True, eq=False)
class WrittenRule:
    """A rule for one table, and the document that says the same."""

    rule: Rule
    document: JsonObject

    @classmethod
    def of(cls, rule: Rule, table: Table, **more: object) -> WrittenRule:
        """The rule with its document, in which ``more`` takes the place of what that says by itself."""
        return cls(rule, rule_document(rule, table.attributes) | more)


def rule_document(rule: Rule, attributes: tuple[str, ...]) -> JsonObject:
    """The rule as plain JSON, without the dataset that it is for."""
    if isinstance(rule, TableRule):
        return {"kind": TABLE_LEVEL, "levels": dict(zip(attributes, rule.levels, strict=True))}
    if isinstance(rule, CellRule):
        return {
            "kind": CELLS,
            "attributes": list(attributes),
            "rows": len(rule.codes),
            "records": None,
            "definition": None,
            **_block("codes", rule.codes.astype("<i4")),
        }
    return {
        "kind": RECORD_LEVEL,
        "attributes": list(attributes),
        "rows": len(rule.steps),
        "records": int(rule.steps.any(axis=1).sum()),
        **_block("steps", rule.steps.astype("<i2")),
    }


def suppressing_rule(table: Table, rule: TableRule, suppression: Suppression) -> WrittenRule:
    """A table-level rule that suppresses classes: of fewer records, or that fail criteria.

    ``records`` of its document are those that it suppresses.
    """
    suppressed, records = suppressed_cells(table, rule, suppression)
    document = {
        **rule_document(rule, table.attributes),
        **suppression_document(suppression),
        "records": int(np.count_nonzero(records)),
    }
    return WrittenRule(suppressed, document)


def population_suppressing_rule(
    table: Table, rule: TableRule, suppression: ClassSuppression, records: Bools, dictionary_sha256: str
) -> WrittenRule:
    """A table-level rule that suppresses by comparing its classes with a population.

    Whom it suppresses, ``records`` (n,), is kept, so that the document can be read without the dictionary.
    """
    document = {
        **rule_document(rule, table.attributes),
        **suppression_document(suppression),
        "records": int(np.count_nonzero(records)),
        POPULATION_SHA256: dictionary_sha256,
        **_block(_SUPPRESSED_ROWS, records.astype("<i2")),
    }
    return WrittenRule(_without(table, rule, suppression, records), document)


def _without(table: Table, rule: TableRule, suppression: ClassSuppression, records: Bools) -> Rule:
    """The rule with the records (n,) suppressed; itself where there are none."""
    if not records.any():
        return rule
    return suppress_records(table, rule, records, suppression.missing, suppression.suppressed)


def suppression_document(suppression: Suppression) -> JsonObject:
    """What is suppressed as plain JSON; of the options of criteria only what is not as usual."""
    if isinstance(suppression, SmallClasses):
        is_first = suppression.meaning == ALL_ATTRIBUTES
        return {SUPPRESSION: suppression.below, **({} if is_first else {MEANING: suppression.meaning})}
    options = {
        "missing": suppression.missing if suppression.missing != "own_category" else None,
        "suppressed": suppression.suppressed if suppression.suppressed != "excluded" else None,
        ORDER: suppression.order if suppression.order != "size_by_size" else None,
    }
    return {
        SUPPRESSION_OF_FAILING: [criterion_document(own) for own in suppression.failing],
        **{name: value for name, value in options.items() if value is not None},
    }


def table_level_definition_of(document: JsonObject) -> TableLevelDefinition:
    """How the document of a table-level rule can be stated again."""
    failing, population = document.get(SUPPRESSION_OF_FAILING), document.get(DICTIONARY)
    return TableLevelDefinition(
        document["levels"],
        document.get(SUPPRESSION),
        document.get(MEANING) or ALL_ATTRIBUTES,
        None if failing is None else criteria_of(failing, printed=False),
        document.get("missing") or "own_category",
        document.get("suppressed") or "excluded",
        document.get(ORDER) or "size_by_size",
        population["id"] if isinstance(population, dict) else None,
    )


def stated_rule(document: JsonObject) -> JsonObject:
    """The rule in words of requests; of one of cells that follow from no definition its nodes by their codes.

    Of one of single records those whose steps are not all 0: a record that is not named is shown as it is.
    """
    if document["kind"] == TABLE_LEVEL:
        told = ("kind", "levels", *SUPPRESSION_KEYS, MEANING, ORDER, DICTIONARY)
        return {name: document[name] for name in told if document.get(name) is not None}
    attributes: list[str] = document["attributes"]
    if document["kind"] == CELLS:
        nodes = _matrix_of(document, "codes").T.tolist()
        return {"kind": CELLS, "nodes": dict(zip(attributes, nodes, strict=True))}
    steps = _matrix_of(document, "steps")
    changed = np.flatnonzero(steps.any(axis=1))
    records = [
        {"row": row + 1, "steps": dict(zip(attributes, own, strict=True))}
        for row, own in zip(changed.tolist(), steps[changed].tolist(), strict=True)
    ]
    return {"kind": RECORD_LEVEL, "records": records}


def suppressed_cells(table: Table, rule: TableRule, suppression: Suppression) -> tuple[Rule, Bools]:
    """The rule with what it suppresses, and of which records (n,).

    It is the rule itself if that would be classes that fail criteria, and none does.
    """
    if isinstance(suppression, SmallClasses):
        return suppress_small(table, rule, suppression)
    return suppress_failing(table, rule, suppression)


def rule_of(document: JsonObject, table: Table) -> Rule:
    """The rule of a document, for the table that it was made for."""
    if document["kind"] == TABLE_LEVEL:
        rule = TableRule(tuple(document["levels"][attribute] for attribute in table.attributes))
        suppression = table_level_definition_of(document).suppression
        if isinstance(suppression, ClassSuppression) and _SUPPRESSED_ROWS in document:
            return _without(table, rule, suppression, _numbers_of(document, _SUPPRESSED_ROWS).astype(bool))
        return rule if suppression is None else suppressed_cells(table, rule, suppression)[0]
    if document["kind"] == CELLS:
        return CellRule(_matrix_of(document, "codes").astype(np.int32, order="F"))
    return RecordRule(_matrix_of(document, "steps").astype(np.int16, order="F"))


def rule_sha256(document: JsonObject, dataset_sha256: str) -> str:
    """The hash of the rule's meaning for a dataset, whether it is stored or not."""
    if document["kind"] == TABLE_LEVEL:
        keys = ("levels", *SUPPRESSION_KEYS, ORDER)
        meaning: JsonObject = {key: document[key] for key in keys if key in document}
        # The first meaning is hashed as it was before there was a second.
        if document.get(MEANING, ALL_ATTRIBUTES) != ALL_ATTRIBUTES:
            meaning[MEANING] = document[MEANING]
        of_population = (POPULATION_SHA256, f"{_SUPPRESSED_ROWS}_sha256")
        meaning |= {key: document[key] for key in of_population if key in document}
    elif document["kind"] == CELLS:
        meaning = {key: document[key] for key in ("attributes", "rows", "codes_sha256", "definition")}
    else:
        meaning = {key: document[key] for key in ("attributes", "rows", "steps_sha256")}
    return resource_sha256(Kind.RULE, meaning, {"dataset": dataset_sha256})


def rule_in_short(document: JsonObject, kind: str | None = None) -> JsonObject:
    """Kind, levels and number of records with levels of their own, as summaries show them."""
    return {
        "kind": kind or document["kind"],
        "levels": document.get("levels"),
        "records": document.get("records"),
        **suppression_in_short(document),
        **({"notes": document["notes"]} if document.get("notes") else {}),
    }


def suppression_in_short(document: JsonObject) -> JsonObject:
    """What a rule suppresses beside its levels, as summaries show it: null where it does not.

    Of small classes the version of their meaning is shown, too, and the order in which classes go where it is
    not the usual one, as in summaries from before there was another.
    """
    shown = {key: document.get(key) for key in SUPPRESSION_KEYS}
    if shown[SUPPRESSION] is not None:
        shown[MEANING] = document.get(MEANING) or ALL_ATTRIBUTES
    if document.get(ORDER) is not None:
        shown[ORDER] = document[ORDER]
    dictionary = document.get(DICTIONARY)
    if dictionary is not None:
        # A document refers to it, a summary names it.
        shown[DICTIONARY] = dictionary if isinstance(dictionary, str) else dictionary["name"]
    return shown


def may_suppress_records(rule: JsonObject) -> bool:
    """Whether a rule, by what its summary or document says, shows attributes of some records otherwise.

    It does if it is for single records, or suppresses what is in classes; else its levels say it all.
    """
    return rule["levels"] is None or any(rule.get(key) is not None for key in SUPPRESSION_KEYS)


def with_rule_in_short(result: JsonObject) -> JsonObject:
    """A result as it is shown: its rule or rules, if it has any, without packed levels of single records."""
    if "alternatives" in result:
        return {**result, "alternatives": [with_rule_in_short(own) for own in result["alternatives"]]}
    rule = result.get("rule")
    if rule is None:
        return result
    return {**result, "rule": {**dict.fromkeys((MEANING, ORDER, DICTIONARY)), **rule_in_short(rule)}}


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
        (dataset.id, *resources_of_rule(document)),
    )


def resources_of_rule(document: JsonObject | None, stored: Stored | None = None) -> tuple[str, ...]:
    """Ids of what has to stay as long as the rule is in use: itself where it is stored.

    A rule without a name has its document kept by its users; the population of its criteria is needed to
    state it anew for another table.
    """
    if stored is not None:
        return (stored.id,)
    population = None if document is None else document.get(DICTIONARY)
    return () if population is None else (population["id"],)


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


def _block(name: str, numbers: npt.NDArray[np.signedinteger[Any]]) -> JsonObject:
    """Numbers ≥ 0 (n, m) in as few bytes as hold them, and the hash of them as they are given."""
    greatest = int(numbers.max())
    packed = numbers.astype("|i1" if greatest < 2**7 else "<i2" if greatest < 2**15 else "<i4")
    return {
        f"{name}_sha256": hashlib.sha256(numbers.tobytes("F")).hexdigest(),
        f"{name}_type": packed.dtype.str,
        name: base64.b64encode(zlib.compress(packed.tobytes("F"))).decode("ascii"),
    }


def _matrix_of(document: JsonObject, name: str) -> npt.NDArray[Any]:
    shape = (document["rows"], len(document["attributes"]))
    return _numbers_of(document, name).reshape(shape, order="F")


def _numbers_of(document: JsonObject, name: str) -> npt.NDArray[Any]:
    raw = zlib.decompress(base64.b64decode(document[name]))
    flat: npt.NDArray[Any] = np.frombuffer(raw, dtype=np.dtype(document[f"{name}_type"]))
    return flat
