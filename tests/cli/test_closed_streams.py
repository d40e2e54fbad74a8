"""Commands whose standard streams are closed."""

import subprocess
import sys


def test_a_command_with_closed_output_runs_to_its_end():
    process = subprocess.run(["bash", "-c", '"$0" -m ticketlab --version >&-', sys.executable], check=False, capture_output=True)
    assert (process.returncode, process.stderr) == (0, b"")


def test_closed_streams_are_the_null_device(tmp_path):
    code = (
        "import sys; from ticketlab.cli import stdout; stdout.open_closed_streams(); "
        f"file = open({str(tmp_path / 'file')!r}, 'w'); "
        "print(file.fileno(), sys.stdin.read(), sys.stdout.isatty(), file=file); print('x', file=sys.stderr)"
    )
    process = subprocess.run(["bash", "-c", '"$0" -c "$1" <&- >&- 2>&-', sys.executable, code], check=False)
    assert process.returncode == 0
    number, *rest = (tmp_path / "file").read_text().split()
    assert int(number) > 2
    assert rest == ["False"]
