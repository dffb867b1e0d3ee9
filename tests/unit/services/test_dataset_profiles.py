"""Profiles: which values are shown, and that nothing is read for what is known already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.services.datasets import datasets
from app.services.datasets.dataset_profiles import MOST_SHOWN, profile_of
from app.services.datasets.dataset_schema import Role
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


async def test_a_profile_of_an_earlier_version_is_made_anew_with_its_signs(world: World, monkeypatch):
    dataset = await world.members()
    expected = await DatasetService(world.store, TableLoader(world.store)).profile(world.actor, dataset.name)
    assert expected.person_signs is not None
    assert datasets.Profile.from_json(expected.to_json()) == expected
    old = {key: own for key, own in expected.to_json().items() if key != "person_signs"}
    async with world.store.work(world.actor.tenant) as work:
        monkeypatch.setattr(type(work.results), "find", lambda *_: _answer(old))
    found = await DatasetService(world.store, TableLoader(world.store)).profile(world.actor, dataset.name)
    assert found == expected


async def _answer(document):
    return document
