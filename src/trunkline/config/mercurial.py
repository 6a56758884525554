"""Values of Mercurial's own configuration that a server rests on, checked before it serves.

Source: hg 7.2.4, mercurial/configitems.toml ([server], [web]), `hg help config`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from trunkline.compression.table import choose, engines_for, installed
from trunkline.config.hgconfig import HgConfig
from trunkline.errors import SettingsError

Check = Callable[[HgConfig, str, str], object]

# httpheader= is what a client cuts X-HgArg headers by; name, number and CRLF are in it. With 0 it
# writes its arguments into the query.
MAX_HEADER_LENGTHS = range(64, 64 * 1024 + 1)  # bytes


def boolean(config: HgConfig, section: str, name: str) -> None:
    config.bool(section, name)


def optional_boolean(config: HgConfig, section: str, name: str) -> None:
    config.bool(section, name, untrusted=True)


def header_length(config: HgConfig, section: str, name: str) -> None:
    value = config.int(section, name, 1024)
    if value and value not in MAX_HEADER_LENGTHS:
        first, last = MAX_HEADER_LENGTHS[0], MAX_HEADER_LENGTHS[-1]
        raise SettingsError(f"{section}.{name}: {value} is not 0 or in {first} to {last} (bytes)")


def engines(config: HgConfig, section: str, name: str) -> None:
    engines_for(config)


def level(engine: str) -> Check:
    def check(config: HgConfig, section: str, name: str) -> None:
        if engine in installed():
            choose(installed()[engine], config)
        else:
            config.int(section, name, 0)

    return check


def one_of(*allowed: str) -> Check:
    def check(config: HgConfig, section: str, name: str) -> None:
        value = config.get(section, name)
        if value and value not in allowed:
            raise SettingsError(f"{section}.{name}: {value!r} is none of {', '.join(allowed)}")

    return check


# Only what the configuration holds is looked at; all other names are Mercurial's or an
# extension's own business.
CHECKS: Mapping[tuple[str, str], Check] = {
    ("server", "bookmarks-pushkey-compat"): boolean,
    ("server", "bundle1"): boolean,
    ("server", "bundle1.pull"): boolean,
    ("server", "bundle1.push"): boolean,
    ("server", "bundle1gd"): boolean,
    ("server", "bundle1gd.pull"): boolean,
    ("server", "bundle1gd.push"): boolean,
    ("server", "bundle2.stream"): boolean,
    ("server", "bz2level"): level("bz2"),
    ("server", "compressionengines"): engines,
    ("server", "concurrent-push-mode"): one_of("strict", "check-related"),
    ("server", "disablefullbundle"): boolean,
    ("server", "maxhttpheaderlen"): header_length,
    ("server", "preferuncompressed"): boolean,
    ("server", "pullbundle"): boolean,
    ("server", "streamunbundle"): boolean,
    ("server", "uncompressed"): boolean,
    ("server", "uncompressedallowsecret"): boolean,
    ("server", "validate"): boolean,
    ("server", "view"): one_of("served", "served.hidden", "visible", "immutable", "base"),
    ("server", "zliblevel"): level("zlib"),
    ("server", "zstdlevel"): level("zstd"),
    ("web", "allow-pull"): optional_boolean,
    ("web", "allowpull"): optional_boolean,
    ("web", "descend"): optional_boolean,
    ("web", "hidden"): optional_boolean,
    ("web", "push_ssl"): optional_boolean,
    ("experimental", "httppostargs"): boolean,
}


def check(config: HgConfig) -> None:
    """Raises: SettingsError, one line, for the first value that can't be used."""
    for (section, name), one in CHECKS.items():
        if (section, name) in config.trusted or (section, name) in config.untrusted:
            try:
                one(config, section, name)
            except SettingsError as error:
                place = config.places.get((section, name))
                raise SettingsError(f"{error.text} [{place}]" if place else error.text) from None


def parse_override(text: str) -> tuple[str, str, str]:
    """SECTION.NAME=VALUE as `hg --config` takes it. Raises: SettingsError."""
    where, equals, value = text.partition("=")
    section, dot, name = where.strip().partition(".")
    if not (equals and dot and section and name) or "\0" in text or "\n" in text:
        raise SettingsError(f"malformed --config option: {text!r} (use SECTION.NAME=VALUE)")
    return section, name, value.strip()


def check_overrides(overrides: Iterable[str]) -> None:
    """What can be known before any repository is. Raises: SettingsError."""
    values = {}
    for text in overrides:
        section, name, value = parse_override(text)
        values[section, name] = value
    check(HgConfig(values, values))
