"""Masking and made-up rows in the studio: described, tried, released as the shell does it, and chosen on the page."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from importlib import import_module

import polars as pl
import pytest
from nicegui.testing import user_simulation

from sfumato.studio.context import Drawn, PageContext
from sfumato.studio.project import create
from sfumato.studio.server import Studio
from sfumato.studio.tasks import compare, protection, release, search
from sfumato.studio.texts import Texts
from sfumato.studio.views.search import draw

SECRET = "Kaltenbrunn"
TABLES = {
    "input": {"path": "private/in.csv"},
    "roles": {"identifying": ["name"], "quasi": ["age", "pay", "ward"], "sensitive": ["ill"]},
}
DOMAIN = {"bounds": {"age": [0, 30, 60, 120], "pay": [0, 5000, 10000]}, "keys": {"ward": ["A", "B", "C"]}}
DOMAIN["keys"]["ill"] = ["flu", "cold", "gout"]
MASKED = {
    "mask": [{"step": "rank-swapping", "columns": ["pay"], "p": 10}, {"step": "keyed-tokens", "columns": ["name"]}]
}
DRAWN = {"synthesis": {"generator": {"name": "sequential-trees", "leaf": 25}}}
PRIVATE = {
    "synthesis": {
        "generator": {"name": "mst", "epsilon": 1, **DOMAIN},
        "account": {"ledger": "private/ledger.sqlite", "epsilon": 3, "delta": 1e-6, "dataset": "p"},
    }
}


def quiet(message, share=None):
    pass


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    found, drawn, n = create(tmp_path, "p", TABLES), random.Random(1), 200
    pl.DataFrame(
        {
            "name": [f"{SECRET}{i}" for i in range(n)],
            "age": [drawn.randint(18, 90) for _ in range(n)],
            "pay": [drawn.randint(1000, 9000) for _ in range(n)],
            "ward": [drawn.choice("ABC") for _ in range(n)],
            "ill": [drawn.choice(["flu", "cold", "gout"]) for _ in range(n)],
        }
    ).write_csv(found.folder / "private" / "in.csv")
    return found


def asked(project, **more):
    return {"tables": TABLES | more, "folder": str(project.folder)}


def test_steps_are_described_with_their_columns_and_what_they_leave_open(project):
    found = protection.described(asked(project, **MASKED, search={"seed": 3}), quiet)
    assert (found["faults"], found["generator"], found["private"]) == ([], None, None)
    assert [one["columns"] for one in found["steps"]] == [["pay"], ["name"]]
    assert found["steps"][0]["sentence"].startswith("values exchange with others from the next 10 percent")
    assert all(one["leaves"] for one in found["steps"])
    every = protection.described(asked(project, mask=[{"step": "rank-swapping"}]), quiet)
    assert every["steps"][0]["columns"] == ["age", "pay"]  # all that fit, and no names
    wrong = protection.described(asked(project, mask=[{"step": "additive-noise", "columns": ["ward"]}]), quiet)
    assert "does not fit the column" in wrong["faults"][0]
    assert "unknown step" in protection.described(asked(project, mask=[{"step": "x"}]), quiet)["faults"][0]


def test_what_a_masking_gives_is_measured_by_linkage(project):
    found = search.find(asked(project, **MASKED, search={"seed": 3}), quiet)
    assert (found["by"], found["suppressed"], found["outcome"]) == ("masking", 0, "nothing promised")
    success, guessing = found["linkage"]
    assert guessing == 1 / 200 < success
    assert '"pay": the same values as often as in the original' in [one["sentence"] for one in found["facts"]]
    assert set(found["attackers"].values()) == {None}  # classes of changed values say nothing


def test_rows_that_keep_a_promise_are_promised(project):
    rounded = [
        {"step": "rounding", "columns": ["pay"], "base": 10000},
        {"step": "rounding", "columns": ["age"], "base": 100},
    ]
    promise = {"require": [{"model": "k-anonymity", "k": 3}], "search": {"seed": 3}}
    found = search.find(asked(project, mask=rounded, **promise), quiet)
    assert (found["outcome"], found["smallest"] >= 3) == ("holds", True)
    found = search.find(asked(project, mask=rounded[:1], **promise), quiet)
    assert (found["by"], found["infeasible"]["what"] != "") == ("masking", True)


@pytest.mark.slow
def test_what_a_generator_gives_is_measured_by_what_it_copies(project):
    found = search.find(asked(project, **DRAWN, search={"seed": 3}), quiet)
    assert (found["by"], found["outcome"], found["copied"][0]) == ("synthesis", "nothing promised", 0)
    assert found["membership"][1] == 0.5
    assert found["utility"]["pairs"] > 0
    spread = compare.distribution(asked(project, **DRAWN, search={"seed": 3}), "age", quiet)
    assert spread["words"][-1] != "–"  # new values stand where they belong


@pytest.mark.slow
def test_a_private_generator_asks_for_domains_and_is_charged_by_a_release_alone(project):
    pytest.importorskip("opendp")
    bare = protection.described(asked(project, synthesis={"generator": {"name": "mst", "epsilon": 1}}), quiet)
    assert bare["faults"] == ['"age", "pay", "ward", "ill" have no public domain']
    policy = asked(project, **PRIVATE)
    assert protection.described(policy, quiet)["private"]["spent"] is None
    assert search.find(policy, quiet)["outcome"] == "by construction"
    assert not (project.folder / "private" / "ledger.sqlite").exists()  # a trial costs nothing
    plan = release.planned(policy, quiet)
    assert (plan["private"]["charged"], plan["columns"]["age"], plan["columns"]["name"]) == (
        True,
        "drawn",
        "identifying",
    )
    _, folder = project.next_release()
    made = release.make(policy, str(folder), quiet)
    assert made["outcome"] == "by construction"
    assert [one["how"] for one in made["promises"] if one["model"] == "differential-privacy"] == ["by construction"]
    assert protection.described(policy, quiet)["private"]["spent"] == "epsilon 1, delta 0.000000001"


@pytest.mark.slow
@pytest.mark.parametrize(("tables", "command"), [(MASKED, "mask"), (DRAWN, "synth")])
def test_masked_and_drawn_releases_are_the_bytes_of_the_shell(project, tmp_path, tables, command):
    project.change("protection", TABLES | tables | {"search": {"seed": 11}})
    policy = {"tables": project.policy, "folder": str(project.folder)}
    plan = release.planned(policy, quiet)
    assert plan["columns"]["pay"] == ("changed" if command == "mask" else "drawn")
    _, folder = project.next_release()
    made = release.make(policy, str(folder), quiet)
    assert made["outcome"] == "nothing promised"
    assert made["facts"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "policy.toml").write_text(project.exported(project.policy))
    subprocess.run([sys.executable, "-m", "sfumato", command, "policy.toml", "-o", "out"], cwd=elsewhere, check=True)
    for name in ("data.csv", "manifest.json", "report.html"):
        assert (elsewhere / "out" / name).read_bytes() == (folder / name).read_bytes(), name


def test_points_of_a_map_may_be_filled_in_forms(project):
    steps, drawn = [{"step": "additive-noise", "share": 0.3}], [{"name": "gaussian-copula"}]
    policy = asked(project, require=[{"model": "k-anonymity", "k": 2}], search={"method": "mondrian"})
    found = compare.mapped(policy, [], [2], steps, drawn, quiet)["points"]
    assert [(one["family"], one["status"]) for one in found] == [("masking", "done"), ("synthesis", "done")]
    assert found[0]["policy"]["mask"] == [{"step": "additive-noise", "share": 0.3, "columns": ["age", "pay"]}]
    measured = compare.measured({"tables": found[0]["policy"], "folder": str(project.folder)}, quiet)
    assert measured["linkage"][0] == pytest.approx(found[0]["risk"])  # the same seed, so the same rows


class Here:
    """Workers that do the work in this process."""

    async def run(self, task, *arguments, about="", slot=None, job=None):
        module, _, name = task.partition(".")
        return getattr(import_module(f"sfumato.studio.tasks.{module}"), name)(*arguments, quiet)


@pytest.mark.slow
def test_a_steward_chooses_adds_orders_and_removes(project):
    project.change(
        "promise", {**TABLES, "require": [{"model": "k-anonymity", "k": 3}], "search": {"method": "optimal"}}
    )

    def context():
        return PageContext(Studio(project.folder.parent, Here()), "", Texts("en"), project, Drawn(project.step.number))

    async def visit(act):
        async with user_simulation(lambda: draw(context())) as user:
            await user.open("/")
            await act(user)
            await asyncio.sleep(0.05)

    async def mask(user):
        user.find(marker="protection-masking").click()

    async def add(user):
        await user.should_see("No step yet")
        user.find(marker="add-step").click()

    async def add_another(user):
        await user.should_see("values exchange".capitalize(), retries=20)
        [choice] = user.find(marker="step-name").elements
        choice.set_value("keyed-tokens")
        user.find(marker="add-step").click()

    async def fill(user):
        [p] = [one for one in user.find(marker="p").elements if "rank-swapping" in one._markers]
        p.set_value(12)

    async def order(user):
        await user.should_see("the next 12 percent", retries=20)
        [up] = [b for b in user.find(kind=import_module("nicegui").ui.button).elements
                if b.props.get("aria-label") == "Do it earlier: Keyed tokens"]  # fmt: skip
        with user:
            for listener in up._event_listeners.values():
                if listener.type == "click":
                    up._handle_event({"listener_id": listener.id, "args": None})

    async def draw_rows(user):
        user.find(marker="protection-synthesis").click()

    async def back(user):
        await user.should_see("Generator")
        user.find(marker="protection-recoding").click()

    async def again(user):
        user.find(marker="protection-masking").click()

    steps = []
    for act in (mask, add, add_another, fill, order, draw_rows, back, again):
        asyncio.run(visit(act))
        steps.append(project.policy)
    masked, added, two, filled, ordered, made_up, blurred, masked_again = steps
    assert "require" not in masked
    assert "method" not in masked["search"]
    assert masked["search"]["seed"] >= 0
    assert added["mask"] == [{"step": "rank-swapping", "p": 5}]
    assert two["mask"][1] == {"step": "keyed-tokens", "columns": ["name"]}
    assert filled["mask"][0] == {"step": "rank-swapping", "p": 12}
    assert [one["step"] for one in ordered["mask"]] == ["keyed-tokens", "rank-swapping"]
    assert made_up["synthesis"] == {"generator": {"name": "sequential-trees"}}
    assert "mask" not in made_up
    assert blurred["require"] == [{"model": "k-anonymity", "k": 3}]  # as it was when it was left
    assert blurred["search"] == {"method": "optimal"}
    assert masked_again["mask"] == ordered["mask"]
