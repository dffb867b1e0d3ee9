"""Large hierarchies are built beside the service, not in it, and are what small ones would be."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy_definitions import (
    DatesDefinition,
    FlatDefinition,
    FreeBoundsDefinition,
    HierarchyDefinition,
    IntervalsDefinition,
    LeafColumn,
    LeafRange,
    LeafValues,
    MaskingDefinition,
    OrderedGroupsDefinition,
    ParentsDefinition,
    PostcodesDefinition,
    RareValuesDefinition,
    RowsDefinition,
)
from app.services.datasets import hierarchies as hierarchies_module
from app.services.datasets.hierarchies import CreateHierarchy, HierarchyService
from app.services.datasets.hierarchy_building import build, hierarchy_resource
from app.services.datasets.hierarchy_child import built_by_child
from app.services.datasets.hierarchy_transport import (
    MOST_LABELS,
    MOST_MADE,
    MOST_OF_RANGE,
    labels_of,
    read,
    written,
)
from app.services.fingerprints import canonical_json
from app.services.resources import Actor
from tests.processes import until
from tests.unit.services.memory_store import MemoryStore

pytestmark = pytest.mark.anyio

LAST_OF_ALL = 19
"""The priority that nothing can go below, which a test may have itself."""

ROWS = tuple((f"{i:06d}", f"{i // 10:05d}", f"{i // 1000}") for i in range(20_000))
TEXT = "\n".join(";".join(row) for row in ROWS)


@pytest.fixture
def service(store: MemoryStore) -> HierarchyService:
    return HierarchyService(store)


@pytest.mark.deep
async def test_a_large_hierarchy_is_the_same_however_it_was_built(
    service: HierarchyService, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_csv = await service.create_from_csv(actor, "h", TEXT)
    by_rows = await service.create(actor, CreateHierarchy("h", RowsDefinition(ROWS)))
    assert (by_csv.created, by_rows.created) == (True, False)
    monkeypatch.setattr(hierarchies_module, "LARGE_CHARACTERS", 10**9)
    within = await service.create_from_csv(actor, "h", TEXT)
    assert not within.created
    assert within.resource.document == by_csv.resource.document


@pytest.mark.deep
async def test_the_service_itself_spends_little_on_a_large_hierarchy() -> None:
    """Processor time of the whole process between two turns of the loop, threads and all."""
    longest = 0.0
    text = "\n".join(f"{i:06d};{i // 10:05d};{i // 1000}" for i in range(100_000))
    building = asyncio.create_task(built_by_child("h", text, ";"))
    last = time.process_time()
    while not building.done():
        await asyncio.sleep(0.001)
        now = time.process_time()
        longest, last = max(longest, now - last), now
    new = await building
    assert new.summary["leaves"] == 100_000
    assert longest <= 0.05


async def test_faults_of_a_large_hierarchy_are_named_as_those_of_a_small_one(
    service: HierarchyService, actor: Actor
) -> None:
    broken: Any = (*ROWS, ("x",))
    for create in (
        service.create_from_csv(actor, "h", TEXT + "\nx"),
        service.create(actor, CreateHierarchy("h", RowsDefinition(broken))),
    ):
        with pytest.raises(InvalidInput) as caught:
            await create
        assert caught.value.faults[0].code == "ragged-row"
        assert caught.value.faults[0].pointer == "/definition/rows/20000"


async def test_labels_of_any_letters_reach_the_child_unchanged(
    service: HierarchyService, actor: Actor
) -> None:
    odd = (("\ufeffa", "x"), ('b";c', "x"), ("line\nend\r", "x"), (" d ", "x"))
    rows = (*odd, *((f"{i}", "x") for i in range(6_000)))
    created = await service.create(actor, CreateHierarchy("h", RowsDefinition(rows)))
    document = created.resource.document
    assert document is not None
    assert document["labels"][1:5] == [row[0] for row in odd]
    assert created.resource.summary["warnings"] == []


COLUMN = LeafColumn("upload", "code")


@pytest.mark.parametrize(
    ("definition", "column"),
    [
        (ParentsDefinition({"a": ("b", None), "b": (None,), "\ud7ff\n": ("b",)}, "all"), None),
        (RowsDefinition((("a", "x"), ("b;c", "x"))), None),
        (FlatDefinition(LeafValues(("a", "b"))), None),
        (IntervalsDefinition(LeafRange("0", "100"), ("10", "50"), "5"), None),
        (OrderedGroupsDefinition(LeafValues(("1", "2", "3")), (2,)), None),
        (MaskingDefinition(COLUMN, "left", "#"), {"12": 1, "13": 2}),
        (RareValuesDefinition(COLUMN, 2, "rare"), {"12": 1, "13": 2}),
        (
            FreeBoundsDefinition(LeafRange("0", "9"), (("3", "6"), ("6",)), (("a", "b", "c"), ("d", "e"))),
            None,
        ),
        (PostcodesDefinition(LeafValues(("10115", "x")), "DE", "other"), None),
        (DatesDefinition(LeafRange("2020-01-01", "2020-12-31"), ("day", "month")), None),
    ],
    ids=lambda part: getattr(part, "kind", ""),
)
async def test_a_child_builds_the_same_of_every_definition(
    definition: HierarchyDefinition, column: dict[str, int] | None
) -> None:
    sent, leaves = read(list(written(definition, column)))
    assert sent == definition
    here = hierarchy_resource("h", definition, build(definition, column))
    assert hierarchy_resource("h", sent, build(sent, leaves)).sha256 == here.sha256


@pytest.mark.deep
@pytest.mark.parametrize(
    "definition",
    [
        ParentsDefinition({f"{i}": ("g",) for i in range(9_000)} | {"g": (None,)}),
        FlatDefinition(LeafValues(tuple(f"{i}" for i in range(11_000)))),
        IntervalsDefinition(LeafRange("0", "6000"), ("10",)),
        MaskingDefinition(LeafValues(tuple("x" * 200 + f"{i}" for i in range(60)))),
        DatesDefinition(LeafRange("2000-01-01", "2020-12-31"), ("day", "year")),
    ],
    ids=lambda definition: definition.kind,
)  # fmt: skip
async def test_whatever_makes_many_labels_is_built_by_a_child(
    service: HierarchyService, actor: Actor, definition: HierarchyDefinition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hierarchies_module, "build", None)
    created = await service.create(actor, CreateHierarchy("h", definition))
    expected = hierarchy_resource("h", definition, build(definition, None))
    assert created.resource.sha256 == expected.sha256
    assert created.resource.summary == expected.summary | {"from_data": False}
    assert canonical_json(created.resource.document or {}) == canonical_json(expected.document)


async def test_a_hierarchy_is_shown_without_its_document_being_read(
    service: HierarchyService, actor: Actor
) -> None:
    created = await service.create(actor, CreateHierarchy("h", RowsDefinition(ROWS[:50])))
    shown = await service.get(actor, "h")
    assert (shown.id, shown.summary) == (created.resource.id, created.resource.summary)
    assert shown.document is None
    assert (await service.tree(actor, "h")).leaves == 50


FEW_LEVELS = ("10", "100", "1000")
DIGITS = "1" + 27 * "0"


@pytest.mark.parametrize(
    ("definition", "pointer", "said"),
    [
        (IntervalsDefinition(LeafRange("0", "1000000"), ("10",)), "/definition/range/step", "1000001"),
        (FlatDefinition(LeafRange("0", f"{MOST_OF_RANGE}")), "/definition/range/step", f"{MOST_OF_RANGE}"),
        (FlatDefinition(LeafRange("0", DIGITS)), "/definition/range/step", "far too many"),
        (
            DatesDefinition(LeafRange("1000-01-01", "9999-12-31"), ("day",)),
            "/definition/range/step",
            "3287182",
        ),
        (OrderedGroupsDefinition(LeafRange("1", "200000"), (2,) * 5), "/definition", "1200000"),
        (MaskingDefinition(LeafRange("1e27", "1000000000000000000000050000")), "/definition", "labels"),
        (MaskingDefinition(LeafRange(DIGITS, DIGITS[:-5] + "50000")), "/definition", f"{MOST_MADE}"),
        (
            OrderedGroupsDefinition(LeafValues(("a", "b") * 50_001), (2,) * 29),
            "/definition",
            f"{MOST_LABELS}",
        ),
    ],
    ids=["range", "one too many", "astronomic", "dates", "levels", "exponents", "digits", "listed"],
)
async def test_little_is_not_made_into_much(
    service: HierarchyService,
    actor: Actor,
    monkeypatch: pytest.MonkeyPatch,
    definition: HierarchyDefinition,
    pointer: str,
    said: str,
) -> None:
    """It is refused before a label is made: neither here nor by a child."""
    monkeypatch.setattr(hierarchies_module, "build", None)
    monkeypatch.setattr(hierarchies_module, "defined_by_child", None)
    with pytest.raises(InvalidInput) as caught:
        await service.create(actor, CreateHierarchy("h", definition))
    (fault,) = caught.value.faults
    assert fault.pointer == pointer
    assert said in fault.message
    assert fault.remedy


@pytest.mark.parametrize(
    "leaves",
    [
        LeafRange("7", "1203", "13"),
        LeafRange("0", "30", "0.25"),
        LeafRange("-5", "5"),
        LeafRange("1e3", "1.1e3"),
    ],
    ids=lambda leaves: leaves.first,
)
def test_the_labels_of_a_range_are_not_underestimated(leaves: LeafRange) -> None:
    for definition in (
        FlatDefinition(leaves),
        IntervalsDefinition(leaves, FEW_LEVELS),
        MaskingDefinition(leaves),
    ):
        assert build(definition, None).n_nodes - 1 <= labels_of(definition, None)


def test_whoever_builds_or_parses_lets_the_service_go_first() -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    for module in ("app.services.datasets.hierarchy_child", "app.services.datasets.ingest.parsing_child"):
        child = subprocess.Popen(
            [sys.executable, "-m", module], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            until(lambda pid=child.pid: os.getpriority(os.PRIO_PROCESS, pid) >= min(own + 1, LAST_OF_ALL))
            assert child.poll() is None
        finally:
            child.kill()
            child.wait()
            assert child.stdin is not None
            child.stdin.close()
