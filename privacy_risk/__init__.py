"""The service for Python programs: knows its published interface and nothing of its code.

``profile``, ``anonymise`` and ``gate`` take tables, and start a service themselves; ``Client`` and
``AsyncClient`` have all of the service's calls.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from privacy_risk.anonymisation import Infeasible, anonymise
    from privacy_risk.answers import AnswerError, ClientError
    from privacy_risk.arguments import InvalidArgument, WrongType
    from privacy_risk.client import AsyncClient, Client
    from privacy_risk.columns import Column, Roles
    from privacy_risk.comparison import Comparison, compare
    from privacy_risk.embedded import ServiceNotStarted
    from privacy_risk.gating import GateFailed, Verdict, gate
    from privacy_risk.parquet_folders import parquet_folder
    from privacy_risk.private_counts import PrivateCounts, dp_counts
    from privacy_risk.problems import ProblemError, RunFailed
    from privacy_risk.profiles import Profile, profile
    from privacy_risk.queries import query
    from privacy_risk.releases import Release, Report
    from privacy_risk.retries import Retries
    from privacy_risk.synthetic import SyntheticJudgement, judge_synthetic
    from privacy_risk.values import Json, Progress, Resource, ResourcePage, Run, RunEvent, RunPage

__version__ = "0.1.0"

_LOADED_WHEN_USED: Final = {
    "AnswerError": "answers",
    "ClientError": "answers",
    "AsyncClient": "client",
    "Client": "client",
    "ProblemError": "problems",
    "RunFailed": "problems",
    "Retries": "retries",
    "Json": "values",
    "Progress": "values",
    "Resource": "values",
    "ResourcePage": "values",
    "Run": "values",
    "RunEvent": "values",
    "RunPage": "values",
    "anonymise": "anonymisation",
    "Infeasible": "anonymisation",
    "InvalidArgument": "arguments",
    "WrongType": "arguments",
    "Column": "columns",
    "compare": "comparison",
    "Comparison": "comparison",
    "Roles": "columns",
    "ServiceNotStarted": "embedded",
    "dp_counts": "private_counts",
    "PrivateCounts": "private_counts",
    "gate": "gating",
    "GateFailed": "gating",
    "Verdict": "gating",
    "judge_synthetic": "synthetic",
    "SyntheticJudgement": "synthetic",
    "parquet_folder": "parquet_folders",
    "profile": "profiles",
    "Profile": "profiles",
    "query": "queries",
    "Release": "releases",
    "Report": "releases",
}
"""Name → its module: a plugin of pytest, which is loaded with every run, loads none of it."""

__all__ = [
    "AnswerError",
    "AsyncClient",
    "Client",
    "ClientError",
    "Column",
    "Comparison",
    "GateFailed",
    "Infeasible",
    "InvalidArgument",
    "Json",
    "PrivateCounts",
    "ProblemError",
    "Profile",
    "Progress",
    "Release",
    "Report",
    "Resource",
    "ResourcePage",
    "Retries",
    "Roles",
    "Run",
    "RunEvent",
    "RunFailed",
    "RunPage",
    "ServiceNotStarted",
    "SyntheticJudgement",
    "Verdict",
    "WrongType",
    "__version__",
    "anonymise",
    "compare",
    "dp_counts",
    "gate",
    "judge_synthetic",
    "parquet_folder",
    "profile",
    "query",
]


def __dir__() -> list[str]:
    """What is for callers, as completion shows it."""
    return __all__


def __getattr__(name: str) -> Any:  # noqa: ANN401 - what the modules define
    if name not in _LOADED_WHEN_USED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LOADED_WHEN_USED[name]}"), name)
