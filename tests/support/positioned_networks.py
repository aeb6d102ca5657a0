"""Spiking networks whose cells have positions, for tests of every device."""

CELL = """
neuron cell:
  dv/dt = -v/(10.ms)
  threshold: v > 1
  reset: v = 0
  target: v
"""
ON_DEVICES = """
source in(poisson(rate: 500.Hz), n: 400, positions: grid(20, 20))
population c(400, model: cell, positions: grid(20, 20), v: x/40)
connect in -> c(pattern: convolution([[0, 1, 0], [1, 4, 1], [0, 1, 0]], padding: same), weight: 0.25)
connect c -> c(pattern: gaussian(1.5, p: 0.5), weight: random(0, 0.1)*exp(-distance/3), delay: 0.1.ms + 0.1.ms*distance)
connect c -> c(pattern: gaussian(1.5, p: 0.2), weight: 0.0625, autapses: false)
plasticity stdp(on: in -> c)
"""
