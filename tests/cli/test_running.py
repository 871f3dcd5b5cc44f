"""What a command says beside its answer."""

import warnings

from bayesperf.cli.running_commands import warnings_said
from bayesperf.core.errors import LabelWarning


def test_a_warning_is_said_once_as_a_line(capsys):
    with warnings_said():
        for text in ("two\nlines", "two\nlines", "another"):
            warnings.warn(text, LabelWarning, stacklevel=1)
    assert capsys.readouterr().err == "bayesperf: warning: two lines\nbayesperf: warning: another\n"
