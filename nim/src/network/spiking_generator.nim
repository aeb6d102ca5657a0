## From the declared network to the plan: groups of neurons of one model, their constants and kernels.

import std/[sets, tables]
import constants, device_code, diagnostics, dimension_solver, dimensions, equation_analysis, formula, initial_values, kernel_text, neuron_model, plan, positions,
  scope, spiking_network, spiking_plan, stability, synapse_kernels, synapse_model, update_kernel, weight_bounds

type
  Generated* = object
    plan*: SpikingPlan
    text: string           ## the kernels, without what stands at the head
    bodies: Table[string, string]  ## of synapse kernels: text to name, since projections often share them
    kernelNames: HashSet[string]

const
  PositionPrefix = "position "
    ## Of the parameters that hold coordinates: no name of the language has a blank.
  FirstSynapseObject = 1 shl 24
    ## Numbers of random streams: groups take two each from 0, projections four each from here.

proc unitOf(model: NeuronModel; name: string): string =
  unitSymbol(model.scope.solver.settle(model.scope.symbols[name].dimension))

func valueOf(population: Population; name: string; default: Initializer): Initializer =
  if name in population.given: population.given[name].initializer else: default

proc addRange(values: var seq[ValueRange]; first, count: int; value: Initializer) =
  ## Neighbours with one constant become one range.
  if values.len > 0 and values[^1].value == value and value.kind == inConstant:
    values[^1].count += count
  else:
    values.add ValueRange(first: first, count: count, value: value)

proc inOrderOfUse(member: Population; equations: Equations): seq[(string, Formula)] =
  ## Variables that start as an expression, behind those that it uses; of such that use each other the one given first.
  var pending: seq[(string, Formula)]
  for name, value in member.given:
    if value.formula != nil:
      pending.add (name, equations.writtenOut(value.formula))
  while pending.len > 0:
    var chosen = 0
    for idx, (name, formula) in pending:
      var isReady = true
      for (other, _) in pending:
        isReady = isReady and (other == name or not formula.uses(other))
      if isReady:
        chosen = idx
        break
    result.add pending[chosen]
    pending.delete chosen

proc initializeKernel(model: NeuronModel; group: int; members: seq[Population]; bindings: seq[Bindings]; equations: Equations;
                      text: var string): KernelPlan =
  ## Expressions of the index, of parameters and of other variables, which have their values already or are computed above.
  var writer = initKernelWriter("initialize_" & identifier(model.name))
  let count = writer.argument("count", "", "unsigned int", "count")
  writer.line("const unsigned int neuron = blockIdx.x * blockDim.x + threadIdx.x;")
  writer.line("if (neuron >= " & count & ") return;")
  var lines = writer
  for place, member in members:
    var constants: Table[string, Formula]
    for name, value in bindings[place]:
      constants[name] = number(value)
    constants.del "i"
    constants.del "size"
    for (name, value) in inOrderOfUse(member, equations):
      let formula = value.replace(constants)
      for used in formula.names:
        if used in ["i", "size"]:
          continue
        if member.positions.isThere and used in AxisNames and used notin model.scope.symbols:
          lines.identifiers[used] = lines.argument("parameter_array", PositionPrefix & used, "const float*", "all_" & used) & "[neuron]"
          continue
        var isState = false
        for state in model.states:
          isState = isState or state.name == used
        let (role, ctype) = if isState: ("state", "float*") else: ("parameter_array", "const float*")
        lines.identifiers[used] = lines.argument(role, used, ctype, "all_" & identifier(used)) & "[neuron]"
      let all = lines.argument("state", name, "float*", "all_" & identifier(name))
      lines.identifiers["i"] = "(float)(neuron - " & $member.first & "u)"
      lines.identifiers["size"] = $member.size & ".0f"
      lines.line("if (neuron >= " & $member.first & "u && neuron < " & $(member.first + member.size) & "u)")
      lines.line(all & "[neuron] = " & lines.c(formula) & ";  // population " & member.name & ", " & name & ": " & value.text, 2)
  if lines.draws > 0:
    discard lines.argument("seed", "", "unsigned long long", "seed")
    lines.insertLine(2, "const AgpuStream stream = {neuron, " & $(2 * group + 1) & "u, 0u, (unsigned int)seed, (unsigned int)(seed >> 32)};")
  lines.comments.add "initial values of neuron '" & model.name & "'"
  text.add lines.textOf & "\n"
  KernelPlan(name: lines.name, phase: "initialize", group: group, projection: -1, parameters: lines.parameters)

proc wideInputs(network: SpikingNetwork; group: int): HashSet[string] =
  ## Inputs that synapses add amounts to that nothing in the text bounds.
  for projection in network.projections:
    if projection.synapse != nil and projection.plan.additions > 0 and network.populations[projection.target].group == group:
      for name in projection.synapse.fed:
        result.incl name

proc inputsOf(network: SpikingNetwork; group: int): seq[string] =
  ## What connections and drives feed, and what the model declares.
  let model = block:
    var found: NeuronModel
    for population in network.populations:
      if population.group == group:
        found = population.model
    found
  result = model.inputs
  for projection in network.projections:
    if projection.synapse == nil and projection.plan.input.len > 0 and network.populations[projection.target].group == group and projection.plan.input notin result:
      result.add projection.plan.input
    if projection.synapse != nil and network.populations[projection.target].group == group:
      for name in projection.synapse.fed:
        if name notin result:
          result.add name
  for drive in network.drives:
    if drive.kind == dkPoisson and network.populations[network.populationIndex(drive.population)].group == group and
        drive.variable notin result:
      result.add drive.variable

proc idleVariables(network: SpikingNetwork; group: int; members: seq[Population]): HashSet[string] =
  ## Variables that nothing changes, feeds or looks at, one number in each population: constants in all but name.
  let model = members[0].model
  for state in model.states:
    if state.derivative != nil or network.inputsOf(group).contains(state.name):
      continue
    var isIdle = true
    for assignment in model.reset:
      isIdle = isIdle and assignment.name != state.name
    for member in members:
      isIdle = isIdle and (state.name notin member.given or
        (member.given[state.name].formula == nil and member.given[state.name].initializer.kind == inConstant))
      for record in network.records:
        isIdle = isIdle and not (record.population == member.name and record.variable == state.name)
      for drive in network.drives:
        isIdle = isIdle and not (drive.population == member.name and drive.variable == state.name)
      for projection in network.projections:
        if projection.synapse != nil:
          isIdle = isIdle and projection.plan.source != member.name and projection.plan.target != member.name
    if isIdle:
      result.incl state.name
  if result.len == model.states.len:
    result.clear

func without(model: NeuronModel; names: HashSet[string]): NeuronModel =
  ## The model with some of its variables taken for constants.
  var kept: seq[StateVariable]
  for state in model.states:
    if state.name notin names:
      kept.add state
  NeuronModel(name: model.name, span: model.span, isBuiltIn: model.isBuiltIn, scope: model.scope, parameters: model.parameters, states: kept,
              aliases: model.aliases, inputs: model.inputs, threshold: model.threshold, reset: model.reset, refractory: model.refractory,
              integrator: model.integrator, target: model.target)

proc startOf(state: StateVariable; member: Population; values: Bindings; report: var Report): Initializer =
  ## How a variable starts in a population.
  var start = 0.0
  if state.initial != nil and state.name notin member.given and not state.initial.evaluate(values, start):
    report.error(member.span, "the initial value of " & shown(state.name) & " depends on a parameter that differs between neurons",
                 expected = "a value of its own in population " & shown(member.name))
  member.valueOf(state.name, constantValue(start))

func middle(initial: Initializer; value: var float): bool =
  ## A value that stands for those of a distribution.
  case initial.kind
  of inConstant, inNormal, inClippedNormal: value = initial.first
  of inRandom: value = (initial.first + initial.second) / 2
  else: return false
  true

proc valuesAtStart(network: SpikingNetwork; member: Population; model: NeuronModel; values: Bindings): Bindings =
  ## Of parameters and variables, as far as numbers stand in the text.
  result = values
  for parameter in model.parameters:
    var value: float
    if parameter.name notin result and member.valueOf(parameter.name, constantValue(parameter.default)).middle(value):
      result[parameter.name] = value
  for state in model.states:
    var value = 0.0
    if state.name in member.given:
      if member.given[state.name].formula != nil or not member.given[state.name].initializer.middle(value):
        continue
    elif state.initial != nil and not state.initial.evaluate(values, value):
      continue
    result[state.name] = value
  for name in network.inputsOf(member.group):
    if name notin result:
      result[name] = 0

func positionsAlong(axis: int; members: seq[Population]): ValuesPlan =
  ## Where the neurons of a group are on an axis.
  result = ValuesPlan(name: PositionPrefix & AxisNames[axis])
  for member in members:
    let isThere = member.positions.isThere and AxisNames[axis] in member.positions.axisNames
    result.values.addRange(member.first, member.size, if isThere: Initializer(kind: inPosition, axis: axis) else: constantValue(0))

proc addGroup(generated: var Generated; network: SpikingNetwork; group: int; report: var Report) =
  var members: seq[Population]
  for population in network.populations:
    if population.group == group:
      members.add population
  let whole = members[0].model
  let idle = network.idleVariables(group, members)
  let model = whole.without(idle)
  var plan = GroupPlan(name: model.name)
  var names: seq[string]
  for member in members:
    plan.size += member.size
    names.add member.name
  # Parameters that are one number in every population are folded into constants; the others are arrays.
  var uniform: HashSet[string]
  var arrays: seq[string]
  for parameter in model.parameters:
    var isUniform = true
    for member in members:
      isUniform = isUniform and member.valueOf(parameter.name, constantValue(0)).kind == inConstant
    if isUniform: uniform.incl parameter.name
    else: arrays.add parameter.name
  var bindings: seq[Bindings]
  for member in members:
    var values = {"dt": network.dt}.toTable
    for parameter in model.parameters:
      let value = member.valueOf(parameter.name, constantValue(parameter.default))
      if parameter.name in uniform:
        values[parameter.name] = value.first
    for state in whole.states:
      if state.name in idle:
        values[state.name] = startOf(state, member, values, report).first
    bindings.add values
  let equations = initEquations(model, uniform + idle)
  for idx, member in members:
    model.warnOfSteps(equations, network.valuesAtStart(member, model, bindings[idx]), network.dt, member.name, report)
  plan.inputs = network.inputsOf(group)
  let kernel = updateKernel(model, group, initConstantPool(equations, bindings), arrays, plan.inputs,
                            network.wideInputs(group), network.dt, names, report)
  for state in model.states:
    var values = ValuesPlan(name: state.name, unit: model.unitOf(state.name))
    for idx, member in members:
      values.values.addRange(member.first, member.size, startOf(state, member, bindings[idx], report))
    plan.variables.add values
  for constant in kernel.constants:
    var values = ValuesPlan(name: constant.name, unit: if constant.meaning.len == 0: model.unitOf(constant.name) else: "")
    for idx, member in members:
      values.values.addRange(member.first, member.size, constantValue(constant.values[idx]))
    plan.parameters.add values
  for name in arrays:
    var values = ValuesPlan(name: name, unit: model.unitOf(name))
    for member in members:
      for parameter in model.parameters:
        if parameter.name == name:
          values.values.addRange(member.first, member.size, member.valueOf(name, constantValue(parameter.default)))
    plan.parameters.add values
  plan.hasRefractory = kernel.hasRefractory
  generated.text.add kernel.text & "\n"
  generated.plan.kernels.add kernel.plan
  var needsKernel = false
  for member in members:
    for value in member.given.values:
      needsKernel = needsKernel or value.formula != nil
  if needsKernel:
    let start = initializeKernel(model, group, members, bindings, equations, generated.text)
    generated.plan.kernels.add start
    for axis, name in AxisNames:
      for parameter in start.parameters:
        if parameter.argument == ("parameter_array", PositionPrefix & name):
          plan.parameters.add positionsAlong(axis, members)
  generated.plan.groups.add plan

proc addConstantOf(generated: var Generated; pool: ConstantPool; name, prefix: string; group: int) =
  ## A constant of a projection, kept among the parameters of its target's group.
  for parameter in generated.plan.groups[group].parameters:
    if parameter.name == name:
      return
  for constant in pool.constants:
    if prefix & constant.name == name:
      generated.plan.groups[group].parameters.add ValuesPlan(name: name, values: @[
        ValueRange(first: 0, count: generated.plan.groups[group].size, value: constantValue(constant.values[0]))])

proc synapseVariable(projection: Projection; state: SynapseState; values: Bindings): SynapseVariablePlan =
  let model = projection.synapse
  var start = 0.0
  if state.initial != nil:
    discard state.initial.evaluate(values, start)
  result = SynapseVariablePlan(name: state.name, unit: unitSymbol(model.scope.solver.settle(model.scope.symbols[state.name].dimension)),
                               value: constantValue(start))
  if state.name in projection.given:
    result.value = projection.given[state.name].initializer
  elif state.name == "w":
    result.value = projection.plan.weight

proc poolOf(network: SpikingNetwork; projection: Projection): ConstantPool =
  ## What is one number in a projection whose synapses have code: parameters of the synapse and of the target's neuron.
  let model = projection.synapse
  let target = network.populations[projection.target]
  var values = {"dt": network.dt}.toTable
  var constantNames: HashSet[string]
  for parameter in target.model.parameters:
    let value = target.valueOf(parameter.name, constantValue(parameter.default))
    if value.kind == inConstant:
      values[parameter.name] = value.first
      constantNames.incl parameter.name
  for parameter in model.parameters:
    values[parameter.name] = projection.parameters.getOrDefault(parameter.name, parameter.default)
    constantNames.incl parameter.name
  # Variables and definitions of the synapse hide the target's parameters of those names.
  for state in model.states:
    constantNames.excl state.name
  for alias in model.aliases:
    constantNames.excl alias.name
  let whole = NeuronModel(name: model.name, scope: model.scope, aliases: model.aliases)
  initConstantPool(initEquations(whole, constantNames), @[values])

proc boundAmounts(network: var SpikingNetwork; index: int) =
  ## What a spike of a projection whose synapses have code adds at most.
  var projection = network.projections[index]
  let pool = network.poolOf(projection)
  var initial: Table[string, Initializer]
  for state in projection.synapse.states:
    initial[state.name] = projection.synapseVariable(state, pool.populations[0]).value
  let amounts = projection.synapse.amountsOf(pool.equations, initial, pool.populations[0])
  if amounts.isBounded:
    projection.plan.hasWeightBound = true
    projection.plan.weightBound = amounts.bound
  else:
    projection.plan.amountScale = amounts.scale
    projection.plan.additions = amounts.additions
  network.projections[index] = projection

proc addSynapse(generated: var Generated; network: var SpikingNetwork; index: int; report: var Report) =
  ## Variables, constants and kernels of a projection whose synapses have code.
  var projection = network.projections[index]
  let model = projection.synapse
  let target = network.populations[projection.target]
  var pool = network.poolOf(projection)
  var uneven: HashSet[string]
  for name, value in projection.given:
    if value.initializer.kind != inConstant:
      uneven.incl name
  var known = pool.equations.constantNames
  model.findLocality(known, uneven)
  for state in model.states:
    let variable = synapseVariable(projection, state, pool.populations[0])
    case state.locality
    of loSynapse: projection.plan.variables.add variable
    of loPre: projection.plan.preVariables.add variable
    of loPost: projection.plan.postVariables.add variable
    if state.name == "w":
      projection.plan.weight = variable.value
  if projection.plan.variables.len == 0:
    # The engine tells projections with code of their own by their variables.
    projection.plan.variables.add SynapseVariablePlan(name: "w", value: projection.plan.weight)
  var equations: seq[Formula]
  for state in model.states:
    if state.derivative != nil:
      equations.add pool.equations.writtenOut(state.derivative)
  model.scope.warnOfNegativeTimes(model.parameters, equations, pool.populations[0], "synapse " & shown(model.name), report)
  let prefix = projection.plan.source & " -> " & projection.plan.target & " #" & $index & ": "
  let ends = Ends(source: if projection.source >= 0: network.populations[projection.source].model else: nil, target: target.model,
                  input: projection.plan.input)
  var targetValues = {"dt": network.dt}.toTable
  for parameter in target.model.parameters:
    var value: float
    if target.valueOf(parameter.name, constantValue(parameter.default)).middle(value):
      targetValues[parameter.name] = value
  projection.plan.coupling = model.couplingOf(ends, pool.equations, initEquations(target.model, initHashSet[string]()), pool.populations[0],
                                              network.valuesAtStart(target, target.model, targetValues), network.dt)
  for kernel in synapseKernels(model, ends, pool, prefix, network.dt, FirstSynapseObject + 4 * index, projection.plan.additions > 0, report):
    var name = $kernel.phase & "_" & identifier(model.name)
    let key = $kernel.phase & kernelText("", kernel.parameters, kernel.body)
    if key in generated.bodies:
      name = generated.bodies[key]
    else:
      var number = 2
      let plain = name
      while name in generated.kernelNames:
        name = plain & "_" & $number
        inc number
      generated.kernelNames.incl name
      generated.bodies[key] = name
      generated.text.add "// " & $kernel.phase & " of synapse '" & model.name & "' (" &
        (if model.isBuiltIn: "built in" else: "line " & $model.span.line) & ")\n"
      for comment in kernel.comments:
        generated.text.add "// " & comment & "\n"
      generated.text.add kernelText(name, kernel.parameters, kernel.body) & "\n"
    generated.plan.kernels.add KernelPlan(name: name, phase: $kernel.phase, group: -1, projection: index, parameters: kernel.parameters)
    for parameter in kernel.parameters:
      if parameter.argument.role == "parameter":
        generated.addConstantOf(pool, parameter.argument.name, prefix, target.group)
  if pool.notFinite.len > 0:
    report.error(model.span, "in " & model.scope.owner & ", " & pool.notFinite & " has no finite value",
                 hint = "a parameter is zero that something is divided by, or a number is out of range")
  projection.plan.input = ""
  network.projections[index] = projection

proc assignGroups(network: var SpikingNetwork): int =
  ## Populations of one model share a group; a group's index space has them in the order of their declaration.
  var groups: OrderedTable[string, int]
  var sizes: seq[int]
  for population in network.populations.mitems:
    if population.model.name notin groups:
      groups[population.model.name] = sizes.len
      sizes.add 0
    population.group = groups[population.model.name]
    population.first = sizes[population.group]
    sizes[population.group] += population.size
  sizes.len

proc generate*(network: var SpikingNetwork; report: var Report): SpikingPlan =
  var generated: Generated
  let groups = network.assignGroups
  for idx in 0 ..< network.projections.len:
    if network.projections[idx].synapse != nil:
      network.boundAmounts(idx)
  for group in 0 ..< groups:
    generated.addGroup(network, group, report)
  for population in network.populations:
    generated.plan.populations.add PopulationPlan(name: population.name, group: population.group, first: population.first,
                                                        size: population.size, positions: population.positions.plan)
  for source in network.sources:
    generated.plan.sources.add source.plan
  generated.plan.drives = network.drives
  generated.plan.rewards = network.rewards
  for idx in 0 ..< network.projections.len:
    if report.isFull:
      return
    if network.projections[idx].synapse != nil:
      generated.addSynapse(network, idx, report)
    generated.plan.projections.add network.projections[idx].plan
  generated.plan.records = network.records
  generated.plan.source = headFor(generated.text) & generated.text
  generated.plan
