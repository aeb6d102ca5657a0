## Positions, files and arrays through both front ends: the same plan and the same findings.

import std/[macros, unittest]
import ../src/network/[compile, diagnostics, dsl, plan_json]

macro findingsOf(name, body: untyped): untyped =
  ## The findings of a macro body as text, where `neuralNetwork` would stop the compilation.
  var report: Report
  discard planOfBody(name, body, report)
  newLit(report.renderErrors(""))

const placesText = """
neuralNetwork places:
  dt = 0.1.ms
  seed = 9
  neuron cell:
    dv/dt = -v/(10.ms)
    threshold: v > 1
    reset: v = 0
    target: v
  source eye(poisson(rate: 20.Hz), n: 48, positions: grid(8, 6, periodic: true))
  source tape(spikes(file("spikes.npy")), n: 4)
  source tapes(spikes(times: array("times"), indices: file("indices.npy")), n: 4, positions: points([0, 1, 2, 3]))
  population sheet(48, model: cell, positions: grid(8, 6, periodic: true), v: 0.1*x + sin(y)/size)
  population half(12, model: cell, positions: grid(4, 3, spacing: 2, origin: [0.5, 0.5], periodic: true))
  population line(4, model: cell, positions: points([0.um, 10.um, -2.5.um, 1.mm], period: 2.mm), v: exp(-x/(1.mm)))
  population cloud(6, model: cell, positions: points(file("cloud.npy"), unit: 1.um, period: [100.um, 50.um]), v: array("start"))
  population space(2, model: cell, positions: points([[0, 0, 1], [1, 2, 3.5]]), v: random(0, 0.5)*z)
  connect sheet -> sheet(pattern: gaussian(sigma: 1.5, p: 0.7), weight: 0.1*exp(-distance/3) + random(0, 0.1), autapses: false)
  connect sheet -> half(pattern: gaussian(2), weight: 0.5, delay: 0.2.ms + 0.1.ms*abs(x_pre - y_post))
  connect line -> line(pattern: gaussian(20.um), delay: distance/(0.1*m/s))
  connect cloud -> cloud(pattern: gaussian(20.um), weight: constant(0.25), delay: clip(normal(1.ms, 0.2.ms), 0.1.ms, 2.ms))
  connect eye -> sheet(pattern: convolution([[0, 1, 0], [1, -4, 1], [0, 1, 0]]), weight: 0.5)
  connect eye -> half(pattern: convolution([[0.5, 1]], stride: 2), weight: normal(0.5, 0.1))
  connect half -> sheet(pattern: pairs(file("pairs.npy")), weight: file("w.npy"))
  connect sheet -> half(pattern: pairs([0, 1], array("targets")), weight: array("w"), multapses: true)
  connect tape -> line(pattern: pairs(array("from"), targets: array("to")), autapses: false, multapses: false, synapse: tsodyks_markram)
  connect half -> half(pattern: convolution(file("kernel.npy")), weight: kernel^2, synapse: tsodyks_markram)
  record spikes(sheet)
"""

neuralNetwork places:
  dt = 0.1.ms
  seed = 9
  neuron cell:
    dv/dt = -v/(10.ms)
    threshold: v > 1
    reset: v = 0
    target: v
  source eye(poisson(rate: 20.Hz), n: 48, positions: grid(8, 6, periodic: true))
  source tape(spikes(file("spikes.npy")), n: 4)
  source tapes(spikes(times: array("times"), indices: file("indices.npy")), n: 4, positions: points([0, 1, 2, 3]))
  population sheet(48, model: cell, positions: grid(8, 6, periodic: true), v: 0.1*x + sin(y)/size)
  population half(12, model: cell, positions: grid(4, 3, spacing: 2, origin: [0.5, 0.5], periodic: true))
  population line(4, model: cell, positions: points([0.um, 10.um, -2.5.um, 1.mm], period: 2.mm), v: exp(-x/(1.mm)))
  population cloud(6, model: cell, positions: points(file("cloud.npy"), unit: 1.um, period: [100.um, 50.um]), v: array("start"))
  population space(2, model: cell, positions: points([[0, 0, 1], [1, 2, 3.5]]), v: random(0, 0.5)*z)
  connect sheet -> sheet(pattern: gaussian(sigma: 1.5, p: 0.7), weight: 0.1*exp(-distance/3) + random(0, 0.1), autapses: false)
  connect sheet -> half(pattern: gaussian(2), weight: 0.5, delay: 0.2.ms + 0.1.ms*abs(x_pre - y_post))
  connect line -> line(pattern: gaussian(20.um), delay: distance/(0.1*m/s))
  connect cloud -> cloud(pattern: gaussian(20.um), weight: constant(0.25), delay: clip(normal(1.ms, 0.2.ms), 0.1.ms, 2.ms))
  connect eye -> sheet(pattern: convolution([[0, 1, 0], [1, -4, 1], [0, 1, 0]]), weight: 0.5)
  connect eye -> half(pattern: convolution([[0.5, 1]], stride: 2), weight: normal(0.5, 0.1))
  connect half -> sheet(pattern: pairs(file("pairs.npy")), weight: file("w.npy"))
  connect sheet -> half(pattern: pairs([0, 1], array("targets")), weight: array("w"), multapses: true)
  connect tape -> line(pattern: pairs(array("from"), targets: array("to")), autapses: false, multapses: false, synapse: tsodyks_markram)
  connect half -> half(pattern: convolution(file("kernel.npy")), weight: kernel^2, synapse: tsodyks_markram)
  record spikes(sheet)

const wrongText = """
neuralNetwork wrong:
  neuron cell:
    variables(i)
    dv/dt = (i - v)/(10.ms)
    threshold: v > 1
    reset: v = 0
    target: v
  population a(12, model: cell, positions: grid(4, 3))
  population u(12, model: cell, positions: grid(4, 3, spacing: 1.um))
  population n(12, model: cell)
  population p(12, model: cell, positions: grid(4, 4))
  population q(12, model: cell, positions: grid(4, 3, spacing: -1))
  population r(12, model: cell, positions: grid(12, spacing: 1.ms))
  population s(2, model: cell, positions: points([[0, 1], [2]]))
  population t(2, model: cell, positions: points([0, 1, 2]))
  population v(2, model: cell, positions: points(file(""), unit: 1.um))
  population w(2, model: cell, positions: ring(2), v: x)
  population y(2, model: cell, v: x + 1)
  population z(12, model: cell, positions: grid(4, 3), positions: grid(12))
  source o(poisson(rate: 1.Hz), n: 4, positions: grid(3))
  source b(current(array(3), every: 1.ms), target: a.i)
  connect a -> a(pattern: gaussian(0))
  connect a -> a(pattern: gaussian(-2))
  connect a -> a(pattern: gaussian(1.um))
  connect a -> a(pattern: gaussian(1, p: 1.5))
  connect a -> u(pattern: gaussian(1))
  connect a -> n(pattern: gaussian(1))
  connect a -> a(pattern: convolution([[1, 1, 1, 1, 1]]))
  connect a -> a(pattern: convolution([[1, 2], [3]]))
  connect a -> a(pattern: convolution([[1, 2]]))
  connect a -> a(pattern: convolution([[1, 2, 1]], padding: same), weight: file("w.npy"))
  connect a -> a(pattern: pairs([0, 1, 0], [1, 2, 1]))
  connect a -> a(pattern: pairs([0]))
  connect a -> n(weight: distance)
  connect a -> a(weight: z_pre + kernel)
"""

const wrongFindings = findingsOf wrong:
  neuron cell:
    variables(i)
    dv/dt = (i - v)/(10.ms)
    threshold: v > 1
    reset: v = 0
    target: v
  population a(12, model: cell, positions: grid(4, 3))
  population u(12, model: cell, positions: grid(4, 3, spacing: 1.um))
  population n(12, model: cell)
  population p(12, model: cell, positions: grid(4, 4))
  population q(12, model: cell, positions: grid(4, 3, spacing: -1))
  population r(12, model: cell, positions: grid(12, spacing: 1.ms))
  population s(2, model: cell, positions: points([[0, 1], [2]]))
  population t(2, model: cell, positions: points([0, 1, 2]))
  population v(2, model: cell, positions: points(file(""), unit: 1.um))
  population w(2, model: cell, positions: ring(2), v: x)
  population y(2, model: cell, v: x + 1)
  population z(12, model: cell, positions: grid(4, 3), positions: grid(12))
  source o(poisson(rate: 1.Hz), n: 4, positions: grid(3))
  source b(current(array(3), every: 1.ms), target: a.i)
  connect a -> a(pattern: gaussian(0))
  connect a -> a(pattern: gaussian(-2))
  connect a -> a(pattern: gaussian(1.um))
  connect a -> a(pattern: gaussian(1, p: 1.5))
  connect a -> u(pattern: gaussian(1))
  connect a -> n(pattern: gaussian(1))
  connect a -> a(pattern: convolution([[1, 1, 1, 1, 1]]))
  connect a -> a(pattern: convolution([[1, 2], [3]]))
  connect a -> a(pattern: convolution([[1, 2]]))
  connect a -> a(pattern: convolution([[1, 2, 1]], padding: same), weight: file("w.npy"))
  connect a -> a(pattern: pairs([0, 1, 0], [1, 2, 1]))
  connect a -> a(pattern: pairs([0]))
  connect a -> n(weight: distance)
  connect a -> a(weight: z_pre + kernel)

suite "positions through both front ends":
  test "the plans are byte for byte the same":
    var report: Report
    let plan = compileText(placesText, "", report)
    if report.errorCount > 0:
      echo report.renderErrors(placesText)
    check report.errorCount == 0
    check places.planJson == plan.toJson

  test "the findings are the same":
    var report: Report
    discard compileText(wrongText, "", report)
    check report.errorCount >= 22
    check report.renderErrors("") == wrongFindings
