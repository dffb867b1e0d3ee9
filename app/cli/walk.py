"""The user's journey through the service, over HTTP: from files to the optimal rule and its release."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.cli.described_columns import Attribute
from app.cli.journey import Journey, TableFile, declared, harm_of, with_hierarchy
from app.cli.progress import Listener
from app.cli.tables_file import Json
from privacy_risk import Client, Resource, Run

SHOWN_RECORDS = 3


@dataclass(frozen=True)
class Score:
    """One rule and what its assessment says of it."""

    name: str
    levels: Mapping[str, int]
    assessment: Json


@dataclass(frozen=True)
class Walked:
    """What the journey brought; ``optimum`` and ``after`` are None if no rule satisfies the objective."""

    as_is: Score
    proposal: Score
    optimum: Score | None
    first_record: Json
    search: Json
    points: Json
    before: list[Json]
    after: list[Json] | None
    seconds: Mapping[str, float]
    sizes: Mapping[str, int]


@dataclass
class Walk:
    """Takes one journey with one client; the listener hears of every step.

    ``prefix`` begins the names of all that is made.
    """

    client: Client
    journey: Journey
    release_path: Path
    listener: Listener
    seconds: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    prefix: str = ""

    def run(self) -> Walked:
        """All steps in their order."""
        self.load()
        names = [attribute.name for attribute in self.journey.attributes]
        as_is = self._score(self._own("as-is"), dict.fromkeys(names, 0))
        first_record = self._first_record()
        proposed = {attribute.name: attribute.proposed_level for attribute in self.journey.attributes}
        with self._step("proposal") as say:
            rule = {"kind": "table_level", "levels": proposed}
            self.client.rules.create({"name": self._own("proposal"), "dataset": self._dataset, "rule": rule})
            say.append("the rule that somebody would have chosen")
        proposal = self._score(self._own("proposal"), proposed)
        search, points = self._optimise(proposal)
        preview = self.client.datasets.preview(self._dataset, SHOWN_RECORDS)
        before = [dict(zip(preview["columns"], row, strict=True)) for row in preview["rows"]]
        optimum, after = None, None
        if search.get("rule") is not None:
            found = search["rule"]["levels"]
            optimum = self._score(self._name("optimum"), {name: found[name] for name in names})
            self._release()
            # The release itself does not say which of its records are the first ones.
            asked: Json = {
                "dataset": self._dataset, "rule": self._name("optimum"), "limit": SHOWN_RECORDS,
            }  # fmt: skip
            shown = self.client.rules.preview(asked)
            rows = [["*" if cell is None else cell for cell in own["after"]] for own in shown["records"]]
            after = [dict(zip(shown["columns"], row, strict=True)) for row in rows]
        return Walked(
            as_is, proposal, optimum, first_record, search, points, before, after, self.seconds, self.sizes
        )

    @property
    def _dataset(self) -> str:
        return self._own(self.journey.dataset.name)

    def _own(self, name: str) -> str:
        return f"{self.prefix}{name}"

    def _name(self, suffix: str) -> str:
        return f"{self._dataset}-{suffix}"

    @contextmanager
    def _step(self, name: str) -> Iterator[list[str]]:
        """Time a step; what is appended to the list is told at its end."""
        start = time.perf_counter()
        details: list[str] = []
        yield details
        self.seconds[name] = time.perf_counter() - start
        self.listener.done(name, self.seconds[name], ", ".join(details))

    def load(self) -> None:
        """The steps up to the sensitivity: everything that a question needs."""
        journey = self.journey
        with self._step("hierarchies") as say:
            for attribute in journey.attributes:
                if attribute.hierarchy is not None:
                    document: Mapping[str, Any] = self._create_hierarchy(attribute).document
                    say.append(f"{attribute.name} {document['leaves']:,} leaves height {document['height']}")
        with self._step("uploads") as say:
            tables = [
                self._upload(table) for table in (journey.dataset, journey.dictionary, *journey.lookups)
            ]
            say += [f"{table.name} {table.document['rows']:,} rows" for table in tables]
        with self._step("dataset") as say:
            columns = declared(journey.dataset, journey.attributes, self._hierarchies())
            dataset = self.client.datasets.create(
                {"name": self._dataset, "upload": self._dataset, "attributes": columns}
            )
            self.sizes["records"] = dataset.document["rows"]
            say.append(f"{dataset.name} {dataset.document['status'].replace('_', ' ')}")
        with self._step("dictionary") as say:
            dictionary = self._create_dictionary()
            self.sizes["entities"] = dictionary.document["entities"]
            say.append(f"{dictionary.name} {dictionary.document['entities']:,} entities")
            say += [f"{link['column']} → {link['attribute']}" for link in journey.links]
        with self._step("sensitivity") as say:
            body = {"name": self._name("harm"), "dataset": self._dataset}
            self.client.sensitivity_profiles.create(body | harm_of(journey.attributes, journey.family))
            say.append(f"{journey.family}, weights of leaves " + ", ".join(_weights(journey)))

    def _create_hierarchy(self, attribute: Attribute) -> Resource:
        if isinstance(attribute.hierarchy, Path):
            return self.client.hierarchies.create_from_csv(
                self._own(attribute.hierarchy_name), attribute.hierarchy.read_bytes()
            )
        return self.client.hierarchies.create(
            {"name": self._own(attribute.hierarchy_name), "definition": attribute.hierarchy}
        )

    def _upload(self, table: TableFile) -> Resource:
        self.sizes[f"{table.name}_bytes"] = table.path.stat().st_size
        return self.client.uploads.create_from(
            self._own(table.name), table.path, table.format, **table.dialect
        )

    def _hierarchies(self) -> dict[str, str]:
        return {
            own.name: self._own(own.hierarchy_name)
            for own in self.journey.attributes
            if own.hierarchy is not None
        }

    def _create_dictionary(self) -> Resource:
        journey = self.journey
        hierarchies = self._hierarchies()
        links = [with_hierarchy(self._link(link), link["attribute"], hierarchies) for link in journey.links]
        name = self._own(journey.dictionary.name)
        body: Json = {"name": name, "upload": name, "links": links}
        if journey.dictionary.identifier is not None:
            body["identifier"] = journey.dictionary.identifier
        return self.client.dictionaries.create(body)

    def _link(self, link: Json) -> Json:
        """The link, with the look-up table that it names under the name that it is sent by."""
        transform = link["transform"]
        if "upload" not in transform:
            return link
        return {**link, "transform": {**transform, "upload": self._own(transform["upload"])}}

    def _score(self, name: str, levels: Mapping[str, int]) -> Score:
        step = f"{name.removeprefix(self.prefix).removeprefix(self.journey.dataset.name + '-')} score"
        rule: str | Json = {"kind": "identity"} if name == self._own("as-is") else name
        with self._step(step) as say:
            body = self.question() | {"name": f"{name}-score", "rule": rule}
            assessment = self.client.assessments.create(body)
            if assessment.run is not None:
                self._finish(step, assessment.run)
                assessment = self.client.assessments.get(assessment.id)
            result: Json = assessment.document["result"]
            say.append(
                f"risk {_number(result['risk_average'])} on average, {_number(result['risk_max'])} at most"
            )
        return Score(name, dict(levels), result)

    def question(self) -> Json:
        """What assessments and optimisations of the journey have in common."""
        return {
            "dataset": self._dataset,
            "dictionary": self._own(self.journey.dictionary.name),
            "sensitivity": self._name("harm"),
            "utility": "depth_sum",
            "absent_policy": "zero",
        }

    def _first_record(self) -> Json:
        with self._step("records") as say:
            lines = _lines(self.client.assessments.records(self._own("as-is-score"), "csv"))
            record = dict(next(csv.DictReader(lines)))
            say.append("count, probability, harm, loss and utility of each as it is")
        return record

    def _optimise(self, proposal: Score) -> tuple[Json, Json]:
        floor = self.journey.utility_floor
        if floor is None:
            floor = proposal.assessment["utility_average"]
        body = self.question() | {
            "name": self._name("optimum"),
            "objective": {"kind": "min_risk", "utility_floor": floor},
            "scope": "table_level",
            "solver": "enumeration",
        }
        with self._step("optimisation") as say:
            run = self._finish("optimisation", self.client.optimisations.start_run(body))
            result = dict(self.client.runs.result(run.id))
            points = dict(self.client.runs.map(run.id))
            say.append(f"{result['status']}: least risk at a utility of at least {floor:g}")
        return result, points

    def _finish(self, step: str, run: Run) -> Run:
        return self.client.runs.wait(run.id, lambda progress: self.listener.progress(step, progress))

    def _release(self) -> None:
        with self._step("release") as say:
            name = self._name("release")
            self.client.releases.create(
                {
                    "name": name,
                    "dataset": self._dataset,
                    "rule": self._name("optimum"),
                    "neutralise_formulas": False,
                }
            )
            self.release_path.parent.mkdir(parents=True, exist_ok=True)
            with self.release_path.open("wb") as file:
                for chunk in self.client.releases.data(name, "csv"):
                    file.write(chunk)
            self.sizes["release_bytes"] = self.release_path.stat().st_size
            say.append(str(self.release_path))


def _weights(journey: Journey) -> list[str]:
    return [f"{attribute.name} {attribute.weight}" for attribute in journey.attributes]


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    """The chunks of a CSV stream as lines; its cells hold no line breaks."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.decode() for line in lines)
    if rest:
        yield rest.decode()
