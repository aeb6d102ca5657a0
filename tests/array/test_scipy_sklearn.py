"""SciPy and scikit-learn compute with arrays of ours through the array API standard."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[1] / "support" / "array_api_users.py"
# Of scikit-learn: what needs decompositions, which `amdgpu.linalg` has not yet.
LIBRARIES = {"scipy": 25, "sklearn": 22}


@pytest.mark.parametrize("library", LIBRARIES)
def test_functions_give_what_they_give_for_arrays_of_numpy(library):
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed; it needs Python 3.11")
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), library],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    differences = json.loads(done.stdout.splitlines()[-1])
    assert {name: text for name, text in differences.items() if text} == {}
    assert len(differences) == LIBRARIES[library]
