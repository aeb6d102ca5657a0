## The kernel that takes every neuron of a group one step further: input, equations, threshold, reset, refractoriness.

import std/[sets, strutils, tables]
import constants, diagnostics, equation_analysis, formula, integration, kernel_text, neuron_model, scope, spiking_plan

type
  UpdateKernel* = object
    plan*: KernelPlan
    text*: string
    constants*: seq[Constant]
    arrays*: seq[string]   ## parameters that the kernel reads as arrays
    hasRefractory*: bool

  UpdateBuilder = object
    model: NeuronModel
    writer: KernelWriter
    pool: ConstantPool
    inputs: seq[string]
    wide: HashSet[string]  ## of the inputs: those with sums of 64 bits beside those of 32
    held: HashSet[string]
    refractory: Formula    ## in steps, lifted; nil without
    used: HashSet[string]  ## constants and definitions that the text names
    body: KernelWriter     ## the lines behind the loads

func heldVariables*(model: NeuronModel): HashSet[string] =
  ## What stays where it is while a neuron is refractory: variables that the threshold reads and the reset sets with `=`.
  if model.refractory == nil:
    return
  for assignment in model.reset:
    if assignment.operator == "=" and model.threshold.uses(assignment.name):
      result.incl assignment.name

func assigned(assignment: Assignment; value: Formula): Formula =
  let old = symbol(assignment.name)
  case assignment.operator
  of "+=": old + value
  of "-=": old - value
  of "*=": old * value
  of "/=": old / value
  else: value

func commentOf*(model: NeuronModel; at: Span): string =
  ## Where in the user's text something stands.
  if model.isBuiltIn: "built-in " & model.name else: "line " & $at.line

proc c(builder: var UpdateBuilder; formula: Formula): string =
  for name in formula.names:
    builder.used.incl name
  builder.writer.c(formula)

proc emitAliases(builder: var UpdateBuilder; formulas: seq[Formula]; depth = 1) =
  ## Definitions that these formulas need, directly or through others, as locals.
  var needed: HashSet[string]
  for formula in formulas:
    for name in formula.names:
      needed.incl name
  var chosen: seq[Alias]
  for idx in countdown(builder.model.aliases.high, 0):
    let alias = builder.model.aliases[idx]
    if alias.name in needed and alias.name notin builder.pool.equations.constantNames:
      chosen.insert(alias, 0)
      for name in alias.value.names:
        needed.incl name
  for alias in chosen:
    let value = builder.pool.lift(alias.value)
    builder.writer.line("const float " & identifier(alias.name) & " = " & builder.c(value) & ";  // " &
                        builder.model.commentOf(alias.span), depth)

proc emitInputs(builder: var UpdateBuilder) =
  for name in builder.inputs:
    let row = builder.writer.argument("input", name, "int*", "row_" & identifier(name))
    let unit = builder.writer.argument("unit", name, "float", "unit_" & identifier(name))
    var value = "(float)" & row & "[i] * " & unit
    var clear = row & "[i] = 0;"
    if name in builder.wide:
      let sum = builder.writer.argument("wide_input", name, "long long*", "wide_" & identifier(name))
      let worth = builder.writer.argument("wide_unit", name, "float", "wide_unit_" & identifier(name))
      value.add " + (float)" & sum & "[i] * " & worth
      clear.add " " & sum & "[i] = 0;"
    if name in builder.model.inputs:
      builder.writer.line("const float " & identifier(name) & " = " & value & ";")
    elif name in builder.held:
      builder.writer.line(identifier(name) & " += held ? 0.0f : " & value & ";")
    else:
      builder.writer.line(identifier(name) & " += " & value & ";")
    builder.writer.line(clear)

proc emitNoise(builder: var UpdateBuilder; formulas: seq[Formula]) =
  ## Normal numbers that several variables share.
  for state in builder.model.states:
    let name = noiseOf(state.name)
    for formula in formulas:
      if formula.uses(name):
        builder.writer.identifiers[name] = "agpu_noise_" & identifier(state.name)
        builder.writer.line("const float " & builder.writer.identifiers[name] & " = " & builder.writer.c(call("normal")) & ";")
        break

proc emitRules(builder: var UpdateBuilder; rules: seq[StepRule]) =
  var formulas: seq[Formula]
  for rule in rules:
    formulas.add rule.value
    if rule.heldValue != nil:
      formulas.add rule.heldValue
  builder.emitAliases(formulas)
  builder.emitNoise(formulas)
  for rule in rules:
    for state in builder.model.states:
      if state.name == rule.variable:
        builder.writer.line("// " & builder.model.commentOf(state.span) & ", " & rule.rule & ": d" & state.name & "/dt = " &
                            state.derivative.text)
    var value = builder.c(rule.value)
    if rule.variable in builder.held:
      value = "held ? " & identifier(rule.variable) & " : " & value
    elif rule.heldValue != nil:
      value = "held ? " & builder.c(rule.heldValue) & " : " & value
    builder.writer.line("const float new_" & rule.variable.identifier & " = " & value & ";")
  for rule in rules:
    builder.writer.line(rule.variable.identifier & " = new_" & rule.variable.identifier & ";")

proc emitStages(builder: var UpdateBuilder; deviceText: var string) =
  ## Runge-Kutta methods: the derivatives become a function of their own that is called at each stage.
  let model = builder.model
  let function = "slopes_" & identifier(model.name)
  var frame = builder.writer
  var inner = UpdateBuilder(model: model, pool: builder.pool, held: builder.held)
  var moving: seq[StateVariable]
  var formulas: seq[Formula]
  for state in model.states:
    if state.derivative != nil:
      moving.add state
      formulas.add inner.pool.lift(state.derivative)
  inner.emitAliases(formulas)
  for idx, state in moving:
    inner.writer.line("slope_" & identifier(state.name) & " = " & inner.c(formulas[idx]) & ";  // " & model.commentOf(state.span))
  builder.pool = inner.pool
  var local: HashSet[string]
  for alias in model.aliases:
    if alias.name notin builder.pool.equations.constantNames:
      local.incl alias.name
  var given: seq[string]
  for name in sortedNames(inner.used - local):
    given.add name
    builder.used.incl name
  var parameters, slopes, arguments: seq[string]
  for name in given:
    parameters.add "float " & identifier(name)
  for state in moving:
    slopes.add "float& slope_" & identifier(state.name)
  deviceText.add "// Derivatives of neuron '" & model.name & "'.\n__device__ inline void " & function & "(" &
    (parameters & slopes).join(", ") & ")\n{\n" & inner.writer.bodyText & "\n}\n\n"
  builder.writer = frame
  let isFourth = model.integrator == igRk4
  let dt = identifier(builder.c(builder.pool.constant(symbol("dt"))))
  for stage in 1 .. (if isFourth: 4 else: 2):
    var names: seq[string]
    for state in moving:
      names.add "s" & $stage & "_" & identifier(state.name)
    builder.writer.line("float " & names.join(", ") & ";")
    arguments = @[]
    for name in given:
      var text = identifier(name)
      for state in moving:
        if state.name == name and stage > 1:
          let share = if stage == 4: "" else: "0.5f * "
          text = identifier(name) & " + " & share & dt & " * s" & $(stage - 1) & "_" & identifier(name)
      if name == "t" and stage > 1:
        text = identifier(name) & " + " & (if stage == 4: "" else: "0.5f * ") & dt
      arguments.add text
    builder.writer.line(function & "(" & (arguments & names).join(", ") & ");")
    for state in moving:
      if state.name in builder.held:
        builder.writer.line("s" & $stage & "_" & identifier(state.name) & " = held ? 0.0f : s" & $stage & "_" & identifier(state.name) & ";")
  for state in moving:
    let name = identifier(state.name)
    if isFourth:
      builder.writer.line(name & " += " & dt & " * 0.16666667f * (s1_" & name & " + 2.0f * (s2_" & name & " + s3_" & name & ") + s4_" &
                          name & ");")
    else:
      builder.writer.line(name & " += " & dt & " * s2_" & name & ";")

proc emitEvents(builder: var UpdateBuilder) =
  ## Threshold, reset, refractoriness.
  let model = builder.model
  let fired = builder.writer.argument("fired", "", "unsigned char*", "all_fired")
  if model.threshold == nil:
    builder.writer.line(fired & "[i] = 0;")
    return
  var everything: HashSet[string]
  for name in model.stateNames & builder.inputs:
    everything.incl name
  let threshold = builder.pool.lift(builder.pool.equations.inlined(model.threshold, everything))
  builder.writer.line("// " & model.commentOf(model.threshold.span) & ": threshold: " & model.threshold.text)
  builder.writer.line("const bool fired = " & (if builder.refractory != nil: "!held && " else: "") & "(" & builder.c(threshold) & ");")
  if model.reset.len > 0:
    for assignment in model.reset:
      let value = builder.pool.lift(builder.pool.equations.inlined(assignment.assigned(assignment.value), everything))
      let name = identifier(assignment.name)
      builder.writer.line(name & " = fired ? " & builder.c(value) & " : " & name & ";  // " & model.commentOf(assignment.span) &
                          ": reset: " & assignment.name & " " & assignment.operator & " " & assignment.value.text)
  if builder.refractory != nil:
    let left = builder.writer.argument("refractory", "", "int*", "all_left")
    builder.writer.line(left & "[i] = fired ? (int)rintf(" & builder.c(builder.refractory) & ") - 1 : (held ? left - 1 : 0);  // " &
                        model.commentOf(model.refractory.span) & ": refractory: " & model.refractory.text)
  builder.writer.line(fired & "[i] = fired ? 1 : 0;")

func fading(model: NeuronModel; equations: Equations): seq[string] =
  ## Variables that only decay: cut off before they become denormal numbers.
  for state in model.states:
    if state.derivative != nil:
      let rest = equations.inlined(state.derivative, toHashSet([state.name])).replace({state.name: number(0)}.toTable)
      if rest.isNumber(0):
        result.add state.name

proc choose(builder: var UpdateBuilder; dt: float; dropped: var string): seq[StepRule] =
  ## The rules of integrators without stages.
  let model = builder.model
  var exact: HashSet[string]
  var system: LinearSystem
  if model.integrator in {igAuto, igExact}:
    system = builder.pool.equations.linearSystem(dropped)
    exact = system.variables.toHashSet
    result = builder.pool.exactRules(system, builder.held, dt)
  for state in model.states:
    if state.derivative != nil and state.name notin exact:
      result.add(if model.integrator == igEuler: builder.pool.eulerRule(state) else: builder.pool.exponentialEulerRule(state))

proc load(builder: var UpdateBuilder; group: int; arrays: seq[string]; usesRandom: bool): seq[string] =
  ## The first lines of the kernel, now that it is known what it reads.
  let model = builder.model
  result.add "const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;"
  discard builder.writer.argument("count", "", "unsigned int", "count")
  result.add "if (i >= count) return;"
  if usesRandom or "t" in builder.used:
    discard builder.writer.argument("step", "", "unsigned long long", "step")
  if usesRandom:
    discard builder.writer.argument("seed", "", "unsigned long long", "seed")
    result.add "const AgpuStream stream = {i, " & $(2 * group) &
      "u, (unsigned int)step, (unsigned int)seed, (unsigned int)(seed >> 32)};"
  let dt = if "t" in builder.used: identifier(builder.c(builder.pool.constant(symbol("dt")))) else: ""
  for constant in builder.pool.constants:
    let name = identifier(constant.name)
    if constant.isUniform:
      discard builder.writer.argument("parameter", constant.name, "float", name)
    else:
      let all = builder.writer.argument("parameter_array", constant.name, "const float*", "all_" & name)
      result.add "const float " & name & " = " & all & "[i];"
  for name in arrays:
    if name in builder.used:
      let all = builder.writer.argument("parameter_array", name, "const float*", "all_" & identifier(name))
      result.add "const float " & identifier(name) & " = " & all & "[i];"
  if "t" in builder.used:
    result.add "const float " & identifier("t") & " = (float)step * " & dt & ";"
  if builder.refractory != nil:
    let left = builder.writer.argument("refractory", "", "int*", "all_left")
    result.add "const int left = " & left & "[i];"
    result.add "const bool held = left > 0;"
  for state in model.states:
    let all = builder.writer.argument("state", state.name, "float*", "all_" & identifier(state.name))
    result.add "float " & identifier(state.name) & " = " & all & "[i];"

func changes(builder: UpdateBuilder; state: StateVariable): bool =
  ## Whether a step may give the variable another value.
  result = state.derivative != nil or state.name in builder.inputs
  for assignment in builder.model.reset:
    result = result or assignment.name == state.name

proc updateKernel*(model: NeuronModel; group: int; pool: ConstantPool; arrays, inputs: seq[string]; wide: HashSet[string]; dt: float;
                   populations: seq[string]; report: var Report): UpdateKernel =
  ## `arrays` are the parameters that differ inside a population, `inputs` what connections and drives feed, `wide` those of them whose sums
  ## nothing bounds.
  var builder = UpdateBuilder(model: model, pool: pool, inputs: inputs, wide: wide, held: heldVariables(model))
  let name = "update_" & identifier(model.name)
  builder.writer = initKernelWriter(name)
  if model.refractory != nil:
    builder.refractory = builder.pool.lift(model.refractory / symbol("dt"))
  var deviceText = ""
  builder.emitInputs
  var dropped = ""
  if model.integrator in {igRk2, igRk4}:
    for state in model.states:
      if state.derivative != nil and state.derivative.isRandom:
        report.error(state.span, "noise with the integrator " & $model.integrator, expected = "integrator: euler or auto")
        return
    builder.emitStages(deviceText)
  else:
    let rules = builder.choose(dt, dropped)
    if model.integrator == igExact and dropped.len > 0:
      report.error(model.span, "the equation of " & shown(dropped) & " in " & model.scope.owner &
                   " is not linear with constant coefficients", expected = "integrator: auto",
                   hint = "exact integration needs a linear system whose coefficients are parameters")
      return
    builder.emitRules(rules)
  builder.emitEvents
  for name in model.fading(builder.pool.equations):
    builder.writer.line(identifier(name) & " = fabsf(" & identifier(name) & ") < 1e-30f ? 0.0f : " & identifier(name) & ";")
  for state in model.states:
    if builder.changes(state):
      let all = builder.writer.argument("state", state.name, "float*", "all_" & identifier(state.name))
      builder.writer.line(all & "[i] = " & identifier(state.name) & ";")
  let usesRandom = builder.writer.draws > 0
  if builder.pool.notFinite.len > 0:
    report.error(model.span, "in " & model.scope.owner & ", " & builder.pool.notFinite & " has no finite value",
                 hint = "a parameter is zero that something is divided by, or a number is out of range")
  let loads = builder.load(group, arrays, usesRandom)
  builder.writer.prepend(loads)
  builder.writer.comments.add "neuron '" & model.name & "' (" & model.commentOf(model.span) & "): populations " & populations.join(", ")
  for constant in builder.pool.constants:
    if constant.meaning.len > 0:
      builder.writer.comments.add "  " & constant.name & ": " & constant.meaning
  result.text = deviceText & builder.writer.textOf
  result.plan = KernelPlan(name: name, phase: "update", group: group, projection: -1, parameters: builder.writer.parameters)
  result.constants = builder.pool.constants
  for name in arrays:
    if name in builder.used:
      result.arrays.add name
  result.hasRefractory = builder.refractory != nil
