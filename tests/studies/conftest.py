import pytest
from support.small_study import write_recipe


@pytest.fixture(scope="session")
def small_recipe_file(tmp_path_factory, tiny):
    return write_recipe(tmp_path_factory.mktemp("recipes"), tiny["bert"])
