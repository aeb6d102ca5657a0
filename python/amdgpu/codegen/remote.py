"""The code generator for a program without Python: `libamdgpu.so` starts this in a process and asks it over pipes.

A request is the length of its JSON and of the LLVM IR behind it, eight bytes each, then both. An answer is a byte that says what it is,
eight bytes with its length, and the answer: code, text or JSON, or the message of an error. The process ends with its input.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import Any

REQUEST: Final = struct.Struct("<QQ")
ANSWER: Final = struct.Struct("<BQ")
RESULT, REFUSAL, NO_LLVM = range(3)


def main() -> None:
    """Answers requests on standard input until it ends."""
    requests = sys.stdin.buffer
    # What anything prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while len(head := requests.read(REQUEST.size)) == REQUEST.size:
        header_bytes, text_bytes = REQUEST.unpack(head)
        request = json.loads(requests.read(header_bytes))
        kind, answer = _answer(request, requests.read(text_bytes).decode())
        answers.write(ANSWER.pack(kind, len(answer)) + answer)
        answers.flush()


def _answer(request: dict[str, Any], text: str) -> tuple[int, bytes]:
    from amdgpu import codegen

    try:
        if request["ask"] == "identity":
            return RESULT, codegen.identity().encode()
        if request["ask"] == "host":
            return RESULT, json.dumps(codegen.host_target()).encode()
        wanted = request["request"]
        names = ("triple", "cpu", "features", "optimization_level", "emit")
        return RESULT, codegen.generate(text, *(wanted[name] for name in names))
    except ImportError as error:
        return NO_LLVM, str(error).encode()
    except (RuntimeError, ValueError) as error:
        return REFUSAL, str(error).encode()
