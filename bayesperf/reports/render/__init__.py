"""Renderers: blocks as HTML, Markdown, text on a terminal, and JSON."""
