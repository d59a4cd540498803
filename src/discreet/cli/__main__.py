"""Run the command line with ``python -m discreet.cli``."""

from discreet.cli import main

main()
