"""The service for Python programs: knows its published interface and nothing of its code."""

from app.client.client import Client
from app.client.problems import ClientError, ProblemError, RunFailed
from app.client.values import Progress, Resource, Run, RunEvent

__all__ = ["Client", "ClientError", "ProblemError", "Progress", "Resource", "Run", "RunEvent", "RunFailed"]
