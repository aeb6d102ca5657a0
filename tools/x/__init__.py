"""The logic of `./x`, the one entry of this repository. Python 3.10 standard library only.

`cli` parses and dispatches. `system`, `virtual_environment` and `rust` prepare the machine; `native` knows how each
native library is built (the PEP 517 backend uses it too); `build` strings those together with stamps so that an
unchanged tree costs milliseconds. `suites`, `checks`, `doctor`, `bench` and `docs` are the commands. Whatever goes
wrong arrives as a `Failure`: one sentence and, where there is one, the exact command that mends it.
"""
