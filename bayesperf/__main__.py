"""``python -m bayesperf`` is the command ``bayesperf``."""

from bayesperf.cli.commands import main

if __name__ == "__main__":
    main()
