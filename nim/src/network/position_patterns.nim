## Patterns on positions: `gaussian`, by distance, and `convolution`, from grid to grid.

import std/tables
import ast, diagnostics, dimension_solver, dimensions, formula, initial_values, positions, references, scope, spiking_plan, values

type
  PatternEnds* = object
    ## What a pattern knows of the neurons that it connects.
    sourceName*, targetName*: string
    sourceSize*, targetSize*: int
    sources*, targets*: Positions

const
  PositionsHint = "population NAME(size, model: MODEL, positions: grid(80, 40))"

func pairNames*(ends: PatternEnds; pattern: PatternKind): seq[Index] =
  ## What values of synapses may depend on.
  result = @[("i", Dimensionless), ("j", Dimensionless)]
  if pattern == pkConvolution:
    result.add ("kernel", Dimensionless)
  if ends.sources.isThere and ends.targets.isThere and isSame(ends.sources.dimension, ends.targets.dimension):
    for name in ends.sources.axisNames:
      result.add (name & "_pre", ends.sources.dimension)
    for name in ends.targets.axisNames:
      result.add (name & "_post", ends.targets.dimension)
    if ends.sources.axes == 0 or ends.targets.axes == 0 or ends.sources.axes == ends.targets.axes:
      result.add ("distance", ends.targets.dimension)

proc havePositions*(ends: PatternEnds; at: Span; what: string; report: var Report): bool =
  ## Reports ends without positions, or with positions that do not fit each other.
  for (name, positions) in [(ends.sourceName, ends.sources), (ends.targetName, ends.targets)]:
    if not positions.isThere:
      report.error(at, what & ": " & shown(name) & " has no positions", expected = "positions of both populations", hint = PositionsHint)
      return false
  if not isSame(ends.sources.dimension, ends.targets.dimension):
    report.error(at, what & ": the positions of " & shown(ends.sourceName) & " and " & shown(ends.targetName) & " have different units",
                 expected = "both plain numbers, or both lengths")
    return false
  if ends.sources.axes > 0 and ends.targets.axes > 0 and ends.sources.axes != ends.targets.axes:
    report.error(at, what & ": the positions of " & shown(ends.sourceName) & " have " & $ends.sources.axes & " axes, those of " &
                 shown(ends.targetName) & " " & $ends.targets.axes, expected = "as many axes")
    return false
  true

proc readGaussian*(args: seq[Arg]; at: Span; ends: PatternEnds; report: var Report; pattern: var PatternPlan): bool =
  let errorsBefore = report.errorCount
  let options = matchArgs(args, ["sigma", "p"], [], "pattern 'gaussian'", at, report)
  if report.errorCount > errorsBefore:
    return false
  if options["sigma"] == nil:
    report.error(at, "pattern 'gaussian' needs 'sigma'", expected = "gaussian(sigma)")
    return false
  if not ends.havePositions(at, "gaussian", report):
    return false
  var scope = Scope(owner: "the pattern")
  let node = options["sigma"]
  let formula = scope.checkAs(node, open(ends.sources.dimension), "'sigma'", report)
  if formula == nil:
    return false
  if not formula.evaluate(initTable[string, float](), pattern.sigma) or not (pattern.sigma > 0) or pattern.sigma > 1e30:
    report.error(node.span, "'sigma' of pattern 'gaussian' is " & describe(node), expected = "a distance above zero")
    return false
  pattern.probability = 1
  if options["p"] != nil:
    if not readNumber(options["p"], "the probability", report, pattern.probability):
      return false
    if pattern.probability < 0 or pattern.probability > 1:
      report.error(options["p"].span, "the probability is outside of 0 to 1", expected = "a number from 0 to 1")
      return false
  true

proc flatten(node: Expr; depth: int; shape: var seq[int]; kernel: var seq[float]; report: var Report): bool =
  ## Nested lists of one shape.
  if node.kind != ekList:
    if depth < shape.len or depth == 0:
      report.error(node.span, "the kernel has " & describe(node) & " where a list is needed", expected = "convolution([[0, 1, 0], [1, -4, 1], [0, 1, 0]])")
      return false
    var value: float
    if not readNumber(node, "an entry of the kernel", report, value):
      return false
    kernel.add value
    return true
  if depth >= AxisNames.len or (kernel.len > 0 and depth >= shape.len):
    report.error(node.span, "the kernel has too many axes here", expected = "at most three, one inside the other")
    return false
  if depth == shape.len:
    shape.add node.items.len
  if node.items.len == 0 or node.items.len != shape[depth]:
    report.error(node.span, "a row of the kernel has " & count(node.items.len, "entry", "entries"), expected = "rows of one length")
    return false
  for item in node.items:
    if report.isFull or not flatten(item, depth + 1, shape, kernel, report):
      return false
  true

proc readSteps(node: Expr; what: string; least, axes: int; report: var Report; values: var seq[int]): bool =
  ## A whole number for all axes, or a list with one for each.
  let items = if node.kind == ekList: node.items else: @[node]
  for item in items:
    if item.kind != ekInt or item.intValue < least or item.intValue > 1_000_000:
      report.error(item.span, what & " is " & describe(item), expected = "a whole number from " & $least)
      return false
    values.add int(item.intValue)
  if node.kind == ekList and values.len != axes:
    report.error(node.span, what & " has " & count(values.len, "value"), expected = "one for each axis")
    return false
  while values.len < axes:
    values.add values[0]
  true

func fitting(sources, taps, stride, padding: int; isWrapped, isSame: bool): int =
  ## Targets along an axis.
  if isWrapped or isSame: (sources + stride - 1) div stride
  else: (sources + 2 * padding - taps) div stride + 1

proc checkFit(pattern: PatternPlan; ends: PatternEnds; at: Span; report: var Report): bool =
  ## The kernel, axis by axis.
  let sources = ends.sources.plan
  for axis, count in sources.counts:
    let taps = pattern.shape[^(axis + 1)]
    let stride = pattern.stride[axis]
    if taps > count:
      report.error(at, "the kernel has " & $taps & " entries along " & AxisNames[axis] & ", and the grid of " & shown(ends.sourceName) & " " & $count,
                   expected = "a kernel that fits into the grid")
      return false
    if sources.isPeriodic and count mod stride != 0:
      report.error(at, "a stride of " & $stride & " does not divide the " & $count & " places of a periodic grid along " & AxisNames[axis],
                   expected = "a divisor")
      return false
    let padding = if pattern.hasPadding: pattern.padding[axis] else: 0
    let wanted = fitting(count, taps, stride, padding, sources.isPeriodic, not pattern.hasPadding)
    if wanted != ends.targets.plan.counts[axis]:
      report.error(at, "along " & AxisNames[axis] & " this convolution of " & $count & " sources has " & $wanted & " targets, and the grid of " &
                   shown(ends.targetName) & " " & $ends.targets.plan.counts[axis], expected = "grids that fit the kernel, stride and padding",
                   hint = "padding: same keeps the size; with padding: 0 a kernel of k entries takes k - 1 away")
      return false
  true

proc readConvolution*(args: seq[Arg]; at: Span; ends: PatternEnds; report: var Report; pattern: var PatternPlan): bool =
  let errorsBefore = report.errorCount
  let options = matchArgs(args, ["kernel", "stride", "padding"], [], "pattern 'convolution'", at, report)
  if report.errorCount > errorsBefore:
    return false
  let kernel = options["kernel"]
  if kernel == nil:
    report.error(at, "pattern 'convolution' needs 'kernel'", expected = "convolution([[0, 1, 0], [1, -4, 1], [0, 1, 0]])")
    return false
  if not ends.havePositions(at, "convolution", report):
    return false
  for (name, positions) in [(ends.sourceName, ends.sources), (ends.targetName, ends.targets)]:
    if positions.plan.kind != poGrid:
      report.error(at, "convolution: " & shown(name) & " stands on no grid", expected = "positions: grid(…) of both populations")
      return false
  if ends.sources.plan.isPeriodic != ends.targets.plan.isPeriodic:
    report.error(at, "convolution between a periodic grid and one that is not", expected = "both, or neither")
    return false
  let axes = ends.sources.axes
  if kernel.isReference:
    if not readReference(kernel, report, pattern.kernelFrom):
      return false
  elif not flatten(kernel, 0, pattern.shape, pattern.kernel, report):
    return false
  elif pattern.shape.len != axes:
    report.error(kernel.span, "a kernel with " & count(pattern.shape.len, "axis", "axes") & " on grids with " & count(axes, "axis", "axes"), expected = "as many axes as the grids")
    return false
  if options["stride"] == nil:
    for _ in 1 .. axes:
      pattern.stride.add 1
  elif not readSteps(options["stride"], "the stride", 1, axes, report, pattern.stride):
    return false
  let padding = options["padding"]
  let isSame = padding != nil and padding.kind == ekName and padding.text == "same"
  if padding != nil and ends.sources.plan.isPeriodic:
    report.error(padding.span, "'padding' on a periodic grid", expected = "no padding: what leaves on one side comes in on the other")
    return false
  pattern.hasPadding = not isSame and not ends.sources.plan.isPeriodic
  if pattern.hasPadding:
    if padding == nil:
      for _ in 1 .. axes:
        pattern.padding.add 0
    elif not readSteps(padding, "the padding", 0, axes, report, pattern.padding):
      return false
  pattern.kernelFrom.kind != rfNone or pattern.checkFit(ends, kernel.span, report)
