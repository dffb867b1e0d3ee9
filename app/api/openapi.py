"""The OpenAPI document: what the framework derives from the routes, and what it cannot know."""

from __future__ import annotations

import copy
import re
from typing import Any, Final

from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from app.api import health
from app.api.bodies.limits import limit_of
from app.api.client_generators import suit_generators
from app.api.idempotency import HEADER
from app.api.places import kind_of_place
from app.api.problems import MEDIA_TYPE, PROBLEM_TYPES, ProblemType
from app.api.rate_fields import DOCUMENTED as RATE_FIELDS
from app.api.routers import routers
from app.api.routers.answers import PLAN_MEDIA_TYPE, problems
from app.api.routers.collection import CLEAN_UP
from app.api.routes import Route
from app.api.schemas.problems import Problem

VERSION: Final = "1.2.0"
"""Version of the interface, not of the software: its first number is that of the path."""

DESCRIPTION: Final = """\
How much harm a disclosure can do, how useful it still is, and which form would be best.

**Try it out**: the page begins with the essentials, from a table to its release and a verdict; *All
operations* at its top shows the rest. Press *Authorize* and enter an API key (or a token of your identity
provider, where the operator has configured one); then run the operations from the top of the page downwards
with the examples as they stand. Each uses what earlier ones made; the last
section of *All operations* deletes it all again. Of the essentials the first example of each is enough, one
click on *Execute*; of all operations, send each of the examples that a body offers.

**Names.** Every resource has a name of your choice, which is accepted wherever an id is. Resources never
change: creating an identical one again answers 200 with the one that exists, other content under the same
name 409.

**Errors** are problem documents (RFC 9457); [each type has a page](/problems).

**Questions.** What is small is answered at once, 201, or 200 the second time. What is large becomes a run by
itself: 202, whose `Location` is the run's address; with `Prefer: wait=20` the service waits up to 20 s for
its end first.

**Repeats.** Every POST takes an `Idempotency-Key`: a repeated request is answered as the first one was.

**Rates.** The operator may limit the requests of a key. Each answer then says in `RateLimit` how many are
left (draft-ietf-httpapi-ratelimit-headers-11); one too many is 429 with `Retry-After`.

**Caching.** JSON that is read carries a strong `ETag`; with `If-None-Match` an unchanged one is 304.
"""

TAGS: Final = [
    {"name": "example data", "description": "The demonstration's tables by one call, to look around with."},
    {"name": "hierarchies", "description": "How the values of an attribute generalise."},
    {"name": "uploads", "description": "Tables as they came: immutable columns of text."},
    {"name": "datasets", "description": "An upload with its schema and hierarchies."},
    {"name": "dictionaries", "description": "What an attacker can look up of people, such as a census."},
    {"name": "dictionary sets", "description": "What an attacker may have, where one does not know which."},
    {"name": "sensitivity profiles", "description": "How much harm the disclosure of each value does."},
    {"name": "rules", "description": "What is shown of whom."},
    {"name": "assessments", "description": "The score of one rule: risk, utility, anonymity."},
    {"name": "optimisations", "description": "The question which rule is best."},
    {"name": "frontiers", "description": "All Pareto-optimal rules of risk and utility at once."},
    {"name": "runs", "description": "The work on optimisations and large assessments."},
    {"name": "releases", "description": "The table that is published."},
    {"name": "budgets", "description": "What all differentially private releases of a table may spend."},
    {"name": "catalogue", "description": "What can be measured and chosen, with what it is worth."},
    {
        "name": "mechanism audits",
        "description": "Attempts to refute what mechanisms promise, on made-up tables.",
    },
    {"name": "measurements", "description": "Further questions about a rule, each by its own measure."},
    {
        "name": "sequential disclosures",
        "description": "Records that are released one after another, with the risk of all so far.",
    },
    {
        "name": "relational schemas",
        "description": "The relations that queries read: keys, and what columns may hold.",
    },
    {
        "name": "view checks",
        "description": "Whether views of a database could tell anything about queries that stay secret.",
    },
    {"name": "policies", "description": "What a release must keep, in versions that never change."},
    {"name": "gates", "description": "Releases evaluated by policies: verdicts, and what would pass."},
    {"name": "waivers", "description": "Criteria that need not hold for a while, and who says so."},
    {"name": "evidence", "description": "Signed reports, to be verified by anyone, and the keys for that."},
    {"name": "webhooks", "description": "Messages about verdicts and finished runs."},
    {"name": "audit trail", "description": "Who did what, in a chain that shows any change."},
    {"name": "access", "description": "Tenants and API keys."},
    {"name": CLEAN_UP, "description": "Deleting, in the order in which nothing is in use any more."},
    {"name": "operation", "description": "Whether the service lives and can work."},
]

ESSENTIALS: Final = frozenset(
    {
        "create_example_data", "create_hierarchy", "create_upload", "propose_schema", "create_dataset",
        "create_dictionary", "create_sensitivity_profile", "create_rule", "create_assessment",
        "create_measurement", "create_optimisation", "get_run_result", "create_release", "get_release_data",
        "create_policy", "evaluate_gate",
    }
)  # fmt: skip
"""The operations that the documentation's page begins with: from a table to its release and a verdict."""

_METHODS: Final = ("get", "post", "delete")

_IDEMPOTENCY_KEY: Final = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "Any random text, such as a UUID. A repeated request with the same key and body is "
    "answered as the first one was, for 24 hours; with another body it is refused. While the first is being "
    "answered it is 409, and Retry-After says when to come back.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}

_IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "ETag of an answer to GET here: nothing is deleted if GET would answer another now.",
    "schema": {"type": "string", "maxLength": 1000},
}

_RETRY_AFTER: Final = {
    "description": "Seconds after which to send the same request again. Of a 409: only where the first "
    "request with the same Idempotency-Key is still being answered.",
    "schema": {"type": "integer", "minimum": 1},
}
_HEADERS: Final[dict[str, Any]] = {
    "Location": {
        "description": "Address of what was made, or of the run that makes it.",
        "schema": {"type": "string"},
        "example": "/v1/rules/1f0c9d8be07a4f6a9f1d2c3b4a596877",
    },
    "ETag": {
        "description": "Stands for this very answer: `If-None-Match` and, of a DELETE, `If-Match` take it.",
        "schema": {"type": "string"},
    },
    **RATE_FIELDS,
}
"""Headers of answers, by their names."""

_STREAMED: Final = frozenset({"text/csv", "text/event-stream"})
"""Content types of answers that are sent while they are made: nothing stands for the whole before its end."""

_LOCATED: Final = ("201", "202")
"""Statuses of what is made, whose addresses are told."""

_IDENTITY_TOKEN: Final = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "JWT",
    "description": "A token of the organisation's identity provider (OpenID Connect), where the operator has "
    "configured one. Its groups are mapped to a tenant and to scopes.",
}

_RETRIED: Final = ("429", "503")
"""Statuses of problems that pass; of the others only the 409 of a POST may."""

_SUCCESSES: Final = {
    "200": "The answer.",
    "201": "It was created.",
    "202": "The work is queued: ask after the run.",
    "204": "It is done, and there is nothing to answer.",
}
"""What a status means of which an operation says nothing of its own."""
_FRAMEWORKS_SUCCESS: Final = "Successful Response"

_OF_BODIES: Final = problems("malformed-request", "request-timeout", "conflict", "too-large")
"""The problems of every POST: of its body, and of a repeated one that is still being answered."""


def made_document() -> dict[str, Any]:
    """The document of all operations, which it loads: takes a second or two."""
    document = get_openapi(
        title="privacy-risk",
        version=VERSION,
        openapi_version="3.1.0",
        description=DESCRIPTION,
        routes=[route for router in (*routers(), health.router) for route in router.routes],
        tags=TAGS,
        servers=[{"url": "/", "description": "The service that this document comes from."}],
        license_info={"name": "Apache License 2.0", "identifier": "Apache-2.0"},
    )
    _add_problem_schema(document)
    operations = [
        operation
        for path in document["paths"].values()
        for method, operation in path.items()
        if method in _METHODS
    ]
    _document_places(document)
    for number, operation in enumerate(operations):
        is_last = CLEAN_UP in operation["tags"]
        operation["x-step"] = 2 * len(operations) - number if is_last else number
        if operation["operationId"] in ESSENTIALS:
            operation["x-essential"] = True
        # The first line of a function's docstring is the summary.
        head, _, rest = operation.get("description", "").partition("\n\n")
        if rest:
            operation["summary"], operation["description"] = head.rstrip("."), rest
        _describe_success(operation["responses"])
    routes = [route for router in routers() for route in router.routes if isinstance(route, Route)]
    limits = {route.path: limit_of(route.endpoint) for route in routes if "POST" in (route.methods or ())}
    for address, path in document["paths"].items():
        if "post" in path:
            _describe_post(address, path["post"], limits.get(address))
        if "get" in path:
            _describe_get(path["get"])
        if "get" in path and "delete" in path:
            path["delete"].setdefault("parameters", []).append(_IF_MATCH)
            path["delete"]["responses"]["412"] = problems("precondition-failed")[412]
    _describe_headers(document)
    _take_tokens(document)
    # Not where it is answered: a server that is to be ready soon would load all that describes answers.
    for status, refused in problems("unavailable").items():
        document["paths"]["/readyz"]["get"]["responses"][str(status)] = refused
    _share_problems(document)
    suit_generators(document)
    _describe_dry_runs(document["paths"])
    return document


def _add_problem_schema(document: dict[str, Any]) -> None:
    _, definitions = models_json_schema(
        [(Problem, "serialization")], ref_template="#/components/schemas/{model}"
    )
    document["components"]["schemas"] |= definitions["$defs"]
    document["components"]["examples"] = {
        problem.code: {"summary": problem.title, "value": _example(problem)} for problem in PROBLEM_TYPES
    }


def _example(problem: ProblemType) -> dict[str, Any]:
    """What a problem of this type looks like."""
    example: dict[str, Any] = {
        "type": problem.uri,
        "title": problem.title,
        "status": problem.status,
        "detail": f"{problem.title}.",
        "request_id": "0f2b7a8c9d1e4f60a1b2c3d4e5f60718",
        "remedy": problem.remedy,
    }
    if problem.code == "invalid-input":
        said = {"message": "Field required", "remedy": "Add the field."}
        example |= {"detail": said["message"], "errors": [{"pointer": "/name", "code": "missing", **said}]}
    return example


def _document_places(document: dict[str, Any]) -> None:
    """Add the 429 of the operations that take one of a tenant's places."""
    for path in document["paths"].values():
        for method, operation in path.items():
            if method in _METHODS and kind_of_place(method, operation["operationId"]) is not None:
                _add_response(operation["responses"], 429, problems("too-many-at-once")[429])


def _add_response(responses: dict[str, Any], status: int, added: dict[str, Any]) -> None:
    """Document a further problem of this status; what operations share is not written to."""
    known = responses.get(str(status), {"description": "", "content": added["content"]})
    examples = known["content"][MEDIA_TYPE]["examples"] | added["content"][MEDIA_TYPE]["examples"]
    responses[str(status)] = {
        "description": "\n\n".join(filter(None, [known["description"], added["description"]])),
        "content": {MEDIA_TYPE: {**known["content"][MEDIA_TYPE], "examples": examples}},
        "headers": {"Retry-After": _RETRY_AFTER},
    }


def _describe_success(responses: dict[str, Any]) -> None:
    for status, said in _SUCCESSES.items():
        if responses.get(status, {}).get("description") == _FRAMEWORKS_SUCCESS:
            responses[status]["description"] = said


def _describe_get(operation: dict[str, Any]) -> None:
    """Add what answers a client that has the current state already."""
    responses = operation["responses"]
    if _STREAMED.isdisjoint(responses["200"].get("content", {})) and "401" in responses:
        responses["304"] = {"description": "`If-None-Match` names the ETag of the current state."}


def _describe_post(address: str, operation: dict[str, Any], limit: int | None) -> None:
    """Add what every POST has: its header, the problems of its body, names for the examples of raw ones."""
    for status, problem in copy.deepcopy(_OF_BODIES).items():
        operation["responses"].setdefault(str(status), problem)
    if "{" not in address:
        # What a body names in vain is a fault of the body.
        operation["responses"].pop("404", None)
    if limit is not None:
        operation["responses"]["413"]["description"] += f"\n\nThe body may have {limit:,} bytes."
    if "application/json" in operation.get("requestBody", {}).get("content", {}):
        (media_type,) = copy.deepcopy(problems("unsupported-media-type")).values()
        operation["responses"].setdefault("415", media_type)
    parameters = operation.setdefault("parameters", [])
    parameters.append(_IDEMPOTENCY_KEY)
    operation["responses"]["409"]["headers"] = {"Retry-After": _RETRY_AFTER}
    contents = operation.get("requestBody", {}).get("content", {}).values()
    keys = [key for content in contents for key in content.get("examples", ())]
    for parameter in parameters:
        if parameter["name"] == "name" and keys:
            parameter["examples"] = {key: {"value": key} for key in keys}


def _describe_headers(document: dict[str, Any]) -> None:
    """Name the headers of answers that succeed, each written once; those of problems are with these."""
    document["components"]["headers"] = _HEADERS
    for path in document["paths"].values():
        for method, operation in path.items():
            responses = operation["responses"] if method in _METHODS else {}
            is_made = method == "post" and not responses.keys().isdisjoint(_LOCATED)
            for status, answer in responses.items():
                sent = [*RATE_FIELDS] if status[0] in "23" and "401" in responses else []
                if is_made and status in ("200", *_LOCATED):
                    sent.append("Location")
                if status == "304" or (status == "200" and "304" in responses):
                    sent.append("ETag")
                if sent:
                    named = {name: {"$ref": f"#/components/headers/{name}"} for name in sent}
                    answer["headers"] = {**answer.get("headers", {}), **named}


def _describe_dry_runs(paths: dict[str, Any]) -> None:
    """Add the plan to what an operation with `dry_run` answers: that of its operation for plans."""
    for address, path in paths.items():
        operation = path.get("post", {})
        if any(parameter.get("name") == "dry_run" for parameter in operation.get("parameters", ())):
            plan = paths[f"{address}/plans"]["post"]["responses"]["200"]["content"]["application/json"]
            answer = operation["responses"]["200"]
            answer["description"] += " With `dry_run`: what the work would cost."
            answer["content"] = {**answer["content"], PLAN_MEDIA_TYPE: plan}


def _take_tokens(document: dict[str, Any]) -> None:
    """Add the tokens of an identity provider, with the scopes of the key in whose place each is sent."""
    document["components"]["securitySchemes"]["identity_token"] = _IDENTITY_TOKEN
    for path in document["paths"].values():
        for method, operation in path.items():
            if method in _METHODS and operation.get("security"):
                ((_, scopes),) = operation["security"][0].items()
                operation["security"].append({"identity_token": scopes})


def _share_problems(document: dict[str, Any]) -> None:
    """Write each answer that tells of problems once, and refer to it where an operation has it."""
    shared: dict[str, dict[str, Any]] = {}
    document["components"]["responses"] = shared
    for path in document["paths"].values():
        for operation in path.values():
            responses = operation["responses"]
            for status, response in responses.items():
                if MEDIA_TYPE in response.get("content", {}):
                    if status in _RETRIED:
                        more = RATE_FIELDS if status == "429" else {}
                        response = {**response, "headers": {"Retry-After": _RETRY_AFTER, **more}}
                    # By the codes, what a body may have, and whether the same request may be the conflict.
                    codes = response["content"][MEDIA_TYPE]["examples"]
                    limits = re.findall(r"([\d,]+) bytes", response["description"])
                    name = "-".join(
                        [
                            "-or-".join(codes),
                            *(f"above-{limit.replace(',', '')}" for limit in limits),
                            *(["or-in-progress"] if "conflict" in codes and "headers" in response else []),
                        ]
                    )
                    if shared.setdefault(name, response) != response:
                        raise ValueError(f"Two answers would be named {name}.")
                    responses[status] = {"$ref": f"#/components/responses/{name}"}
