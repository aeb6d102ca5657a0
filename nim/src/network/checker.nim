## Statements to a checked network plan. Both front ends, text and macro, come through here.
##
## Everything that is wrong is reported, nothing twice: names whose declaration was broken or belongs to a later version are remembered,
## and their uses are let pass.

import std/[sets, strutils, tables]
import activations, ast, diagnostics, limits, plan, settings, spiking_checker, suggestions, topology, values, vocabulary

type
  Endpoint = object
    layer: int             ## position in `layers`
    name: string
    span: Span

  Checker = object
    plan: NetworkPlan
    layerIds: Table[string, int]
    connectionIds: Table[(int, int), int]
    excusedNames: HashSet[string]
    isFull: bool           ## more layers than MaxLayers: their names were not kept
    isComplete: bool       ## no declaration or connection was broken

const
  LayerExample = "layer NAME(size, activation: relu)"
  ConnectExample = "connect FROM -> TO (weight: random(-0.5, 0.5))"
  PlasticityExample = "plasticity hebbian(learning_rate: 0.001)"
  ThresholdRate = 0.1      ## of bcm, where the text names none

func layerNames(checker: Checker): seq[string] =
  for layer in checker.plan.layers:
    result.add layer.name

proc excuse(checker: var Checker; statement: Statement) =
  ## Remembers the name that a broken or later statement declares.
  checker.isComplete = false
  var operand = statement.operand
  if operand != nil and operand.kind in {ekCall, ekIndex}:
    operand = operand.callee
  if operand != nil and operand.kind == ekName:
    checker.excusedNames.incl operand.text

proc checkLayer(checker: var Checker; statement: Statement; report: var Report) =
  let node = statement.operand
  if statement.hasBody or node == nil or node.kind != ekCall or node.callee.kind != ekName:
    checker.excuse statement
    if node != nil and node.kind == ekName:
      report.error(node.span, "layer " & shown(node.text) & " has no size", expected = LayerExample)
    else:
      report.error(statement.span, "a layer needs a name and a size", expected = LayerExample)
    return
  var layer = LayerPlan(name: node.callee.text, span: node.callee.span, activation: ActivationPlan(kind: "identity"))
  if layer.name in checker.layerIds:
    let first = checker.plan.layers[checker.layerIds[layer.name]].span
    report.error(layer.span, "layer " & shown(layer.name) & " is declared twice",
                 hint = "it was declared on line " & $first.line)
    return
  if checker.plan.layers.len >= MaxLayers:
    if not checker.isFull:
      report.error(layer.span, "too many layers", expected = "at most " & $MaxLayers)
    checker.isFull = true
    checker.isComplete = false
    return
  let errorsBefore = report.errorCount
  let options = matchArgs(node.args, LayerOptions, LaterLayerOptions, "layer " & shown(layer.name), node.span, report)
  if options["size"] == nil:
    if report.errorCount == errorsBefore:
      report.error(node.span, "layer " & shown(layer.name) & " has no size", expected = LayerExample)
  else:
    discard readSize(options["size"], layer.name, report, layer.size)
  let activation = options["activation"]
  if activation != nil and readActivation(activation, layer.name, report, layer.activation) and
      layer.activation.kind == "softmax" and layer.size == 1:
    report.warning(activation.span, "softmax of layer " & shown(layer.name) & ", which has one value, is always 1",
                   hint = "sigmoid gives a probability for one value")
  let bias = options["bias"]
  layer.hasBias = true
  if bias != nil:
    if bias.kind == ekName and bias.text == "none":
      layer.hasBias = false
    else:
      discard readInitializer(bias, "the bias of layer " & shown(layer.name), BiasInitializers, report, layer.bias)
  # A layer with a wrong option is still a layer: connections to it are right.
  checker.layerIds[layer.name] = checker.plan.layers.len
  checker.plan.layers.add layer

proc checkInputLayer(checker: var Checker; report: var Report) =
  ## The input layer has a bias only when one was asked for, and no softmax: it has no weights to normalise over.
  var layer = checker.plan.layers[checker.plan.input]
  if layer.bias.kind == inConstant and layer.bias.first == 0:
    layer.hasBias = false
  if layer.activation.kind == "softmax":
    report.error(layer.span, "the input layer " & shown(layer.name) & " has the activation softmax",
                 expected = "an activation that works on each value by itself",
                 hint = "put a layer behind the input and give it softmax")
  checker.plan.layers[checker.plan.input] = layer

proc checkRulesOfSteps(checker: Checker; report: var Report) =
  ## Rules of layered networks take one value from either end of a connection, and a layer with a state has one for each step.
  for layer in checker.plan.layers:
    var spec: ActivationSpec
    if findActivation(layer.activation.kind, spec) and spec.hasState and checker.plan.plasticity.len > 0:
      report.error(checker.plan.plasticity[0].span, "a plasticity rule beside layer " & shown(layer.name) & ", whose activation " &
                   shown(spec.name) & " has a state", expected = "layers without a state",
                   hint = "such layers learn with net.train; spiking populations with plasticity learn while they run")
      return

proc resolve(checker: var Checker; node: Expr; report: var Report; endpoints: var seq[Endpoint]): bool =
  ## A layer's name, or a list of them.
  case node.kind
  of ekName:
    let id = checker.layerIds.getOrDefault(node.text, -1)
    if id >= 0:
      endpoints.add Endpoint(layer: id, name: node.text, span: node.span)
      return true
    if node.text notin checker.excusedNames and not checker.isFull:
      let hint = if report.isFull: "" else: didYouMean(node.text, checker.layerNames)
      report.error(node.span, "layer " & shown(node.text) & " is not declared", expected = "the name of a layer", hint = hint)
  of ekList:
    result = node.items.len > 0
    if node.items.len == 0:
      report.error(node.span, "an empty list of layers", expected = "at least one layer")
    var named: HashSet[string]
    for item in node.items:
      if report.isFull:
        return false
      if item.kind == ekList:
        report.error(item.span, "a list inside a list", expected = "names of layers")
        result = false
      elif item.kind == ekName and named.containsOrIncl(item.text):
        report.error(item.span, shown(item.text) & " is in the list twice", expected = "each layer once")
        result = false
      elif not checker.resolve(item, report, endpoints):
        result = false
  of ekIndex:
    report.error(node.span, "a part of a layer is not supported in this version", expected = "the name of a layer")
  else:
    report.error(node.span, "a connection ends in " & describe(node), expected = "the name of a layer, or a list of names")
  if not result:
    checker.isComplete = false

func splitArrow(node: Expr; source, target: var Expr): bool =
  if node != nil and node.kind == ekBinary and node.operator == "->":
    source = node.left
    target = node.right
    result = true

proc addConnection(checker: var Checker; source, target: Endpoint; weight: Initializer; report: var Report) =
  let known = checker.connectionIds.getOrDefault((source.layer, target.layer), -1)
  if known >= 0:
    report.error(target.span, shown(source.name) & " and " & shown(target.name) & " are connected already",
                 hint = "on line " & $checker.plan.connections[known].span.line &
                        "; one connection with one set of weights joins two layers")
    return
  if checker.plan.connections.len >= MaxConnections:
    if checker.isComplete:
      report.error(source.span, "too many connections", expected = "at most " & $MaxConnections)
    checker.isComplete = false
    return
  let rows = checker.plan.layers[source.layer].size
  let columns = checker.plan.layers[target.layer].size
  if int64(rows) * int64(columns) > MaxConnectionWeights:
    report.error(source.span, "the connection " & source.name & " -> " & target.name & " has " & $(rows * columns) & " weights",
                 expected = "at most " & $MaxConnectionWeights, hint = "make one of the layers smaller")
    return
  checker.connectionIds[(source.layer, target.layer)] = checker.plan.connections.len
  checker.plan.connections.add ConnectionPlan(source: source.layer, target: target.layer, weight: weight, span: source.span)

proc checkConnect(checker: var Checker; statement: Statement; report: var Report) =
  var sourceNode, targetNode: Expr
  if statement.hasBody or not splitArrow(statement.operand, sourceNode, targetNode):
    checker.isComplete = false
    report.error(statement.span, "a connection needs two ends", expected = ConnectExample)
    return
  var args: seq[Arg]
  if targetNode.kind == ekCall:
    args = targetNode.args
    targetNode = targetNode.callee
  if targetNode.kind == ekBinary and targetNode.operator == "->" or sourceNode.kind == ekBinary and sourceNode.operator == "->":
    checker.isComplete = false
    report.error(statement.span, "a chain of connections in one statement", expected = ConnectExample,
                 hint = "write one connect for each arrow")
    return
  let errorsBefore = report.errorCount
  var sources, targets: seq[Endpoint]
  let isSourceRight = checker.resolve(sourceNode, report, sources)
  let isTargetRight = checker.resolve(targetNode, report, targets)
  let options = matchArgs(args, ConnectOptions, LaterConnectOptions, "connect", statement.span, report)
  # Glorot and Bengio 2010: the usual choice where nothing was said.
  var weight = Initializer(kind: inXavier)
  if options["weight"] != nil:
    discard readInitializer(options["weight"], "the weight", WeightInitializers, report, weight)
  if report.errorCount > errorsBefore:
    checker.isComplete = checker.isComplete and isSourceRight and isTargetRight
  if not (isSourceRight and isTargetRight):
    return
  for source in sources:
    for target in targets:
      if report.isFull or (checker.plan.connections.len >= MaxConnections and not checker.isComplete):
        return
      checker.addConnection(source, target, weight, report)

proc connectionsOn(checker: var Checker; node: Expr; report: var Report): seq[int] =
  ## `on: a -> b`, with lists on either side.
  var sourceNode, targetNode: Expr
  if not splitArrow(node, sourceNode, targetNode):
    report.error(node.span, "'on' is " & describe(node), expected = "a connection, for example on: hidden -> output")
    return
  var sources, targets: seq[Endpoint]
  let isSourceRight = checker.resolve(sourceNode, report, sources)
  if not checker.resolve(targetNode, report, targets) or not isSourceRight:
    return
  for source in sources:
    for target in targets:
      if report.isFull:
        return
      let id = checker.connectionIds.getOrDefault((source.layer, target.layer), -1)
      if id >= 0:
        result.add id
      elif checker.isComplete:
        report.error(node.span, "there is no connection " & source.name & " -> " & target.name,
                     expected = "a connection that a connect statement makes",
                     hint = "connect " & source.name & " -> " & target.name)

proc readThresholdRate(node: Expr; report: var Report; rule: var PlasticityPlan): bool =
  rule.thresholdRate = ThresholdRate
  if node == nil:
    return true
  if not readNumber(node, "'threshold_rate'", report, rule.thresholdRate):
    return false
  if rule.thresholdRate <= 0 or rule.thresholdRate > 1:
    report.error(node.span, "'threshold_rate' is the share of the new in a moving average", expected = "a number above 0 and up to 1")
    return false
  true

proc checkRule(checker: var Checker; args: seq[Arg]; at: Span; report: var Report; rule: var PlasticityPlan): bool =
  let errorsBefore = report.errorCount
  let isBcm = rule.rule == "bcm"
  let what = "plasticity " & shown(rule.rule)
  let options = if isBcm: matchArgs(args, BcmOptions, [], what, at, report)
                else: matchArgs(args, RuleOptions, [], what, at, report)
  let rate = options["learning_rate"]
  if rate == nil:
    if report.errorCount == errorsBefore:
      report.error(at, what & " needs 'learning_rate'", expected = PlasticityExample.replace("hebbian", rule.rule))
    return false
  if isBcm and not readThresholdRate(options["threshold_rate"], report, rule):
    return false
  if readNumber(rate, "'learning_rate'", report, rule.learningRate):
    if rule.learningRate == 0:
      report.warning(rate.span, "a learning rate of zero changes no weight")
    elif rule.learningRate < 0:
      report.warning(rate.span, "a negative learning rate is anti-Hebbian: it weakens what fires together")
  if options["on"] != nil:
    rule.connections = checker.connectionsOn(options["on"], report)
    return true
  for id in 0 ..< checker.plan.connections.len:
    rule.connections.add id
  if checker.plan.connections.len == 0 and checker.isComplete:
    report.error(at, "there is no connection for the rule to change", expected = "a connect statement")
  true

proc checkPlasticity(checker: var Checker; statement: Statement; owners: var Table[int, int]; report: var Report) =
  ## `owners` has the line of the rule that changes a connection.
  let node = statement.operand
  var name: string
  var args: seq[Arg]
  if statement.hasBody or node == nil:
    report.error(statement.span, "plasticity needs a rule", expected = PlasticityExample)
    return
  if not splitCall(node, "the plasticity rule", report, name, args):
    return
  if name in LaterPlasticityRules:
    report.error(node.span, "plasticity " & shown(name) & " is not supported in this version", expected = oneOf(PlasticityRules))
    return
  if name notin PlasticityRules:
    report.error(node.span, "unknown plasticity rule " & shown(name), expected = oneOf(PlasticityRules),
                 hint = nearestHint(name, PlasticityRules))
    return
  var rule = PlasticityPlan(rule: name, span: node.span)
  if not checker.checkRule(args, node.span, report, rule):
    return
  for id in rule.connections:
    if id in owners:
      let connection = checker.plan.connections[id]
      report.error(node.span, "two plasticity rules change " & checker.plan.layers[connection.source].name & " -> " &
                   checker.plan.layers[connection.target].name, hint = "the other stands on line " &
                   $owners[id] & "; name the connections with on: FROM -> TO")
      return
  for id in rule.connections:
    owners[id] = statement.span.line
  checker.plan.plasticity.add rule

proc checkOther(checker: var Checker; statement: Statement; report: var Report) =
  ## Statements that are none of this version's.
  let word = statement.keyword
  if word in CommandKeywords:
    checker.isComplete = false
    let example = case word
      of "layer": LayerExample
      of "connect": ConnectExample
      else: PlasticityExample
    report.error(statement.span, "a blank is missing after '" & word & "'", expected = example)
  elif word in SettingKeywords:
    report.error(statement.span, "'" & word & "' is set with '='", expected = word & " = …")
  elif word == NetworkKeyword:
    report.error(statement.span, "a network inside a network", expected = "one 'neuralNetwork NAME:' for the whole text")
  else:
    checker.isComplete = false
    let what = if word.len > 0: "unknown statement " & shown(word) else: "this is no statement"
    report.error(statement.span, what, expected = oneOf(StatementKeywords), hint = nearestHint(word, StatementKeywords))

proc checkNetwork*(name: string; nameSpan: Span; statements: seq[Statement]; report: var Report): NetworkPlan =
  ## The plan is complete only when `report` has no error. Declarations may stand anywhere in the text.
  var checker = Checker(isComplete: true)
  checker.plan.name = name
  let isSpiking = statements.isSpiking
  readSettings(checker.plan, statements, isSpiking, report)
  if isSpiking:
    checkSpikingNetwork(checker.plan, nameSpan, statements, report)
    return checker.plan
  for statement in statements:
    if report.isFull:
      return checker.plan
    if statement.kind == stBroken:
      checker.excuse statement
    elif statement.kind == stCommand and statement.keyword == "layer":
      checker.checkLayer(statement, report)
    elif statement.kind != stAssign and (statement.kind != stCommand or statement.keyword notin CommandKeywords):
      checker.checkOther(statement, report)
  for statement in statements:
    if report.isFull:
      return checker.plan
    if statement.kind == stCommand and statement.keyword == "connect":
      checker.checkConnect(statement, report)
  var owners: Table[int, int]
  for statement in statements:
    if statement.kind == stCommand and statement.keyword == "plasticity":
      checker.checkPlasticity(statement, owners, report)
  if checker.plan.layers.len == 0:
    if checker.isComplete and report.errorCount == 0:
      report.error(nameSpan, "the network has no layers", expected = LayerExample)
    return checker.plan
  checkTopology(checker.plan, checker.isComplete, report)
  if report.errorCount == 0:
    checker.checkInputLayer(report)
    checker.checkRulesOfSteps(report)
  checker.plan.warnings = report.ordered(sevWarning)
  checker.plan
