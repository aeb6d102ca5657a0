## From the declared network to the plan: groups of neurons of one model, their constants and kernels.

import std/[sets, tables]
import constants, device_code, diagnostics, dimension_solver, dimensions, equation_analysis, formula, initial_values, kernel_text, neuron_model, plan,
  scope, spiking_network, spiking_plan, update_kernel

type
  Generated* = object
    plan*: SpikingPlan
    text: string           ## the kernels, without what stands at the head

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

proc initializeKernel(model: NeuronModel; group: int; members: seq[Population]; text: var string): KernelPlan =
  ## Expressions of the index, computed where they stand.
  var writer = initKernelWriter("initialize_" & identifier(model.name))
  let count = writer.argument("count", "", "unsigned int", "count")
  writer.line("const unsigned int neuron = blockIdx.x * blockDim.x + threadIdx.x;")
  writer.line("if (neuron >= " & count & ") return;")
  var lines = writer
  for member in members:
    for name, value in member.given:
      if value.formula != nil:
        let all = lines.argument("state", name, "float*", "all_" & identifier(name))
        lines.identifiers["i"] = "(float)(neuron - " & $member.first & "u)"
        lines.identifiers["size"] = $member.size & ".0f"
        lines.line("if (neuron >= " & $member.first & "u && neuron < " & $(member.first + member.size) & "u)")
        lines.line(all & "[neuron] = " & lines.c(value.formula) & ";  // population " & member.name & ", " & name & ": " & value.formula.text, 2)
  if lines.draws > 0:
    discard lines.argument("seed", "", "unsigned long long", "seed")
    lines.insertLine(2, "const AgpuStream stream = {neuron, " & $(2 * group + 1) & "u, 0u, (unsigned int)seed, (unsigned int)(seed >> 32)};")
  lines.comments.add "initial values of neuron '" & model.name & "'"
  text.add lines.textOf & "\n"
  KernelPlan(name: lines.name, phase: "initialize", group: group, projection: -1, arguments: lines.arguments)

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
    if projection.plan.input.len > 0 and network.populations[projection.target].group == group and projection.plan.input notin result:
      result.add projection.plan.input
  for drive in network.drives:
    if drive.kind == dkPoisson and network.populations[network.populationIndex(drive.population)].group == group and
        drive.variable notin result:
      result.add drive.variable

proc addGroup(generated: var Generated; network: SpikingNetwork; group: int; report: var Report) =
  var members: seq[Population]
  for population in network.populations:
    if population.group == group:
      members.add population
  let model = members[0].model
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
    bindings.add values
  plan.inputs = network.inputsOf(group)
  let kernel = updateKernel(model, group, initConstantPool(initEquations(model, uniform), bindings), arrays, plan.inputs, network.dt, names, report)
  for state in model.states:
    var values = ValuesPlan(name: state.name, unit: model.unitOf(state.name))
    for member in members:
      values.values.addRange(member.first, member.size, member.valueOf(state.name, constantValue(0)))
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
    generated.plan.kernels.add initializeKernel(model, group, members, generated.text)
  generated.plan.groups.add plan

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
  for group in 0 ..< groups:
    generated.addGroup(network, group, report)
  for population in network.populations:
    generated.plan.populations.add PopulationPlan(name: population.name, group: population.group, first: population.first, size: population.size)
  for source in network.sources:
    generated.plan.sources.add source.plan
  generated.plan.drives = network.drives
  for projection in network.projections:
    generated.plan.projections.add projection.plan
  generated.plan.records = network.records
  generated.plan.source = headFor(generated.text) & generated.text
  generated.plan
