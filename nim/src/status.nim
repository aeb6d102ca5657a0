## Failures on their way to the caller: inside they are exceptions with a code, outside a status and a message for each thread.
##
## The message lives in memory of malloc that belongs to the thread and is given back when the thread ends; Nim's own thread variables
## are never destroyed on threads that Nim did not start.

import std/posix
import agpu_abi

type
  Failure* = object of CatchableError
    ## Carries a code of errors.toml to the boundary.
    code*: int32

  ThreadMessage = object
    code: int32
    len, capacity: int
    text: pointer

var
  messageKey: Pthread_key
  hasMessageKey = false

proc cMalloc(bytes: csize_t): pointer {.importc: "malloc", header: "<stdlib.h>".}
proc cFree(memory: pointer) {.importc: "free", header: "<stdlib.h>".}

func newFailure*(code: int32; message: string): ref Failure =
  result = (ref Failure)(msg: message)
  result.code = code

proc freeMessage(memory: pointer) {.noconv.} =
  let message = cast[ptr ThreadMessage](memory)
  if message != nil:
    cFree(message.text)
    cFree(message)

proc initStatus*() =
  ## Once in the life of the process, before any other call.
  hasMessageKey = pthread_key_create(addr messageKey, freeMessage) == 0

proc threadMessage(): ptr ThreadMessage =
  ## Of this thread; nil when memory is out.
  if not hasMessageKey:
    return nil
  result = cast[ptr ThreadMessage](pthread_getspecific(messageKey))
  if result == nil:
    result = cast[ptr ThreadMessage](cMalloc(csize_t(sizeof(ThreadMessage))))
    if result != nil:
      zeroMem(result, sizeof(ThreadMessage))
      if pthread_setspecific(messageKey, result) != 0:
        cFree(result)
        result = nil

proc remember*(code: int32; message: string): int32 =
  ## Keeps the message for `agpu_neuro_last_error` and returns the code.
  result = code
  let kept = threadMessage()
  if kept == nil:
    return
  kept.code = code
  kept.len = 0
  if message.len > kept.capacity:
    cFree(kept.text)
    kept.text = cMalloc(csize_t(message.len))
    kept.capacity = if kept.text == nil: 0 else: message.len
  if message.len > 0 and message.len <= kept.capacity:
    copyMem(kept.text, unsafeAddr message[0], message.len)
    kept.len = message.len

proc lastFailure*(): tuple[code: int32; message: Str] =
  ## Code 0 and no text when nothing failed on this thread.
  let kept = threadMessage()
  if kept != nil:
    result.code = kept.code
    result.message = Str(`ptr`: kept.text, len: uint64(kept.len))

template guarded*(body: untyped): int32 =
  ## Runs the body of an exported function: whatever it raises, bugs in this library included, becomes a status and a message.
  var status: int32 = statusOk
  try:
    body
  except Failure as failure:
    status = remember(failure.code, failure.msg)
  except OutOfMemDefect:
    status = remember(errorOutOfMemory, "memory is out")
  except Exception as defect:
    status = remember(errorInternal, $defect.name & ": " & defect.msg)
  status
