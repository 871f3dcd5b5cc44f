"""The base of every room: checks of arguments, random streams, array types, words of outputs, warnings."""

from bayesperf.core import errors as errors
