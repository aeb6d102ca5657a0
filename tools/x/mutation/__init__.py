"""`./x mutate`: puts plausible faults into the sources, one at a time, and counts how many of them the tests notice.

`areas` names what can be mutated. A *fault* is one edit of one file. Rust faults are compiled in together, each behind a
switch (`schemata`, `rust_area`); those of other languages are written into a copy of the tree one after the other
(`text_area`). `trial` runs one test program with a limit, `report` prints and keeps what came out.
"""
