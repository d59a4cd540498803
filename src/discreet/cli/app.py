"""The program: its verbs and global options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import discreet
from discreet.cli.adversary import adversary
from discreet.cli.audit import audit
from discreet.cli.calibrate import calibrate
from discreet.cli.check import check
from discreet.cli.coarsen import coarsen
from discreet.cli.declare import declare
from discreet.cli.demo import demo
from discreet.cli.distinguish import distinguish
from discreet.cli.evidence import evidence
from discreet.cli.forecast import forecast, states
from discreet.cli.infer import infer
from discreet.cli.options import option
from discreet.cli.plan import plan
from discreet.cli.read import read
from discreet.cli.refine import refine
from discreet.cli.release import release
from discreet.cli.report import report
from discreet.cli.respond import respond
from discreet.cli.show import show
from discreet.cli.sign import sign, verify
from discreet.cli.studio import studio


class _Command(TyperCommand):
    """A command whose help does not call ``--help`` a ``<bool>``."""

    def get_help_option(self, ctx: Any) -> Any:
        return _bare(super().get_help_option(ctx))


class _Group(TyperGroup):
    """Likewise for the program itself, and its shell completion."""

    def get_help_option(self, ctx: Any) -> Any:
        return _bare(super().get_help_option(ctx))

    def get_params(self, ctx: Any) -> list[Any]:
        found = super().get_params(ctx)
        return [_bare(one) if str(one.name).endswith("_completion") else one for one in found]


class _Later(_Group):
    """A group whose verbs are read when it is asked for one: the program's own help shows none of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        self._read()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        self._read()
        return super().get_command(ctx, cmd_name)

    def _read(self) -> None:
        if not self.commands:
            verbs = typer.main.get_command(_VERBS[self.name or ""]())
            self.commands.update(verbs.commands)  # pyright: ignore[reportAttributeAccessIssue]


def _bare(option: Any) -> Any:
    if option is not None:
        option.metavar = ""
    return option


app = typer.Typer(
    name="discreet",
    cls=_Group,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@cache
def program() -> Any:
    """Return the program, built from its verbs once for a process: that takes longer than most commands."""
    return typer.main.get_command(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {discreet.__version__}")
        raise typer.Exit


@app.callback()
def discreet_(
    version: Annotated[
        bool, option("", "Print the version.", "--version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Learn from sensitive data, publish what you learned, and still know how sure you are.

    The curator turns rows into a private release file (check, release); the analyst reads it (show, infer, respond).
    """


def _add(verb: Callable[..., None], panel: str | None, example: str, to: typer.Typer = app) -> None:
    """Add a command whose help is its docstring, each paragraph on one line for the terminal to wrap."""
    paragraphs = inspect.cleandoc(verb.__doc__ or "").split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    to.command(cls=_Command, help=text, epilog=f"Example: {example}", rich_help_panel=panel)(verb)


def _add_group(name: str, text: str, panel: str) -> None:
    """Add a group of verbs, to be read later."""
    settings = {"help_option_names": ["-h", "--help"]}
    app.add_typer(
        typer.Typer(cls=_Later, context_settings=settings), name=name, help=text, rich_help_panel=panel
    )


def _group(name: str, examples: Mapping[Callable[..., None], str]) -> typer.Typer:
    """Return the verbs of a group, in this order, each with the rest of an example."""
    made = typer.Typer(cls=_Group)
    for verb, rest in examples.items():
        _add(verb, None, f"discreet {name} {verb.__name__} {rest}", made)
    return made


def _ledger() -> typer.Typer:
    from discreet.cli.ledger import export, init, partition, show, verify

    url = "sqlite:///budget.db"
    return _group(
        "ledger",
        {
            init: f"{url} --epsilon 5 --delta 1e-6",
            partition: f'{url} --dataset clinic-2026 --by "region=north|south"',
            show: f"{url} --plot spending.png",
            verify: f"{url} --against smoking.json",
            export: f"{url} -o entries.jsonl",
        },
    )


def _profiles() -> typer.Typer:
    from discreet.cli.profile_devices import device, estimate, report
    from discreet.cli.profile_reports import infer, privatize
    from discreet.cli.profiles import audit, fit, plot

    return _group(
        "profiles",
        {
            estimate: "public.csv --value minutes --profile user --bins 0,10,20,50 -o graph.json",
            fit: "graph.json --epsilon 0.5 -o mechanism.json",
            audit: "mechanism.json",
            privatize: "mechanism.json observed.csv --value usage --profile user -o reports.csv",
            device: "mechanism.json --profile ana --epsilon 5 -o device.json",
            report: "mechanism.json device.json --key 2026-11-17 --value 7.5",
            infer: "mechanism.json reports.csv",
            plot: "graph.json --kind costs -o costs.png",
        },
    )


_VERBS: dict[str, Callable[[], typer.Typer]] = {"ledger": _ledger, "profiles": _profiles}
_START, _CURATOR, _ANALYST = "Start here", "Curator: holds the rows", "Analyst: holds a release file"
_EITHER, _LOCAL = "Either: simulates, reads no data", "Without a curator: everybody perturbs their own data"
_add(demo, _START, "discreet demo --epsilon 0.1 -o try")
_add(studio, _START, "discreet studio")
_add(declare, _CURATOR, "discreet declare patients.csv -m naive_bayes -o patients.toml")
_add(check, _CURATOR, "discreet check patients.csv -m normal -c systolic_bp --bounds=60,220")
_add(release, _CURATOR, "discreet release patients.csv -m bernoulli -c smoker --epsilon 0.5 -o smoking.json")
_add(coarsen, _CURATOR, "discreet coarsen smoking.json --epsilon 0.05 -o smoking-public.json")
_add(sign, _CURATOR, "discreet sign smoking.json --key office.key")
_add_group("ledger", "Keep count: budgets and every charge against them.", _CURATOR)
_add(show, _ANALYST, "discreet show smoking.json")
_add(verify, _ANALYST, "discreet verify smoking.json --key office.key.pub")
_add(
    read,
    _ANALYST,
    "discreet read -m bernoulli --value yes=123.4 --records 300 --noise laplace --scale 12.5 -o yes.json",
)
_add(infer, _ANALYST, "discreet infer smoking.json --prior beta:1,1 -o posterior.nc --plot posterior.png")
_add(refine, _ANALYST, "discreet refine first.json -o refined.toml")
_add(report, _ANALYST, "discreet report smoking.json pressure.json -o report.html")
_add(evidence, _ANALYST, "discreet evidence weak-prior.json strong-prior.json --seed 1")
_add(forecast, _ANALYST, "discreet forecast wards.json --ahead 3 --entries 100 -o forecast.png")
_add(states, _ANALYST, "discreet states wards.json --try 1,2,3,4 -o states.png")
_add(respond, _ANALYST, "discreet respond smoking.json -q mean:p -q interval:p:0.9 -q 'event:p>0.3'")
_add(plan, _EITHER, "discreet plan -m mean --n 1000 --bounds=0,100 --width 4 -o plan.png")
_add(calibrate, _EITHER, "discreet calibrate -m bernoulli --n 500 --epsilon 0.1 --seed 1 -o calibration.png")
_add(audit, _EITHER, "discreet audit -m mean --bounds=0,100 --epsilon 1")
_add(distinguish, _EITHER, "discreet distinguish --epsilon 0.5 --error 0.01 -o limit.png")
_add(
    adversary,
    _EITHER,
    "discreet adversary -m bernoulli --prior beta:1,1 --support=0.1,0.9 --epsilon 1 -o path.png",
)
_add_group("profiles", "Hide who, keep what: reports that do not tell people's profiles apart.", _LOCAL)
