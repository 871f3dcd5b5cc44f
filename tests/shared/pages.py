"""What a page says in each format, as words that follow one another."""

import re
from html import unescape


def plain_words(text):
    """Return a text without the lines of tables."""
    return " ".join(re.sub(r"[│┃|─━╇┼]", " ", text).split())


def in_words(html, markdown, terminal):
    """Return the words of a page of HTML, of Markdown and of a terminal."""
    text = re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", html, flags=re.DOTALL)
    plain = re.sub(r"[()]", " ", re.sub(r"\\(.)", r"\1", markdown))
    return plain_words(unescape(re.sub(r"<[^>]*>", " ", text))), plain_words(plain), plain_words(terminal)
