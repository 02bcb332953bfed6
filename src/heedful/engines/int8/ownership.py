"""Whether somebody else could have put a file where we look for it: asked before a file is executed.

Owner and mode decide, of the place itself and of every folder above it: whoever may rename one of those may put another
in its place. Trusted are the user, root, and the owner of the file system's root, who is root seen from a container.
Nothing here knows what the files are.
"""

import os
import stat
from pathlib import Path

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def foreign_hand(path: Path) -> str | None:
    """Say who beside the user could have made or changed what is at `path`; None when nobody could.

    `path` must be resolved, and must be the one that is used afterwards: a link may point elsewhere the next time.
    """
    if not hasattr(os, "geteuid"):  # Windows keeps a user's folders to the user by other means
        return None
    return _hand_on(path, path.lstat()) or hand_above(path)


def hand_above(path: Path) -> str | None:
    """Say who beside the user could put something else in the place of `path`, by renaming a folder above it."""
    if not hasattr(os, "geteuid"):
        return None
    for folder in path.parents:
        state = folder.lstat()
        is_harmless = state.st_mode & stat.S_ISVTX or _only_private_group_writes(state)
        if hand := _hand_on(folder, state, may_be_writable=bool(is_harmless)):
            return hand
    return None


def _hand_on(path: Path, state: os.stat_result, *, may_be_writable: bool = False) -> str | None:
    if state.st_uid not in (os.geteuid(), 0, Path("/").stat().st_uid):
        return f"{path} belongs to user {state.st_uid}"
    if state.st_mode & _OTHERS_MAY_WRITE and not may_be_writable:
        return f"others may write {path} (mode {stat.S_IMODE(state.st_mode):o})"
    return None


def _only_private_group_writes(state: os.stat_result) -> bool:
    """Say whether only a group may write that has the user's name and nobody else in it, as many systems give one."""
    import grp
    import pwd

    if state.st_mode & stat.S_IWOTH:
        return False
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(state.st_gid)
    except KeyError:
        return False
    return group.gr_gid == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
