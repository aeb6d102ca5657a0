"""Networks of other tools: NIR (read and write) and ONNX (dense layers, read). Both are optional and imported when used."""

from amdgpu.interchange.nir_read import from_nir
from amdgpu.interchange.nir_write import to_nir
from amdgpu.interchange.onnx_read import from_onnx

__all__ = ["from_nir", "from_onnx", "to_nir"]
