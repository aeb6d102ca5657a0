"""Generated kernels of layers: values side by side, and layers with a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdgpu import _native
from amdgpu.device_network.structure import SPIKING, Layer
from amdgpu.device_ops import source

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

_COLUMNS = """
extern "C" __global__ void columns(const float* from, float* to, unsigned int width, unsigned int to_width, unsigned int first,
                                   unsigned long long count) {
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    to[i / width * to_width + first + i % width] = from[i];
}
"""
# Products have names, so that they are not fused with the sums: the bits of crates/amdgpu-neuro/src/temporal.rs.
_STATE = """
extern "C" __global__ void state(float* sums, float* values, float decay, unsigned int steps, unsigned int size, unsigned long long count) {
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned long long place = i / size * steps * size + i % size;
    float potential = 0.0f, value = 0.0f;
    for (unsigned int step = 0; step < steps; ++step, place += size) {
        float now = sums[place];
        if (step) {
            const float left = IS_SPIKING ? potential - value : potential;
            const float kept = decay * left;
            now = now + kept;
        }
        potential = now;
        value = IS_SPIKING ? (now > 1.0f ? 1.0f : 0.0f) : now;
        sums[place] = potential;
        values[place] = value;
    }
}
"""


def side_by_side(device: AMDGPUDevice, parts: list[_native.Array]) -> _native.Array:
    """Matrices of as many rows as one; the only one itself."""
    if len(parts) == 1:
        return parts[0]
    rows, widths = parts[0].shape[0], [part.shape[1] for part in parts]
    made = device.native.empty((rows, sum(widths)), "float32")
    kernel = source.kernel_for(device, "columns", lambda: _COLUMNS, "columns")
    first = 0
    for part, width in zip(parts, widths, strict=True):
        count = rows * width
        kernel.queue(-(-count // source.BLOCK), source.BLOCK, [part, made, width, sum(widths), first, count])
        first += width
    return made


def with_state(device: AMDGPUDevice, layer: Layer, sums: _native.Array, steps: int) -> _native.Array:
    """Values of a layer with a state from what arrives at each step, `(samples * steps, size)`; `sums` becomes the potentials."""
    is_spiking = layer.activation == SPIKING
    text = f"#define IS_SPIKING {int(is_spiking)}\n{_STATE}"
    kernel = source.kernel_for(device, ("state", is_spiking), lambda: text, "state")
    values = device.native.empty(sums.shape, "float32")
    count = sums.size // steps
    kernel.queue(-(-count // source.BLOCK), source.BLOCK, [sums, values, float(layer.alpha), steps, layer.size, count])
    return values
