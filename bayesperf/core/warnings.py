"""Warnings of the package."""


class DependenceWarning(UserWarning):
    """Samples depend on each other in a way that the model ignores."""


class ConvergenceWarning(UserWarning):
    """A sampler may not have converged, so its draws cannot be trusted yet."""


class PriorWarning(UserWarning):
    """The data say little about a quantity, so that its posterior is mostly its prior."""


class LabelWarning(UserWarning):
    """Labels look the same and count as different ones."""
