"""Simulated annealing and simulated quantum annealing of Ising and QUBO problems on any device (docs/anneal.md)."""

from amdgpu.anneal.result import AnnealProgress, AnnealResult
from amdgpu.anneal.solve import METHODS, ising, qubo

__all__ = ["METHODS", "AnnealProgress", "AnnealResult", "ising", "qubo"]
