"""`./x bench convolution`: the layers of ResNet-50, and stubs for libraries that PyTorch's wheel asks for."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "bench"))

import convolution
from x import library_stubs


def test_layers_are_the_distinct_ones_of_resnet_50():
    names = [layer.name for layer in convolution.LAYERS]
    assert len(set(names)) == len(names) == 23
    # He et al. 2016, table 1: about 4.1 billion multiply-adds for an image of 224 x 224. How often each layer comes:
    blocks = {64: 3, 128: 4, 256: 6, 512: 3}
    total = 0
    for layer in convolution.LAYERS:
        width = min(layer.inputs, layer.outputs) if layer.window == 1 else layer.outputs
        is_shortcut = layer.window == 1 and layer.outputs == 4 * layer.inputs // 2
        if layer.inputs == 3 or is_shortcut:
            count = 1
        elif layer.window == 3:
            has_stride = any(
                other.window == 3 and other.stride == 2 and other.outputs == width for other in convolution.LAYERS
            )
            count = 1 if layer.stride == 2 else blocks[width] - has_stride
        elif layer.outputs == 4 * layer.inputs:
            # The first stage's shortcut is one of these.
            count = blocks[width] + (width == 64)
        else:
            count = blocks[layer.outputs] - 1 if layer.inputs == 4 * layer.outputs else 1
        total += count * layer.operations(1) // 2
    assert 4.0e9 < total < 4.2e9


@pytest.mark.skipif(shutil.which("cc") is None or shutil.which("readelf") is None, reason="no C compiler with readelf")
def test_a_library_starts_with_stubs_for_what_it_needs(tmp_path):
    original = tmp_path / "original"
    folder = tmp_path / "lib"
    original.mkdir()
    folder.mkdir()
    (original / "foreign.c").write_text("int cudaCount(void) { return 1; }\n")
    foreign = original / "libforeign.so.7"
    (original / "foreign.map").write_text("libforeign.so.7 { global: cudaCount; };\n")
    script = f"-Wl,--version-script={original / 'foreign.map'}"
    cc = ["cc", "-shared", "-fPIC"]
    subprocess.run([*cc, original / "foreign.c", "-o", foreign, "-Wl,-soname,libforeign.so.7", script], check=True)
    (original / "user.c").write_text("int cudaCount(void); int count(void) { return cudaCount(); }\n")
    user = folder / "libuser.so"
    subprocess.run([*cc, original / "user.c", "-o", user, foreign, "-Wl,-rpath,$ORIGIN"], check=True)
    with pytest.raises(OSError, match=r"libforeign\.so\.7"):
        ctypes.CDLL(str(user))
    assert library_stubs.write_stubs(folder) == [folder / "libforeign.so.7"]
    assert ctypes.CDLL(str(user)).count() == library_stubs.NO_DEVICE
