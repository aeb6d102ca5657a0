"""The steps of `./x` for js/: Node and Chromium from apt, the packages of the lock file, the dashboard.

None of it stops the rest: what is missing is said in a sentence, and tried again after a day or `./x clean stamps`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from x import native, node_workspace
from x.failure import Failure
from x.paths import REQUIREMENTS, ROOT, STAMPS, shown
from x.stamps import Stamp, digest
from x.steps import Reporter
from x.system import Need, install_needs

RETRY_AFTER_S = 24 * 3600.0


def install_node(reporter: Reporter) -> str:
    """The step "node"."""
    sentence = node_workspace.missing_node()
    if sentence is None:
        return "found"
    need = Need("Node with npm", ("npm",), node_workspace.NODE_PACKAGES)
    return _optional(reporter, "node", need, "the dashboard and the tests of js/ will be left out")


def install_browser(reporter: Reporter) -> str:
    """The step "browser": Chromium, which drives the dashboard's tests."""
    if node_workspace.browser():
        return "found"
    need = Need("Chromium", node_workspace.BROWSERS, node_workspace.BROWSER_PACKAGES)
    return _optional(reporter, "browser", need, "the tests of pages will be skipped")


def _optional(reporter: Reporter, name: str, need: Need, without: str) -> str:
    marker = STAMPS / f"{name}-unavailable"
    if marker.exists() and time.time() - marker.stat().st_mtime < RETRY_AFTER_S:
        return f"{without}: {marker.read_text()} (`./x clean stamps` tries again)"
    try:
        install_needs(reporter, [need])
    except Failure as failure:
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.write_text(failure.sentence)
        reporter.say(f"going on without {need.title}, so {without}: {failure.sentence}")
        if failure.fix:
            reporter.say(f"fix: {failure.fix}")
        return f"without {need.title}"
    marker.unlink(missing_ok=True)
    return f"installed {need.title}"


def install_packages(reporter: Reporter) -> str:
    """The step "npm packages"."""
    sentence = node_workspace.missing_node()
    if sentence:
        return f"left out: {sentence}"

    def runner(command: Sequence[str], environment: Mapping[str, str]) -> None:
        reporter.say("installing the packages of js/package-lock.json")
        doing = "fetching the packages of js/package-lock.json"
        done = reporter.run(command, environment=environment, log_name="npm-ci", doing=doing)
        done.require("npm could not install the packages of js/; the first time it needs the network")

    try:
        return "installed" if node_workspace.install_packages(ROOT, runner) else "up to date"
    except Failure as failure:
        reporter.say(f"going on without them: {failure.sentence}")
        return "left out"


def build_dashboard(reporter: Reporter) -> str:
    """The step "dashboard"."""
    try:
        node_workspace.need_packages(ROOT)
    except Failure as failure:
        return f"left out: {failure.sentence}"
    piece = node_workspace.dashboard_piece(ROOT)
    stamp = Stamp(STAMPS, "dashboard")
    wanted = digest([*piece.inputs, REQUIREMENTS], piece.recipe())
    page = piece.output / "index.html"
    if stamp.is_fresh(wanted, [page]):
        return "up to date"

    def runner(command: Sequence[str], environment: Mapping[str, str]) -> None:
        done = reporter.run(command, environment=environment, doing="bundling js/sdk and js/dashboard")
        done.require("the dashboard does not build")

    native.build_piece(piece, runner)
    stamp.write(wanted, [page])
    size = sum(path.stat().st_size for path in piece.output.rglob("*") if path.is_file())
    return f"built {shown(piece.output)} ({size / 1024:,.0f} KiB)"


def prepare_package(runner: native.Runner) -> str | None:
    """What the build backend does: packages and dashboard; a sentence when it goes on without."""
    sentence = node_workspace.missing_node()
    if sentence:
        return f"{sentence}, so this package has no dashboard; the rest of it is complete"
    try:
        node_workspace.install_packages(ROOT, runner)
    except Failure as failure:
        return f"the packages of js/ could not be installed ({failure.sentence}), so this package has no dashboard"
    native.build_piece(node_workspace.dashboard_piece(ROOT), runner)
    return None
