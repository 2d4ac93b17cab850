"""Policies of a service: every fault at once, with its place; and no secret in a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.errors import PolicyError
from sfumato.service.policy import read_policy
from sfumato.service.secret import hash_password, is_password, new_api_key, password_fault
from tests.service.running import PASSWORD, PASSWORD_HASH, write

FAULTY = """
[service]
address = "0.0.0.0"
certificate = "absent.pem"
ticks = 5

[datasets.patients]
bounds.age = [120, 0]
keys.age = ["a"]
epsilon = 0
delta = 0.5
public_rows = 10
accounting = "advanced"

[datasets."a b"]
path = "postgresql://host/db"
epsilon = 1
rows_per_person = 3

[users.ann]
role = "boss"
key = "not a hash"

[users.bob]
role = "analyst"

[users.otto]
role = "auditor"
password = "hunter2hunter2"

[[grants]]
user = "otto"
dataset = "pateints"
epsilon = 1
queries = ["meann"]

[[grants]]
user = "bob"
dataset = "a b"
epsilon = -1

[extra]
"""
SAID = [
    'unknown table "extra"',
    'unknown key "ticks"; did you mean "tick"?',
    "path is missing",
    "accounting must be 'plain' or 'zcdp'",
    "a name is of letters",
    "role must be 'owner', 'analyst' or 'auditor'",
    "key must be the hash of a key",
    "table is missing: which table of the database",
    "rows_per_person and groups are of persons",
    "has neither a key nor a password",
    "password is no hash of a password",
    'there is no dataset "pateints"',
    "an auditor asks nothing",
    'unknown query "meann"; did you mean',
    "epsilon is out of range",
]


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(FAULTY)
    with pytest.raises(PolicyError) as found:
        read_policy(tmp_path / "p.toml")
    for said in SAID:
        assert any(said in fault for fault in found.value.faults), (said, found.value.faults)
    assert "(line 5)" in next(fault for fault in found.value.faults if "ticks" in fault)
    assert "hunter2" not in str(found.value)
    assert "not a hash" not in str(found.value)


@pytest.mark.parametrize(
    ("service", "says"),
    [
        ('address = "0.0.0.0"', "needs TLS"),
        ('certificate = "data.csv"', "both certificate and private_key"),
        ('certificate = "no.pem"\nprivate_key = "no.key"', "there is no such file"),
        ("port = 70000", "less than or equal to 65535"),
    ],
)
def test_addresses_and_tls(tmp_path: Path, service: str, says: str) -> None:
    path = write(tmp_path, service=service.replace("port = 70000", ""))
    if "port" in service:
        path.write_text(path.read_text().replace("port = 0", service))
    with pytest.raises(PolicyError, match=says):
        read_policy(path)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("until = 2020-01-01", 'until = "soon"', "until must be a date"),
        ("bounds.age = [0, 120]", "bounds.age = [120, 0]", "a least number and a greater one"),
        ("bounds.age = [0, 120]", "bounds.sex = [0, 120]", "both bounds and keys"),
        ("epsilon = 100", "epsilon = nan", "must be a number"),
        ("i_know = true", 'i_know = true\nreading.decimal = "comma"', "each cell is read by itself"),
        ('user = "slow"', 'user = "ann"', "have a grant before"),
        ("i_know = true", "i_know = true\ndelta = 0.1\npublic_rows = 100", "far below 1 over public_rows"),
        ("i_know = true", 'i_know = true\naccounting = "zcdp"', "needs a delta"),
        ('dataset = "gone"', 'dataset = "gone"\npurpose = "a\\tb"', "purpose must be a text"),
    ],
)
def test_one_fault(tmp_path: Path, before: str, after: str, says: str) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text().replace(before, after, 1))
    with pytest.raises(PolicyError, match=says):
        read_policy(path)


def test_a_policy_without_faults(tmp_path: Path) -> None:
    found = read_policy(write(tmp_path))
    assert [grant.user for grant in found.grants] == ["ann", "bob", "eve", "slow", "pam"]
    assert found.ledger("patients") == tmp_path / "service" / "patients.sqlite"
    assert found.users["ann"].key[0] not in repr(found)
    assert PASSWORD_HASH not in repr(found)


def test_one_key_is_of_one_user(tmp_path: Path) -> None:
    path = write(tmp_path)
    ann = read_policy(path).users["ann"].key[0]
    path.write_text(path.read_text().replace(f'"{ann}"', f'["{ann}", "{ann}"]'))
    assert read_policy(path).users["ann"].key == [ann, ann]  # while keys are rotated there are two
    bob = read_policy(path).users["bob"].key[0]
    path.write_text(path.read_text().replace(bob, ann))
    with pytest.raises(PolicyError, match='has the key of "ann"'):
        read_policy(path)


def test_keys_and_passwords() -> None:
    assert len({new_api_key() for _ in range(100)}) == 100
    assert len(new_api_key()) == len("sfk_") + 43
    assert is_password(PASSWORD, PASSWORD_HASH)
    assert not is_password(PASSWORD + "x", PASSWORD_HASH)
    assert not is_password(PASSWORD, "plain")
    assert hash_password(PASSWORD) != PASSWORD_HASH  # each has its salt
    assert password_fault(PASSWORD_HASH) is None
    assert "too weak" in str(password_fault(PASSWORD_HASH.replace("scrypt:32768", "scrypt:1024")))
