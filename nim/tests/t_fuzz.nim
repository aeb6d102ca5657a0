## Random changes of valid texts: every one is answered with a plan or with findings, never with a defect.
##
## A run takes some texts, from a seed that it prints; AMDGPU_TEST_SEED=N takes the same again, `all` four times as many.

import std/[os, random, strutils, unittest]
import ../src/network/[compile, diagnostics, plan, plan_json]

const folder = currentSourcePath().parentDir / "golden"
const pieces = ["(", ")", "[", "]", ":", ",", "->", "=", "+=", "-", "..", "..<", ".", "\n", "\n  ", "\n      ", " ", "\t", "#", "\"",
                "\\", "0", "99999999999999999999", "1e400", "0.1.ms", "layer ", "connect ", "plasticity ", "neuron x:", "dt", "population ", "synapse x:", "source ", "record ", "reset:", "dv/dt = ", "exp(", "*mV", "^2", "random(", "seed",
                "neuralNetwork n:", "hebbian(", "softmax", "input", "\x00", "\xFF", "ü", "\xEF\xBB\xBF", "not ", "or ", "x", "_", "\r"]

proc mutated(random: var Rand; text, other: string): string =
  result = text
  for _ in 0 .. random.rand(4):
    if result.len == 0:
      return other
    let at = random.rand(result.high)
    let stop = min(result.high, at + random.rand(12))
    case random.rand(5)
    of 0: result.delete(at .. stop)
    of 1: result.insert(random.sample(pieces), at)
    of 2: result[at] = char(random.rand(255))
    of 3: result.insert(result[at .. stop], random.rand(result.high))
    of 4: result = result[0 ..< at] & other[random.rand(other.high) .. ^1]
    else: result.insert(random.sample(pieces) & random.sample(pieces), at)

const mostRounds = 20_000

suite "random texts":
  test "random mutations end in a plan or in findings":
    let wanted = getEnv("AMDGPU_TEST_SEED", "2")
    let rounds = if wanted == "all": mostRounds else: mostRounds div 4
    let seed = if wanted == "all": 1 else: parseInt(wanted)
    echo "    AMDGPU_TEST_SEED=", wanted, ": ", rounds, " mutations"
    var texts: seq[string]
    for path in walkFiles(folder / "*.net"):
      texts.add readFile(path)
    for _ in 1 .. 20:
      texts.add readFile(folder / "branches.net")
    check texts.len > 5
    var random = initRand(seed + 1)
    var accepted, refused = 0
    for round in 1 .. rounds:
      let text = random.mutated(random.sample(texts), random.sample(texts))
      var report: Report
      try:
        let plan = compileText(text, "", report)
        if report.errorCount == 0:
          inc accepted
          if plan.isSpiking:
            doAssert plan.spiking.kernels.len >= plan.spiking.groups.len and plan.spiking.groups.len > 0
          else:
            doAssert plan.order.len == plan.layers.len and plan.outputs.len > 0
          doAssert plan.toJson.len > 0
        else:
          inc refused
          let message = report.renderErrors(text)
          doAssert "error: " in message
          for finding in report.findings:
            doAssert finding.span.line <= text.count('\n') + 1, finding.message
      except Exception as problem:
        echo problem.name, ": ", problem.msg, "\n", text.escape, "\n", problem.getStackTrace
        check false
        break
    check accepted > rounds div 200
    check refused > rounds div 20
