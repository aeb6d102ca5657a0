## libagpu_neuro.so: the network language and the reference arithmetic of layered networks.
##
## Contract
## - Exports the functions that agpu.h marks AGPU_NEURO and nothing else that a caller may use.
## - Every function may be called from any thread at the same time; a plan may be read by many threads and destroyed by one, last.
##   Nim's own initialisation runs inside the first call, once. No thread is started, no signal handler installed.
## - Arguments are checked here: pointers against NULL, shapes, dtypes, device, overlap of an output with an input. A wrong one gives a
##   status of errors.toml and a sentence; nothing is raised, unwound or aborted across the boundary, bugs of this library included.
## - The text of a plan and of an error is memory of malloc: the plan's until it is destroyed, the error's until the next call on the
##   thread. Numbers in, numbers out: tensors are used where they lie and never kept.
## - The language itself is in network/: `compile` (text front end) and `dsl` (macro front end) lead to one checker and one plan.
##
## Build, from the root of the repository: `nim c nim/src/agpu_neuro.nim` (flags: agpu_neuro.nims beside this file).

import agpu_abi, dense, plasticity, status
import network/[compile, diagnostics, plan_json]

type
  PlanHeader = object
    ## What a plan handle points to; the JSON follows it in the same block.
    magic: uint64
    len: uint64

const
  PlanMagic = 0x4E50_4C41_4E31_0001'u64
    ## Tells a plan from a stray pointer; cleared when the plan is destroyed.
  CompilerBytesPerTextByte = 64
    ## Peak memory of the compiler over the size of its text, measured with generated networks of 1 to 10 MB.
  LibraryName = "neuro"
  LibraryLanguage = "nim"
  LibraryVersion = packageVersion

var
  manifest: string       ## set once, then only read

{.emit: """/*VARSECTION*/
#include <pthread.h>
static pthread_once_t agpuNeuroOnce = PTHREAD_ONCE_INIT;
""".}

proc nimMain() {.importc: "NimMain", cdecl.}
proc cMalloc(bytes: csize_t): pointer {.importc: "malloc", header: "<stdlib.h>".}
proc cFree(memory: pointer) {.importc: "free", header: "<stdlib.h>".}

proc initialise() {.exportc: "agpuNeuroInitialise", noconv.} =
  nimMain()
  initStatus()
  manifest = layoutManifest()

proc ensureInitialised() {.inline.} =
  {.emit: "pthread_once(&agpuNeuroOnce, agpuNeuroInitialise);".}

func borrowed(text: string): Str =
  ## Text that outlives the call.
  if text.len > 0:
    result = Str(`ptr`: unsafeAddr text[0], len: uint64(text.len))

proc textOf(text: ptr Str; name: string): string =
  if text == nil or (text.`ptr` == nil and text.len > 0):
    raise newFailure(errorInvalidArgument, name & " is NULL")
  if text.len > uint64(high(int32)):
    raise newFailure(errorNetworkInvalid, name & " has " & $text.len & " bytes, which is too long")
  result = newString(int(text.len))
  if text.len > 0:
    copyMem(addr result[0], text.`ptr`, int(text.len))

proc headerOf(handle: agpu_abi.NetworkPlan): ptr PlanHeader =
  if handle == nil:
    raise newFailure(errorInvalidArgument, "the plan is NULL")
  result = cast[ptr PlanHeader](handle)
  if result.magic != PlanMagic:
    raise newFailure(errorInvalidHandle, "this is no network plan, or it was destroyed")

proc checkRoom(bytes: int) =
  ## Refuses a text when its compilation could not get the memory: an allocation that fails inside Nim would end the process.
  let probe = cMalloc(csize_t(bytes))
  if probe == nil:
    raise newFailure(errorOutOfMemory, "no memory to compile the network: about " & $bytes & " bytes are needed")
  cFree(probe)

proc agpu_neuro_describe*(output: ptr LibraryInfo): Status {.exportc, dynlib, cdecl, raises: [].} =
  ensureInitialised()
  guarded:
    if output == nil or output.sizeBytes < uint64(sizeof(LibraryInfo)):
      raise newFailure(errorInvalidArgument, "the struct for the description is NULL or too small")
    output.abiVersion = abiVersion
    output.reserved = 0
    output.abiHash = abiHash
    output.name = borrowed(LibraryName)
    output.version = borrowed(LibraryVersion)
    output.language = borrowed(LibraryLanguage)
    output.layoutManifest = borrowed(manifest)

proc agpu_neuro_last_error*(output: ptr LastError): Status {.exportc, dynlib, cdecl, raises: [].} =
  ensureInitialised()
  if output == nil or output.sizeBytes < uint64(sizeof(LastError)):
    return errorInvalidArgument
  let failure = lastFailure()
  output.code = failure.code
  output.reserved = 0
  output.message = failure.message

proc agpu_neuro_compile*(text, baseDirectory: ptr Str; output: ptr agpu_abi.NetworkPlan): Status {.exportc, dynlib, cdecl, raises: [].} =
  ensureInitialised()
  guarded:
    if output == nil:
      raise newFailure(errorInvalidArgument, "the place for the plan is NULL")
    output[] = nil
    if text != nil:
      checkRoom(int(min(text.len, uint64(high(int32)))) * CompilerBytesPerTextByte)
    let source = textOf(text, "the network text")
    let folder = if baseDirectory == nil: "" else: textOf(baseDirectory, "the base directory")
    var report: Report
    let plan = compileText(source, folder, report)
    if report.errorCount > 0:
      raise newFailure(errorNetworkInvalid, report.renderErrors(source))
    let json = plan.toJson
    let header = cast[ptr PlanHeader](cMalloc(csize_t(sizeof(PlanHeader) + json.len)))
    if header == nil:
      raise newFailure(errorOutOfMemory, "no memory for the network plan")
    header.magic = PlanMagic
    header.len = uint64(json.len)
    copyMem(cast[pointer](cast[int](header) + sizeof(PlanHeader)), unsafeAddr json[0], json.len)
    output[] = header

proc agpu_neuro_plan_json*(plan: agpu_abi.NetworkPlan; output: ptr Str): Status {.exportc, dynlib, cdecl, raises: [].} =
  ensureInitialised()
  guarded:
    if output == nil:
      raise newFailure(errorInvalidArgument, "the place for the text is NULL")
    let header = headerOf(plan)
    output[] = Str(`ptr`: cast[pointer](cast[int](header) + sizeof(PlanHeader)), len: header.len)

proc agpu_neuro_plan_destroy*(plan: agpu_abi.NetworkPlan): Status {.exportc, dynlib, cdecl, raises: [].} =
  ensureInitialised()
  guarded:
    let header = headerOf(plan)
    header.magic = 0
    cFree(header)

proc agpu_neuro_dense_forward*(x, weight, bias, output: ptr Tensor; activation: ptr Activation;
                               executor: ptr Executor): Status {.exportc, dynlib, cdecl, raises: [].} =
  ensureInitialised()
  guarded:
    denseForward(x, weight, bias, output, activation)

proc agpu_neuro_hebbian_update*(weight, pre, post: ptr Tensor; learningRate: cdouble): Status
                               {.exportc, dynlib, cdecl, raises: [].} =
  ensureInitialised()
  guarded:
    hebbianUpdate(weight, pre, post, learningRate)
