"""The population that the criteria of a rule compare its classes with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import InvalidInput
from app.domain.models.class_suppression import ClassSuppression
from app.services.datasets.tables import TableLoader
from app.services.ports import Store
from app.services.resources import Kind, Stored, TenantId
from app.services.rules.rule_definitions import AtLeastDefinition, RuleDefinition, TableLevelDefinition


@dataclass(frozen=True, eq=False)
class SuppressingPopulation:
    """A stored dictionary, and as it is linked to the dataset of the rule."""

    stored: Stored
    dictionary: Dictionary


async def population_of(
    store: Store, loader: TableLoader, tenant: TenantId, definition: RuleDefinition, dataset: Stored
) -> SuppressingPopulation | None:
    """The population that the definition names, if its criteria need one.

    InvalidInput at /rule/dictionary if they do and none is named, or if it does not fit the dataset; NotFound
    if there is no such dictionary.
    """
    if not needs_population(definition) or not isinstance(
        definition, TableLevelDefinition | AtLeastDefinition
    ):
        return None
    if definition.dictionary is None:
        raise InvalidInput.of(
            "/rule/dictionary",
            "missing",
            "A criterion compares the classes with a population, which is one dictionary.",
            "Name a dictionary that lists it.",
        )
    async with store.work(tenant) as work:
        stored = await work.resources.get(Kind.DICTIONARY, definition.dictionary)
    linked = await loader.dictionary(tenant, stored, dataset, "/rule/dictionary")
    return SuppressingPopulation(stored, linked)


def needs_population(definition: RuleDefinition) -> bool:
    """Whether a criterion by which the rule suppresses compares its classes with a population."""
    if not isinstance(definition, TableLevelDefinition | AtLeastDefinition):
        return False
    suppression = definition.suppression
    return isinstance(suppression, ClassSuppression) and suppression.needs_population


def notes_on(definition: RuleDefinition) -> Sequence[str]:
    """What is ignored of the definition, in words."""
    if not isinstance(definition, TableLevelDefinition | AtLeastDefinition):
        return ()
    below: Sequence[str] = ()
    if isinstance(definition, AtLeastDefinition) and not isinstance(definition.rule, str):
        below = notes_on(definition.rule)
    if definition.dictionary is None or needs_population(definition):
        return below
    return (
        *below,
        f"The dictionary {definition.dictionary!r} is ignored: no criterion of the rule compares its classes "
        "with a population.",
    )
