"""``discreet sign`` and ``discreet verify``: who published a release file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from discreet.cli.console import print_json, print_plain
from discreet.cli.options import AsJson, Force, ReleaseFile, option
from discreet.cli.output_checks import ensure_output
from discreet.errors import UsageError

_NEW = "--new-key office.key --name 'Statistics office'"


def sign(
    file: Annotated[Path | None, Argument(metavar="FILE", help="Release file.", show_default=False)] = None,
    key: Annotated[Path | None, option("FILE", "Private key to sign with.")] = None,
    new_key: Annotated[
        Path | None, option("FILE", "Make a pair of keys first: FILE, and FILE.pub for readers.")
    ] = None,
    name: Annotated[
        str | None, option("TEXT", "With --new-key: who signs, as readers of the key will see it.")
    ] = None,
    output: Annotated[
        Path | None, option("FILE", "Signature to write.", "--output", "-o", show_default="FILE.sig")
    ] = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Sign a release file, so that its readers know who published it.

    The signature (Ed25519) is a small file of its own; the release stays as it is. Keep the private key to yourself,
    and publish the other one, whose name ends in .pub, where readers know that it is yours.
    """
    from discreet.artifact import signature

    if (key is None) == (new_key is None):
        raise UsageError("give --key, or --new-key to make one.", hint=_NEW)
    if (name is None) != (new_key is None):
        raise UsageError("--name and --new-key go together.", hint=_NEW)
    if file is None and (key is not None or output is not None):
        raise UsageError(
            "say which release file is to be signed.", hint="discreet sign smoking.json --key office.key"
        )
    target = output or (None if file is None else signature.beside(file))
    if file is not None and target is not None:
        ensure_output(target, file, replace=force)
    said: dict[str, str | None] = {"key": None, "public_key": None, "signature": None}
    lines = []
    used = key
    if new_key is not None:
        made = signature.make_key(new_key, name or "")
        used = new_key
        said |= {"key": str(new_key), "public_key": f"{new_key}.pub", "fingerprint": made.fingerprint}
        lines.append(f"Wrote {new_key}, to be kept secret, and {new_key}.pub, for readers: {made}.")
    if file is not None and used is not None:
        written = signature.sign(file, used, target)
        said["signature"] = str(written)
        lines.append(f"Wrote {written}, the signature of {file}.")
    if json:
        print_json("sign", said)
        return
    for line in lines:
        print_plain(line)


def verify(
    file: ReleaseFile,
    key: Annotated[list[Path], option("FILE", "Public key that you trust; repeat it for others.")],
    signature: Annotated[Path | None, option("FILE", "Signature to read.", show_default="FILE.sig")] = None,
    json: AsJson = False,
) -> None:
    """Say who signed a release file: the holder of one of the keys that you trust, or nobody.

    A key says who somebody is only if it came by another way than the file: from their web page, or from a colleague.
    """
    from discreet.artifact.signature import verify as verified

    found = verified(file, key, signature)
    if json:
        print_json("verify", {"file": str(file), "signer": found.name, "key": found.fingerprint})
        return
    print_plain(f"{file} is as {found} signed it.")
