"""Signatures: who published a file is known, whatever was altered is refused, and every refusal is one line."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.artifact.signature import make_key, sign, verify
from discreet.cli import run
from discreet.errors import DataError, DiscreetError, ReleaseFileError, SignatureError, UsageError

pytest.importorskip("cryptography", reason="cryptography is not there: pip install 'discreet[sign]'")

EXAMPLE = Path(__file__).parents[2] / "docs/examples/smoking.json"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a release and two pairs of keys."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLE, "smoking.json")
    make_key("office.key", "Statistics office")
    make_key("other.key", "Somebody else")
    return tmp_path


def forged(path: str) -> None:
    """Write a release that promises more, with a seal that fits: only a signature can tell."""
    body = json.loads(Path(path).read_text())
    body["dataset"] = "another"
    body["sha256"] = checksum(body)
    Path(path).write_text(json.dumps(body))


def test_a_reader_learns_who_signed() -> None:
    assert sign("smoking.json", "office.key") == Path("smoking.json.sig")
    found = verify("smoking.json", "office.key.pub")
    assert found.name == "Statistics office"
    assert verify("smoking.json", ["other.key.pub", "office.key.pub"]) == found
    assert dc.Release.load("smoking.json", signed_by="office.key.pub") == dc.Release.load("smoking.json")


def test_a_release_is_signed_when_it_is_saved() -> None:
    dc.Release.load("smoking.json").save("again.json", key="office.key")
    assert verify("again.json", "office.key.pub").name == "Statistics office"


def test_the_private_key_is_its_owners_alone() -> None:
    assert stat.S_IMODE(os.stat("office.key").st_mode) == 0o600
    Path("office.key").chmod(0o640)
    with pytest.raises(UsageError, match="others can read the private key") as caught:
        sign("smoking.json", "office.key")
    assert caught.value.hint == "chmod 600 office.key"


def test_a_key_is_never_replaced() -> None:
    before = Path("office.key").read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        make_key("office.key", "Statistics office")
    Path("office.key.pub").unlink()
    with pytest.raises(UsageError, match="exists already"):
        make_key("office.key", "Statistics office")
    assert Path("office.key").read_bytes() == before


def test_a_forged_file_with_a_seal_that_fits_is_found() -> None:
    sign("smoking.json", "office.key")
    forged("smoking.json")
    assert dc.Release.load("smoking.json").dataset == "another"
    with pytest.raises(SignatureError, match="is not what Statistics office signed"):
        verify("smoking.json", "office.key.pub")
    with pytest.raises(SignatureError, match="is not what Statistics office signed"):
        dc.Release.load("smoking.json", signed_by="office.key.pub")


def test_any_altered_byte_is_found() -> None:
    sign("smoking.json", "office.key")
    content = Path("smoking.json").read_bytes()
    for at in range(0, len(content), 97):
        changed = bytearray(content)
        changed[at] ^= 1
        Path("smoking.json").write_bytes(changed)
        with pytest.raises(SignatureError, match="altered"):
            verify("smoking.json", "office.key.pub")
    # even a line feed at the end, which changes nothing that is read
    Path("smoking.json").write_bytes(content + b"\n")
    with pytest.raises(SignatureError, match="altered"):
        verify("smoking.json", "office.key.pub")


def test_somebody_elses_signature_is_not_the_offices() -> None:
    forged("smoking.json")
    sign("smoking.json", "other.key")
    with pytest.raises(SignatureError, match="none of those given"):
        verify("smoking.json", "office.key.pub")
    # nor is one that says it is
    made = json.loads(Path("smoking.json.sig").read_text())
    dc.Release.load(EXAMPLE).save("plain.json", key="office.key")
    made["key"] = json.loads(Path("plain.json.sig").read_text())["key"]
    Path("smoking.json.sig").write_text(json.dumps(made))
    with pytest.raises(SignatureError, match="altered"):
        verify("smoking.json", "office.key.pub")


def test_the_signature_of_another_release_does_not_fit() -> None:
    dc.Release.load("smoking.json").save("again.json", key="office.key")
    shutil.copy(EXAMPLE.with_name("blood-pressure.json"), "pressure.json")
    with pytest.raises(SignatureError, match="altered"):
        verify("pressure.json", "office.key.pub", "again.json.sig")


def test_keys_and_signatures_are_those_of_other_programs() -> None:
    """OpenSSH's keys can sign; what is signed is the file's bytes after one line, as any Ed25519 library can check."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    written = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    Path("ssh.key").write_bytes(written)
    Path("ssh.key").chmod(0o600)
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    Path("ssh.key.pub").write_bytes(public + b" curator@clinic\n")
    sign("smoking.json", "ssh.key")
    assert verify("smoking.json", "ssh.key.pub").name == "curator@clinic"
    from base64 import b64decode

    signature = b64decode(json.loads(Path("smoking.json.sig").read_text())["signature"])
    key.public_key().verify(signature, b"discreet/signature/1\n" + Path("smoking.json").read_bytes())


def test_what_is_no_release_is_not_signed() -> None:
    Path("rows.csv").write_text("smoker\nyes\n")
    with pytest.raises(ReleaseFileError, match="not a release file"):
        sign("rows.csv", "office.key")
    assert not Path("rows.csv.sig").exists()


def damaged_signatures() -> list[str]:
    whole = {
        "format": "discreet/signature", "version": 1, "algorithm": "Ed25519",
        "release": "x", "key": "SHA256:x", "signature": "AAAA",
    }  # fmt: skip
    return [
        "", "null", "[]", "[" * 5000, '{"a": 1, "a": 2}', "\x00",
        json.dumps(whole),
        json.dumps({**whole, "signature": 5}),
        json.dumps({**whole, "version": 2}),
        json.dumps({**whole, "algorithm": "none"}),
        json.dumps({**whole, "key": "a\nb", "signature": "A" * 88}),
        json.dumps({**whole, "more": 1}),
        json.dumps({**whole, "signature": "A" * 20_000}),
    ]  # fmt: skip


@pytest.mark.parametrize("content", damaged_signatures(), ids=range(len(damaged_signatures())))
def test_a_damaged_signature_is_one_line(content: str) -> None:
    Path("smoking.json.sig").write_text(content)
    with pytest.raises(ReleaseFileError, match=r"not a signature file"):
        verify("smoking.json", "office.key.pub")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "ssh-rsa AAAA x",
        "ssh-ed25519",
        "ssh-ed25519 !!! x",
        "ssh-ed25519 AAAA x",
        "\x00" * 9,
        "x" * 20_000,
    ],
)
def test_what_is_no_public_key_is_one_line(content: str) -> None:
    sign("smoking.json", "office.key")
    Path("bad.pub").write_text(content)
    with pytest.raises(UsageError) as caught:
        verify("smoking.json", "bad.pub")
    assert "\n" not in caught.value.message


def test_calls_that_cannot_mean_anything() -> None:
    sign("smoking.json", "office.key")
    for keys, said in (
        ([], "at least one"),
        ("office.key", "it is a private one"),
        ("none.pub", "cannot read"),
    ):
        with pytest.raises(DiscreetError, match=said):
            verify("smoking.json", keys)
    Path("other.key.pub").chmod(0o600)
    with pytest.raises(UsageError, match="not a private key"):
        sign("smoking.json", "other.key.pub")
    with pytest.raises(DataError, match="there is no signature"):
        verify("smoking.json", "office.key.pub", "elsewhere.sig")
    with pytest.raises(UsageError, match="cannot be printed"):
        make_key("third.key", "two\nlines")


def test_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sign", "smoking.json", "--new-key", "new.key", "--name", "Clinic", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["schema"], said["signature"], said["public_key"]) == (
        "discreet/sign/1", "smoking.json.sig", "new.key.pub",
    )  # fmt: skip
    assert run(["verify", "smoking.json", "--key", "new.key.pub"]) == 0
    assert capsys.readouterr().out.startswith("smoking.json is as Clinic (key SHA256:")
    assert run(["verify", "smoking.json", "--key", "new.key.pub", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["signer"] == "Clinic"
    assert run(["verify", "smoking.json", "--key", "office.key.pub"]) == 4
    assert run(["sign", "smoking.json", "--key", "office.key"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(["sign", "smoking.json", "--key", "office.key", "--force"]) == 0
    for wrong in (
        "sign smoking.json",
        "sign --key office.key",
        "sign --new-key x.key",
        "verify smoking.json",
    ):
        assert run(wrong.split()) == 2, wrong
    forged("smoking.json")
    capsys.readouterr()
    assert run(["verify", "smoking.json", "--key", "office.key.pub"]) == 4
    assert capsys.readouterr().err.count("\n") == 2


def test_without_the_package_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sign("smoking.json", "office.key")
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    for command in ("verify smoking.json --key office.key.pub", "sign --new-key third.key --name x"):
        assert run(command.split()) == 1
        said = capsys.readouterr().err
        assert said.endswith("needs cryptography, which is not installed: pip install 'discreet[sign]'\n")
        assert said.count("\n") == 1
    assert not Path("third.key").exists()
