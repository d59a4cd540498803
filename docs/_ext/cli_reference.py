"""The ``cli-reference`` directive: every command with its options, read from the program itself."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx


class CliReference(Directive):
    def run(self) -> list[nodes.Node]:
        import typer

        from discreet.cli.app import app

        program: Any = typer.main.get_command(app)
        sections = []
        for name, command in _commands(program):
            section = nodes.section(ids=[f"discreet-{name.replace(' ', '-')}"], names=[f"discreet {name}"])
            section += nodes.title(text=f"discreet {name}")
            self.state.nested_parse(StringList(_markdown(name, command).splitlines()), 0, section)
            sections.append(section)
        return sections


def _commands(group: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """List all commands, those of groups with the group's name before theirs."""
    found = []
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            found += _commands(command, f"{prefix}{name} ")
        else:
            found.append((prefix + name, command))
    return found


def _markdown(name: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    usage = " ".join(["discreet", name, *(p.metavar or p.name.upper() for p in arguments), "[OPTIONS]"])
    lines = ["```text", usage, "```", "", command.help, ""]
    for parameter in (*arguments, *options):
        lines += [_term(parameter), f": {_definition(parameter)}", ""]
    return "\n".join([*lines, command.epilog.replace(": ", ": `", 1) + "`"])


def _term(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar}`"
    choices = parameter.type_descriptor.choices
    value = "|".join(map(str, choices)) if choices else parameter.metavar or ""
    return " ".join(f"`{' '.join(filter(None, [option, value]))}`" for option in parameter.opts)


def _definition(parameter: Any) -> str:
    notes = []
    if parameter.required:
        notes.append("Required.")
    elif isinstance(parameter.show_default, str):
        notes.append(f"Default: {parameter.show_default}.")
    elif parameter.default not in (None, False):
        notes.append(f"Default: `{parameter.default}`.")
    if parameter.multiple:
        notes.append("Can be repeated.")
    return " ".join([parameter.help.replace("…", "…"), *notes])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("cli-reference", CliReference)
    return {"parallel_read_safe": True}
