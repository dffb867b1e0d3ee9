"""What a load generator is asked to send, and what it says of it, as JSON between two processes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from tests.benchmarks.service.percentiles import percentile


@dataclass(frozen=True)
class Asking:
    """One request; ``body`` is sent as JSON, ``text`` as it is."""

    method: str
    path: str
    body: Any = None
    text: str | None = None


@dataclass(frozen=True)
class Kind:
    """Requests of one kind, and how many of a hundred of the mixed load they are.

    They are sent one after another; all over again where ``is_repeated``, else each is sent once, and the
    load ends where there is no more.
    """

    name: str
    weight: float
    requests: Sequence[Asking]
    is_repeated: bool = True


@dataclass(frozen=True)
class Plan:
    """A load: so many ``clients`` each of which waits for its answer, or ``rate`` requests a second if > 0.

    ``listened`` is an address of events that ``listeners`` follow meanwhile; ``cookie`` is that of a session
    of the pages. It lasts ``seconds``.
    """

    base_url: str
    api_key: str
    kinds: Sequence[Kind]
    seconds: float
    clients: int = 1
    rate: float = 0.0
    cookie: str = ""
    listened: str = ""
    listeners: int = 0
    seed: int = 1

    def to_json(self) -> str:
        """For a process of its own."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What ``to_json`` wrote."""
        document = json.loads(text)
        kinds = [
            Kind(**kind | {"requests": [Asking(**one) for one in kind["requests"]]})
            for kind in document["kinds"]
        ]
        return cls(**document | {"kinds": kinds})


def mixed(plan: Plan) -> Iterator[tuple[str, Asking]]:
    """Requests with the names of their kinds, drawn by weight; ends where a kind has no more."""
    sent = [
        itertools.cycle(kind.requests) if kind.is_repeated else iter(kind.requests) for kind in plan.kinds
    ]
    weights = np.array([kind.weight for kind in plan.kinds])
    rng = np.random.default_rng(plan.seed)
    while True:
        for drawn in rng.choice(len(weights), size=1000, p=weights / weights.sum()).tolist():
            following = next(sent[drawn], None)
            if following is None:
                return
            yield plan.kinds[drawn].name, following


@dataclass
class Told:
    """What became of a load: milliseconds of the good answers by kind, and the numbers of the others.

    ``refused`` are answers of the 400s, ``failed`` those above and connections that broke. ``processor`` is
    the generator's own time in seconds, ``events`` what
    the listeners heard, ``examples`` some of what was said instead of good answers.
    """

    seconds: float = 0.0
    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    refused: int = 0
    failed: int = 0
    processor: float = 0.0
    events: int = 0
    examples: list[str] = field(default_factory=list)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What the generator printed."""
        return cls(**json.loads(text))

    @property
    def answered(self) -> int:
        """How many answers were good ones."""
        return sum(map(len, self.milliseconds.values()))

    @property
    def throughput(self) -> float:
        """Good answers a second."""
        return self.answered / self.seconds

    def percentile(self, share: float) -> float:
        """Milliseconds that this share of all good answers took at most."""
        return percentile([taken for kind in self.milliseconds.values() for taken in kind], share)

    def note(self, kind: str, status: int, milliseconds: float, said: str) -> None:
        """Take an answer down; status 599 is a broken connection."""
        if status < 400:
            self.milliseconds.setdefault(kind, []).append(milliseconds)
            return
        if status < 500:
            self.refused += 1
        else:
            self.failed += 1
        example = f"{kind} {status} {said}"
        # Refusals, of which there may be many, leave room for failures.
        if example not in self.examples and len(self.examples) < (5 if status < 500 else 10):
            self.examples.append(example)
