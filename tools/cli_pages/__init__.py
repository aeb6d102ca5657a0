"""Completion scripts and the manual page of `amdgpu`, made from its argument parser."""
