"""Translated files wait to be fetched: for a while, within bounds, and nobody takes all the room."""

from dataclasses import replace

from heedful.serving.kept_files import KeptFiles
from heedful.serving.limits import Limits

LIMITS = replace(Limits(), max_kept_bytes=400, kept_seconds=10.0)


def test_a_file_is_found_until_it_expires() -> None:
    now = 0.0
    kept = KeptFiles(LIMITS, lambda: now)
    secret = kept.keep("a.de.txt", "text/plain", b"hello", "me", ".de.txt")
    assert secret.endswith(".de.txt")
    assert len(secret) > 30
    now = 9.9
    assert kept.find(secret).content == b"hello"
    now = 10.0
    assert kept.find(secret) is None


def test_a_client_has_its_share_and_loses_its_own_oldest() -> None:
    kept = KeptFiles(LIMITS, lambda: 0.0)
    other = kept.keep("b", "text/plain", bytes(50), "other", "")
    mine = [kept.keep("a", "text/plain", bytes(40), "me", "") for _ in range(10)]
    assert kept.find(other) is not None
    assert [kept.find(secret) is not None for secret in mine] == [False] * 8 + [True] * 2


def test_all_files_together_are_bounded() -> None:
    kept = KeptFiles(LIMITS, lambda: 0.0)
    secrets = [kept.keep("a", "text/plain", bytes(90), f"client {number}", "") for number in range(10)]
    assert sum(kept.find(secret) is not None for secret in secrets) == 4
