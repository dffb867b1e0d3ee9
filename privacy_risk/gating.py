"""``gate``: whether a table may leave, or views may be published, as a policy says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final, cast, overload

from privacy_risk.answers import ClientError
from privacy_risk.arguments import InvalidArgument, WrongType, type_name
from privacy_risk.client import Client
from privacy_risk.columns import ROLES, Roles, Said, require_column
from privacy_risk.embedded import client_of
from privacy_risk.loading import load, uploaded
from privacy_risk.notebook_views import BAD, GOOD, ROWS_FIRST, Bar, bars, view
from privacy_risk.problems import ProblemError
from privacy_risk.release_policy import file_of, hierarchies_of, readings_of
from privacy_risk.releases import Release
from privacy_risk.tables import Table, table_of
from privacy_risk.text_tables import html_list
from privacy_risk.values import Json, Resource

Policy = str | PathLike[str] | Mapping[str, Any]
RelationalSchema = str | Mapping[str, Any]
_CONFLICT: Final = 409
_MOST_PAIRS: Final = 20
"""Of views, whose reasons are told; the document has all."""


class GateFailed(ClientError):
    """The verdict was no pass; ``verdict`` says why."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(str(verdict))


@dataclass(frozen=True, repr=False)
class Verdict:
    """``pass``, ``fail`` or ``error``; ``reasons`` are sentences: of a pass what holds, else what does not.

    ``document`` is the evaluation as the service answers it, None if the table was turned down before.
    """

    outcome: str
    policy: str
    reasons: tuple[str, ...]
    document: Json | None = None

    @property
    def passed(self) -> bool:
        """Whether the table may leave: never where anything could not be computed."""
        return self.outcome == "pass"

    def raise_for_fail(self) -> Verdict:
        """The verdict itself if it is a pass; GateFailed otherwise."""
        if not self.passed:
            raise GateFailed(self)
        return self

    def __str__(self) -> str:
        return "\n".join((f"{self.outcome}: {self.policy}", *(f"  {reason}" for reason in self.reasons)))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        result: Json = {} if self.document is None else self.document["result"]
        shown = [
            Bar(own["title"], 1, own["outcome"], GOOD if own["outcome"] == "passed" else BAD)
            for own in result.get("criteria", ())
        ] or [Bar(self.policy, 1, self.outcome, GOOD if self.passed else BAD)]
        first, more = self.reasons[:ROWS_FIRST], self.reasons[ROWS_FIRST:]
        picture = bars("What the policy asks for, and the outcome", shown)
        return view(
            f"{self.outcome}: {self.policy}", picture, first, (), [(f"{len(more)} more", html_list(more))]
        )


@overload
def gate(
    policy: Policy,
    frame: object,
    *,
    original: object,
    holdout: object = None,
    roles: Mapping[str, str] | None = None,
    person: str | None = None,
    rows_are: str | None = None,
    hierarchies: Mapping[str, object] | None = None,
    date_formats: Mapping[str, str] | None = None,
    missing_markers: Sequence[str] = (),
    server: str | None = None,
    key: str | None = None,
) -> Verdict: ...
@overload
def gate(
    policy: Policy,
    *,
    views: Mapping[str, str],
    relational_schema: RelationalSchema,
    server: str | None = None,
    key: str | None = None,
) -> Verdict: ...
def gate(
    policy: Policy,
    frame: object = None,
    *,
    original: object = None,
    holdout: object = None,
    roles: Mapping[str, str] | None = None,
    person: str | None = None,
    rows_are: str | None = None,
    hierarchies: Mapping[str, object] | None = None,
    date_formats: Mapping[str, str] | None = None,
    missing_markers: Sequence[str] = (),
    views: Mapping[str, str] | None = None,
    relational_schema: RelationalSchema | None = None,
    server: str | None = None,
    key: str | None = None,
) -> Verdict:
    """Judge a table that is to leave by a policy: a YAML or JSON file, or its content as a mapping.

    ``frame`` is the table, or what :func:`anonymise` answered; ``original`` is the table that it was made of.
    The roles of the columns are those of the policy's schema, and ``roles`` where it has none. They are read
    and generalised as the policy says, which :func:`anonymise` writes into it, unless ``hierarchies`` say
    otherwise. Where the frame has the column that names people, rows are matched by it; it may not leave.
    ``person`` and ``rows_are``, which say of the original what the schema does not, ``date_formats``,
    ``missing_markers``, ``server`` and ``key`` and the errors are those of :func:`profile`.

    Where the policy has measures of synthetic tables, ``frame`` is judged as one that was made of
    ``original``; ``holdout`` has records of the same population of which it was not made.

    In place of tables, ``views`` are queries that are to be published, by name, and ``relational_schema`` the
    tables that they read: ``CREATE TABLE`` statements, or what a check of views takes for a schema. They are
    judged by a policy that requires perfect privacy, in the language that it names, without any data.
    """
    document, folder = _document(policy)
    if views is not None or relational_schema is not None:
        tables = {"frame": frame, "original": original, "roles": roles, "hierarchies": hierarchies}
        tables |= {"person": person, "rows_are": rows_are, "holdout": holdout}
        given = [name for name, own in tables.items() if own is not None]
        body = _views_body(views, relational_schema, given)
        return _verdict(client_of(server, key), document, body)
    missing_markers = missing_markers or [own for own in file_of(document).get("missing", ()) if own]
    released = table_of(frame.frame if isinstance(frame, Release) else frame, "frame", missing_markers)
    table = table_of(original, "original", missing_markers)
    by_column = {**(roles or {}), **_roles(document, table), **({person: "person"} if person else {})}
    rows_are = rows_are or (document.get("schema") or {}).get("rows_are")
    along = {**hierarchies_of(document, folder), **(hierarchies or {})}
    said = Said((), (), by_column, along, None, rows_are, date_formats or {}, readings=readings_of(document))
    said.by_column(table.columns)
    client = client_of(server, key)
    if _judges_synthetic(document):
        held = {} if holdout is None else {"holdout": table_of(holdout, "holdout", missing_markers)}
        return _judged_synthetic(client, document, released, {"original": table, **held}, said)
    if holdout is not None:
        raise InvalidArgument(
            "holdout",
            "The policy judges no synthetic table.",
            "Leave it out, or require measures such as those of the template synthetic-release.",
        )
    return judged(client, document, released, table, said)


def judged(client: Client, document: Json, released: Table, table: Table, said: Said) -> Verdict:
    """The verdict of a policy on a table made of another one, by this client."""
    loaded = load(client, table, said, is_generalised=True, keeps_identifier=True)
    identifier = next(iter(loaded.roles.of("identifier")), None)
    is_keyed = identifier in released.columns and said.roles.get(identifier or "") == "identifier"
    key = [identifier] if identifier is not None and is_keyed else []
    if (barred := _turned_down(document, released, loaded.roles, key)) is not None:
        return barred
    release = {"upload": uploaded(client, released), **({"key": identifier} if is_keyed else {})}
    return _verdict(client, document, {"dataset": loaded.dataset, "release": release})


def _judges_synthetic(document: Json) -> bool:
    """Whether a requirement is a measure of synthetic tables."""
    asked = [own.get("requirement") or {} for own in document.get("requirements") or ()]
    kinds = [own["measure"].get("kind") for own in asked if isinstance(own.get("measure"), Mapping)]
    return any(str(kind).startswith("synthetic_") for kind in kinds)


def _judged_synthetic(
    client: Client, document: Json, synthetic: Table, compared: Mapping[str, Table], said: Said
) -> Verdict:
    """The verdict on a synthetic table, compared with its original and records held out."""
    named: dict[str, str] = {}
    for part, table in ({**compared, "dataset": synthetic}).items():
        of_table = {name: own for name, own in said.roles.items() if name in table.columns}
        formats = {name: own for name, own in said.date_formats.items() if name in table.columns}
        loaded = load(
            client, table, replace(said, roles=of_table, hierarchies={}, date_formats=formats),
            is_generalised=False,
        )  # fmt: skip
        named[part] = loaded.dataset
        if part == "original":
            barred = _turned_down(document, synthetic, loaded.roles)
            if barred is not None:
                return barred
    return _verdict(client, document, {**named, "rule": {"kind": "identity"}})


def _turned_down(document: Json, released: Table, roles: Roles, keys: Sequence[str] = ()) -> Verdict | None:
    """The verdict on a table with columns that must not leave; None if it has none."""
    allowed = {*roles.of("quasi_identifier", "sensitive"), *keys}
    barred = tuple(_barred(name, roles) for name in released.columns if name not in allowed)
    return Verdict("fail", f"{document.get('name')}@{document.get('version')}", barred) if barred else None


def _verdict(client: Client, document: Json, body: Json) -> Verdict:
    """The verdict of a policy on what a request names."""
    stored = _stored(client, document)
    # Named by the service: what was released meanwhile, and waivers of the day, belong to the question too.
    evaluation = _evaluated(client, stored.name, body)
    result = evaluation.document["result"]
    return Verdict(result["verdict"], stored.name, tuple(_reasons(result)), evaluation.document)


def _views_body(
    views: Mapping[str, str] | None, schema: RelationalSchema | None, of_tables: Sequence[str]
) -> Json:
    """What a request says of views; InvalidArgument for what does not belong together."""
    if of_tables:
        raise InvalidArgument(
            of_tables[0],
            "Views are judged by their queries, without any data.",
            "Leave it out, or views and relational_schema.",
        )
    if views is None or schema is None:
        raise InvalidArgument(
            "views" if views is None else "relational_schema",
            "Views are judged over the tables that they read.",
            "Give views and relational_schema.",
        )
    if not isinstance(views, Mapping) or not all(isinstance(own, str) for own in views.values()):
        raise WrongType("views", f"A {type_name(views)} is no queries by name.", "Give name → query.")
    return {
        "relational_schema": {"sql": schema} if isinstance(schema, str) else schema,
        "views": [{"id": name, "query": query} for name, query in views.items()],
    }


def _document(policy: Policy) -> tuple[Json, Path]:
    """The policy's content, and the folder of its files; InvalidArgument if there is none."""
    if isinstance(policy, Mapping):
        return policy, Path()
    if not isinstance(policy, str | PathLike):
        raise WrongType(
            "policy", f"A {type_name(policy)} is no policy.", "Give its file, or its content as a mapping."
        )
    path = Path(policy)
    if not path.is_file():
        raise InvalidArgument("policy", f"There is no file {path}.", "release.save_policy(path) writes one.")
    import yaml

    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidArgument(
            "policy", f"{path} is not YAML or JSON: {error}.", "Give a policy's file."
        ) from error
    if not isinstance(read, dict):
        raise InvalidArgument("policy", f"{path} holds no policy.", "Give one: see docs/policies.md.")
    return cast(Json, json.loads(json.dumps(read, default=str))), path.parent


def _roles(document: Json, table: Table) -> dict[str, str]:
    """The roles that the policy's schema gives to the columns; what it does not name is not released."""
    schema = document.get("schema")
    named = schema.get("attributes") if isinstance(schema, Mapping) else None
    if not isinstance(named, Mapping) or not named:
        return {}
    for name, role in named.items():
        if role in ("quasi_identifier", "sensitive"):
            require_column("original", name, table.columns)
    given = {column: named.get(column, "other") for column in table.columns}
    return {column: role if role in ROLES else "other" for column, role in given.items()}


def _barred(name: str, roles: Roles) -> str:
    role = next((own.role for own in roles if own.name == name), None)
    if role is None:
        return f"The column {name} is not one of the original table's: nothing says what it discloses."
    why = "the policy has it dropped" if role == "other" else f"its role is {role}"
    return f"The column {name} must not leave: {why}. Drop it from the table."


def _stored(client: Client, document: Json) -> Resource:
    try:
        return client.policies.create(document)
    except ProblemError as problem:
        if problem.status != _CONFLICT:
            raise
        raise InvalidArgument(
            "policy",
            f"The service holds another policy {document.get('name')}@{document.get('version')}.",
            "Raise the version of the one that was changed.",
        ) from problem


def _evaluated(client: Client, policy: str, body: Json) -> Resource:
    """The evaluation, by a run if it is too much for a direct answer."""
    return client.evaluations.answer(policy, body)


def _reasons(result: Json) -> Iterator[str]:
    """What failed, or if nothing did what holds."""
    coverage, criteria = result["coverage"], cast(Sequence[Json], result["criteria"])
    failed = [
        own
        for own in criteria
        if own["severity"] == "block" and own["outcome"] in ("failed", "not_computable")
    ]
    is_covered = coverage["outcome"] == "covered"
    if result["verdict"] == "pass" or not is_covered:
        yield coverage["explanation"]
    for own in criteria if result["verdict"] == "pass" else failed:
        yield f"{own['title']}: {own['explanation']}"
        pairs = [pair for pair in own.get("pairs") or () if pair["verdict"] in ("DISCLOSES", "UNKNOWN")]
        for pair in pairs[:_MOST_PAIRS]:
            change = pair.get("nearest_change") or {"status": None, "explanation": ""}
            advice = f" {'To pass: ' if change['status'] == 'found' else ''}{change['explanation']}"
            yield f"{pair['view']} beside {pair['secret']}: {pair['explanation']}{advice}".rstrip()
