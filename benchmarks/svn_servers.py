"""Trunkline and a stock Apache with mod_dav_svn, each serving one repository at one URL."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.process import Server, bin_path, free_port, wait_for

APACHE = """
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
Mutex file:{folder} default
<Location />
  DAV svn
  SVNPath {repository}
</Location>
"""
ACCOUNT = "User www-data\nGroup www-data"  # Debian's; Apache refuses to serve as root


def apache_command(repository: Path, port: int, folder: Path) -> list[str]:
    configuration = folder / "httpd.conf"
    is_root = os.geteuid() == 0
    configuration.write_text(
        APACHE.format(
            folder=folder,
            port=port,
            repository=repository.resolve(),
            account=ACCOUNT if is_root else "",
        )
    )
    if is_root:
        subprocess.run(["chown", "-R", "www-data", str(folder)], check=True)
    return ["apache2", "-DFOREGROUND", "-f", str(configuration)]


def trunkline_command(repository: Path, port: int, is_wide: bool) -> list[str]:
    options = ["--listen", f"127.0.0.1:{port}", *([] if is_wide else ["--workers", "1"])]
    return [bin_path("trunkline"), "serve", str(repository), *options]


def start(name: str, repository: Path, is_wide: bool = False) -> Server:
    """`name` is "stock" or "trunkline". As they are when nobody sets anything, but Trunkline with
    one worker process unless `is_wide`.
    """
    port, folder = free_port(), TemporaryDirectory(prefix="trunkline-bench-")
    if name == "stock":
        command = apache_command(repository, port, Path(folder.name))
    else:
        command = trunkline_command(repository, port, is_wide)
    process = subprocess.Popen(
        command,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return wait_for(Server(name, process, port, folder))
