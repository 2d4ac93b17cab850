"""sfumato sign: sign a release with an Ed25519 key, make such a key, and say which keys to trust."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.console import Progress, say, say_json
from sfumato.cli.inputs import rows_of
from sfumato.cli.options import WRITING, option

KEY, SIGNATURE = "Key", "Signature"
ENVIRONMENT = "SFUMATO_PASSPHRASE"


def sign(
    folder: Annotated[Path | None, typer.Argument(help="The folder of a release.", metavar="FOLDER")] = None,
    *,
    key: Annotated[Path | None, option("--key", "The file of your key.", KEY, "FILE")] = None,
    new_key: Annotated[bool, option("--new-key", "Make the key.", KEY)] = False,
    passphrase_file: Annotated[
        Path | None, option("--passphrase-file", "Holds the passphrase of the key.", KEY, "FILE")
    ] = None,
    no_passphrase: Annotated[
        bool, option("--no-passphrase", "Make a key that everybody can use who has it.", KEY)
    ] = False,
    trust: Annotated[Path | None, option("--trust", "Trust this public key when verifying.", KEY, "FILE")] = None,
    name: Annotated[str | None, option("--name", "Who signs.", SIGNATURE, "TEXT")] = None,
    statement: Annotated[str | None, option("--statement", "What is said by signing.", SIGNATURE, "TEXT")] = None,
    date: Annotated[str | None, option("--date", "Today if not given.", SIGNATURE, "YYYY-MM-DD")] = None,
    overwrite: Annotated[bool, option("--overwrite", "Replace an earlier signature.", WRITING)] = False,
    place: options.PlaceOptions,
    as_json: options.Json = False,
) -> int:
    """Sign a release: who stands for it. It is verified first, and not signed where a promise is broken.

    signature.json in the folder then covers every file in it; no other file changes.

    The passphrase of the key is asked for on a terminal, or comes from --passphrase-file or SFUMATO_PASSPHRASE.

    Of a release that is a table, --input is the database.
    """
    from sfumato.errors import PolicyError
    from sfumato.release.signature import FILE, STATEMENT, key_id, public_key
    from sfumato.release.signature import new_key as make_key
    from sfumato.release.signature import sign as sign_release
    from sfumato.release.signature import trust as trust_key

    if folder is None and not new_key and trust is None:
        raise PolicyError("nothing to do", hint="sfumato sign out/ --key steward.pem --name 'Ann Steward'")
    if key is None and (folder is not None or new_key):
        raise PolicyError("the key is not named", hint="--key steward.pem, and --new-key to make it")
    if folder is not None and name is None:
        raise PolicyError("it is not said who signs", hint="--name 'Ann Steward'")
    told: dict[str, Any] = {}
    if trust is not None:
        told["trusted"] = trust_key(trust)
    if new_key and key is not None:
        given = None if no_passphrase else _passphrase(passphrase_file, new=True)
        public = make_key(key, passphrase=given)
        told |= {"key": str(key), "public_key": str(public), "key_id": key_id(public_key(public))}
    if folder is not None and key is not None and name is not None:
        rows = rows_of(folder, place)
        with Progress("verifying"):
            found = sign_release(
                folder,
                key=key,
                name=name,
                statement=STATEMENT if statement is None else statement,
                date=date,
                passphrase=given if new_key else lambda: _passphrase(passphrase_file),
                data=None if rows is folder else rows,
                overwrite=overwrite,
            )
        told |= {"file": str(folder / FILE), "signature": asdict(found)}
    if as_json:
        say_json(told)
        return 0
    if "trusted" in told:
        say(f"trusted: {told['trusted']}")
    if "public_key" in told:
        say(f"made {told['key']}, which nobody else may have, and {told['public_key']}, which everybody may")
        say(f"key {told['key_id']}")
    if "signature" in told:
        say(f'{told["file"]}: signed by "{found.name}" on {found.date}')
        say(f'  "{found.statement}"')
        say(f"  key {found.key}")
    return 0


def _passphrase(file: Path | None, new: bool = False) -> str:
    """The passphrase of a key, from a file, the environment or the terminal; a new one is asked for twice."""
    from getpass import getpass

    from sfumato.errors import PolicyError, ReadError

    if file is not None:
        try:
            return file.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
        except (OSError, UnicodeError):
            raise ReadError(f'the passphrase file "{file}" cannot be read') from None
    if (found := os.environ.get(ENVIRONMENT)) is not None:
        return found
    if not sys.stdin.isatty():
        hint = f"--passphrase-file FILE, or {ENVIRONMENT}" + (", or --no-passphrase" if new else "")
        raise PolicyError("the key needs a passphrase, and there is no terminal to ask for it", hint=hint)
    given = getpass("Passphrase of the key: ")
    if new and given != getpass("Once more: "):
        raise PolicyError("the two passphrases are not the same")
    return given
