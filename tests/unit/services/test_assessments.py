from __future__ import annotations

import csv
import io
import json
import math

import pyarrow.parquet as pq
import pytest

from app.domain.errors import Conflict, DirectBudgetExceeded, Forbidden, InvalidInput, NotFound
from app.services.questions import DirectBudget
from app.services.resources import Actor, DataFormat, Kind, RunState, Scope
from app.services.rules.rule_definitions import (
    AtLeastDefinition,
    IdentityDefinition,
    SuppressionDefinition,
    TableLevelDefinition,
)
from app.services.rules.rules import CreateRule, RuleService
from app.services.scoring.assessment_work import AssessmentPreparation
from app.services.scoring.assessments import AssessmentService, CreateAssessment
from app.services.scoring.scoring_options import ScoringOptions
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.scoring_world import World, make_world

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(store: MemoryStore, actor: Actor) -> World:
    world = await make_world(store, actor)
    rules = RuleService(world.store, world.loader)
    await rules.create(actor, CreateRule("proposal", "members", TableLevelDefinition({"city": 1})))
    return world


def service(world: World, seconds: float = 60.0) -> AssessmentService:
    return AssessmentService(world.store, world.loader, DirectBudget(seconds=seconds))


def asked(rule=IdentityDefinition(), **changes) -> CreateAssessment:  # noqa: B008 - a frozen value
    fields = {"dataset": "members", "rule": rule, "dictionary": "census", "sensitivity": "members-harm"}
    return CreateAssessment(**(fields | changes))


async def read(stream) -> bytes:
    return b"".join([chunk async for chunk in stream.chunks])


async def test_a_score_is_what_the_definition_says(world: World, actor: Actor) -> None:
    made = await service(world).create(actor, asked(name="as-is"))
    # Two people are (Lafayette, White), one (Muncie, =Asian), two (Chicago, White), three of Lafayette.
    losses = [3 / 2, 3 / 1, 3 / 2, 1 / 3]
    result = made.result
    assert result["risk_average"] == pytest.approx(sum(losses) / 4, abs=1e-12)
    assert (result["risk_max"], result["min_consistent"], result["absent"]) == (3.0, 1, 0)
    assert result["loss_quantiles"]["0.5"] == 1.5
    assert result["utility_average"] == pytest.approx((3 + 3 + 3 + 2) / 4)
    assert (result["n_records"], result["n_entities"], result["classes"]) == (4, 8, 4)


async def test_a_mean_is_never_alone(world: World, actor: Actor) -> None:
    result = (await service(world).create(actor, asked())).result
    assert result.keys() >= {"risk_average", "risk_max", "risk_min", "loss_quantiles", "histogram"}
    assert set(result["loss_quantiles"]) == {"0.05", "0.25", "0.5", "0.75", "0.95", "0.99"}


async def test_infinite_risk_travels_as_text_and_nan_never(store: MemoryStore, actor: Actor) -> None:
    world = await make_world(store, actor, weight=math.inf)
    made = await service(world).create(actor, asked(name="as-is"))
    text = json.dumps(made.result, allow_nan=False)
    assert made.result["risk_average"] == "inf"
    assert made.result["infinite"] == 4
    assert "NaN" not in text
    stream = await service(world).records(actor, "as-is", DataFormat.JSON)
    assert [row["loss"] for row in json.loads(await read(stream))] == ["inf"] * 4


async def test_a_stored_rule_and_the_same_one_inline_are_one_assessment(world: World, actor: Actor) -> None:
    by_name = await service(world).create(actor, asked("proposal", name="score"))
    inline = await service(world).create(actor, asked(TableLevelDefinition({"city": 1}), name="score"))
    assert (by_name.created, inline.created) == (True, False)
    assert inline.resource.id == by_name.resource.id
    assert by_name.resource.summary["rule"] == {
        "name": "proposal",
        "kind": "table_level",
        "levels": {"city": 1, "race": 0},
        "records": None,
        "suppress_classes_below": None,
        "suppress_classes_failing": None,
        "missing": None,
        "suppressed": None,
    }


async def test_an_assessment_without_a_name_is_named_by_its_content(world: World, actor: Actor) -> None:
    first = await service(world).create(actor, asked())
    again = await service(world).create(actor, asked())
    assert first.resource.name.startswith("assessment-")
    assert (again.created, again.resource.name) == (False, first.resource.name)


async def test_what_was_computed_before_is_not_computed_again(
    world: World, actor: Actor, monkeypatch
) -> None:
    first = await service(world).create(actor, asked("proposal", name="one"))

    async def refuse(*arguments):
        raise AssertionError("loaded again")

    monkeypatch.setattr(world.loader, "dictionary", refuse)
    second = await service(world, seconds=0.0).create(actor, asked("proposal", name="two"))
    assert second.result == first.result
    assert second.resource.id != first.resource.id


@pytest.mark.parametrize(
    "change", [{"options": ScoringOptions(absent_policy="error")}, {"rule": SuppressionDefinition(("city",))}]
)
async def test_whatever_changes_the_result_changes_the_hash(world: World, actor: Actor, change) -> None:
    first = await service(world).create(actor, asked(name="one"))
    other = await service(world).create(actor, asked(**change, name="other"))
    assert first.resource.sha256 != other.resource.sha256


async def test_the_hash_covers_the_sources(world: World, actor: Actor) -> None:
    await world.add(Kind.DICTIONARY, "census-2", "f" * 64)
    one = await service(world).create(actor, asked(name="one"))
    two = await service(world).create(actor, asked(name="two", dictionary="census-2"))
    assert one.resource.sha256 != two.resource.sha256


async def test_too_much_work_is_refused_with_its_cost_and_leaves_nothing(world: World, actor: Actor) -> None:
    with pytest.raises(DirectBudgetExceeded) as refused:
        await service(world, seconds=0.0).create(actor, asked(name="big"))
    assert refused.value.cost.keys() == {"seconds", "bytes", "engine", "units"}
    assert not any(r.kind is Kind.ASSESSMENT for r in world.data().resources.values())


async def test_a_run_gives_the_result_of_the_direct_answer(world: World, actor: Actor) -> None:
    assessments = service(world)
    started = await assessments.create_run(actor, asked("proposal", name="by-run"))
    assert (started.created, started.run.state) == (True, RunState.QUEUED)
    assert world.data().queue == [started.run.id]
    assert (await assessments.view(actor, "by-run")).result is None

    prepare = AssessmentPreparation(world.store, world.loader)
    work = await prepare(actor.tenant, started.resource)
    told: list[int] = []
    blocks = {i: work.run_block(i, told.append) for i in range(work.n_blocks)}
    concluded = work.conclude(blocks)
    assert told[-1] == work.units
    assert concluded.rule is None
    direct = await assessments.create(actor, asked("proposal", name="direct"))
    assert direct.result == concluded.result


async def test_an_inline_rule_is_there_for_its_run(world: World, actor: Actor) -> None:
    started = await service(world).create_run(actor, asked(SuppressionDefinition(("race",))))
    work = await AssessmentPreparation(world.store, world.loader)(actor.tenant, started.resource)
    result = work.conclude({0: work.run_block(0, lambda units: None)}).result
    direct = await service(world).create(actor, asked(SuppressionDefinition(("race",)), name="direct"))
    assert result == direct.result


async def test_a_run_of_a_known_result_has_succeeded_and_is_not_queued(world: World, actor: Actor) -> None:
    await service(world).create(actor, asked(name="one"))
    started = await service(world).create_run(actor, asked(name="two"))
    assert started.run.state is RunState.SUCCEEDED
    assert world.data().queue == []


async def test_the_same_run_asked_for_twice_is_one_run(world: World, actor: Actor) -> None:
    first = await service(world).create_run(actor, asked(name="one"))
    again = await service(world).create_run(actor, asked(name="one"))
    assert (again.created, again.run.id) == (False, first.run.id)
    assert world.data().queue == [first.run.id]


async def test_a_dry_run_says_cost_and_route_and_stores_nothing(world: World, actor: Actor) -> None:
    before = dict(world.data().resources)
    plan = await service(world).plan(actor, asked("proposal"))
    assert (plan.route, plan.missing, plan.units) == ("direct", (), 4)
    assert plan.seconds > 0
    assert plan.bytes > 0
    assert plan.engine in {"cube", "sorted_keys"}
    assert (await service(world, seconds=0.0).plan(actor, asked("proposal"))).route == "run"
    assert world.data().resources == before
    assert world.data().results == {}


async def test_a_dry_run_lists_everything_that_is_missing(world: World, actor: Actor) -> None:
    plan = await service(world).plan(actor, asked("nothing", dictionary="nobody", sensitivity="none"))
    assert plan.route is None
    assert [(fault.pointer, fault.code) for fault in plan.missing] == [
        ("/dictionary", "unknown-reference"),
        ("/sensitivity", "unknown-reference"),
        ("/rule", "unknown-reference"),
    ]


async def test_a_dry_run_lists_what_only_a_definition_names(world: World, actor: Actor) -> None:
    plan = await service(world).plan(actor, asked(AtLeastDefinition("nothing", {"city": 1})))
    (fault,) = plan.missing
    assert (plan.route, fault.code) == (None, "unknown-reference")
    assert "'nothing'" in fault.message


async def test_a_dry_run_lists_a_dataset_that_needs_attention(world: World, actor: Actor) -> None:
    world.loader.needs_attention = True
    plan = await service(world).plan(actor, asked("proposal"))
    assert [(fault.pointer, fault.code) for fault in plan.missing] == [("/dataset", "needs-attention")]


async def test_add_self_is_refused_before_any_work_where_ids_say_nothing(world: World, actor: Actor) -> None:
    request = asked("proposal", options=ScoringOptions(absent_policy="add_self"), name="never")
    plan = await service(world).plan(actor, request)
    assert (plan.route, plan.missing[0].code) == (None, "ids-not-comparable")
    for refused in (service(world).create(actor, request), service(world).create_run(actor, request)):
        with pytest.raises(InvalidInput):
            await refused
    assert world.data().queue == []


async def test_records_come_in_every_format_with_the_same_numbers(world: World, actor: Actor) -> None:
    await service(world).create(actor, asked(name="as-is"))
    streams = {format: await service(world).records(actor, "as-is", format) for format in DataFormat}
    bodies = {format: await read(stream) for format, stream in streams.items()}
    rows = json.loads(bodies[DataFormat.JSON])
    assert rows[1] == {
        "row": 2, "entity": "m-2", "count": 1, "probability": 1.0, "phi": 3.0, "loss": 3.0, "utility": 3.0,
    }  # fmt: skip
    assert [row["count"] for row in rows] == [2, 1, 2, 3]
    table = pq.read_table(io.BytesIO(bodies[DataFormat.PARQUET]))
    assert table.to_pylist() == rows
    lines = list(csv.DictReader(io.StringIO(bodies[DataFormat.CSV].decode())))
    assert [float(line["loss"]) for line in lines] == [row["loss"] for row in rows]
    assert streams[DataFormat.CSV].filename == "as-is-records.csv"


async def test_the_mean_of_the_records_is_the_risk(world: World, actor: Actor) -> None:
    made = await service(world).create(actor, asked("proposal", name="score"))
    rows = json.loads(await read(await service(world).records(actor, "score", DataFormat.JSON)))
    assert math.fsum(row["loss"] for row in rows) / 4 == pytest.approx(made.result["risk_average"])


async def test_records_need_the_scope_and_a_result(world: World, actor: Actor) -> None:
    await service(world).create_run(actor, asked(name="waiting"))
    with pytest.raises(Conflict, match="no result yet"):
        await service(world).records(actor, "waiting", DataFormat.CSV)
    weak = Actor(actor.tenant, "k", frozenset({Scope.ASSESS}))
    with pytest.raises(Forbidden):
        await service(world).records(weak, "waiting", DataFormat.CSV)


async def test_assessing_needs_the_scope_and_its_sources(world: World, actor: Actor) -> None:
    weak = Actor(actor.tenant, "k", frozenset({Scope.DATA_READ, Scope.DATA_WRITE}))
    for refused in (
        service(world).create(weak, asked()),
        service(world).create_run(weak, asked()),
        service(world).plan(weak, asked()),
    ):
        with pytest.raises(Forbidden):
            await refused
    with pytest.raises(NotFound):
        await service(world).create(actor, asked(dictionary="nobody"))
    with pytest.raises(InvalidInput):
        await service(world).create(actor, asked(name="not a name"))


async def test_a_failed_write_leaves_neither_result_nor_trace(world: World, actor: Actor) -> None:
    await service(world).create(actor, asked(name="taken"))
    before = len(world.data().audit), dict(world.data().results)
    with pytest.raises(Conflict):
        await service(world).create(actor, asked("proposal", name="taken"))
    assert (len(world.data().audit), world.data().results) == before


async def test_sources_of_an_assessment_can_not_be_deleted(world: World, actor: Actor) -> None:
    await service(world).create(actor, asked("proposal", name="score"))
    for kind, name in [(Kind.DATASET, "members"), (Kind.DICTIONARY, "census"), (Kind.RULE, "proposal")]:
        async with world.store.work(actor.tenant) as work:
            with pytest.raises(Conflict):
                await work.resources.delete(kind, name)
