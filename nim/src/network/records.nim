## The `record` statements: what a run returns.

import std/tables
import ast, diagnostics, dimension_solver, dimensions, initial_values, neuron_model, scope, spiking_network, spiking_plan, suggestions

const
  RecordExample = "record spikes(exc), or record v(exc[0 ..< 10], every: 1.ms)"

proc readRange(node: Expr; size: int; report: var Report; first, count: var int): bool =
  ## `3`, `0 ..< 10` or `0 .. 9`.
  var low, high: int64
  if node.kind == ekInt:
    low = node.intValue
    high = low
  elif node.kind == ekBinary and node.operator in ["..", "..<"] and node.left.kind == ekInt and node.right.kind == ekInt:
    low = node.left.intValue
    high = node.right.intValue - (if node.operator == "..<": 1 else: 0)
  else:
    report.error(node.span, "the part to record is " & describe(node), expected = "a range, for example exc[0 ..< 10]")
    return false
  if low < 0 or high < low or high >= size:
    report.error(node.span, "the range " & $low & " .. " & $high & " is outside of the population", expected = "positions from 0 to " & $(size - 1))
    return false
  first = int(low)
  count = int(high - low + 1)
  true

proc addRecord(network: var SpikingNetwork; node: Expr; record: RecordPlan; report: var Report) =
  var record = record
  var name = node
  if node.kind == ekIndex and node.args.len == 1:
    name = node.callee
  if name.kind != ekName:
    report.error(node.span, "a record of " & describe(node), expected = RecordExample)
    return
  record.population = name.text
  let population = network.populationIndex(name.text)
  let source = network.sourceIndex(name.text)
  if population < 0 and (source < 0 or record.variable.len > 0):
    if name.text notin network.excused:
      var known: seq[string]
      for item in network.names.keys:
        known.add item
      report.error(name.span, shown(name.text) & " is no population", expected = RecordExample, hint = didYouMean(name.text, known))
    return
  if record.variable.len == 0:
    if node.kind == ekIndex:
      report.error(node.span, "spikes of a part of a population", expected = "record spikes(" & name.text & ")")
      return
  else:
    let model = network.populations[population].model
    if record.variable notin model.stateNames:
      if record.variable notin model.scope.excused:
        report.error(name.span, model.scope.owner & " has no variable " & shown(record.variable), expected = oneOf(model.stateNames),
                     hint = nearestHint(record.variable, model.stateNames))
      return
    record.count = network.populations[population].size
    if node.kind == ekIndex and not readRange(node.args[0].value, record.count, report, record.first, record.count):
      return
  network.records.add record

proc checkRecord*(network: var SpikingNetwork; statement: Statement; report: var Report) =
  let node = statement.operand
  if statement.hasBody or node == nil or node.kind != ekCall or node.callee.kind != ekName:
    report.error(statement.span, "a record needs what and of whom", expected = RecordExample)
    return
  var record = RecordPlan(every: network.dt)
  if node.callee.text != "spikes":
    record.variable = node.callee.text
  var populations = 0
  for arg in node.args:
    if arg.name == "every" and record.variable.len > 0:
      var scope = Scope(owner: "'every'")
      if scope.readConstant(arg.value, open(TimeDimension), "'every'", report, record.every) and record.every < network.dt * 0.999999:
        report.error(arg.value.span, "'every' is below the time step", expected = "at least dt")
    elif arg.name.len > 0:
      report.error(arg.nameSpan, "record has no option " & shown(arg.name), expected = "every")
  for arg in node.args:
    if arg.name.len == 0 and not report.isFull:
      inc populations
      network.addRecord(arg.value, record, report)
  if populations == 0:
    report.error(statement.span, "a record of nothing", expected = RecordExample)
