"""A detached Ed25519 signature: who published a release file, and that it is still what they published.

The seal inside a file finds damage, and whoever forges a file can forge its seal. A signature is made with a private
key that only its holder has, and lies beside the file: ``smoking.json.sig``. It is over the bytes of the file, after a
first line that says what is signed, so that it can stand for nothing else.

The reader decides whom to trust, by public keys that came by another way than the file did. A public key is one line of
OpenSSH's format; its comment is the name that :func:`verify` returns. A private key is PEM (PKCS 8), or OpenSSH's own.

References
----------
.. Josefsson and Liusvaara (2017), Edwards-curve digital signature algorithm (EdDSA), RFC 8032.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.arguments import FilePath, listed, text
from discreet.arguments import path as read_path
from discreet.artifact.codec import LARGEST_FILE, decode_file, no_repeats
from discreet.artifact.files import read_bytes, read_text, write_text
from discreet.artifact.readers import exact_fields, name_of, text_of
from discreet.artifact.release import Release
from discreet.errors import DataError, ReleaseFileError, SignatureError, UsageError
from discreet.extras import needed_for
from discreet.names import check_name

FORMAT = "discreet/signature"
VERSION = 1
_PURPOSE = b"discreet/signature/1\n"
_FIELDS = "format version algorithm release key signature"
_LARGEST = 2**14
_MOST_KEYS = 1000
_KIND = "ssh-ed25519"
_HINT = "discreet sign --new-key office.key --name 'Statistics office' makes a pair of keys"


@dataclass(frozen=True)
class Signer:
    """Whose signature it is: the name beside the public key that the reader trusts, and the key's fingerprint."""

    name: str
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.name} (key {self.fingerprint})"


def make_key(path: FilePath, name: str) -> Signer:
    """Make a pair of keys: the private one at ``path``, readable by its owner alone, and ``path.pub`` for readers.

    An existing file is never replaced: what was signed with a key that is lost can be verified, but nothing new signed.
    """
    target, name = read_path(path), check_name(text(name, "name"), "the name of the signer")
    public = Path(f"{target}.pub")
    with needed_for("signing"):
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    if public.exists():
        raise UsageError(f"{public} exists already.", hint="name another file: a key is never replaced")
    _write_private(target, private)
    raw = key.public_key().public_bytes_raw()
    try:
        write_text(public, f"{_KIND} {_encoded(_blob(raw))} {name}\n")
    except DataError:
        with suppress(OSError):
            target.unlink()
        raise
    return Signer(name, _fingerprint(raw))


def sign(
    file: FilePath,
    key: FilePath,
    signature: FilePath | None = None,
) -> Path:
    """Sign a release file with a private key; return the signature's file, ``file.sig`` unless it is named.

    The file must be a release that can be read: a signature on anything else would mislead.
    """
    source = read_path(file)
    content = read_bytes(source, "release", LARGEST_FILE)
    release = decode_file(source, content)
    private = _private_key(key)
    made = {
        "format": FORMAT,
        "version": VERSION,
        "algorithm": "Ed25519",
        "release": release.id,
        "key": _fingerprint(private.public_key().public_bytes_raw()),
        "signature": _encoded(private.sign(_PURPOSE + content)),
    }
    target = beside(source) if signature is None else read_path(signature)
    write_text(target, json.dumps(made, indent=1) + "\n")
    return target


def verify(
    file: FilePath,
    keys: FilePath | Sequence[FilePath],
    signature: FilePath | None = None,
) -> Signer:
    """Return who signed a release file, one of the holders of ``keys``; raise :class:`SignatureError` otherwise.

    ``keys`` are files of public keys that the reader trusts. Only what they say about a signer is believed.
    """
    return _verified(read_path(file), keys, signature)[0]


def load_signed(
    file: FilePath,
    keys: FilePath | Sequence[FilePath],
    signature: FilePath | None = None,
) -> Release:
    """Read a release file that the holder of one of these public keys signed: the very bytes that were verified."""
    return _verified(read_path(file), keys, signature)[1]


def beside(file: Path) -> Path:
    """Return where the signature of a file is, unless it is said: beside it, ``.sig`` added to its name."""
    return Path(f"{file}.sig")


def _verified(source: Path, keys: Any, signature: FilePath | None) -> tuple[Signer, Release]:
    where = beside(source) if signature is None else read_path(signature)
    trusted = _public_keys(keys)
    content = read_bytes(source, "release", LARGEST_FILE)
    claimed, raw, release_id = _read_signature(where)
    if claimed not in trusted:
        raise SignatureError(
            f"{where}: made with the key {claimed}, which is none of those given.",
            hint="ask whoever published the file for their public key, by another way than the file came",
        )
    name, public = trusted[claimed]
    if not _fits(public, raw, _PURPOSE + content):
        raise SignatureError(
            f"{source} is not what {name} signed: the file or its signature was altered.",
            hint="ask for the original file and its signature",
        )
    release = decode_file(source, content)
    if release.id != release_id:
        raise SignatureError(f"{where}: it names another release than the one it is for.")
    return Signer(name, claimed), release


def _fits(public: bytes, signature: bytes, message: bytes) -> bool:
    with needed_for("verifying a signature"):
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _read_signature(path: Path) -> tuple[str, bytes, str]:
    """Return the fingerprint of the key, the signature and the release that a signature file names."""
    if not path.exists():
        raise DataError(
            f"there is no signature: cannot find {path}.",
            hint="it is looked for beside the file, with .sig added to its name",
        )
    content = read_text(path, "signature", _LARGEST)
    try:
        body = json.loads(content, object_pairs_hook=no_repeats)
        exact_fields("signature", body, _FIELDS)
        if (body["format"], body["version"], body["algorithm"]) != (FORMAT, VERSION, "Ed25519"):
            raise ValueError("unknown")
        raw = base64.b64decode(text_of(body["signature"]), validate=True)
        if len(raw) != 64:
            raise ValueError("too short")
        return name_of(body["key"]), raw, name_of(body["release"])
    except (ValueError, TypeError, RecursionError):
        raise SignatureError(f"{path}: this is not a signature file.") from None


def _public_keys(paths: Any) -> dict[str, tuple[str, bytes]]:
    """Read the public keys that the reader trusts: name and bytes by fingerprint."""
    one = isinstance(paths, str | os.PathLike)
    files = [paths] if one else listed(paths, "keys", "files of public keys", most=_MOST_KEYS)
    if not files:
        raise UsageError("say whose signature it should be: give at least one public key.", hint=_HINT)
    found = {}
    for path in map(read_path, files):
        name, raw = _public_key(path)
        found[_fingerprint(raw)] = (name, raw)
    return found


def _public_key(path: Path) -> tuple[str, bytes]:
    words = _key_text(path).split(None, 2)
    try:
        if words[0] != _KIND:
            raise ValueError("another kind of key")
        blob = base64.b64decode(words[1], validate=True)
        raw = blob[-32:]
        if blob != _blob(raw):
            raise ValueError("not an Ed25519 key")
        return check_name(words[2].strip() if len(words) > 2 else path.name, "the name of the signer"), raw
    except (ValueError, IndexError, binascii.Error):
        secret = "PRIVATE KEY" in " ".join(words[:3])
        raise UsageError(
            f"{path} is not an Ed25519 public key{': it is a private one' if secret else ''}.",
            hint="give the file whose name ends in .pub",
        ) from None


def _private_key(path: FilePath) -> Any:
    file = read_path(path)
    content = _key_text(file).encode()
    if os.name == "posix" and file.stat().st_mode & 0o077:
        raise UsageError(f"others can read the private key {file}.", hint=f"chmod 600 {file}")
    with needed_for("signing"):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    ssh = b"OPENSSH" in content[:64]
    load = serialization.load_ssh_private_key if ssh else serialization.load_pem_private_key
    try:
        key = load(content, password=None)
    except TypeError:
        raise UsageError(
            f"the private key {file} has a passphrase.", hint="sign with one that has none"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise UsageError(f"{file} is not a private key.", hint=_HINT) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"{file} is not an Ed25519 key.", hint=_HINT)
    return key


def _key_text(path: Path) -> str:
    try:
        return read_text(path, "key", _LARGEST)
    except ReleaseFileError as problem:
        raise UsageError(problem.message) from None


def _write_private(path: Path, content: bytes) -> None:
    """Write a new file that its owner alone may read, from its first byte on."""
    try:
        opened = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise UsageError(
            f"{path} exists already.", hint="name another file: a key is never replaced"
        ) from None
    except OSError as problem:
        raise DataError(f"cannot write {path}: {problem.strerror}.") from None
    with os.fdopen(opened, "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def _blob(raw: bytes) -> bytes:
    """Return a public key as OpenSSH encodes it: the kind and the 32 bytes, each after its length."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in (_KIND.encode(), raw))


def _fingerprint(raw: bytes) -> str:
    """Return what ``ssh-keygen -l`` prints of a key."""
    return f"SHA256:{_encoded(hashlib.sha256(_blob(raw)).digest()).rstrip('=')}"


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
