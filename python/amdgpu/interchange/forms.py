"""The neurons that NIR and the network language both express, equation by equation.

NIR's signals are functions of time. Here a spike has the value 1 during one time step, as in the tools that NIR networks come from, so an
input `j` is held over a step and the membrane moves by r / tau * dt times the weight (to first order).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """A neuron of NIR in the network language.

    Attributes:
        kind: Name of the class in `nir`.
        parameters: Its fields, which are parameters here too, with their units in the text.
        equations: Lines of the neuron block.
        spikes: Whether it has a threshold.
    """

    kind: str
    parameters: dict[str, str]
    equations: tuple[str, ...]
    spikes: bool


_V = ("dv/dt = (v_leak - v + r*(j + bias))/{tau}",)
_CUBA = ("dsyn/dt = (w_in*(j + bias) - syn)/tau_syn", "dv/dt = (v_leak - v + r*syn)/tau_mem")
_SPIKE = ("threshold: v > v_threshold", "reset: v = v_reset")
_LIMITS = {"v_threshold": "", "v_reset": ""}
_CUBA_PARAMETERS = {"tau_syn": "s", "tau_mem": "s", "r": "", "v_leak": "", "w_in": ""}

FORMS = (
    Form("LIF", {"tau": "s", "r": "", "v_leak": "", **_LIMITS}, (_V[0].format(tau="tau"), *_SPIKE), spikes=True),
    Form("CubaLIF", {**_CUBA_PARAMETERS, **_LIMITS}, (*_CUBA, *_SPIKE), spikes=True),
    Form("LI", {"tau": "s", "r": "", "v_leak": ""}, (_V[0].format(tau="tau"),), spikes=False),
    Form("CubaLI", _CUBA_PARAMETERS, _CUBA, spikes=False),
    Form("IF", {"r": "1/s", **_LIMITS}, ("dv/dt = r*(j + bias)", *_SPIKE), spikes=True),
    Form("I", {"r": "1/s"}, ("dv/dt = r*(j + bias)",), spikes=False),
)
BY_KIND = {form.kind: form for form in FORMS}
