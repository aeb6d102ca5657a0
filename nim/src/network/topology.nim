## What follows from who is connected to whom: order of computation, cycles, the input, the outputs, layers out of reach.

import std/heapqueue
import diagnostics, plan

type
  Graph = object
    incoming, outgoing: seq[seq[int]]  ## for each layer: positions in `connections`

func graphOf(plan: NetworkPlan): Graph =
  result.incoming = newSeq[seq[int]](plan.layers.len)
  result.outgoing = newSeq[seq[int]](plan.layers.len)
  for idx, connection in plan.connections:
    result.outgoing[connection.source].add idx
    result.incoming[connection.target].add idx

proc orderLayers(plan: var NetworkPlan; graph: Graph) =
  ## Kahn 1962; of the layers that are ready the one declared first comes next, so the order is the same every time.
  var waiting = newSeq[int](plan.layers.len)
  var ready = initHeapQueue[int]()
  for layer in 0 ..< plan.layers.len:
    waiting[layer] = graph.incoming[layer].len
    if waiting[layer] == 0:
      ready.push layer
  while ready.len > 0:
    let layer = ready.pop
    plan.order.add layer
    for idx in graph.outgoing[layer]:
      let target = plan.connections[idx].target
      dec waiting[target]
      if waiting[target] == 0:
        ready.push target

proc reportCycles(plan: NetworkPlan; graph: Graph; report: var Report) =
  ## Every layer that has no place in the order and lies on a cycle is named in one finding.
  const longest = 12
  var isOrdered = newSeq[bool](plan.layers.len)
  for layer in plan.order:
    isOrdered[layer] = true
  var visit = newSeq[int](plan.layers.len)   # 0 = not seen, otherwise the walk that saw it
  var walk = 0
  for start in 0 ..< plan.layers.len:
    if isOrdered[start] or visit[start] != 0:
      continue
    inc walk
    var path: seq[int]                       # connections walked backwards
    var layer = start
    while visit[layer] == 0:
      visit[layer] = walk
      for idx in graph.incoming[layer]:
        if not isOrdered[plan.connections[idx].source]:
          path.add idx
          layer = plan.connections[idx].source
          break
    if visit[layer] != walk:
      continue
    var cycle: seq[int]
    for position in countdown(path.high, 0):
      cycle.add path[position]
      if plan.connections[path[position]].target == layer:
        break
    # The walk went backwards, so the last step taken is the first connection of the cycle.
    var first = 0
    for position, idx in cycle:
      if plan.connections[idx].source < plan.connections[cycle[first]].source:
        first = position
    var text = ""
    var closing = plan.connections[cycle[0]].span
    for step in 0 ..< cycle.len:
      let connection = plan.connections[cycle[(first + step) mod cycle.len]]
      if step < longest:
        text.add plan.layers[connection.source].name & " -> "
      elif step == longest:
        text.add "… -> "
      if connection.span.line > closing.line or
          (connection.span.line == closing.line and connection.span.column > closing.column):
        closing = connection.span
    text.add plan.layers[plan.connections[cycle[first]].source].name
    report.error(closing, "the connections form a cycle: " & text,
                 expected = "a layered network, in which values flow one way",
                 hint = "remove one of these connections")

proc findInput(plan: var NetworkPlan; graph: Graph; report: var Report) =
  plan.input = -1
  for layer in 0 ..< plan.layers.len:
    if graph.incoming[layer].len > 0:
      continue
    if plan.input < 0:
      plan.input = layer
    elif graph.outgoing[layer].len == 0:
      report.error(plan.layers[layer].span, "layer " & shown(plan.layers[layer].name) & " is not connected to anything",
                   hint = "connect it, or remove it")
    else:
      report.error(plan.layers[layer].span, "layer " & shown(plan.layers[layer].name) & " has no inputs",
                   expected = "one input layer, which is " & shown(plan.layers[plan.input].name) & " here",
                   hint = "connect " & plan.layers[plan.input].name & " -> " & plan.layers[layer].name)

proc reportUnreachable(plan: NetworkPlan; graph: Graph; report: var Report) =
  ## Layers that have inputs, none of which leads back to the network's input.
  if plan.input < 0:
    return
  var isReached = newSeq[bool](plan.layers.len)
  isReached[plan.input] = true
  for layer in plan.order:
    for idx in graph.incoming[layer]:
      if isReached[plan.connections[idx].source]:
        isReached[layer] = true
    if not isReached[layer] and graph.incoming[layer].len > 0:
      report.error(plan.layers[layer].span, "layer " & shown(plan.layers[layer].name) & " is unreachable from the input " &
                   shown(plan.layers[plan.input].name), hint = "connect a reachable layer to it, or remove it")

proc findOutputs(plan: var NetworkPlan; graph: Graph; report: var Report) =
  for layer in 0 ..< plan.layers.len:
    if graph.outgoing[layer].len == 0:
      plan.outputs.add layer
  if plan.outputs.len > 1:
    var names = ""
    for position, layer in plan.outputs:
      if position > 0:
        names.add ", "
      if position == 6 and plan.outputs.len > 8:
        names.add "… (" & $plan.outputs.len & " in all)"
        break
      names.add plan.layers[layer].name
    report.warning(plan.layers[plan.outputs[0]].span, "nothing follows several layers: " & names,
                   hint = "the network's output is their values side by side, in this order")

proc checkTopology*(plan: var NetworkPlan; isComplete: bool; report: var Report) =
  ## Fills order, input and outputs. With `isComplete` false some statements were broken and only cycles are looked for: what seems
  ## unconnected may be connected by one of them.
  let graph = graphOf(plan)
  orderLayers(plan, graph)
  if plan.order.len < plan.layers.len:
    reportCycles(plan, graph, report)
  if isComplete:
    findInput(plan, graph, report)
    if plan.order.len == plan.layers.len:
      reportUnreachable(plan, graph, report)
      findOutputs(plan, graph, report)
