"""sfumato query serve, key and password, and questions to a running service."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.cli.console import notes_at_once, say, say_json


def run(
    action: str, files: Sequence[str], key_file: Path | None, address: str | None, port: int | None, as_json: bool
) -> int:
    """Serve a policy, make a key, or hash a password."""
    from sfumato.errors import PolicyError

    if action == "serve":
        if len(files) != 1:
            raise PolicyError("serve needs a policy file", hint="sfumato query serve policy.toml")
        from sfumato.service.run import serve

        with notes_at_once():
            serve(files[0], address=address, port=port, ready=lambda url: say(f"answers at {url}"))
        return 0
    if files:
        raise PolicyError(f"{action} takes no file", hint="the key is written where --key-file says")
    return _key(key_file, as_json) if action == "key" else _password(as_json)


def _key(file: Path | None, as_json: bool) -> int:
    """A new key, shown once or written to a file of the user's alone, and its hash for the policy."""
    from sfumato.errors import OutputError
    from sfumato.service.secret import hash_key, new_api_key

    key = new_api_key()
    if file is not None:
        try:
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
                new.write(key + "\n")
        except OSError as error:
            raise OutputError(f"the key cannot be written to {file}: {error.strerror}") from None
    shown = key if file is None else str(file)
    if as_json:
        say_json({"key" if file is None else "key_file": shown, "hash": hash_key(key)})
    else:
        say(f"for the user, and shown once: {shown}" if file is None else f"for the user: {shown}")
        say(f'for the policy: key = "{hash_key(key)}"')
    return 0


def _password(as_json: bool) -> int:
    """The hash of a password that is typed in, or piped."""
    from sfumato.errors import PolicyError
    from sfumato.service.secret import hash_password

    if sys.stdin.isatty():
        from getpass import getpass

        given = getpass("password: ")
    else:
        given = sys.stdin.readline().rstrip("\r\n")
    if len(given) < 12:
        raise PolicyError("a password has at least 12 characters", hint="better, give users keys: sfumato query key")
    found = hash_password(given)
    if as_json:
        say_json({"hash": found})
    else:
        say(f'for the policy: password = "{found}"')
    return 0


def remote(
    action: str,
    files: Sequence[str],
    service: str,
    key_file: Path | None,
    price: Mapping[str, Any],
    named: Mapping[str, Any],
) -> dict[str, Any]:
    """What a running service says to a question, its cost, or a budget; in the words of a session of one's own."""
    from sfumato.dp.sql import looks_like_sql
    from sfumato.errors import PolicyError
    from sfumato.service.client import ServiceClient

    asks = action != "budget"
    if key_file is None or len(files) != (1 if asks else 0):
        example = '"SELECT count(*) FROM patients" --epsilon 0.1 ' if asks else ""
        hint = f"sfumato query {action} {example}--service http://127.0.0.1:8321 --key-file my.key"
        raise PolicyError(f"{action} of a service needs {'a question and ' if asks else ''}--key-file", hint=hint)
    client = ServiceClient(service, key_file)
    if not asks:
        listed = [
            one for one in client.budget() if all(named[key] in (None, one.get(key)) for key in ("dataset", "purpose"))
        ]
        if len(listed) != 1:
            if not listed:
                raise PolicyError("there is no such budget for you", hint="the owner of the service gives grants")
            names = ", ".join(f"{one['dataset']} {one.get('purpose', '')}".strip() for one in listed)
            raise PolicyError("which budget is not clear", got=names, hint="name --dataset and --purpose")
        return listed[0]
    question = {"sql" if looks_like_sql(files[0]) else "query": files[0]}
    question |= {key: value for key, value in {**price, **named}.items() if value not in (None, False)}
    return client.ask(question) if action == "ask" else client.cost(question)
