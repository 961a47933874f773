"""The templates of ``deploy/``: valid by the schemas of Kubernetes and Compose, without a cluster,
an engine or a network, and each port, name and file that they mention is there."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mockserver.settings import SETTINGS
from tests import needs

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
KUBERNETES = "1.34"
"""The version that the manifests are checked against; the schemas come with the package."""

OBJECTS: list[Any] = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")))
COMPOSE: Any = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
Change = Callable[[Any], Any]


def check_object(one: Any) -> None:
    """Raise for an object that is none of Kubernetes."""
    needs.library("kubernetes_validate").validate(one, KUBERNETES, strict=True)


def check_compose(document: Any) -> None:
    """Raise for anything but a compose file."""
    needs.library("compose_spec").PyCompose.from_json(json.dumps(document))


@pytest.mark.parametrize("one", OBJECTS, ids=lambda one: f"{one['kind']}-{one['metadata']['name']}")
def test_each_object_is_one_of_kubernetes(one: Any) -> None:
    check_object(one)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda spec: spec.update(replica=3), "'replica' was unexpected"),
        (lambda spec: spec.update(replicas="three"), "'three' is not of type"),
        (lambda spec: spec.pop("selector"), "'selector' is a required property"),
        (
            lambda spec: spec["template"]["spec"]["containers"][0].pop("name"),
            "'name' is a required property",
        ),
        (lambda spec: spec["template"]["spec"]["containers"][0].update(tty={}), "is not of type"),
    ],
)
def test_a_fault_in_an_object_is_found(change: Change, words: str) -> None:
    wrong = copy.deepcopy(next(one for one in OBJECTS if one["kind"] == "StatefulSet"))
    change(wrong["spec"])
    with pytest.raises(Exception, match=words):
        check_object(wrong)


def test_the_compose_file_is_one() -> None:
    check_compose(COMPOSE)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda proxy: proxy.update(port=["80:80"]), "port"),
        (lambda proxy: proxy.update(restart="sometimes"), "sometimes"),
        (
            lambda proxy: proxy["depends_on"]["shard-1"].update(condition="service_well"),
            "service_well",
        ),
        (lambda proxy: proxy.update(read_only="perhaps"), "perhaps"),
        (lambda proxy: proxy.update(volumes=["./a:/b:rx"]), "rx"),
    ],
)
def test_a_fault_in_the_compose_file_is_found(change: Change, words: str) -> None:
    wrong = copy.deepcopy(COMPOSE)
    change(wrong["services"]["proxy"])
    with pytest.raises(ValueError, match=words):
        check_compose(wrong)


def test_services_lead_to_pods_that_listen_there() -> None:
    pods = [one["spec"]["template"] for one in OBJECTS if "template" in one["spec"]]
    listening = [
        (pod["metadata"]["labels"]["app"], port["containerPort"])
        for pod in pods
        for container in pod["spec"]["containers"]
        for port in container["ports"]
    ]
    services = [one["spec"] for one in OBJECTS if one["kind"] == "Service"]
    assert sorted(
        (one["selector"]["app"], port["port"]) for one in services for port in one["ports"]
    ) == sorted(listening)
    (stateful,) = (one["spec"] for one in OBJECTS if one["kind"] == "StatefulSet")
    assert stateful["serviceName"] in [
        one["metadata"]["name"] for one in OBJECTS if one["kind"] == "Service"
    ]


@pytest.mark.parametrize("name", ["kubernetes.yaml", "compose.yaml", "systemd/mockserver@.service"])
def test_templates_name_settings_and_files_that_there_are(name: str) -> None:
    text = (DEPLOY / name).read_text("utf-8")
    assert set(re.findall(r"\bMOCKSERVER_[A-Z_]+", text)) <= {
        setting.variable for setting in SETTINGS
    }
    for path in re.findall(r"deploy/[\w./@-]+", text):
        assert (DEPLOY.parent / path).exists(), path


@pytest.mark.parametrize("name", ["kubernetes.yaml", "compose.yaml"])
def test_templates_replace_each_server_of_the_nginx_configuration(name: str) -> None:
    conf = (DEPLOY / "nginx" / "mockserver.conf").read_text("utf-8")
    replaced = re.findall(r"s/(127\.0\.0\.1:\d+)/", (DEPLOY / name).read_text("utf-8"))
    assert sorted(replaced) == sorted(
        set(re.findall(r"^\s*server (127\.0\.0\.1:\d+)", conf, re.MULTILINE))
    )
