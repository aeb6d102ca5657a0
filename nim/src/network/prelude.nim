## Neuron models and synapses that are built in, written in the network language itself and compiled by the same checker.

import ast, diagnostics, neuron_model, parser

const
  NeuronTexts = [
    # Leaky integrate and fire; Lapicque 1907, in the form of Gerstner and Kistler, "Spiking Neuron Models" (2002), chapter 4.
    ("lif", """
neuron lif:
  params(tau = 20.ms, el = -70.mV, vt = -50.mV, vr = -70.mV, r = 100.MOhm, t_ref = 2.ms)
  variables(i)
  dv/dt = (el - v + r*i) / tau
  threshold: v > vt
  reset: v = vr
  refractory: t_ref
  target: v
""")]

func builtInNeuronNames*(): seq[string] =
  for (name, _) in NeuronTexts:
    result.add name

proc builtInNeuron*(name: string; report: var Report): NeuronModel =
  ## nil for a name that is not built in. Nothing of the built-in texts is ever reported: tests compile each of them.
  for (known, text) in NeuronTexts:
    if known == name:
      var inner: Report
      let statements = parseText(text, inner)
      result = checkNeuron(name, statements[0].span, statements[0].body, inner)
      result.isBuiltIn = true
      for finding in inner.findings:
        report.error(finding.span, "built-in neuron " & shown(name) & ": " & finding.message)
