## The `reward` statements: rewards at times that the text knows, beside those that the program gives with `net.reward`.

import ast, diagnostics, dimension_solver, dimensions, initial_values, scope, sources, spiking_network, spiking_plan, suggestions, synapse_model, values

const
  RewardExample = "reward at(times: [1.s, 2.s], values: [1, -0.5]), or reward every(100.ms, value: 0.1)"
  RewardKinds = ["at", "every"]

proc readValues(node: Expr; count: int; at: Span; report: var Report; values: var seq[float]): bool =
  ## A list with a value for each time, or one value for all.
  var scope = Scope(owner: "the reward")
  if node == nil:
    report.error(at, "a reward needs its values", expected = RewardExample)
  elif node.kind == ekList:
    result = readList(node, Dimensionless, "the values", report, values)
    if result and values.len != count:
      report.error(node.span, $count & " times and " & $values.len & " values", expected = "a value for each time")
      result = false
  else:
    var value: float
    result = scope.readConstant(node, open(Dimensionless), "the value", report, value)
    for _ in 0 ..< count:
      values.add value

proc readTimes(args: seq[Arg]; at: Span; dt: float; report: var Report; reward: var RewardPlan): bool =
  let errorsBefore = report.errorCount
  let given = matchArgs(args, ["times", "values"], [], "reward 'at'", at, report)
  if report.errorCount > errorsBefore or not readList(given["times"], TimeDimension, "the times", report, reward.times) or
      not readValues(given["values"], reward.times.len, at, report, reward.values):
    return false
  for time in reward.times:
    if time < 0:
      report.error(given["times"].span, "a reward before the start", expected = "times from 0.s")
      return false
  true

proc readInterval(args: seq[Arg]; at: Span; dt: float; report: var Report; reward: var RewardPlan): bool =
  let errorsBefore = report.errorCount
  let given = matchArgs(args, ["interval", "value"], [], "reward 'every'", at, report)
  if report.errorCount > errorsBefore:
    return false
  if given["interval"] == nil or given["value"] == nil:
    report.error(at, "reward 'every' needs an interval and a value", expected = RewardExample)
    return false
  var scope = Scope(owner: "the reward")
  if not scope.readConstant(given["interval"], open(TimeDimension), "the interval", report, reward.every) or
      not scope.readConstant(given["value"], open(Dimensionless), "the value", report, reward.value):
    return false
  if reward.every < dt * 0.999999:
    report.error(given["interval"].span, "the interval is below the time step", expected = "at least dt")
    return false
  true

func hasLearner(network: SpikingNetwork): bool =
  ## Whether a synapse waits for rewards.
  for projection in network.projections:
    if projection.synapse != nil and projection.synapse.onReward.len > 0:
      return true

proc checkReward*(network: var SpikingNetwork; statement: Statement; report: var Report) =
  let node = statement.operand
  var kind: string
  var args: seq[Arg]
  if statement.hasBody or node == nil:
    report.error(statement.span, "a reward needs its times", expected = RewardExample)
    return
  if not splitCall(node, "the reward", report, kind, args):
    return
  if kind notin RewardKinds:
    report.error(node.span, "unknown kind of reward " & shown(kind), expected = oneOf(RewardKinds), hint = nearestHint(kind, RewardKinds))
    return
  var reward = RewardPlan(kind: if kind == "at": rkTimes else: rkEvery)
  let isRight = case reward.kind
    of rkTimes: readTimes(args, node.span, network.dt, report, reward)
    of rkEvery: readInterval(args, node.span, network.dt, report, reward)
  if not isRight:
    return
  if report.errorCount == 0 and not network.hasLearner:
    report.warning(statement.span, "no synapse waits for a reward", hint = "on_reward: in a synapse, or plasticity r_stdp(…)")
  network.rewards.add reward
