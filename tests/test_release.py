"""What is checked before a release; ``.ci/run`` builds and installs the packages themselves."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools import release

PAGE = "CONTRIBUTING.md"
PLACES = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs",
    "clients",
    "mockserver",
    "scenarios",
    "deploy",
)
TEXT = re.compile(r"\.(?:md|py|mjs|js|html|php|java|cs|csproj|xml|yaml|yml|json|csv)")
"""The endings of files that users read."""

BY_NAME = re.compile(
    r"""(?:pip3?\s+install|pipx\s+(?:install|run|inject)|uvx|uv\s+(?:tool\s+(?:install|run)|pip\s+install|add)"""
    r"""|poetry\s+add|npm\s+(?:install|i|add)|npx|yarn\s+add|pnpm\s+add|bun\s+add|composer\s+require"""
    r"""|dotnet\s+add\s+package|nuget\s+install)(?:\s+-{1,2}[\w-]+)*\s+["']?payfurl[-_./]mockserver"""
    r"""|extra\s+[`'"]payfurl-mockserver|PackageReference\s+Include="Payfurl\.Mockserver["]""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words that have a package installed by its name, from an index."""

UNTIL_THEN = re.compile(
    r"not on (?:PyPI|npm|Packagist|Maven|NuGet)|no package on|in no "
    r"index|/path/to/mockserver|vendor/[^\s]*\.whl"
    r"|your-organisation|your-registry"
)
"""Words that are right as long as no index has the packages."""


def test_every_package_has_the_same_version() -> None:
    release.check_versions()


@pytest.mark.parametrize("name", release.VERSIONS)
def test_a_package_of_another_version_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "__version__", "9.9.9")
    monkeypatch.setattr(release, "VERSIONS", {name: release.VERSIONS[name]})
    with pytest.raises(release.NotFit, match=f"{name}: got version .*, wanted 9.9.9"):
        release.check_versions()


def test_a_tool_that_is_missing_is_named() -> None:
    with pytest.raises(release.NotFit, match="no-such-tool is not installed"):
        release.run(release.ROOT, "no-such-tool")


def test_a_command_that_fails_is_shown_with_what_it_said() -> None:
    with pytest.raises(release.NotFit, match="ended with 3:\nbroken"):
        release.run(release.ROOT, "sh", "-c", "echo broken; exit 3")


def texts() -> Mapping[str, str]:
    """What users read: pages, messages, clients, what is written for them; without the page on
    releases itself."""
    files = list[Path]()
    for place in PLACES:
        named = release.ROOT / place
        files += named.rglob("*") if named.is_dir() else [named]
    kept = {
        str(file.relative_to(release.ROOT)): file
        for file in files
        if TEXT.fullmatch(file.suffix) and file.is_file()
    }
    return {
        name: file.read_text("utf-8")
        for name, file in kept.items()
        if name != PAGE
        and not {"node_modules", "vendor", "build", "package-lock.json"} & set(Path(name).parts)
    }


def test_nothing_has_a_package_installed_that_no_index_has() -> None:
    found = {
        name: said[0]
        for name, text in texts().items()
        # All of these words name it, and most texts do not.
        if "payfurl" in text.lower() and (said := BY_NAME.search(text)) is not None
    }
    assert found == {}


@pytest.mark.parametrize(
    "words",
    [
        "pip install payfurl-mockserver",
        "python -m pip install 'payfurl-mockserver[mcp]'",
        "pip install --upgrade payfurl_mockserver",
        "pipx install payfurl-mockserver",
        "uvx payfurl-mockserver version",
        "npm install --save-dev payfurl-mockserver",
        "composer require --dev payfurl/mockserver",
        "(extra `payfurl-mockserver[mcp]`)",
        "dotnet add package Payfurl.Mockserver",
    ],
)
def test_words_that_ask_an_index_are_found(words: str) -> None:
    assert BY_NAME.search(words)


@pytest.mark.parametrize(
    "words",
    [
        "pip install ./vendor/payfurl_mockserver-0.1.0-py3-none-any.whl",
        "pipx install /path/to/mockserver",
        "npm install --save-dev /path/to/mockserver/clients/node/payfurl-mockserver-0.1.0.tgz",
        "pip install vendor/*.whl",
        "pip install '.[mcp]'",
    ],
)
def test_words_that_name_a_file_or_a_folder_are_right(words: str) -> None:
    assert not BY_NAME.search(words)


def test_the_page_lists_every_place_that_changes_on_the_day_of_the_release() -> None:
    page = (release.ROOT / PAGE).read_text("utf-8").partition("### After")[2]
    listed = re.findall(r"^ *\| `([\w./-]+)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(
        name for name, text in texts().items() if UNTIL_THEN.search(text)
    )
