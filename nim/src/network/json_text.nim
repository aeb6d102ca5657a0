## Pieces of JSON text, the same for layered and spiking plans.

import std/strutils
import initializer, numbers

func quoted*(text: string): string =
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

func field*(name, value: string): string =
  quoted(name) & ": " & value

func inline*(fields: varargs[string]): string =
  "{" & fields.join(", ") & "}"

func lines*(items: seq[string]): string =
  ## One item on each line, so that plans can be read and compared.
  if items.len == 0:
    return "[]"
  "[\n    " & items.join(",\n    ") & "\n  ]"

func numbers*(values: seq[int]): string =
  "[" & values.join(", ") & "]"

func outermost*(fields: openArray[string]): string =
  ## The outermost object: one field on each line.
  "{\n  " & fields.join(",\n  ") & "\n}\n"

func toJson*(initializer: Initializer): string =
  let kind = field("kind", quoted($initializer.kind))
  case initializer.kind
  of inConstant:
    inline(kind, field("value", floatText(initializer.first)))
  of inRandom:
    inline(kind, field("low", floatText(initializer.first)), field("high", floatText(initializer.second)))
  of inNormal:
    inline(kind, field("mean", floatText(initializer.first)),
           field("standard_deviation", floatText(initializer.second)))
  of inClippedNormal:
    inline(kind, field("mean", floatText(initializer.first)), field("standard_deviation", floatText(initializer.second)),
           field("low", floatText(initializer.low)), field("high", floatText(initializer.high)))
  of inXavier, inHe:
    inline(kind)
  of inFile:
    inline(kind, field("path", quoted(initializer.path)))
  of inExpression:
    inline(kind, field("code", "[" & initializer.code.join(", ") & "]"))
  of inArray:
    inline(kind, field("name", quoted(initializer.path)))
  of inPosition:
    inline(kind, field("axis", $initializer.axis))
