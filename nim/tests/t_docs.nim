## Networks shown in the documentation compile, and the plan shown there is the plan.

import std/[os, sequtils, strutils, unittest]
import ../src/network/[compile, diagnostics, plan_json]

const docs = currentSourcePath().parentDir.parentDir.parentDir / "docs"

proc blocksOf(file, language: string): seq[string] =
  ## The fenced blocks of one language.
  var inside = false
  for line in lines(docs / file):
    if line.startsWith("```"):
      inside = not inside and line == "```" & language
      if inside:
        result.add ""
    elif inside:
      result[^1].add line & "\n"

proc planOf(text: string): string =
  var report: Report
  let plan = compileText(text, "", report)
  if report.errorCount > 0: report.renderErrors(text) else: plan.toJson

suite "documentation":
  test "every network of the language page compiles":
    let networks = blocksOf("network_language.md", "nim")
    check networks.len >= 2
    for network in networks:
      check planOf(network).startsWith("{")

  test "the plan page shows the plan of its network":
    let networks = blocksOf("plan_schema.md", "nim")
    check networks.len == 1
    check blocksOf("plan_schema.md", "json")[0] == planOf(networks[0])

  test "the finding of the language page is what the checker says":
    const text = """
neuralNetwork net:
  layer input(784)
  layer hidden(256)

  connect input -> hiden (weight: random(-0.5, 0.5))
"""
    let findings = blocksOf("network_language.md", "text").filterIt(it.startsWith("error:"))
    check findings.len == 1
    check findings[0].strip in planOf(text)
