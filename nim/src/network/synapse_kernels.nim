## Kernels of a projection whose synapses have code of their own: `on_pre`, `on_post`, `on_reward`, `clocked`, and the traces of neurons.
##
## A trace that is the same for all synapses of a neuron is kept once for each neuron, as it stood at the end of the step in which its
## trace kernel last ran. So `on_pre`, which comes before both trace kernels of a step, first takes the traces it reads one step further,
## and `on_post`, which comes between them, those of the target.

import std/[sets, tables]
import constants, diagnostics, equation_analysis, formula, integration, kernel_text, neuron_model, scope, spiking_plan, synapse_model

type
  EventKind* = enum
    evStart = "start"
    evPre = "on_pre"
    evPost = "on_post"
    evReward = "on_reward"
    evClocked = "clocked"
    evTracePre = "trace_pre"
    evTracePost = "trace_post"

  SynapseKernel* = object
    phase*: EventKind
    body*: string          ## the lines between the braces
    comments*: seq[string]
    parameters*: seq[KernelParameter]

  Builder = object
    model: SynapseModel
    ends: Ends
    pool: ConstantPool
    writer: KernelWriter
    used: HashSet[string]
    everything: HashSet[string]  ## every name that is no constant, so that definitions are written out
    prefix: string               ## of the constants' names in the plan
    isWide: bool                 ## amounts have no bound: they go to sums of 64 bits

func comment(model: SynapseModel; assignment: Assignment): string =
  let name = if assignment.name.len > TargetPrefix.len and assignment.name[0 ..< TargetPrefix.len] == TargetPrefix:
               assignment.name[TargetPrefix.len .. ^1] else: assignment.name
  (if model.isBuiltIn: model.name else: "line " & $assignment.span.line) & ": " & name & " " & assignment.operator & " " & assignment.value.text

func fedName(assignment: Assignment): string =
  ## The input of the target that an assignment adds to; "" for an own variable.
  if assignment.name.len > TargetPrefix.len and assignment.name[0 ..< TargetPrefix.len] == TargetPrefix:
    result = assignment.name[TargetPrefix.len .. ^1]

func statesOf(builder: Builder; locality: Locality; isClocked = false): seq[StateVariable] =
  for state in builder.model.states:
    if state.locality == locality and state.isClocked == isClocked:
      result.add StateVariable(name: state.name, derivative: state.derivative, span: state.span)

proc lifted(builder: var Builder; formula: Formula): Formula =
  result = builder.pool.lift(builder.pool.equations.inlined(formula, builder.everything))
  for name in result.names:
    builder.used.incl name

proc stepRules(builder: var Builder; states: seq[StateVariable]; dt: float): seq[StepRule] =
  ## One time step of some variables.
  let whole = builder.pool.equations.model
  var moving: seq[StateVariable]
  for state in states:
    if state.derivative != nil:
      moving.add StateVariable(name: state.name, derivative: builder.pool.equations.inlined(state.derivative, builder.everything), span: state.span)
  builder.pool.equations.model = NeuronModel(name: builder.model.name, states: moving)
  var dropped: string
  let system = builder.pool.equations.linearSystem(dropped)
  result = builder.pool.exactRules(system, initHashSet[string](), dt)
  let exact = system.variables.toHashSet
  for state in moving:
    if state.name notin exact:
      result.add builder.pool.exponentialEulerRule(state)
  builder.pool.equations.model = whole

proc emitRules(builder: var Builder; rules: seq[StepRule]; wanted: HashSet[string]; depth: int) =
  ## One step further for the variables that are wanted.
  for rule in rules:
    if rule.variable in wanted:
      for name in rule.value.names:
        builder.used.incl name
      builder.writer.line("const float new_" & identifier(rule.variable) & " = " & builder.writer.c(rule.value) & ";", depth)
  for rule in rules:
    if rule.variable in wanted:
      builder.writer.line(identifier(rule.variable) & " = new_" & identifier(rule.variable) & ";", depth)

func closure(rules: seq[StepRule]; names: HashSet[string]): HashSet[string] =
  ## With what the variables need to go one step further.
  result = names
  var size = -1
  while size != result.len:
    size = result.len
    for rule in rules:
      if rule.variable in result:
        for name in rule.value.names:
          for other in rules:
            if other.variable == name:
              result.incl name

proc emitAssignment(builder: var Builder; assignment: Assignment; depth: int) =
  let fed = assignment.fedName
  let remark = ";  // " & builder.model.comment(assignment)
  if fed.len > 0:
    var value = builder.lifted(assignment.value)
    if assignment.operator == "-=":
      value = negative(value)
    if builder.isWide:
      let sum = builder.writer.argument("wide_target_input", fed, "long long*", "wide_" & identifier(fed))
      let scale = builder.writer.argument("per_wide_unit", fed, "float", "per_wide_unit_" & identifier(fed))
      let most = builder.writer.argument("most_wide_units", fed, "float", "most_wide_units_" & identifier(fed))
      let overflow = builder.writer.argument("overflow", "", "unsigned int*", "all_overflow")
      builder.writer.line("agpu_add_wide(&" & sum & "[target], (" & builder.writer.c(value) & ") * " & scale & ", " & most & ", " & overflow &
                          ")" & remark, depth)
      return
    let row = builder.writer.argument("target_input", fed, "int*", "row_" & identifier(fed))
    let scale = builder.writer.argument("per_unit", fed, "float", "per_unit_" & identifier(fed))
    let most = builder.writer.argument("most_units", fed, "float", "most_units_" & identifier(fed))
    let units = "(" & builder.writer.c(value) & ") * " & scale
    # The text proves that amounts are no larger; this is for their roundings.
    builder.writer.line("atomicAdd(&" & row & "[target], (int)rintf(fminf(fmaxf(" & units & ", -" & most & "), " & most & ")))" & remark, depth)
    return
  let old = symbol(assignment.name)
  let value = case assignment.operator
    of "+=": old + assignment.value
    of "-=": old - assignment.value
    of "*=": old * assignment.value
    of "/=": old / assignment.value
    else: assignment.value
  builder.writer.line(identifier(assignment.name) & " = " & builder.writer.c(builder.lifted(value)) & remark, depth)

func localityOf(builder: Builder; name: string): Locality =
  for state in builder.model.states:
    if state.name == name:
      return state.locality

func needed(builder: Builder; assignments: seq[Assignment]): seq[Assignment] =
  ## Without those to traces that nothing behind them reads: the trace kernels do them once for each neuron.
  var read: HashSet[string]
  for idx in countdown(assignments.high, 0):
    let assignment = assignments[idx]
    if assignment.fedName.len > 0 or builder.localityOf(assignment.name) == loSynapse or assignment.name in read:
      result.insert(assignment, 0)
      for name in builder.pool.equations.inlined(assignment.value, builder.everything).names:
        read.incl name
      if assignment.operator != "=":
        read.incl assignment.name

func adding(builder: Builder; assignments: seq[Assignment]): seq[Assignment] =
  ## Those that add to the target, and those to variables that such amounts depend on.
  var read: HashSet[string]
  for idx in countdown(assignments.high, 0):
    let assignment = assignments[idx]
    if assignment.fedName.len > 0 or assignment.name in read:
      result.insert(assignment, 0)
      for name in builder.pool.equations.inlined(assignment.value, builder.everything).names:
        read.incl name

func namesIn(builder: Builder; assignments: seq[Assignment]): HashSet[string] =
  ## Names that assignments read or write.
  for assignment in assignments:
    for name in builder.pool.equations.inlined(assignment.value, builder.everything).names:
      result.incl name
    if assignment.fedName.len == 0:
      result.incl assignment.name

proc emitNeighbours(builder: var Builder; names: HashSet[string]; depth: int) =
  ## Loads of the two neurons' variables and of parameters that differ between target neurons.
  for state in builder.ends.target.states:
    if state.name & "_post" in names:
      let all = builder.writer.argument("target_state", state.name, "const float*", "target_" & identifier(state.name))
      builder.writer.line("const float " & identifier(state.name & "_post") & " = " & all & "[target];", depth)
  if builder.ends.source != nil:
    for state in builder.ends.source.states:
      if state.name & "_pre" in names:
        let all = builder.writer.argument("source_state", state.name, "const float*", "source_" & identifier(state.name))
        builder.writer.line("const float " & identifier(state.name & "_pre") & " = " & all & "[source];", depth)
  for parameter in builder.ends.target.parameters:
    let isHidden = builder.model.scope.symbols[parameter.name].kind != syConstant
    if not isHidden and parameter.name in names and parameter.name notin builder.pool.equations.constantNames:
      let all = builder.writer.argument("target_parameter", parameter.name, "const float*", "target_" & identifier(parameter.name))
      builder.writer.line("const float " & identifier(parameter.name) & " = " & all & "[target];", depth)

proc emitElapsed(builder: var Builder; depth: int; report: var Report) =
  ## Brings event-driven variables of the synapse to this step.
  let last = builder.writer.argument("last_update", "", "unsigned int*", "all_last")
  let step = builder.writer.argument("step", "", "unsigned long long", "step")
  builder.writer.line("const float elapsed = (float)((unsigned int)" & step & " - " & last & "[s]);", depth)
  builder.writer.line(last & "[s] = (unsigned int)" & step & ";", depth)
  for state in builder.model.states:
    if state.locality != loSynapse or state.isClocked or state.derivative == nil:
      continue
    let sub = StateVariable(name: state.name, derivative: builder.pool.equations.inlined(state.derivative, builder.everything))
    let slope = builder.pool.equations.slope(sub)
    let rest = sub.derivative.replace({state.name: number(0)}.toTable)
    if not builder.pool.equations.isConstant(slope) or not builder.pool.equations.isConstant(rest):
      report.error(state.span, "the equation of " & shown(state.name) & " in " & builder.model.scope.owner & " cannot be solved between events",
                   expected = "an equation that is linear in " & shown(state.name) & " with constant coefficients",
                   hint = "put it into a block clocked: to have it integrated at every step")
      return
    let name = identifier(state.name)
    let rate = builder.writer.c(builder.lifted(slope * symbol("dt")))
    if rest.isNumber(0):
      builder.writer.line(name & " *= expf(" & rate & " * elapsed);", depth)
    else:
      let gain = builder.writer.c(builder.lifted(rest * symbol("dt")))
      builder.writer.line(name & " = " & name & " * expf(" & rate & " * elapsed) + " & gain & " * elapsed * exprel(" & rate & " * elapsed);", depth)

proc emitSynapse(builder: var Builder; kind: EventKind; assignments: seq[Assignment]; rules: seq[StepRule]; dt: float; depth: int;
                 report: var Report) =
  ## What happens to one synapse `s` from `source` to `target`.
  let kept = if kind == evStart: assignments else: builder.needed(assignments)
  var names = builder.namesIn(kept)
  for rule in rules:
    for name in rule.value.names:
      names.incl name
    names.incl rule.variable
  var touchesEvents = false
  for state in builder.model.states:
    if state.locality == loSynapse and not state.isClocked and state.derivative != nil and state.name in names and kind != evStart:
      touchesEvents = true
  # Traces that are read, with what takes them one step further where that is still to be done.
  for (locality, role, index, isLate) in [(loPre, "pre_state", "source", kind == evPre), (loPost, "post_state", "target", kind in {evPre, evPost})]:
    let states = builder.statesOf(locality)
    let steps = if isLate: builder.stepRules(states, dt) else: @[]
    var read: HashSet[string]
    for state in states:
      if state.name in names:
        read.incl state.name
    let wanted = closure(steps, read)
    for state in states:
      if state.name in wanted:
        let all = builder.writer.argument(role, state.name, "const float*", "all_" & identifier(state.name))
        builder.writer.line("float " & identifier(state.name) & " = " & all & "[" & index & "];", depth)
    builder.emitRules(steps, wanted, depth)
  builder.emitNeighbours(names, depth)
  var stored: seq[string]
  for state in builder.model.states:
    let isEvent = not state.isClocked and state.derivative != nil
    if state.locality == loSynapse and (state.name in names or (isEvent and touchesEvents)):
      var isWritten = isEvent
      for assignment in kept:
        isWritten = isWritten or assignment.name == state.name
      for rule in rules:
        isWritten = isWritten or rule.variable == state.name
      let all = builder.writer.argument("synapse_state", state.name, "float*", "all_" & identifier(state.name))
      builder.writer.line("float " & identifier(state.name) & " = " & all & "[s];", depth)
      if isWritten and kind != evStart:
        stored.add all & "[s] = " & identifier(state.name) & ";"
  if touchesEvents:
    builder.emitElapsed(depth, report)
  if rules.len > 0:
    var all: HashSet[string]
    for rule in rules:
      all.incl rule.variable
    builder.emitRules(rules, all, depth)
  for assignment in kept:
    builder.emitAssignment(assignment, depth)
  for text in stored:
    builder.writer.line(text, depth)

proc finish(builder: var Builder; kind: EventKind; index: string; objectNumber: int; lead: seq[string]): SynapseKernel =
  ## Constants and frame around the lines.
  var head = lead
  if builder.writer.draws > 0:
    discard builder.writer.argument("step", "", "unsigned long long", "step")
    discard builder.writer.argument("seed", "", "unsigned long long", "seed")
  if "t" in builder.used:
    discard builder.writer.argument("step", "", "unsigned long long", "step")
    let dt = builder.pool.constant(symbol("dt"))
    builder.used.incl dt.name
    head.add "const float " & identifier("t") & " = (float)step * " & identifier(dt.name) & ";"
  if "reward" in builder.used:
    discard builder.writer.argument("reward", "", "float", "reward")
  for constant in builder.pool.constants:
    if constant.name in builder.used:
      discard builder.writer.argument("parameter", builder.prefix & constant.name, "float", identifier(constant.name))
      if constant.meaning.len > 0:
        result.comments.add "  " & constant.name & ": " & constant.meaning
  builder.writer.prepend(head)
  result.phase = kind
  result.body = builder.writer.bodyText
  result.parameters = builder.writer.parameters

func stream(index: string; objectNumber: int; step = "(unsigned int)step"): string =
  "const AgpuStream stream = {" & index & ", " & $objectNumber & "u, " & step & ", (unsigned int)seed, (unsigned int)(seed >> 32)};"

proc eventKernel(builder: Builder; kind: EventKind; assignments: seq[Assignment]; dt: float; objectNumber: int; pool: var ConstantPool;
                 report: var Report): SynapseKernel =
  var own = builder
  own.pool = pool
  own.writer = initKernelWriter("")
  let list = own.writer.argument("spike_list", "", "const unsigned int*", "spike_list")
  let count = own.writer.argument("spike_count", "", "const unsigned int*", "spike_count")
  own.writer.line("for (unsigned int k = blockIdx.x; k < *" & count & "; k += gridDim.x) {")
  if kind == evPre:
    let starts = own.writer.argument("row_starts", "", "const unsigned int*", "row_starts")
    let ends = own.writer.argument("row_ends", "", "const unsigned int*", "row_ends")
    let columns = own.writer.argument("columns", "", "const unsigned int*", "columns")
    own.writer.line("const unsigned int source = " & list & "[k];", 2)
    own.writer.line("for (unsigned int s = " & starts & "[source] + threadIdx.x; s < " & ends & "[source]; s += blockDim.x) {", 2)
    own.writer.line("const unsigned int target = " & columns & "[s];", 3)
  else:
    let starts = own.writer.argument("column_starts", "", "const unsigned int*", "column_starts")
    let ends = own.writer.argument("column_ends", "", "const unsigned int*", "column_ends")
    let places = own.writer.argument("column_synapses", "", "const unsigned int*", "column_synapses")
    let sources = own.writer.argument("column_sources", "", "const unsigned int*", "column_sources")
    own.writer.line("const unsigned int target = " & list & "[k];", 2)
    own.writer.line("for (unsigned int place = " & starts & "[target] + threadIdx.x; place < " & ends & "[target]; place += blockDim.x) {", 2)
    own.writer.line("const unsigned int s = " & places & "[place];", 3)
    own.writer.line("const unsigned int source = " & sources & "[place];", 3)
  let at = own.writer.lineCount
  own.emitSynapse(kind, assignments, @[], dt, 3, report)
  if own.writer.draws > 0:
    own.writer.insertLine(at, "        " & stream("s", objectNumber))
  own.writer.line("}", 2)
  own.writer.line("}")
  result = own.finish(kind, "s", objectNumber, @[])
  pool = own.pool

proc everySynapse(builder: Builder; kind: EventKind; assignments: seq[Assignment]; dt: float; objectNumber: int; pool: var ConstantPool;
                  report: var Report): SynapseKernel =
  ## `clocked` and `on_reward`, and what `clocked` adds before the first step: one work-item for each synapse.
  var own = builder
  own.pool = pool
  own.writer = initKernelWriter("")
  let count = own.writer.argument("count", "", "unsigned int", "count")
  let sources = own.writer.argument("synapse_sources", "", "const unsigned int*", "synapse_sources")
  let columns = own.writer.argument("columns", "", "const unsigned int*", "columns")
  own.writer.line("const unsigned int s = blockIdx.x * blockDim.x + threadIdx.x;")
  own.writer.line("if (s >= " & count & ") return;")
  own.writer.line("const unsigned int source = " & sources & "[s];")
  own.writer.line("const unsigned int target = " & columns & "[s];")
  let at = own.writer.lineCount
  let rules = if kind == evClocked: own.stepRules(own.statesOf(loSynapse, true), dt) else: @[]
  own.emitSynapse(kind, assignments, rules, dt, 1, report)
  if own.writer.draws > 0:
    own.writer.insertLine(at, if kind == evStart: stream("s", objectNumber, "0xFFFFFFFFu") else: stream("s", objectNumber))
  result = own.finish(kind, "s", objectNumber, @[])
  pool = own.pool

proc traceKernel(builder: Builder; kind: EventKind; assignments: seq[Assignment]; dt: float; pool: var ConstantPool): SynapseKernel =
  ## One step of the traces of a side, then what a spike does to them.
  var own = builder
  own.pool = pool
  own.writer = initKernelWriter("")
  let locality = if kind == evTracePre: loPre else: loPost
  let states = own.statesOf(locality)
  let count = own.writer.argument("count", "", "unsigned int", "count")
  let events = own.writer.argument("events", "", "const unsigned char*", "events")
  own.writer.line("const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;")
  own.writer.line("if (i >= " & count & ") return;")
  var stored: seq[string]
  for state in states:
    let all = own.writer.argument(if kind == evTracePre: "pre_state" else: "post_state", state.name, "float*", "all_" & identifier(state.name))
    own.writer.line("float " & identifier(state.name) & " = " & all & "[i];")
    stored.add all & "[i] = fabsf(" & identifier(state.name) & ") < 1e-30f ? 0.0f : " & identifier(state.name) & ";"
  var all: HashSet[string]
  for state in states:
    all.incl state.name
  own.emitRules(own.stepRules(states, dt), all, 1)
  own.writer.line("if (" & events & "[i]) {")
  for assignment in assignments:
    if assignment.fedName.len == 0 and own.localityOf(assignment.name) == locality:
      own.emitAssignment(assignment, 2)
  own.writer.line("}")
  for text in stored:
    own.writer.line(text)
  result = own.finish(kind, "i", 0, @[])
  pool = own.pool

proc synapseKernels*(model: SynapseModel; ends: Ends; pool: var ConstantPool; prefix: string; dt: float; firstObject: int; isWide: bool;
                     report: var Report): seq[SynapseKernel] =
  ## In the order of their phases. What the kernels need of `pool` is in it afterwards; its constants are named with `prefix` in the plan.
  var builder = Builder(model: model, ends: ends, prefix: prefix, isWide: isWide)
  for name in model.scope.symbols.keys:
    if name notin pool.equations.constantNames:
      builder.everything.incl name
  var hasPre, hasPost, hasClocked: bool
  for state in model.states:
    hasPre = hasPre or state.locality == loPre
    hasPost = hasPost or state.locality == loPost
    hasClocked = hasClocked or state.isClocked
  builder.pool = pool
  # What arrives in a step was added in the one before; before the first one nothing was.
  let early = builder.adding(model.clocked)
  if early.len > 0:
    result.add builder.everySynapse(evStart, early, dt, firstObject + 2, pool, report)
  if builder.needed(model.onPre).len > 0:
    result.add builder.eventKernel(evPre, model.onPre, dt, firstObject, pool, report)
  if hasPre:
    result.add builder.traceKernel(evTracePre, model.onPre, dt, pool)
  if builder.needed(model.onPost).len > 0:
    result.add builder.eventKernel(evPost, model.onPost, dt, firstObject + 1, pool, report)
  if hasPost:
    result.add builder.traceKernel(evTracePost, model.onPost, dt, pool)
  if hasClocked or model.clocked.len > 0:
    result.add builder.everySynapse(evClocked, model.clocked, dt, firstObject + 2, pool, report)
  if model.onReward.len > 0:
    result.add builder.everySynapse(evReward, model.onReward, dt, firstObject + 3, pool, report)
