"""Classes of codes are the same however they are numbered."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.counting.compatibility import Compatibility
from app.domain.search import axes
from app.domain.search.axes import _classes_of_level, _consistent_entries, _JointCodes, build_axes
from tests.oracles.effort import examples
from tests.oracles.search_instances import contexts
from tests.oracles.separable_instances import separable_contexts

INSTANCES = st.one_of(contexts(), separable_contexts(), separable_contexts(balanced=True))


@given(context=INSTANCES, scope=st.sampled_from(["table_level", "record_level"]))
@settings(max_examples=examples(100), deadline=None)
def test_single_classes_are_numbered_as_several_are(context, scope):
    found = build_axes(context, scope)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(axes, "_joint_codes", _JointCodes)
        expected = build_axes(context, scope)
    for ours, theirs in zip(found, expected, strict=True):
        for name in ("own", "unit", "utility", "depth", "of_node", "of_entry"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
        for mine, other in zip(ours.images, theirs.images, strict=True):
            assert mine.n_classes == other.n_classes
            assert np.array_equal(mine.starts, other.starts)
            assert np.array_equal(mine.classes, other.classes)
        for mine, other in zip(ours.merged, theirs.merged, strict=True):
            assert np.array_equal(mine, other)


@given(context=INSTANCES, seed=st.integers(0, 2**20))
@settings(max_examples=examples(100), deadline=None)
def test_nodes_share_a_class_if_the_same_entries_are_consistent_with_them(context, seed):
    rng = np.random.default_rng(seed)
    for link, tree in zip(context.links, context.table.hierarchies, strict=True):
        if link is None or not link.n_codes:
            continue
        nodes = rng.integers(0, tree.n_nodes, 6).astype(np.int32)
        entries = np.arange(link.n_codes, dtype=np.int32)
        compatibility = Compatibility(link, nodes)
        starts, members = _consistent_entries(compatibility, nodes, entries)
        sets = [set(members[a:b].tolist()) for a, b in itertools.pairwise(starts.tolist())]
        classes, (by_entry, owners, n_classes) = _classes_of_level(compatibility, nodes, entries)
        assert n_classes == len(set(classes.tolist()))
        for i in range(len(nodes)):
            for k in range(len(nodes)):
                assert (classes[i] == classes[k]) == (sets[i] == sets[k])
            for entry in entries.tolist():
                held = owners[by_entry[entry] : by_entry[entry + 1]].tolist()
                assert (entry in sets[i]) == (classes[i] in held)
