"""N1 to N4: sharing in social networks (Fouad (2012), chapter 7): a study, leakage, and its Algorithm 8."""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.errors import InvalidInput
from app.domain.networks.common_friends import common_friends
from app.domain.networks.diffusion import Kernel, spreads_of
from app.domain.networks.graph import Graph, graph_of_edges
from app.domain.networks.trust import risk_weights
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative

CHAPTER: Final = "Fouad (2012), section 7"
NETWORKS: Final = ("Google+", "Facebook", "Twitter", "LinkedIn", "MySpace")
USERS: Final = (28, 62, 47, 39, 11)
PEOPLE: Final[dict[str, dict[str, int]]] = {
    "gender": {"male": 57, "female": 43},
    "age": {"10-18": 19, "19-30": 43, "30-40": 22, "40-50": 12, "50+": 4},
    "education": {"no high-school diploma": 23, "high school": 18, "college": 42, "college+": 17},
    "employment": {
        "for wages": 56, "self-employed": 12, "looking for work": 8, "out of work": 3, "student": 20,
        "retired": 1,
    },
    "race": {
        "Asian": 20, "American Indian or Alaska Native": 12, "Black or African American": 15,
        "Native Hawaiian or other Pacific Islander": 4, "White": 49,
    },
}  # fmt: skip
VISITS: Final = ((72, 4, 9, 11, 4), (38, 12, 17, 19, 14), (53, 17, 7, 13, 10), (61, 20, 7, 6, 6), (89, 5, 3, 2, 1))
CRITERIA: Final = {
    "prior knowledge of the user": 62, "the network": 21, "friends who know the user": 6,
    "sensitivity of the information": 5, "shared interests": 4, "shared demographics": 2,
}  # fmt: skip
RELATIONS: Final = {"friend": (74, 23, 3), "friend of a friend": (56, 30, 14), "stranger": (23, 23, 54)}
"""Percent who always, under conditions and never trust."""
TIMES: Final = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
KERNELS: Final[tuple[Kernel, ...]] = ("random_walk", "laplacian")
DEGREE: Final = 10
REWIRED: Final = 0.2
PEOPLE_PER_ENTITY: Final = 125
RANDOM_PAIRS: Final = 50_000
ATTRIBUTES: Final = (2, 3, 4, 5, 6)
MOST_HEIGHT: Final = 10
EPSILON: Final = 0.25


def priors() -> dict[str, float]:
    """Trust from −1 to 1 by relation: those who always trust and half of those who do under conditions."""
    return {name: (2 * always + sometimes) / 100 - 1 for name, (always, sometimes, _) in RELATIONS.items()}


def study(effort: Effort) -> Report:
    """N2: the tables of the user study as data, and the trust that follows from them."""
    trust, shares = priors(), [CRITERIA[name] for name in CRITERIA]
    sums = [sum(group.values()) for group in PEOPLE.values()]
    sums += [sum(row) for row in (*VISITS, shares, *RELATIONS.values())]
    asked = [(group, name, share) for group, own in PEOPLE.items() for name, share in own.items()]
    often = ("network", "never", "once a month", "once a week", "few times a week", "few times a day")
    tables = (
        ResultTable("Table 7.1: who was asked (%)", ("attribute", "value", "share"), tuple(asked)),
        ResultTable(
            "Table 7.2: how often networks are used (%)", often,
            tuple((name, *row) for name, row in zip(NETWORKS, VISITS, strict=True)),
        ),
        ResultTable("Table 7.3: main criterion when sharing (%)", ("criterion", "share"), tuple(CRITERIA.items())),
        ResultTable(
            "Table 7.4: trust (%), and the prior trust T that follows",
            ("relation", "always", "under conditions", "never", "T"),
            tuple((name, *own, trust[name]) for name, own in RELATIONS.items()),
        ),
    )  # fmt: skip
    named = CRITERIA["friends who know the user"]
    claims = (
        exact("Every group of answers sums to 100 %", set(sums) == {100}, f"{len(sums)} groups"),
        exact(
            "Those who use a network are those who do not say never",
            tuple(100 - row[0] for row in VISITS) == USERS,
            ", ".join(f"{name} {share} %" for name, share in zip(NETWORKS, USERS, strict=True)),
        ),
        exact(
            "Prior trust falls from friends to strangers",
            [*trust.values()] == sorted(trust.values(), reverse=True),
            ", ".join(f"{name} {own:+.2f}" for name, own in trust.items()),
        ),
        qualitative(
            "The number of common friends, by which trust is measured in the chapter, is what people go by",
            named == max(CRITERIA.values()),
            f"{named} % name it as their main criterion, {max(CRITERIA.values())} % prior knowledge of the user",
        ),
    )
    setting = "slightly more than 300 users of four continents; percentages are rounded, ages overlap at their ends"
    return Report("N2", "A study of users of networks", f"{CHAPTER}.6", setting, tables, (), claims)


def leakage(effort: Effort) -> Report:
    """N4: where what is given to a friend is after a time, and what risk that is by the study's trust."""
    graphs = {path.parent.name or path.stem: _read(path) for path in effort.networks}
    rng = np.random.default_rng(1)
    n = effort.entities
    graphs["friends among neighbours"] = _neighbours(n, rng)
    graphs["friends at random"] = graph_of_edges(n, *rng.integers(0, n, (2, n * DEGREE // 2)))
    graphs["few with many friends"] = _hubs(n, rng)
    found: dict[tuple[str, Kernel], Floats] = {}
    owners, left_out = {}, 0.0
    for name, graph in graphs.items():
        with_friends = np.flatnonzero(graph.degrees > 0)
        many = min(effort.records, len(with_friends))
        owners[name] = np.sort(rng.choice(with_friends, many, replace=False))
        for kernel in KERNELS:
            found[name, kernel], error = _leaked(graph, owners[name], kernel)
            left_out = max(left_out, error)
    weights = _weights()
    tables = tuple(
        ResultTable(
            f"{name}: {graphs[name].n_people:,} people, {graphs[name].links.nnz // 2:,} friendships, "
            f"{len(owners[name])} owners, {kernel}",
            ("t", "risk", "at strangers", "risk at strangers"),
            tuple((at, *row) for at, row in zip(TIMES, values.tolist(), strict=True)),
        )
        for (name, kernel), values in found.items()
    )
    risks = {key: values[:, 0] for key, values in found.items()}
    pictures = tuple(
        Picture(
            f"n4-{kernel}", f"Risk of an item that is given to a friend ({kernel})", "time", "mean risk",
            curves([*graphs], TIMES, np.stack([risks[name, kernel] for name in graphs], axis=1)),
        )
        for kernel in KERNELS
    )  # fmt: skip
    walks = [name for name in graphs if (risks[name, "laplacian"][1:] > risks[name, "random_walk"][1:]).all()]
    rising = [key for key, values in risks.items() if (np.diff(values) > 0).all()]
    safer = [key for key, values in found.items() if (values[:, 0] < values[:, 2]).all()]
    half = [name for name in graphs if found[name, "random_walk"][4, 1] > 0.5]
    claims = (
        exact(
            "At first a friend has it, at the risk of a friend",
            all(abs(values[0] - weights["friend"]) <= 1e-12 for values in risks.values()),
            f"{weights['friend']:.3f} in {len(risks)} cases",
        ),
        exact(
            "No risk is above that of strangers, but for the series' cut",
            all((values <= weights["stranger"] + 1e-12).all() for values in risks.values()),
            f"at most {max(values.max() for values in risks.values()):.3f} of {weights['stranger']:.3f}; "
            f"cut by at most {left_out:.1g}",
        ),
        qualitative("Risk grows with time", len(rising) == len(risks), f"in {len(rising)} of {len(risks)} cases"),
        qualitative(
            "It leaks faster along each edge (laplacian) than from each person (random_walk)",
            len(walks) == len(graphs), f"in {len(walks)} of {len(graphs)} networks at every t > 0",
        ),
        qualitative(
            "At t = 1 strangers have more than half of what a friend was given",
            len(half) == len(graphs), f"in {len(half)} of {len(graphs)} networks by the random walk",
        ),
        qualitative(
            "A friend is safer than a stranger at every time",
            len(safer) == len(found), f"in {len(safer)} of {len(found)} cases",
        ),
    )  # fmt: skip
    setting = (
        "an owner gives an item to a friend, or to a stranger at random; what returns to the owner has no risk; "
        + ", ".join(f"f(T) = {own:.3f} of a {name}" for name, own in weights.items())
        + "; edges are undirected"
    )
    return Report("N4", "Leakage with time", f"{CHAPTER}.3", setting, tables, pictures, claims)


def _weights() -> dict[str, float]:
    """Risk of an item at people of each relation."""
    trust = priors()
    return dict(zip(trust, risk_weights(np.array([*trust.values()]), "linear").tolist(), strict=True))


def _leaked(graph: Graph, owners: Longs, kernel: Kernel) -> tuple[Floats, float]:
    """By time: mean risk at friends, share of it with strangers, mean risk at strangers; and the series' cut."""
    friend, of_friend, stranger = _weights().values()
    links, n = graph.links, graph.n_people
    found, left_out = np.zeros((len(TIMES), 3)), 0.0

    def is_stranger(block: Longs) -> Bools:
        near = (links @ links[block].T).toarray() + links[block].T.toarray()
        near[block, np.arange(len(block))] = 1
        return near == 0

    def weights_of(block: Longs) -> Floats:
        is_friend, others = links[block].T.toarray() > 0, is_stranger(block)
        risks = np.where(others, stranger, np.where(is_friend, friend, of_friend))
        risks[block, np.arange(len(block))] = 0.0
        return np.concatenate([risks, others], axis=1)

    for i, at in enumerate(TIMES):
        for block, both in spreads_of(graph, owners, weights_of, kernel, at):
            left_out = max(left_out, both.truncation_error)
            risks, shares = np.hsplit(both.values, 2)
            given, others = links[block].T / graph.degrees[block], is_stranger(block)
            at_strangers = (risks * others).sum(axis=0) / np.maximum(others.sum(axis=0), 1)
            found[i] += (given * risks).sum(), (given * shares).sum(), at_strangers.sum()
    return found / len(owners), left_out


def _read(path: Path) -> Graph:
    """The reader's own network: two friends in the first two columns of a CSV with a header."""
    try:
        with path.open(newline="") as file:
            rows = [(row[0], row[1]) for row in list(csv.reader(file))[1:]]
    except (OSError, ValueError, IndexError) as error:
        raise InvalidInput.of(
            "--networks", "unreadable", f"{path.name} cannot be read as a network.",
            "Give a CSV with a header, whose first two columns are two friends.",
        ) from error  # fmt: skip
    people, ends = np.unique(np.array(rows).reshape(-1), return_inverse=True)
    return graph_of_edges(len(people), *ends.reshape(-1, 2).T)


def _neighbours(n: int, rng: np.random.Generator) -> Graph:
    """A ring in which everybody is a friend of the next five, but a fifth of the friends are anybody."""
    first = np.repeat(np.arange(n), DEGREE // 2)
    second = (first + np.tile(np.arange(1, DEGREE // 2 + 1), n)) % n
    return graph_of_edges(n, first, np.where(rng.random(len(first)) < REWIRED, rng.integers(0, n, len(first)), second))


def _hubs(n: int, rng: np.random.Generator) -> Graph:
    """Everybody who joins has five friends, each somebody's friend drawn before: who has many gets more."""
    each = DEGREE // 2
    first, second = np.repeat(np.arange(1, n), each), np.zeros((n - 1) * each, dtype=np.int64)
    chosen = rng.random(len(first))
    for edge in range(each, len(first)):
        place = int(chosen[edge] * 2 * (edge - edge % each))
        second[edge] = (first if place % 2 else second)[place // 2]
    return graph_of_edges(n, first, second)


@dataclass(frozen=True, eq=False)
class Invitation:
    """Every answer to an invitation, (N,): friends in common consistent with it, times λ, its Φ and its u."""

    friends: Floats
    sensitivities: Floats
    utilities: Floats

    @property
    def objective(self) -> Floats:
        """f = λξ/Φ + u with κ = 1, as published; Φ is above 0 here."""
        return self.friends / self.sensitivities + self.utilities

    @property
    def layers(self) -> Floats:
        """τ_i = φ_l (1 + ε)^i, up to the greatest Φ."""
        least, greatest = self.sensitivities.min(), self.sensitivities.max()
        count = math.ceil(math.log(greatest / least, 1 + EPSILON) - 1e-12)
        return np.asarray(least * (1 + EPSILON) ** np.arange(count + 1))


def as_printed(of: Invitation) -> int:
    """Algorithm 8, Modified-Aggregate: the best f of the answers whose Φ is exactly that of a layer."""
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


def by_parameter(of: Invitation) -> int:
    """The exact optimum (Dinkelbach (1967)): the greatest λξ + Φu − αΦ, α being the last answer's f."""
    answer = 0
    while True:
        alpha = float(of.objective[answer])
        values = of.friends + of.sensitivities * (of.utilities - alpha)
        better = int(values.argmax())
        if values[better] <= 1e-12 * max(1.0, alpha):
            return answer
        answer = better


METHODS: Final[dict[str, Callable[[Invitation], int]]] = {
    "exact": by_parameter, "repaired": repaired, "as printed": as_printed,
}  # fmt: skip


def toy() -> Invitation:
    """The record (Laf, Eng) over two trees with five friends in common, at λ = 0.05."""
    friends, phi, utility = [1, 2, 2, 3, 3, 5], [1.1, 0.7, 0.8, 0.4, 0.6, 0.2], [3.0, 2.0, 2.0, 1.0, 1.0, 0.0]
    return Invitation(0.05 * np.array(friends), np.array(phi), np.array(utility))


def algorithms(effort: Effort) -> Report:
    """N1: figure 7.3, Algorithm 8 as printed and repaired, beside the exact optimum."""
    rng = np.random.default_rng(1)
    graph = _neighbours(PEOPLE_PER_ENTITY * effort.entities, rng)
    n = graph.n_people
    anybody = common_friends(graph, *rng.integers(0, n, (2, RANDOM_PAIRS)))
    rows, ratios, right, risky, raw = [], [], [], [], []
    for most in ATTRIBUTES:
        heights = rng.integers(1, MOST_HEIGHT + 1, (effort.seeds, most))
        asked = [
            _invitation(graph, pair, own, rng)
            for own in heights
            for pair in _at_distance_two(graph, effort.records, rng)
        ]
        answers, seconds = {}, []
        for name, method in METHODS.items():
            start = time.process_time()
            answers[name] = [method(of) for of in asked]
            seconds.append(1e3 * (time.process_time() - start) / len(asked))
        values = {
            name: np.array([of.objective[x] for of, x in zip(asked, found, strict=True)])
            for name, found in answers.items()
        }
        known = [
            i for i, of in enumerate(asked) if all(of.friends[found[i]] for found in answers.values())
        ]
        risks = {
            name: float(np.mean([asked[i].sensitivities[found[i]] / asked[i].friends[found[i]] for i in known] or [0.0]))
            for name, found in answers.items()
        }
        ratios.append(values["exact"] / values["repaired"])
        right.append(values["as printed"] >= values["exact"] / (1 + EPSILON))
        raw.append(np.array(answers["exact"]) == 0)
        risky.append([*risks.values()])
        nodes = float(np.mean([len(of.friends) for of in asked]))
        rows.append((most, len(asked), nodes, *seconds, float(ratios[-1].max()), float(right[-1].mean()), len(known), *risks.values()))
    best = [float(of.objective.max()) for of in asked]
    worst, hit, whole = (np.concatenate(own) for own in (ratios, right, raw))
    example = toy()
    printed, optimum = (float(example.objective[method(example)]) for method in (as_printed, by_parameter))
    columns = (
        "attributes up to", "pairs", "answers to choose from", *(f"{name}, ms" for name in METHODS),
        "worst f*/f, repaired", "as printed within 1 + ε", "pairs with a risk", *(f"risk, {name}" for name in METHODS),
    )  # fmt: skip
    r = np.array(risky)
    claims = (
        exact(
            "Repaired, the algorithm is within 1 + ε of the optimum for every pair",
            bool((worst <= (1 + EPSILON) * (1 + 1e-9)).all()),
            f"at most {worst.max():.6f} of {1 + EPSILON} for {len(worst):,} pairs",
        ),
        exact(
            "Dinkelbach's answer is the best of all",
            bool(np.allclose(values["exact"], best, rtol=1e-9)), f"{len(best)} pairs compared one by one",
        ),
        exact(
            "As printed, the algorithm suppresses the example's record, whose raw form is worth more than twice as much",
            as_printed(example) == 5 and by_parameter(example) == 0 and optimum > 2 * printed,
            f"f = {printed:.6f} beside {optimum:.6f}",
        ),
        qualitative(
            "As printed, it is within 1 + ε, too", bool(hit.all()), f"for {hit.sum():,} of {len(hit):,} pairs"
        ),
        qualitative(
            "Its risk is comparable to the optimum's, within 1 + ε",
            bool((r[:, 2] <= (1 + EPSILON) * r[:, 0]).all()), "; ".join(f"{c:.3g} beside {a:.3g}" for a, _, c in r),
        ),
        qualitative(
            "It is much faster than the exact search", all(row[5] < row[3] / 2 for row in rows),
            "; ".join(f"{row[5]:.3g} ms beside {row[3]:.3g} ms" for row in rows) + ": both enumerate all answers here",
        ),
        qualitative(
            "Random pairs of people have friends in common", bool((anybody > 0).mean() > 0.5),
            f"{(anybody > 0).sum()} of {RANDOM_PAIRS:,} pairs; those asked about here are friends of a friend",
        ),
        qualitative(
            "The published objective asks people to hide something", bool(whole.mean() < 0.5),
            f"the raw record is its optimum for {whole.sum():,} of {len(whole):,} pairs",
        ),
    )  # fmt: skip
    table = ResultTable("Means over pairs; risks where every answer has some", columns, tuple(rows))
    at = [float(most) for most in ATTRIBUTES]
    pictures = (
        Picture("n1-risk", "Risk of the answers", "attributes up to", "mean Φ/ξ", curves([*METHODS], at, r)),
        Picture(
            "n1-time", "Time of an answer", "attributes up to", "milliseconds",
            curves([*METHODS], at, np.array([row[3:6] for row in rows])),
        ),
    )  # fmt: skip
    setting = (
        f"{n:,} people, {graph.links.nnz // 2:,} friendships; binary trees of heights 1 to {MOST_HEIGHT}, random values; "
        f"λ = κ = 1, ε = {EPSILON}; pairs at distance two; all answers are enumerated, so that there are few attributes"
    )
    return Report("N1", "Algorithm 8 beside the optimum", f"{CHAPTER}.7, figure 7.3", setting, (table,), pictures, claims)


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


def _invitation(
    graph: Graph, pair: tuple[int, int], heights: Longs, rng: np.random.Generator
) -> Invitation:
    """All answers of the first to the second, by random profiles over binary trees of these heights.

    Of each profile a random number of attributes is known. A level discloses its distance from the root, and
    is as sensitive as a random weight times its share of the path; the root has some sensitivity, too.
    """
    starts, people = graph.links.indptr, graph.links.indices
    first, second = (people[starts[own] : starts[own + 1]] for own in pair)
    many = len(np.intersect1d(first, second))
    known = rng.integers(1, len(heights) + 1, many + 1)
    heights = heights[: known[0]]
    values = rng.integers(0, 2**heights, (many + 1, len(heights)))
    levels = np.ceil(np.log2((values[1:] ^ values[0]) + 1)).astype(np.int64)
    levels = np.where(np.arange(len(heights)) < known[1:, None], levels, heights)
    counts = np.zeros(heights + 1)
    np.add.at(counts, tuple(levels.T), 1)
    sensitivity, utility = np.zeros(()), np.zeros(())
    for axis, (height, weight) in enumerate(zip(heights.tolist(), rng.uniform(0, 1, len(heights)), strict=True)):
        counts = counts.cumsum(axis=axis)
        nodes = np.arange(height + 1.0, 0.0, -1.0)
        sensitivity = np.add.outer(sensitivity, weight * nodes / (height + 1))
        utility = np.add.outer(utility, nodes - 1)
    return Invitation(counts.ravel(), sensitivity.ravel(), utility.ravel())
