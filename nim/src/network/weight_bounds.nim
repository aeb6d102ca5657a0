## The largest amount that one spike can add to an input, where the text of a synapse proves one: the engine sizes its fixed-point sums of
## 32 bits by it. Where nothing is proven sums have 64 bits, and the text tells only of what size amounts are.

import std/[sets, strutils, tables]
import equation_analysis, formula, initializer, intervals, neuron_model, synapse_model

const
  Rounds = 8               ## of following assignments before a range that still grows is taken for unbounded

func startOf(initial: Initializer): Interval =
  ## Where a variable starts.
  case initial.kind
  of inConstant: point(initial.first)
  of inRandom: interval(min(initial.first, initial.second), max(initial.first, initial.second))
  of inClippedNormal: interval(initial.low, initial.high)
  else: Everything

type
  Walk = object
    ## What the text says of the ranges of a synapse's variables.
    model: SynapseModel
    equations: Equations
    everything: HashSet[string]
    start: Ranges          ## of the variables before anything happened, and the constants
    values: Bindings

func settled(walk: Walk; state: SynapseState; around: Interval): Interval =
  ## Where an equation takes a variable that starts in a range: x' = a x + b with a < 0 goes straight to -b / a.
  let sub = StateVariable(name: state.name, derivative: walk.equations.inlined(state.derivative, walk.everything))
  let slope = walk.equations.slope(sub)
  let rest = sub.derivative.replace({state.name: number(0)}.toTable)
  var a, b: float
  if slope.isRandom or rest.isRandom or not slope.evaluate(walk.values, a) or not rest.evaluate(walk.values, b) or a > 0 or
      (a == 0 and b != 0):
    return Everything
  if a == 0: around else: hull(around, point(-b / a))

func assignedRange(walk: Walk; assignment: Assignment; ranges: Ranges): Interval =
  let value = walk.equations.inlined(assignment.value, walk.everything)
  let old = symbol(assignment.name)
  case assignment.operator
  of "+=": (old + value).range(ranges)
  of "-=": (old - value).range(ranges)
  of "*=": (old * value).range(ranges)
  of "/=": (old / value).range(ranges)
  else: value.range(ranges)

func through(walk: Walk; assignments: seq[Assignment]; isClocked: bool; before: Ranges; sums: var Table[string, float]): Ranges =
  ## The ranges behind the assignments of one event; `sums` get what it adds to each input at most.
  result = before
  for state in walk.model.states:
    if isClocked and state.isClocked and state.derivative != nil:
      result[state.name] = walk.settled(state, result[state.name])
  for assignment in assignments:
    if assignment.name.startsWith(TargetPrefix):
      let amount = walk.equations.inlined(assignment.value, walk.everything).range(result).largest
      sums[assignment.name] = sums.getOrDefault(assignment.name) + amount
    else:
      result[assignment.name] = walk.assignedRange(assignment, result)

func next(walk: Walk; before: Ranges; sums: var Table[string, float]): Ranges =
  ## Where the variables may be after one event of any kind, if they were in `before`, or at the start.
  result = walk.start
  sums.clear
  for (assignments, isClocked) in [(walk.model.onPre, false), (walk.model.onPost, false), (walk.model.onReward, false), (walk.model.clocked, true)]:
    let behind = walk.through(assignments, isClocked, before, sums)
    for state in walk.model.states:
      var isMoved = isClocked and state.isClocked and state.derivative != nil
      for assignment in assignments:
        isMoved = isMoved or assignment.name == state.name
      if isMoved:
        result[state.name] = hull(result[state.name], behind[state.name])
  for state in walk.model.states:
    if state.derivative != nil and not state.isClocked:
      result[state.name] = walk.settled(state, result[state.name])

func reached(walk: Walk; sums: var Table[string, float]): Ranges =
  ## Ranges that no number of events leaves. What still grows after some rounds may be anything, as far as its assignments do not limit it.
  result = walk.start
  var round = 0
  var moving = true
  while moving:
    moving = false
    inc round
    let after = walk.next(result, sums)
    for state in walk.model.states:
      if not result[state.name].contains(after[state.name]):
        moving = true
        result[state.name] = if round > Rounds: Everything else: hull(result[state.name], after[state.name])
  for _ in 1 .. Rounds:
    result = walk.next(result, sums)

func magnitude(formula: Formula; sizes: Bindings): float =
  ## Of what size a value is, not how large it can become: names that nothing is known of count as 1, sums as their largest part.
  case formula.kind
  of fkNumber: abs(formula.value)
  of fkSymbol: abs(sizes.getOrDefault(formula.name, 1.0))
  of fkNegate: formula.inner.magnitude(sizes)
  of fkNot: 1.0
  of fkBinary:
    let a = formula.left.magnitude(sizes)
    let b = formula.right.magnitude(sizes)
    case formula.operator
    of "+", "-": max(a, b)
    of "*": a * b
    of "/": (if b > 0: a / b else: a)
    of "^":
      var value: float
      if binary("^", number(a), formula.right).evaluate(sizes, value) and value == value: abs(value) else: a
    else: 1.0
  of fkCall:
    case formula.function
    of "abs", "floor", "ceil": formula.args[0].magnitude(sizes)
    of "min", "max", "clip": max(formula.args[0].magnitude(sizes), formula.args[1].magnitude(sizes))
    of "where": max(formula.args[1].magnitude(sizes), formula.args[2].magnitude(sizes))
    of "random", "normal":
      if formula.args.len == 2: max(formula.args[0].magnitude(sizes), formula.args[1].magnitude(sizes)) else: 1.0
    else:
      var value: float
      if formula.evaluate(sizes, value) and value == value and abs(value) < Inf: abs(value) else: 1.0

func sizeOf(initial: Initializer; size: var float): bool =
  ## Of what size a variable starts, where the text tells.
  case initial.kind
  of inConstant: size = abs(initial.first)
  of inRandom: size = max(abs(initial.first), abs(initial.second))
  of inNormal: size = max(abs(initial.first), abs(initial.second))
  of inClippedNormal: size = max(abs(initial.low), abs(initial.high))
  else: return false
  size > 0

type
  Amounts* = object
    ## What one spike adds to an input.
    isBounded*: bool
    bound*: float          ## the largest sum of amounts, where it is bounded
    scale*: float          ## the size of an amount, where it is not
    additions*: int        ## amounts that one synapse adds to an input in a step, at most

func amountsOf*(model: SynapseModel; equations: Equations; initial: Table[string, Initializer]; values: Bindings): Amounts =
  ## `values` are the parameters that are one number; `initial` is how the variables start.
  var walk = Walk(model: model, equations: equations, values: values)
  for name in model.scope.symbols.keys:
    if name notin equations.constantNames:
      walk.everything.incl name
  for name, value in values:
    walk.start[name] = point(value)
  # Of what is known only in a run, time has a sign.
  walk.start["t"] = interval(0, Inf)
  for state in model.states:
    walk.start[state.name] = if state.name in initial: startOf(initial[state.name]) else: Everything
  var sums: Table[string, float]
  let ranges = walk.reached(sums)
  if "w" in walk.start:
    # The program may set weights, to whatever the rule limits them to.
    var free = ranges
    free["w"] = Everything
    let limited = walk.next(free, sums)["w"]
    if limited.isFinite:
      walk.start["w"] = hull(walk.start["w"], limited)
    discard walk.reached(sums)
  var sizes = values
  for name, start in initial:
    var size: float
    if start.sizeOf(size):
      sizes[name] = size
  var counts: CountTable[string]
  for assignments in [model.onPre, model.onPost, model.onReward, model.clocked]:
    for assignment in assignments:
      if assignment.name.startsWith(TargetPrefix):
        # All of them may happen in one step.
        counts.inc assignment.name
        result.additions = max(result.additions, counts[assignment.name])
        result.bound = max(result.bound, sums[assignment.name])
        result.scale = max(result.scale, equations.inlined(assignment.value, walk.everything).magnitude(sizes))
  result.isBounded = result.bound > 0 and result.bound < Inf
