"""The pages as routes of the application whose interface they read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web import (
    best_release,
    budgets,
    data,
    declared_columns,
    dictionaries,
    downloads,
    drawn_maps,
    erasures,
    gates,
    goals,
    hierarchies,
    hierarchy_editor,
    manifests,
    measurements,
    mechanism_audits,
    one_row,
    overview,
    perturbed_groups,
    profiles,
    relational_schemas,
    release_ledger,
    rule_editor,
    rules,
    runs,
    scores,
    searches,
    sensitivities,
    uploads,
    verdicts,
    view_checks,
)
from app.web.forms import (
    MOST_FIELDS,
    TOKEN,
    FileHandler,
    Form,
    FormHandler,
    form_of,
    form_with_file,
    is_of_this_site,
)
from app.web.organisations import Organisation, WayThere
from app.web.sessions import Cookies, LiveSessions, Session, new_token
from app.web.transport import StreamedTransport
from app.web.visits import Handler, NoSuchPage, Page, Visit, rendered
from app.web.words import address, local
from privacy_risk import AsyncClient, ProblemError, Retries

STATIC: Final = Path(__file__).parent / "static"

PAGES: Final[tuple[tuple[str, Handler], ...]] = (
    ("/", overview.overview),
    ("/start", uploads.start),
    ("/uploads/{ref}", declared_columns.recognised),
    ("/uploads/{ref}/one-row-per-person", one_row.choose),
    ("/datasets/{ref}", data.dataset),
    ("/datasets/{ref}/profile", profiles.profile),
    ("/datasets/{ref}/attributes/{attribute}", data.attribute),
    ("/datasets/{ref}/perturbation", perturbed_groups.groups),
    ("/datasets/{ref}/budget", budgets.budget),
    ("/datasets/{ref}/rule", rule_editor.editor),
    ("/datasets/{ref}/sensitivity", sensitivities.weigh),
    ("/datasets/{ref}/attributes/{attribute}/edit", hierarchy_editor.editor),
    ("/hierarchies/{ref}", hierarchies.hierarchy),
    ("/dictionaries/new", dictionaries.begin),
    ("/dictionaries/links", dictionaries.links),
    ("/dictionaries/{ref}", dictionaries.dictionary),
    ("/measurements/{ref}", measurements.measurement),
    ("/releases/compare", release_ledger.compared),
    ("/releases/{ref}", manifests.release),
    ("/releases/{ref}/map", drawn_maps.drawn_map),
    *((f"/{kind}/{{ref}}/delete", erasures.confirm(kind)) for kind in erasures.DELETED),
    ("/sensitivity-profiles/{ref}", sensitivities.profile),
    ("/datasets/{ref}/goal", goals.goal),
    ("/rules/{ref}", rules.rule),
    ("/assessments/{ref}", scores.assessment),
    ("/optimisations/{ref}/lattice", searches.lattice),
    ("/optimisations/{ref}/release", best_release.best_release),
    ("/releases/{ref}/data", downloads.table),
    ("/releases/{ref}/manifest", downloads.manifest),
    ("/releases/{ref}/report", downloads.report),
    ("/policies/{ref}/document", downloads.policy),
    *((f"/{kind}/{{ref}}", searches.page_of(kind)) for kind in searches.TITLES),
    *((f"/{kind}/{{ref}}/rules/{{levels}}", searches.rule_of(kind)) for kind in searches.TITLES),
    ("/runs/{ref}", runs.run),
    ("/runs/{ref}/progress", runs.progress),
    ("/evaluations/{ref}", verdicts.evaluation),
    ("/evaluations/{ref}/evidence", verdicts.evidence),
    ("/evaluations/{ref}/report", verdicts.report),
    ("/policies/{ref}", verdicts.policy),
    ("/relational-schemas/{ref}", relational_schemas.relational_schema),
    ("/view-checks/{ref}", view_checks.view_check),
    ("/mechanism-audits/{ref}", mechanism_audits.mechanism_audit),
    ("/policies/{ref}/evaluate", gates.evaluate),
    ("/releases", release_ledger.ledger),
    *((f"/{kind}", overview.listing(kind)) for kind in overview.KINDS if kind != "releases"),
)
"""What a signed-in key can look at."""

FORMS: Final[tuple[tuple[str, FormHandler], ...]] = (
    ("/example-data", overview.make_example_data),
    ("/datasets/{ref}/rule", rule_editor.edited),
    ("/datasets/{ref}/sensitivity", sensitivities.weighed),
    ("/datasets/{ref}/attributes/{attribute}/edit", hierarchy_editor.edited),
    ("/dictionaries/links", dictionaries.link),
    ("/datasets/{ref}/goal", goals.set_goal),
    ("/optimisations/{ref}/release", best_release.make_release),
    ("/optimisations/{ref}/policy", best_release.save_policy),
    ("/uploads/{ref}", declared_columns.declare),
    ("/uploads/{ref}/one-row-per-person", one_row.make),
    ("/releases/{ref}/withdrawal", release_ledger.withdraw),
    *((f"/{kind}/{{ref}}/delete", erasures.erase(kind)) for kind in erasures.DELETED),
)
"""What is sent by forms of a few fields, each of this session."""

FILES: Final[tuple[tuple[str, FileHandler], ...]] = (
    ("/start", uploads.send),
    ("/policies/{ref}/evaluate", gates.judge),
    ("/dictionaries/new", dictionaries.send),
)
"""What is sent by forms with a file behind the fields."""

_KEPT: Final = "kept"


class PageRoute(Route):
    """A route that the log and the counters know by its template, not by the names in its address."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with the route where the request's frame looks for it."""
        scope["route"] = self
        await super().handle(scope, receive, send)


@dataclass(frozen=True)
class Site:
    """The pages in front of an application; a session holds while its cookie is whole and it is live."""

    api: ASGIApp
    cookies: Cookies
    sessions: LiveSessions
    organisation: Organisation | None = None

    def routes(self) -> list[BaseRoute]:
        """All routes of the pages."""
        return [
            PageRoute("/sign-in", self.sign_in, methods=["GET", "POST"]),
            PageRoute("/sign-out", self.sign_out, methods=["POST"]),
            *self._routes_of(self.organisation),
            *(
                PageRoute(path, partial(self._visited, handler=handler), methods=["GET"])
                for path, handler in PAGES
            ),
            *(
                PageRoute(path, partial(self._sent, handler=handler), methods=["POST"])
                for path, handler in FORMS
            ),
            *(
                PageRoute(path, partial(self._sent_with_file, handler=handler), methods=["POST"])
                for path, handler in FILES
            ),
            Mount("/assets", StaticFiles(directory=STATIC)),
        ]

    def _routes_of(self, organisation: Organisation | None) -> list[BaseRoute]:
        """The way to the identity provider and back, if there is one."""
        if organisation is None:
            return []
        way = WayThere(organisation, self.cookies, self.sessions, self._form)
        steps = (("/sign-in/organisation", way.leave), ("/sign-in/callback", way.come_back))
        return [PageRoute(path, step, methods=["GET"]) for path, step in steps]

    def client(self, api_key: str, signed_in: object = None) -> AsyncClient:
        """The public interface under a key, or for who is signed in without one, with no network between.

        Nothing is sent twice, so that the service keeps no answers of previews for a repetition.
        """
        transport = StreamedTransport(self.api, signed_in)
        return AsyncClient("http://service", api_key, transport=transport, retries=Retries(attempts=1))

    # --- signing in and out ----------------------------------------------------------------------------

    async def sign_in(self, request: Request) -> Response:
        """The form, and what it sends: a key that the interface accepts begins a session.

        What somebody had filled in when their session ended is given back to be sent again.
        """
        if request.method == "GET":
            return self._form(request, local(request.query_params.get("next", "/")))
        form = await form_of(request)
        offered, goal, kept = self.cookies.form(request), local(form.text("next", "/")), form.text(_KEPT)
        if offered is None or not offered.allows(form.text(TOKEN)):
            said = "The form was too old to be sent. Please try again."
            return self._form(request, goal, said, 403, kept)
        api_key = form.text("api_key")
        try:
            is_valid = await self._is_valid(api_key)
        except ProblemError as problem:  # as of a key that has sent too many requests
            said = " ".join(str(problem.document.get(part, "")) for part in ("detail", "remedy"))
            return self._form(request, goal, said, problem.status, kept)
        if not is_valid:
            return self._form(request, goal, "This is not a valid API key.", 403, kept)
        before = self.cookies.session(request)
        if before is not None:
            await self.sessions.end(before.id)
        session = self.cookies.new(api_key)
        response: Response = RedirectResponse(goal, 303)
        if kept:
            fields = parse_qsl(kept, keep_blank_values=True, max_num_fields=MOST_FIELDS)
            shown = {"goal": goal, "fields": fields, TOKEN: session.form_token}
            response = rendered(Page("go_on.html", shown))
        self.cookies.begin(request, response, session)
        await self.sessions.begin(api_key.partition(".")[0], session.id, session.ends)
        return response

    async def sign_out(self, request: Request) -> Response:
        """End the session; a forged form ends none."""
        session, form = self.cookies.session(request), await form_of(request)
        if session is not None and not session.allows(form.text(TOKEN)):
            return _refusal(403, *_FORGED)
        if session is not None:
            await self.sessions.end(session.id)
        response = RedirectResponse("/sign-in", 303)
        self.cookies.end(request, response)
        return response

    async def _is_valid(self, api_key: str) -> bool:
        if not api_key.isascii() or not api_key.isprintable() or not 1 <= len(api_key) <= 200:
            return False
        async with self.client(api_key) as client:
            try:
                await client.api_keys.current()
            except ProblemError as problem:
                if problem.status in (401, 403):
                    return False
                raise
        return True

    def _form(
        self, request: Request, goal: str, said: str | None = None, status: int = 200, kept: str = ""
    ) -> Response:
        token = new_token()
        has_organisation = self.organisation is not None
        shown = {
            "goal": goal, "said": said, "offered": token, "kept": kept, "has_organisation": has_organisation,
        }  # fmt: skip
        response = rendered(Page("sign_in.html", shown, status))
        self.cookies.offer(request, response, token)
        return response

    # --- pages -----------------------------------------------------------------------------------------

    async def _visited(self, request: Request, handler: Handler) -> Response:
        """The handler's page for whoever is signed in; others are led to the form, and back from it."""
        session = self.cookies.session(request)
        if session is None:
            return self._to_sign_in(request)
        admitted = (
            self.organisation.admitted(session.identity) if self.organisation and session.identity else None
        )
        if session.identity and admitted is None:
            return self._to_sign_in(request)
        again = partial(self.client, session.api_key, admitted and admitted.actor)
        async with again() as client:
            try:
                key = dict(admitted.key) if admitted else await client.api_keys.current()
                visit = Visit(request, session, client, again, key)
            except ProblemError as problem:
                return self._to_sign_in(request) if problem.status == 401 else _problem(problem, None)
            # After the interface has answered, so that a loss of the database is told on a page as always.
            if not await self.sessions.is_live(session.id):
                return self._to_sign_in(request)
            try:
                page = await handler(visit)
            except ProblemError as problem:
                return _problem(problem, visit)
            except NoSuchPage:
                return _refusal(404, *_NOT_FOUND, visit)
        return page if isinstance(page, Response) else rendered(page, visit)

    async def _sent(self, request: Request, handler: FormHandler) -> Response:
        """What the handler makes of a form of this session.

        Where the session has ended, the fields are kept until somebody has signed in and sends them again.
        """
        form = await form_of(request)

        async def send(visit: Visit) -> Page | Response:
            return await handler(visit, form) if _is_own(visit.session, form) else _refusal(403, *_FORGED)

        answer = await self._visited(request, send)
        if _leads_to_sign_in(answer) and is_of_this_site(request):
            fields = [(name, own) for name, sent in form.sent.items() for own in sent if name != TOKEN]
            said = "Your session has ended. What you had filled in is kept: sign in, and send it again."
            return self._form(request, request.url.path, said, 401, urlencode(fields))
        return answer

    async def _sent_with_file(self, request: Request, handler: FileHandler) -> Response:
        """The same of a form with a file, which is read by the handler while it arrives and is not kept.

        Where the session has ended, the fields are in the address that is led back to.
        """
        form, file = await form_with_file(request)

        async def send(visit: Visit) -> Page | Response:
            if not _is_own(visit.session, form):
                return _refusal(403, *_FORGED)
            return await handler(visit, form, file)

        answer = await self._visited(request, send)
        if _leads_to_sign_in(answer) and is_of_this_site(request):
            said = "Your session has ended. Sign in, and choose the file again."
            fields = {name: form.text(name) for name in form.sent if name not in (TOKEN, file.field)}
            return self._form(request, local(f"{request.url.path}?{urlencode(fields)}"), said, 401)
        return answer

    def _to_sign_in(self, request: Request) -> Response:
        goal = "/"
        if request.method == "GET":
            goal = local(f"{request.url.path}?{request.url.query}".rstrip("?"))
        response = RedirectResponse(address("sign-in", next=None if goal == "/" else goal), 303)
        self.cookies.end(request, response)
        return response


def install_pages(
    app: Starlette, cookies: Cookies, sessions: LiveSessions, organisation: Organisation | None = None
) -> None:
    """Add the pages to the application whose interface they read.

    People sign in by the organisation's identity provider, too, if there is one.
    Addresses that nobody knows get a readable page where a browser asks for one.
    """
    app.router.routes.extend(Site(app, cookies, sessions, organisation).routes())
    app.state.passed_on.update(path for path, _ in FILES)
    unknown = app.router.default

    async def default(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _wants_a_page(Request(scope)):
            await _refusal(404, *_NOT_FOUND)(scope, receive, send)
        else:
            await unknown(scope, receive, send)

    app.router.default = default


def _is_own(session: Session, form: Form) -> bool:
    return session.allows(form.text(TOKEN))


def _leads_to_sign_in(answer: Response) -> bool:
    return answer.status_code == 303 and answer.headers["location"].startswith("/sign-in")


_FORGED: Final = ("The form was not made for this session", "Go back and try again.")
_NOT_FOUND: Final = ("Nothing is here", "There is nothing of this name that your key could see.")


def _wants_a_page(request: Request) -> bool:
    is_page = not request.url.path.startswith(("/v1/", "/static/", "/assets/"))
    return is_page and request.method == "GET" and "text/html" in request.headers.get("accept", "")


def _refusal(status: int, title: str, said: str, visit: Visit | None = None) -> Response:
    return rendered(Page("refusal.html", {"title": title, "said": said, "remedy": None}, status), visit)


_TITLES: Final = {403: "Your key may not see this", 404: "Nothing is here", 429: "Too many requests"}


def _problem(problem: ProblemError, visit: Visit | None) -> Response:
    document = problem.document
    shown = {
        "title": _TITLES.get(problem.status, str(document.get("title", "This did not work"))),
        "said": _NOT_FOUND[1] if problem.status == 404 else str(document.get("detail", "")),
        "remedy": document.get("remedy") if problem.status != 404 else None,
    }
    return rendered(Page("refusal.html", shown, problem.status), visit)
