"""What the documentation site has beyond docs/: the files at the top of the repository, two scripts and a style.

A hook of mkdocs (mkdocs.yml names it). The pages are written for the repository, where a link begins at the file it
stands in; here they are the same pages in one folder. npm brings the scripts when the site is built, so that the built
site needs no network: mermaid draws the diagrams, iframe-worker lets the search work from a folder.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
TOP = {name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")} | {"README.md": "index.md"}
SCRIPTS = {
    "javascripts/mermaid.js": ("mermaid@12.3.0", "dist/mermaid.min.js"),
    "javascripts/iframe-worker.js": ("iframe-worker@1.0.4", "shim/index.js"),
}
STYLE = """
/* A command to copy is on the screen as a whole; what is printed keeps its columns. */
.md-typeset .language-sh code { white-space: pre-wrap; }
.md-typeset pre > code { font-size: 0.57rem; }
/* A word, such as the name of an option, stays in one line. */
.md-typeset code.word { white-space: nowrap; }
.md-typeset td code, .md-typeset td { word-break: normal; overflow-wrap: normal; }
"""
WORD = re.compile(r"<code>(?=[^<\s]{1,40}</code>)")
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages from the top of the repository, and the scripts. Raises ``OSError`` where npm is not there."""
    for name, page in TOP.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    files.append(File.generated(config, "stylesheets/site.css", content=STYLE))
    for script, (package, member) in SCRIPTS.items():
        files.append(File.generated(config, script, content=_from_npm(package, member)))


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links within one folder, files of the repository by name, and Markdown inside of what folds."""
    return LINK.sub(link, markdown).replace("<details>", '<details markdown="1">')


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Names in code are marked, so that no line breaks inside them."""
    return WORD.sub('<code class="word">', html)


def link(found: re.Match[str]) -> str:
    """A link of a page as the site has it; its text alone where it leads out of the site."""
    text, target = found["text"], found["target"].removeprefix("docs/").removeprefix("../")
    path = target.partition("#")[0]
    # What is elsewhere in the repository is no page of the site.
    is_elsewhere = found["target"].startswith("../") or ((ROOT / path).exists() and not (ROOT / "docs" / path).exists())
    if path and is_elsewhere and target not in TOP:
        return text
    return f"[{text}]({TOP.get(target, target)})"


def _from_npm(package: str, member: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        pack = ["npm", "pack", "--silent", package]
        name = subprocess.run(pack, cwd=folder, check=True, capture_output=True, text=True).stdout.split()[-1]
        with tarfile.open(Path(folder) / name) as archive:
            found = archive.extractfile(f"package/{member}")
            if found is None:
                raise RuntimeError(f"{package} has no {member}")
            return found.read()
