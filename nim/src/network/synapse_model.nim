## The body of a `synapse` statement, checked for one projection: what a spike of the source or the target, a reward, and time do.
##
## Names are looked up in this order: the synapse's own, `X_pre` and `X_post` for variables of the two neurons, parameters of the target's
## neuron. What a spike adds to is a variable or input of the target by its name, or `target`, the one that the connection names.

import std/[sets, tables]
import ast, diagnostics, dimension_solver, dimensions, formula, limits, neuron_model, scope, suggestions

type
  Locality* = enum
    loSynapse              ## one value for each synapse
    loPre                  ## one for each source neuron: all its synapses would have the same
    loPost                 ## one for each target neuron

  SynapseState* = object
    name*: string
    derivative*: Formula   ## nil: it changes only at events
    initial*: Formula      ## over parameters; nil: zero
    isClocked*: bool       ## integrated at every step instead of when it is needed
    locality*: Locality
    span*: Span

  SynapseModel* = ref object
    name*: string
    span*: Span
    isBuiltIn*: bool
    scope*: Scope
    parameters*: seq[Parameter]
    states*: seq[SynapseState]
    aliases*: seq[Alias]
    onPre*, onPost*, onReward*, clocked*: seq[Assignment]
    fed*: seq[string]      ## variables and inputs of the target that it adds to
    equations: HashSet[string]  ## variables that have one
    isBroken*: bool

  Ends* = object
    ## The neurons of a projection. `source` is nil where spikes come from a source that is no population.
    source*, target*: NeuronModel
    input*: string

const
  SynapseStatements* = ["params", "variables", "on_pre", "on_post", "on_reward", "clocked"]
  TargetPrefix* = "target "
    ## Marks what is written in the target neuron, in names of assignments: no name of the language has a blank.

func isOwn(model: SynapseModel; name: string): bool =
  for state in model.states:
    if state.name == name:
      return true

proc declare(model: SynapseModel; name: string; kind: SymbolKind; at: Span; report: var Report): bool =
  if name in ["t", "dt", "pi", "target", "reward", "weight", "pattern", "delay", "storage", "synapse", "on"]:
    report.error(at, shown(name) & " has a meaning of its own", hint = "choose another name")
  elif model.scope.declare(name, kind, at, model.scope.solver.fresh):
    return true
  else:
    report.error(at, shown(name) & " is declared twice in " & model.scope.owner)
  model.isBroken = true

proc declareEquation(model: SynapseModel; statement: Statement; isClocked: bool; report: var Report) =
  ## An equation for a variable; `variables(x)` may have declared it before.
  let name = derivativeOf(statement)
  if model.equations.containsOrIncl(name):
    report.error(statement.span, shown(name) & " has two equations", expected = "one")
    model.isBroken = true
    return
  for state in model.states.mitems:
    if state.name == name:
      state.isClocked = isClocked
      state.span = statement.span
      return
  if model.declare(name, syState, statement.span, report):
    model.states.add SynapseState(name: name, isClocked: isClocked, span: statement.span)

proc declareAll(model: SynapseModel; body: seq[Statement]; given: Table[string, Typed]; report: var Report) =
  for statement in body:
    if statement.kind == stBroken:
      model.isBroken = true
      model.scope.excused.add statement.keyword
    elif statement.callOf("variables"):
      for arg in statement.operand.args:
        let name = if arg.name.len > 0: arg.name elif arg.value.kind == ekName: arg.value.text else: ""
        let at = if arg.name.len > 0: arg.nameSpan else: arg.value.span
        if name.len == 0:
          report.error(at, "a variable is " & describe(arg.value), expected = "a name, or name = initial value")
          model.isBroken = true
        elif model.declare(name, syState, at, report):
          model.states.add SynapseState(name: name, span: at)
    elif statement.callOf("params"):
      for parameter in model.scope.declareParameters(statement, report, model.isBroken):
        model.parameters.add parameter
        # A value that was given brings its own dimension: 1.0 may stand for 1.nS.
        if parameter.name in given and given[parameter.name].formula != nil:
          model.scope.symbols[parameter.name].dimension = given[parameter.name].dimension
  for statement in body:
    if derivativeOf(statement).len > 0:
      model.declareEquation(statement, false, report)
    elif statement.kind == stAssign and statement.operand.kind == ekName and statement.operator == "=":
      if model.declare(statement.operand.text, syAlias, statement.span, report):
        model.aliases.add Alias(name: statement.operand.text, span: statement.span)
    elif statement.keyword == "clocked" and statement.hasBody:
      for inner in statement.body:
        if derivativeOf(inner).len > 0:
          model.declareEquation(inner, true, report)

proc declareNeighbours(model: SynapseModel; ends: Ends) =
  ## What can be read of the two neurons.
  for state in ends.target.states:
    discard model.scope.declare(state.name & "_post", syInput, state.span, ends.target.scope.symbols[state.name].dimension)
  if ends.source != nil:
    for state in ends.source.states:
      let dimension = ends.source.scope.solver.settle(ends.source.scope.symbols[state.name].dimension)
      discard model.scope.declare(state.name & "_pre", syInput, state.span, open(dimension))
  for parameter in ends.target.parameters:
    discard model.scope.declare(parameter.name, syConstant, parameter.span, ends.target.scope.symbols[parameter.name].dimension)

proc checkDerivatives(model: SynapseModel; body: seq[Statement]; report: var Report) =
  for statement in body:
    let name = derivativeOf(statement)
    if name.len > 0:
      for state in model.states.mitems:
        if state.name == name and state.derivative == nil:
          let wanted = model.scope.symbols[name].dimension / open(TimeDimension)
          state.derivative = model.scope.checkAs(statement.value, wanted, "d" & name & "/dt", report)
          model.isBroken = model.isBroken or state.derivative == nil
    elif statement.kind == stAssign and statement.operand.kind == ekName and statement.operator == "=":
      for alias in model.aliases.mitems:
        if alias.name == statement.operand.text and alias.value == nil:
          let wanted = model.scope.symbols[alias.name].dimension
          alias.value = model.scope.checkAs(statement.value, wanted, shown(alias.name), report)
          model.isBroken = model.isBroken or alias.value == nil
    elif statement.keyword == "clocked" and statement.hasBody:
      var equations: seq[Statement]
      for inner in statement.body:
        if derivativeOf(inner).len > 0:
          equations.add inner
      model.checkDerivatives(equations, report)

proc checkInitial(model: SynapseModel; body: seq[Statement]; report: var Report) =
  ## `variables(x = 1)`.
  for statement in body:
    if not statement.callOf("variables"):
      continue
    for arg in statement.operand.args:
      for state in model.states.mitems:
        if arg.name.len > 0 and state.name == arg.name:
          state.initial = model.scope.checkAs(arg.value, model.scope.symbols[arg.name].dimension, "the initial value of " & shown(arg.name), report)
          let wrong = if state.initial == nil: "" else: model.scope.notParameter(state.initial)
          if wrong.len > 0:
            report.error(arg.value.span, "the initial value of " & shown(arg.name) & " depends on " & shown(wrong), expected = "parameters and numbers only")
          model.isBroken = model.isBroken or state.initial == nil or wrong.len > 0

proc checkEvent(model: SynapseModel; statements: seq[Statement]; ends: Ends; where: string; report: var Report): seq[Assignment] =
  ## Assignments to own variables, and additions to the target's.
  var writable: seq[string]
  for state in model.states:
    writable.add state.name
  for statement in statements:
    if derivativeOf(statement).len > 0 and where == "clocked":
      continue
    if statement.kind != stAssign or statement.operand.kind != ekName or model.isOwn(statement.operand.text):
      result.add model.scope.checkAssignments(@[statement], writable, where, report, model.isBroken)
      continue
    let written = statement.operand.text
    let name = if written == "target": ends.input else: written
    var known = ends.target.inputs
    for state in ends.target.states:
      known.add state.name
    if name notin known:
      if name notin model.scope.excused:
        if name.len == 0:
          report.error(statement.span, "the connection names no target", expected = "target: " & list(known))
        else:
          report.error(statement.span, shown(name) & " is no variable of " & model.scope.owner & " or of its target",
                       expected = oneOf(writable & known), hint = nearestHint(name, writable & known))
      model.isBroken = true
    elif statement.operator notin ["+=", "-="]:
      report.error(statement.span, shown(name) & " of the target is set with " & shown(statement.operator), expected = "'+=' or '-='",
                   hint = "many synapses act on a neuron in one step: their contributions are added")
      model.isBroken = true
    else:
      let value = model.scope.checkAs(statement.value, ends.target.scope.symbols[name].dimension, "what is added to " & shown(name), report)
      if value == nil:
        model.isBroken = true
      else:
        result.add Assignment(name: TargetPrefix & name, operator: statement.operator, value: value, span: statement.span)
        if name notin model.fed:
          model.fed.add name

proc checkBlocks(model: SynapseModel; body: seq[Statement]; ends: Ends; report: var Report) =
  var seen: seq[string]
  model.scope.allowsRandom = true
  for statement in body:
    if statement.kind == stBroken or derivativeOf(statement).len > 0 or statement.callOf("params") or statement.callOf("variables") or
        (statement.kind == stAssign and statement.operand.kind == ekName and statement.operator == "="):
      continue
    let word = statement.keyword
    if statement.kind != stCommand or word notin SynapseStatements or not statement.hasBody or statement.operand != nil or word in seen:
      report.error(statement.span, if word in seen: shown(word) & " stands twice in " & model.scope.owner else: "this has no meaning in a synapse",
                   expected = "an equation dx/dt = …, a definition, or " & oneOf(SynapseStatements), hint = nearestHint(word, SynapseStatements))
      model.isBroken = true
      continue
    seen.add word
    case word
    of "on_pre": model.onPre = model.checkEvent(statement.body, ends, word, report)
    of "on_post": model.onPost = model.checkEvent(statement.body, ends, word, report)
    of "clocked": model.clocked = model.checkEvent(statement.body, ends, word, report)
    else:
      discard model.scope.declare("reward", syConstant, statement.span, open(Dimensionless))
      model.onReward = model.checkEvent(statement.body, ends, word, report)
      model.scope.symbols.del "reward"

func reads(model: SynapseModel; formula: Formula): HashSet[string] =
  ## Names that a formula depends on, definitions followed.
  for name in formula.names:
    result.incl name
    for alias in model.aliases:
      if alias.name == name:
        result = result + model.reads(alias.value)

func isWrittenIn(name: string; assignments: seq[Assignment]): bool =
  for assignment in assignments:
    if assignment.name == name:
      return true

func localNames(model: SynapseModel; own, other: seq[Assignment]; constants: HashSet[string]; uneven: HashSet[string]): HashSet[string] =
  ## Variables written in `own` only, from each other and constants: the same for every synapse of a neuron.
  for state in model.states:
    # What no event writes may follow those that are written: a sliding average of a trace.
    if state.name != "w" and not state.isClocked and state.name notin uneven and
        (state.name.isWrittenIn(own) or (state.derivative != nil and not state.name.isWrittenIn(other))) and
        not state.name.isWrittenIn(other) and not state.name.isWrittenIn(model.onReward) and not state.name.isWrittenIn(model.clocked):
      result.incl state.name
  var changed = true
  while changed:
    changed = false
    for state in model.states:
      if state.name notin result:
        continue
      var needed: HashSet[string]
      var isRandom = false
      if state.derivative != nil:
        needed = model.reads(state.derivative)
        isRandom = state.derivative.isRandom
      for assignment in own:
        if assignment.name == state.name:
          needed = needed + model.reads(assignment.value)
          isRandom = isRandom or assignment.value.isRandom
      for name in needed:
        if name notin result and name notin constants and not (name in model.scope.symbols and model.scope.symbols[name].kind == syAlias):
          isRandom = true
      if isRandom:
        result.excl state.name
        changed = true

proc findLocality*(model: SynapseModel; constants, uneven: HashSet[string]) =
  ## `constants` have one value in the projection; `uneven` are variables that start differently in each synapse.
  let pre = model.localNames(model.onPre, model.onPost, constants, uneven)
  let post = model.localNames(model.onPost, model.onPre, constants, uneven)
  for state in model.states.mitems:
    state.locality = if state.name in pre: loPre elif state.name in post: loPost else: loSynapse

proc checkSynapse*(name: string; at: Span; body: seq[Statement]; ends: Ends; given: Table[string, Typed]; report: var Report): SynapseModel =
  ## `given` are values of parameters, checked already; their dimensions count, not those of the defaults.
  result = SynapseModel(name: name, span: at)
  result.scope.owner = "synapse " & shown(name)
  result.scope.solver = ends.target.scope.solver
  discard result.scope.declare("t", syConstant, at, open(TimeDimension))
  discard result.scope.declare("dt", syConstant, at, open(TimeDimension))
  result.declareAll(body, given, report)
  result.declareNeighbours(ends)
  result.checkDerivatives(body, report)
  result.checkInitial(body, report)
  if not result.isBroken:
    sortAliases(result.aliases, report, result.isBroken)
  result.checkBlocks(body, ends, report)
  ends.target.scope.solver = result.scope.solver
  if not result.isBroken:
    var equations: seq[(Formula, Span)]
    for state in result.states:
      equations.add (state.derivative, state.span)
    for assignment in result.onPre & result.onPost & result.onReward & result.clocked:
      equations.add (assignment.value, assignment.span)
    checkLength(result.aliases, equations, report, result.isBroken)
  if result.states.len > MaxVariables:
    report.error(at, result.scope.owner & " has " & $result.states.len & " variables", expected = "at most " & $MaxVariables)
    result.isBroken = true
  if result.onPre.len + result.onPost.len + result.clocked.len + result.onReward.len == 0 and not result.isBroken:
    report.error(at, result.scope.owner & " does nothing", expected = "on_pre:, on_post:, clocked: or on_reward:")
    result.isBroken = true
