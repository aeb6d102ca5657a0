## The `source` statements: what spikes or drives neurons without being simulated.

import std/tables
import ast, diagnostics, dimension_solver, dimensions, initial_values, limits, plan, populations, positions, references, scope, spiking_network,
  spiking_plan, suggestions, values

const
  SourceExample = "source NAME(poisson(rate: 300.Hz), n: 50)"
  SourceKinds = ["poisson", "spikes", "current", "constant"]

type
  SourceCall = object
    ## `source NAME(KIND(args), options)`.
    name, kind: string
    span, kindSpan: Span
    args: seq[Arg]
    options: Values

proc readList*(node: Expr; wanted: Dimension; what: string; report: var Report; values: var seq[float]): bool =
  if node == nil or node.kind != ekList or node.items.len > MaxListedValues:
    report.error((if node == nil: Span() else: node.span), what & " are " & describe(node), expected = "a list, for example [1.ms, 2.ms]")
    return false
  var scope = Scope(owner: what)
  result = true
  for item in node.items:
    var value: float
    if report.isFull or not scope.readConstant(item, open(wanted), "one of " & what, report, value):
      return false
    values.add value

proc readListed(node: Expr; wanted: Dimension; what: string; report: var Report; values: var seq[float]; reference: var Reference): bool =
  ## A list in the text, a file or an array; the last two in SI units.
  if node.isReference: readReference(node, report, reference)
  else: readList(node, wanted, what, report, values)

proc readSpikeTimes(call: SourceCall; size: int; report: var Report; source: var SourcePlan): bool =
  let errorsBefore = report.errorCount
  let given = matchArgs(call.args, ["times", "indices"], [], "source 'spikes'", call.kindSpan, report)
  if report.errorCount > errorsBefore or not readListed(given["times"], TimeDimension, "the times", report, source.times, source.timesFrom):
    return false
  let node = given["indices"]
  if node == nil and source.timesFrom.kind != rfNone:
    # Times and indices side by side.
    let both = source.timesFrom.columns
    source.timesFrom = both[0]
    source.indicesFrom = both[1]
    return true
  for time in source.times:
    if time < 0:
      report.error(call.kindSpan, "a spike before the start", expected = "times from 0.s")
      return false
  if node == nil and size == 1:
    source.indices = newSeq[int](source.times.len)
    return true
  if node.isReference:
    return readReference(node, report, source.indicesFrom)
  if node == nil or node.kind != ekList or (source.timesFrom.kind == rfNone and node.items.len != source.times.len):
    report.error(call.kindSpan, "source 'spikes' needs as many indices as times", expected = "spikes(times: [1.ms, 2.ms], indices: [0, 1])")
    return false
  for item in node.items:
    if item.kind != ekInt or item.intValue < 0 or item.intValue >= size:
      report.error(item.span, "an index of the spikes is " & describe(item), expected = "a whole number from 0 to " & $(size - 1))
      return false
    source.indices.add int(item.intValue)
  true

proc readRate(node: Expr; at: Span; report: var Report; rate: var Initializer): bool =
  var scope = Scope(owner: "the rate")
  var value: InitialValue
  if node == nil:
    report.error(at, "source 'poisson' needs a rate", expected = "poisson(rate: 300.Hz)")
    return false
  if not scope.readInitialValue(node, open(FrequencyDimension), "the rate", [], report, value):
    return false
  rate = value.initializer
  if rate.kind in {inXavier, inHe} or (rate.kind in {inConstant, inRandom} and rate.first < 0):
    report.error(node.span, "the rate is " & describe(node), expected = "a frequency from 0.Hz")
    return false
  true

proc addSource(network: var SpikingNetwork; call: SourceCall; report: var Report): bool =
  ## A source with neurons of its own, which connections start from.
  let sizeNode = call.options["n"]
  if sizeNode != nil and (sizeNode.kind != ekInt or sizeNode.intValue < 1 or sizeNode.intValue > MaxPopulationSize):
    report.error(sizeNode.span, "the size of source " & shown(call.name) & " is " & describe(sizeNode),
                 expected = "a whole number from 1 to " & $MaxPopulationSize)
    return false
  let size = if sizeNode == nil: 1 else: int(sizeNode.intValue)
  var source: SourcePlan
  if call.kind == "poisson":
    source = SourcePlan(kind: skPoisson, name: call.name, size: size)
    let errorsBefore = report.errorCount
    let given = matchArgs(call.args, ["rate"], [], "source 'poisson'", call.kindSpan, report)
    if report.errorCount > errorsBefore or not readRate(given["rate"], call.kindSpan, report, source.rate):
      return false
    if source.rate.kind == inConstant and source.rate.first * network.dt > 1:
      report.error(call.kindSpan, "the rate gives more than one spike in a time step", expected = "at most 1/dt")
      return false
  else:
    source = SourcePlan(kind: skSpikes, name: call.name, size: size)
    if not readSpikeTimes(call, size, report, source):
      return false
  var positions: Positions
  if call.options["positions"] != nil:
    if not readPositions(call.options["positions"], size, call.name, report, positions):
      return false
    source.positions = positions.plan
  network.names[call.name] = call.span
  network.sources.add Source(plan: source, span: call.span, positions: positions)
  true

proc readDriveTarget(network: SpikingNetwork; node: Expr; report: var Report; population: var int; variable: var string): bool =
  ## `exc.ge`, or `exc` alone where its model has a target of its own.
  let name = if node.kind == ekMember and node.base.kind == ekName: node.base.text elif node.kind == ekName: node.text else: ""
  if name.len == 0:
    report.error(node.span, "the target is " & describe(node), expected = "a variable of a population, for example exc.ge")
    return false
  population = network.populationIndex(name)
  if population < 0:
    if name notin network.excused:
      var known: seq[string]
      for item in network.populations:
        known.add item.name
      report.error(node.span, "population " & shown(name) & " is not declared", expected = "POPULATION.VARIABLE", hint = didYouMean(name, known))
    return false
  let model = network.populations[population].model
  variable = if node.kind == ekMember: node.member else: model.target
  var known = model.inputs
  for state in model.states:
    known.add state.name
  if variable notin known:
    report.error(node.span, (if variable.len == 0: "the target names no variable of " & shown(name)
                             else: model.scope.owner & " has no variable or input " & shown(variable)),
                 expected = oneOf(known), hint = nearestHint(variable, known))
    return false
  true

proc addDrive(network: var SpikingNetwork; call: SourceCall; target: Expr; report: var Report) =
  ## A source that acts on every neuron of a population.
  var index: int
  var variable: string
  if not network.readDriveTarget(target, report, index, variable):
    return
  let model = network.populations[index].model
  let dimension = model.scope.symbols[variable].dimension
  let population = network.populations[index].name
  let errorsBefore = report.errorCount
  case call.kind
  of "poisson":
    let given = matchArgs(call.args, ["rate"], [], "source 'poisson'", call.kindSpan, report)
    var rate: Initializer
    if report.errorCount > errorsBefore or not readRate(given["rate"], call.kindSpan, report, rate):
      return
    if rate.kind != inConstant:
      report.error(call.kindSpan, "the rate of a source that acts on a population is " & describe(given["rate"]), expected = "one frequency")
      return
    var drive = DrivePlan(kind: dkPoisson, population: population, variable: variable, rate: rate.first, count: 1, weight: 1)
    var plain = Scope()
    if call.options["n"] != nil and not plain.readConstant(call.options["n"], open(Dimensionless), "'n'", report, drive.count):
      return
    if call.options["weight"] == nil:
      report.error(call.span, "source " & shown(call.name) & " needs a weight", expected = "weight: the change for each spike")
      return
    if model.scope.readConstant(call.options["weight"], dimension, "the weight", report, drive.weight):
      network.drives.add drive
  of "constant":
    let given = matchArgs(call.args, ["value"], [], "source 'constant'", call.kindSpan, report)
    if given["value"] == nil:
      if report.errorCount == errorsBefore:
        report.error(call.kindSpan, "source 'constant' needs a value", expected = "constant(0.5.nA)")
      return
    var value: InitialValue
    if model.scope.readInitialValue(given["value"], dimension, "the value", [], report, value):
      network.populations[index].given[variable] = value
  else:
    let given = matchArgs(call.args, ["samples", "every"], [], "source 'current'", call.kindSpan, report)
    var drive = DrivePlan(kind: dkCurrent, population: population, variable: variable)
    var plain = Scope()
    if given["samples"] == nil or given["every"] == nil or (given["samples"].kind != ekList and not given["samples"].isReference):
      if report.errorCount == errorsBefore:
        report.error(call.kindSpan, "source 'current' needs samples and their interval", expected = "current([0.nA, 1.nA], every: 10.ms)")
      return
    if given["samples"].isReference and not readReference(given["samples"], report, drive.samplesFrom):
      return
    for item in (if given["samples"].kind == ekList: given["samples"].items else: @[]):
      var sample: float
      if report.isFull or not model.scope.readConstant(item, dimension, "a sample", report, sample):
        return
      drive.samples.add sample
    if not plain.readConstant(given["every"], open(TimeDimension), "'every'", report, drive.every):
      return
    if drive.every < network.dt * 0.999999:
      report.error(given["every"].span, "'every' is below the time step", expected = "at least dt")
      return
    network.drives.add drive
  if call.kind != "poisson":
    for state in model.states:
      if state.name == variable and state.derivative == nil:
        return
    report.error(target.span, shown(variable) & " has an equation of its own", expected = "a variable that the neuron declares with variables(…)")

proc checkSource*(network: var SpikingNetwork; statement: Statement; report: var Report) =
  let node = statement.operand
  if statement.hasBody or node == nil or node.kind != ekCall or node.callee.kind != ekName or node.args.len == 0:
    network.excuse statement
    report.error(statement.span, "a source needs a name and a kind", expected = SourceExample)
    return
  var call = SourceCall(name: node.callee.text, span: node.callee.span, kindSpan: node.args[0].value.span)
  if call.name in network.names:
    report.error(call.span, shown(call.name) & " is declared twice", hint = "it was declared on line " & $network.names[call.name].line)
    return
  let errorsBefore = report.errorCount
  call.options = matchArgs(node.args, ["kind", "n", "target", "weight", "positions"], [], "source " & shown(call.name), node.span, report)
  if report.errorCount > errorsBefore or call.options["kind"] == nil or
      not splitCall(call.options["kind"], "the kind of the source", report, call.kind, call.args):
    if report.errorCount == errorsBefore:
      report.error(node.span, "source " & shown(call.name) & " has no kind", expected = SourceExample)
    network.excuse statement
    return
  if call.kind notin SourceKinds:
    network.excuse statement
    report.error(call.kindSpan, "unknown kind of source " & shown(call.kind), expected = oneOf(SourceKinds), hint = nearestHint(call.kind, SourceKinds))
    return
  let target = call.options["target"]
  if target != nil and call.options["positions"] != nil:
    report.error(call.options["positions"].span, "positions of source " & shown(call.name) & ", which acts on a population without neurons of its own",
                 expected = "positions of sources that connections start from")
  if target != nil:
    let targets = if target.kind == ekList: target.items else: @[target]
    for item in targets:
      if not report.isFull:
        network.addDrive(call, item, report)
    network.names[call.name] = call.span
  elif call.kind in ["current", "constant"]:
    network.excuse statement
    report.error(node.span, "source " & shown(call.name) & " has no target", expected = "target: exc.i")
  elif call.options["weight"] != nil:
    network.excuse statement
    report.error(node.span, "source " & shown(call.name) & " has a weight and no target", expected = "a target, or the weight in connect")
  elif not network.addSource(call, report):
    network.excuse statement
