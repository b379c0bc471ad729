"""`atpar checklist`: the checklist before a rental [P40]."""

from argparse import ArgumentParser, Namespace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from atpar.calendar.planned import plan_calendars
from atpar.calendar.timeline import deadline_instant, local_text, window_of
from atpar.canonical import read_json, write_text
from atpar.config.files import campaign_config
from atpar.config.load import Plan, load_plan
from atpar.errors import AtparError, did_you_mean
from atpar.money.calculator import Tariff, candidates, show_hours
from atpar.money.checklist import checklist_points, render_checklist
from atpar.money.priced import engaged_tariffs, load_tariffs
from atpar.protocol.schedule import schedule

PACKAGES = ("torch", "transformers", "tokenizers")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "--configfile",
        "--configfiles",
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="merged over config/config.yaml, later files over earlier ones, as in snakemake",
    )
    parser.add_argument("--offer", help="only this offer")
    parser.add_argument("--output", type=Path, help="file to write (default: print)")


def run(arguments: Namespace) -> int:
    """Print or write the checklist of each offer."""
    plan = load_plan(campaign_config(arguments.configfile))
    names = [offer.offer for offer in plan.offers]
    if arguments.offer and arguments.offer not in names:
        raise AtparError(
            f"--offer is {arguments.offer!r}, which isn't in the offers table; "
            + did_you_mean(arguments.offer, names)
        )
    chosen = [arguments.offer] if arguments.offer else names
    text = f"# Before renting: {plan.campaign.campaign}\n\n" + "\n".join(
        _of_offer(plan, name) for name in chosen
    )
    if arguments.output:
        write_text(arguments.output, text)
        print(arguments.output)
    else:
        print(text, end="")
    return 0


def _of_offer(plan: Plan, name: str) -> str:
    offer = plan.offer(name)
    results = Path("results", plan.campaign.campaign)
    environment = results / "offers" / name / "environment.json"
    window = _window(plan, name)
    zone = plan.campaign.protocol.zone
    deadline = deadline_instant(plan.campaign.protocol.deadline, zone)
    groups = checklist_points(
        offer,
        _tariff(plan, name, window.length),
        read_json(environment) if environment.exists() else None,
        {
            "memory": _weights(results / "model" / "fingerprint.json"),
            "window": (f"{show_hours(window.length)}, from {local_text(window.start, zone)}"),
            "deadline": deadline and local_text(deadline, zone),
        },
        _versions(),
    )
    return render_checklist(name, groups)


def _window(plan: Plan, name: str):
    places = schedule(
        [name], [one.variant for one in plan.variants], plan.repetitions, plan.resumed
    )
    return window_of(plan_calendars(plan, places)[name])


def _tariff(plan: Plan, name: str, window) -> Tariff:
    """Return the price that the offer would be engaged at: what covers, else the longest."""
    offer = plan.offer(name)
    found = engaged_tariffs(offer, load_tariffs(plan.campaign.tables.tariffs))
    covering = candidates(found, offer.lots, window)
    return covering[0].tariff if covering else found[-1]


def _weights(fingerprint: Path) -> str | None:
    if not fingerprint.exists():
        return None
    count = read_json(fingerprint).get("parameter_bytes")
    return None if count is None else f"{count / 2**20:.0f} MiB"


def _versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
