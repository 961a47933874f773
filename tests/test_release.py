"""What is checked before a release; ``.ci/run`` builds and installs the packages themselves."""

import pytest

from tools import release


def test_every_package_has_the_same_version() -> None:
    release.check_versions()


@pytest.mark.parametrize("name", release.VERSIONS)
def test_a_package_of_another_version_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
