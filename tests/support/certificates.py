"""Certificates of this machine, made for a test with the program openssl."""

import shutil
import subprocess
from pathlib import Path

import pytest


def make(folder: Path, name: str, *, password: str | None = None) -> tuple[str, str]:
    """A certificate that vouches for itself and its key, as files; skips where openssl is not installed."""
    if shutil.which("openssl") is None:
        pytest.skip("makes its certificates with the program openssl")
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2"]
    command += ["-noenc"] if password is None else ["-passout", f"pass:{password}"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*command, "-out", certificate, "-keyout", key], check=True, capture_output=True)
    return str(certificate), str(key)
