"""The service for Python programs: knows its published interface and nothing of its code."""

from privacy_risk.answers import AnswerError, ClientError
from privacy_risk.client import AsyncClient, Client
from privacy_risk.problems import ProblemError, RunFailed
from privacy_risk.retries import Retries
from privacy_risk.values import Json, Progress, Resource, ResourcePage, Run, RunEvent, RunPage

__version__ = "0.1.0"

__all__ = [
    "AnswerError",
    "AsyncClient",
    "Client",
    "ClientError",
    "Json",
    "ProblemError",
    "Progress",
    "Resource",
    "ResourcePage",
    "Retries",
    "Run",
    "RunEvent",
    "RunFailed",
    "RunPage",
    "__version__",
]
