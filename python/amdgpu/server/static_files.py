"""The files of the dashboard. They are the same everywhere, so they need no token; the page takes it from its own address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles

import amdgpu

FOLDER = Path(amdgpu.__file__).parent / "_lib" / "dashboard"
# Nothing is loaded from elsewhere; uPlot and charts set styles of elements.
POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; connect-src 'self' ws: wss:; "
    "worker-src 'self' blob:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
)
NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>amdgpu</title><meta name="color-scheme" content="light dark"></head>
<body style="font-family: system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem; line-height: 1.5">
<h1>The dashboard is not built</h1>
<p>The server runs; only the files of its page are missing. In the source tree, build them with</p>
<pre>./x build</pre>
<p>and reload. Everything else is there: <a href="metrics">/metrics</a> for Prometheus,
<a href="api/v1/openapi.json">/api/v1</a> for programs, and <code>/socket/websocket</code> for clients that speak Phoenix Channels.</p>
</body></html>
"""


class Dashboard:
    """An ASGI application for everything that is not the API."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._files = StaticFiles(directory=folder, check_dir=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        response = await self._response(scope)
        response.headers["content-security-policy"] = POLICY
        await response(scope, receive, send)

    async def _response(self, scope: Any) -> Response:
        index = self._folder / "index.html"
        if not index.is_file():
            if Path(scope["path"]).suffix:
                return Response(status_code=404)
            return HTMLResponse(NOT_BUILT, headers={"cache-control": "no-store"})
        path = self._files.get_path({**scope, "root_path": ""})
        if path not in (".", "index.html"):
            full, found = self._files.lookup_path(path)
            if found is not None and Path(full).is_file():
                # The names of built files hold a hash of what is in them.
                caching = "public, max-age=31536000, immutable" if path.startswith("assets/") else "no-cache"
                return FileResponse(full, stat_result=found, headers={"cache-control": caching})
            if Path(path).suffix:
                return Response(f"there is no {path}\n", status_code=404, media_type="text/plain")
        # Addresses within the page are the page's own business.
        return FileResponse(index, headers={"cache-control": "no-cache"})
