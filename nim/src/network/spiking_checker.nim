## Statements of a spiking network to its plan.

import std/tables
import ast, diagnostics, neuron_model, plan, plasticity_rules, populations, projections, records, rewards, sources, spiking_generator, spiking_network, suggestions, synapse_model, synapses, vocabulary

const
  DefaultTimeStep* = 1e-4
    ## Seconds, for networks without `dt = …`: the step that published networks use most.

proc checkOther(statement: Statement; report: var Report) =
  let word = statement.keyword
  if word == "layer":
    report.error(statement.span, "a layer in a spiking network", expected = "populations only",
                 hint = "layered and spiking networks are separate texts")
  elif word in SpikingStatements or word in CommandKeywords:
    report.error(statement.span, shown(word) & " is incomplete", expected = word & " and what docs/network_language.md says of it")
  elif word in SettingKeywords:
    report.error(statement.span, "'" & word & "' is set with '='", expected = word & " = …")
  elif word == NetworkKeyword:
    report.error(statement.span, "a network inside a network", expected = "one 'neuralNetwork NAME:' for the whole text")
  else:
    let what = if word.len > 0: "unknown statement " & shown(word) else: "this is no statement"
    report.error(statement.span, what, expected = oneOf(AllStatements), hint = nearestHint(word, AllStatements))

proc warnOfUnused(network: SpikingNetwork; report: var Report) =
  ## Declarations that no other statement uses: probably a name was mistyped or a line forgotten.
  for name, model in network.models:
    var isUsed = model.isBuiltIn
    for population in network.populations:
      isUsed = isUsed or population.model == model
    if not isUsed:
      report.warning(model.span, "neuron " & shown(name) & " is not used", hint = "population NAME(size, model: " & name & ")")
  for name, statement in network.synapses:
    var isUsed = false
    for projection in network.projections:
      isUsed = isUsed or (projection.synapse != nil and projection.synapse.name == name)
    if not isUsed:
      report.warning(statement.operand.span, "synapse " & shown(name) & " is not used, and not checked",
                     hint = "connect FROM -> TO(synapse: " & name & ")")

proc checkSpikingNetwork*(plan: var NetworkPlan; nameSpan: Span; statements: seq[Statement]; report: var Report) =
  ## Name, seed and time step of the plan are set already.
  var network = SpikingNetwork(dt: if plan.hasTimeStep: plan.timeStepSeconds else: DefaultTimeStep)
  plan.isSpiking = true
  plan.timeStepSeconds = network.dt
  plan.hasTimeStep = true
  for statement in statements:
    if report.isFull:
      return
    if statement.kind == stBroken:
      network.excuse statement
    elif statement.kind == stCommand and statement.keyword == "neuron":
      network.declareNeuron(statement, report)
    elif statement.kind != stAssign and (statement.kind != stCommand or statement.keyword == "layer" or
        (statement.keyword notin SpikingStatements and statement.keyword notin CommandKeywords)):
      checkOther(statement, report)
  for statement in statements:
    if statement.kind == stCommand and statement.keyword == "synapse":
      network.declareSynapse(statement, report)
  template each(word: string; body: untyped) =
    for statement {.inject.} in statements:
      if report.isFull:
        return
      if statement.kind == stCommand and statement.keyword == word:
        body
  each "population": network.checkPopulation(statement, report)
  each "source": network.checkSource(statement, report)
  each "connect": network.checkSpikingConnect(statement, report)
  each "plasticity": network.checkSpikingPlasticity(statement, report)
  each "reward": network.checkReward(statement, report)
  each "record": network.checkRecord(statement, report)
  if network.populations.len == 0 and report.errorCount == 0:
    report.error(nameSpan, "the network has no populations", expected = "population NAME(size, model: MODEL)")
  if report.errorCount == 0:
    plan.spiking = network.generate(report)
    network.warnOfUnused(report)
  plan.warnings = report.ordered(sevWarning)
