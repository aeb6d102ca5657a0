"""The endpoint `/metrics`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from starlette.responses import Response

from amdgpu import telemetry
from amdgpu.errors import InvalidArgumentError
from amdgpu.server import compat
from amdgpu.server.api import READ_SECONDS, Api
from amdgpu.server.settings import COMPATIBLE, Settings
from amdgpu.server.source import Source
from amdgpu.server.workers import Workers
from amdgpu.telemetry import metrics_page

if TYPE_CHECKING:
    from starlette.requests import Request

# Scrapes come one after the other; more at a time are somebody's mistake.
WORKERS = 1
WAITING = 8

log = logging.getLogger("amdgpu.server")


class MetricsEndpoint:
    """Answers scrapes."""

    def __init__(self, settings: Settings, source: Source, api: Api) -> None:
        self._settings = settings
        self._source = source
        self._api = api
        self._workers = Workers("metrics", WORKERS, WAITING)
        self._limit = metrics_page.SeriesLimit(settings.histogram_series)
        self._was_said = False

    async def answer(self, request: Request) -> Response:
        """One page."""
        chosen = request.query_params.get("compat", self._settings.compat)
        if chosen is not None and chosen not in COMPATIBLE:
            raise InvalidArgumentError(f"compat must be one of {', '.join(COMPATIBLE)}, got {chosen!r}")
        open_metrics = metrics_page.wants_open_metrics(request.headers.get("accept"))
        page = await self._workers.run(lambda: self._page(chosen, open_metrics), READ_SECONDS, "making the page")
        kind = metrics_page.OPEN_METRICS_TYPE if open_metrics else metrics_page.PROMETHEUS_TYPE
        return Response(page, headers={"content-type": kind, "cache-control": "no-store", "vary": "accept"})

    def close(self) -> None:
        """Take no more scrapes."""
        self._workers.close()

    def _page(self, chosen: str | None, open_metrics: bool) -> str:
        snapshot = telemetry.snapshot()
        if chosen is not None:
            rows = [*snapshot["counters"], *snapshot["gauges"]]
            return compat.page(chosen, rows, self._api.devices(), open_metrics=open_metrics)
        page = metrics_page.merge(
            telemetry.prometheus(open_metrics=open_metrics),
            snapshot,
            metrics_page.others(),
            limit=self._limit,
            open_metrics=open_metrics,
            gauges=self._source.core_busy_rows(),
        )
        self._api.folded_series = self._limit.folded
        if self._limit.folded and not self._was_said:
            self._was_said = True
            log.warning(
                "/metrics names %d series of each histogram; %d more are counted as %r (--histogram-series N names more)",
                self._limit.most,
                self._limit.folded,
                metrics_page.OTHER,
            )
        return page
