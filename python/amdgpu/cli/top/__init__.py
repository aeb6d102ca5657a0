"""The live view of `amdgpu top` and `amdgpu replay`: where its frames come from, and how they are drawn."""
