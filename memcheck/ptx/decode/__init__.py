"""Raw instructions to typed ones, refusing what ptxas refuses; and the spelling back."""

from memcheck.ptx.decode.dispatch import decode
from memcheck.ptx.decode.spelling import spell

__all__ = ["decode", "spell"]
