## Synapses of a projection: which model it has, and the values of its variables and parameters.

import ast, diagnostics, spiking_network

proc attachSynapse*(network: var SpikingNetwork; projection: var Projection; node: Expr; report: var Report) =
  report.error(node.span, "the synapse is " & describe(node))

proc readSynapseOptions*(network: var SpikingNetwork; projection: var Projection; args: seq[Arg]; report: var Report) =
  discard
