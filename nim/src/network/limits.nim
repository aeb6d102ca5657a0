## Every bound that the network language sets on its input, with its reason.

const
  MaxTextBytes* = 16 * 1024 * 1024
    ## A hundred times the largest network written by hand; bounds the time and memory of a compilation.
  MaxFindings* = 100
    ## Past this nobody reads on: the rest of the text is not looked at.
  MaxNesting* = 64
    ## Depth of brackets, operators and blocks; keeps the recursive parser far from the end of the stack.
  MaxNameBytes* = 128
    ## Names are repeated in messages, telemetry labels and generated kernels.
  MaxNumberDigits* = 100
    ## Seventeen determine a float64; Nim's own reading goes wrong beyond some hundreds.
  MaxStatementTokens* = 1_000_000
    ## One statement is held in memory as tokens; a list of every layer still fits.
  MaxStatements* = 200_000
    ## More than every layer and connection written out; bounds the memory of the syntax tree.
  MaxLayers* = 10_000
    ## A forward pass makes one library call per layer.
  MaxConnections* = 100_000
    ## `[a, b] -> [c, d]` multiplies out, so a short text could otherwise ask for billions.
  MaxLayerSize* = 16_777_216
    ## 2^24: every position in a layer is exact in float32.
  MaxConnectionWeights* = 2_147_483_648
    ## 2^31 float32 weights are 8 GiB, the most one matrix may take.
  MaxFloat32* = 3.4028234663852886e38
    ## Largest finite float32; weights, biases and activation parameters are stored as float32.
  MaxPopulations* = 10_000
    ## Every population is a range of its group in the plan and a label in telemetry.
  MaxPopulationSize* = 1_000_000_000
    ## Indices of neurons are 32-bit words in the kernels.
  MaxProjections* = 100_000
    ## `[a, b] -> [c, d]` multiplies out, as with layers.
  MaxListedValues* = 10_000_000
    ## Times, indices and samples written into a text.
  MaxOperators* = 256
    ## In one statement; expressions are walked recursively, and an equation of a model has some dozens.
  MaxFormulaNodes* = 1024
    ## Of one equation with its definitions written out: derivatives of products grow with its square.
  MaxVariables* = 64
    ## Of one neuron or synapse; the search for linear systems takes their third power.
  MaxIncludes* = 64
    ## Files of one network; also bounds how deep they include each other.
