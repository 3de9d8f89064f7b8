"""Both wheels, and an environment of each, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wheels import build_wheel, empty_environment


@pytest.fixture(scope="session")
def main_wheel(root, tmp_path_factory) -> Path:
    pytest.importorskip("build", reason="the packaging tools are not installed (make test-packaging)")
    return build_wheel(root, tmp_path_factory.mktemp("main"))


@pytest.fixture(scope="session")
def hooks_wheel(root, tmp_path_factory) -> Path:
    pytest.importorskip("build", reason="the packaging tools are not installed (make test-packaging)")
    return build_wheel(root / "trainer_hooks", tmp_path_factory.mktemp("hooks"))


@pytest.fixture(scope="session")
def main_python(main_wheel, tmp_path_factory) -> Path:
    return empty_environment(tmp_path_factory.mktemp("env-main") / "v", main_wheel)


@pytest.fixture(scope="session")
def hooks_python(hooks_wheel, tmp_path_factory) -> Path:
    return empty_environment(tmp_path_factory.mktemp("env-hooks") / "v", hooks_wheel)


@pytest.fixture(scope="session")
def service_python(main_wheel, tmp_path_factory) -> Path:
    """An environment of what the pages install: the wheel with its extra."""
    return empty_environment(tmp_path_factory.mktemp("env-service") / "v", f"gridpace[service] @ {main_wheel.as_uri()}")
