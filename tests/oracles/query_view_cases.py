"""Drawn pairs of queries, as the oracle and as the product take them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from app.domain.views.datalog import parse_query
from app.domain.views.decision import PairVerdict, decide
from app.domain.views.normal_form import Branch, branches
from app.domain.views.queries import Query
from app.domain.views.relational_schema import RelationalSchema, RelationDefinition, built
from app.domain.views.work import Budget, Work
from tests.oracles.query_views import Kinds, Relation, Rule, World, drawn_query, drawn_relation, in_datalog

SMALL = ((0, 1), (0, 1, 2))
STAND_FOR = {
    "any": (0, 1, 2, "f1", "f2", "f3", "f4", "f5", "f6"),
    "number": (-4, -3, -2, -1, 0, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.6, 1.8, 2, 3, 4, 5, 6),
    "integer": tuple(range(-6, 9)),
}
"""For columns that may hold anything of a kind: enough values around the constants 0, 1 and 2."""
ANY_AMONG_NUMBERS = tuple(dict.fromkeys(value for values in STAND_FOR.values() for value in values))
"""For columns that may hold anything, beside some of numbers or integers."""


@dataclass(frozen=True)
class Case:
    """A secret and a view over a schema."""

    world: World
    schema: RelationalSchema
    secret: tuple[Rule, ...]
    view: tuple[Rule, ...]
    bags: tuple[bool, bool] = (False, False)

    def parsed(self) -> tuple[Query, Query]:
        """The queries as the product reads them."""
        written = in_datalog(self.secret, "S"), in_datalog(self.view, "V")
        secret, view = (
            parse_query(text, self.schema, keeps_duplicates=bag)
            for text, bag in zip(written, self.bags, strict=True)
        )
        return secret, view

    def verdict(self) -> PairVerdict:
        """What the product says."""
        return decide(*self.branches(), self.schema)

    def branches(self) -> tuple[tuple[Branch, ...], tuple[Branch, ...]]:
        """The queries in their normal forms."""
        secret, view = self.parsed()
        work = Work(Budget(), lambda: False)
        return branches(secret, self.schema, "s", work), branches(view, self.schema, "v", work)

    def __str__(self) -> str:
        return "\n".join(
            [str(self.world.schema), in_datalog(self.secret, "S"), in_datalog(self.view, "V"), str(self.bags)]
        )


def product_schema(schema: dict[str, Relation]) -> RelationalSchema:
    """The schema with its columns' values listed, but for those that stand for all of a kind."""
    kinds = {values: kind for kind, values in STAND_FOR.items()} | {ANY_AMONG_NUMBERS: "any"}
    definitions = {}
    for name, relation in schema.items():
        attributes = [f"c{i}" for i in range(len(relation.columns))]
        definitions[name] = RelationDefinition(
            attributes,
            {name: kinds.get(own, own) for name, own in zip(attributes, relation.columns, strict=True)},
            [[attributes[i] for i in key] for key in relation.keys],
            [([attributes[i] for i in x], [attributes[i] for i in y]) for x, y in relation.dependencies],
            [attributes[i] for i in relation.nullable],
        )
    return built(definitions)


def drawn_kinds(random: Random, **more: int | bool) -> Kinds:
    """What a pair may have: about half of all pairs have keys, a third each of the rest."""
    asked = {
        "keys": random.random() < 0.5,
        "nullable": random.random() < 0.3,
        "comparisons": random.random() < 0.5,
        "unions": random.random() < 0.3,
        "bags": random.random() < 0.3,
    }
    return Kinds(**asked | more)


def drawn_bags(random: Random, kinds: Kinds) -> tuple[bool, bool]:
    """Which of the queries keep duplicates."""
    return kinds.bags and random.random() < 0.5, kinds.bags and random.random() < 0.5


def tiny_case(random: Random, most_rows: int = 11, **more: bool) -> Case:
    """A pair over listed values, with few enough rows to try every instance."""
    while True:
        kinds = drawn_kinds(random, atoms=random.randint(1, 4), **more)
        shapes = random.choice([[2], [2, 1], [1, 1], [2, 1, 1], [3]])
        schema = {
            name: drawn_relation(
                random, [random.choice(SMALL) if arity < 3 else (0, 1) for _ in range(arity)], kinds
            )
            for name, arity in zip("RTU", shapes, strict=False)
        }
        world = World(schema)
        if len(world.facts) <= most_rows:
            break
    secret, view = drawn_query(random, schema, kinds), drawn_query(random, schema, kinds)
    return Case(world, product_schema(schema), secret, view, drawn_bags(random, kinds))


def unbounded_case(random: Random, kind: str) -> Case:
    """A pair over columns of a kind, or of several ("mixed")."""
    kinds = drawn_kinds(random, variables=3 if kind == "any" else 2, comparisons=kind != "any")
    shapes = random.choice([[2], [2, 1], [1, 1]])
    mixed = (STAND_FOR["number"], STAND_FOR["integer"], ANY_AMONG_NUMBERS)
    of = mixed if kind == "mixed" else (STAND_FOR[kind],)
    schema = {
        name: drawn_relation(random, [random.choice(of) for _ in range(arity)], kinds)
        for name, arity in zip("RTU", shapes, strict=False)
    }
    secret, view = drawn_query(random, schema, kinds), drawn_query(random, schema, kinds)
    return Case(World(schema), product_schema(schema), secret, view, drawn_bags(random, kinds))
