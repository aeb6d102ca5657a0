## How values start: what docs/plan_schema.md calls an initial value.

type
  InitializerKind* = enum
    inConstant = "constant"
    inRandom = "random"
    inNormal = "normal"
    inXavier = "xavier"
    inHe = "he"
    inClippedNormal = "clipped_normal"
    inFile = "file"
    inExpression = "expression"

  Initializer* = object
    kind*: InitializerKind
    first*, second*: float ## constant: value; random: low, high; normal: mean, standard deviation
    low*, high*: float     ## clipped_normal
    path*: string          ## file
    code*: seq[string]     ## expression: a program for a stack, each token as JSON
