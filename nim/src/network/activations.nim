## The activations of the language with their parameters and defaults.

import activation_table
export activation_table

func activationNames*(): seq[string] =
  for activation in Activations:
    result.add activation.name

func findActivation*(name: string; found: var ActivationSpec): bool =
  for candidate in Activations:
    if candidate.name == name:
      found = candidate
      return true
