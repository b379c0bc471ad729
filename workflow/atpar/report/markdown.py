"""The decision note as HTML that can hold nothing but text."""

import re

from markdown_it import MarkdownIt
from markupsafe import Markup

# Names and log lines end up in the note, so raw HTML stays text and nothing can be linked or
# loaded. Headings sink below the page's own.
_RENDERER = MarkdownIt("commonmark", {"html": False}).enable("table")
_RENDERER.disable(["link", "image", "autolink", "reference", "html_block", "html_inline"])


def to_html(text: str, sink: int = 2) -> Markup:
    """Return CommonMark (with tables) as HTML; headings are lowered by `sink` levels."""
    html = _RENDERER.render(text)
    lowered = re.sub(
        r"<(/?)h([1-6])>", lambda found: f"<{found[1]}h{min(6, int(found[2]) + sink)}>", html
    )
    return Markup(lowered.replace("<th>", '<th scope="col">'))


def to_inline(text: str) -> Markup:
    """Return one line of CommonMark as HTML without a paragraph around it."""
    return Markup(_RENDERER.renderInline(text))
