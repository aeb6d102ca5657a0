# Flags of libagpu_neuro.so: `nim c nim/src/agpu_neuro.nim`, from any folder.
import std/os

let root = thisDir().parentDir.parentDir
let library = root / "python" / "amdgpu" / "_lib"
if not dirExists(library):
  mkDir(library)

switch("app", "lib")
switch("noMain", "on")
switch("out", library / "libagpu_neuro.so")
switch("nimcache", root / "nim" / "nimcache" / "agpu_neuro")
switch("define", "release")
switch("define", "useMalloc")
# The host process decides about signals: Ctrl-C must stay Python's.
switch("define", "noSignalHandler")
switch("mm", "arc")
switch("threads", "on")
switch("panics", "off")
switch("hints", "off")
# Calls inside the library stay inside, even when another Nim library in the process exports the same run-time names.
switch("passL", "-Wl,-Bsymbolic")
