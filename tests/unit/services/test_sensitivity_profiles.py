from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from app.domain.errors import InvalidInput, NotFound
from app.domain.sensitivity.interactions import GivenInteraction, GivenInteractions
from app.domain.sensitivity.normalisation import Normalisation
from app.services.resources import Stored
from app.services.scoring.sensitivity_profiles import ConstantWeight, LeafWeights, NodeWeights, Overrides
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


async def test_overrides_of_entities_that_the_dataset_lacks_are_ignored_and_counted(world: World) -> None:
    """One list serves several deliveries; whoever mistyped the key column is told how many rows that is."""
    dataset = await world.members()
    harms = []
    for name, rows in (("own", ""), ("more", "secret,city,9\nsecret,city,9\nother,city,1\n")):
        await world.upload(f"{name}-weights", f"who,what,weight\nm2,city,1\n{rows}")
        overrides = Overrides(f"{name}-weights", "entity", "who", "what", "weight")
        family = {"family": "linear_personal", "attributes": WEIGHTS, "overrides": overrides}
        profile = (await world.profile(name, **family)).resource
        harms.append(await phi(world, profile, dataset))
        warned = [own for own in profile.summary["warnings"] if "Ignored" in own]
        assert ["3 rows" in own for own in warned] == ([True] if rows else [])
        assert "secret" not in str(warned)
    assert harms[0] == harms[1]


@pytest.mark.parametrize(
    ("rows", "code"),
    [
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
    assert len(product.summary["warnings"]) == 1


async def test_weights_whose_exp_is_infinite_are_warned_of(world: World) -> None:
    dataset = await world.members()
    for city, sums in ((ConstantWeight(703.0), 0), (ConstantWeight(800.0), 1), (ConstantWeight(math.inf), 0)):
        attributes = {**WEIGHTS, "city": city}
        profile = (
            await world.profile(f"p{city.weight}", family="multiplicative_centered", attributes=attributes)
        ).resource
        assert sum("709" in warning for warning in profile.summary["warnings"]) == sums
        if sums:
            assert math.isinf((await phi(world, profile, dataset))[0])


async def test_weights_of_entities_come_before_those_of_their_groups(world: World) -> None:
    dataset = await world.members()
    await world.upload("g", "who,what,weight\na,city,10\na,income,20\nb,city,30\n")
    await world.upload("w", "who,what,weight\nm1,city,100\nm4,birth_date,7\n")
    both = (
        Overrides("w", "entity", "who", "what", "weight"),
        Overrides("g", "group", "who", "what", "weight", "group"),
    )
    for name, overrides in (("p", both), ("q", both[::-1])):
        profile = (
            await world.profile(name, family="linear_personal", attributes=WEIGHTS, overrides=overrides)
        ).resource
        # Record 3 lacks its birth date, record 4 its city.
        assert await phi(world, profile, dataset) == [100 + 2 + 20, 30 + 2 + 4, 10 + 20, 7 + 4]
        assert {one["upload"] for one in profile.summary["overrides"]} == {"g", "w"}


async def test_two_overrides_of_one_kind_are_refused(world: World) -> None:
    await world.members()
    await world.upload("w", "who,what,weight\nm1,city,100\n")
    twice = (Overrides("w", "entity", "who", "what", "weight"),) * 2
    with pytest.raises(InvalidInput) as caught:
        await world.profile("p", family="linear_personal", attributes=WEIGHTS, overrides=twice)
    assert [fault.code for fault in caught.value.faults] == ["duplicate-overrides"]


async def test_words_stand_for_weights_where_the_profile_says_so(world: World) -> None:
    dataset = await world.members()
    await world.upload("w", "who,what,weight\nm1,city,very private\nm2,city,not private\nm3,city,1.5\n")
    labels = {"very private": math.inf, "not private": 0.0}
    overrides = Overrides("w", "entity", "who", "what", "weight", labels=labels)
    profile = (
        await world.profile("p", family="linear_personal", attributes=WEIGHTS, overrides=overrides)
    ).resource
    assert await phi(world, profile, dataset) == [math.inf, 6.0, 5.5, 6.0]
    with pytest.raises(InvalidInput) as caught:
        await world.profile(
            "q",
            family="linear_personal",
            attributes=WEIGHTS,
            overrides=Overrides("w", "entity", "who", "what", "weight", labels={"private": 1.0}),
        )
    assert caught.value.faults[0].code == "invalid-weight"
    assert "in rows 1, 2" in caught.value.faults[0].message
    assert "private" in caught.value.faults[0].remedy


def together(*sets: tuple[tuple[str, ...], float], **options: Any) -> GivenInteractions:
    return GivenInteractions(tuple(GivenInteraction(names, weight) for names, weight in sets), **options)


async def test_interactions_may_differ_between_entities_and_groups(world: World) -> None:
    dataset = await world.members()
    await world.upload("g", "who,what,weight\nb,city & income,0.5\n")
    await world.upload("w", "who,what,weight\nm2,birth_date & city,inf\nm3,income & city,9\n")
    profile = (
        await world.profile(
            "p",
            family="interactions",
            attributes=WEIGHTS,
            interactions=together((("income", "city"), 0.25), (("city", "birth_date"), 0.125)),
            overrides=(
                Overrides("g", "group", "who", "what", "weight", "group"),
                Overrides("w", "entity", "who", "what", "weight"),
            ),
        )
    ).resource
    assert await phi(world, profile, dataset) == [7.375, math.inf, 14.0, 6.0]
    assert profile.summary["interactions"] == {"sets": 2, "order": 2, "min": 0.125, "max": 0.25}


async def test_negative_overrides_are_for_interactions_that_allow_them(world: World) -> None:
    dataset = await world.members()
    await world.upload("w", "who,what,weight\nm1,city & income,-1\n")
    arguments: dict[str, Any] = {
        "family": "interactions",
        "attributes": WEIGHTS,
        "overrides": Overrides("w", "entity", "who", "what", "weight"),
    }
    with pytest.raises(InvalidInput) as caught:
        await world.profile("p", **arguments, interactions=together((("city", "income"), 0.0)))
    assert [fault.code for fault in caught.value.faults] == ["negative-interaction"]
    allowed = together((("city", "income"), 0.0), allow_negative=True)
    profile = (await world.profile("p", **arguments, interactions=allowed)).resource
    assert await phi(world, profile, dataset) == [6.0, 7.0, 5.0, 6.0]
    await world.upload("worse", "who,what,weight\nm1,city & income,-1.5\n")
    arguments["overrides"] = Overrides("worse", "entity", "who", "what", "weight")
    with pytest.raises(InvalidInput) as caught:
        await world.profile("q", **arguments, interactions=allowed)
    assert [(f.pointer, f.code) for f in caught.value.faults] == [("/interactions/city", "not-monotone")]
    assert "first rows: 1)" in caught.value.faults[0].message


async def test_a_set_that_is_named_like_an_attribute_is_refused_beside_overrides(world: World) -> None:
    await world.upload("odd", "a,b,a & b\n1,2,3\n")
    await world.dataset("members", "odd", declare("a"), declare("b"), declare("a & b"))
    await world.upload("w", "who,what,weight\n1,a & b,1\n")
    with pytest.raises(InvalidInput) as caught:
        await world.profile(
            "p",
            family="interactions",
            attributes=dict.fromkeys(("a", "b", "a & b"), ConstantWeight(1.0)),
            interactions=together((("b", "a"), 1.0)),
            overrides=Overrides("w", "entity", "who", "what", "weight"),
        )
    assert [fault.code for fault in caught.value.faults] == ["ambiguous-interaction"]


async def test_overrides_that_would_not_fit_in_memory_are_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.scoring.sensitivity_building._MOST_CELLS", 5)
    await world.members()
    await world.upload("w", "who,what,weight\nm1,city,1\n")
    with pytest.raises(InvalidInput) as caught:
        await world.profile(
            "p",
            family="linear_personal",
            attributes=WEIGHTS,
            overrides=Overrides("w", "entity", "who", "what", "weight"),
        )
    assert [fault.code for fault in caught.value.faults] == ["too-many-overrides"]


async def test_a_normalisation_is_reported_with_the_number_it_concerned(world: World) -> None:
    dataset = await world.members()
    to = Normalisation("at_most", 5.5, "rescale")
    profile = (
        await world.profile("p", family="linear_personal", attributes=WEIGHTS, normalisation=to)
    ).resource
    assert await phi(world, profile, dataset) == pytest.approx([5.5, 5.5, 5.0, 5.5])
    assert profile.summary["normalisation"] == {
        "rule": "at_most",
        "total": 5.5,
        "mode": "rescale",
        "rescaled": 3,
    }
    with pytest.raises(InvalidInput) as caught:
        await world.profile(
            "q",
            family="linear_personal",
            attributes=WEIGHTS,
            normalisation=Normalisation("equal", 6.0, "validate"),
        )
    above, below = caught.value.faults
    assert (above.code, below.code) == ("weights-above-total", "weights-below-total")
    assert "2 entities" in above.message
    assert "first rows: 1, 2)" in above.message
    assert "by up to 1 (first rows: 3)" in below.message
    assert "m3" not in below.message


async def test_a_top_with_a_weight_is_accepted_only_when_asked_for(world: World) -> None:
    dataset = await world.members()
    cities = dict.fromkeys(("Lafayette", "Dayton", "Chicago", "Evanston", "Indiana", "Illinois"), 1.0)
    attributes = {**WEIGHTS, "city": NodeWeights({**cities, "*": 0.5})}
    with pytest.raises(InvalidInput) as caught:
        await world.profile("p", family="linear", attributes=attributes)
    assert [fault.code for fault in caught.value.faults] == ["positive-top"]
    profile = (
        await world.profile("p", family="linear", attributes=attributes, allow_positive_top=True)
    ).resource
    assert await phi(world, profile, dataset) == [7.0, 7.0, 5.0, 6.5]
    assert "suppressed" in profile.summary["warnings"][0]


async def test_unit_and_viewpoint_are_part_of_what_a_profile_says(world: World) -> None:
    await world.members()
    plain = (await world.profile("p", family="linear", attributes=WEIGHTS)).resource
    said = await world.profile(
        "q", family="linear", attributes=WEIGHTS, unit="euro", viewpoint="organisation"
    )
    assert (said.resource.summary["unit"], said.resource.summary["viewpoint"]) == ("euro", "organisation")
    assert said.resource.sha256 != plain.sha256
    assert (plain.summary["unit"], plain.summary["viewpoint"]) == (None, None)
    assert {"unit", "viewpoint", "interactions", "normalisation"}.isdisjoint(plain.document or {})


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"family": "interactions", "attributes": WEIGHTS}, "missing-interactions"),
        (
            {
                "family": "linear",
                "attributes": WEIGHTS,
                "interactions": together((("city", "income"), 1.0)),
            },
            "interactions-not-used",
        ),
        (
            {
                "family": "constant",
                "attributes": {},
                "normalisation": Normalisation("equal", 1.0, "rescale"),
            },
            "weights-not-used",
        ),
        (
            {
                "family": "linear",
                "attributes": WEIGHTS,
                "normalisation": Normalisation("equal", math.inf, "rescale"),
            },
            "invalid-total",
        ),
    ],
)
async def test_options_that_a_family_does_not_have_are_refused(
    world: World, arguments: dict[str, Any], code: str
) -> None:
    await world.members()
    with pytest.raises(InvalidInput) as caught:
        await world.profile("p", **arguments)
    assert [fault.code for fault in caught.value.faults] == [code]
