neuralNetwork testNetwork:
  layer input(784, activation: identity)
  layer hidden(256, activation: relu)
  layer output(10, activation: softmax)

  connect input -> hidden (weight: random(-0.5, 0.5))
  connect hidden -> output (weight: random(-0.5, 0.5))

  plasticity hebbian(learning_rate: 0.001)
