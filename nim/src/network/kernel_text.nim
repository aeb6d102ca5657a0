## Formulas and statements as HIP-C.

import std/[algorithm, sets, strutils, tables]
import float32_text, formula, spiking_plan

type
  KernelWriter* = object
    ## One kernel under construction: what it takes and its lines.
    name*: string
    comments*: seq[string]       ## above the kernel
    declared: seq[KernelParameter]
    taken: HashSet[string]
    lines: seq[string]
    identifiers*: Table[string, string]  ## of the symbols in formulas; a symbol without one has its own name
    draws*: int                  ## random numbers taken so far

const
  Words = [
    # Of C++, of the kernels' own frame, and of the functions that kernels call.
    "auto", "bool", "break", "case", "char", "class", "const", "continue", "default", "delete", "do", "double", "else", "enum", "extern",
    "false", "float", "for", "friend", "goto", "half", "if", "inline", "int", "long", "namespace", "new", "operator", "private",
    "protected", "public", "register", "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "true",
    "typedef", "union", "unsigned", "using", "virtual", "void", "volatile", "while", "and", "or", "not", "xor", "i", "s", "k", "count",
    "step", "seed", "left", "held", "fired", "dt", "t", "source", "target", "main", "exprel", "square", "cube", "fourth", "place"]

  OwnPrefixes = ["agpu", "all_", "new_", "row_", "unit_", "slope_", "slopes_", "s1_", "s2_", "s3_", "s4_", "per_", "user_", "update_", "wide_", "most_",
                 "initialize_"]
    ## Of the names that the generator makes.

func identifier*(name: string): string =
  ## A C identifier for a name of the language; letters beyond ASCII become their bytes in hexadecimal.
  for character in name:
    if character in {'a' .. 'z', 'A' .. 'Z', '0' .. '9', '_'}:
      result.add character
    else:
      result.add "x" & toHex(character.ord, 2)
  for prefix in OwnPrefixes:
    if result.startsWith(prefix):
      return "user_" & result
  # The C library ends the names of its float functions in f.
  if result in Words or result.endsWith("f"):
    result.add "_"

func initKernelWriter*(name: string): KernelWriter =
  KernelWriter(name: name)

func unique*(writer: var KernelWriter; wanted: string): string =
  ## The identifier itself, or with a number behind it when it is taken.
  result = wanted
  var number = 2
  while result in writer.taken:
    result = wanted & "_" & $number
    inc number
  writer.taken.incl result

proc argument*(writer: var KernelWriter; role, name, ctype, wanted: string): string =
  ## The identifier of a kernel argument, which is added on first use.
  for parameter in writer.declared:
    if parameter.argument == (role, name):
      return parameter.identifier
  result = writer.unique(wanted)
  writer.declared.add KernelParameter(argument: (role, name), ctype: ctype, identifier: result)

proc line*(writer: var KernelWriter; text: string; depth = 1) =
  writer.lines.add (if text.len > 0: repeat(' ', 4 * depth) & text else: "")

proc prepend*(writer: var KernelWriter; lines: seq[string]) =
  ## Lines before all others.
  for idx, text in lines:
    writer.lines.insert(repeat(' ', 4) & text, idx)

proc insertLine*(writer: var KernelWriter; at: int; text: string) =
  writer.lines.insert(repeat(' ', 4) & text, at)

func lineCount*(writer: KernelWriter): int =
  writer.lines.len

func bodyText*(writer: KernelWriter): string =
  writer.lines.join("\n")

func rank(role: string): int =
  ## Parameters stand in the order of their roles, whatever the kernel met first.
  const order = ["count", "step", "seed", "reward", "parameter", "parameter_array", "state", "refractory", "input", "unit", "wide_input", "wide_unit", "fired",
                 "events", "spike_list", "spike_count", "row_starts", "row_ends", "columns", "column_starts", "column_ends", "column_synapses",
                 "column_sources", "synapse_sources", "synapse_state", "last_update", "pre_state", "post_state", "source_state", "target_state", "source_parameter",
                 "target_parameter", "target_input", "per_unit", "most_units", "wide_target_input",
                 "per_wide_unit", "most_wide_units", "overflow"]
  order.find(role)

proc parameters*(writer: KernelWriter): seq[KernelParameter] =
  ## The parameters in the order in which the kernel declares them.
  result = writer.declared
  result.sort(proc (a, b: KernelParameter): int = cmp(rank(a.argument.role), rank(b.argument.role)))

func declarations(parameters: seq[KernelParameter]): string =
  ## The parameters as C, a few on each line.
  const widest = 130
  var line = "    "
  for idx, parameter in parameters:
    let piece = parameter.ctype & (if parameter.ctype.endsWith("*"): " __restrict__ " else: " ") & parameter.identifier &
      (if idx < parameters.high: ", " else: "")
    if line.len + piece.len > widest:
      result.add line.strip(leading = false) & "\n"
      line = "    "
    line.add piece
  result & line

func kernelText*(name: string; parameters: seq[KernelParameter]; body: string): string =
  ## A kernel. Its parameters and the beginning of its body go through two macros (`device_code.SignatureCode`), which an engine defines
  ## in another way where arguments are in memory; the text itself is never edited.
  "extern \"C\" __global__ void " & name & "(AGPU_PARAMETERS(" & name & ",\n" & declarations(parameters) & "))\n{\n    AGPU_PROLOGUE(" &
    name & ")\n" & body & "\n}\n"

proc textOf*(writer: KernelWriter): string =
  ## The kernel below its comments.
  for comment in writer.comments:
    result.add "// " & comment & "\n"
  result & kernelText(writer.name, writer.parameters, writer.bodyText)

func isWhole(value: float; whole: var int): bool =
  if abs(value) < 64 and float(int(value)) == value:
    whole = int(value)
    result = true

func c*(writer: var KernelWriter; formula: Formula): string

func ofPower(writer: var KernelWriter; formula: Formula): string =
  var whole: int
  let base = writer.c(formula.left)
  if formula.right.kind == fkNumber and formula.right.value.isWhole(whole):
    case whole
    of 2: return "square(" & base & ")"
    of 3: return "cube(" & base & ")"
    of 4: return "fourth(" & base & ")"
    of -1: return "(1.0f / " & base & ")"
    of -2: return "(1.0f / square(" & base & "))"
    else: discard
  if formula.right.isNumber(0.5):
    return "sqrtf(" & base & ")"
  "powf(" & base & ", " & writer.c(formula.right) & ")"

func ofRandom(writer: var KernelWriter; formula: Formula; args: seq[string]): string =
  ## `stream` is the kernel's own: it knows object, index and step.
  let draw = $writer.draws
  inc writer.draws
  case formula.function
  of "random":
    result = "agpu_uniform(stream, " & draw & "u)"
    if args.len == 2:
      result = "(" & args[0] & " + (" & args[1] & " - " & args[0] & ") * " & result & ")"
  of "normal":
    result = "agpu_normal(stream, " & draw & "u)"
    if args.len == 2:
      result = "(" & args[0] & " + " & args[1] & " * " & result & ")"
  else:
    result = "agpu_poisson(" & args[0] & ", stream, " & draw & "u)"

func ofCall(writer: var KernelWriter; formula: Formula): string =
  var args: seq[string]
  for arg in formula.args:
    args.add writer.c(arg)
  let list = args.join(", ")
  case formula.function
  of "exp", "log", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "floor", "ceil": formula.function & "f(" & list & ")"
  of "abs": "fabsf(" & list & ")"
  of "min": "fminf(" & list & ")"
  of "max": "fmaxf(" & list & ")"
  of "clip": "fmaxf(" & args[1] & ", fminf(" & args[0] & ", " & args[2] & "))"
  of "sign": "((" & list & " > 0.0f ? 1.0f : 0.0f) - (" & list & " < 0.0f ? 1.0f : 0.0f))"
  of "where": "(" & args[0] & " ? " & args[1] & " : " & args[2] & ")"
  of "int": "(" & list & " ? 1.0f : 0.0f)"
  of "exprel": "exprel(" & list & ")"
  else: writer.ofRandom(formula, args)

func precedence(formula: Formula): int =
  case formula.kind
  of fkBinary:
    case formula.operator
    of "or": 1
    of "and": 2
    of "+", "-": 4
    of "*", "/": 5
    of "^": 9
    else: 3
  of fkNegate, fkNot: 6
  else: 9

func inside(writer: var KernelWriter; child: Formula; least: int): string =
  result = writer.c(child)
  if child.precedence < least:
    result = "(" & result & ")"

func c*(writer: var KernelWriter; formula: Formula): string =
  case formula.kind
  of fkNumber:
    float32Literal(formula.value)
  of fkSymbol:
    if formula.name in writer.identifiers: writer.identifiers[formula.name] else: identifier(formula.name)
  of fkNegate:
    "-" & writer.inside(formula.inner, 7)
  of fkNot:
    "!" & writer.inside(formula.inner, 7)
  of fkBinary:
    if formula.operator == "^":
      writer.ofPower(formula)
    else:
      let own = formula.precedence
      let operator = case formula.operator
        of "and": "&&"
        of "or": "||"
        else: formula.operator
      # Left operands of the same rank need no parentheses; of comparisons they do.
      let leftmost = if own == 3: 4 else: own
      writer.inside(formula.left, leftmost) & " " & operator & " " & writer.inside(formula.right, own + 1)
  of fkCall:
    writer.ofCall(formula)

func sortedNames*(names: HashSet[string]): seq[string] =
  for name in names:
    result.add name
  result.sort
