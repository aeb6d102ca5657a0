## The words of the language.

const
  NetworkKeyword* = "neuralNetwork"
  CommandKeywords* = ["layer", "connect", "plasticity"]
  SettingKeywords* = ["dt", "seed"]
  StatementKeywords* = ["layer", "connect", "plasticity", "dt", "seed"]
  BlockKeywords* = ["neuralNetwork", "neuron", "synapse"]

  LayerOptions* = ["size", "activation", "bias"]
  LaterLayerOptions* = ["model", "v"]
  SpikingStatements* = ["neuron", "synapse", "population", "source", "reward", "record"]
  SpikingConnectOptions* = ["pattern", "weight", "delay", "target", "storage", "autapses", "multapses", "synapse"]
  AllStatements* = ["layer", "connect", "plasticity", "neuron", "synapse", "population", "source", "reward", "record", "include", "dt", "seed"]
  StorageKinds* = ["auto", "dense", "csr16", "csr32", "bit_mask", "gap_coded", "procedural"]
  ConnectOptions* = ["weight"]
  LaterConnectOptions* = ["pattern", "delay", "target", "storage", "autapses", "multapses"]

  PlasticityRules* = ["hebbian", "oja", "bcm"]
  LaterPlasticityRules* = ["stdp", "triplet_stdp", "r_stdp", "stdp_dopamine", "inhibitory_stdp",
                           "homeostatic", "structural"]
  RuleOptions* = ["learning_rate", "on"]
  BcmOptions* = ["learning_rate", "threshold_rate", "on"]

  WeightInitializers* = ["constant", "random", "normal", "clip", "xavier", "he", "file", "array"]
  BiasInitializers* = ["constant", "random", "normal", "clip", "file", "array", "none"]

func startsStatement*(word: string): bool =
  ## Words that open a statement; used to find the end of a bracket that was never closed.
  word == NetworkKeyword or word in CommandKeywords or word in SpikingStatements or word == "include"
