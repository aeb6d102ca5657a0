"""The npm workspace in js/: its packages, and the dashboard that goes into the wheel.

`./x` and the PEP 517 backend both use this. All of it is optional at run time: without Node the package is built without the dashboard,
and one sentence says so.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from x.failure import Failure
from x.native import Piece, Runner, library_folder
from x.process import capture
from x.rust import version_numbers

# Debian 12's; the packages pinned in js/ run on it.
NODE_MINIMUM = (18,)
NODE_PACKAGES = ("nodejs", "npm")
BROWSER_PACKAGES = ("chromium",)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Written into node_modules: a folder that someone removes or restores is judged by itself.
MARK = ".amdgpu-installed"


def workspace(root: Path) -> Path:
    """The folder of package.json."""
    return root / "js"


def npm(root: Path, *arguments: str) -> list[str]:
    """A command of npm that runs in the workspace wherever it is started."""
    return ["npm", "--prefix", str(workspace(root)), *arguments]


def missing_node() -> str | None:
    """Why Node cannot be used, or None."""
    if shutil.which("node") is None:
        return "Node (`node`) is missing"
    found = capture(["node", "--version"]) or ""
    if version_numbers(found) < NODE_MINIMUM:
        return f"Node is {found or 'broken'}; {NODE_MINIMUM[0]} is the oldest that works"
    if shutil.which("npm") is None:
        return "npm is missing"
    return None


def browser() -> str | None:
    """The Chromium that drives the tests of pages."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def lock_digest(root: Path) -> str:
    """What the installed packages follow from: the lock file, the manifests, and which Node they were installed for."""
    state = hashlib.blake2b(digest_size=20)
    state.update((capture(["node", "--version"]) or "").encode())
    folder = workspace(root)
    for path in (folder / "package-lock.json", folder / "package.json", *sorted(folder.glob("*/package.json"))):
        state.update(path.read_bytes())
    return state.hexdigest()


def packages_are_fresh(root: Path, digest: str) -> bool:
    """Whether the packages of this lock file are installed."""
    mark = workspace(root) / "node_modules" / MARK
    return mark.is_file() and mark.read_text() == digest


def install_packages(root: Path, runner: Runner) -> bool:
    """Installs what the lock file names, unless it is installed; tells whether it had to.

    Raises:
        Failure: npm could not; the first time it needs the network.
    """
    digest = lock_digest(root)
    if packages_are_fresh(root, digest):
        return False
    runner(npm(root, "ci", "--no-audit", "--no-fund"), {})
    (workspace(root) / "node_modules" / MARK).write_text(digest)
    return True


def dashboard_piece(root: Path) -> Piece:
    """The pages that `amdgpu serve` shows, as files for browsers."""
    folder = workspace(root)
    dashboard = folder / "dashboard"
    inputs = (
        folder / "package-lock.json",
        folder / "tsconfig.base.json",
        folder / "sdk" / "src",
        dashboard / "src",
        dashboard / "index.html",
        dashboard / "package.json",
        dashboard / "vite.config.ts",
    )

    def command(draft: Path) -> list[str]:
        build = npm(root, "run", "build", "--workspace", "dashboard", "--")
        return [*build, "--outDir", str(draft), "--emptyOutDir", "--logLevel", "warn"]

    return Piece("dashboard", dashboard / "index.html", inputs, library_folder(root) / "dashboard", command)


def need_packages(root: Path) -> None:
    """Refuses work that needs the packages where they are not there."""
    sentence = missing_node()
    if sentence:
        raise Failure(sentence, fix="./x setup, or install Node from nodejs.org")
    if not packages_are_fresh(root, lock_digest(root)):
        raise Failure("the packages of js/ are not installed", fix="./x setup, with a network the first time")
