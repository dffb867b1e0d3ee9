from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.domain.counting.counter import Counter
from app.domain.dictionaries.dictionary import Dictionary, own_rows
from app.domain.errors import Conflict, InvalidInput, NotFound
from app.domain.risk.assessment import assess
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import identity
from app.domain.sensitivity.sensitivity import constant_sensitivity
from app.services.datasets.dataset_schema import AttributeType, Role
from app.services.datasets.dictionaries import AgeTransform, IdentityTransform, Link, LookupTransform
from app.services.resources import Stored
from tests.unit.services.world import CENSUS, ZIPS, World, declare

pytestmark = pytest.mark.anyio

REFERENCE = "2009-01-01"
CITY_LINK = Link("city", "zip", "city", LookupTransform(table=ZIPS, missing_entry="elsewhere"))
AGE_LINK = Link("birth_date", "age", "birth-date", AgeTransform(REFERENCE))


async def census(world: World, *links: Link, **rest: Any) -> Stored:
    await world.upload("census", CENSUS)
    return (await world.dictionary("census", "census", links=links, identifier="person_id", **rest)).resource


async def linked(world: World, dictionary: Stored, dataset: Stored) -> Dictionary:
    return await world.loader.dictionary(world.actor.tenant, dictionary, dataset)


async def counts(world: World, dictionary: Stored, dataset: Stored) -> list[int]:
    """Consistent entities of every record shown as it is."""
    table = await world.loader.table(world.actor.tenant, dataset)
    counter = Counter(table, await linked(world, dictionary, dataset))
    return [int(count) for count in counter.count_records(table.codes, (0,) * table.n_attributes).values]


async def test_entities_are_counted_through_lookup_and_age(world: World) -> None:
    dataset = await world.members()
    dictionary = await census(world, CITY_LINK, AGE_LINK)
    # m1: Lafayette, 33 years old at the date; m2: Chicago, 32 or unknown; m3: Dayton, nobody;
    # m4: no city, 33 or unknown, the entity from elsewhere included.
    assert await counts(world, dictionary, dataset) == [1, 1, 0, 3]
    assert dictionary.summary["links"] == [
        {
            "attribute": "city",
            "column": "zip",
            "hierarchy": "city",
            "transform": "lookup",
            "missing": 0,
            "elsewhere": 1,
        },
        {
            "attribute": "birth_date",
            "column": "age",
            "hierarchy": "birth-date",
            "transform": "age",
            "missing": 1,
            # Leaves of 1975 and 1976 allow the ages 32 and 33 at the date, 34 only on one day more.
            "elsewhere": 0,
        },
    ]
    assert "1 values" in dictionary.summary["warnings"][0]


async def test_a_lookup_may_come_from_an_upload(world: World) -> None:
    dataset = await world.members()
    await world.upload("zips", "zip,place\n47901,Lafayette\n60601,Chicago\n99999,\n")
    transform = LookupTransform(upload="zips", key="zip", value="place")
    dictionary = await census(world, Link("city", "zip", "city", transform))
    assert await counts(world, dictionary, dataset) == [3, 3, 1, 5]
    with pytest.raises(Conflict):
        await world.uploads.delete(world.actor, "zips")


async def test_a_lookup_without_an_entry_is_an_error_unless_chosen_otherwise(world: World) -> None:
    dataset = await world.members()
    for missing_entry, expected in (("missing", [3, 3, 1, 5]), ("elsewhere", [2, 2, 0, 5])):
        transform = LookupTransform(table=ZIPS, missing_entry=missing_entry)  # type: ignore[arg-type]
        name = f"census-{missing_entry}"
        await world.upload("census", CENSUS)
        link = Link("city", "zip", "city", transform)
        dictionary = (await world.dictionary(name, "census", links=(link,))).resource
        assert await counts(world, dictionary, dataset) == expected
    for hierarchy in ("city", None):
        with pytest.raises(InvalidInput) as caught:
            await world.dictionary(
                "d", "census", links=(Link("city", "zip", hierarchy, LookupTransform(table=ZIPS)),)
            )
        assert caught.value.faults[0].code == "missing-entry"
        assert "99999" not in str(caught.value.faults)


async def test_an_ambiguous_lookup_is_refused_by_row(world: World) -> None:
    await world.members()
    await world.upload("zips", "zip,place\n47901,Lafayette\n47901,Dayton\n")
    with pytest.raises(InvalidInput, match="in row 2") as caught:
        await census(
            world, Link("city", "zip", "city", LookupTransform(upload="zips", key="zip", value="place"))
        )
    assert "47901" not in str(caught.value.faults)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"upload": "census"}, "nothing-linked"),
        ({"upload": "census", "links": (Link("city", "zip"), Link("city", "age"))}, "duplicate-link"),
        ({"upload": "census", "links": (Link("city", "town"),)}, "unknown-column"),
        ({"upload": "census", "links": (Link("city", "zip"),), "identifier": "id"}, "unknown-column"),
        ({"upload": "census", "links": (Link("city", "zip"),), "identifier": "zip"}, "duplicate-identifier"),
        ({"upload": "census", "links": (Link("city", "zip"),), "identifier": "age"}, "missing-identifier"),
        ({"upload": "census", "links": (Link("b", "age", None, AgeTransform("soon")),)}, "not-a-date"),
        ({"upload": "census", "links": (Link("b", "zip", None, AgeTransform(REFERENCE)),)}, "not-an-age"),
        ({"upload": "census", "links": (Link("b", "zip", None, LookupTransform()),)}, "wrong-lookup"),
        (
            {"upload": "census", "links": (Link("b", "zip", None, LookupTransform(table={}, key="x")),)},
            "wrong-lookup",
        ),
        (
            {"upload": "census", "links": (Link("city", "zip"),), "same_entities_as": "members"},
            "other-entities",
        ),
        ({"upload": "census", "from_dataset": "members"}, "contradiction"),
    ],
)
async def test_bad_dictionaries_are_refused_by_name(
    world: World, arguments: dict[str, Any], code: str
) -> None:
    await world.members()
    await world.upload("census", CENSUS)
    with pytest.raises(InvalidInput) as caught:
        await world.dictionary("d", **arguments)
    assert caught.value.faults[0].code == code
    with pytest.raises(NotFound):
        await world.dictionaries.get(world.actor, "d")


async def test_links_must_fit_the_dataset_that_the_dictionary_is_used_with(world: World) -> None:
    dataset = await world.members()
    await world.upload("census", CENSUS)
    unknown = (await world.dictionary("unknown", "census", links=(Link("town", "zip"),))).resource
    with pytest.raises(InvalidInput) as caught:
        await linked(world, unknown, dataset)
    (fault,) = caught.value.faults
    assert (fault.pointer, fault.code) == ("/dictionary", "unknown-attribute")
    assert "The dictionary 'unknown' links 'town'" in fault.message
    other = (await world.dictionary("other", "census", links=(Link("income", "age", "city"),))).resource
    with pytest.raises(InvalidInput) as caught:
        await linked(world, other, dataset)
    assert caught.value.faults[0].code == "other-hierarchy"
    assert other.summary["links"][0]["elsewhere"] == 4


async def test_a_link_without_hierarchy_takes_the_datasets(world: World) -> None:
    dataset = await world.members()
    await world.upload("salaries", "income\n52\n52\n48\n99\n")
    dictionary = (await world.dictionary("salaries", "salaries", links=(Link("income", "income"),))).resource
    assert dictionary.summary["links"][0]["elsewhere"] is None
    assert (await linked(world, dictionary, dataset)).elsewhere == {"income": 1}
    assert await counts(world, dictionary, dataset) == [2, 2, 1, 2]


async def test_an_empty_dictionary_is_allowed_with_a_warning(world: World) -> None:
    dataset = await world.members()
    await world.upload("empty", "zip\n")
    dictionary = (await world.dictionary("empty", "empty", links=(Link("city", "zip", "city"),))).resource
    assert dictionary.summary["warnings"]
    assert await counts(world, dictionary, dataset) == [0, 0, 0, 0]


async def test_a_dataset_is_its_own_dictionary(world: World) -> None:
    dataset = await world.members()
    dictionary = (await world.dictionary("self", from_dataset="members")).resource
    own = await linked(world, dictionary, dataset)
    assert own.comparable_ids
    assert own.attributes == ("city", "birth_date", "income")
    assert await counts(world, dictionary, dataset) == [2, 1, 1, 2]
    assert dictionary.summary["entities"] == 4


async def test_identifiers_are_comparable_only_where_declared(world: World) -> None:
    dataset = await world.members()
    with_ids = await census(world, CITY_LINK)
    assert (await linked(world, with_ids, dataset)).comparable_ids
    without = (await world.dictionary("without", "census", links=(CITY_LINK,))).resource
    assert not (await linked(world, without, dataset)).comparable_ids
    await world.upload("bare", "city\nChicago\n")
    bare = (await world.dataset("bare", "bare", declare("city", hierarchy="city"))).resource
    assert not (await linked(world, with_ids, bare)).comparable_ids


async def test_rows_are_the_same_entities_where_declared_so(world: World) -> None:
    await world.upload("u", "age\n30\n40\n40\n")
    dataset = (await world.dataset("d", "u", declare("age", Role.SENSITIVE, AttributeType.NUMBER))).resource
    await world.upload("v", "age\n30\n40\n50\n")
    link = Link("age", "age", None, IdentityTransform())
    same = (await world.dictionary("same", "v", links=(link,), same_entities_as="d")).resource
    table = await world.loader.table(world.actor.tenant, dataset)
    dictionary = await linked(world, same, dataset)
    assert dictionary.comparable_ids
    found = assess(
        table, identity(1), dictionary, constant_sensitivity(table), build_utility(table), "add_self"
    )
    # Row 3 is 50 in the dictionary, so its own entity is added to the one consistent with 40.
    np.testing.assert_array_equal(found.records.counts, [1, 1, 2])


async def test_records_are_no_entities_where_a_column_names_the_persons(world: World) -> None:
    await world.upload("u", "visit,pid,age\nv1,p1,30\nv2,p1,40\nv3,p2,40\n")
    await world.upload("v", "id,age\nv1,30\nv2,40\nv3,50\n")
    link = Link("age", "age", None, IdentityTransform())
    age = declare("age", Role.SENSITIVE, AttributeType.NUMBER)
    visit, pid = (
        declare(name, role, AttributeType.TEXT)
        for name, role in (("visit", Role.IDENTIFIER), ("pid", Role.PERSON))
    )
    for name, columns, are_entities in (
        ("records", [visit, age], True),
        ("persons", [visit, pid, age], False),
    ):
        dataset = (await world.dataset(name, "u", *columns)).resource
        by_id = await world.dictionary(f"{name}-id", "v", links=(link,), identifier="id")
        by_row = await world.dictionary(f"{name}-row", "v", links=(link,), same_entities_as=name)
        for made in (by_id, by_row):
            dictionary = await linked(world, made.resource, dataset)
            assert dictionary.comparable_ids is are_entities
    table = await world.loader.table(world.actor.tenant, dataset)
    with pytest.raises(InvalidInput) as caught:
        own_rows(table, dictionary)
    assert caught.value.faults[0].code == "ids-not-comparable"


async def test_the_hash_of_a_dictionary_covers_what_it_uses(world: World) -> None:
    await world.members()
    first = await census(world, CITY_LINK)
    other = World(type(world.store)(), world.actor)
    await other.members()
    assert (await census(other, CITY_LINK)).sha256 == first.sha256
    renamed = Link("city", "zip", "city", LookupTransform(table={**ZIPS, "99999": "Dayton"}))
    assert (await other.dictionary("d", "census", links=(renamed,))).resource.sha256 != first.sha256
