"""Every error as an RFC 9457 problem: one table of problem types, one way to write the body.

A problem never repeats what came in a cell: it names the place, the kind of fault and the remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from starlette.responses import JSONResponse

from app.api.addresses import address_of
from app.domain.errors import (
    Conflict,
    Fault,
    Forbidden,
    InvalidInput,
    MemoryLimitExceeded,
    NotFinished,
    PrivacyRiskError,
    QuotaExceeded,
    RateLimited,
    TooLarge,
    Unauthenticated,
    Unavailable,
)

MEDIA_TYPE: Final = "application/problem+json"

RETRY_SECONDS: Final = 5
"""What Retry-After says when a part of the service does not answer."""


@dataclass(frozen=True)
class ProblemType:
    """A kind of problem: its page at ``/problems/<code>`` is made of these words."""

    code: str
    status: int
    title: str
    meaning: str
    remedy: str

    @property
    def uri(self) -> str:
        """The relative URI that the ``type`` member carries."""
        return f"/problems/{self.code}"


PROBLEM_TYPES: tuple[ProblemType, ...] = (
    ProblemType(
        "invalid-input",
        422,
        "The request contains invalid input",
        "Something in the request, or in the data that it refers to, breaks a rule. Each entry of `errors` "
        "names one fault: `pointer` is a JSON pointer into the request body (`/attributes/0/role`), or "
        "`query/…`, `path/…` or `header/…` for a parameter; `code` is stable and meant for programs.",
        "Correct the places that `errors` names, as each `remedy` says, and send the request again. Nothing "
        "was stored.",
    ),
    ProblemType(
        "malformed-request",
        400,
        "The request could not be read",
        "The body is not what its media type promises: broken JSON, broken multipart, a broken header.",
        "Send a well-formed body that matches its Content-Type.",
    ),
    ProblemType(
        "unauthenticated",
        401,
        "The request carries no valid API key",
        "The Authorization header is missing or malformed, or its key is unknown, expired or revoked. An "
        "unknown key and a wrong secret are deliberately not told apart. Where the service takes tokens of "
        "an identity provider, `detail` says what is wrong with the one that was sent: signature, audience, "
        "issuer, or time, in which case the clocks of both may differ.",
        "Send `Authorization: Bearer <prefix>.<secret>` with a key that is valid, or a new token of the "
        "identity provider.",
    ),
    ProblemType(
        "forbidden",
        403,
        "The API key lacks a scope",
        "The key is valid but does not have the scope that the operation needs; `scope` names it.",
        "Use a key with that scope, or have an administrator of the tenant create one.",
    ),
    ProblemType(
        "not-admitted",
        403,
        "Nothing is allowed to the groups of this identity",
        "The token is genuine, but none of its groups is mapped to scopes of a tenant here, or they are "
        "mapped to more than one tenant. `detail` names the groups that are mapped.",
        "Join one of these groups at the identity provider and get a new token, or have the operator map one "
        "of yours.",
    ),
    ProblemType(
        "not-found",
        404,
        "There is nothing here",
        "The address is unknown, or names a resource that does not exist for this tenant. A resource of "
        "another tenant is as unknown as one that never existed.",
        "Check the address, and the name or id against the list of that kind of resource.",
    ),
    ProblemType(
        "method-not-allowed",
        405,
        "The address does not know this method",
        "The address exists, but not for this HTTP method; the Allow header lists those that it knows.",
        "Use one of the methods of the Allow header.",
    ),
    ProblemType(
        "not-acceptable",
        406,
        "The resource has no such representation",
        "The operation cannot answer in the form that was asked for.",
        "Ask for one of the forms that the operation documents.",
    ),
    ProblemType(
        "request-timeout",
        408,
        "The request came too slowly",
        "The head of the request did not arrive in time, or its body came at less than 8 KiB per second.",
        "Send the request again, over a faster connection.",
    ),
    ProblemType(
        "conflict",
        409,
        "The request contradicts what is stored",
        "The name is taken by a resource with other content, the resource is in use (its users are listed), "
        "the work has ended already, the same data were drawn before (`details` names the releases), the "
        "verdict on the same was revoked (`detail` says when and why), or the first request with the same "
        "Idempotency-Key is still in flight. "
        "Only then the answer has a Retry-After header: at the latest so many seconds after the process that "
        "was to answer it has died, the key works again.",
        "Read `detail`: choose another name, delete the users first, or, where there is a Retry-After "
        "header, repeat the request with the same key after so many seconds.",
    ),
    ProblemType(
        "withdrawn",
        410,
        "The release was withdrawn",
        "Somebody decided that the table of this release is not given out any more, nor counted, measured or "
        "judged. Its manifest says since when.",
        "Use the release that takes its place.",
    ),
    ProblemType(
        "precondition-failed",
        412,
        "The resource is not in the state that the request names",
        "`If-Match` of a DELETE does not name the ETag that a GET of the address answers. Nothing was "
        "deleted.",
        "Read the resource again, and repeat the request with its ETag if it is still to be deleted.",
    ),
    ProblemType(
        "too-large",
        413,
        "The request exceeds a limit",
        "The body, a table in it, or the answer that was asked for is larger than the service accepts; "
        "reading stopped at the first breach and nothing was stored.",
        "Stay below the limit that `detail` names.",
    ),
    ProblemType(
        "quota-exceeded",
        413,
        "The tenant would have more than it may",
        "The tenant has as many uploads, datasets or bytes of uploads as its quota allows. `quota` holds the "
        "quota's `name`, its `limit` and what would be `needed`, which is not told of what was drawn. "
        "Nothing was stored.",
        "Delete what is not needed any more, or have the operator raise the quota: `GET /v1/tenant` shows "
        "all of them and what is used.",
    ),
    ProblemType(
        "too-costly",
        413,
        "Reading the upload takes too long for its size",
        "What an upload may cost in processor time grows with the bytes received. This one was cut off at "
        "the `limit`, in seconds: it is compressed so well, or built so unusually, that a small file stands "
        "for very much work. Nothing was stored.",
        "Send the table as CSV without compression, or in parts; or have the operator raise "
        "`PRIVACY_RISK_UPLOAD_PROCESSOR_SECONDS_PER_MIB`.",
    ),
    ProblemType(
        "unsupported-media-type",
        415,
        "The body's media type is not accepted here",
        "The operation does not read bodies of this Content-Type.",
        "Send one of the media types that the operation documents.",
    ),
    ProblemType(
        "not-supported",
        422,
        "The model does not cover this",
        "The request is well-formed, but a condition of the method that it asks for does not hold; `detail` "
        "names the condition.",
        "Read `remedy`, which names the alternatives.",
    ),
    ProblemType(
        "direct-budget-exceeded",
        422,
        "The work is too large for a direct answer",
        "Answered before version 1.1 of the interface only: since then such work becomes a run by itself, "
        "which is answered with status 202. By its estimate the computation would exceed the time or memory "
        "of a direct answer. `cost` holds the estimate and `run_route` the address that takes the same body "
        "and does the work in the background.",
        "Send the same body to `run_route` and follow the run.",
    ),
    ProblemType(
        "memory-limit",
        422,
        "The work needs more memory than a run may have",
        "By its estimate the computation would exceed the memory of a run, and fail in the middle. `cost` "
        "holds the estimate and `limit` the bytes that a run may have. Nothing was stored.",
        "Use fewer or more general attributes, another solver or scope, or have the operator raise "
        "`PRIVACY_RISK_RUN_MEMORY_MIB`.",
    ),
    ProblemType(
        "rate-limited",
        429,
        "Too many requests",
        "The tenant has more work queued or running than its quota allows, which `quota` tells; or the key, "
        "or the person, has sent more requests within a minute than the operator allows; or something before "
        "the service lets no more requests through. Nothing was stored.",
        "Wait for the time that the Retry-After header names.",
    ),
    ProblemType(
        "too-many-at-once",
        429,
        "Too many requests of the tenant are in progress",
        "The tenant has as many uploads, or direct computations, in progress as it may have at once, and "
        "none ended while this request waited for 2 s. Nothing was done or stored.",
        "Repeat the request after the time that the Retry-After header names, and send fewer at once.",
    ),
    ProblemType(
        "internal-error",
        500,
        "Something failed inside the service",
        "A defect of the service. Nothing half-done was stored. The log holds details under the request's "
        "id, which the X-Request-Id header and `request_id` repeat.",
        "Repeat the request; if it fails again, report the request id.",
    ),
    ProblemType(
        "unavailable",
        503,
        "The service cannot answer at the moment",
        "Something that the service depends on, usually its database, does not answer, or the disk of the "
        "database is full. `detail` says which; after a full disk nothing of the request was stored.",
        "Repeat the request after the time that the Retry-After header names; after a full disk, once "
        "whoever runs the service has made room.",
    ),
)

BY_CODE = {problem.code: problem for problem in PROBLEM_TYPES}
_BY_STATUS = {problem.status: problem for problem in reversed(PROBLEM_TYPES)}


def of_status(status: int) -> ProblemType:
    """The problem type of a status that the framework chose; unknown ones count as their class."""
    return _BY_STATUS.get(status) or (
        BY_CODE["malformed-request"] if status < 500 else BY_CODE["internal-error"]
    )


def problem_body(
    problem: ProblemType,
    detail: str,
    *,
    request_id: str,
    status: int | None = None,
    extensions: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The members of one problem document; ``status`` only where it differs from the type's own."""
    return {
        "type": problem.uri,
        "title": problem.title,
        "status": status or problem.status,
        "detail": detail,
        "request_id": request_id,
        **(extensions or {}),
    }


def problem_response(body: dict[str, Any], headers: Mapping[str, str] | None = None) -> JSONResponse:
    """A problem document as an HTTP response."""
    return JSONResponse(body, status_code=body["status"], media_type=MEDIA_TYPE, headers=headers)


def _told(fault: Fault) -> dict[str, Any]:
    return {name: said for name, said in asdict(fault).items() if said or name != "choices"}


def body_of_error(error: PrivacyRiskError, request_id: str) -> dict[str, Any]:
    """The problem document of an error of the product's own tree."""
    extensions: dict[str, Any] = {"remedy": error.remedy} if error.remedy else {}
    match error:
        case InvalidInput():
            extensions["errors"] = [_told(fault) for fault in error.faults]
        case NotFinished():
            wait = "GET /v1/runs/{id} with the header Prefer: wait=20"
            extensions |= {"remedy": f"{error.remedy}: {wait}", "details": error.details}
        case Conflict(details={"users": [*users]}):
            linked = [{**own, "href": address_of(own["kind"], own["name"])} for own in users]
            extensions["details"] = {**error.details, "users": linked}
        case Conflict():
            extensions["details"] = error.details
        case TooLarge():
            extensions["limit"] = error.limit
        case MemoryLimitExceeded():
            extensions |= {"cost": error.cost, "limit": error.limit}
        case QuotaExceeded(quota=quota) | RateLimited(quota=dict(quota)):
            extensions["quota"] = quota
        case Forbidden():
            extensions["scope"] = error.scope
    return problem_body(BY_CODE[error.code], error.message, request_id=request_id, extensions=extensions)


def headers_of_error(error: PrivacyRiskError) -> dict[str, str]:
    """The headers that a problem's status calls for."""
    match error:
        case Unauthenticated():
            return {"WWW-Authenticate": 'Bearer realm="privacy-risk"'}
        case RateLimited(retry_after=int(seconds)) | Conflict(retry_after=int(seconds)):
            return {"Retry-After": str(seconds)}
        case Unavailable():
            return {"Retry-After": str(RETRY_SECONDS)}
    return {}
