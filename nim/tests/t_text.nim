## What the text front end accepts beside the obvious, and that every bound holds.

import std/[os, strutils, unittest]
import ../src/network/[compile, diagnostics, limits, plan, plan_json]

proc compiled(text: string): tuple[plan: NetworkPlan; errors: string] =
  var report: Report
  result.plan = compileText(text, "", report)
  if report.errorCount > 0:
    result.errors = report.renderErrors(text)

const wanted = """
neuralNetwork net:
  layer input(3)
  layer output(2, activation: tanh)
  connect input -> output (weight: 0.5)
"""

proc sameAs(text: string): bool =
  let (plan, errors) = compiled(text)
  if errors.len > 0:
    echo errors
    return false
  plan.toJson == compiled(wanted).plan.toJson

suite "accepted forms of a text":
  test "Windows line ends":
    check sameAs(wanted.replace("\n", "\r\n"))

  test "no final newline":
    check sameAs(wanted.strip(leading = false))
    check sameAs(wanted.strip(leading = false) & "\r")

  test "a byte order mark":
    check sameAs("\xEF\xBB\xBF" & wanted)

  test "indentation of the whole text, as in a Python string":
    check sameAs("\n" & wanted.indent(8) & "        ")

  test "blank lines and comments anywhere":
    check sameAs("# first\n\n" & wanted.replace("\n", "  # why\n\n    # odd place\n") & "#")

  test "statements broken inside brackets and after operators":
    check sameAs(wanted.replace("(weight: 0.5)", "(\n weight:\n0.5\n  )").replace("input -> output", "input ->\n    output"))

  test "named size and optional values with '='":
    check sameAs(wanted.replace("(3)", "(size: 3)").replace("activation: tanh", "activation = tanh"))

  test "weight given by position, trailing comma, constant by name":
    check sameAs(wanted.replace("(weight: 0.5)", "(constant(5e-1),)"))

  test "statements without the neuralNetwork line":
    let (plan, errors) = compiled("layer a(1)\nlayer b(1)\nconnect a -> b\n")
    check errors == ""
    check plan.name == "network"

  test "a time step in each way units are written":
    for written in ["0.1.ms", "0.1ms", "0.1*ms", "100.us", "1e-4*s", "0.000_1.s"]:
      let (plan, errors) = compiled(wanted & "  dt = " & written & "\n")
      check errors == ""
      check plan.timeStepSeconds == 1e-4

  test "names outside ASCII":
    check compiled(wanted.replace("output", "größe")).errors == ""

suite "bounds of a text":
  test "more than the largest text is refused before it is read":
    check "16777217 bytes" in compiled(repeat('#', MaxTextBytes + 1)).errors

  test "numbers beyond float64 and int64 are refused, long ones are read":
    for number in ["1e309", "1e99999999999999999999", "1e-99999999999999999999", "9223372036854775808"]:
      check "the number is" in compiled(wanted.replace("0.5", number)).errors
    check sameAs(wanted.replace("0.5", "0.5" & repeat('0', 90) & "e-" & repeat('0', 1000)))
    check "written with 1003 characters" in compiled(wanted.replace("0.5", "0.5" & repeat('0', 1000))).errors
    check sameAs(wanted.replace("0.5", "5_000e-0000000000000000000004"))

  test "deep brackets, signs and blocks end in a finding":
    check "nested too deeply" in compiled(wanted & "  dt = " & repeat('(', 5000) & "1" & repeat(')', 5000)).errors
    check "nested too deeply" in compiled(wanted & "  dt = " & repeat("- ", 100_000) & "1").errors
    check "nested too deeply" in compiled(wanted & "  " & repeat("a: ", 10_000) & "b").errors
    var blocks = ""
    for level in 0 .. 200:
      blocks.add repeat(' ', level) & "neuron x" & $level & ":\n"
    check "nested too deeply" in compiled(blocks).errors

  test "the number of findings is bounded and said":
    let errors = compiled(repeat("nonsense\n", 100_000)).errors
    check errors.count("error: ") == MaxFindings
    check "only the first 100 errors are shown" in errors

  test "too many layers and connections are one finding each":
    var text = ""
    for idx in 0 .. MaxLayers:
      text.add "layer l" & $idx & "(1)\n"
    check compiled(text).errors.count("too many layers") == 1
    text = ""
    var names: array[2, seq[string]]
    for side in 0 .. 1:
      for idx in 0 ..< 400:
        names[side].add "s" & $side & "_" & $idx
        text.add "layer " & names[side][^1] & "(1)\n"
    text.add "connect [" & names[0].join(",") & "] -> [" & names[1].join(",") & "]\n"
    check compiled(text).errors.count("too many connections") == 1

  test "a list that names a layer a hundred thousand times is a bounded number of findings":
    let many = "[a" & repeat(",a", 100_000) & "]"
    check "'a' is in the list twice" in compiled("layer a(1)\nlayer b(1)\nconnect " & many & " -> " & many & "\n").errors
    check "'a' is in the list twice" in compiled(
      "layer a(1)\nlayer b(1)\nconnect a -> b\nplasticity hebbian(1, on: " & many & " -> " & many & ")\n").errors

  test "a weight matrix beyond 8 GiB is refused":
    check "has 4294967296 weights" in compiled("layer a(65536)\nlayer b(65536)\nconnect a -> b").errors

  test "a chain of ten thousand layers keeps its order":
    var text = ""
    for idx in countdown(MaxLayers - 1, 0):
      text.add "layer l" & $idx & "(1)\n"
      if idx > 0:
        text.add "connect l" & $(idx - 1) & " -> l" & $idx & "\n"
    let (plan, errors) = compiled(text)
    check errors == ""
    check plan.layers[plan.order[0]].name == "l0"
    check plan.layers[plan.order[^1]].name == "l" & $(MaxLayers - 1)

  test "long expressions, towers of definitions and many variables end in a finding":
    const frame = "population a(1, model: n)\nneuron n:\n  params(tau = 1.ms)\n"
    check "at most 256 operators" in compiled(frame & "  dv/dt = (v" & repeat(" + v", 100_000) & ")/tau\n").errors
    var tower = frame & "  a0 = v*v\n"
    for idx in 1 .. 60:
      tower.add "  a" & $idx & " = a" & $(idx - 1) & "*a" & $(idx - 1) & "\n"
    check "too long when its definitions are written out" in compiled(tower & "  dv/dt = a60/tau\n").errors
    var wide = frame
    for idx in 0 .. MaxVariables:
      wide.add "  dx" & $idx & "/dt = -x" & $idx & "/tau\n"
    check "has 65 variables" in compiled(wide).errors
    var most = frame
    for idx in 0 ..< MaxVariables:
      most.add "  dx" & $idx & "/dt = (x" & $((idx + 1) mod MaxVariables) & " - x" & $idx & ")/tau\n"
    check compiled(most).errors == ""

suite "included files":
  const parts = currentSourcePath().parentDir / "parts"

  test "statements of another file stand where it is included":
    let (plan, errors) = compiled("include \"" & parts / "cell.net" & "\"\npopulation a(3, model: cell)\n")
    check errors == ""
    check plan.spiking.groups[0].name == "cell"

  test "findings name the file and show its line":
    let errors = compiled("population a(3, model: cell)\ninclude \"" & parts / "broken.net" & "\"\n").errors
    check "parts/broken.net, line 2, column 14: 'tau' is not known in neuron 'broken'\n  2 |   dv/dt = -v/tau" in errors
    check "parts/broken.net, line 3, column 1: unknown statement 'populatin'" in errors
    check "error: line 1, column 24: neuron 'cell' is not declared" in errors

  test "missing files, circles and folders are findings":
    check "there is no file 'nowhere.net'" in compiled("include \"nowhere.net\"\nlayer a(1)\n").errors
    check "includes itself" in compiled("include \"" & parts / "circle.net" & "\"\nlayer a(1)\n").errors
    check "there is no file" in compiled("include \"" & parts & "\"\nlayer a(1)\n").errors
    check "needs the path of a file" in compiled("include cells\nlayer a(1)\n").errors
