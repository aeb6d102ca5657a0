"""Texts of large networks of leaky integrate-and-fire neurons: the network of Vogels and Abbott 2005 with currents, with more neurons.

Weights are divided by the number of synapses of a neuron, so that the mean input of a neuron stays that of 80.
"""

from __future__ import annotations

TEXT = """neuralNetwork large:
  dt = 0.1.ms
  seed = 42
  neuron cell:
    params(taum = 20.ms, taue = 5.ms, taui = 10.ms, vt = -50.mV, vr = -60.mV, el = -49.mV)
    dv/dt  = (ge + gi - (v - el)) / taum
    dge/dt = -ge/taue
    dgi/dt = -gi/taui
    threshold: v > vt
    reset: v = vr
    refractory: 5.ms
  population exc({excitatory}, model: cell, v: random(-60.mV, -50.mV))
  population inh({inhibitory}, model: cell, v: random(-60.mV, -50.mV))
  connect exc -> [exc, inh](pattern: probability({probability}), weight: {strong:.9f}.mV, delay: 1.5.ms, target: ge{storage})
  connect inh -> [exc, inh](pattern: probability({probability}), weight: -{weak:.9f}.mV, delay: 1.5.ms, target: gi{storage})
"""


def text(neurons: int, synapses: int, storage: str = "auto") -> str:
    """A network whose neurons have so many synapses on average."""
    excitatory = neurons * 4 // 5
    share = 80 / synapses
    return TEXT.format(
        excitatory=excitatory,
        inhibitory=neurons - excitatory,
        probability=synapses / neurons,
        strong=1.62 * share,
        weak=9.0 * share,
        storage="" if storage == "auto" else f", storage: {storage}",
    )
