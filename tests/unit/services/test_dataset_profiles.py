"""Profiles: which values are shown, and that nothing is read for what is known already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.services.datasets import datasets
from app.services.datasets.dataset_making import CreateDataset
from app.services.datasets.dataset_profiles import MOST_SHOWN, Profile, profile_of
from app.services.datasets.dataset_schema import AttributeType, Role
from app.services.datasets.datasets import DatasetService
from app.services.datasets.tables import TableLoader
from app.services.datasets.text_columns import TextColumn
from app.services.resources import Scope
from tests.unit.services.world import World, declare

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("distinct", [1, MOST_SHOWN - 1, MOST_SHOWN, MOST_SHOWN + 1, 5 * MOST_SHOWN])
@pytest.mark.parametrize("most_rows", [1, 2, 40])
def test_the_most_frequent_values_come_first_and_equal_ones_by_their_text(distinct: int, most_rows: int):
    drawn = np.random.default_rng(distinct + most_rows)
    values = tuple(f"v{i}" for i in drawn.permutation(distinct))
    rows = drawn.integers(1, most_rows + 1, distinct)
    column = TextColumn(values, drawn.permutation(np.repeat(np.arange(distinct), rows)).astype(np.int32))
    (own,) = profile_of([declare("a", Role.OTHER)], {"a": column}, ()).attributes
    expected = sorted(zip(values, rows.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0]))
    assert own.frequent is not None
    assert [(count.value, count.rows) for count in own.frequent] == expected[:MOST_SHOWN]
    assert (own.distinct, own.unknown) == (distinct, ())


@pytest.mark.parametrize(
    ("values", "cells", "rarest"),
    [
        (("flu", "cold"), [0, 0, 0, 1, 1], 2),
        (("flu", "cold"), [0, 0, 0, 1, 1, -1], 1),
        # What a person reads as one value is one.
        (("flu", "Flu ", "cold"), [0, 0, 1, 2, 2, 2, 2], 3),
        ((), [-1, -1], 2),
    ],
)
def test_the_rarest_sensitive_value_is_counted_as_criteria_count_it(values, cells, rarest):
    column = TextColumn(values, np.array(cells, dtype=np.int32))
    roles = {"a": Role.SENSITIVE, "b": Role.QUASI_IDENTIFIER}
    declared = [declare(name, role) for name, role in roles.items()]
    found = profile_of(declared, dict.fromkeys(roles, column), ())
    assert [own.rarest for own in found.attributes] == [rarest, None]
    assert Profile.from_json(found.to_json()) == found
    before = {
        **found.to_json(),
        "attributes": [_without_rarest(own) for own in found.to_json()["attributes"]],
    }
    assert [own.rarest for own in Profile.from_json(before).attributes] == [None, None]


def _without_rarest(attribute: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attribute.items() if name != "rarest"}


async def test_a_profile_is_made_with_its_dataset_and_read_by_whoever_may(world: World, monkeypatch):
    dataset = await world.members()
    fresh = DatasetService(world.store, TableLoader(world.store))
    expected = await fresh.profile(world.actor, dataset.name)
    blind = replace(world.actor, scopes=world.actor.scopes - {Scope.DATA_READ})
    few = await fresh.profile(world.actor, dataset.name, 1)
    monkeypatch.setattr(DatasetService, "_source", None)  # nothing may be read from now on
    for service in (fresh, world.datasets):
        assert await service.profile(world.actor, dataset.name) == expected
        assert await service.profile(world.actor, dataset.name, 1) == few == expected.shown(1)
        seen = await service.profile(blind, dataset.name)
        assert all(own.frequent is own.unknown is None for own in seen.attributes)
        assert [own.distinct for own in seen.attributes] == [own.distinct for own in expected.attributes]


async def test_a_stored_profile_is_what_would_be_made_of_the_cells(world: World, monkeypatch):
    dataset = await world.members()
    with monkeypatch.context() as unread:
        unread.setattr(DatasetService, "_source", None)
        stored = await DatasetService(world.store, TableLoader(world.store)).profile(
            world.actor, dataset.name
        )
    monkeypatch.setattr(datasets, "STORED_AS", "nothing")
    another = DatasetService(world.store, TableLoader(world.store))
    made = await another.profile(world.actor, dataset.name)
    assert stored == made
    assert any(own.frequent for own in made.attributes)


VISITS = "pid,region,sex,dx\n" + "".join(
    f"{n % 30},r{n % 30 % 8},{'mf'[n % 30 % 7 % 2]},d{n * 7 % 11}\n" for n in range(120)
)


async def test_signs_of_several_rows_per_person_are_kept_and_seen_without_reading_cells(
    world: World, monkeypatch
):
    await world.upload("u", VISITS)
    dataset = (await world.dataset("d", "u", declare("region"), declare("sex"), declare("dx"))).resource
    blind = replace(world.actor, scopes=world.actor.scopes - {Scope.DATA_READ})
    monkeypatch.setattr(DatasetService, "_source", None)  # nothing may be read from now on
    for service in (world.datasets, DatasetService(world.store, TableLoader(world.store))):
        found = (await service.profile(blind, "d")).person_signs
        assert (found.person, found.persons) == ("pid", 30)
    assert dataset.summary["warnings"][0].startswith("Nobody said what a row is")


async def test_profiles_that_were_stored_before_signs_were_looked_for_are_made_anew(world: World):
    await world.upload("u", VISITS)
    dataset = (await world.dataset("d", "u", declare("pid", Role.OTHER), declare("sex"))).resource
    async with world.store.work(world.actor.tenant) as work:
        stored = await work.results.find(datasets.STORED_AS, dataset.sha256)
        assert await work.results.find("dataset_profile", dataset.sha256) is None
    assert stored is not None
    assert stored["person_signs"]["person"] == "pid"


async def test_record_weights_and_what_rows_are_keep_signs_away(world: World):
    text = "w,region,sex,dx\n" + "".join(line + "\n" for line in VISITS.splitlines()[1:])
    await world.upload("u", text)
    rest = (declare("region"), declare("sex"), declare("dx"))
    await world.dataset("plain", "u", *rest)
    assert (await world.datasets.profile(world.actor, "plain")).person_signs.person == "w"
    await world.dataset("weighed", "u", declare("w", Role.WEIGHT, AttributeType.NUMBER), *rest)
    assert not (await world.datasets.profile(world.actor, "weighed")).person_signs.signs
    await world.datasets.create(world.actor, CreateDataset("said", "u", rest, "persons"))
    assert not (await world.datasets.profile(world.actor, "said")).person_signs.signs
