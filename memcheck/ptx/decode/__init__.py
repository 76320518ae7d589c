"""Raw instructions to typed ones, refusing what ptxas refuses; and the spelling back."""

from memcheck.ptx.decode.dispatch import decode

__all__ = ["decode"]
