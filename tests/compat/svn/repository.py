"""Empty repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path


def make_repository(path: Path, options: tuple[str, ...]) -> None:
    subprocess.run(["svnadmin", "create", *options, str(path)], check=True)
    hook = path / "hooks" / "pre-revprop-change"
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
