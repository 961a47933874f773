"""``mockserver sample``: fills a sandbox of a running server with invented customers and charges."""

from __future__ import annotations

import sys
from contextlib import closing

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.commands.explore import stop
from mockserver.settings import Settings

MOST = 100_000


@click.command()
@click.argument("count", type=click.IntRange(1, MOST), metavar="N")
@click.option(
    "--url",
    default=Settings().address,
    show_default=True,
    help="Address of the running server.",
)
@click.option("--key", default="sk_demo", show_default=True, help="Secret key of the sandbox to fill.")
@click.option("--seed", type=int, default=Settings().seed, show_default=True, help="Seed of the sample data.")
def sample(count: int, url: str, key: str, seed: int) -> None:
    """Post N invented customers with cards and charges (paid, authorised, captured, refunded, declined) to a server.

    Exit code 5 when no server answers, 1 when it refuses what it should take.
    """
    import httpx

    from mockserver.commands.sample_data import sampler
    from mockserver.remote import ControlRefused, RemoteSandbox

    try:
        with closing(RemoteSandbox(url, key)) as sandbox:
            making = sampler(sandbox, seed)
            customers = making.customers(count)
            with click.progressbar(customers, length=count, label="customers", file=sys.stderr) as bar:
                for _ in bar:
                    pass
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        stop(Exit.NOT_READY, f"no server at {url}: {problem}; `mockserver` starts one")
    except ControlRefused as refused:
        stop(Exit.INTERNAL, str(refused))
    for what, number in sorted(making.made.items()):
        click.echo(f"{number:>6} {what}")
