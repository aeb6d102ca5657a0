## Every network of golden/ gives the text that stands beside it: the plan, or all findings.
##
## `nim c -r -d:regenerate nim/tests/t_golden.nim` writes the texts anew; review them as a diff.

import std/[algorithm, os, unittest]
import ../src/network/[compile, diagnostics, plan_json]

const folder = currentSourcePath().parentDir / "golden"

proc outcome(text: string): string =
  var report: Report
  let plan = compileText(text, "", report)
  if report.errorCount > 0: report.renderErrors(text) & "\n" else: plan.toJson

var networks: seq[string]
for path in walkFiles(folder / "*.net"):
  networks.add path
networks.sort

suite "golden networks":
  test "there are networks to compare":
    check networks.len >= 10

  for path in networks:
    test path.extractFilename:
      let expectedPath = path.changeFileExt("txt")
      let actual = outcome(readFile(path))
      when defined(regenerate):
        writeFile(expectedPath, actual)
      check readFile(expectedPath) == actual
