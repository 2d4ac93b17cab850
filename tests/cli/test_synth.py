"""sfumato synth: by flags, by a policy file, with all its faults at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

FLAGS = ("--identifying", "name", "--generator", "bootstrap", "--copies", "keep", "--seed", "3")
POLICY = """
[input]
path = "data.csv"
[roles]
identifying = ["name"]
quasi = ["age"]
[[require]]
model = "k-anonymity"
k = 2
[synthesis]
generator = { name = "bootstrap" }
rows = 90
copies = "keep"
hold_out = 0
[search]
seed = 3
[output]
path = "out"
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = range(60)
    table = {"name": [f"Ann {i}" for i in rows], "age": [20 + i % 7 for i in rows], "ill": ["no", "no", "yes"] * 20}
    pl.DataFrame(table).write_csv(tmp_path / "data.csv")
    return tmp_path


def test_flags_draw_and_verify(data: Path, run: Any) -> None:
    done = run("synth", "data.csv", *FLAGS, "--rows", "70", "-o", "out")
    assert done.code == 0, done.err
    assert "70 rows made of 54 of 60, by bootstrap: rows of the table, drawn with replacement" in done.out
    assert "nothing is promised of the people in it" in done.out
    assert "Synthetic is not anonymous" in done.out
    made = pl.read_csv(data / "out" / "data.csv")
    assert made.shape == (70, 2)
    assert run("verify", "out", "--original", "data.csv").code == 0
    (data / "out" / "data.csv").write_text("age,ill\n1,no\n", "utf-8")
    done = run("verify", "out")
    assert done.code == 1
    assert "1 row: the data are not those that the manifest describes" in done.out
    assert run("report", "out", "-o", "report.html").out.startswith("70 rows: the data are not those")
    page = (data / "report.html").read_text("utf-8")
    assert "and the data are not those that the manifest describes" in page
    assert "The data are not those that the manifest describes: what remains is not bounded." in page
    assert "romise does not hold" not in page


def test_it_says_what_the_rows_are(data: Path, run: Any) -> None:
    told = run("synth", "data.csv", "--identifying", "name", "--generator", "sequential-trees leaf=9", "-o", "all").out
    assert "60 rows drawn from a model of 54 of 60, by sequential-trees: each column in turn" in told
    assert "no row is a person's row." in told
    assert "No row repeats a row that stands alone in the original" in told
    none = ("--hold-out", "0", "--copies", "drop", "-o", "none")  # which does not publish how many rows there were
    told = run("synth", "data.csv", "--identifying", "name", "--generator", "gaussian-copula", *none).out
    assert "rows drawn from a model of 60, by" in told
    partly = ("synth", "data.csv", "--identifying", "name", "--generator", "sequential-trees ill", "-o", "some")
    assert "1 column has no role" in run(*partly).err
    told = run(*partly, "--rest", "release").out
    assert "60 rows made of 60, by sequential-trees: the columns ill" in told
    assert "The rows of this table are those of people" in told


def test_copies_are_drawn_again_and_that_is_checked(data: Path, run: Any) -> None:
    done = run("synth", "data.csv", *FLAGS[:4], "--seed", "3", "-o", "out", "--m", "2")
    assert done.code == 0, done.err
    assert "120 rows in 2 copies" in done.out
    assert "not checked" not in run("verify", "out", "--original", "data.csv").out
    table = pl.read_csv(data / "out" / "data.csv").drop("copy").unique()
    table.write_csv(data / "other.csv")  # in which every released row stands alone
    done = run("verify", "out", "--original", "other.csv")
    assert done.code == 1
    assert "NOT SO" in done.out


def test_a_policy_file_draws_and_promises_the_same_as_flags(data: Path, run: Any) -> None:
    (data / "p.toml").write_text(POLICY, "utf-8")
    done = run("synth", "p.toml", "--json")
    assert done.code == 0, done.err
    assert (done.json["outcome"], done.json["rows"], done.json["seed"]) == ("holds", 90, 3)
    asked = {"copies": "keep", "m": 1, "hold_out": 0.0, "partial": False, "copies_people": True, "mixes_people": False}
    assert done.json["synthesis"] == asked
    again = ("--rows", "90", "--hold-out", "0", "--quasi", "age", "--k", "2", "-o", "again")
    assert run("synth", "data.csv", *FLAGS, *again).code == 0
    assert (data / "again" / "data.csv").read_bytes() == (data / "out" / "data.csv").read_bytes()
    done = run("synth", "p.toml", "--rows", "80", "-o", "fewer", "--json")
    assert done.json["rows"] == 80


def test_all_faults_of_a_file_at_once_with_their_lines(data: Path, run: Any) -> None:
    bad = (
        POLICY.replace('"bootstrap"', '"bootstrapp"')
        .replace("rows = 90", "rows = 0")
        .replace("0\n[search]", "1\n[search]")
    )
    bad = bad.replace('quasi = ["age"]', 'quasi = ["age"]\nweight = "ill"').replace('copies = "keep"', 'copy = "keep"')
    (data / "p.toml").write_text(bad + '[[mask]]\nstep = "rounding"\n', "utf-8")
    done = run("synth", "p.toml")
    assert done.code == 2
    for fault in (
        '[synthesis] generator (line 12): unknown generator "bootstrapp"; did you mean "bootstrap"?',
        "[synthesis] rows (line 13): must be greater than or equal to 1; got 0",
        '[synthesis] copy (line 14): unknown key "copy"; did you mean "copies"?',
        "[synthesis] hold_out (line 15): must be less than or equal to 0.9; got 1",
        "[roles] weight (line 7): a synthetic table draws weights",
        "[[mask]] (line 20): steps change the rows of a table",
    ):
        assert fault in done.err, done.err
    assert not (data / "out").exists()


@pytest.mark.parametrize("command", ["anonymize", "mask"])
def test_other_commands_say_which_one_draws(data: Path, run: Any, command: str) -> None:
    (data / "p.toml").write_text(POLICY, "utf-8")
    done = run(command, "p.toml")
    assert done.code == 2
    assert "[synthesis] (line 10): is of a table that is drawn from a model; sfumato synth draws it" in done.err


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--generator", "bootstrap leaf=3"), '--generator: unknown key "leaf"; bootstrap takes no parameters'),
        (("--generator", "nothing"), '--generator: unknown generator "nothing"'),
        (("--generator", ""), "--generator: a generator is empty"),
        (("--rows", "0"), "--rows: must be greater"),
        (("--copies", "burn"), "--copies: must be"),
        (("--hold-out", "1"), "--hold-out: must be less"),
        (("--m", "0"), "--m: must be greater"),
        ((), '"name"'),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_told_by_its_flag(data: Path, run: Any, flags: tuple[str, ...], says: str) -> None:
    role = ("--identifying", "name") if flags else ()
    done = run("synth", "data.csv", *role, *flags, "-o", "out")
    assert done.code == 2
    assert says in done.err
    assert not (data / "out").exists()


def test_a_file_that_is_streamed_is_drawn_from_a_sample_or_counts(data: Path, run: Any) -> None:
    asked = ("synth", "data.csv", "--stream", "--identifying", "name", "--seed", "3")
    done = run(*asked, "--generator", "bootstrap", "--sample", "50", "--hold-out", "0", "--rows", "70", "-o", "out")
    assert done.code == 0, done.err
    assert "70 rows made of 50 of 60, by bootstrap" in done.out
    assert run("verify", "out", "--original", "data.csv").code == 0
    done = run(*asked, "--generator", "bayes", "--copies", "keep", "-o", "counted", "--json")
    assert done.json["synthesis"]["fitted_to"] == "counts"
    assert done.json["rows"] == 60
    wrong = run("synth", "data.csv", "--identifying", "name", "--sample", "50", "-o", "other")
    assert wrong.code == 2
    assert "is in memory" in wrong.err


def test_households_are_drawn_by_flags_and_by_a_policy_file(tmp_path: Path, run: Any) -> None:
    homes = [(f"h{i}", role, 30 + i % 9 - 25 * (role == "child")) for i in range(60) for role in ("head", "child")]
    pl.DataFrame(homes, ["home", "role", "age"], orient="row").write_csv(tmp_path / "people.csv")
    asked = ("--seed", "3", "--copies", "keep", "-o", "out", "--json")
    done = run("synth", "people.csv", "--generator", "linked-tables household=home leaf=10", *asked)
    assert done.code == 0, done.err
    assert done.json["synthesis"]["unit"] == "home"
    made = pl.read_csv(tmp_path / "out" / "data.csv")
    assert (made.group_by("home").len()["len"] == 2).all()
    policy = POLICY.split("[roles]")[0].replace("data.csv", "people.csv") + (
        '[synthesis]\ngenerator = { name = "linked-tables", household = "home", leaf = 10 }\ncopies = "keep"\n'
    )
    (tmp_path / "p.toml").write_text(policy, "utf-8")
    done = run("synth", "p.toml", "--seed", "3", "-o", "again")
    assert done.code == 0, done.err
    assert (tmp_path / "again" / "data.csv").read_bytes() == (tmp_path / "out" / "data.csv").read_bytes()
    for generator, says in (("linked-tables", "column of households"), ("linked-tables household=hom", '"home"?')):
        wrong = run("synth", "people.csv", "--generator", generator, "-o", "none")
        assert wrong.code == 2
        assert says in wrong.err


PRIVATE = (
    "--identifying",
    "name",
    "--bounds",
    "age=0:20:22:24:120",
    "--keys",
    "ill=no,yes",
    "--generator",
    "mst epsilon=1",
)


@pytest.mark.slow
def test_a_private_table_is_drawn_and_charged(data: Path, run: Any) -> None:
    ledger = ("--ledger", "ledger.sqlite", "--budget", "2", "--budget-delta", "1e-6")
    done = run("synth", "data.csv", *PRIVATE, *ledger, "-o", "out")
    assert done.code == 0, done.err
    assert "rows drawn from a model of noisy counts, by mst" in done.out
    assert "by construction  differential-privacy (epsilon=1, delta=0.000000001)" in done.out
    assert "60" not in done.out.replace("60 rows drawn", "")
    assert "nothing is promised" not in done.out
    assert "cannot be proven from the rows" in run("verify", "out").out
    assert run("synth", "data.csv", *PRIVATE, *ledger, "-o", "again").code == 0
    spent = run("synth", "data.csv", *PRIVATE, *ledger, "-o", "third")
    assert spent.code != 0
    assert not (data / "third").exists()
    assert "--ledger and --budget are given together" in run("synth", "data.csv", *PRIVATE, "--budget", "1").err
    lacking = run("synth", "data.csv", "--identifying", "name", "--generator", "mst epsilon=1", "-o", "no")
    assert '"age", "ill" have no public domain' in lacking.err
    assert "--bounds age=LEAST:GREATEST of numbers and dates, --keys age=a,b of others" in lacking.err


@pytest.mark.slow
def test_a_policy_file_draws_a_private_table(data: Path, run: Any) -> None:
    own = 'generator = { name = "mst", epsilon = 1, bounds = { age = [0, 120] }, keys = { ill = ["no", "yes"] } }'
    policy = POLICY.replace('generator = { name = "bootstrap" }', own).replace('copies = "keep"\n', "")
    policy = policy.replace('[[require]]\nmodel = "k-anonymity"\nk = 2\n', "").replace("rows = 90\n", "")
    account = 'account = { ledger = "ledger.sqlite", epsilon = 1, delta = 1e-9, dataset = "survey" }\n'
    (data / "policy.toml").write_text(policy.replace("hold_out = 0\n", account), "utf-8")
    done = run("synth", "policy.toml")
    assert done.code == 0, done.err
    assert (data / "ledger.sqlite").exists()
    assert run("synth", "policy.toml", "-o", "again").code != 0  # the budget is spent
    (data / "policy.toml").write_text(policy.replace("hold_out = 0\n", "account = { epsilon = 1 }\n"), "utf-8")
    assert "account is a table such as" in run("synth", "policy.toml").err
