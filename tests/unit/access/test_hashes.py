"""Against what the system's own programs write."""

from __future__ import annotations

import shutil
import subprocess

import bcrypt
import pytest

from trunkline.access.hashes import KINDS, find_kind, verify

PASSWORD = "sécret & 72"
# By `htpasswd -nb` of Apache 2.4 (MD5: openssl; SSHA: libpass), which the test doesn't need.
WRITTEN = {
    "bcrypt": "$2y$05$7zFAQUgrNkismcbpA20dd.SgSZ8f0mfbTGU7M1s/wRUzoBHt0dg4a",
    "apr1": "$apr1$GXM8BfWm$oTW6itr921Cx8giqzSW650",
    "sha": "{SHA}4NPDM/3N1xhO4z/lGdXdb9NzViA=",
    "crypt": "1s/.Cuir7NXBw",
    "sha256": "$5$K8F3waT1FT3MOvpo$nsi9Gxx0UsWGvbRedLWUboQ9XMbOkUpRlysG9DM.z64",
    "sha512": "$6$uvN0GfJUEvwAgNB.$jedA0HlF5aBD6J.z1FZ3Pa96hb5cTnDmjq19KbFhnzhWMtwqN4U84CT5c4Nu"
    ".GF5evST6a3Z0CeYIusRufp2q.",
    "md5": "$1$5pZSV9va$azfrPr6af3Fc7dLblQXVa0",
    "ssha": "{SSHA}WgiLXnwPtjWizPS0vzAVC03GWa8xMjM0NTY3OA==",
}
SECRETS = {"md5": "password"}


@pytest.mark.parametrize("name", list(WRITTEN))
def test_knows_its_own_password_only(name: str) -> None:
    kind = find_kind(WRITTEN[name])
    assert kind is not None
    assert kind.name == name
    secret = SECRETS.get(name, "sécret").encode()
    assert verify(kind, secret, WRITTEN[name])
    assert not verify(kind, secret + b"x", WRITTEN[name])
    assert not verify(kind, b"", WRITTEN[name])


@pytest.mark.parametrize("option", ["-B", "-m", "-s", "-d", "-2", "-5"])
def test_knows_what_htpasswd_writes(option: str) -> None:
    program = shutil.which("htpasswd")
    if program is None:
        pytest.skip("no htpasswd here")
    secret = PASSWORD[:8] if option == "-d" else PASSWORD
    words = [program, "-nb", option, "alice", secret]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    text = told.strip().partition(":")[2]
    kind = find_kind(text)
    assert kind is not None
    assert verify(kind, secret.encode(), text)
    assert not verify(kind, b"other", text)


def test_bcrypt_looks_at_72_bytes_as_htpasswd_does() -> None:
    text = bcrypt.hashpw(b"x" * 72, bcrypt.gensalt(4)).decode()
    kind = find_kind(text)
    assert kind is not None
    assert [length for length in (71, 72, 73, 1000) if verify(kind, b"x" * length, text)] == [
        72,
        73,
        1000,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "secret",
        "plain-password-1",
        "$2y$31$7zFAQUgrNkismcbpA20dd.SgSZ8f0mfbTGU7M1s/wRUzoBHt0dg4a",
        "$2y$03$7zFAQUgrNkismcbpA20dd.SgSZ8f0mfbTGU7M1s/wRUzoBHt0dg4a",
        "$2y$05$7zFAQUgrNkismcbpA20dd.SgSZ8f0mfbTGU7M1s/wRUzoBHt0dg4",
        "$2y$05$7zFAQUgrNkismcbpA20dd.SgSZ8f0mfbTGU7M1s/wRUzoBHt0dg4aa",
        "$5$rounds=999999999$K8F3waT1FT3MOvpo$nsi9Gxx0UsWGvbRedLWUboQ9XMbOkUpRlysG9DM.z64",
        "$y$j9T$abc$def",
        "{SHA}4NPDM/3N1xhO4z/lGdXdb9NzViA",
        "!1s/.Cuir7NXBw",
    ],
)
def test_what_is_no_hash_of_ours(text: str) -> None:
    assert find_kind(text) is None


def test_weak_ones_are_called_so() -> None:
    assert [kind.name for kind in KINDS if not kind.is_weak] == ["bcrypt", "sha512", "sha256"]
