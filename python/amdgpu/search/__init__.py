"""Search over the marked ranges of a network text: evolution, successive halving, quantum-inspired evolution (docs/search.md)."""

from amdgpu.search.marks import Mark, find_marks
from amdgpu.search.result import Candidate, SearchProgress, SearchResult
from amdgpu.search.run import STRATEGIES, architecture

__all__ = ["STRATEGIES", "Candidate", "Mark", "SearchProgress", "SearchResult", "architecture", "find_marks"]
