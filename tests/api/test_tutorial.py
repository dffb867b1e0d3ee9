"""The tutorial's cells, run from top to bottom against the application."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

import privacy_risk
from privacy_risk import AsyncClient
from tests.api.service import Api

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
CELLS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


class WithWorker(httpx.AsyncBaseTransport):
    """The application, with the work of every run done before its creation is answered."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._inner = httpx.ASGITransport(app=api.app, raise_app_exceptions=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        await response.aread()
        if response.status_code == 202:
            await self._api.work_off(response.json()["id"])
        return response


class Notebook:
    """Runs cells one after another; the value of a cell is that of the expression it ends with."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    async def run(self, cell: str) -> Any:
        tree = ast.parse(cell)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        await self._do(ast.Module(tree.body, []), "exec")
        return None if last is None else await self._do(ast.Expression(last.value), "eval")

    async def _do(self, tree: ast.AST, mode: str) -> Any:
        code = compile(tree, PAGE.name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        value = eval(code, self.names)
        return await value if inspect.iscoroutine(value) else value


async def test_the_tutorial_runs_from_top_to_bottom(api: Api, monkeypatch, capsys):
    _, token = await api.tenant_with_key()
    monkeypatch.setenv("PRIVACY_RISK_SERVER", "http://service")
    monkeypatch.setenv("PRIVACY_RISK_API_KEY", token)
    transport = WithWorker(api)
    monkeypatch.setattr(
        privacy_risk, "AsyncClient", lambda url, key: AsyncClient(url, key, transport=transport)
    )
    notebook = Notebook()
    values = [await notebook.run(cell) for cell in CELLS]
    names = notebook.names
    risk, fewest = values[5]
    assert (fewest, len(values[6])) == (4, 3)
    assert names["scores"]["loss"].mean() == pytest.approx(risk, rel=1e-12)
    assert names["optimum"]["status"] == "optimal"
    assert names["optimum"]["risk"] < risk
    assert values[8][0] == "fail"
    levels, before, after, proven = values[9]
    assert proven
    assert levels
    assert after < before
    assert values[10] == "pass"
    released = names["released"]
    assert list(released.columns) == ["town", "born", "income"]
    assert len(released) == len(names["members"])
    assert values[12] == (True, 1)
    assert values[13][:2] == ("direct", [])
    assert values[14] == (4000, ["asthma", "flu", "gout"])
    # Ten estimates of the normal law are all within seven standard errors but once in 10¹¹ draws.
    assert len(values[15]) == 10
    assert (values[15]["errors_away"] < 7).all()
    assert values[15]["standard_error"].between(1, 200).all()
    assert values[16] == "pass"
    assert values[17] == 0, names["told"].stderr
    assert values[18] == pytest.approx(2**1.5)
    assert "/rule/levels/town" in capsys.readouterr().out
