## Which synapse a projection has: a `synapse` statement or a built-in one, named by `connect` or by `plasticity`.

import std/tables
import ast, diagnostics, dimension_solver, formula, initial_values, initializer, neuron_model, prelude, scope, spiking_network, suggestions, synapse_model

type
  SynapseChoice* = object
    ## `NAME` or `NAME(parameter: value, …)` where a synapse is chosen.
    name*: string
    span*: Span
    args*: seq[Arg]

proc declareSynapse*(network: var SpikingNetwork; statement: Statement; report: var Report) =
  let node = statement.operand
  if node == nil or node.kind != ekName or not statement.hasBody:
    report.error(statement.span, "a synapse needs a name and a block", expected = "synapse NAME: with its equations and on_pre: indented below")
  elif node.text in network.synapses:
    report.error(node.span, "synapse " & shown(node.text) & " is declared twice",
                 hint = "it was declared on line " & $network.synapses[node.text].span.line)
  else:
    network.synapses[node.text] = statement

proc readParameters(choice: SynapseChoice; report: var Report; solver: var DimensionSolver): Table[string, Typed] =
  ## Values of parameters with their dimensions.
  for arg in choice.args:
    var scope = Scope(owner: "the parameters of " & shown(choice.name), solver: solver)
    if arg.name.len == 0:
      report.error(arg.value.span, "a parameter of " & shown(choice.name) & " has no name", expected = "name: value")
    elif arg.name in result:
      report.error(arg.nameSpan, shown(arg.name) & " is given twice", expected = "one value")
    else:
      let typed = scope.check(arg.value, report)
      var value: float
      if typed.formula != nil and (typed.isCondition or not typed.formula.evaluate(initTable[string, float](), value) or value != value or
          abs(value) > 3.4e38):
        report.error(arg.value.span, "the parameter " & shown(arg.name) & " is " & describe(arg.value), expected = "a number with its unit")
      elif typed.formula != nil:
        result[arg.name] = typed
    solver = scope.solver

proc attachSynapse*(network: var SpikingNetwork; projection: var Projection; choice: SynapseChoice; report: var Report) =
  ## The projection gets a synapse of its own, checked for the neurons that it connects.
  let errorsBefore = report.errorCount
  var body: seq[Statement]
  let isBuiltIn = choice.name notin network.synapses
  if isBuiltIn:
    body = builtInSynapse(choice.name)
    if body.len == 0:
      if choice.name notin network.excused:
        var known = builtInSynapseNames()
        for name in network.synapses.keys:
          known.add name
        report.error(choice.span, "synapse " & shown(choice.name) & " is not declared", expected = "the name of a synapse",
                     hint = if report.isFull: "" else: didYouMean(choice.name, known))
      return
  else:
    body = network.synapses[choice.name].body
  let target = network.populations[projection.target].model
  var given = readParameters(choice, report, target.scope.solver)
  let ends = Ends(source: if projection.source >= 0: network.populations[projection.source].model else: nil, target: target,
                  input: projection.plan.input)
  var inner: Report
  let at = if isBuiltIn: choice.span else: network.synapses[choice.name].operand.span
  let model = checkSynapse(choice.name, at, body, ends, given, inner)
  model.isBuiltIn = isBuiltIn
  for finding in inner.findings:
    if isBuiltIn:
      report.error(choice.span, "built-in " & shown(choice.name) & " does not fit " & projection.plan.source & " -> " & projection.plan.target &
                   ": " & finding.message, expected = finding.expected, hint = "parameters such as w_max have the unit of the weight")
      break
    elif report.errorCount == 0 or finding notin report.findings:
      report.error(finding.span, finding.message, finding.expected, finding.hint)
  var known: seq[string]
  for parameter in model.parameters:
    known.add parameter.name
  for arg in choice.args:
    if arg.name.len > 0 and arg.name notin known and not model.isBroken:
      report.error(arg.nameSpan, model.scope.owner & " has no parameter " & shown(arg.name),
                   expected = (if known.len == 0: "no parameters" else: oneOf(known)), hint = nearestHint(arg.name, known))
  if projection.plan.delay.kind != inConstant:
    report.error(choice.span, "synapses with code of their own and delays that differ", expected = "one delay for the connection")
  for name, typed in given:
    var value: float
    discard typed.formula.evaluate(initTable[string, float](), value)
    projection.parameters[name] = value
  if report.errorCount == errorsBefore and not model.isBroken:
    projection.synapse = model

proc readSynapseVariables*(network: var SpikingNetwork; projection: var Projection; args: seq[Arg]; weight: Expr; names: openArray[Index];
                           report: var Report) =
  ## Initial values of the synapse's variables; the weight is that of `w`.
  let model = projection.synapse
  var known: seq[string]
  for state in model.states:
    known.add state.name
  var all = args
  if weight != nil:
    if "w" in known:
      all.add Arg(name: "w", nameSpan: weight.span, value: weight)
    else:
      report.error(weight.span, model.scope.owner & " has no variable w that the weight could be", expected = oneOf(known))
  for arg in all:
    if arg.name notin known:
      report.error(arg.nameSpan, model.scope.owner & " has no variable " & shown(arg.name), expected = oneOf(known),
                   hint = nearestHint(arg.name, known))
      continue
    var value: InitialValue
    if model.scope.readPairValue(arg.value, model.scope.symbols[arg.name].dimension, "the initial value of " & shown(arg.name), names,
                                 report, value):
      projection.given[arg.name] = value
  network.populations[projection.target].model.scope.solver = model.scope.solver
