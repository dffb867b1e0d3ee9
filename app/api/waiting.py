"""``Prefer: wait=20``: whoever asks waits for the end of a run."""

from __future__ import annotations

import re
from time import monotonic
from typing import Annotated, Final, Protocol, TypeVar

from fastapi import Depends, Header, Request, Response

from app.api.places import leave_place
from app.api.routers.answers import located
from app.api.schemas.runs import Run, StartedRun
from app.api.services import UseCases
from app.services.questions import Claimant, RunStarted
from app.services.resources import Actor, RunState

LONGEST_WAIT_SECONDS: Final = 60

_PREFERENCE: Final = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*"?)+')
_AFTER_NAME: Final = re.compile("[=;]")
_WAIT: Final = re.compile(r'[^=;]*=[ \t]*("?)([0-9]+)\1[ \t]*(?:;.*)?', re.DOTALL)


def preferred_wait(request: Request, response: Response) -> int | None:
    """Seconds that Prefer headers (RFC 7240) ask to wait, of those that are granted; None if they do not.

    The response says that the preference is heeded. Preferences that are unknown or not well-formed are
    ignored, and all but the first of several for the same.
    """
    for preference in _PREFERENCE.findall(",".join(request.headers.getlist("prefer"))):
        if _AFTER_NAME.split(preference, 1)[0].strip(" \t").lower() != "wait":
            continue
        wait = _WAIT.fullmatch(preference)
        if wait is None:
            return None
        # A number of more digits than these is no fewer seconds.
        seconds = min(int(wait[2].lstrip("0")[:9] or 0), LONGEST_WAIT_SECONDS)
        response.headers["Preference-Applied"] = f"wait={seconds}"
        return seconds
    return None


R = TypeVar("R", contravariant=True)


class StartsRuns(Protocol[R]):
    """A use case that has its questions answered by runs."""

    async def create_run(self, actor: Actor, request: R, claimant: Claimant | None = None) -> RunStarted:
        """Store the question with its run; the claimant may be given one that is small."""


class RunStart:
    """Starts the run of a question, and waits for its end if that is preferred."""

    def __init__(
        self,
        request: Request,
        response: Response,
        services: UseCases,
        _: Annotated[
            str | None,
            Header(
                alias="prefer",
                description=f"`wait=20` waits up to 20 s (at most {LONGEST_WAIT_SECONDS}) for the run's end; "
                "the answer is then 200 with the run and its `result`. Small work is done at once.",
                examples=["wait=20"],
            ),
        ] = None,
    ) -> None:
        self._request = request
        self._response = response
        self._services = services

    async def __call__(self, service: StartsRuns[R], actor: Actor, question: R) -> StartedRun:
        """The run with its address: 202 while it goes on, 200 if it was there or has ended.

        Who waits is answered with the result of a run that has succeeded, which the run's own body has not.
        """
        seconds = preferred_wait(self._request, self._response)
        direct = self._services.direct_runs
        started = await service.create_run(actor, question, direct.claimant if seconds else None)
        run, created = started.run, started.created
        if seconds is not None:
            ends = monotonic() + seconds
            if started.claim is not None:
                await direct.finish(started.claim, seconds)
            await leave_place(self._request)
            run = await self._services.runs.wait(actor, run.id, max(0.0, ends - monotonic()))
            created = created and not run.state.is_final
        located(self._response, f"/runs/{run.id}", created, 202)
        waited = seconds is not None and run.state is RunState.SUCCEEDED
        result = await self._services.runs.result(actor, run.id) if waited else None
        return StartedRun(**vars(Run.of(run)), result=result)


RunStarter = Annotated[RunStart, Depends()]
"""What starts runs, for a route's parameter."""
