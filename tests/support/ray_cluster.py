"""Ray clusters on this machine, whose nodes differ as machines do."""

import contextlib
import os
from pathlib import Path

TESTS = Path(__file__).parents[1]
OBJECTS = 100 * 2**20


@contextlib.contextmanager
def cluster(cpus=1):
    """Start a cluster of one node whose workers find the functions of tests, and yield it."""
    from ray.cluster_utils import Cluster

    with _changed_environment():
        started = Cluster(initialize_head=True, head_node_args=_node(cpus, "head"))
    try:
        yield started
    finally:
        started.shutdown()


def join(cluster, name, folder=None, cpus=1):
    """Add a node, whose workers find the packages in ``folder`` first, and return it."""
    with _changed_environment(folder):
        return cluster.add_node(**_node(cpus, name))


def claim(folder, package, version):
    """Make a folder in which a package seems to be installed with this version."""
    (folder / f"{package}-{version}.dist-info").mkdir(parents=True)
    (folder / f"{package}-{version}.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    return folder


def hide_the_token(folder):
    """Make a folder whose processes do not find the file that the driver has put into the lab, as if the lab were another directory."""
    folder.mkdir(parents=True)
    (folder / "sitecustomize.py").write_text(
        "import pathlib\n"
        "found = pathlib.Path.is_file\n"
        "pathlib.Path.is_file = lambda self, **more: not self.name.startswith('.shared.') and found(self, **more)\n"
    )
    return folder


def _node(cpus, name):
    return {"num_cpus": cpus, "include_dashboard": False, "object_store_memory": OBJECTS, "env_vars": {"NODE": name}}


@contextlib.contextmanager
def _changed_environment(folder=None):
    """Set the environment of the processes that are started inside."""
    before = dict(os.environ)
    paths = [str(folder)] if folder is not None else []
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")])
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
