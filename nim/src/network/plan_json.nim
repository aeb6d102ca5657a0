## The plan as JSON: the same plan gives the same bytes. The format is described in docs/plan_schema.md.

import std/strutils
import diagnostics, json_text, numbers, plan, spiking_json

const
  PlanSchema* = "amdgpu.network_plan"
  PlanVersion* = 1
  SpikingVersion* = 2

func toJson(activation: ActivationPlan): string =
  inline(field("kind", quoted(activation.kind)), field("alpha", floatText(activation.alpha)),
         field("beta", floatText(activation.beta)))

func toJson(layer: LayerPlan): string =
  inline(field("name", quoted(layer.name)), field("size", $layer.size), field("activation", toJson(layer.activation)),
         field("bias", if layer.hasBias: toJson(layer.bias) else: "null"))

func toJson(connection: ConnectionPlan; layers: seq[LayerPlan]): string =
  let source = layers[connection.source]
  let target = layers[connection.target]
  inline(field("from", quoted(source.name)), field("to", quoted(target.name)),
         field("shape", numbers(@[source.size, target.size])), field("weight", toJson(connection.weight)))

func toJson(rule: PlasticityPlan): string =
  var fields = @[field("rule", quoted(rule.rule)), field("learning_rate", floatText(rule.learningRate))]
  if rule.rule == "bcm":
    fields.add field("threshold_rate", floatText(rule.thresholdRate))
  fields.add field("connections", numbers(rule.connections))
  inline(fields)

func toJson(warning: Finding): string =
  inline(field("line", $warning.span.line), field("column", $warning.span.column),
         field("message", quoted(warning.message)), field("hint", quoted(warning.hint)))

func toJson*(plan: NetworkPlan): string =
  if plan.isSpiking:
    var warnings: seq[string]
    for warning in plan.warnings:
      warnings.add toJson(warning)
    return outermost([
      field("schema", quoted(PlanSchema)),
      field("version", $SpikingVersion),
      field("name", quoted(plan.name)),
      field("seed", $plan.seed),
      field("dt_seconds", floatText(plan.timeStepSeconds)),
      field("warnings", lines(warnings)),
      field("spiking", toJson(plan.spiking))])
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
  outermost(fields)
