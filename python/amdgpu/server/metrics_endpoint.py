"""The endpoint `/metrics`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from amdgpu import telemetry
from amdgpu.errors import InvalidArgumentError
from amdgpu.server import compat, metrics_page
from amdgpu.server.api import READ_SECONDS, Api
from amdgpu.server.settings import COMPATIBLE, Settings
from amdgpu.server.source import Source
from amdgpu.server.workers import Workers

if TYPE_CHECKING:
    from starlette.requests import Request

# Scrapes come one after the other; more at a time are somebody's mistake.
WORKERS = 1
WAITING = 8


class MetricsEndpoint:
    """Answers scrapes."""

    def __init__(self, settings: Settings, source: Source, api: Api) -> None:
        self._settings = settings
        self._source = source
        self._api = api
        self._workers = Workers("metrics", WORKERS, WAITING)

    async def answer(self, request: Request) -> Response:
        """One page."""
        chosen = request.query_params.get("compat", self._settings.compat)
        if chosen is not None and chosen not in COMPATIBLE:
            raise InvalidArgumentError(f"compat is {chosen!r}; known are {', '.join(COMPATIBLE)}")
        open_metrics = metrics_page.wants_open_metrics(request.headers.get("accept"))
        page = await self._workers.run(lambda: self._page(chosen, open_metrics), READ_SECONDS, "making the page")
        kind = metrics_page.OPEN_METRICS_TYPE if open_metrics else metrics_page.PROMETHEUS_TYPE
        return Response(page, headers={"content-type": kind, "cache-control": "no-store", "vary": "accept"})

    def close(self) -> None:
        """Take no more scrapes."""
        self._workers.close()

    def _page(self, chosen: str | None, open_metrics: bool) -> str:
        self._source.keep_sampling()
        if chosen is not None:
            snapshot = telemetry.snapshot()
            rows = [*snapshot["counters"], *snapshot["gauges"]]
            return compat.page(chosen, rows, self._api.devices(), open_metrics=open_metrics)
        page = telemetry.prometheus(open_metrics=open_metrics)
        return metrics_page.merge(page, self._source.read_others(), open_metrics=open_metrics)
