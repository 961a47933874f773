"""The settings table: precedence, every reader's accepting and refusing case, and what a refusal
says."""

from dataclasses import fields
from pathlib import Path

import pytest

from mockserver.settings import (
    SETTINGS,
    Settings,
    SettingsError,
    data_directory,
    resolve,
    unknown_variables,
)

ROWS = {setting.name: setting for setting in SETTINGS}


def test_every_field_has_exactly_one_row() -> None:
    assert sorted(ROWS) == sorted(field.name for field in fields(Settings))
    assert len(ROWS) == len(SETTINGS)


def test_nothing_given_means_the_defaults() -> None:
    assert Settings.load({}, {}) == Settings()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("host", "0.0.0.0", "0.0.0.0"),
        ("host", "[::1]", "::1"),
        ("port", "0", 0),
        ("port", "65535", 65535),
        ("port", "0" * 25 + "65535", 65535),
        ("port_file", "run/port", "run/port"),
        ("tls_port", "5001", 5001),
        ("profile", "SDK", "sdk"),
        ("scenario", "a.yaml, b.yaml", ("a.yaml", "b.yaml")),
        ("watch", "on", True),
        ("seed", "20310301", 20310301),
        ("clock", "manual", "manual"),
        ("clock", "2031-03-01T18:00:00Z", "2031-03-01T18:00:00Z"),
        ("keys", "sk_a,sk_b", ("sk_a", "sk_b")),
        ("public_url", "https://pay.example.test/", "https://pay.example.test"),
        ("strict", "true", True),
        ("test_values", "true", False),
        ("test_values", "0", True),
        ("test_cards_only", "yes", True),
        ("webhook_key", "k", "k"),
        ("admin_token", "t", "t"),
        ("allow_host", "pay.example.test", ("pay.example.test",)),
        ("max_body", "2MB", 2_000_000),
        ("max_body", "64KiB", 65_536),
        ("max_body", "4096", 4096),
        ("rate_limit", "5", 5),
        ("most_sandboxes", "5", 5),
        ("sandbox_idle", "24h", "24h"),
        ("journal_limit", "0", 0),
        ("journal_memory", "64MB", 64_000_000),
        ("log_format", "json", "json"),
        ("log_level", "Warning", "warning"),
        ("data_dir", "/var/lib/mock", "/var/lib/mock"),
    ],
)
def test_flag_and_variable_read_the_same_value(name: str, text: str, value: object) -> None:
    from_variable = Settings.load({}, {ROWS[name].variable: text})
    assert getattr(from_variable, name) == value
    if not ROWS[name].is_switch:
        flag = (text,) if ROWS[name].is_list else text
        assert Settings.load({name: flag}, {}) == from_variable


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("host", "http://localhost"),
        ("host", "a b"),
        ("port", "65536"),
        ("port", "0" * 20 + "65536"),
        ("port", "1" * 5_000),
        ("port", "-1"),
        ("port", "41.11"),
        ("port", "٤١١١"),
        ("tls_port", "off"),
        ("profile", "sdkk"),
        ("watch", "maybe"),
        ("seed", "-1"),
        ("seed", str(2**63)),
        ("seed", "9" * 5000),
        ("clock", "mannual"),
        ("clock", "2031-13-01"),
        ("public_url", "pay.example.test"),
        ("public_url", "ftp://pay.example.test"),
        ("public_url", "http://*/"),
        ("public_url", "http://pay.example.test:0"),
        ("public_url", "http://a.test/;script-src"),
        ("strict", "2"),
        ("test_values", "perhaps"),
        ("admin_token", "clé"),
        ("allow_host", "*"),
        ("allow_host", "shop.test,*.shop.test"),
        ("keys", ","),
        ("max_body", "10"),
        ("max_body", "2GB"),
        ("rate_limit", "0"),
        ("rate_limit", "1000001"),
        ("most_sandboxes", "0"),
        ("sandbox_idle", "0s"),
        ("sandbox_idle", "24"),
        ("journal_limit", "1000001"),
        ("journal_memory", "2GB"),
        ("log_format", "xml"),
        ("log_level", "quiet"),
    ],
)
def test_a_bad_value_is_refused_naming_where_it_stood_and_what_is_allowed(
    name: str, text: str
) -> None:
    row = ROWS[name]
    with pytest.raises(SettingsError) as refused:
        Settings.load({}, {row.variable: text})
    assert str(refused.value).startswith(f"{row.variable}: got ")
    assert row.allowed in str(refused.value)
    if not row.is_list and not row.is_switch:
        with pytest.raises(SettingsError, match=f"^{row.flag}: got "):
            Settings.load({name: text}, {})


def test_a_refusal_names_the_nearest_choice() -> None:
    with pytest.raises(
        SettingsError, match=r"^--profile: got 'sdkk', allowed: documented or sdk; nearest: sdk$"
    ):
        Settings.load({"profile": "sdkk"}, {})


def test_a_refusal_of_a_secret_does_not_show_it() -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.load({"admin_token": "hidden-é"}, {})
    assert "hidden" not in str(refused.value)


def test_an_injected_service_link_is_explained() -> None:
    with pytest.raises(SettingsError, match="service links"):
        Settings.load({}, {"MOCKSERVER_PORT": "tcp://10.0.0.1:4111"})


def test_flag_beats_environment_beats_default() -> None:
    environ = {"MOCKSERVER_PORT": "5000", "MOCKSERVER_SEED": "9", "MOCKSERVER_PROFILE": ""}
    chosen = {
        each.setting.name: each
        for each in resolve({"port": "6000", "seed": None, "scenario": ()}, environ)
    }
    assert (chosen["port"].value, chosen["port"].source) == (6000, "flag")
    assert (chosen["seed"].value, chosen["seed"].source) == (9, "environment")
    assert (chosen["profile"].value, chosen["profile"].source) == ("documented", "default")
    assert chosen["scenario"].source == "default"


def test_switches_given_as_flags() -> None:
    settings = Settings.load(
        {"watch": True, "test_values": True, "strict": False}, {"MOCKSERVER_STRICT": "true"}
    )
    assert (settings.watch, settings.test_values, settings.strict) == (True, False, True)


def test_a_repeated_flag_keeps_its_order() -> None:
    assert Settings.load({"scenario": ("a", "b,c")}, {}).scenario == ("a", "b", "c")


@pytest.mark.parametrize(
    "settings",
    [
        {"tls_cert": "a.pem"},
        {"tls_key": "a.pem"},
        {"tls_cert": "a.pem", "tls_key": "b.pem"},
        {"port": 5001, "tls_port": 5001},
    ],
)
def test_contradictions_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="allowed"):
        Settings(**settings)  # type: ignore[arg-type]


def test_settings_that_agree_are_accepted() -> None:
    assert Settings(tls_cert="a.pem", tls_key="b.pem", port=0, tls_port=0).tls_port == 0


@pytest.mark.parametrize("name", ["keys", "allow_host", "scenario"])
def test_a_list_of_nothing_is_refused_and_an_empty_variable_is_not_given(name: str) -> None:
    with pytest.raises(SettingsError, match=f"^{ROWS[name].flag}: got "):
        Settings.load({name: ("",)}, {})
    assert Settings.load({}, {ROWS[name].variable: ""}) == Settings()


def test_overrides_are_parted_into_settings_and_the_rest() -> None:
    assert Settings(port=1).override({"seed": 7, "log": print}) == (
        Settings(port=1, seed=7),
        {"log": print},
    )


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("port", 4111, "4111"),
        ("watch", False, "false"),
        ("watch", True, "true"),
        ("test_values", True, "false"),
        ("test_values", False, "true"),
        ("scenario", ("a", "b"), "a,b"),
        ("tls_port", None, "-"),
        ("keys", ("sk_a",), "(set)"),
        ("admin_token", "t", "(set)"),
        ("webhook_key", Settings().webhook_key, Settings().webhook_key),
        ("webhook_key", "mine", "(set)"),
    ],
)
def test_values_are_shown_and_secrets_are_not(name: str, value: object, shown: str) -> None:
    assert ROWS[name].show(value) == shown


def test_a_mistyped_variable_is_reported_with_the_nearest() -> None:
    environ = {"MOCKSERVER_PROT": "1", "MOCKSERVER_PORT": "1", "HOME": "/root"}
    assert unknown_variables(environ) == [
        "MOCKSERVER_PROT is not a known variable; nearest: MOCKSERVER_PORT"
    ]


@pytest.mark.parametrize(
    ("platform", "environ", "expected"),
    [
        ("linux", {"XDG_DATA_HOME": "/data"}, Path("/data/mockserver")),
        ("linux", {}, Path.home() / ".local" / "share" / "mockserver"),
        ("darwin", {}, Path.home() / "Library" / "Application Support" / "mockserver"),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/mockserver")),
    ],
)
def test_data_directory_of_each_platform(
    platform: str, environ: dict[str, str], expected: Path
) -> None:
    assert data_directory(Settings(), environ, platform) == expected
    assert data_directory(Settings(data_dir="/mine"), environ, platform) == Path("/mine")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_addresses_that_only_this_machine_reaches(host: str) -> None:
    assert Settings(host=host).is_loopback


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("0.0.0.0", "http://127.0.0.1:4111"),
        ("::", "http://localhost:4111"),
        ("0::0", "http://localhost:4111"),
        ("::1", "http://[::1]:4111"),
        ("192.168.1.2", "http://192.168.1.2:4111"),
        ("pay.example.test", "http://pay.example.test:4111"),
    ],
)
def test_the_address_that_is_given_to_others_is_one_that_can_be_opened(
    host: str, near: str
) -> None:
    assert Settings(host=host).url == near
    assert Settings(host=host, public_url="https://pay.example/").url == "https://pay.example"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "pay.example.test"])
def test_addresses_that_others_reach(host: str) -> None:
    assert not Settings(host=host).is_loopback
