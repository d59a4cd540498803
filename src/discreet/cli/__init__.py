"""The command line: one file per verb, no mathematics.

Exit codes: 0 fine, 1 input or output failed, 2 usage, 3 budget refused, 4 unreadable or altered release.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

#: Set to any value to see where an unexpected error came from. A traceback can show rows: keep it on your own screen.
DEBUG_VARIABLE = "DISCREET_DEBUG"


def main() -> None:
    """Run the command line and exit."""
    try:
        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; whatever goes wrong becomes one line, never a traceback."""
    from discreet.cli.console import report_error
    from discreet.errors import DiscreetError, MissingPackageError
    from discreet.extras import needed_for

    as_json = "--json" in arguments
    try:
        with needed_for("the command line"):
            import rich  # noqa: F401 - found missing here, not in the middle of a report
            import typer
    except MissingPackageError as error:
        return report_error(error.message, None, error.exit_code, as_json=as_json)

    from discreet.cli.app import program
    from discreet.cli.wording import as_options

    try:
        code = program()(args=list(arguments) or ["--help"], prog_name="discreet", standalone_mode=False)
    except typer.TyperException as error:
        hint = "discreet --help lists the commands, discreet COMMAND --help the options of one."
        # how typer's own dependencies prefix what it says about a choice
        message = error.format_message().replace("Value error, ", "")
        return report_error(message, hint, error.exit_code, as_json=as_json)
    except DiscreetError as error:
        hint = None if error.hint is None else as_options(error.hint)
        return report_error(as_options(error.message), hint, error.exit_code, as_json=as_json)
    except typer.Abort:
        return report_error("interrupted.", None, 130, as_json=as_json)
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        if isinstance(error, OSError) and error.strerror:
            return report_error(f"{error.strerror}.", None, 1, as_json=as_json)
        # the text of an unexpected error may quote a row, its type cannot
        message = f"unexpected {type(error).__name__}; this is a bug in discreet."
        hint = f"set {DEBUG_VARIABLE}=1 to see the traceback; it may show rows, so do not publish it."
        return report_error(message, hint, 1, as_json=as_json)
    return code if isinstance(code, int) else 0
