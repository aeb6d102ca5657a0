## Every built-in neuron and synapse compiles, through the text front end and in the compiler's interpreter.

import std/[strutils, unittest]
import ../src/network/[compile, diagnostics, neuron_model, plan, prelude, spiking_plan]

proc compiled(text: string): tuple[plan: NetworkPlan; errors: string] =
  var report: Report
  result.plan = compileText(text, "", report)
  if report.errorCount > 0:
    result.errors = report.renderErrors(text)

proc phasesOf(plan: NetworkPlan): seq[string] =
  for kernel in plan.spiking.kernels:
    if kernel.projection >= 0:
      result.add kernel.phase

suite "built-in models":
  test "every neuron is free of findings and has a kernel":
    check builtInNeuronNames().len == 8
    for name in builtInNeuronNames():
      var report: Report
      let model = builtInNeuron(name, report)
      check report.errorCount == 0 and not model.isBroken
      let (plan, errors) = compiled("population a(3, model: " & name & ")\nrecord spikes(a)\n")
      check errors == ""
      check plan.spiking.kernels.len == 1

  test "every synapse fits a neuron with conductances":
    check builtInSynapseNames().len == 18
    for name in builtInSynapseNames():
      let body = builtInSynapse(name)
      check body.len > 0
      let target = if name == "gap_junction": "i" else: "g_ex"
      let text = "population a(3, model: hodgkin_huxley)\nconnect a -> a(synapse: " & name &
        (if name in ["delta", "tsodyks_markram", "gap_junction"]: "" else: "(w_max: 2.nS" & (if name == "structural": ", w_new: 1.nS, w_min: 0.1.nS" else: "") & ")") &
        ", target: " & target & ", weight: 1.nS)\n"
      check compiled(text).errors == ""

  test "a rule whose limit is not in the unit of the weight is refused with the reason":
    let errors = compiled("population a(3, model: hodgkin_huxley)\nconnect a -> a(weight: 1.nS)\nplasticity stdp(on: a -> a)\n").errors
    check "built-in 'stdp' does not fit a -> a" in errors
    check "conductance" in errors and "dimensionless" in errors
    check "parameters such as w_max have the unit of the weight" in errors

  test "traces that all synapses of a neuron share are kept once for each neuron":
    const text = """
population a(3, model: iaf_psc_exp)
connect a -> a(weight: 1.pA)
plasticity stdp(w_max: 2.pA)
"""
    let (plan, errors) = compiled(text)
    check errors == ""
    let projection = plan.spiking.projections[0]
    check projection.variables.len == 1 and projection.variables[0].name == "w"
    check projection.preVariables.len == 1 and projection.preVariables[0].name == "apre"
    check projection.postVariables.len == 1 and projection.postVariables[0].name == "apost"
    check phasesOf(plan) == @["on_pre", "trace_pre", "on_post", "trace_post"]

  test "a trace that starts differently in each synapse is kept for each synapse":
    const text = """
synapse own:
  variables(w, x)
  dx/dt = -x/(20.ms)
  on_pre:
    x += 1
    target += w*x
population a(3, model: iaf_psc_exp)
connect a -> a(weight: 1.pA, synapse: own, x: random(0, 1))
"""
    let (plan, errors) = compiled(text)
    check errors == ""
    check plan.spiking.projections[0].variables.len == 2
    check phasesOf(plan) == @["on_pre"]

  test "projections with one synapse share its kernels":
    const text = """
population a(3, model: iaf_psc_exp)
population b(3, model: iaf_psc_exp)
connect [a, b] -> [a, b](weight: 1.pA)
plasticity stdp(w_max: 2.pA, on: [a, b] -> [a, b])
"""
    let (plan, errors) = compiled(text)
    check errors == ""
    check plan.spiking.kernels.len == 1 + 4 * 4
    check plan.spiking.source.count("__global__") == 1 + 4

  test "an event-driven equation that no formula solves is refused":
    const text = """
synapse odd:
  variables(w, x, y)
  dx/dt = -x*x/(20.ms)
  on_pre:
    target += w*x
    x += y
  on_post: x += 1
population a(3, model: iaf_psc_exp)
connect a -> a(weight: 1.pA, synapse: odd)
"""
    check "cannot be solved between events" in compiled(text).errors

  test "neurons and synapses that nothing uses are warned of":
    const text = """
synapse unused:
  variables(w)
  on_pre: target += w
neuron spare:
  dv/dt = -v/(1.ms)
population a(3, model: lif)
"""
    let (plan, errors) = compiled(text)
    check errors == ""
    check plan.warnings.len == 2
    check plan.warnings[0].message == "synapse 'unused' is not used, and not checked"
    check plan.warnings[1].message == "neuron 'spare' is not used"
