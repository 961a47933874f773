"""Bundles CodeMirror 6, in the versions of package.json, into one module: python -m tools.editor.
Needs node and npm.

The same versions give the same bytes. The licences of all that is in the bundle stand beside it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
VENDOR = HERE.parents[1] / "mockserver" / "web" / "static" / "vendor"
ESBUILD = ("--bundle", "--minify", "--format=esm", "--target=es2022", "--legal-comments=none")


def main() -> None:
    """Fetch, bundle, and collect the licences."""
    versions: dict[str, str] = json.loads((HERE / "package.json").read_text())["dependencies"]
    with TemporaryDirectory() as name:
        work = Path(name)
        for file in ("package.json", "editor.js"):
            shutil.copy(HERE / file, work)
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=work, check=True
        )
        bundler = next((work / "node_modules" / "@esbuild").glob("*/bin/esbuild"))
        subprocess.run(
            [bundler, "editor.js", *ESBUILD, f"--outfile={VENDOR / 'codemirror.js'}"],
            cwd=work,
            check=True,
        )
        packages = [package for package in versions if package != "esbuild"]
        texts = {
            package: (work / "node_modules" / package / "LICENSE").read_text().strip()
            for package in packages
        }
    told = [f"{package} {versions[package]}\n\n{text}" for package, text in sorted(texts.items())]
    (VENDOR / "codemirror.LICENSE.txt").write_text(("\n\n" + "-" * 72 + "\n\n").join(told) + "\n")


if __name__ == "__main__":
    main()
