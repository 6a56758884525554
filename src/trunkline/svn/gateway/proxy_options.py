"""How `svn` is told of a gateway."""

from __future__ import annotations


def proxy_options(host: str, port: int, hosts: set[str]) -> list[str]:
    """For these hosts only: externals on others don't come to the gateway."""
    others = ",".join(all_but(hosts))
    options = (
        f"servers:global:http-proxy-host={host}",
        f"servers:global:http-proxy-port={port}",
        f"servers:global:http-proxy-exceptions={others}",
    )
    return [word for option in options for word in ("--config-option", option)]


def all_but(hosts: set[str]) -> list[str]:
    """Patterns that match every name but these: svn knows exceptions from a proxy only.

    Wire: those of fnmatch. "ab" gives: [!a]* a a[!b]* ab?*
    """
    patterns = []
    for start in sorted({host[:size] for host in hosts for size in range(len(host) + 1)}):
        if start and start not in hosts:
            patterns.append(start)
        follow = {host[len(start)] for host in hosts if host.startswith(start) and host != start}
        # A hyphen stands last, where it makes no range.
        letters = "".join(sorted(follow, key=lambda one: (one == "-", one)))
        patterns.append(f"{start}[!{letters}]*" if letters else f"{start}?*")
    return patterns
