"""The service for Python programs: knows its published interface and nothing of its code."""

from app.client.answers import AnswerError, ClientError
from app.client.asynchronous.client import AsyncClient
from app.client.problems import ProblemError, RunFailed
from app.client.retries import Retries
from app.client.synchronous.client import Client
from app.client.values import Json, Progress, Resource, ResourcePage, Run, RunEvent, RunPage

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
]
