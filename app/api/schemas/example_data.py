"""Example data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from app.api.examples.published import published_questions
from app.api.schemas.common import Answer
from app.api.schemas.derived import Asking
from app.samples.published_tables import PublishedName
from app.services.datasets.example_data import CreateExampleData, ExampleData

MOST_MEMBERS = 20_000


class NewExampleData(Asking[CreateExampleData]):
    """How large the example is, and what it is called."""

    prefix: Annotated[
        str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$"), Field(examples=["example"])
    ] = "example"
    """What the names of all resources begin with."""
    members: Annotated[int, Field(strict=True, ge=1, le=MOST_MEMBERS, examples=[500])] = 500
    """Records to disclose; the census has two and a half times as many people."""
    tables: Annotated[Sequence[PublishedName], Field(max_length=10, examples=[["inpatients"]])] = ()
    """Small tables to make instead: of ℓ-diversity (Machanavajjhala (2008), table 3.1), β-likeness (Cao and
    Karras (2012), example 2), reconstruction privacy (Wang et al. (2012), examples 1 and 3) and query views
    (Machanavajjhala (2008), example 2.1).
    """


class NextRequest(Answer):
    """A request that can be sent as it stands."""

    operation: Annotated[str, Field(max_length=100, description="Its operation.", examples=["create_rule"])]
    method: Annotated[str, Field(max_length=10, description="HTTP method.", examples=["POST"])]
    path: Annotated[str, Field(max_length=200, description="Address.", examples=["/v1/rules"])]
    body: Annotated[dict[str, Any], Field(description="Body.")]
    finds: Annotated[str | None, Field(max_length=300, examples=["distinct_l 3"])] = None
    """What a founding work's example finds by it, with what is printed there; null: nothing is printed."""


class ExampleDataAnswer(Answer):
    """What is there now."""

    names: Annotated[dict[str, list[str]], Field(examples=[{"dataset": ["example-members"]}])]
    """Names of the resources by kind."""
    next: Annotated[list[NextRequest], Field(max_length=10)]
    """What to ask next: the score of the rule, and for the best one; of published tables their examples."""

    @classmethod
    def of(cls, data: ExampleData, body: NewExampleData) -> ExampleDataAnswer:
        """The use case's answer as a body."""
        names, prefix = {kind: list(names) for kind, names in data.names.items()}, body.prefix
        if body.tables:
            found = published_questions(prefix, body.tables)
            return cls(names=names, next=[_request(*question) for question in found])
        question = {
            "dataset": f"{prefix}-members",
            "dictionary": f"{prefix}-census",
            "sensitivity": f"{prefix}-harm",
        }
        score = {"name": f"{prefix}-score", **question, "rule": f"{prefix}-proposal"}
        objective = {"kind": "min_risk", "utility_floor": 10}
        best = {"name": f"{prefix}-optimum", **question, "objective": objective}
        return cls(names=names, next=[_request("assessment", score), _request("optimisation", best)])


def _request(kind: str, body: dict[str, Any], finds: str | None = None) -> NextRequest:
    path = f"/v1/{kind.replace('_', '-')}s"
    return NextRequest(operation=f"create_{kind}", method="POST", path=path, body=body, finds=finds)
