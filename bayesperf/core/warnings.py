"""Warnings of the package, which point at the line of the caller outside of it."""

from pathlib import Path

# What `warnings.warn(skip_file_prefixes=)` skips to get there.
PACKAGE = str(Path(__file__).parents[1])


class DependenceWarning(UserWarning):
    """Samples depend on each other in a way that the model ignores."""


class ConvergenceWarning(UserWarning):
    """A sampler may not have converged, so its draws cannot be trusted yet."""


class PriorWarning(UserWarning):
    """The data say little about a quantity, so that its posterior is mostly its prior."""


class LabelWarning(UserWarning):
    """Labels look the same and count as different ones."""


class SelectionWarning(UserWarning):
    """Examples seem to have been chosen in a way that the figures take no notice of."""


class IdentifiabilityWarning(UserWarning):
    """The data do not settle a quantity: its prior decides, several values fit as well, or classes changed places."""
