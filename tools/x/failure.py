"""The one exception that `./x` shows to its user without a traceback."""

from __future__ import annotations


class Failure(Exception):
    """What went wrong in one sentence, and the command or the place that mends it."""

    def __init__(self, sentence: str, *, fix: str = "", detail: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.fix = fix
        self.detail = detail

    def text(self) -> str:
        """The message as printed: detail first, so that the sentence and its mending are the last lines one sees."""
        lines = [self.detail.rstrip()] if self.detail else []
        lines.append(f"error: {self.sentence}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)
