"""The matching of a file's rows with the records of a table, against all augmenting paths of single rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes import row_matching
from app.domain.classes.row_matching import match_rows
from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.rules.release_alignment import ReleasedColumn
from app.domain.tables.table import Table
from tests.oracles.effort import examples

TREE = Hierarchy.from_rows(
    [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"], ["e", "cd", "*"]]
)
POSET = Hierarchy.from_parents({"I": [None], "J": [None], "r": ["I"], "s": ["I", "J"], "t": ["J"]})
TWICE = Hierarchy.from_rows([["x", "x", "*"], ["y", "x", "*"], ["z", "w", "*"]])
"""Two nodes are called x."""
KINDS = (TREE, POSET, TWICE)


@st.composite
def files(draw):
    """A table and a file: rows that its records can be shown as, others, some twice, some left out."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    names = tuple(f"q{j}" for j in range(len(kinds)))
    records = draw(st.integers(1, 9))
    codes = np.array(
        [[draw(st.integers(0, tree.n_nodes - 1)) for tree in kinds] for _ in range(records)], dtype=np.int32
    )
    shown = []
    for _ in range(draw(st.integers(1, 11))):
        own = codes[draw(st.integers(0, records - 1))].tolist()
        if draw(st.integers(0, 4)):
            shown.append([draw(st.sampled_from(sorted(t.up(c)))) for t, c in zip(kinds, own, strict=True)])
        else:
            shown.append([draw(st.integers(0, tree.n_nodes - 1)) for tree in kinds])
    return Table(names, tuple(kinds), codes), shown


def columns_of(table, shown):
    """Cells are labels; ⊥ is an empty cell or an asterisk, which also stands for nothing."""
    found = {}
    for j, (name, tree) in enumerate(zip(table.attributes, table.hierarchies, strict=True)):
        texts = sorted({tree.labels[row[j]] for row in shown if row[j]})
        positions = [texts.index(tree.labels[row[j]]) if row[j] else -1 for row in shown]
        found[name] = ReleasedColumn(tuple((own,) for own in texts), np.array(positions, dtype=np.int32))
    return found


def fits(table, row, record):
    """Whether every cell is nothing, or the label of a node above the record's value."""
    return all(
        own == TOP or tree.labels[own] in {tree.labels[node] for node in tree.up(int(code))}
        for tree, own, code in zip(table.hierarchies, row, table.codes[record], strict=True)
    )


def most_by_paths(table, shown, rows):
    """How many of these rows can be matched: every row looks for an augmenting path (Kuhn)."""
    owner = {}

    def found(row, seen):
        for record in range(table.n_records):
            if record not in seen and fits(table, shown[row], record):
                seen.add(record)
                if record not in owner or found(owner[record], seen):
                    owner[record] = row
                    return True
        return False

    return sum(found(row, set()) for row in rows)


@settings(max_examples=examples(600), deadline=None)
@given(files(), st.sampled_from([0, 1, 64]), st.sampled_from([1, 2**21]))
def test_as_many_rows_are_matched_as_can_be(made, rounds, at_once):
    table, shown = made
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_matching, "ROUNDS", rounds)
        patch.setattr(row_matching, "TRIED_AT_ONCE", at_once)
        found = match_rows(table, columns_of(table, shown))
    assert len(found.unmatched) == len(shown) - most_by_paths(table, shown, range(len(shown)))
    assert found.unmatched.tolist() == sorted(set(found.unmatched.tolist()))
    assert found.silent.tolist() == [not any(row) for row in shown]
    # Those that are named can be left out: all others have a record each.
    others = [row for row in range(len(shown)) if row not in found.unmatched]
    assert most_by_paths(table, shown, others) == len(others)
    # The records that are left are as many as no speaking row stands for, and the others are enough.
    speaking = [row for row in others if any(shown[row])]
    assert len(found.left) == table.n_records - len(speaking)
    taken = [record for record in range(table.n_records) if record not in found.left]
    rest = Table(table.attributes, table.hierarchies, table.codes[taken]) if taken else None
    assert rest is None or most_by_paths(rest, shown, speaking) == len(speaking)


@pytest.mark.parametrize("limit", ["MOST_PAIRS", "MOST_TRIED", "MOST_IN_FLOW"])
def test_what_is_too_much_is_said_and_not_guessed(limit, monkeypatch):
    monkeypatch.setattr(row_matching, limit, 2)
    monkeypatch.setattr(row_matching, "ROUNDS", 0)
    nodes = [TREE.node_of(own) for own in "abcde"]
    table = Table(("p", "q"), (TREE, TREE), np.array([[own, own] for own in nodes], dtype=np.int32))
    ab, a = TREE.node_of("ab"), TREE.node_of("a")
    shown = [[ab, a], [a, ab], [ab, ab]]
    with pytest.raises(NotSupported, match="was not found out: more than 2 pairs"):
        match_rows(table, columns_of(table, shown))
