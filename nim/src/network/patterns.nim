## The `pattern` of a connect statement: who is connected with whom.

import ast, diagnostics, limits, spiking_plan, suggestions, values

const
  PatternNames* = ["all_to_all", "one_to_one", "probability", "fixed_in", "fixed_out", "fixed_total", "pairs"]

proc readCount(node: Expr; what: string; most: int64; report: var Report; count: var int64): bool =
  if node == nil or node.kind != ekInt or node.intValue < 0 or node.intValue > most:
    let at = if node == nil: Span() else: node.span
    report.error(at, what & " is " & describe(node), expected = "a whole number from 0 to " & $most)
    return false
  count = node.intValue
  true

proc readIndices(node: Expr; what: string; size: int; report: var Report; indices: var seq[int]): bool =
  ## A list of positions.
  if node == nil or node.kind != ekList or node.items.len > MaxListedValues:
    report.error((if node == nil: Span() else: node.span), what & " are " & describe(node), expected = "a list of positions, for example [0, 1, 2]")
    return false
  for item in node.items:
    if item.kind != ekInt or item.intValue < 0 or item.intValue >= size:
      report.error(item.span, "one of " & what & " is " & describe(item), expected = "a whole number from 0 to " & $(size - 1))
      return false
    indices.add int(item.intValue)
  true

proc readPattern*(node: Expr; sourceSize, targetSize: int; report: var Report; pattern: var PatternPlan): bool =
  var name: string
  var args: seq[Arg]
  if not splitCall(node, "the pattern", report, name, args):
    return false
  for kind in PatternKind:
    if $kind == name:
      pattern.kind = kind
  if name notin PatternNames:
    report.error(node.span, "unknown pattern " & shown(name), expected = oneOf(PatternNames), hint = nearestHint(name, PatternNames))
    return false
  let owner = "pattern " & shown(name)
  let errorsBefore = report.errorCount
  let parameters = case pattern.kind
    of pkProbability: @["p"]
    of pkFixedIn, pkFixedOut: @["k"]
    of pkFixedTotal: @["n"]
    of pkPairs: @["sources", "targets"]
    else: @[]
  let options = matchArgs(args, parameters, [], owner, node.span, report)
  if report.errorCount > errorsBefore:
    return false
  for parameter in parameters:
    if options[parameter] == nil:
      report.error(node.span, owner & " needs '" & parameter & "'", expected = name & "(" & parameter & ")")
      return false
  result = true
  case pattern.kind
  of pkAllToAll:
    discard
  of pkOneToOne:
    if sourceSize != targetSize:
      report.error(node.span, "one_to_one between " & $sourceSize & " and " & $targetSize & " neurons", expected = "two populations of one size")
      result = false
  of pkProbability:
    if not readNumber(options["p"], "the probability", report, pattern.probability):
      result = false
    elif pattern.probability < 0 or pattern.probability > 1:
      report.error(options["p"].span, "the probability is outside of 0 to 1", expected = "a number from 0 to 1")
      result = false
  of pkFixedIn:
    result = readCount(options["k"], "'k' of " & owner, MaxPopulationSize, report, pattern.count)
  of pkFixedOut:
    result = readCount(options["k"], "'k' of " & owner, MaxPopulationSize, report, pattern.count)
  of pkFixedTotal:
    result = readCount(options["n"], "'n' of " & owner, high(int64), report, pattern.count)
  of pkPairs:
    result = readIndices(options["sources"], "the sources of the pairs", sourceSize, report, pattern.sources) and
      readIndices(options["targets"], "the targets of the pairs", targetSize, report, pattern.targets)
    if result and pattern.sources.len != pattern.targets.len:
      report.error(node.span, "pairs of " & $pattern.sources.len & " sources and " & $pattern.targets.len & " targets",
                   expected = "two lists of one length")
      result = false
