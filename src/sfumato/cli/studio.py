"""sfumato studio: the web page for those who do not program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.cli import options
from sfumato.cli.console import say, say_json
from sfumato.cli.options import option

WHERE, OTHERS = "Where", "Other machines"


def studio(
    *,
    project: Annotated[Path | None, option("--project", "Open this project.", WHERE, "FOLDER")] = None,
    projects: Annotated[Path | None, option("--projects", "Keep projects in this folder.", WHERE, "FOLDER")] = None,
    port: Annotated[int | None, option("--port", "8123, or the first free one after it.", WHERE, "N")] = None,
    no_open: Annotated[bool, option("--no-open", "Do not open a browser.", WHERE)] = False,
    host: Annotated[str, option("--host", "Address to listen at.", OTHERS, "ADDRESS")] = "127.0.0.1",
    certificate: Annotated[Path | None, option("--certificate", "Of TLS.", OTHERS, "FILE")] = None,
    private_key: Annotated[Path | None, option("--private-key", "Of TLS.", OTHERS, "FILE")] = None,
    users: Annotated[
        Path | None, option("--users", "Names and hashes of passwords, a TOML file.", OTHERS, "FILE")
    ] = None,
    service: Annotated[
        str | None, option("--service", "The service of private answers that its page asks.", OTHERS, "URL")
    ] = None,
    as_json: options.Json = False,
) -> int:
    """Open the studio: a page in your browser that takes a table from file to signed release.

    It runs on this machine, and nothing leaves it. The address that is printed has a token: who has it may use it.

    Other machines may reach it only by TLS, and with passwords.
    """
    from sfumato.studio.server import open_browser, serve

    def ready(url: str) -> None:
        if as_json:
            say_json({"url": url})
        else:
            say(f"the studio is at {url}")
        if not no_open:
            open_browser(url)

    serve(
        project=project, root=projects, host=host, port=port, certificate=certificate, private_key=private_key,
        users=users, service=service, ready=ready,
    )  # fmt: skip
    return 0
