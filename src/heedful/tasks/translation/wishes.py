"""What a translation must contain: a beginning. It belongs to a unit of a text and is settled in its plan."""

from dataclasses import dataclass

from heedful.errors import UserError
from heedful.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Wishes:
    """What the translation of a unit into its last language must contain."""

    prefix: str = ""
    """What it begins with."""

    def prefix_ids(self, tokenizer: Tokenizer) -> list[int]:
        """Return the beginning as tokens."""
        return tokenizer.encode_target(self.prefix)[:-1] if self.prefix else []


NO_WISHES = Wishes()


def check_prefix(prefix: str, tokenizer: Tokenizer, max_tokens: int) -> None:
    """Refuse a beginning that leaves no room for what follows."""
    num_tokens = len(Wishes(prefix).prefix_ids(tokenizer))
    if num_tokens > max_tokens // 2:
        raise UserError(f"A prefix must have at most {max_tokens // 2:,} tokens, but has {num_tokens:,}. Shorten it.")
