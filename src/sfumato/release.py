"""Release: the table that leaves the house, with what was promised and what was measured."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.arguments import path_of
from sfumato.checks import refuse_hidden
from sfumato.engines.printed import printed
from sfumato.engines.write import FORMATS, atomic_folder, sha256, write_table
from sfumato.errors import BrokenPromise, OutputError, PolicyError, did_you_mean
from sfumato.fingerprint import fingerprint, key
from sfumato.losses import loss_name
from sfumato.measures.reach import Reach, reach_of
from sfumato.measures.verify import Verification, verify_folder
from sfumato.microdata import Microdata, kind_of
from sfumato.policy import Policy
from sfumato.recode.texts import global_labels, texts_of_labels
from sfumato.recode.value_map import ValueMap
from sfumato.report import internal_report as internal_page
from sfumato.report import report
from sfumato.report.headline import brief
from sfumato.report.pdf import pdf_of
from sfumato.report.private import private_report
from sfumato.roles import Roles
from sfumato.search import search_name
from sfumato.search.problem import Levels, Partition, Solution

NAMES = {"csv": "data.csv", "tsv": "data.tsv", "parquet": "data.parquet", "xlsx": "data.xlsx"}


@dataclass(frozen=True, eq=False)
class Release:
    """A table that satisfies its policy, verified from its own rows."""

    data: Any  # the kind of frame that came in
    solution: Solution
    policy: Policy
    verification: Verification
    table: pl.DataFrame  # the released rows, as Polars
    microdata: Microdata
    cell_codes: np.ndarray  # codes of each cell, as in `Cells`
    roles: Roles
    search: Any
    recipes: Mapping[str, str]  # column to a description of its hierarchy
    levels: Mapping[str, tuple[int, int]]
    whole: Mapping[str, Mapping[str, int]] | None  # distributions that may be published
    original: pl.DataFrame
    rows: np.ndarray  # which rows of the original the released ones are, in released order
    seed: int | None = None
    normalised: tuple[str, ...] = ()  # sensitive columns in one spelling per value

    def __repr__(self) -> str:
        verdict = self.solution.verdict
        promises = ", ".join(c.model for c in self.policy.require)
        rows = f"{self.table.height} rows, {verdict.suppressed} suppressed"
        return f"<Release of {rows}, loss {verdict.loss:.4f}, {promises}{brief(self.reach)}>"

    @cached_property
    def reach(self) -> Reach:
        """What the promises do not cover, and what the released rows tell of it: worked out when first asked for."""
        return reach_of(
            self.table,
            roles={name: self.roles.role(name) or "insensitive" for name in self.table.columns},
            quasi=self.policy.quasi,
            promises=[asdict(promise) for promise in self.verification.promises],
            accepted=self.roles.unprotected,
        )

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What is published beside the data; `save` adds the file and its hash. No clock, no duration: the same input
        gives the same bytes."""
        solution, policy = self.solution, self.policy
        verdict = solution.verdict
        role = dict.fromkeys(policy.columns, "quasi") | dict.fromkeys(self.roles.sensitive, "sensitive")
        if self.roles.weight:
            role[self.roles.weight] = "weight"
        known = {a.name: a.kind for a in self.microdata.schema}
        columns = [
            {"name": name, "role": role.get(name, "insensitive"), "kind": known.get(name) or kind_of(dtype)}
            for name, dtype in self.table.schema.items()
        ]
        return {
            "sfumato": version("sfumato"),
            "format": 1,
            "data": {"rows": self.table.height, "columns": columns},
            "policy": {
                "identifying": list(self.roles.identifying),
                "quasi": [list(names) for names in policy.quasi],
                "sensitive": list(self.roles.sensitive),
                "unprotected": list(self.roles.unprotected),
                "insensitive": [c["name"] for c in columns if c["role"] == "insensitive"],
                "require": [{"model": c.model, **c.parameters()} for c in policy.require],
                "suppression": policy.suppression,
                "wildcard": bool(getattr(self.search, "wildcard", False)),
                "loss": {"name": loss_name(policy.loss), **policy.loss.parameters()},
                "search": {"name": search_name(self.search), **_given(self.search)},
                "chosen": None
                if solution.choice is None
                else {"why": solution.choice.why, "runner_up": solution.choice.runner_up},
                "hierarchies": dict(self.recipes),
                "levels": {name: list(bounds) for name, bounds in self.levels.items()},
                **({"normalise": list(self.normalised)} if self.normalised else {}),
            },
            "seed": self.seed,
            "input": {"rows": self.original.height, "fingerprint": fingerprint(self.original, key())},
            "versions": {"python": platform.python_version()}
            | {name: version(name) for name in ("numba", "numpy", "polars")},
            "solution": {
                "recoding": type(solution.recoding).__name__.lower(),
                "levels": solution.levels,
                "optimal": solution.optimal,
                "proven": solution.proven,
                "reproducible": solution.reproducible,
                "suppressed": verdict.suppressed,
                "suppression_limit": policy.limit(self.original.height),
                "loss": verdict.loss,
                "loss_per_attribute": verdict.per_attribute,
            },
            "promises": [asdict(promise) for promise in self.verification.promises],
            "measured": list(self.verification.classes),
            "whole": self.whole,
            "sensitive_hierarchies": self._sensitive_hierarchies(),
        }

    def _sensitive_hierarchies(self) -> dict[str, list[list[str]]]:
        """The paths of the released values of the attributes whose distance runs along a hierarchy."""
        paths = {}
        for criterion in self.policy.require:
            if getattr(criterion, "distance", None) != "hierarchical":
                continue
            for name in criterion.needs:
                ladder = self.microdata.attribute(name).ladder
                text = self.microdata.attribute(name).categories.text
                shown = set(printed(self.table.get_column(name)).to_list()) | set((self.whole or {}).get(name, {}))
                paths[name] = [
                    [ladder.text[level][ladder.of[level, code]] or "" for level in range(ladder.levels)]
                    for code in range(len(text))
                    if (text[code] or "") in shown or (text[code] is None and None in shown)
                ]
        return paths

    def save(
        self,
        path: str | Path,
        format: str = "csv",
        overwrite: bool = False,
        internal_report: str | Path | None = None,
        pdf: bool = False,
    ) -> Path:
        """Write data, manifest.json and report.html into a new folder: all of it, verified from the file, or none.

        `internal_report` is a file outside of the folder, for its owner's eyes: the comparison with the original. With
        `pdf`, each report is printed beside itself, by Chromium.
        """
        if not isinstance(format, str) or format not in FORMATS:
            raise OutputError(
                "unknown output format",
                got=repr(format),
                allowed=", ".join(FORMATS),
                hint=did_you_mean(format, FORMATS),
            )
        target = path_of(path)
        with (
            private_report(internal_report, target, overwrite, pdf) as keep,
            atomic_folder(target, overwrite) as folder,
        ):
            file = folder / NAMES[format]
            write_table(self.table, file, format)
            data = {
                "file": file.name,
                "format": format,
                "sha256": sha256(file),
                "guarded": format in ("csv", "tsv", "xlsx"),
            }
            manifest = self.manifest | {"data": data | self.manifest["data"]}
            (folder / "manifest.json").write_text(
                json.dumps(manifest, ensure_ascii=False, indent=1, allow_nan=False) + "\n", encoding="utf-8"
            )
            page = report(manifest, self.table, self.reach)
            (folder / "report.html").write_text(page, encoding="utf-8")
            if pdf:
                (folder / "report.pdf").write_bytes(pdf_of(page))
            self._verify_written(folder)
            if internal_report is not None:
                trees = {a.name: a.hierarchy for a in self.microdata.schema if a.hierarchy is not None}
                keep(internal_page(manifest, self.table, self.original, rows=self.rows, hierarchies=trees))
        return target

    def _verify_written(self, folder: Path) -> None:
        """The folder must prove its promises alone, as an auditor would have it."""
        found = verify_folder(folder)
        if found.holds:
            return
        if self.whole is None:
            refuse_hidden(self.policy, found)
        broken = [promise for promise in found.promises if not promise.holds]
        raise BrokenPromise(
            "the written release does not keep: "
            + "; ".join(p.model for p in broken)
            + ". Nothing was written; this is a fault of Sfumato"
        )

    def value_map(self) -> ValueMap:
        """The map from value to label of a global recoding. It lists original values: keep it with the original."""
        recoding = self.solution.recoding
        if isinstance(recoding, Partition):
            raise PolicyError(
                "this recoding is not a map from value to label",
                got=f"search {search_name(self.search)}",
                hint='use a full-domain search, such as search="optimal"',
            )
        columns: dict[str, dict[str, str | None]] = {}
        kept = np.flatnonzero(self.solution.kept)
        for i, name in enumerate(self.policy.columns):
            attribute = self.microdata.attribute(name)
            labels = global_labels(attribute, recoding)
            words = texts_of_labels(labels, self.cell_codes[i, kept])
            columns[name] = {(v or ""): words[labels.of[c]] for c, v in enumerate(attribute.categories.text)}
            if isinstance(recoding, Levels) and attribute.hierarchy is not None:  # also values absent from this table
                tree, level = attribute.hierarchy, min(recoding.levels[name], attribute.hierarchy.height)
                named = {v: tree.labels[level][tree.ancestor[level, i]] for i, v in enumerate(tree.labels[0])}
                columns[name] = named | columns[name]
        return ValueMap(columns)


def _given(search: Any) -> dict[str, Any]:
    """The parameters of a search that are set; a search within it by its name and parameters."""
    given = {name: value for name, value in vars(search).items() if value is not None}
    return {
        name: {"name": search_name(value), **_given(value)} if hasattr(value, "guarantee") else value
        for name, value in given.items()
    }
