## `positions` of populations and sources: where neurons are, for patterns and values that depend on it.

import std/tables
import ast, diagnostics, dimension_solver, dimensions, formula, limits, references, scope, spiking_plan, suggestions, values

type
  Positions* = object
    plan*: PositionsPlan
    dimension*: Dimension  ## plain numbers or lengths
    axes*: int             ## 0: those of the file

const
  AxisNames* = ["x", "y", "z"]
  PositionsExample = "positions: grid(80, 40, spacing: 25.um), or points([[0, 0], [1, 0]])"
  PositionKinds = ["grid", "points"]

func isThere*(positions: Positions): bool =
  positions.plan.kind != poNone

func axisNames*(positions: Positions): seq[string] =
  ## Of a file all that there may be.
  for axis in 0 ..< (if positions.axes > 0: positions.axes else: AxisNames.len):
    result.add AxisNames[axis]

proc readNumber(scope: var Scope; node: Expr; length: OpenDimension; what: string; report: var Report; value: var float): bool =
  ## A number in the dimension of the positions.
  let formula = scope.checkAs(node, length, what, report)
  if formula == nil:
    return false
  if not formula.evaluate(initTable[string, float](), value) or value != value or abs(value) > 1e30:
    report.error(node.span, what & " is " & describe(node), expected = "a number")
    return false
  true

proc readAxes(scope: var Scope; node: Expr; length: OpenDimension; axes: int; what: string; report: var Report; values: var seq[float]): bool =
  ## One number for all axes, or a list with one for each; `axes` is 0 where they are not known.
  if node.kind != ekList:
    var value: float
    if not scope.readNumber(node, length, what, report, value):
      return false
    for _ in 1 .. max(axes, 1):
      values.add value
    return true
  if node.items.len == 0 or node.items.len > AxisNames.len or (axes > 0 and node.items.len != axes):
    report.error(node.span, what & " has " & count(node.items.len, "value"), expected = "one for each axis")
    return false
  for item in node.items:
    var value: float
    if not scope.readNumber(item, length, what, report, value):
      return false
    values.add value
  true

proc aboveZero(values: seq[float]; node: Expr; what: string; report: var Report): bool =
  for value in values:
    if value <= 0:
      report.error(node.span, what & " is not above zero", expected = "a number above zero")
      return false
  true

proc readGrid(scope: var Scope; call: Expr; args: seq[Arg]; size: int; owner: string; length: OpenDimension; report: var Report; plan: var PositionsPlan): bool =
  plan = PositionsPlan(kind: poGrid)
  var named: seq[Arg]
  for arg in args:
    if arg.name.len > 0:
      named.add arg
    elif arg.value.kind != ekInt or arg.value.intValue < 1 or arg.value.intValue > MaxPopulationSize:
      report.error(arg.value.span, "a count of the grid is " & describe(arg.value), expected = "a whole number from 1")
      return false
    else:
      plan.counts.add int(arg.value.intValue)
  if plan.counts.len notin 1 .. AxisNames.len:
    report.error(call.span, "a grid with " & count(plan.counts.len, "axis", "axes"), expected = "one to three counts, for example grid(80, 40)")
    return false
  let errorsBefore = report.errorCount
  let options = matchArgs(named, ["spacing", "origin", "periodic"], [], "'grid'", call.span, report)
  if report.errorCount > errorsBefore:
    return false
  var all = 1.0
  for count in plan.counts:
    all = all * float(count)
  if all != float(size):
    report.error(call.span, "the grid has " & $int64(all) & " places for the " & $size & " neurons of " & shown(owner), expected = "as many places as neurons")
    return false
  if options["spacing"] != nil:
    if not scope.readAxes(options["spacing"], length, plan.counts.len, "the spacing", report, plan.spacing) or
        not aboveZero(plan.spacing, options["spacing"], "the spacing", report):
      return false
  elif not scope.solver.unify(length, open(Dimensionless)):
    discard
  else:
    for _ in plan.counts:
      plan.spacing.add 1
  if options["origin"] == nil:
    for _ in plan.counts:
      plan.origin.add 0
  elif not scope.readAxes(options["origin"], length, plan.counts.len, "the origin", report, plan.origin):
    return false
  let periodic = options["periodic"]
  if periodic != nil:
    if periodic.kind != ekName or periodic.text notin ["true", "false"]:
      report.error(periodic.span, "'periodic' of a grid is " & describe(periodic), expected = "true or false")
      return false
    plan.isPeriodic = periodic.text == "true"
  true

proc readCoordinates(scope: var Scope; node: Expr; size: int; owner: string; length: OpenDimension; report: var Report; plan: var PositionsPlan): bool =
  ## A list of numbers, or of lists with one number for each axis.
  if node.kind != ekList or node.items.len > MaxListedValues:
    report.error(node.span, "the points are " & describe(node), expected = "a list, file(\"points.npy\") or array(\"points\")")
    return false
  if node.items.len != size:
    report.error(node.span, count(node.items.len, "point") & " for the " & $size & " neurons of " & shown(owner), expected = "a point for each neuron")
    return false
  for item in node.items:
    var coordinates: seq[float]
    if report.isFull or not scope.readAxes(item, length, plan.dimensions, "a point", report, coordinates):
      return false
    if item.kind != ekList:
      coordinates.setLen 1
    if plan.dimensions == 0:
      plan.dimensions = coordinates.len
    if coordinates.len != plan.dimensions or (item.kind != ekList and plan.dimensions > 1):
      report.error(item.span, "a point with another number of coordinates", expected = count(plan.dimensions, "coordinate"))
      return false
    plan.coordinates.add coordinates
  true

proc readPoints(scope: var Scope; call: Expr; args: seq[Arg]; size: int; owner: string; length: OpenDimension; report: var Report; plan: var PositionsPlan): bool =
  plan = PositionsPlan(kind: poPoints, scale: 1)
  let errorsBefore = report.errorCount
  let options = matchArgs(args, ["coordinates", "unit", "period"], [], "'points'", call.span, report)
  if report.errorCount > errorsBefore:
    return false
  let node = options["coordinates"]
  if node == nil:
    report.error(call.span, "'points' needs its coordinates", expected = PositionsExample)
    return false
  if node.isReference:
    if not readReference(node, report, plan.reference):
      return false
    if options["unit"] == nil:
      discard scope.solver.unify(length, open(Dimensionless))
    elif not scope.readNumber(options["unit"], length, "the unit", report, plan.scale) or not aboveZero(@[plan.scale], options["unit"], "the unit", report):
      return false
  else:
    if options["unit"] != nil:
      report.error(options["unit"].span, "'unit' beside points that stand in the text", expected = "points with their units")
      return false
    if not scope.readCoordinates(node, size, owner, length, report, plan):
      return false
  if options["period"] != nil:
    if not scope.readAxes(options["period"], length, plan.dimensions, "the period", report, plan.period) or
        not aboveZero(plan.period, options["period"], "the period", report):
      return false
  true

proc readPositions*(node: Expr; size: int; owner: string; report: var Report; positions: var Positions): bool =
  var kind: string
  var args: seq[Arg]
  if not splitCall(node, "the positions", report, kind, args):
    return false
  if kind notin PositionKinds:
    report.error(node.span, "unknown positions " & shown(kind), expected = PositionsExample, hint = nearestHint(kind, PositionKinds))
    return false
  var scope = Scope(owner: "the positions")
  let length = scope.solver.fresh
  result = if kind == "grid": scope.readGrid(node, args, size, owner, length, report, positions.plan)
           else: scope.readPoints(node, args, size, owner, length, report, positions.plan)
  if not result:
    positions.plan = PositionsPlan()
    return
  positions.axes = if positions.plan.kind == poGrid: positions.plan.counts.len else: positions.plan.dimensions
  positions.dimension = scope.solver.settle(length)
  if not isSame(positions.dimension, Dimensionless) and not isSame(positions.dimension, LengthDimension):
    report.error(node.span, "positions in a unit of " & $positions.dimension, expected = "plain numbers or lengths")
    positions.plan = PositionsPlan()
    return false
