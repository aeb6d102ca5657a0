"""Tests' own linking of objects, where the address space has gaps that only a part of an object fits in."""

import os
import subprocess
import sys
from pathlib import Path

SUPPORT = Path(__file__).resolve().parents[1] / "support"
# A page for code high up, behind it nothing for six gigabytes: constants would be out of the code's reach.
PROGRAM = """
import ctypes
import linking
from amdgpu import codegen
IR = '''
@table = private unnamed_addr constant [4 x i64] [i64 3, i64 5, i64 7, i64 11]
define i64 @pick(i64 %i) {
  %p = getelementptr [4 x i64], ptr @table, i64 0, i64 %i
  %v = load i64, ptr %p
  ret i64 %v
}
'''
code = codegen.generate(IR, *codegen.host_target(), 0, "object")
linking.link(code)
pages = [linking.reserve(4096) for _ in range(3000)]
big = linking.reserve(6 << 30)
while linking.reserve(4096) > big:
    pass
linking.SYSTEM.munmap(pages[2500], 4096)
for _ in range(6):
    engine = linking.link(code)
    print(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("pick"))(2))
"""


def test_code_reaches_its_constants_where_gaps_are_too_small_for_both() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["7"] * 6, done.stderr[-500:]
