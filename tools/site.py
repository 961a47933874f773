"""What the documentation site has beyond docs/: the files at the top of the repository, two
scripts, a style, and the pages as text for coding agents (https://llmstxt.org).

A hook of mkdocs (mkdocs.yml names it). The pages are written for the repository, where a link
begins at the file it stands in; here they are the same pages in one folder. npm brings the scripts
when the site is built, so that the built site needs no network: mermaid draws the diagrams,
iframe-worker lets the search work from a folder.

The calls of the control API are no page of docs/: Swagger UI draws them from the API's own
document, as it does at ``/docs`` of a server. The document comes as a script, because a browser
reads no other file from a folder.
"""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from mockserver.web.control.description import control
from mockserver.web.control.routes import CONTROL_ROUTES
from mockserver.web.page import library_files, static_files

ROOT = Path(__file__).resolve().parents[1]
TOP = {name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")} | {
    "README.md": "index.md"
}
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
CALLS = "control-calls.html"
"""The page with the calls of the control API."""
CALLS_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Calls of the control API</title>
<link rel="stylesheet" href="stylesheets/swagger-ui.css">
<link rel="stylesheet" href="stylesheets/reference.css">
<script src="javascripts/swagger-ui-bundle.js" defer></script>
<script src="javascripts/control-document.js" defer></script>
<script src="javascripts/reference.js" defer></script>
</head>
<body>
<nav><a href="index.html">mockserver</a> <a href="control-api.html">Control API</a></nav>
<main id="reference"></main>
</body>
</html>
"""
CALLS_LINK = f"[Each call with its fields, an example and the answer]({CALLS})."
CALLS_PLACE = "<!-- site: calls -->"
"""Where a page of docs/ has that link on the site; the repository has no such page."""
WORD = re.compile(r"<code>(?=[^<\s]{1,40}</code>)")
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages from the top of the repository, and the scripts. Raises ``OSError`` where npm
    is not there."""
    for name, page in TOP.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    files.append(File.generated(config, "stylesheets/site.css", content=STYLE))
    for script, (package, member) in SCRIPTS.items():
        files.append(File.generated(config, script, content=_from_npm(package, member)))
    for name, content in reference_files().items():
        files.append(File.generated(config, name, content=content))
    texts = {page: (ROOT / name).read_text("utf-8") for name, page in TOP.items()}
    texts |= {
        file.src_uri: file.content_string
        for file in files.documentation_pages()
        if file.src_uri not in texts
    }
    for name, content in agents_files(config["nav"], texts, config["site_description"]).items():
        files.append(File.generated(config, name, content=content))


def reference_files() -> dict[str, str | bytes]:
    """The page with the calls of the control API, and what it loads, by their places."""
    document = control(CONTROL_ROUTES, "")
    # There is no server to call.
    del document["servers"]
    files: dict[str, str | bytes] = {
        CALLS: CALLS_PAGE,
        "javascripts/control-document.js": f"window.openapiDocument = {json.dumps(document)};",
    }
    for name in ("swagger-ui-bundle.js", "swagger-ui.css"):
        files[_place(name)] = library_files()[name].body
    for name in ("reference.js", "reference.css"):
        files[_place(name)] = static_files()[name].body
    return files


def _place(name: str) -> str:
    """Where the site has a script or a style."""
    folder = "stylesheets" if name.endswith(".css") else "javascripts"
    return f"{folder}/{name}"


LONG_ENOUGH = 90
"""Characters after which no further sentence of a page is told."""


def agents_files(
    nav: Sequence[Mapping[str, Any]], texts: Mapping[str, str], about: str
) -> dict[str, str]:
    """``llms.txt``, a list of the pages in the order of the navigation with their first sentences,
    and ``llms-full.txt``, the pages themselves; ``texts`` are those of the pages by their file."""
    lines, whole = [f"# mockserver\n\n> {about}\n"], list[str]()
    for part in nav:
        [(title, under)] = part.items()
        lines.append(f"\n## {title}\n")
        for entry in [part] if isinstance(under, str) else under:
            [(name, page)] = entry.items()
            if page == CALLS:
                continue
            line = f"- [{name}]({page.removesuffix('.md')}.html)"
            said = first_sentences(texts[page])
            lines.append(f"{line}: {said}" if said else line)
            whole.append(f"<!-- {page} -->\n{texts[page].strip()}\n")
    return {"llms.txt": "\n".join(lines) + "\n", "llms-full.txt": "\n".join(whole)}


def first_sentences(text: str) -> str:
    """What a page begins with, without its links; empty where that is no prose."""
    _, *paragraphs = text.split("\n\n")
    first = next((words for words in paragraphs if not words.startswith("#")), "").strip()
    if re.match(r"[\w`*\[]", first) is None:
        return ""
    told = ""
    for sentence in re.split(r"(?<=\.)\s", LINK.sub(r"\g<text>", " ".join(first.split()))):
        if len(told) >= LONG_ENOUGH:
            break
        told = f"{told} {sentence}".strip()
    return told


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links within one folder, files of the repository by name, and Markdown inside of what
    folds."""
    text = LINK.sub(link, markdown).replace("<details>", '<details markdown="1">')
    return text.replace(CALLS_PLACE, CALLS_LINK)


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Names in code are marked, so that no line breaks inside them."""
    return WORD.sub('<code class="word">', html)


def link(found: re.Match[str]) -> str:
    """A link of a page as the site has it; its text alone where it leads out of the site."""
    text, target = found["text"], found["target"].removeprefix("docs/").removeprefix("../")
    path = target.partition("#")[0]
    # What is elsewhere in the repository is no page of the site.
    is_elsewhere = found["target"].startswith("../") or (
        (ROOT / path).exists() and not (ROOT / "docs" / path).exists()
    )
    if path and is_elsewhere and target not in TOP:
        return text
    return f"[{text}]({TOP.get(target, target)})"


def _from_npm(package: str, member: str) -> bytes:
    """A file of a package, whose scripts are not run."""
    with tempfile.TemporaryDirectory() as folder:
        pack = ["npm", "pack", "--silent", package]
        name = subprocess.run(
            pack, cwd=folder, check=True, capture_output=True, text=True
        ).stdout.split()[-1]
        with tarfile.open(Path(folder) / name) as archive:
            found = archive.extractfile(f"package/{member}")
            if found is None:
                raise RuntimeError(f"{package} has no {member}")
            return found.read()
