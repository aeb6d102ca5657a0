"""`amdgpu explain` of one program: run, watched while it runs, and recorded, it says the same."""

import json
import subprocess
import sys
import time

import pytest
from cli_harness import amdgpu, document

pytestmark = pytest.mark.alone

START = """
import sys, time
import amdgpu
import numpy as np
left = np.ones((256, 256), "float32")
device = amdgpu.initialize_device("cpu:0")
kernel = device.compile_kernel("__global__ void one(float* x) { x[0] += 1; }")
kernel[1, 1](np.zeros(1, "float32"))
network = amdgpu.Network('''
neuralNetwork quiet:
  neuron cell:
    params(tau = 20.ms)
    dv/dt = -v / tau
    threshold: v > 1
    reset: v = 0
  population cells(20000, model: cell, v: random(0.0, 0.9))
''') if "network" in sys.argv else None
print("ready", flush=True)
until = time.monotonic() + float(sys.argv[1])
while time.monotonic() < until:
"""
PROGRAMS = {
    "products": "    amdgpu.matrix_multiply(left, left)\n    kernel[1, 1](left)",
    "network": "    network.run(0.05)\n    kernel[1, 1](left)",
    "idle": "    kernel[1, 1](left)\n    time.sleep(0.02)",
}
SECONDS = 2.0


def call(kind, seconds):
    return [sys.executable, "-c", START + PROGRAMS[kind], str(seconds), kind]


def explained(kind, way, folder):
    environment = {"AMDGPU_CACHE_DIR": str(folder / "cache")}
    if way == "program":
        done = amdgpu("explain", "--json", "--", *call(kind, SECONDS), **environment)
        # The program's own line stands before the document.
        return json.loads(done.stdout.partition("\n")[2])
    if way == "recording":
        assert amdgpu("record", folder / "one.rec", "--", *call(kind, SECONDS), **environment).returncode == 0
        return document(amdgpu("explain", "--json", "--recording", folder / "one.rec"))
    with subprocess.Popen(call(kind, 60), stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        time.sleep(0.2)
        try:
            return document(amdgpu("explain", "--json", "--pid", program.pid, "--seconds", SECONDS))
        finally:
            program.kill()


@pytest.mark.parametrize("way", ["program", "pid", "recording"])
@pytest.mark.parametrize("kind", ["products", "network", "idle"])
def test_a_program_is_explained_alike_however_it_is_watched(kind, way, tmp_path):
    amdgpu(
        "explain", "--", *call(kind, 0.0), AMDGPU_CACHE_DIR=str(tmp_path / "cache")
    )  # Compiled kernels are found from here on.
    told = explained(kind, way, tmp_path)
    rules = [finding["rule"] for finding in told["findings"]]
    assert ("idle-device" in rules) == (kind == "idle"), told
    assert told["absent"] is None
