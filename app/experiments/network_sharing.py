"""N1 to N4: sharing in social networks (Fouad (2012), chapter 7): a study, leakage, and answers."""

from __future__ import annotations

import json
import math
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.errors import InvalidInput
from app.domain.networks.common_friends import common_friends
from app.domain.networks.diffusion import Kernel, spreads_of
from app.domain.networks.graph import Graph, graph_of_edges
from app.domain.networks.trust import risk_weights
from app.domain.search.recommendations import Invitations, recommendations
from app.experiments.report import Effort, Picture, Report, ResultTable, curves, exact, qualitative

STUDY: Final = json.loads(Path(__file__).with_name("user_study.json").read_text())
"""Percentages of tables 7.1 to 7.4; of trust: always, under conditions, never."""
TRUST: Final = {name: (2 * always + sometimes) / 100 - 1 for name, always, sometimes, _ in STUDY["trust"]}
"""From −1 to 1, by those who always trust and half of those who do under conditions."""
WEIGHTS: Final = risk_weights(np.array([*TRUST.values()]), "linear")
TIMES: Final = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
KERNELS: Final[tuple[Kernel, ...]] = ("random_walk", "laplacian")
EACH: Final = 5  # friends whom everybody chooses, so that there are twice as many in the mean
PEOPLE_PER_ENTITY: Final = 125
RANDOM_PAIRS: Final = 50_000
ATTRIBUTES: Final = (2, 3, 4, 5, 6)
MOST_HEIGHT: Final = 10
EPSILON: Final = 0.25
FRIENDS: Final = (0, 1, 2, 5, 10, 20, 50)
KNOWN: Final = 4
CAP: Final = 0.1


def study(effort: Effort) -> Report:
    """N2: the tables of the user study as data, and the trust that follows from them."""
    people, visits, criteria, trust = ([tuple(row) for row in table] for table in STUDY.values())
    sums = [sum(share for name, _, share in people if name == group) for group in {row[0] for row in people}]
    sums += [sum(row[1:]) for row in (*visits, *trust)] + [sum(share for _, share in criteria)]
    often = ("network", "never", "once a month", "once a week", "few times a week", "few times a day")
    tables = (
        ResultTable("Table 7.1: who was asked (%)", ("attribute", "value", "share"), tuple(people)),
        ResultTable("Table 7.2: how often networks are used (%)", often, tuple(visits)),
        ResultTable("Table 7.3: main criterion when sharing (%)", ("criterion", "share"), tuple(criteria)),
        ResultTable(
            "Table 7.4: trust (%), and the prior trust T that follows",
            ("relation", "always", "under conditions", "never", "T"),
            tuple((*row, TRUST[row[0]]) for row in trust),
        ),
    )
    friends, most = criteria[3][1], max(share for _, share in criteria)
    claims = (
        exact("Every group of answers sums to 100 %", set(sums) == {100}, f"{len(sums)} groups"),
        qualitative(
            "People go by the number of common friends, which the chapter takes for trust", friends == most,
            f"{friends} % name it as their main criterion, {most} % prior knowledge of the user",
        ),
    )  # fmt: skip
    setting = "some 300 users of four continents; percentages are rounded, and ages overlap at their ends"
    return Report("N2", "A study of users of networks", setting, tables, (), claims)


def leakage(effort: Effort) -> Report:
    """N4: where what is given to a friend is after a time, and what risk that is by the study's trust."""
    rng, n = np.random.default_rng(1), effort.entities
    graphs = {path.parent.name or path.stem: _read(path) for path in effort.networks}
    graphs["friends among neighbours"] = _neighbours(n, rng)
    graphs["friends at random"] = graph_of_edges(n, *rng.integers(0, n, (2, n * EACH)))
    owners = {key: rng.permutation(np.flatnonzero(g.degrees))[: effort.records] for key, g in graphs.items()}
    found = {(name, how): _leaked(own, owners[name], how) for name, own in graphs.items() for how in KERNELS}
    tables = tuple(
        ResultTable.of(
            f"{name}: {graphs[name].n_people:,} people, {graphs[name].links.nnz // 2:,} friendships, "
            f"{len(owners[name])} owners, {kernel}",
            ("t", "risk", "at strangers"), TIMES, values,
        )
        for (name, kernel), (values, _) in found.items()
    )  # fmt: skip
    risks = {key: values[:, 0] for key, (values, _) in found.items()}
    lines = curves([f"{name}, {how}" for name, how in risks], TIMES, np.stack([*risks.values()], axis=1))
    picture = Picture("n4-risk", "Risk of an item that is given to a friend", "time", "mean risk", lines)
    most, cut = max(float(own.max()) for own in risks.values()), max(error for _, error in found.values())
    rising = sum((np.diff(own) > 0).all() for own in risks.values())
    faster = sum((risks[name, "laplacian"] >= risks[name, "random_walk"]).all() for name in graphs)
    claims = (
        exact(
            "No risk is above that of strangers", most <= float(WEIGHTS.max()) + cut + 1e-12,
            f"at most {most:.3f} of {WEIGHTS.max():.3f}, cut off by at most {cut:.1g}",
        ),
        qualitative("Risk grows with time", rising == len(risks), f"in {rising} of {len(risks)} cases"),
        qualitative(
            "It leaks faster along each edge (laplacian) than from each person (random_walk)",
            faster == len(graphs), f"in {faster} of {len(graphs)} networks",
        ),
    )  # fmt: skip
    setting = (
        "mean over owners and their friends; what returns to the owner has no risk; f(T) = "
        + ", ".join(f"{own:.3f} of a {name}" for name, own in zip(TRUST, WEIGHTS, strict=True))
        + "; edges are undirected"
    )
    return Report("N4", "Leakage with time", setting, tables, (picture,), claims)


def _leaked(graph: Graph, owners: Longs, kernel: Kernel) -> tuple[Floats, float]:
    """By time the mean risk at friends and the share of it with strangers; and the series' greatest cut."""
    links, found, cut = graph.links, np.zeros((len(TIMES), 2)), 0.0

    def weights_of(block: Longs) -> Floats:
        is_friend = links[block].T.toarray() > 0
        is_stranger = ~(is_friend | ((links @ links[block].T).toarray() > 0))
        risks = np.choose(np.where(is_stranger, 2, ~is_friend), WEIGHTS)
        own = block, np.arange(len(block))
        risks[own], is_stranger[own] = 0.0, False
        return np.concatenate([risks, is_stranger], axis=1)

    for i, at in enumerate(TIMES):
        for block, both in spreads_of(graph, owners, weights_of, kernel, at):
            given, cut = links[block].T / graph.degrees[block], max(cut, both.truncation_error)
            found[i] += [(given * part).sum() for part in np.hsplit(both.values, 2)]
    return found / len(owners), cut


def _read(path: Path) -> Graph:
    """The reader's own network: two friends in the first two columns of a CSV with a header."""
    try:
        with warnings.catch_warnings(action="error"):
            rows = np.loadtxt(path, str, delimiter=",", skiprows=1, usecols=(0, 1), ndmin=2, encoding="utf-8")
    except (OSError, ValueError, UserWarning) as error:
        raise InvalidInput.of(
            "--networks", "unreadable", f"{path.name} cannot be read as a network.",
            "Give a CSV with a header and rows, whose first two columns are two friends.",
        ) from error  # fmt: skip
    people, ends = np.unique(rows.reshape(-1), return_inverse=True)
    return graph_of_edges(len(people), *ends.reshape(-1, 2).T)


def _neighbours(n: int, rng: np.random.Generator) -> Graph:
    """A ring in which everybody is a friend of the next ones, but a fifth of the friends are anybody."""
    first = np.repeat(np.arange(n), EACH)
    second = (first + np.tile(np.arange(1, EACH + 1), n)) % n
    anybody = rng.integers(0, n, len(first))
    return graph_of_edges(n, first, np.where(rng.random(len(first)) < 0.2, anybody, second))


@dataclass(frozen=True, eq=False)
class Invitation:
    """Every answer to an invitation, (N,): friends in common consistent with it, times λ, its Φ and its u."""

    friends: Floats
    sensitivities: Floats
    utilities: Floats

    @property
    def objective(self) -> Floats:
        """The published λξ/Φ + u of each, κ being 1; Φ is above 0 here."""
        return self.friends / self.sensitivities + self.utilities

    @property
    def layers(self) -> Floats:
        """τ_i = φ_l (1 + ε)^i, up to the greatest Φ."""
        least, greatest = self.sensitivities.min(), self.sensitivities.max()
        count = math.ceil(math.log(greatest / least, 1 + EPSILON) - 1e-12)
        return np.asarray(least * (1 + EPSILON) ** np.arange(count + 1))


def as_printed(of: Invitation) -> int:
    """Modified-Aggregate (Fouad (2012), section 7.5): the best f of answers with just the Φ of a layer."""
    layers, phi = of.layers, of.sensitivities
    is_in_one = np.abs(phi[:, None] - layers).min(axis=1) <= 1e-9 * phi
    return int(np.where(is_in_one, of.objective, -np.inf).argmax())


def repaired(of: Invitation) -> int:
    """In each layer the best λξ/τ + u of the answers with Φ ≤ τ; of these the best f: at least f*/(1 + ε).

    For in the layer with Φ* ≤ τ ≤ (1 + ε)Φ* it is at least f*/(1 + ε), and not above the f of what is found.
    """
    found = []
    for tau in of.layers.tolist():
        values = of.friends / tau + of.utilities
        found.append(int(np.where(of.sensitivities <= tau * (1 + 1e-12), values, -1.0).argmax()))
    return max(found, key=lambda answer: float(of.objective[answer]))


def enumerated(of: Invitation) -> int:
    """The exact optimum, by looking at every answer."""
    return int(of.objective.argmax())


METHODS: Final = {"exact": enumerated, "repaired": repaired, "as printed": as_printed}


def algorithms(effort: Effort) -> Report:
    """N1: the algorithm for answers as printed and repaired (Fouad (2012), figure 7.3), and the optimum."""
    rng = np.random.default_rng(1)
    graph = _neighbours(PEOPLE_PER_ENTITY * effort.entities, rng)
    n = graph.n_people
    anybody = common_friends(graph, *rng.integers(0, n, (2, RANDOM_PAIRS)))
    rows, quotients = [], []
    for most in ATTRIBUTES:
        asked = [
            _invitation(graph, pair, heights, rng)
            for heights in rng.integers(1, MOST_HEIGHT + 1, (effort.seeds, most))
            for pair in _at_distance_two(graph, effort.records, rng)
        ]
        answers, milliseconds = [], []
        for method in METHODS.values():
            start = time.process_time()
            answers.append([method(of) for of in asked])
            milliseconds.append(1e3 * (time.process_time() - start) / len(asked))
        values = np.array([of.objective[list(own)] for of, *own in zip(asked, *answers, strict=True)])
        pairs = [
            (of.sensitivities[list(own)], of.friends[list(own)])
            for of, *own in zip(asked, *answers, strict=True)
        ]
        risks = [phi / friends for phi, friends in pairs if friends.all()]
        mean = np.mean(risks or [[0.0] * len(METHODS)], axis=0).tolist()
        quotients.append(values[:, :1] / values[:, 1:])
        nodes = float(np.mean([len(of.friends) for of in asked]))
        rows.append((most, nodes, *milliseconds, *map(float, quotients[-1].max(axis=0)), len(risks), *mean))
    columns = (
        "attributes up to", "answers", *(f"{name}, ms" for name in METHODS),
        *(f"worst f*/f, {name}" for name in [*METHODS][1:]), "pairs with risks",
        *(f"risk, {name}" for name in METHODS),
    )  # fmt: skip
    quotient = np.concatenate(quotients)
    worst, hits = float(quotient[:, 0].max()), int((quotient[:, 1] <= 1 + EPSILON).sum())
    times, of_rows = (np.array([row[start : start + 3] for row in rows]) for start in (2, 8))
    claims = (
        exact(
            "Repaired, the algorithm is within 1 + ε of the optimum for every pair",
            worst <= (1 + EPSILON) * (1 + 1e-9), f"at most {worst:.6f} for {len(quotient):,} pairs",
        ),
        qualitative(
            "As printed, it is within 1 + ε, too", hits == len(quotient), f"for {hits:,} of {len(quotient):,}"
        ),
        qualitative(
            "Its risk is at most that of the exact answer",
            bool((of_rows[:, 2] <= of_rows[:, 0] * (1 + 1e-9)).all()),
            "; ".join(f"{own[2]:.3g} and {own[0]:.3g}" for own in of_rows),
        ),
        qualitative(
            "It takes less than half of the exact search's time", bool((times[:, 2] < times[:, 0] / 2).all()),
            "; ".join(f"{own[2]:.3g} and {own[0]:.3g} ms" for own in times) + ": both enumerate all answers",
        ),
        qualitative(
            "Random pairs of people have friends in common", bool((anybody > 0).mean() > 0.5),
            f"{(anybody > 0).sum()} of {RANDOM_PAIRS:,}; pairs asked about here are friends of a friend",
        ),
    )  # fmt: skip
    setting = (
        f"{n:,} people, {graph.links.nnz // 2:,} friendships; binary trees of heights 1 to {MOST_HEIGHT}, "
        f"random values; λ = κ = 1, ε = {EPSILON}; {effort.seeds * effort.records:,} pairs at distance two; "
        "few attributes, as all answers are enumerated"
    )
    table = ResultTable("Means over pairs; risks where every answer has one", columns, tuple(rows))
    return Report("N1", "Answers by Modified-Aggregate, and the best", setting, (table,), (), claims)


def _at_distance_two(graph: Graph, many: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """So many random friends of friends who are none themselves."""
    starts, friends = graph.links.indptr, graph.links.indices
    found: list[tuple[int, int]] = []
    while len(found) < many:
        first = int(rng.integers(graph.n_people))
        own = friends[starts[first] : starts[first + 1]]
        between = int(rng.choice(own))
        second = int(rng.choice(friends[starts[between] : starts[between + 1]]))
        if second != first and second not in own:
            found.append((first, second))
    return found


def _invitation(graph: Graph, pair: tuple[int, int], heights: Longs, rng: np.random.Generator) -> Invitation:
    """All answers of the first to the second, of whose profiles random numbers of attributes are known."""
    starts, people = graph.links.indptr, graph.links.indices
    first, second = (people[starts[own] : starts[own + 1]] for own in pair)
    many = len(np.intersect1d(first, second))
    known = rng.integers(1, len(heights) + 1, many + 1)
    heights = heights[: known[0]]
    weights, utilities, joins = _profiles(many, heights, rng)
    joins = np.where(np.arange(len(heights)) < known[1:, None], joins, heights)
    return _answers(weights, utilities, joins)


def _answers(weights: list[Floats], utilities: list[Floats], joins: Longs) -> Invitation:
    """All answers by a profile's sensitivity and utility per level, and the joins of friends in common."""
    counts, phi, utility = np.zeros([len(own) for own in weights]), np.zeros(()), np.zeros(())
    np.add.at(counts, tuple(joins.T), 1)
    for axis, chains in enumerate(zip(weights, utilities, strict=True)):
        counts = counts.cumsum(axis=axis)
        phi, utility = (np.add.outer(*own) for own in zip((phi, utility), chains, strict=True))
    return Invitation(counts.ravel(), phi.ravel(), utility.ravel())


def _profiles(
    many: int, heights: Longs, rng: np.random.Generator
) -> tuple[list[Floats], list[Floats], Longs]:
    """Sensitivity and utility per level of a random profile over binary trees, and joins of so many others.

    A level discloses its distance from the root, and is as sensitive as a random weight times its share of
    the path; the root has some sensitivity, too.
    """
    values = rng.integers(0, 2**heights, (many + 1, len(heights)))
    nodes = [np.arange(height + 1.0, 0.0, -1.0) for height in heights.tolist()]
    weights = [rng.uniform() * own / len(own) for own in nodes]
    joins = np.ceil(np.log2((values[1:] ^ values[0]) + 1)).astype(np.int64)
    return weights, [own - 1 for own in nodes], joins


def friends_in_common(effort: Effort) -> Report:
    """N3: utility and risk by the number of friends in common, within a cap and as published."""
    rng = np.random.default_rng(1)
    heights = rng.integers(1, MOST_HEIGHT + 1, (effort.records, KNOWN))
    profiles = [_profiles(FRIENDS[-1], own, rng) for own in heights]
    weights, utilities = (
        np.array([[np.pad(c, (0, MOST_HEIGHT + 1 - len(c)), "edge") for c in own[i]] for own in profiles])
        for i in (0, 1)
    )
    found = np.zeros((len(FRIENDS), len(profiles), 5))
    for k, friends in enumerate(FRIENDS):
        joins = np.concatenate([own[2][:friends] for own in profiles])
        asked = Invitations(weights, utilities, heights, joins, np.full(len(profiles), friends))
        best = recommendations(asked, CAP)
        shown = np.column_stack([best.accepted, best.utility, best.risk])
        found[k, :, :3] = np.where(best.accepted[:, None], shown, 0.0)
        for place, (weight, utility, joined) in enumerate(profiles):
            of = _answers(weight, utility, joined[:friends])
            best_f = enumerated(of)
            is_above = of.sensitivities[best_f] > CAP * of.friends[best_f]
            found[k, place, 3:] = of.utilities[best_f], is_above
    found[:, :, (1, 3)] /= heights.sum(axis=1)[:, None]
    means = found.mean(axis=1)
    names = ("accepted", "utility", "risk", "utility, as published", "above the cap, as published")
    table = ResultTable.of(
        "Means over invitations; utility as a share of all, and 0 like the risk where nothing is shown",
        ("friends in common", *names), FRIENDS, means,
    )  # fmt: skip
    claims = (
        exact("No recommendation is above the cap", bool((found[..., 2] <= CAP * 1.000001).all()), f"{CAP}"),
        exact(
            "More friends in common never make a recommendation less useful",
            bool((np.diff(found[:, :, 1], axis=0) >= -1e-9).all()), "friends are added to those before",
        ),
        qualitative(
            "The published objective shows the less, the more friends are in common",
            bool((np.diff(means[:, 3]) <= 0).all()),
            " ".join(f"{own:.3f}" for own in means[:, 3]) + ": it shows most to strangers",
        ),
    )  # fmt: skip
    setting = f"{KNOWN} attributes over binary trees of heights 1 to {MOST_HEIGHT}; cap {CAP}; λ = κ = 1"
    return Report("N3", "Friends in common", setting, (table,), (), claims)
