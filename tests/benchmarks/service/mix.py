"""What the mixed load asks of the service: reading, previews, scores, uploads, searches, gates, pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import Final

from tests.benchmarks.service.load_plan import Asking, Kind
from tests.benchmarks.service.sample import Json, Loaded, table_level
from tests.benchmarks.service.signing_in import session_cookie
from tests.benchmarks.service.starts import POLICY

WEIGHTS: Final = {
    "GET": 30.0,
    "list": 8.0,
    "preview": 10.0,
    "new assessment": 15.0,
    "repeated assessment": 20.0,
    "upload": 2.0,
    "search": 1.0,
    "gate": 6.0,
    "page": 8.0,
}
"""Kind of request → how many of a hundred it is. A search is queued; the worker makes it meanwhile."""

_UPLOADED_ROWS: Final = 1_000
_JUDGED_RECORDS: Final = 1_000
_LEAST_USED: Final = 50
"""Requests that are sent once: at least so many for every load."""


class Mix:
    """The requests of a loaded service, those that are sent once dealt out to one load after another."""

    def __init__(self, loaded: Loaded, questions: Sequence[Json]) -> None:
        self._new = iter([_post("/v1/assessments", body) for body in questions[1:]])
        self._uploads, self._searches = _uploads(), _searches(loaded)
        known = loaded.client.assessments.create(questions[0])
        self.question = questions[0]
        self._answered = f"/v1/assessments/{known.id}"
        self._page_of_answer = f"/assessments/{known.id}"
        self.cookie = session_cookie(loaded.service)
        self._gates = _gates(loaded)

    def kinds(self, new: int, names: Sequence[str] = tuple(WEIGHTS)) -> list[Kind]:
        """The kinds of these names for a load with so many new questions at most."""
        share = {
            name: max(round(new * WEIGHTS[name] / WEIGHTS["new assessment"]), _LEAST_USED) for name in WEIGHTS
        }
        made: dict[str, Callable[[], list[Asking]]] = {
            "GET": lambda: [_get(self._answered), _get("/v1/datasets/members"), _get("/v1/hierarchies/city")],
            "list": lambda: [_get("/v1/assessments?limit=20"), _get("/v1/rules?limit=20")],
            "preview": self._previews,
            "new assessment": lambda: list(islice(self._new, new)),
            "repeated assessment": lambda: [_post("/v1/assessments", self.question)],
            "upload": lambda: list(islice(self._uploads, share["upload"])),
            "search": lambda: list(islice(self._searches, share["search"])),
            "gate": lambda: self._gates,
            "page": lambda: [_get(self._page_of_answer), _get("/datasets/members"), _get("/")],
        }
        once = {"new assessment", "upload", "search"}
        return [Kind(name, WEIGHTS[name], made[name](), name not in once) for name in names]

    def _previews(self) -> list[Asking]:
        levels = {"city": 2, "race": 1, "birth_date": 2, "income": 1}
        body = {"dataset": "members", "rule": table_level(levels), "limit": 20}
        return [_get("/v1/datasets/members/preview?limit=20"), _post("/v1/rule-previews", body)]


def _get(path: str) -> Asking:
    return Asking("GET", path)


def _post(path: str, body: Json) -> Asking:
    return Asking("POST", path, body)


def _uploads() -> Iterator[Asking]:
    rows = "".join(f"{number},{number % 97},{number % 7}\n" for number in range(_UPLOADED_ROWS))
    for number in count():
        yield Asking("POST", f"/v1/uploads?name=load-{number}&format=csv", text=f"id,place,group\n{rows}")


def _searches(loaded: Loaded) -> Iterator[Asking]:
    for number in count():
        objective = {"kind": "min_risk", "utility_floor": 4 + number / 1_000}
        yield _post("/v1/optimisations", loaded.question | {"name": f"load-{number}", "objective": objective})


def _gates(loaded: Loaded) -> list[Asking]:
    """Judgements of 24 rules by one policy; after the first round they have all been made before.

    Of the first records alone: those of the whole sample are left to runs.
    """
    loaded.client.policies.create_from_yaml(POLICY)
    _first_records(loaded, _JUDGED_RECORDS)
    rules = [
        {"city": city, "race": race, "birth_date": birth, "income": 1}
        for city in range(1, 5)
        for race in range(3)
        for birth in (2, 3)
    ]
    return [
        _post("/v1/gates/classes-of-five/evaluations", {"dataset": "judged", "rule": table_level(rule)})
        for rule in rules
    ]


def _first_records(loaded: Loaded, records: int) -> None:
    """A dataset ``judged`` of the first records of the sample."""
    with (loaded.folder / "sample" / "members.csv").open("rb") as lines:
        loaded.client.uploads.create_from("judged", b"".join(islice(lines, records + 1)))
    kept = ("name", "type", "role", "hierarchy")
    attributes = [
        {key: own[key] for key in kept if own[key] is not None}
        for own in loaded.client.datasets.get("members").document["attributes"]
    ]
    loaded.client.datasets.create({"name": "judged", "upload": "judged", "attributes": attributes})
