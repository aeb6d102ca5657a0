## The body of a `neuron` statement: parameters, equations, threshold, reset, refractoriness.

import std/[sets, tables]
import ast, diagnostics, dimension_solver, dimensions, formula, limits, scope, suggestions

type
  Integrator* = enum
    igAuto = "auto"
    igExact = "exact"
    igExponentialEuler = "exponential_euler"
    igEuler = "euler"
    igRk2 = "rk2"
    igRk4 = "rk4"

  Parameter* = object
    name*: string
    default*: float        ## in SI
    span*: Span

  StateVariable* = object
    name*: string
    derivative*: Formula   ## nil: it changes only at events
    hasEquation*: bool
    initial*: Formula      ## over parameters; nil: zero
    span*: Span            ## of its equation, or of its name

  Alias* = object
    ## `name = expression` in a neuron: a word for a part of the equations.
    name*: string
    value*: Formula
    span*: Span

  Assignment* = object
    name*: string
    operator*: string      ## "=", "+=", …
    value*: Formula
    span*: Span

  NeuronModel* = ref object
    name*: string
    span*: Span
    isBuiltIn*: bool
    scope*: Scope
    parameters*: seq[Parameter]
    states*: seq[StateVariable]
    aliases*: seq[Alias]   ## each behind those it uses
    inputs*: seq[string]
    threshold*: Formula    ## nil: it never spikes
    reset*: seq[Assignment]
    refractory*: Formula   ## over parameters; nil where there is none
    integrator*: Integrator
    target*: string        ## variable that connections feed where they name none; "" without
    isBroken*: bool        ## something in it was reported

const
  NeuronStatements* = ["params", "variables", "inputs", "threshold", "reset", "refractory", "integrator", "target"]
  IntegratorNames* = ["auto", "exact", "exponential_euler", "euler", "rk2", "rk4"]
  Reserved = ["t", "dt", "xi", "pi", "size", "model", "target", "reward"]

func derivativeOf*(statement: Statement): string =
  ## "v" for `dv/dt = …`, "" for what is no differential equation.
  if statement.kind != stAssign or statement.operand.kind != ekBinary or statement.operand.operator != "/":
    return ""
  let above = statement.operand.left
  let below = statement.operand.right
  if above.kind == ekName and below.kind == ekName and below.text == "dt" and above.text.len > 1 and above.text[0] == 'd':
    result = above.text[1 .. ^1]

func callOf*(statement: Statement; name: string): bool =
  ## `name(…)` as a statement.
  statement.kind == stExpression and statement.operand != nil and statement.operand.kind == ekCall and
    statement.operand.callee.kind == ekName and statement.operand.callee.text == name

proc declare(model: NeuronModel; name: string; kind: SymbolKind; at: Span; report: var Report): bool =
  if name in Reserved:
    report.error(at, shown(name) & " has a meaning of its own", hint = "choose another name")
  elif model.scope.declare(name, kind, at, model.scope.solver.fresh):
    return true
  else:
    let first = model.scope.symbols[name].span
    report.error(at, shown(name) & " is declared twice in " & model.scope.owner, hint = "first on line " & $first.line)
  model.isBroken = true

proc declareInputs(model: NeuronModel; statement: Statement; report: var Report) =
  ## `inputs(i)`.
  for arg in statement.operand.args:
    if arg.name.len > 0 or arg.value.kind != ekName:
      report.error(arg.value.span, "an input is " & describe(arg.value), expected = "names only")
      model.isBroken = true
    elif model.declare(arg.value.text, syInput, arg.value.span, report):
      model.inputs.add arg.value.text

proc declareVariables(model: NeuronModel; statement: Statement; report: var Report) =
  ## `variables(a, v = el)`: variables without an equation, and how variables start.
  var seen: HashSet[string]
  for arg in statement.operand.args:
    let name = if arg.name.len > 0: arg.name elif arg.value.kind == ekName: arg.value.text else: ""
    let at = if arg.name.len > 0: arg.nameSpan else: arg.value.span
    if name.len == 0:
      report.error(at, "a variable is " & describe(arg.value), expected = "a name, or name = initial value")
      model.isBroken = true
      continue
    # Equations were declared before: here such a variable only says how it starts.
    var isKnown = false
    for state in model.states:
      isKnown = isKnown or (state.name == name and state.hasEquation)
    if seen.containsOrIncl(name):
      report.error(at, shown(name) & " is declared twice in " & model.scope.owner)
      model.isBroken = true
    elif not isKnown and model.declare(name, syState, at, report):
      model.states.add StateVariable(name: name, span: at)

proc declareParameters*(scope: var Scope; statement: Statement; report: var Report; isBroken: var bool): seq[Parameter] =
  ## `params(a = 20.ms, b = a / 2)`: a default may use the parameters before it.
  var bindings: Bindings
  for arg in statement.operand.args:
    if arg.name.len == 0:
      report.error(arg.value.span, "a parameter is " & describe(arg.value), expected = "name = value")
      isBroken = true
      continue
    let typed = scope.check(arg.value, report)
    var parameter = Parameter(name: arg.name, span: arg.nameSpan)
    if typed.formula == nil:
      isBroken = true
    elif typed.isCondition or not typed.formula.evaluate(bindings, parameter.default):
      report.error(arg.value.span, "the default of " & shown(arg.name) & " is no number",
                   expected = "a number with its unit; parameters before it may be used")
      isBroken = true
    elif parameter.default != parameter.default or abs(parameter.default) > 3.4e38:
      report.error(arg.value.span, "the default of " & shown(arg.name) & " is outside the range of float32")
      isBroken = true
    # A wrong default is reported once, not in every default that uses it.
    bindings[arg.name] = if isBroken: 1.0 else: parameter.default
    let dimension = if typed.formula == nil: scope.solver.fresh else: typed.dimension
    if arg.name in Reserved:
      report.error(arg.nameSpan, shown(arg.name) & " has a meaning of its own", hint = "choose another name")
      isBroken = true
    elif not scope.declare(arg.name, syParameter, arg.nameSpan, dimension):
      report.error(arg.nameSpan, shown(arg.name) & " is declared twice in " & scope.owner)
      isBroken = true
    else:
      result.add parameter

proc single*(statement: Statement; what: string; report: var Report): Expr =
  ## The one value of `threshold: …`; nil where there is none, which is reported.
  if statement.body.len == 1 and statement.body[0].kind == stExpression and not statement.body[0].hasBody:
    return statement.body[0].operand
  for inner in statement.body:
    if inner.kind == stBroken:
      return nil
  report.error(statement.span, shown(what) & " needs one value", expected = what & ": …")

proc checkAssignments*(scope: var Scope; statements: seq[Statement]; writable: seq[string]; where: string; report: var Report;
                       isBroken: var bool): seq[Assignment] =
  ## The statements of `reset:`, `on_pre:` and their like.
  for statement in statements:
    if statement.kind == stBroken:
      isBroken = true
      continue
    if statement.kind != stAssign or statement.operand.kind != ekName:
      report.error(statement.span, "this is no assignment", expected = where & " consists of assignments, for example v = vr")
      isBroken = true
      continue
    let name = statement.operand.text
    if name notin writable:
      if name notin scope.excused:
        let message = if name in scope.symbols: shown(name) & " cannot be assigned in " & where
                      else: shown(name) & " is no variable of " & scope.owner
        report.error(statement.span, message, expected = (if writable.len == 0: "a variable" else: oneOf(writable)),
                     hint = nearestHint(name, writable))
      isBroken = true
      continue
    let wanted = scope.symbols[name].dimension
    var value: Formula
    if statement.operator in ["*=", "/="]:
      value = scope.checkAs(statement.value, open(Dimensionless), "the factor of " & shown(name), report)
    else:
      value = scope.checkAs(statement.value, wanted, "the value of " & shown(name), report)
    if value == nil:
      isBroken = true
    else:
      result.add Assignment(name: name, operator: statement.operator, value: value, span: statement.span)

func notParameter*(scope: Scope; formula: Formula): string =
  ## The first name in it that is no parameter.
  for name in formula.names:
    if name in scope.symbols and scope.symbols[name].kind != syParameter:
      return name

proc sortAliases*(aliases: var seq[Alias]; report: var Report; isBroken: var bool) =
  ## Puts each alias behind those it uses; a circle is an error.
  var sorted: seq[Alias]
  var left = aliases
  while left.len > 0:
    var waiting: seq[Alias]
    for alias in left:
      var isReady = true
      for other in left:
        if alias.value.uses(other.name):
          isReady = false
      if isReady: sorted.add alias
      else: waiting.add alias
    if waiting.len == left.len:
      report.error(left[0].span, shown(left[0].name) & " is defined by itself",
                   hint = "a name may be used by those that its own definition does not use")
      isBroken = true
      break
    left = waiting
  aliases = sorted

proc checkLength*(aliases: seq[Alias]; equations: seq[(Formula, Span)]; report: var Report; isBroken: var bool) =
  ## No equation may grow without bound when definitions of definitions are written out. `aliases` are sorted.
  var written: Table[string, int]
  for alias in aliases:
    written[alias.name] = alias.value.nodeCount(written)
  for (equation, at) in equations:
    if equation != nil and equation.nodeCount(written) > MaxFormulaNodes:
      report.error(at, "the equation is too long when its definitions are written out", expected = "at most " & $MaxFormulaNodes & " parts",
                   hint = "make a part of it a variable of its own")
      isBroken = true

proc readIntegrator(model: NeuronModel; statement: Statement; report: var Report) =
  let node = statement.single("integrator", report)
  if node == nil:
    model.isBroken = true
    return
  if node.kind == ekName:
    for candidate in Integrator:
      if $candidate == node.text:
        model.integrator = candidate
        return
  report.error(node.span, "unknown integrator: " & describe(node), expected = oneOf(IntegratorNames),
               hint = if node.kind == ekName: nearestHint(node.text, IntegratorNames) else: "")
  model.isBroken = true

proc declareAll(model: NeuronModel; body: seq[Statement]; report: var Report) =
  ## First walk: what there is, so that equations may stand in any order.
  for statement in body:
    let differentiated = derivativeOf(statement)
    if statement.kind == stBroken:
      model.isBroken = true
      if statement.keyword.len > 1 and statement.keyword[0] == 'd':
        model.scope.excused.add statement.keyword[1 .. ^1]
      model.scope.excused.add statement.keyword
    elif differentiated.len > 0:
      if statement.operator != "=":
        report.error(statement.span, "a differential equation with " & shown(statement.operator), expected = "'='")
        model.isBroken = true
      if model.declare(differentiated, syState, statement.span, report):
        model.states.add StateVariable(name: differentiated, span: statement.span, hasEquation: true)
    elif statement.kind == stAssign and statement.operand.kind == ekName and statement.operator == "=":
      if model.declare(statement.operand.text, syAlias, statement.span, report):
        model.aliases.add Alias(name: statement.operand.text, span: statement.span)
    elif statement.callOf("params"):
      model.parameters.add model.scope.declareParameters(statement, report, model.isBroken)
    elif statement.callOf("inputs"):
      model.declareInputs(statement, report)
  for statement in body:
    if statement.callOf("variables"):
      model.declareVariables(statement, report)

proc checkEquations(model: NeuronModel; body: seq[Statement]; report: var Report) =
  for statement in body:
    let differentiated = derivativeOf(statement)
    if differentiated.len > 0:
      for state in model.states.mitems:
        if state.name == differentiated and state.derivative == nil:
          let wanted = model.scope.symbols[differentiated].dimension / open(TimeDimension)
          state.derivative = model.scope.checkAs(statement.value, wanted, "d" & differentiated & "/dt", report)
          model.isBroken = model.isBroken or state.derivative == nil
    elif statement.kind == stAssign and statement.operand.kind == ekName and statement.operator == "=":
      for alias in model.aliases.mitems:
        if alias.name == statement.operand.text and alias.value == nil:
          let typed = model.scope.check(statement.value, report)
          if typed.formula != nil and typed.isCondition:
            report.error(statement.value.span, "a condition where a value is needed", hint = "int(condition) is 1 or 0")
          elif typed.formula != nil and typed.formula.isRandom:
            report.error(statement.value.span, "a random number in a definition", hint = "write it into the equation itself")
          elif typed.formula != nil:
            if model.scope.solver.unify(typed.dimension, model.scope.symbols[alias.name].dimension):
              alias.value = typed.formula
            else:
              report.error(statement.span, shown(alias.name) & " is a " & model.scope.solver.text(typed.dimension) & " used as a " &
                           model.scope.solver.text(model.scope.symbols[alias.name].dimension))
          model.isBroken = model.isBroken or alias.value == nil

proc checkInitial(model: NeuronModel; body: seq[Statement]; report: var Report) =
  ## `variables(v = el)`.
  for statement in body:
    if not statement.callOf("variables"):
      continue
    for arg in statement.operand.args:
      for state in model.states.mitems:
        if arg.name.len > 0 and state.name == arg.name:
          state.initial = model.scope.checkAs(arg.value, model.scope.symbols[arg.name].dimension, "the initial value of " & shown(arg.name), report)
          var wrong = if state.initial == nil: "" else: model.scope.notParameter(state.initial)
          if wrong.len > 0:
            report.error(arg.value.span, "the initial value of " & shown(arg.name) & " depends on " & shown(wrong), expected = "parameters and numbers only")
          model.isBroken = model.isBroken or state.initial == nil or wrong.len > 0

func stateNames*(model: NeuronModel): seq[string] =
  for state in model.states:
    result.add state.name

proc checkEvents(model: NeuronModel; body: seq[Statement]; report: var Report) =
  var seen: seq[string]
  for statement in body:
    if statement.kind == stBroken or derivativeOf(statement).len > 0 or statement.callOf("params") or statement.callOf("variables") or
        statement.callOf("inputs") or (statement.kind == stAssign and statement.operand.kind == ekName and statement.operator == "="):
      continue
    let word = statement.keyword
    if statement.kind != stCommand or word notin NeuronStatements or not statement.hasBody or statement.operand != nil:
      report.error(statement.span, "this has no meaning in a neuron", expected = "an equation dx/dt = …, a definition, or " &
                   oneOf(NeuronStatements), hint = nearestHint(word, NeuronStatements))
      model.isBroken = true
      continue
    if word in seen:
      report.error(statement.span, shown(word) & " stands twice in " & model.scope.owner)
      model.isBroken = true
      continue
    seen.add word
    case word
    of "threshold":
      let node = statement.single(word, report)
      model.scope.allowsRandom = true
      model.threshold = if node == nil: nil else: model.scope.checkCondition(node, report).formula
      model.scope.allowsRandom = false
      model.isBroken = model.isBroken or model.threshold == nil
    of "reset":
      model.scope.allowsRandom = true
      model.reset = model.scope.checkAssignments(statement.body, model.stateNames, "reset", report, model.isBroken)
      model.scope.allowsRandom = false
    of "refractory":
      let node = statement.single(word, report)
      model.refractory = if node == nil: nil
                         else: model.scope.checkAs(node, open(TimeDimension), "the refractory period", report)
      model.isBroken = model.isBroken or model.refractory == nil
    of "target":
      let node = statement.single(word, report)
      if node != nil and node.kind == ekName and (node.text in model.stateNames or node.text in model.inputs):
        model.target = node.text
      elif node != nil:
        report.error(node.span, "the target is " & describe(node), expected = "a variable or an input of " & model.scope.owner)
        model.isBroken = true
    else:
      model.readIntegrator(statement, report)

proc checkRefractory(model: NeuronModel; report: var Report) =
  if model.refractory == nil:
    return
  let wrong = model.scope.notParameter(model.refractory)
  if wrong.len > 0:
    report.error(model.refractory.span, "the refractory period depends on " & shown(wrong), expected = "parameters and numbers only")
    model.isBroken = true
  if model.threshold == nil and not model.isBroken:
    report.error(model.refractory.span, "a refractory period without a threshold", hint = "threshold: v > vt")
    model.isBroken = true

proc checkInOrder(name: string; at: Span; body: seq[Statement]; eventsFirst: bool; report: var Report): NeuronModel =
  ## What is checked first decides which dimensions unknown variables have, and what is checked later is blamed where it does not fit.
  result = NeuronModel(name: name, span: at)
  result.scope.owner = "neuron " & shown(name)
  discard result.scope.declare("t", syConstant, at, open(TimeDimension))
  discard result.scope.declare("dt", syConstant, at, open(TimeDimension))
  discard result.scope.declare("xi", syConstant, at, open(dimension(time = -0.5)))
  result.declareAll(body, report)
  if eventsFirst:
    result.checkEvents(body, report)
  result.scope.allowsRandom = true
  result.checkEquations(body, report)
  result.scope.allowsRandom = false
  result.checkInitial(body, report)
  if not eventsFirst:
    result.checkEvents(body, report)
  if not result.isBroken:
    sortAliases(result.aliases, report, result.isBroken)
  if not result.isBroken:
    var equations: seq[(Formula, Span)]
    for state in result.states:
      equations.add (state.derivative, state.span)
    for assignment in result.reset:
      equations.add (assignment.value, assignment.span)
    equations.add (result.threshold, at)
    checkLength(result.aliases, equations, report, result.isBroken)
  if result.states.len > MaxVariables:
    report.error(at, result.scope.owner & " has " & $result.states.len & " variables", expected = "at most " & $MaxVariables)
    result.isBroken = true
  result.checkRefractory(report)
  if result.reset.len > 0 and result.threshold == nil and not result.isBroken:
    report.error(at, "a reset without a threshold", hint = "threshold: v > vt")
    result.isBroken = true
  if result.states.len == 0 and not result.isBroken:
    report.error(at, result.scope.owner & " has no variable", expected = "an equation, for example dv/dt = (el - v) / taum")
    result.isBroken = true

func voltages(model: NeuronModel): int =
  ## Variables that are known to be voltages.
  for state in model.states:
    let dimension = model.scope.solver.resolve(model.scope.symbols[state.name].dimension)
    if dimension.isKnown and dimension.known == VoltageDimension:
      inc result

proc checkNeuron*(name: string; at: Span; body: seq[Statement]; report: var Report): NeuronModel =
  ## The model of a neuron statement; with `isBroken` it must not be used further.
  ##
  ## Where dimensions do not fit, one line is wrong and others are right: of the two orders the one with fewer complaints is told, or the one in
  ## which more variables turn out to be voltages.
  var inOrder = report
  result = checkInOrder(name, at, body, false, inOrder)
  if inOrder.errorCount > report.errorCount:
    var other = report
    let model = checkInOrder(name, at, body, true, other)
    if other.errorCount < inOrder.errorCount or (other.errorCount == inOrder.errorCount and model.voltages > result.voltages):
      result = model
      inOrder = other
  report = inOrder
