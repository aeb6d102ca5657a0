## The plan as JSON: the same plan gives the same bytes. The format is described in docs/plan_schema.md.

import std/strutils
import diagnostics, numbers, plan

const
  PlanSchema* = "amdgpu.network_plan"
  PlanVersion* = 1

func quoted(text: string): string =
  result = "\""
  for character in text:
    case character
    of '"': result.add "\\\""
    of '\\': result.add "\\\\"
    of '\n': result.add "\\n"
    of '\r': result.add "\\r"
    of '\t': result.add "\\t"
    else:
      if character < ' ':
        result.add "\\u" & toHex(character.ord, 4)
      else:
        result.add character
  result.add '"'

func field(name, value: string): string =
  quoted(name) & ": " & value

func inline(fields: varargs[string]): string =
  "{" & fields.join(", ") & "}"

func lines(items: seq[string]): string =
  ## One item on each line, so that plans can be read and compared.
  if items.len == 0:
    return "[]"
  "[\n    " & items.join(",\n    ") & "\n  ]"

func numbers(values: seq[int]): string =
  "[" & values.join(", ") & "]"

func toJson(activation: ActivationPlan): string =
  inline(field("kind", quoted(activation.kind)), field("alpha", floatText(activation.alpha)),
         field("beta", floatText(activation.beta)))

func toJson(initializer: Initializer): string =
  let kind = field("kind", quoted($initializer.kind))
  case initializer.kind
  of inConstant:
    inline(kind, field("value", floatText(initializer.first)))
  of inRandom:
    inline(kind, field("low", floatText(initializer.first)), field("high", floatText(initializer.second)))
  of inNormal:
    inline(kind, field("mean", floatText(initializer.first)),
           field("standard_deviation", floatText(initializer.second)))
  of inXavier, inHe:
    inline(kind)
  of inFile:
    inline(kind, field("path", quoted(initializer.path)))

func toJson(layer: LayerPlan): string =
  inline(field("name", quoted(layer.name)), field("size", $layer.size), field("activation", toJson(layer.activation)),
         field("bias", if layer.hasBias: toJson(layer.bias) else: "null"))

func toJson(connection: ConnectionPlan; layers: seq[LayerPlan]): string =
  let source = layers[connection.source]
  let target = layers[connection.target]
  inline(field("from", quoted(source.name)), field("to", quoted(target.name)),
         field("shape", numbers(@[source.size, target.size])), field("weight", toJson(connection.weight)))

func toJson(rule: PlasticityPlan): string =
  inline(field("rule", quoted(rule.rule)), field("learning_rate", floatText(rule.learningRate)),
         field("connections", numbers(rule.connections)))

func toJson(warning: Finding): string =
  inline(field("line", $warning.span.line), field("column", $warning.span.column),
         field("message", quoted(warning.message)), field("hint", quoted(warning.hint)))

func toJson*(plan: NetworkPlan): string =
  var layers, connections, plasticity, outputs, order, warnings: seq[string]
  for layer in plan.layers:
    layers.add toJson(layer)
  for connection in plan.connections:
    connections.add toJson(connection, plan.layers)
  for rule in plan.plasticity:
    plasticity.add toJson(rule)
  for layer in plan.outputs:
    outputs.add quoted(plan.layers[layer].name)
  for layer in plan.order:
    order.add quoted(plan.layers[layer].name)
  for warning in plan.warnings:
    warnings.add toJson(warning)
  let fields = [
    field("schema", quoted(PlanSchema)),
    field("version", $PlanVersion),
    field("name", quoted(plan.name)),
    field("seed", $plan.seed),
    field("dt_seconds", if plan.hasTimeStep: floatText(plan.timeStepSeconds) else: "null"),
    field("layers", lines(layers)),
    field("connections", lines(connections)),
    field("plasticity", lines(plasticity)),
    field("input", quoted(plan.layers[plan.input].name)),
    field("outputs", "[" & outputs.join(", ") & "]"),
    field("order", "[" & order.join(", ") & "]"),
    field("warnings", lines(warnings))]
  "{\n  " & fields.join(",\n  ") & "\n}\n"
