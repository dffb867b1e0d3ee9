"""Example data."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from app.api.schemas.common import Answer
from app.api.schemas.derived import Asking
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


class NextRequest(Answer):
    """A request that can be sent as it stands."""

    operation: Annotated[str, Field(max_length=100, description="Its operation.", examples=["create_rule"])]
    method: Annotated[str, Field(max_length=10, description="HTTP method.", examples=["POST"])]
    path: Annotated[str, Field(max_length=200, description="Address.", examples=["/v1/rules"])]
    body: Annotated[dict[str, Any], Field(description="Body.")]


class ExampleDataAnswer(Answer):
    """What is there now."""

    names: Annotated[dict[str, list[str]], Field(examples=[{"dataset": ["example-members"]}])]
    """Names of the resources by kind."""
    next: Annotated[list[NextRequest], Field(max_length=10)]
    """What to ask next: the score of the rule, and for the best one."""

    @classmethod
    def of(cls, data: ExampleData) -> ExampleDataAnswer:
        """The use case's answer as a body."""
        prefix = data.rule.rpartition("-")[0]
        question = {
            "dataset": data.dataset,
            "dictionary": data.dictionary,
            "sensitivity": data.sensitivity,
        }
        score = {"name": f"{prefix}-score", **question, "rule": data.rule}
        objective = {"kind": "min_risk", "utility_floor": 10}
        best = {"name": f"{prefix}-optimum", **question, "objective": objective}
        return cls(
            names={kind: list(names) for kind, names in data.names.items()},
            next=[
                NextRequest(operation="create_assessment", method="POST", path="/v1/assessments", body=score),
                NextRequest(
                    operation="create_optimisation", method="POST", path="/v1/optimisations", body=best
                ),
            ],
        )
