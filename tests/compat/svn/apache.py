"""A stock Apache with mod_dav_svn: what Trunkline's answers are compared with."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODULES = Path("/usr/lib/apache2/modules")
START_SECONDS = 20
ACCOUNT = "www-data"  # Debian's; Apache refuses to serve as root

CONFIGURATION = """
ServerRoot /usr/lib/apache2
ServerName localhost
PidFile {folder}/httpd.pid
ErrorLog {folder}/error.log
Listen 127.0.0.1:{port}
{account}
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule dav_module modules/mod_dav.so
LoadModule dav_svn_module modules/mod_dav_svn.so
LoadModule authz_svn_module modules/mod_authz_svn.so
LoadModule auth_basic_module modules/mod_auth_basic.so
LoadModule authn_core_module modules/mod_authn_core.so
LoadModule authn_file_module modules/mod_authn_file.so
LoadModule authz_user_module modules/mod_authz_user.so
Mutex file:{folder} default
MaxKeepAliveRequests {requests}
<Location /svn>
  DAV svn
  SVNParentPath {root}
  {more}
</Location>
"""


def is_there() -> bool:
    return shutil.which("apache2") is not None and (MODULES / "mod_dav_svn.so").exists()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def apache(root: Path, folder: Path, more: str = "", requests: int = 0) -> Iterator[str]:
    """Serves the repositories in `root`; the URL of that. Ended by its own pid.

    `requests` of one connection, 0 for any number.
    """
    port = free_port()
    is_root = os.geteuid() == 0
    account = f"User {ACCOUNT}\nGroup {ACCOUNT}" if is_root else ""
    configuration = folder / "httpd.conf"
    configuration.write_text(
        CONFIGURATION.format(
            folder=folder, port=port, root=root, account=account, more=more, requests=requests
        )
    )
    if is_root:
        subprocess.run(["chown", "-R", ACCOUNT, root, folder], check=True)
    process = subprocess.Popen(
        ["apache2", "-X" if not is_root else "-DFOREGROUND", "-f", str(configuration)],
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
    )
    try:
        wait_for(port, process, folder)
        yield f"http://127.0.0.1:{port}/svn"
    finally:
        process.terminate()
        process.wait(timeout=START_SECONDS)


def wait_for(port: int, process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    log = folder / "error.log"
    said = log.read_text()[-2000:] if log.exists() else ""
    raise AssertionError(f"Apache didn't come up\n{said}")
