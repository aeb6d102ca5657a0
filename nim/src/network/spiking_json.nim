## The object `spiking` of the plan, as docs/plan_schema.md describes it.

import std/strutils
import json_text, numbers, references, spiking_plan

func names(items: seq[string]): string =
  result = "["
  for idx, item in items:
    result.add (if idx > 0: ", " else: "") & quoted(item)
  result.add "]"

func floats(items: seq[float]): string =
  result = "["
  for idx, item in items:
    result.add (if idx > 0: ", " else: "") & floatText(item)
  result.add "]"

func list(items: seq[string]): string =
  result = "["
  for idx, item in items:
    result.add (if idx > 0: ", " else: "") & item
  result.add "]"

func indentedLines(items: seq[string]): string =
  ## One item on each line, two levels deep.
  if items.len == 0:
    return "[]"
  result = "[\n"
  for idx, item in items:
    result.add "      " & item & (if idx < items.high: ",\n" else: "\n    ]")

func toJson(values: ValuesPlan): string =
  var ranges: seq[string]
  for part in values.values:
    ranges.add inline(field("first", $part.first), field("count", $part.count), field("value", toJson(part.value)))
  inline(field("name", quoted(values.name)), field("unit", quoted(values.unit)), field("values", list(ranges)))

func toJson(values: seq[ValuesPlan]): string =
  var items: seq[string]
  for value in values:
    items.add toJson(value)
  list(items)

func toJson(group: GroupPlan): string =
  inline(field("name", quoted(group.name)), field("size", $group.size), field("variables", toJson(group.variables)),
         field("parameters", toJson(group.parameters)), field("inputs", names(group.inputs)),
         field("has_refractory", $group.hasRefractory))

func listed(values: string; reference: Reference): string =
  ## The values, or where they come from.
  if reference.kind == rfNone:
    return values
  let origin = field($reference.kind, quoted(reference.name))
  if reference.column == 0: inline(origin) else: inline(origin, field("column", $(reference.column - 1)))

func toJson(positions: PositionsPlan): string =
  let kind = field("kind", quoted($positions.kind))
  case positions.kind
  of poNone: "null"
  of poGrid:
    inline(kind, field("counts", numbers(positions.counts)), field("spacing", floats(positions.spacing)),
           field("origin", floats(positions.origin)), field("periodic", $positions.isPeriodic))
  of poPoints:
    inline(kind, field("dimensions", if positions.dimensions > 0: $positions.dimensions else: "null"),
           field("coordinates", listed(floats(positions.coordinates), positions.reference)), field("scale", floatText(positions.scale)),
           field("period", if positions.period.len > 0: floats(positions.period) else: "null"))

func withPositions(fields: string; positions: PositionsPlan): string =
  if positions.kind == poNone: inline(fields) else: inline(fields, field("positions", toJson(positions)))

func toJson(population: PopulationPlan): string =
  let fields = [field("name", quoted(population.name)), field("group", $population.group), field("first", $population.first),
                field("size", $population.size)]
  withPositions(fields.join(", "), population.positions)

func toJson(source: SourcePlan): string =
  let head = field("kind", quoted($source.kind)) & ", " & field("name", quoted(source.name)) & ", " & field("size", $source.size)
  case source.kind
  of skPoisson: withPositions(head & ", " & field("rate_hz", toJson(source.rate)), source.positions)
  of skSpikes:
    withPositions(head & ", " & field("times_seconds", listed(floats(source.times), source.timesFrom)) & ", " &
                  field("indices", listed(numbers(source.indices), source.indicesFrom)), source.positions)

func toJson(drive: DrivePlan): string =
  let head = field("kind", quoted($drive.kind)) & ", " & field("population", quoted(drive.population))
  case drive.kind
  of dkPoisson:
    inline(head, field("input", quoted(drive.variable)), field("rate_hz", floatText(drive.rate)), field("count", floatText(drive.count)),
           field("weight", floatText(drive.weight)))
  of dkCurrent:
    inline(head, field("variable", quoted(drive.variable)), field("samples", listed(floats(drive.samples), drive.samplesFrom)),
           field("every_seconds", floatText(drive.every)))

func toJson(reward: RewardPlan): string =
  let kind = field("kind", quoted($reward.kind))
  case reward.kind
  of rkTimes: inline(kind, field("times_seconds", floats(reward.times)), field("values", floats(reward.values)))
  of rkEvery: inline(kind, field("every_seconds", floatText(reward.every)), field("value", floatText(reward.value)))

func toJson(pattern: PatternPlan): string =
  let kind = field("kind", quoted($pattern.kind))
  case pattern.kind
  of pkAllToAll, pkOneToOne: inline(kind)
  of pkProbability: inline(kind, field("probability", floatText(pattern.probability)))
  of pkFixedIn, pkFixedOut, pkFixedTotal: inline(kind, field("count", $pattern.count))
  of pkPairs:
    inline(kind, field("sources", listed(numbers(pattern.sources), pattern.sourcesFrom)),
           field("targets", listed(numbers(pattern.targets), pattern.targetsFrom)))
  of pkGaussian: inline(kind, field("sigma", floatText(pattern.sigma)), field("peak", floatText(pattern.probability)))
  of pkConvolution:
    inline(kind, field("kernel", listed(floats(pattern.kernel), pattern.kernelFrom)), field("shape", numbers(pattern.shape)),
           field("stride", numbers(pattern.stride)), field("padding", if pattern.hasPadding: numbers(pattern.padding) else: "null"))

func toJson(variables: seq[SynapseVariablePlan]): string =
  var items: seq[string]
  for variable in variables:
    items.add inline(field("name", quoted(variable.name)), field("unit", quoted(variable.unit)), field("value", toJson(variable.value)))
  list(items)

func toJson(projection: ProjectionPlan): string =
  var fields = @[field("from", quoted(projection.source)), field("to", quoted(projection.target)),
         field("input", if projection.input.len > 0: quoted(projection.input) else: "null"),
         field("pattern", toJson(projection.pattern)), field("allow_autapses", $projection.allowsAutapses),
         field("allow_multapses", $projection.allowsMultapses), field("weight", toJson(projection.weight)),
         field("weight_bound", if projection.hasWeightBound: floatText(projection.weightBound) else: "null"),
         field("delay_seconds", toJson(projection.delay)), field("storage", quoted(projection.storage)),
         field("variables", toJson(projection.variables)), field("pre_variables", toJson(projection.preVariables)),
         field("post_variables", toJson(projection.postVariables))]
  if projection.additions > 0:
    fields.add field("amounts", inline(field("scale", floatText(projection.amountScale)), field("additions", $projection.additions)))
  if projection.coupling.variable.len > 0:
    let coupling = projection.coupling
    fields.add field("coupling", inline(field("variable", quoted(coupling.variable)), field("gain", floatText(coupling.gain)),
                                        field("decay", floatText(coupling.decay)), field("constant", floatText(coupling.constant)),
                                        field("of_weight", floatText(coupling.ofWeight))))
  inline(fields)

func toJson(kernel: KernelPlan): string =
  var arguments: seq[string]
  for parameter in kernel.parameters:
    var fields = @[field("role", quoted(parameter.argument.role))]
    if parameter.argument.name.len > 0:
      fields.add field("name", quoted(parameter.argument.name))
    fields.add field("type", quoted(parameter.ctype))
    fields.add field("identifier", quoted(parameter.identifier))
    arguments.add inline(fields)
  inline(field("name", quoted(kernel.name)), field("phase", quoted(kernel.phase)),
         field("group", if kernel.group >= 0: $kernel.group else: "null"),
         field("projection", if kernel.projection >= 0: $kernel.projection else: "null"), field("arguments", list(arguments)))

func toJson(record: RecordPlan): string =
  if record.variable.len == 0:
    inline(field("kind", quoted("spikes")), field("population", quoted(record.population)))
  else:
    inline(field("kind", quoted("state")), field("population", quoted(record.population)), field("variable", quoted(record.variable)),
           field("first", $record.first), field("count", $record.count), field("every_seconds", floatText(record.every)))

func toJson*(plan: SpikingPlan): string =
  template items(all: untyped): string =
    var texts: seq[string]
    for item in all:
      texts.add toJson(item)
    indentedLines(texts)
  var fields = @[
    field("source", quoted(plan.source)),
    field("groups", items(plan.groups)),
    field("populations", items(plan.populations)),
    field("sources", items(plan.sources)),
    field("drives", items(plan.drives)),
    field("projections", items(plan.projections)),
    field("kernels", items(plan.kernels)),
    field("records", items(plan.records))]
  if plan.rewards.len > 0:
    fields.insert(field("rewards", items(plan.rewards)), fields.high - 2)
  result = "{\n"
  for idx, text in fields:
    result.add "    " & text & (if idx < fields.high: ",\n" else: "\n  }")
