## The activations of the language with their parameters and defaults.

type
  ActivationSpec* = object
    name*: string
    parameters*: seq[string]
    defaults*: seq[float]
    hasState*: bool        ## values depend on those of the step before

const
  Activations* = [
    ActivationSpec(name: "identity"),
    ActivationSpec(name: "relu"),
    # Negative slope of Maas et al. 2013, "Rectifier nonlinearities improve neural network acoustic models".
    ActivationSpec(name: "leaky_relu", parameters: @["alpha"], defaults: @[0.01]),
    ActivationSpec(name: "sigmoid"),
    ActivationSpec(name: "tanh"),
    ActivationSpec(name: "gelu"),
    ActivationSpec(name: "silu"),
    ActivationSpec(name: "softplus"),
    # Clevert et al. 2015, "Fast and accurate deep network learning by exponential linear units".
    ActivationSpec(name: "elu", parameters: @["alpha"], defaults: @[1.0]),
    ActivationSpec(name: "softmax"),
    # tanh(alpha x) + beta x exp(-x^2); defaults of the requirement documents' neuromorphic_activation(input, 1.2, 0.3).
    ActivationSpec(name: "neuromorphic", parameters: @["alpha", "beta"], defaults: @[1.2, 0.3]),
    # Leaky integrate and fire in steps, with the slope of SuperSpike (Zenke and Ganguli 2018) for training.
    ActivationSpec(name: "lif", parameters: @["decay", "slope"], defaults: @[0.9, 10.0], hasState: true),
    ActivationSpec(name: "leaky", parameters: @["decay"], defaults: @[0.9], hasState: true)]

func activationNames*(): seq[string] =
  for activation in Activations:
    result.add activation.name

func findActivation*(name: string; found: var ActivationSpec): bool =
  for candidate in Activations:
    if candidate.name == name:
      found = candidate
      return true
