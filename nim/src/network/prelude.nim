## Neuron models and synapses that are built in, written in the network language itself and compiled by the same checker.

import ast, diagnostics, neuron_model, parser, prelude_neurons, prelude_synapses

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

func builtInSynapseNames*(): seq[string] =
  for (name, _) in SynapseTexts:
    result.add name

proc builtInSynapse*(name: string): seq[Statement] =
  ## The statements of a built-in synapse; empty for a name that is not built in.
  for (known, text) in SynapseTexts:
    if known == name:
      var inner: Report
      return parseText(text, inner)[0].body
