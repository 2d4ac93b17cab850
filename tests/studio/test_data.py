"""The page of data: columns and rows as numbers and texts, uploads, and files that are none."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sqlite3
import stat
import threading
import zipfile
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from sfumato.errors import OutputError, PolicyError, ReadError, SfumatoError
from sfumato.studio import uploads
from sfumato.studio.context import PageContext
from sfumato.studio.project import create
from sfumato.studio.server import Studio
from sfumato.studio.table_watch import files_of, seen
from sfumato.studio.tasks import data, roles
from sfumato.studio.texts import Texts
from sfumato.studio.uploads import receive, safe_name
from sfumato.studio.views.data import input_of
from sfumato.studio.views.roles import role_of, with_role
from tests.postgres import run

SECRET = "Kaltenbrunn"
MARKUP = "<img src=x onerror=alert(1)>"


def quiet(message, share=None):
    pass


def asked(folder, name, **options):
    return {"tables": {"input": {"path": name, **options}}, "folder": str(folder)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("data")
    pl.DataFrame(
        {MARKUP: ["a", "a", "b", None], "age": [20, 30, 30, 44], "born": ["2001-02-03", "1999-01-01", "", "1970-05-06"]}
    ).write_csv(found / "t.csv")
    return found


def test_columns_are_described_by_plain_numbers(folder):
    text, age, born = data.columns(asked(folder, "t.csv"), [MARKUP, "age", "born"], quiet)
    assert text == {
        "name": MARKUP,
        "kind": "text",
        "distinct": 2,
        "missing": 1,
        "bars": [2, 1],
        "low": "a",
        "high": "b",
    }
    assert (age["kind"], age["distinct"], age["low"], age["high"]) == ("integer", 3, "20", "44")
    assert age["bars"] == [1, 2, 1]  # 20 to 28, to 36, to 44
    assert (born["kind"], born["missing"], sum(born["bars"])) == ("date", 1, 3)


def test_rows_come_page_by_page_and_never_too_many(folder, tmp_path):
    found = data.page(asked(folder, "t.csv"), [MARKUP, "age"], 2, 50, quiet)
    assert found == {"rows": [["b", "30"], [None, "44"]], "of": 4}
    pl.DataFrame({"n": range(2000)}).write_csv(tmp_path / "long.csv")
    assert len(data.page(asked(tmp_path, "long.csv"), ["n"], 0, 10_000, quiet)["rows"]) == 500


def test_a_table_of_many_columns_is_described_some_at_a_time(tmp_path):
    names = [f"c{i}" for i in range(5000)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    assert len(data.summary(asked(tmp_path, "wide.csv"), quiet)["columns"]) == 5000
    assert [one["name"] for one in data.columns(asked(tmp_path, "wide.csv"), names[4990:], quiet)] == names[4990:]


def test_a_streamed_table_is_shown_by_a_sample(tmp_path, monkeypatch):
    pl.DataFrame({"n": range(3000)}).write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr("sfumato.studio.tasks.table.SAMPLE", 800)
    found = data.summary(asked(tmp_path, "t.parquet", stream=True), quiet)
    assert (found["rows"], found["sampled"]) == (3000, 800)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.csv", b"", "empty"),
        ("spaces.csv", b"\n \n", "empty"),
        ("binary.csv", bytes(range(256)) * 9, "null byte"),
        ("binary.xlsx", bytes(range(256)) * 9, "not an Excel file"),
        ("binary.parquet", bytes(range(256)) * 9, "not a Parquet file"),
        ("twice.csv", f"age,age\n1,{SECRET}\n".encode(), "names a column twice"),
        ("mixed.csv", f"a,b\n{SECRET},é\n".encode() + f"{SECRET},é\n".encode("latin-1"), "not valid UTF-8"),
        ("ragged.csv", f"a,b\n1,2\n{SECRET},4,5,6\n".encode(), "ragged.csv"),
        ("table.exe", b"MZ", "ending"),
        ("gone.csv", None, "does not exist"),
    ],
)
def test_bad_files_have_a_sentence_without_a_value(tmp_path, name, content, says):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SfumatoError) as refused:
        data.summary(asked(tmp_path, name), quiet)
    assert says in str(refused.value)
    assert SECRET not in str(refused.value)


def test_formulas_are_read_as_their_values(tmp_path):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "f.xlsx") as book:
        sheet = book.add_worksheet("one")
        sheet.write_row(0, 0, ["a", "b"])
        sheet.write_row(1, 0, [1, 2])
        sheet.write_formula(2, 0, "=A2+1", None, 2)
        sheet.write_formula(2, 1, '=HYPERLINK("http://evil.example")', None, "=cmd()")
    found = data.page(asked(tmp_path, "f.xlsx"), ["a", "b"], 0, 9, quiet)
    assert found["rows"] == [["1", "2"], ["2", "=cmd()"]]
    assert data.dialect(asked(tmp_path, "f.xlsx"), quiet) == {"sheets": ["one"]}


def test_how_a_file_is_written_is_told(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1;2\n3;4\n")
    found = data.dialect(asked(tmp_path, "t.csv"), quiet)
    assert (found["separator"], found["encoding"], found["header"], found["skip"]) == (";", "utf-8", True, 0)
    assert data.dialect(asked(tmp_path, "t.parquet"), quiet) == {}


def test_tables_of_a_database_are_listed_and_passwords_refused(tmp_path):
    with sqlite3.connect(tmp_path / "x.sqlite") as db:
        db.execute("CREATE TABLE people (age INT)")
        db.execute("CREATE VIEW grown AS SELECT * FROM people WHERE age > 17")
    assert data.tables("x.sqlite", str(tmp_path), quiet) == ["grown", "people"]
    with pytest.raises(PolicyError, match="must not hold a password"):
        data.tables("postgresql://ann:sesame@host/db", str(tmp_path), quiet)
    with pytest.raises(ReadError, match="is no file"):
        data.tables("none.sqlite", str(tmp_path), quiet)


def sent(*chunks):
    async def stream():
        for chunk in chunks:
            yield chunk

    return stream()


def test_an_upload_is_written_into_the_private_folder(tmp_path):
    project = create(tmp_path, "p")
    path = asyncio.run(receive(project.folder, "../../Röntgen <b>.csv", sent(b"a,b\n", b"1,2\n")))
    assert path == "private/uploads/Röntgen b.csv"
    assert (project.folder / path).read_bytes() == b"a,b\n1,2\n"
    assert stat.S_IMODE((project.folder / path).stat().st_mode) == 0o600
    again = asyncio.run(receive(project.folder, "Röntgen b.csv", sent(b"c\n3\n")))
    assert again == "private/uploads/Röntgen b 2.csv"
    assert (project.folder / path).read_bytes() == b"a,b\n1,2\n"


@pytest.mark.parametrize("name", ["", "..", "/etc/passwd", "a.exe", ".csv", "a.csv.exe", "project.sqlite", "x\0.sh"])
def test_names_of_uploads_lead_nowhere(name):
    with pytest.raises(ReadError, match="names no table"):
        safe_name(name)


def test_too_much_is_refused_and_nothing_stays(tmp_path, monkeypatch):
    project = create(tmp_path, "p")
    monkeypatch.setattr(uploads, "LARGEST", 10)
    with pytest.raises(OutputError, match="name their path, and they are read where they lie"):
        asyncio.run(receive(project.folder, "a.csv", sent(b"12345", b"123456")))
    with pytest.raises(OutputError, match="read where they lie"):
        asyncio.run(receive(project.folder, "a.csv", sent(), said=11))
    with pytest.raises(ReadError, match="empty"):
        asyncio.run(receive(project.folder, "a.csv", sent()))

    async def broken():
        yield b"123"
        raise RuntimeError("the browser was closed")

    with pytest.raises(RuntimeError):
        asyncio.run(receive(project.folder, "a.csv", broken()))
    assert list((project.folder / "private" / "uploads").iterdir()) == []


def test_a_disk_that_fills_is_told(disk):
    project = create(disk("600k"), "p")
    with pytest.raises(OutputError, match="the disk is full"):
        asyncio.run(receive(project.folder, "a.csv", sent(*[b"1" * 100_000] * 12)))
    assert list((project.folder / "private" / "uploads").iterdir()) == []


@pytest.mark.postgres
def test_a_table_of_postgresql_and_one_that_is_gone(postgres, tmp_path):
    run(
        postgres,
        "DROP TABLE IF EXISTS people; CREATE TABLE people AS SELECT g % 50 AS age FROM generate_series(1, 200) g",
    )
    assert "people" in data.tables(postgres, str(tmp_path), quiet)
    there = asked(tmp_path, postgres, table="people")
    found = data.summary(there, quiet)
    assert (found["rows"], found["columns"], found["sampled"]) == (200, [{"name": "age"}], None)
    assert data.columns(there, ["age"], quiet)[0]["distinct"] == 50
    with pytest.raises(ReadError, match='no table "persons"'):
        data.summary(asked(tmp_path, postgres, table="persons"), quiet)
    nobody = re.sub(r":[0-9]+/", ":1/", postgres)
    with pytest.raises(ReadError, match="cannot be reached"):
        data.summary(asked(tmp_path, nobody, table="people"), quiet)


class Wire:
    """Between a client and a server on this machine, until it is cut, after so many bytes of answers."""

    def __init__(self, port, after):
        self.to, self.left, self.ends = port, after, []
        self.server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with suppress(OSError):
            while True:
                ends = self.server.accept()[0], socket.create_connection(("127.0.0.1", self.to))
                self.ends += ends
                threading.Thread(target=self.carry, args=(*ends, False), daemon=True).start()
                threading.Thread(target=self.carry, args=(*ends[::-1], True), daemon=True).start()

    def carry(self, come, go, answers):
        with suppress(OSError):
            while chunk := come.recv(1 << 16):
                self.left -= len(chunk) if answers else 0
                if self.left < 0:
                    self.cut()
                go.sendall(chunk)

    def cut(self):
        for end in (self.server, *self.ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.mark.postgres
@pytest.mark.parametrize("after", [2_000, 1_000_000])  # while it is looked at, and half-way through the rows
def test_a_database_that_stops_is_told(postgres, tmp_path, monkeypatch, after):
    rows = f"SELECT g AS n, '{SECRET}' || g AS name FROM generate_series(1, 90000) g"
    run(postgres, f"CREATE TABLE IF NOT EXISTS halves AS {rows}")
    password = Path(os.environ["PGPASSFILE"]).read_text().strip().rpartition(":")[2]
    monkeypatch.setenv("PGPASSWORD", password)  # the file is for one port
    port = int(re.search(r":([0-9]+)/", postgres)[1])
    wire = Wire(port, after)
    there = asked(tmp_path, postgres.replace(f":{port}/", f":{wire.server.getsockname()[1]}/"), table="halves")
    for _ in range(2):
        with pytest.raises(ReadError, match=r"cannot be (opened|reached)|the connection is lost") as refused:
            data.summary(there, quiet)
        assert SECRET not in str(refused.value)


def test_users_of_a_shared_studio_name_no_files_of_its_machine(tmp_path):
    project = create(tmp_path / "ann", "p")
    shared = PageContext(Studio(tmp_path, None, ("ann", "ben")), "ann", Texts("en"), project)
    alone = PageContext(Studio(tmp_path, None), "", Texts("en"), project)
    shared.refuse_paths({"input": {"path": "private/uploads/a.csv"}}, project.folder)
    for path in ("/etc/passwd", "../../ben/q/private/uploads/a.csv", "postgresql://host/db"):
        with pytest.raises(PolicyError, match="whoever runs it"):
            shared.refuse_paths({"input": {"path": path}}, project.folder)
        alone.refuse_paths({"input": {"path": path}}, project.folder)
    # a database that was uploaded as something else may have a view that reads the files of others
    with pytest.raises(PolicyError, match="whoever runs it"):
        shared.refuse_paths({"input": {"path": "private/uploads/a.csv", "table": "view"}}, project.folder)


def test_a_large_file_is_read_where_it_lies(tmp_path):
    for name, size, streamed in (
        ("a.csv", 200_000_001, True),
        ("b.csv", 200_000_000, False),
        ("c.xlsx", 1 << 30, False),
    ):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)  # a hole: no bytes are written
        assert input_of(name, tmp_path) == {"path": name, **({"stream": True} if streamed else {})}
    assert input_of("gone.csv", tmp_path) == {"path": "gone.csv"}


def test_files_of_a_table_are_watched(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    policy = {"input": {"path": ["a.csv", "gone.csv"]}}
    (_, size, _), (_, gone, _) = seen(files_of(policy, tmp_path))
    assert (size, gone) == (4, None)
    assert files_of({"input": {"path": "postgresql://h/d", "table": "t"}}, tmp_path) == []
    assert files_of({"input": {"path": "parts/*.csv"}}, tmp_path) == []


@pytest.mark.parametrize("name", ["a\0b.csv", "x" * 5_000 + ".csv"])
def test_a_path_that_no_system_takes_is_told(tmp_path, name):
    with pytest.raises(OutputError, match="this is no path"):
        data.summary(asked(tmp_path, name), quiet)
    assert seen([tmp_path / name]) == [[str(tmp_path / name), None, None]]


@pytest.mark.slow
def test_a_workbook_made_to_fill_memory_is_refused(tmp_path):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "small.xlsx") as book:
        book.add_worksheet("one").write(0, 0, "a")
    with zipfile.ZipFile(tmp_path / "small.xlsx") as small, zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", 8) as bomb:
        for part in small.namelist():
            with bomb.open(part, "w") as file:
                file.write(small.read(part))
                for _ in range(300 if part.endswith("sheet1.xml") else 0):
                    file.write(b" " * 1_000_000)
    assert (tmp_path / "bomb.xlsx").stat().st_size < 1_000_000
    for task in (data.summary, data.dialect):
        with pytest.raises(ReadError, match=r"unpacks to 0\.3 GB"):
            task(asked(tmp_path, "bomb.xlsx"), quiet)


def test_columns_are_inspected_once_whatever_roles_are_given(folder, monkeypatch):
    from sfumato.verbs import inspect

    calls, real = [], inspect.inspect
    monkeypatch.setattr(inspect, "inspect", lambda frame: calls.append(1) or real(frame))
    first = roles.inspected(asked(folder, "t.csv"), quiet)
    given = asked(folder, "t.csv")
    given["tables"] |= {"roles": {"quasi": ["age"]}}
    assert roles.inspected(given, quiet) == first
    assert [one["name"] for one in first["columns"]] == [MARKUP, "age", "born"]
    assert len(calls) == 1


def test_a_role_of_one_column_is_taken_from_another():
    policy = {"roles": {"quasi": ["age"], "person": "name", "weight": "w"}}
    assert [role_of(policy, name) for name in ("age", "name", "w", "town")] == ["quasi", "person", "weight", None]
    changed = with_role(policy, "age", "person")
    assert changed == {"roles": {"person": "age", "weight": "w"}}
    assert [role_of(with_role(changed, "age", "household"), name) for name in ("age", "name")] == ["household", None]
