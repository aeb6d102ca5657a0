## The `connect` statements of a spiking network.

import std/tables
import ast, diagnostics, dimension_solver, dimensions, initial_values, limits, neuron_model, patterns, plan, position_patterns, scope, spiking_network,
  spiking_plan, suggestions, synapses, values, vocabulary

type
  End = object
    name: string
    span: Span
    population, size: int  ## population: -1 for a source

const
  ConnectExample = "connect FROM -> TO(pattern: probability(0.02), weight: 0.6, delay: 1.ms, target: ge)"

proc resolve(network: SpikingNetwork; node: Expr; isSource: bool; report: var Report; ends: var seq[End]): bool =
  ## Names of populations, or a list of them; sources may stand on the left.
  case node.kind
  of ekName:
    let population = network.populationIndex(node.text)
    if population >= 0:
      ends.add End(name: node.text, span: node.span, population: population, size: network.populations[population].size)
      return true
    let source = network.sourceIndex(node.text)
    if source >= 0 and isSource:
      ends.add End(name: node.text, span: node.span, population: -1, size: network.sources[source].plan.size)
      return true
    if source >= 0:
      report.error(node.span, shown(node.text) & " is a source and takes no connections", expected = "the name of a population")
    elif node.text notin network.excused:
      var known: seq[string]
      for name in network.names.keys:
        known.add name
      report.error(node.span, "population " & shown(node.text) & " is not declared", expected = "the name of a population",
                   hint = if report.isFull: "" else: didYouMean(node.text, known))
  of ekList:
    result = node.items.len > 0
    if node.items.len == 0:
      report.error(node.span, "an empty list of populations", expected = "at least one population")
    var seen: seq[string]
    for item in node.items:
      if report.isFull:
        return false
      if item.kind == ekName and item.text in seen:
        report.error(item.span, shown(item.text) & " is in the list twice", expected = "each population once")
        result = false
      elif item.kind == ekList or not network.resolve(item, isSource, report, ends):
        if item.kind == ekList:
          report.error(item.span, "a list inside a list", expected = "names of populations")
        result = false
      elif item.kind == ekName:
        seen.add item.text
  else:
    report.error(node.span, "a connection ends in " & describe(node), expected = "the name of a population, or a list of names")

proc readFlag(node: Expr; what: string; report: var Report; flag: var bool) =
  if node.kind == ekName and node.text in ["true", "false"]:
    flag = node.text == "true"
  else:
    report.error(node.span, what & " is " & describe(node), expected = "true or false")

func endsOf(network: SpikingNetwork; source, target: End): PatternEnds =
  result = PatternEnds(sourceName: source.name, targetName: target.name, sourceSize: source.size, targetSize: target.size,
                       targets: network.populations[target.population].positions)
  result.sources = if source.population >= 0: network.populations[source.population].positions
                   else: network.sources[network.sourceIndex(source.name)].positions

proc readDelay(network: SpikingNetwork; node: Expr; names: openArray[Index]; report: var Report; delay: var Initializer): bool =
  var scope = Scope(owner: "the delay")
  var value: InitialValue
  if not scope.readPairValue(node, open(TimeDimension), "the delay", names, report, value):
    return false
  delay = value.initializer
  if delay.kind notin {inConstant, inRandom, inNormal, inClippedNormal, inFile, inArray, inExpression}:
    report.error(node.span, "the delay cannot start as " & describe(node), expected = "a time, random, normal, file, array or an expression")
    return false
  let lowest = case delay.kind
    of inConstant, inRandom: delay.first
    of inClippedNormal: delay.low
    else: network.dt
  if lowest < 0 or (lowest > 0 and lowest < network.dt * 0.999999):
    report.error(node.span, "the delay is below the time step of " & $(network.dt * 1e3) & " ms",
                 expected = "0.ms, or at least dt", hint = "a delay is a whole number of steps")
    return false
  true

proc readTarget(network: SpikingNetwork; node: Expr; target: End; at: Span; report: var Report): string =
  ## The variable or input that a spike changes.
  let model = network.populations[target.population].model
  var known = model.inputs
  for state in model.states:
    known.add state.name
  if node == nil:
    if model.target.len == 0:
      report.error(at, "the connection does not say what it changes in " & shown(target.name), expected = "target: " & list(known),
                   hint = "target: " & known[0])
    return model.target
  if node.kind != ekName:
    report.error(node.span, "the target is " & describe(node), expected = oneOf(known))
  elif node.text notin known:
    if node.text notin model.scope.excused:
      report.error(node.span, model.scope.owner & " has no variable or input " & shown(node.text), expected = oneOf(known),
                   hint = nearestHint(node.text, known))
  else:
    return node.text

proc takeKernel(projection: var Projection; at: Span; report: var Report) =
  ## The weights of a convolution: each times the entry of the kernel that connects its neurons.
  var isRight = timesKernel(projection.plan.weight, projection.plan.weight)
  if "w" in projection.given:
    var value = projection.given["w"]
    isRight = timesKernel(value.initializer, value.initializer)
    projection.given["w"] = value
  if not isRight:
    report.error(at, "the weight of a convolution is no number or expression", expected = "what the kernel's entries are multiplied with",
                 hint = "convolution(file(\"kernel.npy\")) reads the kernel from a file")

proc connectPair(network: var SpikingNetwork; source, target: End; args: seq[Arg]; at: Span; report: var Report) =
  ## One projection from the options of a statement.
  var projection = Projection(span: source.span, source: source.population, target: target.population)
  projection.plan = ProjectionPlan(source: source.name, target: target.name, allowsAutapses: true, storage: "auto",
                                   weight: constantValue(1), delay: constantValue(0))
  var options: OrderedTable[string, Expr]
  var extra: seq[Arg]
  var position = 0
  for arg in args:
    var name = arg.name
    if name.len == 0 and arg.value.kind == ekName and arg.value.text in ["autapses", "multapses"]:
      # A flag by its name alone is set.
      options[arg.value.text] = newName("true", arg.value.span)
      continue
    if name.len == 0 and position < 1:
      name = "weight"
      inc position
    if name in options:
      report.error(arg.value.span, shown(name) & " of connect is given twice", expected = "one value")
    elif name in SpikingConnectOptions:
      options[name] = arg.value
    elif name.len == 0:
      report.error(arg.value.span, "connect has too many values without a name", expected = ConnectExample)
    else:
      extra.add arg
  let errorsBefore = report.errorCount
  let model = network.populations[target.population].model
  let ends = network.endsOf(source, target)
  # A synapse may say itself what it adds to.
  let ownTarget = "synapse" in options and "target" notin options and model.target.len == 0
  let variable = if ownTarget: "" else: network.readTarget(options.getOrDefault("target"), target, at, report)
  projection.plan.input = variable
  if "pattern" in options:
    discard readPattern(options["pattern"], ends, report, projection.plan.pattern)
  let names = ends.pairNames(projection.plan.pattern.kind)
  if "delay" in options:
    discard network.readDelay(options["delay"], names, report, projection.plan.delay)
  if "autapses" in options:
    readFlag(options["autapses"], "'autapses'", report, projection.plan.allowsAutapses)
  if "multapses" in options:
    readFlag(options["multapses"], "'multapses'", report, projection.plan.allowsMultapses)
  if projection.plan.pattern.kind == pkPairs and not projection.plan.allowsMultapses:
    checkPairs(options["pattern"], projection.plan.pattern, report)
  if "storage" in options:
    let node = options["storage"]
    if node.kind == ekName and node.text in StorageKinds:
      projection.plan.storage = node.text
    else:
      report.error(node.span, "the storage is " & describe(node), expected = oneOf(StorageKinds),
                   hint = if node.kind == ekName: nearestHint(node.text, StorageKinds) else: "")
  if "synapse" in options:
    var choice = SynapseChoice(span: options["synapse"].span)
    if splitCall(options["synapse"], "the synapse", report, choice.name, choice.args):
      network.attachSynapse(projection, choice, report)
    if projection.synapse != nil:
      network.readSynapseVariables(projection, extra, options.getOrDefault("weight"), names, report)
  else:
    if "weight" in options and variable.len > 0:
      var value: InitialValue
      if model.scope.readPairValue(options["weight"], model.scope.symbols[variable].dimension, "the weight for " & shown(variable), names,
                                   report, value):
        projection.plan.weight = value.initializer
    for arg in extra:
      report.error(arg.nameSpan, "connect has no option " & shown(arg.name), expected = oneOf(SpikingConnectOptions),
                   hint = nearestHint(arg.name, SpikingConnectOptions))
  if projection.plan.pattern.kind == pkConvolution:
    projection.takeKernel(if "weight" in options: options["weight"].span else: at, report)
  projection.isBroken = report.errorCount > errorsBefore
  network.projections.add projection

proc checkSpikingConnect*(network: var SpikingNetwork; statement: Statement; report: var Report) =
  let node = statement.operand
  if statement.hasBody or node == nil or node.kind != ekBinary or node.operator != "->":
    report.error(statement.span, "a connection needs two ends", expected = ConnectExample)
    return
  var targetNode = node.right
  var args: seq[Arg]
  if targetNode.kind == ekCall:
    args = targetNode.args
    targetNode = targetNode.callee
  if node.left.kind == ekBinary and node.left.operator == "->":
    report.error(statement.span, "a chain of connections in one statement", expected = ConnectExample,
                 hint = "write one connect for each arrow")
    return
  var sources, targets: seq[End]
  let isSourceRight = network.resolve(node.left, true, report, sources)
  if not network.resolve(targetNode, false, report, targets) or not isSourceRight:
    return
  for source in sources:
    for target in targets:
      if report.isFull:
        return
      if network.projections.len >= MaxProjections:
        report.error(statement.span, "too many projections", expected = "at most " & $MaxProjections)
        return
      # An error in the options is reported for the first pair and is the same for the others.
      let errorsBefore = report.errorCount
      network.connectPair(source, target, args, statement.span, report)
      if report.errorCount > errorsBefore:
        return
