"""Downloads: the files of a release, one by one or as a zip, and the policy that makes them."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, PlainTextResponse, Response, StreamingResponse

from sfumato.errors import ReadError, SfumatoError
from sfumato.policyfile.protection import cell_policy, row_policy
from sfumato.studio.context import PageContext
from sfumato.studio.project import Project, find

CHUNK = 1 << 20
# a report has no scripts and takes nothing from elsewhere; as a page of its own it may not even ask
SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
EARLIEST = (1980, 1, 1, 0, 0, 0)  # that a zip knows: no clock in it


def add_download_routes(app: FastAPI, context: Callable[[Request], PageContext]) -> None:
    """Routes of files; each finds the project among those of who asks, and the file in the folder of the release."""

    def project_of(request: Request, name: str) -> Project:
        return find(context(request).root, name)

    @app.get("/project/{name}/releases/{number}/{file}")
    def _file(request: Request, name: str, number: int, file: str) -> Response:
        found = release_file(project_of(request, name), number, file)
        shown = file == "report.html" and "download" not in request.query_params
        headers = {"content-security-policy": SANDBOX} if shown else _attached(file)
        return FileResponse(found, headers=headers)

    @app.get("/project/{name}/releases/{number}")
    def _zip(request: Request, name: str, number: int) -> Response:
        folder = project_of(request, name).release_folder(number)
        called = f"{name} {number}"
        return StreamingResponse(
            zipped(folder, called), media_type="application/zip", headers=_attached(f"{called}.zip")
        )

    @app.get("/project/{name}/policies/table")
    def _table_policy(request: Request, name: str) -> Response:
        project = project_of(request, name)
        return _policy_file(project.exported(cell_policy(project.policy)))

    @app.get("/project/{name}/policies/{number}")
    def _policy(request: Request, name: str, number: int) -> Response:
        project = project_of(request, name)
        policies = {one["number"]: one["policy"] for one in project.releases()} | {0: row_policy(project.policy)}
        if number not in policies:
            raise ReadError("there is no such release")
        return _policy_file(project.exported(policies[number]))

    @app.get("/signing.pub")
    def _public_key(request: Request) -> Response:
        own = context(request)
        found = own.studio.key_of(own.user).with_suffix(".pub")
        if not found.is_file():
            raise ReadError("there is no key yet", hint="it is made when a release is signed")
        return FileResponse(found, headers=_attached("signing.pub"))

    @app.exception_handler(SfumatoError)
    async def _refused(request: Request, error: Any) -> Response:
        return PlainTextResponse(context(request).texts.said(str(error)), 404)


def _policy_file(text: str) -> Response:
    return PlainTextResponse(text, media_type="application/toml", headers=_attached("policy.toml"))


def _attached(name: str) -> dict[str, str]:
    return {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}


def release_file(project: Project, number: int, name: str) -> Path:
    """A file of a release by its name, which leads nowhere else."""
    folder = project.release_folder(number)
    found = next((path for path in _files(folder) if path.name == name and path.parent == folder), None)
    if found is None:
        raise ReadError("the release has no such file", hint="the page of the release lists them")
    return found


def release_files(folder: Path) -> list[tuple[str, int]]:
    """The names of the files of a release and their sizes; parts of a table that has several by their folder."""
    return [(path.relative_to(folder).as_posix(), path.stat().st_size) for path in _files(folder)]


def _files(folder: Path) -> list[Path]:
    """What a release consists of: files, no links."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def zipped(folder: Path, called: str) -> Iterator[bytes]:
    """A folder as a zip, made while it is sent: neither memory nor the disk holds it. Equal files, equal bytes."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[call-overload]
        for path in _files(folder):
            entry = zipfile.ZipInfo(f"{called}/{path.relative_to(folder).as_posix()}", EARLIEST)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with path.open("rb") as file, archive.open(entry, "w", force_zip64=True) as part:
                while data := file.read(CHUNK):
                    part.write(data)
                    yield sink.taken()
    yield sink.taken()


class _Sink:
    """What is written to it until it is taken; it cannot be rewound."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""

    def taken(self) -> bytes:
        """What was written since it was taken last."""
        found, self._parts = b"".join(self._parts), []
        return found
