"""A small world to score in: four members of two towns, and what an attacker knows of eight people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.domain.counting.counter import Matching
from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from app.domain.tables.table import Table
from app.services.recollection import Memory
from app.services.resources import Actor, Kind, NewResource, Stored, TenantId
from tests.unit.services.memory_store import MemoryStore

CITY = Hierarchy.from_parents(
    {
        "Lafayette": ["Indiana"],
        "Muncie": ["Indiana"],
        "Indiana": [None],
        "Chicago": ["Illinois"],
        "Illinois": [None],
    }
)
RACE = Hierarchy.from_parents({"White": [None], "=Asian": [None]}, top_label="any race")

MEMBERS = [("Lafayette", "White"), ("Muncie", "=Asian"), ("Chicago", "White"), ("Lafayette", None)]
PEOPLE = [
    ("Lafayette", "White"),
    ("Lafayette", "White"),
    ("Lafayette", "=Asian"),
    ("Muncie", "=Asian"),
    ("Muncie", "White"),
    ("Chicago", "White"),
    ("Chicago", "White"),
    ("Chicago", "=Asian"),
]


def codes_of(rows) -> np.ndarray:
    columns = [CITY.encode([row[0] for row in rows])[0], RACE.encode([row[1] for row in rows])[0]]
    return np.stack(columns, axis=1)


def members(ids: bool = True) -> Table:
    entity_ids = np.array([f"m-{i}" for i in range(1, len(MEMBERS) + 1)], dtype=object) if ids else None
    return Table(("city", "race"), (CITY, RACE), codes_of(MEMBERS), entity_ids)


def people() -> Dictionary:
    codes = codes_of(PEOPLE)
    links = tuple(
        link_nodes(name, tree, codes[:, j]) for j, (name, tree) in enumerate([("city", CITY), ("race", RACE)])
    )
    return Dictionary(len(PEOPLE), links)


class FixedLoader:
    """Loads the same table, dictionary and weights whatever is asked for."""

    def __init__(self, weight: float = 1.0) -> None:
        self.held = members()
        self.known = people()
        self.harm = build_sensitivity(
            self.held, "linear", {"city": ConstantWeight(weight), "race": ConstantWeight(2.0)}
        )
        self.asked = 0
        self.needs_attention = False
        self.memory = Memory()

    async def matching(self, *asked: object) -> Matching:
        return Matching(self.held, self.known)

    async def table(self, tenant: TenantId, dataset: Stored) -> Table:
        self.asked += 1
        if self.needs_attention:
            raise InvalidInput.of("/dataset", "needs-attention", "Values are unknown.", "See the profile.")
        return self.held

    async def dictionary(
        self, tenant: TenantId, dictionary: Stored, dataset: Stored, pointer: str = "/dictionary"
    ) -> Dictionary:
        return self.known

    async def sensitivity(self, tenant: TenantId, profile: Stored, dataset: Stored):
        return self.harm


@dataclass
class World:
    store: MemoryStore
    loader: FixedLoader
    actor: Actor

    def data(self):
        return self.store.data(self.actor.tenant)

    async def add(self, kind: Kind, name: str, sha256: str) -> Stored:
        async with self.store.work(self.actor.tenant) as work:
            summary = {"dataset": "members", "attributes": []}
            new = NewResource(kind, name, sha256, summary, {"upload": {"id": f"upload-of-{name}"}})
            stored, _ = await work.resources.add(new)
            await work.commit()
        return stored


async def make_world(store: MemoryStore, actor: Actor, weight: float = 1.0) -> World:
    world = World(store, FixedLoader(weight), actor)
    await world.add(Kind.DATASET, "members", "d" * 64)
    await world.add(Kind.DICTIONARY, "census", "c" * 64)
    await world.add(Kind.SENSITIVITY_PROFILE, "members-harm", "5" * 64)
    return world
