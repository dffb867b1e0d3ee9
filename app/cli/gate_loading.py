"""Puts what a gate judges onto the service, under names made of its content.

The same files get the same names, so that a pipeline that runs daily leaves no heap of copies; the service
compares the content itself and refuses another one under the name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.cli.described_columns import Attribute
from app.cli.described_faults import told_at
from app.cli.files import file_sha256, stored_name
from app.cli.gate_question import Subject
from app.cli.gate_tables import THE_DICTIONARY, Linked, Tables, load_tables, tables_of_policy
from app.cli.journey import TableFile, declared, harm_of, with_hierarchy
from app.cli.structured_files import read_structured
from app.cli.table_header import with_encoding
from app.cli.tables_file import Json
from app.domain.errors import InvalidInput, joined
from app.domain.policies.formats import format_of
from privacy_risk import Client, Resource
from privacy_risk.loading import source_of, with_source


class Loading:
    """Makes the resources that one evaluation needs; what is stored already keeps its name."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._hierarchies: dict[str, str] = {}

    def body(self, subject: Subject, policy: Json | str) -> Json:
        """What an evaluation is asked with, but for its name; the references are to what was made."""
        if subject.views is not None:
            return subject.views.body
        if isinstance(subject.dataset, str):
            return self._stored_body(subject)
        document = policy if isinstance(policy, dict) else {}
        tables = tables_of(subject, document)
        dataset = self.dataset(tables).name
        body: Json = {"dataset": dataset, **self._form(subject, tables.release)}
        body["dictionaries"] = {
            slot: given if isinstance(given, str) else self._dictionary(tables, slot, given)
            for slot, given in slots_filled(subject, tables, document).items()
        }
        body |= _rule_with_population(body) | self._profiles(subject, dataset)
        body |= {
            role: own if isinstance(own, str) else self.dataset(_of_file(tables, own)).name
            for role, own in _compared(subject).items()
        }
        if (
            subject.tables is not None
            and subject.sensitivity is None
            and _is_about_harm(document, tables, body)
        ):
            body["sensitivity"] = self._sensitivity(dataset, tables)
        return body

    def _stored_body(self, subject: Subject) -> Json:
        named = {slot: name for slot, name in subject.dictionaries.items() if isinstance(name, str)}
        if len(named) < len(subject.dictionaries):
            raise InvalidInput.of(
                "--dictionary",
                "needs-tables",
                "A dictionary's file has to be linked to the columns of a dataset's file.",
                "Name a stored dictionary, or give --dataset and --tables.",
            )
        dataset = str(subject.dataset)
        if subject.stored_release is not None and not dataset:
            dataset = self._client.releases.get(subject.stored_release).document["dataset"]
        compared = _compared(subject)
        for role, own in compared.items():
            if isinstance(own, Path):
                raise InvalidInput.of(
                    f"--{role}", "needs-tables", "The file's columns are those of a dataset's file.",
                    "Name a stored dataset, or give --dataset.",
                )  # fmt: skip
        body: Json = {"dataset": dataset, **self._form(subject, {}), "dictionaries": named, **compared}
        return body | _rule_with_population(body) | self._profiles(subject, dataset)

    def _profiles(self, subject: Subject, dataset: str) -> Json:
        """The sensitivity profiles that are given."""
        given = {"sensitivity": subject.sensitivity, "failure": subject.failure}
        return {
            role: own if isinstance(own, str) else self._profile(dataset, role, own)
            for role, own in given.items()
            if own is not None
        }

    def _profile(self, dataset: str, role: str, path: Path) -> str:
        """The profile of a file, which says what a request does but for its name and its dataset.

        Weights per entity or group are in tables beside the file.
        """
        stated = profile_of(path)
        given = stated.get("overrides")
        if isinstance(given, list):
            stated["overrides"] = [self._overrides(own, path.parent) for own in given]
        elif given is not None:
            stated["overrides"] = self._overrides(given, path.parent)
        body: Json = {"dataset": dataset, **stated}
        return self._client.sensitivity_profiles.create({"name": stored_name(role, body), **body}).name

    def _overrides(self, given: Any, folder: Path) -> Any:  # noqa: ANN401 - any JSON value
        named = given.get("upload") if isinstance(given, Mapping) else None
        if not isinstance(named, str) or not (folder / named).is_file():
            return given
        table = folder / named
        return {**given, "upload": self._upload(TableFile(table.name.split(".")[0], table, None, {}))}

    def _form(self, subject: Subject, dialect: Json) -> Json:
        if subject.stored_release is not None:
            return {"release": {"name": subject.stored_release}}
        if subject.release is None:
            return {"rule": {"kind": "identity"} if subject.rule is None else subject.rule}
        upload = subject.release
        if isinstance(upload, Path):
            upload = self._upload(TableFile(upload.name.split(".")[0], upload, None, dialect))
        told = {"key": subject.key, "order": subject.order}
        return {"release": {"upload": upload, **{name: own for name, own in told.items() if own is not None}}}

    def dataset(self, tables: Tables) -> Resource:
        """The dataset of the described table, with its hierarchies.

        Raises InvalidInput, by its place in the description, for what the service does not take of that.
        """
        table = tables.dataset
        upload = self._upload(table)
        for attribute in tables.attributes:
            self._create_hierarchy(attribute, upload)
        columns = declared(table, tables.attributes, self._hierarchies)
        body: Json = {"upload": upload, "attributes": columns}
        body |= {} if tables.rows_are is None else {"rows_are": tables.rows_are}
        with told_at(_places(tables)):
            return self._client.datasets.create({"name": stored_name(table.name, body), **body})

    def _create_hierarchy(self, attribute: Attribute, upload: str) -> None:
        definition = attribute.hierarchy
        if definition is None:
            return
        place = attribute.place
        with told_at({} if place is None else {"/definition": joined(place, "hierarchy")}):
            if isinstance(definition, Path):
                content = definition.read_bytes()
                name = stored_name(attribute.hierarchy_name, hashlib.sha256(content).hexdigest())
                made = self._client.hierarchies.create_from_csv(name, content)
            else:
                full = with_source(definition, source_of(upload, attribute.declaration))
                name = stored_name(attribute.hierarchy_name, full)
                made = self._client.hierarchies.create({"name": name, "definition": full})
        self._hierarchies[attribute.name] = made.name

    def _dictionary(self, tables: Tables, slot: str, path: Path) -> str:
        linked = linked_of(tables, slot, path)
        body: Json = {
            "upload": self._upload(TableFile(linked.name, path, None, linked.dialect)),
            "links": [self._link(link, linked) for link in linked.links],
        }
        if linked.identifier is not None:
            body["identifier"] = linked.identifier
        return self._client.dictionaries.create({"name": stored_name(linked.name, body), **body}).name

    def _link(self, link: Json, linked: Linked) -> Json:
        made = with_hierarchy(link, link["attribute"], self._hierarchies)
        if made["transform"]["kind"] == "lookup":
            table = next(table for table in linked.lookups if table.name == made["transform"]["upload"])
            made = made | {"transform": made["transform"] | {"upload": self._upload(table)}}
        return made

    def _sensitivity(self, dataset: str, tables: Tables) -> str:
        body: Json = {"dataset": dataset, **harm_of(tables.attributes, tables.family)}
        name = stored_name(f"{tables.dataset.name}-harm", body)
        return self._client.sensitivity_profiles.create({"name": name, **body}).name

    def _upload(self, table: TableFile) -> str:
        table = with_encoding(table)
        content = {"sha256": file_sha256(table.path), "format": table.format, **table.dialect}
        name = stored_name(table.name, content)
        places = {} if table.place is None else {f"/{key}": joined(table.place, key) for key in table.dialect}
        with told_at(places):
            return self._client.uploads.create_from(name, table.path, table.format, **table.dialect).name


def _places(tables: Tables) -> dict[str, str]:
    """Where the columns of a dataset, in the order in which they are declared, are described."""
    table, attributes = tables.dataset, tables.attributes
    identifier = () if table.identifier is None else (table.place and joined(table.place, "identifier"),)
    places = (*identifier, *(own.place for own in attributes))
    return {f"/attributes/{number}": place for number, place in enumerate(places) if place is not None}


def _compared(subject: Subject) -> dict[str, Path | str]:
    """What a synthetic table is compared with, by its part."""
    given = {"original": subject.original, "holdout": subject.holdout}
    return {role: own for role, own in given.items() if own is not None}


def _of_file(tables: Tables, path: Path) -> Tables:
    """The same columns of another file."""
    return replace(tables, dataset=replace(tables.dataset, name=path.name.split(".")[0], path=path))


def tables_of(subject: Subject, policy: Json) -> Tables:
    """What the columns of the subject's file are: by its own description, or else by the policy's schema."""
    path = Path(subject.dataset)
    if subject.tables is not None:
        return load_tables(subject.tables, path)
    return tables_of_policy(
        policy,
        path,
        subject.policy_folder,
        subject.dialect,
        person=subject.person,
        rows_are=subject.rows_are,
        date_formats=subject.date_formats,
    )


def slots_filled(subject: Subject, tables: Tables, policy: Json) -> dict[str, Path | str]:
    """Slot → dictionary: as the command says, then as the tables file does for slots of the policy."""
    filled = dict(subject.dictionaries)
    slots = [slot["name"] for slot in policy.get("dictionaries") or () if isinstance(slot, Mapping)]
    for slot in slots:
        own = tables.dictionaries.get(slot)
        if own is None and len(slots) == 1:
            own = tables.dictionaries.get(THE_DICTIONARY)
        if own is not None and own.path is not None:
            filled.setdefault(slot, own.path)
    return filled


def linked_of(tables: Tables, slot: str, path: Path) -> Linked:
    """How the file that fills the slot belongs to the dataset; InvalidInput if nothing says it."""
    linked = tables.dictionaries.get(slot, tables.dictionaries.get(THE_DICTIONARY))
    if linked is None:
        raise InvalidInput.of(
            "--tables",
            "missing",
            f"Nothing says how the columns of {path} belong to the dataset's.",
            f"Describe them under [dictionary] or [dictionaries.{slot}].",
        )
    return linked


def profile_of(path: Path) -> Json:
    """A sensitivity profile's file; InvalidInput if it cannot be read, or says what the command does."""
    stated = read_structured(path)
    for key in ("name", "dataset"):
        if key in stated:
            raise InvalidInput.of(
                f"{path}/{key}",
                "not-applicable",
                f"The profile is for the dataset that is judged: {path} must not say its {key}.",
                f"Leave {key} out.",
            )
    return stated


def _rule_with_population(body: Json) -> Json:
    """The rule, if it compares classes with a dictionary by the slot that this fills: with its stored name.

    A rule in a file cannot know under which name the dictionary of another file is stored.
    """

    def filled(rule: Json) -> Json:
        inner, named = rule.get("rule"), rule.get("dictionary")
        below = {"rule": filled(inner)} if isinstance(inner, dict) else {}
        if isinstance(named, str) and named in body["dictionaries"]:
            return {**rule, **below, "dictionary": body["dictionaries"][named]}
        return {**rule, **below}

    rule = body.get("rule")
    return {"rule": filled(rule)} if isinstance(rule, dict) else {}


def _is_about_harm(policy: Json, tables: Tables, body: Json) -> bool:
    """Whether weights are of use: a requirement may ask about harm, or the risk can be told.

    The latter takes weights that somebody gave, and a dictionary. Of a policy that only the server knows that
    is taken for granted.
    """
    form = format_of(policy)
    if policy.get(form.requirements) is None or (
        body["dictionaries"] and any(own.has_weight for own in tables.attributes)
    ):
        return True
    of_itself = ("privacy_model", "guarantee", "privacy_budget")
    return any(own.get("kind") not in of_itself for own in form.conditions(policy))
