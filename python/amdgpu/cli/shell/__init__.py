"""Commands for the shell: completion, man."""
