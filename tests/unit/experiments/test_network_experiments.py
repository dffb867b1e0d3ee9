"""Sharing in networks: Algorithm 8 on its example and on random answers, leakage by whole matrices."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from app.cli import program
from app.domain.errors import InvalidInput
from app.domain.search.recommendations import Invitations, recommendations
from app.experiments import network_sharing
from app.experiments.network_sharing import EPSILON, Invitation, as_printed, enumerated, repaired
from app.experiments.report import Effort

DATA = os.environ.get("PRIVACY_RISK_DATA")
TIMES = network_sharing.TIMES


@pytest.mark.spec("DN-S14")
def test_as_printed_the_algorithm_suppresses_the_record_that_is_best_shown():
    """The record (Laf, Eng) with five friends in common, at λ = 0.05: only the root has the Φ of a layer."""
    of = Invitation(
        0.05 * np.array([1, 2, 2, 3, 3, 5]),
        np.array([1.1, 0.7, 0.8, 0.4, 0.6, 0.2]),
        np.array([3.0, 2.0, 2.0, 1.0, 1.0, 0.0]),
    )
    assert of.layers[:4] == pytest.approx([0.2, 0.25, 0.3125, 0.390625])
    assert (as_printed(of), repaired(of), enumerated(of)) == (5, 0, 0)
    assert of.objective[[0, 5]] == pytest.approx([3.045455, 1.25], abs=5e-7)


@st.composite
def invitations(draw: st.DrawFn) -> Invitation:
    n = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    friends = rng.integers(0, 6, n) * draw(st.sampled_from([0.05, 1.0, 20.0]))
    return Invitation(friends, rng.uniform(0.05, 2, n), rng.integers(0, 8, n).astype(float))


@pytest.mark.spec("DN-S14")
@given(invitations())
def test_repaired_it_is_within_epsilon_of_the_best_of_all(of):
    best = max(f / phi + u for f, phi, u in zip(of.friends, of.sensitivities, of.utilities, strict=True))
    assert of.objective[enumerated(of)] == pytest.approx(best, rel=1e-9)
    assert of.objective[repaired(of)] >= best / (1 + EPSILON) * (1 - 1e-9)
    assert of.layers[-1] >= of.sensitivities.max() * (1 - 1e-9)


def test_repaired_it_can_be_below_the_optimum_and_as_printed_far_below():
    """The positive control: the answer of f* = 4/0.201 is worth 4/0.25 in its layer, where another has 17."""
    of = Invitation(np.array([0.0, 4.0, 0.0]), np.array([0.2, 0.201, 0.249]), np.array([1.0, 0.0, 17.0]))
    assert (enumerated(of), repaired(of), as_printed(of)) == (1, 2, 0)
    assert of.objective[1] / of.objective[2] == pytest.approx(4 / 0.201 / 17)


def test_answers_count_the_friends_whose_whole_profile_is_below_them():
    """By the definition, from profiles that are drawn again with the same generator."""
    graph = network_sharing._neighbours(200, np.random.default_rng(2))
    heights = np.array([2, 3])
    for pair in network_sharing._at_distance_two(graph, 20, np.random.default_rng(5)):
        of = network_sharing._invitation(graph, pair, heights, np.random.default_rng(7))
        friends = [set(graph.links[[person]].indices.tolist()) for person in pair]
        many = len(friends[0] & friends[1])
        assert pair[1] not in friends[0]
        assert many > 0
        assert of.friends[-1] == many
        rng = np.random.default_rng(7)
        known = rng.integers(1, 3, many + 1)
        own = heights[: known[0]]
        values = rng.integers(0, 2**own, (many + 1, len(own)))
        for answer, levels in enumerate(np.ndindex(*(own + 1))):
            consistent = sum(
                all(
                    level == height
                    or (a < known[friend] and values[0, a] >> level == values[friend, a] >> level)
                    for a, (level, height) in enumerate(zip(levels, own.tolist(), strict=True))
                )
                for friend in range(1, many + 1)
            )
            assert of.friends[answer] == consistent
            assert of.utilities[answer] == sum(own) - sum(levels)


def leaked_by_matrices(graph, owner, kernel, at):
    """Mean risk at the friends of an owner, and the share of what they have that strangers get."""
    links, n = graph.links.toarray(), graph.n_people
    generator = links - np.diag(links.sum(axis=1))
    if kernel == "random_walk":
        generator = generator / np.maximum(links.sum(axis=1), 1)[:, None]
    spread = scipy.linalg.expm(at * generator)
    friends = set(np.flatnonzero(links[owner]).tolist())
    weights, strangers = np.zeros(n), np.zeros(n)
    for j in range(n):
        if j == owner:
            continue
        if j in friends:
            weights[j] = 0.145
        elif friends & set(np.flatnonzero(links[j]).tolist()):
            weights[j] = 0.29
        else:
            weights[j], strangers[j] = 0.655, 1.0
    return np.array([[spread[v] @ weights, spread[v] @ strangers] for v in friends]).mean(axis=0)


@pytest.mark.parametrize("kernel", ["random_walk", "laplacian"])
def test_what_leaks_is_what_whole_matrices_say(kernel):
    graph = network_sharing._neighbours(60, np.random.default_rng(1))
    owners = np.array([3, 17, 40])
    found, cut = network_sharing._leaked(graph, owners, kernel)
    assert cut <= 1e-12
    for row, at in zip(found, TIMES, strict=True):
        expected = np.mean([leaked_by_matrices(graph, owner, kernel, at) for owner in owners], axis=0)
        assert row == pytest.approx(expected, abs=1e-11)


def test_common_friends_are_few_peoples_main_criterion():
    report = network_sharing.study(Effort())
    (claim,) = [claim for claim in report.claims if claim.grade == "qualitative"]
    assert (claim.holds, "6 %" in claim.evidence) == (False, True)
    assert [row[-1] for row in report.tables[3].rows] == pytest.approx([0.71, 0.42, -0.31])


@pytest.mark.spec("DN-S17")
def test_a_recommendation_keeps_the_cap_where_the_published_objective_shows_all_to_strangers():
    report = network_sharing.friends_in_common(Effort(records=8))
    assert report.holds
    rows = {row[0]: row[1:] for row in report.tables[0].rows}
    assert rows[0] == (0.0, 0.0, 0.0, 1.0, 1.0)
    accepted, utility, risk, _, above = rows[50]
    assert (accepted, above) == (1.0, 0.0)
    assert 0 < risk <= network_sharing.CAP
    assert 0 < utility < 1


def test_what_is_recommended_is_the_best_of_all_answers_one_by_one():
    rng, heights = np.random.default_rng(4), np.array([3, 1, 4])
    for friends in (1, 3, 12):
        weights, utilities, joins = network_sharing._profiles(friends, heights, rng)
        of = network_sharing._answers(weights, utilities, joins)
        padded = [
            np.stack([np.pad(own, (0, 5 - len(own)), "edge") for own in chains])[None]
            for chains in (weights, utilities)
        ]
        found = recommendations(Invitations(*padded, heights[None], joins, np.array([friends])), 0.2)
        allowed = of.sensitivities <= 0.2 * of.friends
        assert found.accepted[0] == allowed.any()
        assert found.utility[0] == max(of.utilities[allowed], default=0.0)


def test_a_network_of_the_readers_own_is_read_by_names_and_a_table_that_is_none_is_refused(tmp_path, capsys):
    (tmp_path / "friends.csv").write_text("a,b,since\nann,bob,2001\nbob,cid,2002\ncid,bob,2003\n")
    graph = network_sharing._read(tmp_path / "friends.csv")
    assert (graph.n_people, graph.links.nnz, graph.repeated) == (3, 4, 1)
    (tmp_path / "bad.csv").write_text("a\nann\n")
    with pytest.raises(InvalidInput, match=r"bad\.csv cannot be read as a network"):
        network_sharing._read(tmp_path / "bad.csv")
    small = ["--seeds", "1", "--records", "3", "--entities", "40"]
    assert program.run(["experiment", "N4", *small, "--networks", str(tmp_path / "missing.csv")], None) == 1
    assert "--networks" in capsys.readouterr().err


@pytest.mark.deep
@pytest.mark.real_data
@pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets")
def test_items_of_lawyers_and_of_streamers_leak_with_time():
    files = ("network-lazega-lawyers/friendships.csv", "network-twitch-engb/edges.csv")
    paths = tuple(Path(DATA or "") / name for name in files)
    report = network_sharing.leakage(Effort(records=20, entities=100, networks=paths))
    assert report.holds
    titles = [table.title for table in report.tables]
    assert "network-lazega-lawyers: 69 people, 399 friendships" in titles[0]
    assert "network-twitch-engb: 7,126 people, 35,324 friendships" in titles[2]
    (growing,) = [claim for claim in report.claims if claim.text == "Risk grows with time"]
    assert growing.holds
    for table in report.tables:
        _, risk, share = table.rows[-1]
        assert 0.145 < risk < 0.655
        assert 0 < share < 1
