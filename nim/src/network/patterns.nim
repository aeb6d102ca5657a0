## The `pattern` of a connect statement: who is connected with whom.

import std/sets
import ast, diagnostics, limits, position_patterns, references, spiking_plan, suggestions, values

const
  PatternNames* = ["all_to_all", "one_to_one", "probability", "fixed_in", "fixed_out", "fixed_total", "pairs", "gaussian", "convolution"]

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

proc readPairs(options: Values; at: Span; ends: PatternEnds; report: var Report; pattern: var PatternPlan): bool =
  ## Two lists, each in the text, a file or an array, or one file or array with two columns.
  let (sources, targets) = (options["sources"], options["targets"])
  if sources == nil or (targets == nil and not sources.isReference):
    let missing = if sources == nil: "sources" else: "targets"
    report.error(at, "pattern 'pairs' needs '" & missing & "'", expected = "pairs([0, 1], [1, 2]), pairs(file(\"pairs.npy\")) or pairs(array(\"pairs\"))")
    return false
  if sources.isReference:
    if not readReference(sources, report, pattern.sourcesFrom):
      return false
  elif not readIndices(sources, "the sources of the pairs", ends.sourceSize, report, pattern.sources):
    return false
  if targets == nil:
    let both = pattern.sourcesFrom.columns
    pattern.sourcesFrom = both[0]
    pattern.targetsFrom = both[1]
  elif targets.isReference:
    if not readReference(targets, report, pattern.targetsFrom):
      return false
  elif not readIndices(targets, "the targets of the pairs", ends.targetSize, report, pattern.targets):
    return false
  if pattern.sourcesFrom.kind == rfNone and pattern.targetsFrom.kind == rfNone and pattern.sources.len != pattern.targets.len:
    report.error(at, "pairs of " & $pattern.sources.len & " sources and " & $pattern.targets.len & " targets",
                 expected = "two lists of one length")
    return false
  true

proc checkPairs*(node: Expr; pattern: PatternPlan; report: var Report) =
  ## Where no pair may stand twice; pairs of files are looked at when they are read.
  var seen: HashSet[(int, int)]
  for place in 0 ..< min(pattern.sources.len, pattern.targets.len):
    let pair = (pattern.sources[place], pattern.targets[place])
    if seen.containsOrIncl(pair):
      report.error(node.span, "the pair of source " & $pair[0] & " and target " & $pair[1] & " stands twice", expected = "each pair once",
                   hint = "multapses: true allows several synapses between two neurons")
      return

proc readPattern*(node: Expr; ends: PatternEnds; report: var Report; pattern: var PatternPlan): bool =
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
    of pkGaussian: return readGaussian(args, node.span, ends, report, pattern)
    of pkConvolution: return readConvolution(args, node.span, ends, report, pattern)
    else: @[]
  let options = matchArgs(args, parameters, [], owner, node.span, report)
  if report.errorCount > errorsBefore:
    return false
  if pattern.kind == pkPairs:
    return readPairs(options, node.span, ends, report, pattern)
  for parameter in parameters:
    if options[parameter] == nil:
      report.error(node.span, owner & " needs '" & parameter & "'", expected = name & "(" & parameter & ")")
      return false
  result = true
  case pattern.kind
  of pkAllToAll:
    discard
  of pkOneToOne:
    if ends.sourceSize != ends.targetSize:
      report.error(node.span, "one_to_one between " & $ends.sourceSize & " and " & $ends.targetSize & " neurons", expected = "two populations of one size")
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
  of pkPairs, pkGaussian, pkConvolution:
    discard
