## The two front ends, text and macro, lead to the same plan.

import std/[macros, strutils, unittest]
import ../src/network/[compile, diagnostics, dsl, plan_json]

macro findingsOf(name, body: untyped): untyped =
  ## The findings of a macro body as text, where `neuralNetwork` would stop the compilation.
  var report: Report
  discard planOfBody(name, body, report)
  newLit(report.renderErrors(""))

proc planOf(text: string): string =
  var report: Report
  let plan = compileText(text, "", report)
  check report.errorCount == 0
  if report.errorCount > 0:
    echo report.renderErrors(text)
  plan.toJson

neuralNetwork testNetwork:
  layer input(784, activation: identity)
  layer hidden(256, activation: relu)
  layer output(10, activation: softmax)
  connect input -> hidden (weight: random(-0.5, 0.5))
  connect hidden -> output (weight: random(-0.5, 0.5))
  plasticity hebbian(learning_rate: 0.001)

neuralNetwork everything:
  dt = 0.1.ms
  seed = 42
  # every initial value and every activation with parameters
  layer input(4, bias: constant(0.25))
  layer a(1, activation: softmax)
  layer b(8, activation: neuromorphic(1.5, -0.3), bias: normal(0, 1e-3))
  layer c(8, activation: neuromorphic(beta: 2), bias: none)
  layer d(3, activation: leaky_relu(alpha: 0.2), bias: random(low: -1, high: 1))
  layer e(3, activation: elu(0.5), bias: file("bias.npy"))
  connect input -> [a, b](weight: 0.125)
  connect b -> c(weight: xavier)
  connect [a, c] -> d(weight: he)
  connect d -> e(weight: normal(mean: 0.0, sd: 0.30000000000000004))
  connect input -> e(weight: file("w.npy"))
  plasticity hebbian(learning_rate: -0.5, on: b -> c)
  plasticity hebbian(0.0, on: [a, c] -> d)

const
  testNetworkText = """
neuralNetwork testNetwork:
  layer input(784, activation: identity)
  layer hidden(256, activation: relu)
  layer output(10, activation: softmax)
  connect input -> hidden (weight: random(-0.5, 0.5))
  connect hidden -> output (weight: random(-0.5, 0.5))
  plasticity hebbian(learning_rate: 0.001)
"""
  everythingText = """
neuralNetwork everything:
  dt = 0.1.ms
  seed = 42
  # every initial value and every activation with parameters
  layer input(4, bias: constant(0.25))
  layer a(1, activation: softmax)
  layer b(8, activation: neuromorphic(1.5, -0.3), bias: normal(0, 1e-3))
  layer c(8, activation: neuromorphic(beta: 2), bias: none)
  layer d(3, activation: leaky_relu(alpha: 0.2), bias: random(low: -1, high: 1))
  layer e(3, activation: elu(0.5), bias: file("bias.npy"))
  connect input -> [a, b](weight: 0.125)
  connect b -> c(weight: xavier)
  connect [a, c] -> d(weight: he)
  connect d -> e(weight: normal(mean: 0.0, sd: 0.30000000000000004))
  connect input -> e(weight: file("w.npy"))
  plasticity hebbian(learning_rate: -0.5, on: b -> c)
  plasticity hebbian(0.0, on: [a, c] -> d)
"""

suite "text and macro":
  test "the requirement documents' network has the same plan through both front ends":
    check planOf(testNetworkText) == testNetwork.planJson
    check testNetwork.name == "testNetwork"

  test "every initial value and activation has the same plan through both front ends":
    check planOf(everythingText) == everything.planJson

  test "both front ends find the same errors":
    const found = findingsOf wrong:
      layer input(0, activation: rellu)
      layer hidden(3, activaton: relu)
      conect a -> b
      connect input -> hiden (weight: random(0.5, -0.5))
      plasticity stdp(tau_plus: 20.ms, on: exc -> exc)
      threshold: v > vt
      dge/dt = -ge/taue
    const text = """
findingsOf wrong:
      layer input(0, activation: rellu)
      layer hidden(3, activaton: relu)
      conect a -> b
      connect input -> hiden (weight: random(0.5, -0.5))
      plasticity stdp(tau_plus: 20.ms, on: exc -> exc)
      threshold: v > vt
      dge/dt = -ge/taue
"""
    var report: Report
    discard compileText(text.replace("findingsOf", "neuralNetwork"), "", report)
    check report.renderErrors("") == found
    check report.errorCount == 9

  test "a wrong macro body stops the compilation":
    check not compiles(
      block:
        neuralNetwork cyclic:
          layer a(1)
          connect a -> a
    )
    check compiles(
      block:
        neuralNetwork fine:
          layer a(1)
    )
