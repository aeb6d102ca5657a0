"""Plans of spiking networks written by hand, as the compiler of network text writes them: the engine is tested with them alone."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

from amdgpu import _native

# What the compiler writes at the head of its kernels: parameters by default, otherwise what the engine defines.
SIGNATURE = r"""
#ifndef AGPU_PARAMETERS
#define AGPU_PARAMETERS(kernel, ...) __VA_ARGS__
#define AGPU_PROLOGUE(kernel)
#endif
"""

CURRENT_SOURCE = r"""
// Two exponential currents into a leaky membrane: a linear system, integrated exactly.
extern "C" __global__ void update_cell(AGPU_PARAMETERS(update_cell,
    unsigned int count, float* __restrict__ v, float* __restrict__ ge, float* __restrict__ gi,
    int* __restrict__ row_e, int* __restrict__ row_i, float unit_e, float unit_i, int* __restrict__ refractory,
    unsigned char* __restrict__ fired, float p_vv, float p_ve, float p_vi, float p_v, float p_ee, float p_ii, float vt, float vr)) {
  AGPU_PROLOGUE(update_cell)
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float e = ge[i] + (float)row_e[i] * unit_e;
  float g = gi[i] + (float)row_i[i] * unit_i;
  row_e[i] = 0;
  row_i[i] = 0;
  int left = refractory[i];
  bool active = left == 0;
  float next = p_vv * v[i] + p_ve * e + p_vi * g + p_v;
  float now = active ? next : v[i];
  e = p_ee * e;
  g = p_ii * g;
  ge[i] = fabsf(e) < 1e-30f ? 0.0f : e;
  gi[i] = fabsf(g) < 1e-30f ? 0.0f : g;
  bool spikes = active && now > vt;
  v[i] = spikes ? vr : now;
  refractory[i] = spikes ? REFRACTORY - 1 : (left > 0 ? left - 1 : 0);
  fired[i] = spikes ? 1 : 0;
}
"""


def constant(value: float) -> dict[str, Any]:
    return {"kind": "constant", "value": value}


def everywhere(name: str, size: int, value: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "unit": "", "values": [{"first": 0, "count": size, "value": value}]}


def cuba(
    exc: int = 3200, inh: int = 800, *, probability: float = 0.02, seed: int = 1, delay: float = 0.0
) -> dict[str, Any]:
    """The network of Vogels and Abbott 2005 with current-based synapses, as in Brian2's examples (`CUBA.py`)."""
    dt, tau_m, tau_e, tau_i, rest = 1e-4, 20e-3, 5e-3, 10e-3, -49e-3
    size = exc + inh
    decay = math.exp(-dt / tau_m)

    def into_v(tau: float) -> float:
        return (math.exp(-dt / tau) - decay) / (1 - tau_m / tau)

    parameters = {
        "p_vv": decay,
        "p_ve": into_v(tau_e),
        "p_vi": into_v(tau_i),
        "p_v": rest * (1 - decay),
        "p_ee": math.exp(-dt / tau_e),
        "p_ii": math.exp(-dt / tau_i),
        "vt": -50e-3,
        "vr": -60e-3,
    }
    roles = [
        ("count", "", "unsigned int", "count"),
        ("state", "v", "float*", "v"),
        ("state", "ge", "float*", "ge"),
        ("state", "gi", "float*", "gi"),
        ("input", "ge", "int*", "row_e"),
        ("input", "gi", "int*", "row_i"),
        ("unit", "ge", "float", "unit_e"),
        ("unit", "gi", "float", "unit_i"),
        ("refractory", "", "int*", "refractory"),
        ("fired", "", "unsigned char*", "fired"),
        *(("parameter", name, "float", name) for name in parameters),
    ]

    def projection(source: str, target: str, variable: str, weight: float) -> dict[str, Any]:
        return {
            "from": source,
            "to": target,
            "input": variable,
            "pattern": {"kind": "probability", "probability": probability},
            "weight": constant(weight),
            "delay_seconds": constant(delay),
        }

    return {
        "schema": "amdgpu.network_plan",
        "version": 2,
        "name": "cuba",
        "seed": seed,
        "dt_seconds": dt,
        "warnings": [],
        "spiking": {
            "source": SIGNATURE + CURRENT_SOURCE.replace("REFRACTORY", "50"),
            "groups": [
                {
                    "name": "cell",
                    "size": size,
                    "variables": [
                        everywhere("v", size, {"kind": "random", "low": -60e-3, "high": -50e-3}),
                        everywhere("ge", size, constant(0.0)),
                        everywhere("gi", size, constant(0.0)),
                    ],
                    "parameters": [everywhere(name, size, constant(value)) for name, value in parameters.items()],
                    "inputs": ["ge", "gi"],
                    "has_refractory": True,
                }
            ],
            "populations": [
                {"name": "exc", "group": 0, "first": 0, "size": exc},
                {"name": "inh", "group": 0, "first": exc, "size": inh},
            ],
            "projections": [
                projection("exc", "exc", "ge", 1.62e-3),
                projection("exc", "inh", "ge", 1.62e-3),
                projection("inh", "exc", "gi", -9e-3),
                projection("inh", "inh", "gi", -9e-3),
            ],
            "kernels": [
                {
                    "name": "update_cell",
                    "phase": "update",
                    "group": 0,
                    "arguments": arguments(*roles),
                }
            ],
            "records": [{"kind": "spikes", "population": "exc"}, {"kind": "spikes", "population": "inh"}],
        },
    }


def changed(plan: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A copy of a plan with other fields of its spiking part."""
    result = copy.deepcopy(plan)
    result["spiking"].update(fields)
    return result


def native(plan: dict[str, Any]) -> _native.NetworkPlan:
    """The plan as networks are built from it."""
    return _native.NetworkPlan.from_json(json.dumps(plan))


def arguments(*entries: tuple[str, str, str, str]) -> list[dict[str, str]]:
    """Arguments of a kernel: role, name, C type and identifier of each."""
    return [dict(zip(("role", "name", "type", "identifier"), entry, strict=True)) for entry in entries]


STDP_SOURCE = r"""
extern "C" __global__ void on_pre(AGPU_PARAMETERS(on_pre,
    const unsigned int* spike_list, const unsigned int* spike_count, const unsigned int* row_starts,
    const unsigned int* columns, float* w, const float* apost, int* row_e, float per_unit)) {
  AGPU_PROLOGUE(on_pre)
  for (unsigned int k = blockIdx.x; k < *spike_count; k += gridDim.x) {
    unsigned int source = spike_list[k];
    for (unsigned int s = row_starts[source] + threadIdx.x; s < row_starts[source + 1]; s += blockDim.x) {
      unsigned int target = columns[s];
      atomicAdd(&row_e[target], (int)rintf(w[s] * per_unit));
      w[s] = fminf(fmaxf(w[s] - apost[target], 0.0f), W_MAX);
    }
  }
}
extern "C" __global__ void on_post(AGPU_PARAMETERS(on_post,
    const unsigned int* spike_list, const unsigned int* spike_count, const unsigned int* column_starts,
    const unsigned int* column_synapses, const unsigned int* synapse_sources, float* w, const float* apre)) {
  AGPU_PROLOGUE(on_post)
  for (unsigned int k = blockIdx.x; k < *spike_count; k += gridDim.x) {
    unsigned int target = spike_list[k];
    for (unsigned int place = column_starts[target] + threadIdx.x; place < column_starts[target + 1]; place += blockDim.x) {
      unsigned int s = column_synapses[place];
      w[s] = fminf(fmaxf(w[s] + apre[synapse_sources[s]], 0.0f), W_MAX);
    }
  }
}
extern "C" __global__ void trace_pre(AGPU_PARAMETERS(trace_pre,
    unsigned int count, const unsigned char* events, float* apre)) {
  AGPU_PROLOGUE(trace_pre)
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) apre[i] = (apre[i] + (events[i] ? A_PLUS : 0.0f)) * DECAY;
}
extern "C" __global__ void trace_post(AGPU_PARAMETERS(trace_post,
    unsigned int count, const unsigned char* events, float* apost)) {
  AGPU_PROLOGUE(trace_post)
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) apost[i] = (apost[i] + (events[i] ? A_MINUS : 0.0f)) * DECAY;
}
"""


def stdp(*, delay: float = 0.0, probability: float = 0.2, rate: float = 60.0) -> dict[str, Any]:
    """The small network of `cuba`, driven by Poisson neurons through synapses that learn by pairs of spikes."""
    plan = cuba(150, 50, probability=0.05)
    decay = repr(float(f"{math.exp(-1e-4 / 20e-3):.8f}"))
    constants = {"W_MAX": "0.004f", "A_PLUS": "0.0001f", "A_MINUS": "0.000105f", "DECAY": f"{decay}f"}
    source = STDP_SOURCE
    for name, value in constants.items():
        source = source.replace(name, value)
    plan["spiking"]["source"] += source

    def kernel(name: str, *entries: tuple[str, str, str, str]) -> dict[str, Any]:
        return {"name": name, "phase": name, "projection": 4, "arguments": arguments(*entries)}

    def words(*names: str) -> list[tuple[str, str, str, str]]:
        return [(name, "", "const unsigned int*", name) for name in names]

    weight = ("synapse_state", "w", "float*", "w")
    count, events = ("count", "", "unsigned int", "count"), ("events", "", "const unsigned char*", "events")
    kernels = [
        kernel(
            "on_pre",
            *words("spike_list", "spike_count", "row_starts", "columns"),
            weight,
            ("post_state", "apost", "const float*", "apost"),
            ("target_input", "ge", "int*", "row_e"),
            ("per_unit", "ge", "float", "per_unit"),
        ),
        kernel(
            "on_post",
            *words("spike_list", "spike_count", "column_starts", "column_synapses", "synapse_sources"),
            weight,
            ("pre_state", "apre", "const float*", "apre"),
        ),
        kernel("trace_pre", count, events, ("pre_state", "apre", "float*", "apre")),
        kernel("trace_post", count, events, ("post_state", "apost", "float*", "apost")),
    ]
    spiking = plan["spiking"]
    return changed(
        plan,
        sources=[{"kind": "poisson", "name": "noise", "size": 300, "rate_hz": constant(rate)}],
        projections=[
            *spiking["projections"],
            {
                "from": "noise",
                "to": "exc",
                "input": None,
                "pattern": {"kind": "probability", "probability": probability},
                "weight": constant(0.0),
                "weight_bound": 0.004,
                "delay_seconds": constant(delay),
                "variables": [{"name": "w", "value": {"kind": "random", "low": 0.0, "high": 0.003}}],
                "pre_variables": [{"name": "apre", "value": constant(0.0)}],
                "post_variables": [{"name": "apost", "value": constant(0.0)}],
            },
        ],
        kernels=[*spiking["kernels"], *kernels],
        records=[{"kind": "spikes", "population": name} for name in ("exc", "inh", "noise")],
    )


EACH = {"kind": "normal", "mean": 1.62e-3, "standard_deviation": 2e-4}
LATE = {"kind": "random", "low": 0.0, "high": 4e-3}


def variants() -> dict[str, dict[str, Any]]:
    """Networks that together use everything that a device has to do."""
    late = cuba(delay=1.5e-3)
    for one in late["spiking"]["projections"]:
        one["delay_seconds"] = LATE
    each = cuba()
    for one in each["spiking"]["projections"][:2]:
        one["weight"] = EACH
    driven = changed(
        cuba(),
        sources=[
            {"kind": "poisson", "name": "noise", "size": 700, "rate_hz": constant(50.0)},
            {"kind": "poisson", "name": "ramp", "size": 99, "rate_hz": {"kind": "random", "low": 0.0, "high": 90.0}},
            {"kind": "spikes", "name": "list", "size": 9, "times_seconds": [0.01, 0.02, 0.01], "indices": [1, 2, 8]},
        ],
        drives=[{"kind": "poisson", "population": "inh", "input": "ge", "rate_hz": 9.0, "count": 80.0, "weight": 2e-4}],
    )
    for source in ("noise", "ramp", "list"):
        driven["spiking"]["projections"].append(
            {
                "from": source,
                "to": "exc",
                "input": "ge",
                "pattern": {"kind": "fixed_out", "count": 20},
                "weight": constant(3e-4),
                "delay_seconds": constant(1e-3),
            }
        )
    gaps, drawn = cuba(delay=2e-4), cuba(delay=2e-4)
    for one in gaps["spiking"]["projections"]:
        one["storage"] = "gap_coded"
    for one in drawn["spiking"]["projections"][1:]:
        one |= {"storage": "procedural", "allow_autapses": False}
    return {
        "gaps": gaps,
        "drawn": drawn,
        "cuba": cuba(),
        "late": late,
        "each": each,
        "driven": driven,
        "stdp": stdp(delay=5e-4),
    }
