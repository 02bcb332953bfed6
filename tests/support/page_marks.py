"""What a page marks as different, held against the longest row of words two texts share."""

import re
from typing import Any

UNMARKED = """node => {
  const copy = node.cloneNode(true);
  for (const mark of copy.querySelectorAll("mark")) mark.replaceWith(" ");
  return copy.textContent;
}"""


def marks_what_differs(page: Any, selector: str, before: str) -> bool:
    """Whether what is marked is not nothing, and what is not marked is the longest row of words both texts have."""
    old, new = (re.findall(r"[\w'-]+", text) for text in (before, page.inner_text(selector)))
    longest = [[0] * (len(new) + 1)]
    for word in old:
        row = [0]
        for at, other in enumerate(new):
            row.append(longest[-1][at] + 1 if word == other else max(row[-1], longest[-1][at + 1]))
        longest.append(row)
    left, kept = iter(old), re.findall(r"[\w'-]+", page.eval_on_selector(selector, UNMARKED))
    in_order = all(word in left for word in kept)
    return in_order and len(kept) == longest[-1][-1] and page.locator(f"{selector} mark").count() > 0
