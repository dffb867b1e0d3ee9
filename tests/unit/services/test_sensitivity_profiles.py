from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from app.domain.errors import InvalidInput, NotFound
from app.services.resources import Stored
from app.services.sensitivity_profiles import ConstantWeight, LeafWeights, NodeWeights, Overrides
from tests.unit.services.world import World, declare

pytestmark = pytest.mark.anyio

WEIGHTS = {"city": ConstantWeight(1.0), "birth_date": LeafWeights(2.0), "income": ConstantWeight(4.0)}


async def phi(world: World, profile: Stored, dataset: Stored) -> list[float]:
    """Φ of every record shown as it is."""
    table = await world.loader.table(world.actor.tenant, dataset)
    sensitivity = await world.loader.sensitivity(world.actor.tenant, profile, dataset)
    return [float(value) for value in sensitivity.phi(table.codes, sensitivity.groups)]


async def test_weights_are_summed_over_what_is_disclosed(world: World) -> None:
    dataset = await world.members()
    profile = (await world.profile("p", family="linear", attributes=WEIGHTS)).resource
    assert await phi(world, profile, dataset) == [7.0, 7.0, 5.0, 6.0]
    assert profile.summary["attributes"]["birth_date"] == {"kind": "leaves", "min": 2.0, "max": 2.0}


async def test_every_kind_of_weight_is_accepted_infinite_ones_too(world: World) -> None:
    dataset = await world.members()
    attributes = {
        "city": NodeWeights(
            {"Lafayette": 3, "Dayton": 2, "Indiana": 1, "Chicago": math.inf, "Evanston": 2, "Illinois": 2}
        ),
        "birth_date": ConstantWeight(0.0),
        "income": LeafWeights({"48": 1.0, "52": 10.0}),
    }
    profile = (await world.profile("p", family="linear", attributes=attributes)).resource
    assert await phi(world, profile, dataset) == [13.0, math.inf, 3.0, 10.0]
    assert profile.summary["attributes"]["city"]["max"] == "inf"
    assert profile.document is not None
    assert profile.document["attributes"]["city"]["nodes"]["Chicago"] == "inf"


async def test_entities_and_groups_have_weights_of_their_own(world: World) -> None:
    dataset = await world.members()
    await world.upload("w", "who,what,weight\nm1,city,10\nm1,income,0\nm3,city,inf\n")
    by_entity = Overrides("w", "entity", "who", "what", "weight")
    profile = (
        await world.profile("p", family="linear_personal", attributes=WEIGHTS, overrides=by_entity)
    ).resource
    assert await phi(world, profile, dataset) == [12.0, 7.0, math.inf, 6.0]
    await world.upload("g", "who,what,weight\nb,birth_date,20\n")
    by_group = Overrides("g", "group", "who", "what", "weight", "group")
    profile = (
        await world.profile("q", family="linear_personal", attributes=WEIGHTS, overrides=by_group)
    ).resource
    assert await phi(world, profile, dataset) == [7.0, 25.0, 5.0, 24.0]
    assert profile.summary["overrides"] == {"upload": "g", "by": "group", "rows": 1}


async def test_rows_name_entities_of_a_dataset_without_identifier(world: World) -> None:
    await world.upload("members", "a\nx\ny\n")
    dataset = (await world.dataset("members", "members", declare("a"))).resource
    await world.upload("w", "row,what,weight\n2,a,5\n")
    overrides = Overrides("w", "entity", "row", "what", "weight")
    profile = (
        await world.profile(
            "p", family="linear_personal", attributes={"a": ConstantWeight(1)}, overrides=overrides
        )
    ).resource
    assert await phi(world, profile, dataset) == [1.0, 5.0]


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ("secret,city,1", "unknown-key"),
        ("m1,group,1", "unknown-attribute"),
        ("m1,city,-1", "invalid-weight"),
        ("m1,city,nan", "invalid-weight"),
        ("m1,city,much", "invalid-weight"),
        ("m1,city,1_0", "invalid-weight"),
        ("m1,city,1e400", "invalid-weight"),
        ("m1,city,", "invalid-weight"),
        ("m1,city,1\nm1,city,2", "duplicate-override"),
    ],
)
async def test_bad_overrides_are_refused_by_row(world: World, rows: str, code: str) -> None:
    await world.members()
    await world.upload("w", f"who,what,weight\nm2,city,1\n{rows}\n")
    with pytest.raises(InvalidInput) as caught:
        await world.profile(
            "p",
            family="linear_personal",
            attributes=WEIGHTS,
            overrides=Overrides("w", "entity", "who", "what", "weight"),
        )
    fault = caught.value.faults[0]
    assert fault.code == code
    assert f"in row {1 + rows.count(chr(10)) + 1}" in fault.message
    assert "secret" not in fault.message


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"family": "linear", "attributes": {"city": ConstantWeight(1)}}, "missing-attribute"),
        ({"family": "linear", "attributes": {**WEIGHTS, "note": ConstantWeight(1)}}, "unknown-attribute"),
        ({"family": "linear", "attributes": {**WEIGHTS, "city": ConstantWeight(-1)}}, "negative-weight"),
        (
            {"family": "linear", "attributes": {**WEIGHTS, "city": ConstantWeight(math.nan)}},
            "negative-weight",
        ),
        ({"family": "linear", "attributes": {**WEIGHTS, "city": LeafWeights({"Rome": 1})}}, "unknown-value"),
        (
            {
                "family": "linear",
                "attributes": {
                    **WEIGHTS,
                    "city": NodeWeights(
                        dict.fromkeys(("Lafayette", "Dayton", "Chicago", "Evanston", "Indiana"), 1.0)
                        | {"Illinois": 2.0}
                    ),
                },
            },
            "not-monotone",
        ),
        ({"family": "linear", "attributes": WEIGHTS, "constant": 1.0}, "constant-not-used"),
        ({"family": "constant", "attributes": WEIGHTS}, "weights-not-used"),
        ({"family": "constant", "attributes": {}, "constant": -1.0}, "negative-weight"),
        (
            {
                "family": "linear_personal",
                "attributes": WEIGHTS,
                "overrides": Overrides("members", "group", "note", "note", "note"),
            },
            "wrong-group-attribute",
        ),
        (
            {
                "family": "linear_personal",
                "attributes": WEIGHTS,
                "overrides": Overrides("members", "group", "note", "note", "note", "town"),
            },
            "unknown-attribute",
        ),
        (
            {
                "family": "linear_personal",
                "attributes": WEIGHTS,
                "overrides": Overrides("members", "entity", "who", "note", "note"),
            },
            "unknown-column",
        ),
    ],
)
async def test_bad_profiles_are_refused_by_name(world: World, arguments: dict[str, Any], code: str) -> None:
    await world.members()
    with pytest.raises(InvalidInput) as caught:
        await world.profile("p", **arguments)
    assert caught.value.faults[0].code == code
    with pytest.raises(NotFound):
        await world.profiles.get(world.actor, "p")


async def test_a_profile_belongs_to_its_dataset(world: World) -> None:
    await world.members()
    profile = (await world.profile("p", family="linear", attributes=WEIGHTS)).resource
    other = (await world.dataset("other", "members", declare("city", hierarchy="city"))).resource
    with pytest.raises(InvalidInput) as caught:
        await world.loader.sensitivity(world.actor.tenant, profile, other)
    assert caught.value.faults[0].code == "other-dataset"


async def test_constant_and_multiplicative_families(world: World) -> None:
    dataset = await world.members()
    constant = (await world.profile("c", family="constant", attributes={}, constant=3.0)).resource
    assert await phi(world, constant, dataset) == [3.0] * 4
    product = (await world.profile("m", family="multiplicative", attributes=WEIGHTS)).resource
    np.testing.assert_allclose(await phi(world, product, dataset), np.exp([7.0, 7.0, 5.0, 6.0]))
    assert product.summary["warnings"]
