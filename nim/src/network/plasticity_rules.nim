## The `plasticity` statements of a spiking network: built-in rules, or synapses of the text, for connections that exist.

import std/tables
import ast, diagnostics, prelude, spiking_network, suggestions, synapses, values

const
  PlasticityExample = "plasticity stdp(tau_plus: 20.ms, w_max: 1.0, on: exc -> exc)"
  Dependences = ["additive", "multiplicative", "power", "power_law"]
  ReinforcementMode = "reinforcement"
    ## The requirements' name of learning from rewards.
  Pairings = ["all_to_all", "nearest"]

proc namesOf(node: Expr; report: var Report; names: var seq[string]): bool =
  ## `a` or `[a, b]`.
  if node.kind == ekName:
    names.add node.text
    return true
  result = node.kind == ekList and node.items.len > 0
  if result:
    for item in node.items:
      result = result and item.kind == ekName
      if item.kind == ekName:
        names.add item.text
  if not result:
    report.error(node.span, "'on' names " & describe(node), expected = "populations, for example on: exc -> [exc, inh]")

proc connectionsOn(network: SpikingNetwork; node: Expr; report: var Report): seq[int] =
  if node.kind != ekBinary or node.operator != "->":
    report.error(node.span, "'on' is " & describe(node), expected = "a connection, for example on: exc -> exc")
    return
  var sources, targets: seq[string]
  let isSourceRight = namesOf(node.left, report, sources)
  if not namesOf(node.right, report, targets) or not isSourceRight:
    return
  for source in sources:
    for target in targets:
      var isFound = source in network.excused or target in network.excused
      for idx, projection in network.projections:
        if projection.plan.source == source and projection.plan.target == target:
          result.add idx
          isFound = true
      if not isFound and not report.isFull:
        report.error(node.span, "there is no connection " & source & " -> " & target, expected = "a connection that a connect statement makes",
                     hint = "connect " & source & " -> " & target)

proc choose(options: var seq[Arg]; name: string; known: openArray[string]; report: var Report): string =
  ## Takes an option that is one of some words out of the arguments; the first word where it is not there.
  result = known[0]
  for idx, arg in options:
    if arg.name == name:
      if arg.value.kind == ekName and arg.value.text in known:
        result = arg.value.text
      else:
        report.error(arg.value.span, shown(name) & " is " & describe(arg.value), expected = oneOf(known))
      options.delete idx
      return

proc checkSpikingPlasticity*(network: var SpikingNetwork; statement: Statement; report: var Report) =
  let node = statement.operand
  var choice: SynapseChoice
  if statement.hasBody or node == nil:
    report.error(statement.span, "plasticity needs a rule", expected = PlasticityExample)
    return
  choice.span = node.span
  if not splitCall(node, "the plasticity rule", report, choice.name, choice.args):
    return
  var on: Expr
  for idx, arg in choice.args:
    if arg.name == "on":
      on = arg.value
      choice.args.delete idx
      break
  if choice.name == ReinforcementMode and choice.name notin network.synapses:
    choice.name = "r_stdp"
  if choice.name == "stdp" and choice.name notin network.synapses:
    let dependence = choose(choice.args, "dependence", Dependences, report)
    let pairing = choose(choice.args, "pairing", Pairings, report)
    if dependence != "additive":
      choice.name.add (if dependence == "power_law": "_power" else: "_" & dependence)
    if pairing == "nearest":
      choice.name.add "_nearest"
  if choice.name notin network.synapses and choice.name notin builtInSynapseNames():
    var known = builtInSynapseNames()
    for name in network.synapses.keys:
      known.add name
    report.error(node.span, "unknown plasticity rule " & shown(choice.name), expected = oneOf(known), hint = nearestHint(choice.name, known))
    return
  var chosen: seq[int]
  if on != nil:
    chosen = network.connectionsOn(on, report)
  else:
    for idx, projection in network.projections:
      if projection.synapse == nil:
        chosen.add idx
    if chosen.len == 0 and report.errorCount == 0:
      report.error(node.span, "there is no connection for the rule to change", expected = "a connect statement")
  for idx in chosen:
    if report.isFull or network.projections[idx].isBroken:
      continue
    if network.projections[idx].synapse != nil:
      report.error(node.span, "two rules change " & network.projections[idx].plan.source & " -> " & network.projections[idx].plan.target,
                   hint = "name the connections with on: FROM -> TO")
      return
    var projection = network.projections[idx]
    let errorsBefore = report.errorCount
    network.attachSynapse(projection, choice, report)
    network.projections[idx] = projection
    if report.errorCount > errorsBefore:
      return
