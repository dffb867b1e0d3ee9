"""What all kinds of resource have in common over HTTP: create, list, get and delete."""

# The framework reads annotations of the inner functions, which name variables of the outer ones: they
# cannot be postponed.

import asyncio
import inspect
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Depends, Path, Query, Response, Security

from app.api.authentication import AnyKey, DataReader, actor_with_scopes
from app.api.bodies.limits import USUAL_BYTES, takes_up_to
from app.api.examples.form import Examples, names
from app.api.routers.answers import COMMON, MADE, PlanResponse, Responses, dry, made, problems
from app.api.routes import PREFIX, Route
from app.api.schemas.common import Configured, Deletion, Listing, Moment, Ref, Resource, listed, shown
from app.api.schemas.derived import Asking
from app.api.services import Services, UseCases
from app.services.named import NamedResources
from app.services.resources import Actor, Kind, Period, Scope

CLEAN_UP = "clean up"
"""Tag of the operations that delete: the last ones of the journey down the page."""

Cursor = Annotated[
    str | None,
    Query(max_length=1000, pattern=r"^[A-Za-z0-9._=-]*$", description="`next_cursor` of the part before."),
]
Limit = Annotated[int, Query(ge=1, le=200, description="Most resources of the answer.")]
NamePart = Annotated[
    str | None, Query(max_length=100, pattern=r"^[^\x00]*$", description="Only names that contain this.")
]

WithDependents = Annotated[
    bool,
    Query(description="Also delete all that is built on it, in one transaction; 409 while a run is at work."),
]
OnlyListed = Annotated[
    bool, Query(description="Delete nothing: 200 with a list of what would be deleted, in its order.")
]

_LISTED: Final[Responses] = {
    200: {"model": Deletion, "description": "With `dry_run`: what would be deleted."}
}


async def _period(
    created_after: Annotated[
        Moment | None,
        Query(description="Only what was created at this time or later: RFC 3339, with its offset."),
    ] = None,
    created_before: Annotated[
        Moment | None,
        Query(description="Only what was created before this time: RFC 3339, with its offset."),
    ] = None,
) -> Period:
    return Period(created_after, created_before)


CreatedIn = Annotated[Period, Depends(_period)]
"""When what is listed was created; what has no beginning of its own, as events have none, when it was."""


@dataclass(frozen=True)
class Collection:
    """One kind of resource: its words, its schema, and the names that the examples give its resources.

    Its address, its use cases and the names of its operations follow from the plural. The first example is
    read, all are deleted. ``reference`` is the type of its ids and names in addresses.
    """

    noun: str
    answer: type[Resource]
    examples: tuple[str, ...]
    write_scope: Scope = Scope.DATA_WRITE
    reference: Any = Ref
    irregular: str = ""

    @property
    def plural(self) -> str:
        """The noun for several."""
        return self.irregular or f"{self.noun}s"

    @property
    def path(self) -> str:
        """Where its resources are, below the prefix of the interface."""
        return f"/{self.plural.replace(' ', '-')}"

    def router(self) -> APIRouter:
        """A router for the kind's own operations, tagged and with the common problems."""
        return APIRouter(prefix=PREFIX + self.path, tags=[self.plural], route_class=Route, responses=COMMON)

    def plain_router(
        self,
        body: type[Asking[Any]],
        examples: Examples,
        about: str,
        *,
        summary: str = "",
        largest: int = USUAL_BYTES,
        refusals: tuple[str, ...] = ("not-found",),
    ) -> APIRouter:
        """A router with the operations that create, list and get, all of the usual form.

        ``about`` says what creating one does, and the scope that it needs; ``summary`` what the operation is
        called, by default that it creates one. ``largest`` are the most bytes of the body, ``refusals`` the
        problems of creating one beside those that every such operation can have.
        """
        router = self.router()

        @takes_up_to(largest)
        async def create_resource(
            actor: Annotated[Actor, Security(actor_with_scopes, scopes=[self.write_scope.value])],
            services: UseCases,
            response: Response,
            sent: Annotated[body, Body(openapi_examples=examples)],  # type: ignore[valid-type]
        ) -> Any:  # noqa: ANN401 - response_model says it
            service: Any = self._service(services)
            created = await service.create(actor, await asyncio.to_thread(sent.request))  # type: ignore[attr-defined]
            return made(self.answer, self.path, created, response)

        router.add_api_route(
            "",
            create_resource,
            methods=["POST"],
            status_code=201,
            response_model=self.answer,
            responses=MADE | problems(*refusals),
            name=f"create_{self._identifier}",
            summary=summary or f"Create {self._article} {self.noun}",
            description=inspect.cleandoc(about),
        )
        self.add_list(router)
        self.add_get(router)
        return router

    @cached_property
    def clean_up(self) -> APIRouter:
        """The router with the operation that deletes."""
        router = APIRouter(prefix=PREFIX + self.path, tags=[CLEAN_UP], route_class=Route, responses=COMMON)
        self._add_delete(router)
        return router

    def _service(self, services: Services) -> NamedResources:
        found: NamedResources = getattr(services, self._plural_identifier)
        return found

    def add_list(self, router: APIRouter) -> None:
        """Add the operation that lists."""

        async def list_resources(
            actor: AnyKey,
            services: UseCases,
            created: CreatedIn,
            name: NamePart = None,
            limit: Limit = 50,
            cursor: Cursor = None,
        ) -> Any:  # noqa: ANN401 - response_model says it
            page = await self._service(services).list(
                actor, name=name, created=created, limit=limit, cursor=cursor
            )
            return listed(self.answer, page)

        router.add_api_route(
            "",
            list_resources,
            response_model=Listing[self.answer],  # type: ignore[name-defined]
            name=f"list_{self._plural_identifier}",
            summary=f"List {self.plural}",
            description=f"The tenant's {self.plural}, newest first, a page at a time.",
        )

    def add_get(self, router: APIRouter) -> None:
        """Add the operation that gets one."""

        async def get_resource(
            actor: AnyKey,
            services: UseCases,
            ref: self._ref(self.examples[0]),  # type: ignore[valid-type]
        ) -> Any:  # noqa: ANN401 - response_model says it
            return shown(self.answer, await self._service(services).get(actor, ref))

        router.add_api_route(
            "/{ref}",
            get_resource,
            response_model=self.answer,
            responses=problems("not-found"),
            name=f"get_{self._identifier}",
            summary=f"Get {self._article} {self.noun}",
            description=f"The {self.noun} of this id or name. It never changes, so its ETag never does.",
        )

    def add_definition(self, router: APIRouter) -> None:
        """Add the operation that tells what was configured."""

        async def get_definition(
            actor: DataReader,
            services: UseCases,
            ref: self._ref(self.examples[0]),  # type: ignore[valid-type]
        ) -> Any:  # noqa: ANN401 - response_model says it
            stored, definition = await self._service(services).configured(actor, ref)
            return Configured(id=stored.id, name=stored.name, definition=definition)

        router.add_api_route(
            "/{ref}/definition",
            get_definition,
            response_model=Configured,
            responses=problems("not-found"),
            name=f"get_{self._identifier}_definition",
            summary=f"Get the definition of {self._article} {self.noun}",
            description=f"What was configured when the {self.noun} was made, values included. Needs the "
            "scope `data:read`.",
        )

    def _add_delete(self, router: APIRouter) -> None:
        async def delete_resource(
            actor: AnyKey,
            services: UseCases,
            ref: self._ref(*self.examples),  # type: ignore[valid-type]
            with_dependents: WithDependents = False,
            dry_run: OnlyListed = False,
        ) -> Response:
            kind, kinds = self._service(services).kind, _kinds(services)
            if dry_run:
                found = await services.erasure.plan(actor, kinds, kind, ref, with_dependents=with_dependents)
                return dry(Deletion.of(found))
            if with_dependents:
                await services.erasure.delete(actor, kinds, kind, ref)
            else:
                await self._service(services).delete(actor, ref)
            return Response(status_code=204)

        scope = self.write_scope
        router.add_api_route(
            "/{ref}",
            delete_resource,
            methods=["DELETE"],
            status_code=204,
            response_model=None,
            response_class=PlanResponse,
            responses=_LISTED | problems("not-found", "conflict"),
            dependencies=[Security(actor_with_scopes, scopes=[scope.value])],
            name=f"delete_{self._identifier}",
            summary=f"Delete {self._article} {self.noun}",
            description=f"Delete the {self.noun} and what it alone owns. Refused with 409, naming the "
            "users, while something is built on it; with `with_dependents=true` all of that is deleted, too, "
            "or nothing. Signed evidence and what counts against budgets stay. Needs the scope "
            f"`{scope.value}`, and those that deleting each dependent needs.",
        )

    def _ref(self, *examples: str) -> Any:  # noqa: ANN401 - an annotation
        return Annotated[self.reference, Path(openapi_examples=names(*examples))]

    @property
    def _article(self) -> str:
        return "an" if self.noun[0] in "aeiou" else "a"

    @property
    def _identifier(self) -> str:
        return self.noun.replace(" ", "_")

    @property
    def _plural_identifier(self) -> str:
        return self.plural.replace(" ", "_")


def _kinds(services: Services) -> dict[Kind, NamedResources]:
    """The use cases of named resources by their kind."""
    every = (getattr(services, own.name) for own in fields(services))
    return {own.kind: own for own in every if isinstance(own, NamedResources)}
