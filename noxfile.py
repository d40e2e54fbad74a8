"""Development tasks: ``nox -s lint``, ``types``, ``tests``, ``docs`` and ``benchmarks``. Arguments after ``--`` go to the tool."""

from __future__ import annotations

import nox

TORCH = "torch==2.13.0"
nox.options.sessions = ["lint", "types", "tests", "docs"]
nox.options.reuse_existing_virtualenvs = True


def install(session: nox.Session, extras: str) -> None:
    """Install ticketlab with extras, at the versions of constraints.txt."""
    session.install("-c", "constraints.txt", TORCH, "-e", f".[{extras}]")


def install_for_plugins(session: nox.Session) -> None:
    """Install what the packages in plugins/ require; they themselves are loaded from their sources."""
    requirements = session.run("python", ".ci/plugin_requirements.py", silent=True) or ""
    if isinstance(requirements, str) and requirements.split():
        session.install("-c", "constraints.txt", *requirements.splitlines())


@nox.session
def lint(session: nox.Session) -> None:
    """Check style."""
    session.install("-c", "constraints.txt", "ruff")
    session.run("ruff", "check", *(session.posargs or ["."]))
    session.run("ruff", "format", "--check", *(session.posargs or ["."]))


@nox.session
def types(session: nox.Session) -> None:
    """Check types of the package, the examples, the documentation and the packages in plugins/."""
    install(session, "demo,test")
    install_for_plugins(session)
    session.run(".ci/types", external=True)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests: all but those marked ``system``, unless ``-- -m system`` selects them."""
    install(session, "demo,test")
    session.install("-c", "constraints.txt", "-e", ".[docs,onnx,ray]")
    install_for_plugins(session)
    session.run("python", "-m", "pytest", *(session.posargs or ["-n", "2", "tests", "plugins"]), env={"OMP_NUM_THREADS": "1"})


@nox.session
def docs(session: nox.Session) -> None:
    """Generate the reference pages and build the documentation; a warning is an error."""
    install(session, "docs")
    session.run("python", "docs/generate.py")
    session.run("python", "-m", "sphinx", "-W", "--keep-going", *session.posargs, "docs", "build/docs")


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Run the quick benchmarks, or the script named after ``--`` with its arguments."""
    install(session, "demo,test,onnx")
    quick = [
        ["benchmarks/startup.py"],
        ["benchmarks/importance_cost.py"],
        ["benchmarks/simulate_cluster.py", "--stages", "1000", "--parts", "20"],
        ["benchmarks/device_checks.py", "--device", "cpu", "--quick"],
    ]
    for command in [session.posargs] if session.posargs else quick:
        session.run("python", *command)
