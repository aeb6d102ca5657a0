## Spiking networks through both front ends: the same plan, kernels included, and the same findings.

import std/[macros, os, strutils, unittest]
import ../src/network/[compile, diagnostics, dsl, plan_json]

macro findingsOf(name, body: untyped): untyped =
  ## The findings of a macro body as text, where `neuralNetwork` would stop the compilation.
  var report: Report
  discard planOfBody(name, body, report)
  newLit(report.renderErrors(""))

proc planOf(text: string): string =
  var report: Report
  let plan = compileText(text, "", report)
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
    dx/dt = (level - x^3)/tau + 0.1*xi*(2/tau)^0.5 + (-x^2 - -2^2 + (-x)^2 + 2^-x^2 - 2^3^0.5)/tau
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
    dx/dt = (level - x^3)/tau + 0.1*xi*(2/tau)^0.5 + (-x^2 - -2^2 + (-x)^2 + 2^-x^2 - 2^3^0.5)/tau
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

neuralNetwork builtins:
  dt = 0.1.ms
  population n_lif(10, model: lif, i: 0.3.nA)
  population n_exp(10, model: iaf_psc_exp, i_e: 400.pA)
  population n_exp2(10, model: iaf_psc_exp, i_e: 300.pA, tau_m: 20.ms)
  population n_alpha(10, model: iaf_psc_alpha)
  population n_cond(10, model: iaf_cond_exp)
  population n_adex(10, model: adex, i_e: normal(500.pA, 50.pA))
  population n_izh(10, model: izhikevich)
  population n_hh(10, model: hodgkin_huxley)
  population n_poisson(10, model: poisson, rate: 30.Hz)
  neuron coupled:
    inputs(gap)
    params(tau = 10.ms, r = 10.MOhm)
    dv/dt = (-v + r*gap)/tau
  population n_gap(10, model: coupled, v: 1.mV*i)
  source noise(poisson(rate: 10.Hz), n: 10)
  connect noise -> n_lif(synapse: delta, weight: 1.mV)
  connect noise -> n_exp(synapse: tsodyks_markram(tau_facil: 100.ms), weight: 100.pA, delay: 1.ms)
  connect noise -> n_exp2(synapse: hebbian(w_max: 200.pA), weight: 100.pA)
  connect noise -> n_alpha(synapse: oja(w_max: 200.pA), weight: 100.pA)
  connect noise -> n_cond(synapse: bcm(w_max: 2.nS), weight: 1.nS)
  connect noise -> n_adex(synapse: triplet_stdp(w_max: 2.nS), weight: 1.nS)
  connect noise -> n_izh(synapse: r_stdp(w_max: 2.mV), weight: 1.mV)
  connect noise -> n_hh(synapse: stdp_dopamine(w_max: 2.nS), weight: 1.nS)
  connect n_poisson -> n_lif(weight: random(0.mV, 1.mV))
  connect n_poisson -> n_exp(weight: random(0.pA, 100.pA), target: i_in)
  connect n_poisson -> n_exp2(weight: 10.pA)
  connect n_poisson -> n_alpha(weight: 10.pA)
  connect n_poisson -> n_cond(weight: 1.nS)
  connect n_poisson -> n_adex(weight: 1.nS)
  connect n_lif -> [n_lif, n_izh](weight: 1.mV)
  connect n_gap -> n_gap(synapse: gap_junction, target: gap, weight: 1.nS)
  plasticity inhibitory_stdp(w_max: 1.mV, sign: -1, on: n_poisson -> n_lif)
  plasticity homeostatic(w_max: 100.pA, on: n_poisson -> n_exp)
  plasticity structural(w_max: 100.pA, w_min: 1.pA, w_new: 5.pA, on: n_poisson -> n_exp2)
  plasticity stdp(w_max: 100.pA, on: n_poisson -> n_alpha)
  plasticity stdp(w_max: 2.nS, dependence: multiplicative, on: n_poisson -> n_cond)
  plasticity stdp(w_max: 2.nS, dependence: power, pairing: nearest, on: n_poisson -> n_adex)
  plasticity stdp(w_max: 2.mV, pairing: nearest, on: n_lif -> [n_lif, n_izh])

const builtinsText = """
neuralNetwork builtins:
  dt = 0.1.ms
  population n_lif(10, model: lif, i: 0.3.nA)
  population n_exp(10, model: iaf_psc_exp, i_e: 400.pA)
  population n_exp2(10, model: iaf_psc_exp, i_e: 300.pA, tau_m: 20.ms)
  population n_alpha(10, model: iaf_psc_alpha)
  population n_cond(10, model: iaf_cond_exp)
  population n_adex(10, model: adex, i_e: normal(500.pA, 50.pA))
  population n_izh(10, model: izhikevich)
  population n_hh(10, model: hodgkin_huxley)
  population n_poisson(10, model: poisson, rate: 30.Hz)
  neuron coupled:
    inputs(gap)
    params(tau = 10.ms, r = 10.MOhm)
    dv/dt = (-v + r*gap)/tau
  population n_gap(10, model: coupled, v: 1.mV*i)
  source noise(poisson(rate: 10.Hz), n: 10)
  connect noise -> n_lif(synapse: delta, weight: 1.mV)
  connect noise -> n_exp(synapse: tsodyks_markram(tau_facil: 100.ms), weight: 100.pA, delay: 1.ms)
  connect noise -> n_exp2(synapse: hebbian(w_max: 200.pA), weight: 100.pA)
  connect noise -> n_alpha(synapse: oja(w_max: 200.pA), weight: 100.pA)
  connect noise -> n_cond(synapse: bcm(w_max: 2.nS), weight: 1.nS)
  connect noise -> n_adex(synapse: triplet_stdp(w_max: 2.nS), weight: 1.nS)
  connect noise -> n_izh(synapse: r_stdp(w_max: 2.mV), weight: 1.mV)
  connect noise -> n_hh(synapse: stdp_dopamine(w_max: 2.nS), weight: 1.nS)
  connect n_poisson -> n_lif(weight: random(0.mV, 1.mV))
  connect n_poisson -> n_exp(weight: random(0.pA, 100.pA), target: i_in)
  connect n_poisson -> n_exp2(weight: 10.pA)
  connect n_poisson -> n_alpha(weight: 10.pA)
  connect n_poisson -> n_cond(weight: 1.nS)
  connect n_poisson -> n_adex(weight: 1.nS)
  connect n_lif -> [n_lif, n_izh](weight: 1.mV)
  connect n_gap -> n_gap(synapse: gap_junction, target: gap, weight: 1.nS)
  plasticity inhibitory_stdp(w_max: 1.mV, sign: -1, on: n_poisson -> n_lif)
  plasticity homeostatic(w_max: 100.pA, on: n_poisson -> n_exp)
  plasticity structural(w_max: 100.pA, w_min: 1.pA, w_new: 5.pA, on: n_poisson -> n_exp2)
  plasticity stdp(w_max: 100.pA, on: n_poisson -> n_alpha)
  plasticity stdp(w_max: 2.nS, dependence: multiplicative, on: n_poisson -> n_cond)
  plasticity stdp(w_max: 2.nS, dependence: power, pairing: nearest, on: n_poisson -> n_adex)
  plasticity stdp(w_max: 2.mV, pairing: nearest, on: n_lif -> [n_lif, n_izh])
"""

neuralNetwork cuba_stdp:
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
  synapse facilitating:
    params(tau_c = 1.s)
    variables(w, apre, apost, c)
    dapre/dt = -apre/taue
    dapost/dt = -apost/taue
    dc/dt = -c/tau_c
    on_pre:
      ge += w
      apre += 1
      c += apost
      w = clip(w + apost*1.mV, 0, 10.mV) + 0*random()*(v_post - v_pre)
    on_post:
      apost += 1
      c -= apre
    on_reward:
      w += reward*c*1.mV
  population exc(3200, model: cell, v: random(-60.mV, -50.mV))
  population inh(800, model: cell, v: random(-60.mV, -50.mV))
  connect exc -> exc(pattern: probability(0.02), weight: 1.62.mV, target: ge)
  connect exc -> inh(pattern: probability(0.02), weight: 1.62.mV, synapse: facilitating)
  connect inh -> [exc, inh](pattern: probability(0.02), weight: -9.mV, target: gi)
  plasticity stdp(w_max: 10.mV, on: exc -> exc)
  reward at(times: [1.s, 2.s], values: [1, -0.5])
  reward every(100.ms, value: 0.1)
  record spikes(exc, inh)

const stdpText = """
neuralNetwork cuba_stdp:
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
  synapse facilitating:
    params(tau_c = 1.s)
    variables(w, apre, apost, c)
    dapre/dt = -apre/taue
    dapost/dt = -apost/taue
    dc/dt = -c/tau_c
    on_pre:
      ge += w
      apre += 1
      c += apost
      w = clip(w + apost*1.mV, 0, 10.mV) + 0*random()*(v_post - v_pre)
    on_post:
      apost += 1
      c -= apre
    on_reward:
      w += reward*c*1.mV
  population exc(3200, model: cell, v: random(-60.mV, -50.mV))
  population inh(800, model: cell, v: random(-60.mV, -50.mV))
  connect exc -> exc(pattern: probability(0.02), weight: 1.62.mV, target: ge)
  connect exc -> inh(pattern: probability(0.02), weight: 1.62.mV, synapse: facilitating)
  connect inh -> [exc, inh](pattern: probability(0.02), weight: -9.mV, target: gi)
  plasticity stdp(w_max: 10.mV, on: exc -> exc)
  reward at(times: [1.s, 2.s], values: [1, -0.5])
  reward every(100.ms, value: 0.1)
  record spikes(exc, inh)
"""

neuralNetwork including:
  include "parts/cell.net"
  population a(3, model: cell)

suite "spiking networks in text and macro":
  test "an included file gives the same plan through both front ends":
    check planOf("neuralNetwork including:\n  include \"" & currentSourcePath().parentDir & "/parts/cell.net\"\n  population a(3, model: cell)\n") ==
      including.planJson

  test "CUBA has the same plan and kernels through both front ends":
    check planOf(cubaText) == cuba.planJson

  test "every statement has the same plan and kernels through both front ends":
    check planOf(everythingText) == everything.planJson

  test "every built-in neuron and synapse has the same plan and kernels through both front ends":
    check planOf(builtinsText) == builtins.planJson

  test "a synapse of the text has the same plan and kernels through both front ends":
    check planOf(stdpText) == cuba_stdp.planJson

  test "both front ends find the same errors":
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
    discard compileText(text.replace("findingsOf", "neuralNetwork"), "", report)
    check report.renderErrors("") == found
    check report.errorCount == 14
