"""Builds what is published, and checks each package installed apart from the checkout.

    python -m tools.release --dry-run     build and check, keep nothing
    python -m tools.release               the same, and leave the packages in dist/

Nothing is uploaded: CONTRIBUTING.md says what the owner presses then. Needs npm, composer, php
and phpunit, and the registries from which the packages' own dependencies come.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

from mockserver import __version__

ROOT = Path(__file__).resolve().parents[1]
NODE, PHP = ROOT / "clients" / "node", ROOT / "clients" / "php"
VERSIONS: Mapping[str, str] = {
    "clients/node/package.json": r'"version": "([^"]+)"',
    "clients/node/package-lock.json": r'"version": "([^"]+)"',
    "clients/java/pom.xml": r"<artifactId>payfurl-mockserver</artifactId>\s*<version>([^<]+)<",
    "clients/dotnet/Payfurl.Mockserver.csproj": r"<Version>([^<]+)<",
    "deploy/compose.yaml": r"image: payfurl-mockserver:(\S+)",
    "deploy/kubernetes.yaml": r"image: payfurl-mockserver:(\S+)",
}
"""Where else the version stands, and how it is read there."""


class NotFit(Exception):
    """A package is not fit to be published, or what checks it is missing."""


def main() -> int:
    """Build, check, and say what was made."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dry-run", action="store_true", help="keep nothing")
    dry = parser.parse_args().dry_run
    with tempfile.TemporaryDirectory() as scratch:
        dist, apart = Path(scratch) / "dist", Path(scratch) / "apart"
        dist.mkdir()
        apart.mkdir()
        try:
            check_versions()
            command = check_python(build_python(dist), apart)
            check_node(build_node(dist), apart / "node", command)
            check_php(build_php(dist), apart / "php", command)
        except (NotFit, OSError) as fault:
            print(fault, file=sys.stderr)
            return 1
        for package in sorted(dist.iterdir()):
            print(f"{package.stat().st_size / 1e3:8,.0f} KB  {package.name}")
        if not dry:
            shutil.copytree(dist, ROOT / "dist", dirs_exist_ok=True)
    print(f"version {__version__}: every package works where it was installed alone")
    return 0


def check_versions() -> None:
    """One version everywhere. Raises ``NotFit``."""
    for name, pattern in VERSIONS.items():
        found = re.search(pattern, (ROOT / name).read_text("utf-8"))
        got = found[1] if found else "none"
        if got != __version__:
            raise NotFit(
                f"{name}: got version {got}, wanted {__version__} as in mockserver/version.py"
            )


def build_python(dist: Path) -> Path:
    """The wheel, built from the sdist beside it, so that both are fit."""
    run(ROOT, sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", dist)
    (sdist,) = dist.glob("*.tar.gz")
    run(
        dist,
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        dist,
        sdist,
    )
    (wheel,) = dist.glob("*.whl")
    return wheel


def check_python(wheel: Path, apart: Path) -> Path:
    """Install the wheel alone, run a shipped scenario's examples; the command that was
    installed."""
    venv.create(apart / "venv", with_pip=True)
    binaries = apart / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    run(apart, binaries / "python", "-m", "pip", "install", "--quiet", wheel)
    got = run(apart, binaries / "payfurl-mockserver", "version").strip()
    if got != __version__:
        raise NotFit(f"the installed command says version {got}, wanted {__version__}")
    run(apart, binaries / "mockserver", "check", "declines-by-reason")
    return binaries / "mockserver"


def build_node(dist: Path) -> Path:
    """The package for npm."""
    run(NODE, "npm", "pack", "--silent", "--pack-destination", dist)
    (package,) = dist.glob("*.tgz")
    return package


def check_node(package: Path, folder: Path, command: Path) -> None:
    """Install it in an empty folder, and run the first lines of its README."""
    folder.mkdir()
    (folder / "pays.test.mjs").write_text(first_lines(NODE))
    run(folder, "npm", "init", "-y")
    quiet = "--no-audit", "--no-fund", "--silent", "--ignore-scripts", "--legacy-peer-deps"
    run(folder, "npm", "install", *quiet, package)
    run(folder, "node", "--test", "pays.test.mjs", server=command)


def first_lines(client: Path) -> str:
    """The example with which a README begins. Raises ``NotFit``."""
    shown = re.search(
        r"^```\w+\n(.*?)^```$", (client / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    if shown is None:
        raise NotFit(f"{client.name}/README.md does not begin with an example")
    return shown[1]


def build_php(dist: Path) -> Path:
    """The package as Composer takes it from a tag: its files, and the version of the tag."""
    package = dist / f"payfurl-mockserver-php-{__version__}.zip"
    metadata = json.loads((PHP / "composer.json").read_text("utf-8")) | {"version": __version__}
    with ZipFile(package, "w") as archive:
        archive.writestr("composer.json", json.dumps(metadata, indent=4))
        for source in (PHP / "README.md", *sorted((PHP / "src").glob("*.php"))):
            archive.write(source, source.relative_to(PHP))
    return package


def check_php(package: Path, folder: Path, command: Path) -> None:
    """Install it with Composer from that file alone, and run the first lines of its README with
    PHPUnit."""
    with ZipFile(package) as archive:
        archive.extractall(folder / "package")
    project = {
        "repositories": [
            {"type": "path", "url": "package", "options": {"symlink": False}},
            {"packagist.org": False},
        ],
        "require": {"payfurl/mockserver": __version__},
        # PHPUnit is that of the machine.
        "replace": {"phpunit/phpunit": "9.6.0"},
    }
    (folder / "composer.json").write_text(json.dumps(project))
    (folder / "CheckoutTest.php").write_text(first_lines(PHP))
    run(folder, "composer", "install", "--quiet", "--no-interaction")
    run(folder, "phpunit", "--bootstrap", "vendor/autoload.php", "CheckoutTest.php", server=command)


def run(folder: Path, *words: str | Path, server: Path | None = None) -> str:
    """What a command prints. ``server`` is the command that a client starts. Raises ``NotFit`` with
    what it says."""
    program = shutil.which(words[0])
    if program is None:
        raise NotFit(f"{words[0]} is not installed")
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith("MOCKSERVER_")
    }
    environ["COMPOSER_ALLOW_SUPERUSER"] = "1"
    if server is not None:
        environ["MOCKSERVER_COMMAND"] = str(server)
    done = subprocess.run(
        [program, *words[1:]], cwd=folder, env=environ, capture_output=True, text=True
    )
    if done.returncode:
        said = f"{done.stdout}{done.stderr}".strip()
        raise NotFit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{said}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
