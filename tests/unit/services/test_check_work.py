"""Checks as work: schemas and queries survive being written down, and blocks find what one go finds."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.views.relational_schema import ForeignKey, RelationDefinition
from app.services.fingerprints import canonical_json
from app.services.runs.run_execution import no_tick
from app.services.views import check_work
from app.services.views.check_work import CheckWork
from app.services.views.query_hashes import query_sha256
from app.services.views.reading import WrittenQuery, read_schema, reader
from app.services.views.schema_documents import schema_document, schema_of
from app.services.views.view_checks import ViewCheck, checked, read_check
from tests.unit.views.vectors import VECTORS

TABLES = """CREATE TABLE stay (pid serial PRIMARY KEY, ward int UNIQUE, since date NOT NULL, kind boolean,
    note char(3), cost double precision, CHECK (ward > 0));
    CREATE TABLE visit (pid int REFERENCES stay (pid), at timestamp)"""


def kept(schema):
    """The schema as it is after it was stored and read."""
    return schema_of(json.loads(canonical_json(schema_document(schema))))


@pytest.mark.parametrize(
    "schema",
    [
        read_schema({}, (), TABLES, "postgres"),
        read_schema(
            {
                "R": RelationDefinition(
                    ["a", "b", "c"],
                    {"a": (1, 2.5, 10**59, "x"), "b": "integer", "c": ("only",)},
                    [["a"], ["b", "c"]],
                    [(["b"], ["c"])],
                    [],
                ),
                "S": RelationDefinition(["a"], nullable=["a"]),
            },
            [ForeignKey("S", "R")],
            None,
            "postgres",
        ),
    ],
    ids=["sql", "relations"],
)
def test_a_schema_is_the_same_after_it_was_stored(schema):
    again = kept(schema)
    assert again.relational == schema.relational
    assert {name: tuple(own) for name, own in again.types.items()} == {
        name: tuple(own) for name, own in schema.types.items()
    }
    assert again.qualified == schema.qualified
    assert list(again.warnings) == list(schema.warnings)
    assert schema_document(again) == json.loads(canonical_json(schema_document(schema)))


def without_times(result):
    result = copy.deepcopy(result)
    for pair in result["pairs"]:
        del pair["work"]["ms"]
    return result


def asked_of(name):
    """The worked example as a check."""
    vector = VECTORS[name]
    modes = vector.get("semantics", {"secret": "set", "views": ["set"] * len(vector["views"])})
    relations = {
        relation: RelationDefinition(
            own["attributes"],
            {a: tuple(d) if isinstance(d, list) else d for a, d in own.get("domains", {}).items()},
            own.get("keys", ()),
            [tuple(fd) for fd in own.get("fds", ())],
            own.get("nullable", ()),
        )
        for relation, own in vector["schema"].items()
    }
    views = [
        WrittenQuery(f"v{i}", view, mode == "bag")
        for i, (view, mode) in enumerate(zip(vector["views"], modes["views"], strict=True))
    ]
    return ViewCheck(relations, (), [WrittenQuery("s", vector["secret"], modes["secret"] == "bag")], views)


@pytest.mark.parametrize("name", ["QV-03", "QV-16", "QV-24", "QV-28", "QV-31", "QV-35", "QV-37", "QV-38"])
@pytest.mark.parametrize("pairs_of_a_block", [1, 2, 25])
def test_blocks_of_a_stored_schema_find_what_a_check_finds_at_once(monkeypatch, name, pairs_of_a_block):
    monkeypatch.setattr(check_work, "PAIRS_OF_A_BLOCK", pairs_of_a_block)
    asked = asked_of(name)
    at_once = checked(asked)
    read = read_check(asked, kept(read_schema(asked.relations, (), None, "postgres")), lambda: False)
    work = CheckWork(read, {})
    blocks = {i: work.run_block(i, no_tick) for i in range(work.n_blocks)}
    assert without_times(work.conclude(blocks).result) == without_times(at_once)
    assert without_times(work.result()) == without_times(at_once)
    known = dict(enumerate(at_once["pairs"]))
    assert CheckWork(read, known).result() == at_once


def test_a_stopped_check_has_the_verdicts_that_were_found_and_denies_all_others():
    asked = asked_of("QV-03")
    asked = replace(asked, views=[replace(asked.views[0], id=f"v{i}") for i in range(60)])
    read = read_check(asked, kept(read_schema(asked.relations, (), None, "postgres")), lambda: False)
    looked_at = []
    work = CheckWork(read, {2: {**checked(asked)["pairs"][2], "explanation": "known before"}})
    blocks = {1: work.run_block(1, looked_at.append, lambda: len(looked_at) >= 7)}
    found = work.conclude(blocks)
    is_known = [number == 2 or 25 <= number < 25 + len(looked_at) for number in range(60)]
    assert 0 < sum(is_known) < 60
    assert [pair["explanation"] != check_work.NOT_LOOKED_AT for pair in found.result["pairs"]] == is_known
    assert [pair["verdict"] != "UNKNOWN" for pair in found.result["pairs"]] == is_known
    assert not found.reproducible
    assert found.result["gate"] == "DENY"
    whole = work.conclude({i: work.run_block(i, no_tick) for i in range(work.n_blocks)})
    assert whole.reproducible
    assert "UNKNOWN" not in {pair["verdict"] for pair in whole.result["pairs"]}
    assert CheckWork(read, {}).conclude({}).result["verdict"] == "UNKNOWN"


def test_a_stopped_check_says_of_no_pair_that_needs_no_time_that_it_is_denied():
    never, some = (WrittenQuery(own, f"SELECT pid FROM stay WHERE {own}") for own in ("false", "ward = 1"))
    asked = ViewCheck({}, (), [never], [never, some], language="sql", tables=TABLES)
    read = read_check(asked, read_schema({}, (), TABLES, "postgres"), lambda: False)
    own, other = CheckWork(read, {}).conclude({}).result["pairs"]
    assert (own["verdict"], other["verdict"]) == ("PRIVATE", "UNKNOWN")
    assert other["explanation"] == check_work.NOT_LOOKED_AT
    assert own["explanation"] == checked(asked)["pairs"][0]["explanation"]


READ = reader("datalog", "postgres", read_schema({"r": RelationDefinition(["a", "b"])}, (), None, "postgres"))


def hashed(query, name="q", *, bag=False):
    return query_sha256(name, READ(WrittenQuery(name, query, bag)))


def test_white_space_and_names_of_variables_mean_nothing_and_all_else_does():
    first = hashed("q(x) :- r(x, y), y != 3.")
    assert hashed("q(who):-r(who,  other),\n other != 3.") == first
    others = [
        hashed("q(y) :- r(x, y), y != 3."),
        hashed("q(x) :- r(x, y), y != '3'."),
        hashed("q(x) :- r(x, y), y != 3.5."),
        hashed("q(x) :- r(x, x), x != 3."),
        hashed("q(x) :- r(x, y), y != 3.", "other"),
        hashed("q(x) :- r(x, y), y != 3.", bag=True),
        hashed("q(x) :- r(x, y), y != 3. q(x) :- r(x, 3)."),
    ]
    assert len({first, *others}) == len(others) + 1


TERM = st.sampled_from(["x", "y", "z", "1", "'1'", "'a'"])


@settings(max_examples=60)
@given(st.lists(st.tuples(TERM, TERM), min_size=1, max_size=3), st.permutations(["u", "v", "w"]))
def test_queries_are_hashed_alike_exactly_if_they_differ_in_names_alone(atoms, names):
    new = dict(zip("xyz", names, strict=True))

    def written(rename):
        return "q() :- " + ", ".join(f"r({rename(one)}, {rename(other)})" for one, other in atoms) + "."

    assert hashed(written(lambda term: new.get(term, term))) == hashed(written(lambda term: term))
    swapped = {"x": "y", "y": "x"}
    shape = _shape(atoms)
    if _shape([(swapped.get(a, a), b) for a, b in atoms]) != shape:
        other = "q() :- " + ", ".join(f"r({swapped.get(a, a)}, {b})" for a, b in atoms) + "."
        assert hashed(other) != hashed(written(lambda term: term))


def _shape(atoms):
    """The terms with variables numbered as they come."""
    numbers = {}
    return [
        numbers.setdefault(term, len(numbers)) if term in "xyz" else term for atom in atoms for term in atom
    ]


@pytest.mark.deep
def test_another_process_counts_the_same_steps():
    """Texts hash otherwise in every process: what is counted must not depend on the order of sets."""
    script = (
        "import json; from app.services.views.view_checks import *\n"
        "from tests.unit.services.test_check_work import asked_of, without_times\n"
        "print(json.dumps([without_times(checked(asked_of(n))) for n in ('QV-13', 'QV-14', 'QV-38')]))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(found) == 1
