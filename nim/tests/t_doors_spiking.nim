## Spiking networks through both doors: the same plan, kernels included, and the same findings.

import std/[macros, strutils, unittest]
import ../src/network/[compile, diagnostics, dsl, plan_json]

macro findingsOf(name, body: untyped): untyped =
  ## The findings of a macro body as text, where `neuralNetwork` would stop the compilation.
  var report: Report
  discard planOfBody(name, body, report)
  newLit(report.renderErrors(""))

proc planOf(text: string): string =
  var report: Report
  let plan = compileText(text, report)
  check report.errorCount == 0
  if report.errorCount > 0:
    echo report.renderErrors(text)
  plan.toJson

neuralNetwork cuba:
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
  population exc(3200, model: cell, v: random(-60.mV, -50.mV))
  population inh(800, model: cell, v: random(-60.mV, -50.mV))
  connect exc -> [exc, inh](pattern: probability(0.02), weight: 1.62.mV, target: ge)
  connect inh -> [exc, inh](pattern: probability(0.02), weight: -9.mV, target: gi)
  record spikes(exc, inh)
  record v(exc[0 ..< 10], every: 1.ms)

const cubaText = """
neuralNetwork cuba:
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
  population exc(3200, model: cell, v: random(-60.mV, -50.mV))
  population inh(800, model: cell, v: random(-60.mV, -50.mV))
  connect exc -> [exc, inh](pattern: probability(0.02), weight: 1.62.mV, target: ge)
  connect inh -> [exc, inh](pattern: probability(0.02), weight: -9.mV, target: gi)
  record spikes(exc, inh)
  record v(exc[0 ..< 10], every: 1.ms)
"""

neuralNetwork everything:
  dt = 0.05.ms
  neuron fast:
    params(tau = 10.ms, c = 1.nF, g = 20.nS)
    variables(bias, level)
    inputs(current)
    scaled = g*(v - 5.mV) + bias
    dv/dt = (current - scaled)/c
    dx/dt = (level - x^3)/tau + 0.1*xi*(2/tau)^0.5
    threshold: v > 0.mV and not (x > 3)
    reset:
      v = -60.mV
      level += 1 + int(x > 2)
  neuron slow:
    params(tau = 1.ms)
    du/dt = (0.04*u^2 + 5*u + 140 - exp(u/20))/tau
    threshold: u > 30
    reset: u = -65
    integrator: rk4
  population a(10, model: fast, v: -60.mV, tau: 20.ms, x: 0.1*i/size)
  population b(20, model: fast, v: normal(-60.mV, 1.mV), tau: random(5.ms, 10.ms), bias: clip(normal(0.nA, 1.nA), -1.nA, 1.nA))
  population c(5, model: slow, u: file("u.npy"))
  population d(5, model: lif, i: 0.2.nA)
  source noise(poisson(rate: 300.Hz), n: 50)
  source given(spikes(times: [1.ms, 2.5.ms], indices: [0, 1]), n: 2)
  source drive(poisson(rate: 8.Hz), n: 1600, target: a.current, weight: 0.1.nA)
  source steps(current([0.nA, 1.nA], every: 10.ms), target: d.i)
  connect a -> b(pattern: fixed_in(3), weight: normal(1.nA, 0.1.nA), delay: random(0.1.ms, 1.ms), target: current)
  connect [noise, given] -> c(pattern: all_to_all, weight: 0.5, delay: 1.ms, target: u, storage: dense)
  connect c -> c(pattern: pairs([0, 1], [1, 2]), weight: -1, target: u, autapses: false, multapses: true)
  record spikes(a, noise)
  record u(c, every: 0.5.ms)

const everythingText = """
neuralNetwork everything:
  dt = 0.05.ms
  neuron fast:
    params(tau = 10.ms, c = 1.nF, g = 20.nS)
    variables(bias, level)
    inputs(current)
    scaled = g*(v - 5.mV) + bias
    dv/dt = (current - scaled)/c
    dx/dt = (level - x^3)/tau + 0.1*xi*(2/tau)^0.5
    threshold: v > 0.mV and not (x > 3)
    reset:
      v = -60.mV
      level += 1 + int(x > 2)
  neuron slow:
    params(tau = 1.ms)
    du/dt = (0.04*u^2 + 5*u + 140 - exp(u/20))/tau
    threshold: u > 30
    reset: u = -65
    integrator: rk4
  population a(10, model: fast, v: -60.mV, tau: 20.ms, x: 0.1*i/size)
  population b(20, model: fast, v: normal(-60.mV, 1.mV), tau: random(5.ms, 10.ms), bias: clip(normal(0.nA, 1.nA), -1.nA, 1.nA))
  population c(5, model: slow, u: file("u.npy"))
  population d(5, model: lif, i: 0.2.nA)
  source noise(poisson(rate: 300.Hz), n: 50)
  source given(spikes(times: [1.ms, 2.5.ms], indices: [0, 1]), n: 2)
  source drive(poisson(rate: 8.Hz), n: 1600, target: a.current, weight: 0.1.nA)
  source steps(current([0.nA, 1.nA], every: 10.ms), target: d.i)
  connect a -> b(pattern: fixed_in(3), weight: normal(1.nA, 0.1.nA), delay: random(0.1.ms, 1.ms), target: current)
  connect [noise, given] -> c(pattern: all_to_all, weight: 0.5, delay: 1.ms, target: u, storage: dense)
  connect c -> c(pattern: pairs([0, 1], [1, 2]), weight: -1, target: u, autapses: false, multapses: true)
  record spikes(a, noise)
  record u(c, every: 0.5.ms)
"""

suite "spiking networks in text and macro":
  test "CUBA has the same plan and kernels through both doors":
    check planOf(cubaText) == cuba.planJson

  test "every statement has the same plan and kernels through both doors":
    check planOf(everythingText) == everything.planJson

  test "both doors find the same errors":
    const found = findingsOf wrong:
      dt = 0.1.ms
      neuron cell:
        params(tau = 20.ms, vt = -50.mV, el = 5.ms)
        dv/dt = (el - v + 3*undefined)/tau
        threshold: v
        reset: w = 3
        integrator: rk5
      neuron good:
        params(tau = 20.ms)
        dv/dt = -v/tau
        threshold: v > 1.mV
      population a(0, model: good)
      population b(10, model: goood)
      population c(10, model: good, v: 3.ms, w: 3)
      connect c -> d(weight: 1.mV, target: v)
      connect c -> c(weight: 1.ms, target: v, delay: 0.01.ms, pattern: prob(0.1))
      record x(c)
      layer l(3)
    const text = """
findingsOf wrong:
      dt = 0.1.ms
      neuron cell:
        params(tau = 20.ms, vt = -50.mV, el = 5.ms)
        dv/dt = (el - v + 3*undefined)/tau
        threshold: v
        reset: w = 3
        integrator: rk5
      neuron good:
        params(tau = 20.ms)
        dv/dt = -v/tau
        threshold: v > 1.mV
      population a(0, model: good)
      population b(10, model: goood)
      population c(10, model: good, v: 3.ms, w: 3)
      connect c -> d(weight: 1.mV, target: v)
      connect c -> c(weight: 1.ms, target: v, delay: 0.01.ms, pattern: prob(0.1))
      record x(c)
      layer l(3)
"""
    var report: Report
    discard compileText(text.replace("findingsOf", "neuralNetwork"), report)
    check report.renderErrors("") == found
    check report.errorCount == 14
