## Values that do not stand in the text: `file("values.npy")` and `array("name")`, which the program hands over.

import ast, diagnostics

type
  ReferenceKind* = enum
    rfNone                 ## the values stand in the text
    rfFile = "file"
    rfArray = "array"

  Reference* = object
    kind*: ReferenceKind
    name*: string          ## path or name
    column*: int           ## 1 and 2 for a column of an array that has two; 0: all of it

func isReference*(node: Expr): bool =
  node != nil and node.kind == ekCall and node.callee.kind == ekName and node.callee.text in ["file", "array"]

proc readReference*(node: Expr; report: var Report; reference: var Reference): bool =
  ## The arguments of a call that `isReference`.
  let word = node.callee.text
  let example = if word == "file": "file(\"values.npy\")" else: "array(\"name\")"
  if node.args.len != 1 or node.args[0].value.kind != ekString or node.args[0].value.text.len == 0 or '\0' in node.args[0].value.text:
    let what = if word == "file": "'file' needs the path of a .npy file" else: "'array' needs the name of an array that the program gives"
    report.error(node.span, what, expected = example)
    return false
  reference = Reference(kind: if word == "file": rfFile else: rfArray, name: node.args[0].value.text)
  true

func columns*(reference: Reference): array[2, Reference] =
  ## The two columns of an array that holds pairs.
  for place in 0 .. 1:
    result[place] = reference
    result[place].column = place + 1
