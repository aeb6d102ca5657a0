"""Commands that compile, tune and compute: compile, tune, net."""
