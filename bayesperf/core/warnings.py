"""Warnings of the package."""


class DependenceWarning(UserWarning):
    """Samples depend on each other in a way that the model does not see."""


class ConvergenceWarning(UserWarning):
    """A sampler's draws are not to be trusted yet."""


class PriorWarning(UserWarning):
    """The data hardly inform a quantity: its posterior is the prior."""
