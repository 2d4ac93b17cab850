"""PageContext: what a view is given."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nicegui import ui

from sfumato.core.progress import SearchMessage
from sfumato.errors import Cancelled, PolicyError, SfumatoError
from sfumato.policyfile.paths import leading_out
from sfumato.studio.log import FAULT
from sfumato.studio.project import Project, StaleState
from sfumato.studio.texts import Texts
from sfumato.studio.worker import Job

if TYPE_CHECKING:
    from sfumato.studio.server import Studio

PREFERENCES = "preferences.json"


@dataclass(eq=False)
class Drawn:
    """What a page shows: the step that it was drawn from, how many later ones of its own it shows already, and whether
    the list of a field is open, which would vanish if the page were drawn again beneath it."""

    step: int = 0
    own: int = 0
    choosing: bool = False
    closed: bool = False


@dataclass(frozen=True, eq=False)
class PageContext:
    """The studio, who looks at it in which language, and the project that is open."""

    studio: Studio
    user: str
    texts: Texts
    project: Project | None = None
    drawn: Drawn = field(default_factory=Drawn)
    jobs: set[Job] = field(default_factory=set)  # under way for this page

    @property
    def root(self) -> Path:
        """Where the projects of the user are."""
        return self.studio.root_of(self.user)

    @property
    def policy(self) -> dict[str, Any]:
        """The policy of the project, to be changed and handed to `change`."""
        assert self.project is not None
        return self.project.policy

    def change(self, name: str, policy: Mapping[str, Any], *, redraw: bool = True) -> bool:
        """Take a step of the project; all pages that show it are drawn again. False where another tab was faster.

        Without `redraw` this page stays as it is, for it shows the step already: a field keeps its cursor.
        """
        assert self.project is not None
        try:
            self.refuse_paths(policy, self.project.folder)
            step = self.project.change(name, policy, self.drawn.step)
            if not redraw and step.number != self.drawn.step:
                self.drawn.step, self.drawn.own = step.number, self.drawn.own + 1
        except StaleState:
            ui.notify(self.texts("studio.stale"), type="warning", multi_line=True)
            return False
        except SfumatoError as error:
            self.complain(error)
            return False
        return True

    def refuse_paths(self, policy: Mapping[str, Any], folder: Path) -> None:
        """Raise a PolicyError where one of several users names a file outside of the project, or a database: what
        stands in one may read any file."""
        if not self.studio.users:
            return
        paths = leading_out(policy, folder)
        paths += [str(policy[name]["table"]) for name in ("input", "output") if "table" in policy.get(name, {})]
        if paths:
            what = "files and databases of this machine are for whoever runs it"
            raise PolicyError(what, got=f'"{paths[0]}"', hint="upload the file")

    async def run(
        self,
        task: str,
        *arguments: Any,
        slot: str | None = None,
        job: Job | None = None,
        failed: Callable[[SfumatoError], object] | None = None,
    ) -> Any:
        """The result of a task of a worker, or None where it was cancelled or failed, which the page then says, or
        `failed` does."""
        about = "" if self.project is None else str(self.project.folder)
        job = job or Job(task)
        self.jobs.add(job)
        if self.drawn.closed:
            job.cancel()
        try:
            return await self.studio.workers.run(task, *arguments, about=about, slot=slot, job=job)
        except Cancelled:
            if self.drawn.closed:
                raise asyncio.CancelledError from None  # nothing is left to draw on
            return None
        except SfumatoError as error:
            (failed or self.complain)(error)
            return None
        finally:
            self.jobs.discard(job)

    def leave(self) -> None:
        """Cancel what is under way: the page was closed."""
        self.drawn.closed = True
        for job in self.jobs:
            job.cancel()

    def complain(self, error: Exception) -> None:
        """Say on the page what went wrong."""
        said = self.texts.said(str(error) if isinstance(error, SfumatoError) else FAULT)
        ui.notify(said, type="negative", multi_line=True, timeout=15_000, close_button=True,
                  classes="multi-line-notification")  # fmt: skip

    def asked(self) -> Mapping[str, Any]:
        """The tables of the policy with paths from the folder of the project, as a task takes them."""
        assert self.project is not None
        return {"tables": self.project.policy, "folder": str(self.project.folder)}


def preferences(root: Path) -> dict[str, Any]:
    """Language and colours that a user chose."""
    try:
        found = json.loads((root / PREFERENCES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def prefer(root: Path, **chosen: Any) -> None:
    """Keep such a choice."""
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    (root / PREFERENCES).write_text(json.dumps(preferences(root) | chosen), encoding="utf-8")


async def with_progress(
    context: PageContext, task: str, *arguments: Any, ended: Callable[[Any], Any] | None = None, **more: Any
) -> Any:
    """Run a task while a card shows how far it is and lets it be cancelled; `more` as `run` takes it."""
    job, text = Job(task), context.texts
    with ui.card().classes("progress-card w-full") as card:
        with ui.row().classes("w-full items-center no-wrap"):
            ui.spinner(size="1.5em").props("aria-hidden=true")
            message = ui.label(text("studio.working")).classes("grow").props("role=status")
            clock = ui.label("").classes("quiet")
            ui.button(text("studio.cancel"), on_click=job.cancel).props("flat").mark("cancel")
        bar = ui.linear_progress(0, show_value=False).props("instant-feedback")
        bar.props(f'aria-label="{text("studio.working")}"')
        best = ui.label("").classes("quiet").mark("best")
        best.set_visibility(False)

    def show() -> None:
        if job.message:
            message.set_text(text.said(str(job.message)))
        if isinstance(job.message, SearchMessage):
            loss, rows = text.number(job.message.loss), job.message.suppressed
            said = text("studio.best", loss=loss)
            best.set_text(said if rows is None else text("studio.best_rows", loss=loss, rows=text.number(rows)))
            best.set_visibility(True)
        clock.set_text(text("studio.seconds", seconds=round(job.seconds)))
        if job.share is not None:
            bar.set_value(job.share)

    timer = ui.timer(0.2, show)
    try:
        found = await context.run(task, *arguments, job=job, **more)
    finally:
        timer.cancel()
        drawn_again = card.is_deleted
        if not drawn_again:
            card.delete()
    if drawn_again:
        return found
    if job.cancelled:
        ui.notify(text("studio.cancelled"))
    elif found is not None and ended is not None:
        shown = ended(found)
        if asyncio.iscoroutine(shown):
            await shown
    return found
