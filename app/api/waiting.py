"""The one way to ask: what is small is answered, what is large becomes a run, which who asks may wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, TypeVar

from fastapi import Depends, Header, Request, Response
from starlette.responses import JSONResponse

from app.api.places import leave_place
from app.api.routers.answers import RUN_MEDIA_TYPE, located
from app.api.schemas.runs import Run, StartedRun
from app.api.services import UseCases
from app.services import resources
from app.services.questions import Answer, Claimant, R, RunStarted
from app.services.resources import Actor, Created, RunState

if TYPE_CHECKING:
    # What a use case needs is loaded with it.
    from app.services.direct_questions import DirectService
    from app.services.releases.requests import CreateRelease

LONGEST_WAIT_SECONDS: Final = 60
_APPLIED: Final = "Preference-Applied"

_PREFERENCE: Final = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*"?)+')
_AFTER_NAME: Final = re.compile("[=;]")
_WAIT: Final = re.compile(r'[^=;]*=[ \t]*("?)([0-9]+)\1[ \t]*(?:;.*)?', re.DOTALL)


def _preferences(request: Request) -> Iterator[tuple[str, str]]:
    """The name and the whole text of every preference of the Prefer headers (RFC 7240)."""
    for preference in _PREFERENCE.findall(",".join(request.headers.getlist("prefer"))):
        yield _AFTER_NAME.split(preference, 1)[0].strip(" \t").lower(), preference


def preferred_wait(request: Request, response: Response) -> int | None:
    """Seconds that Prefer headers ask to wait, of those that are granted; None if they do not.

    The response says that the preference is heeded. Preferences that are unknown or not well-formed are
    ignored, and all but the first of several for the same.
    """
    for name, preference in _preferences(request):
        if name != "wait":
            continue
        wait = _WAIT.fullmatch(preference)
        if wait is None:
            return None
        # A number of more digits than these is no fewer seconds.
        seconds = min(int(wait[2].lstrip("0")[:9] or 0), LONGEST_WAIT_SECONDS)
        _heeded(response, f"wait={seconds}")
        return seconds
    return None


def _prefers_run(request: Request, response: Response) -> bool:
    """Whether Prefer headers ask for a run, however small the work is; the response says so."""
    is_preferred = any(name == "respond-async" for name, _ in _preferences(request))
    if is_preferred:
        _heeded(response, "respond-async")
    return is_preferred


def _heeded(response: Response, preference: str) -> None:
    before = response.headers.get(_APPLIED)
    response.headers[_APPLIED] = preference if before is None else f"{before}, {preference}"


Q = TypeVar("Q", contravariant=True)


class StartsRuns(Protocol[Q]):
    """A use case that has its questions answered by runs."""

    async def create_run(self, actor: Actor, request: Q, claimant: Claimant | None = None) -> RunStarted:
        """Store the question with its run; the claimant may be given one that is small."""


class Ask:
    """Asks a question: what is small is answered; what is large becomes a run, waited for if asked."""

    def __init__(
        self,
        request: Request,
        response: Response,
        services: UseCases,
        _: Annotated[
            str | None,
            Header(
                alias="prefer",
                description="What is large becomes a run (202). `wait=20` waits up to 20 s (at most "
                f"{LONGEST_WAIT_SECONDS}) for its end; the answer is then as if it had been small. With "
                "`respond-async` small work becomes a run, too.",
                examples=["wait=20"],
            ),
        ] = None,
    ) -> None:
        self._request = request
        self._response = response
        self._services = services
        self._direct = services.direct_runs
        self._seconds = preferred_wait(request, response)
        self._prefers_run = _prefers_run(request, response)

    async def search(self, service: StartsRuns[Q], actor: Actor, question: Q) -> StartedRun:
        """The run of a search; a small one is done at once, unless nobody would wait for it."""
        at_once = not self._prefers_run if self._seconds is None else self._seconds > 0
        return await self._run_of(service, actor, question, at_once)

    async def in_background(self, service: StartsRuns[Q], actor: Actor, question: Q) -> StartedRun:
        """The run, however small the work is; it is done at once for who waits."""
        return await self._run_of(service, actor, question, bool(self._seconds))

    async def question(self, service: DirectService[R, Any, Any], actor: Actor, question: R) -> Answer:
        """The question with its answer, or the run that works on it; Conflict if that came to nothing."""
        asked = await service.ask(actor, question, prefers_run=self._prefers_run)
        if isinstance(asked, Answer):
            return asked
        run = await self._followed(actor, asked)
        if run.state.is_final:
            await self._services.runs.result(actor, run.id)
        found = await service.view(actor, asked.resource.id)
        return replace(found, created=asked.created, run=run)

    async def release(self, actor: Actor, question: CreateRelease) -> Created | JSONResponse:
        """The release, or while there is none the run that is to draw it; Conflict as above."""
        service = self._services.releases
        asked = await service.ask(actor, question, prefers_run=self._prefers_run)
        if isinstance(asked, Created):
            return asked
        run = await self._followed(actor, asked)
        if run.state.is_final:
            result = await self._services.runs.result(actor, run.id)
            return Created(await service.made_by(actor, result), asked.created)
        shown = JSONResponse(Run.of(run).model_dump(mode="json"), media_type=RUN_MEDIA_TYPE)
        located(shown, f"/runs/{run.id}", asked.created, is_finished=False)
        if (applied := self._response.headers.get(_APPLIED)) is not None:
            shown.headers[_APPLIED] = applied
        return shown

    async def _run_of(self, service: StartsRuns[Q], actor: Actor, question: Q, at_once: bool) -> StartedRun:
        started = await service.create_run(actor, question, self._direct.claimant if at_once else None)
        run = await self._followed(actor, started)
        located(self._response, f"/runs/{run.id}", started.created, is_finished=run.state.is_final)
        is_there = run.state is RunState.SUCCEEDED
        result = await self._services.runs.result(actor, run.id) if is_there else None
        return StartedRun(**vars(Run.of(run)), result=result)

    async def _followed(self, actor: Actor, started: RunStarted) -> resources.Run:
        """The run as it stands after the time that is waited for it."""
        ends = monotonic() + (self._seconds or 0)
        if started.claim is not None:
            await self._direct.finish(started.claim, self._seconds or LONGEST_WAIT_SECONDS)
        elif self._seconds is None:
            return started.run
        await leave_place(self._request)
        return await self._services.runs.wait(actor, started.run.id, max(0.0, ends - monotonic()))


Asking = Annotated[Ask, Depends()]
"""What asks questions, for a route's parameter."""
