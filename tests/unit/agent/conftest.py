import pytest

from tests.agents import place


@pytest.fixture
def spot():
    with place() as folder:
        yield folder
