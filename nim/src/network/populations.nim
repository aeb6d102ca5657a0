## The `population` and `neuron` statements of a spiking network.

import std/tables
import ast, diagnostics, dimensions, initial_values, limits, neuron_model, positions, prelude, scope, spiking_network, suggestions

const
  PopulationExample = "population NAME(size, model: MODEL, v: -70.mV)"
  NeuronExample* = "neuron NAME: with its equations indented below"

proc excuse*(network: var SpikingNetwork; statement: Statement) =
  ## Remembers the name that a wrong statement declares.
  var operand = statement.operand
  if operand != nil and operand.kind in {ekCall, ekIndex}:
    operand = operand.callee
  if operand != nil and operand.kind == ekName:
    network.excused.add operand.text

proc declareNeuron*(network: var SpikingNetwork; statement: Statement; report: var Report) =
  let node = statement.operand
  if node == nil or node.kind != ekName or not statement.hasBody:
    network.excuse statement
    report.error(statement.span, "a neuron needs a name and a block", expected = NeuronExample)
    return
  if node.text in network.models:
    report.error(node.span, "neuron " & shown(node.text) & " is declared twice",
                 hint = "it was declared on line " & $network.models[node.text].span.line)
    return
  network.models[node.text] = checkNeuron(node.text, node.span, statement.body, report)

proc findModel(network: var SpikingNetwork; node: Expr; report: var Report): NeuronModel =
  ## A model of the text, or a built-in one; nil where there is none.
  if node.kind != ekName:
    report.error(node.span, "the model is " & describe(node), expected = "the name of a neuron")
    return
  if node.text in network.models:
    return network.models[node.text]
  result = builtInNeuron(node.text, report)
  if result != nil:
    network.models[node.text] = result
  elif node.text notin network.excused:
    var known = builtInNeuronNames()
    for name in network.models.keys:
      known.add name
    report.error(node.span, "neuron " & shown(node.text) & " is not declared", expected = "the name of a neuron",
                 hint = didYouMean(node.text, known))

proc readPopulationSize(node: Expr; name: string; report: var Report): int =
  if node.kind != ekInt or node.intValue < 1 or node.intValue > MaxPopulationSize:
    report.error(node.span, "the size of population " & shown(name) & " is " & describe(node),
                 expected = "a whole number from 1 to " & $MaxPopulationSize)
    return 0
  int(node.intValue)

proc checkGiven(population: var Population; arg: Arg; report: var Report) =
  ## `v: -60.mV` or `taum: 10.ms` of a population.
  let model = population.model
  let name = arg.name
  if name in population.given:
    report.error(arg.nameSpan, shown(name) & " is given twice", expected = "one value")
    return
  var value: InitialValue
  for state in model.states:
    if state.name == name:
      var names: seq[Index] = @[("i", Dimensionless), ("size", Dimensionless)]
      if population.positions.isThere:
        for axis in population.positions.axisNames:
          # Names of the model hide axes.
          if axis notin model.scope.symbols:
            names.add (axis, population.positions.dimension)
      if model.scope.readInitialValue(arg.value, model.scope.symbols[name].dimension, "the initial value of " & shown(name), names, report,
                                      value):
        population.given[name] = value
      return
  for parameter in model.parameters:
    if parameter.name == name:
      if model.scope.readInitialValue(arg.value, model.scope.symbols[name].dimension, "the parameter " & shown(name), [], report, value):
        population.given[name] = value
      return
  var known = model.stateNames
  for parameter in model.parameters:
    known.add parameter.name
  if name notin model.scope.excused:
    report.error(arg.nameSpan, model.scope.owner & " has no variable or parameter " & shown(name), expected = oneOf(known),
                 hint = nearestHint(name, known))

proc checkPopulation*(network: var SpikingNetwork; statement: Statement; report: var Report) =
  let node = statement.operand
  if statement.hasBody or node == nil or node.kind != ekCall or node.callee.kind != ekName:
    network.excuse statement
    report.error(statement.span, "a population needs a name, a size and a model", expected = PopulationExample)
    return
  var population = Population(name: node.callee.text, span: node.callee.span)
  if population.name in network.names:
    report.error(population.span, shown(population.name) & " is declared twice",
                 hint = "it was declared on line " & $network.names[population.name].line)
    return
  if network.populations.len >= MaxPopulations:
    report.error(population.span, "too many populations", expected = "at most " & $MaxPopulations)
    network.excuse statement
    return
  var size, model: Expr
  for arg in node.args:
    if (arg.name.len == 0 or arg.name == "size") and size == nil:
      size = arg.value
    elif arg.name == "model":
      model = arg.value
    elif arg.name.len == 0:
      report.error(arg.value.span, "population " & shown(population.name) & " has too many values without a name",
                   expected = PopulationExample)
  if size == nil or model == nil:
    network.excuse statement
    report.error(node.span, "population " & shown(population.name) & " has no " & (if size == nil: "size" else: "model"),
                 expected = PopulationExample, hint = if model == nil: "built in: " & list(builtInNeuronNames()) else: "")
    return
  population.size = readPopulationSize(size, population.name, report)
  population.model = network.findModel(model, report)
  if population.model == nil or population.size == 0 or population.model.isBroken:
    network.excuse statement
    return
  for arg in node.args:
    if arg.name == "positions":
      if population.positions.isThere:
        report.error(arg.nameSpan, "'positions' is given twice", expected = "one value")
      elif not readPositions(arg.value, population.size, population.name, report, population.positions):
        # Patterns on positions that are wrong are not reported as well.
        network.excuse statement
        return
  for arg in node.args:
    if arg.name.len > 0 and arg.name notin ["size", "model", "positions"]:
      population.checkGiven(arg, report)
  network.names[population.name] = population.span
  network.populations.add population
