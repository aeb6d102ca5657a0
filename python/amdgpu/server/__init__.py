"""The telemetry server: dashboard, REST, Prometheus, Phoenix Channels. Needs `pip install amdgpu-framework[server]`."""

from amdgpu.server.app import create_app
from amdgpu.server.run import Server, run, serve
from amdgpu.server.settings import Limits, Settings

__all__ = ["Limits", "Server", "Settings", "create_app", "run", "serve"]
