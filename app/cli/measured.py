"""Asking a service for a measure, directly or, where that takes too long, by a run."""

from __future__ import annotations

from app.cli.journey import Json
from privacy_risk import Client, ProblemError


def measured(client: Client, body: Json) -> Json:
    """The result of a measurement; a ProblemError for what the service refuses."""
    try:
        found = client.measurements.create(body).document["result"]
    except ProblemError as problem:
        if problem.code != "direct-budget-exceeded":
            raise
        run = client.runs.wait(client.measurements.start_run(body).id, lambda progress: None)
        found = client.runs.result(run.id)
    return dict(found)
