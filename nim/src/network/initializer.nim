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
    inArray = "array"
    inPosition = "position"

  Initializer* = object
    kind*: InitializerKind
    first*, second*: float ## constant: value; random: low, high; normal: mean, standard deviation
    low*, high*: float     ## clipped_normal
    path*: string          ## file: path; array: name
    axis*: int             ## position
    code*: seq[string]     ## expression: a program for a stack, each token as JSON
