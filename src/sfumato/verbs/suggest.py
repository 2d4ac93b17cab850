"""The verb `suggest`: a criterion for every sensitive column that nothing protects, and on request its cost."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from sfumato.core.progress import Progress, cancellable
from sfumato.errors import PolicyError
from sfumato.measures.suggestion import Cost, Suggested
from sfumato.measures.table import refuse
from sfumato.release.recoded import Recoded, losses
from sfumato.release.release import Release
from sfumato.verbs import anonymize

__all__ = ["suggest"]


@cancellable
def suggest(release: Any, *, cost: bool = False, progress: Progress | None = None) -> tuple[Suggested, ...]:
    """A criterion for each sensitive column that no criterion of a release looks at.

    It is the weakest of entropy l-diversity, recursive (c,l)-diversity and t-closeness that keeps homogeneity,
    background knowledge, skewness and negative disclosure near guessing, read off the classes of the release: no search
    is made. With `cost` the same search runs once more, with all that is suggested required too, and each has a `cost`:
    loss and suppressed rows before and after, and the success of each attack before, after and by guessing.

    Parameters
    ----------
    release: what `anonymize` gave. cost: whether to search again. progress: called with a message and a share.

    Raises
    ------
    PolicyError: it is no release, or it is out-of-core and the cost is asked for. Infeasible: no recoding
    satisfies what is suggested.

    >>> import sfumato as sf
    >>> table = {"age": [31, 32, 58, 59] * 5, "stroke": ["no", "no", "yes", "no"] * 5}
    >>> release = sf.anonymize(table, quasi=["age"], unprotected=["stroke"], require=sf.KAnonymity(5))
    >>> [one.shell for one in sf.suggest(release)]
    ['entropy-l-diversity stroke 1.02']
    """
    if isinstance(release, Release) and not isinstance(release, Recoded):
        what = "suggest reads a criterion off the classes of a recoding, and a masked table has none"
        raise PolicyError(what, hint="require it where the table is masked, or let anonymize search")
    if not isinstance(release, Recoded):
        raise PolicyError("suggest looks at a release", got=type(release).__name__, hint="pass what anonymize gives")
    found = release.reach.suggested
    if not cost or not found:
        return found
    if not release.in_memory:
        refuse("what a criterion costs")
    again = _again(release, found, progress)
    both = release, again
    told = [loss for one in both if (loss := losses(one.shown, one.policy)[0]) is not None]  # as the release tells it
    before, after = told if len(told) == 2 else [one.solution.verdict.loss for one in both]
    gone = release.solution.verdict.suppressed, again.solution.verdict.suppressed
    return tuple(replace(one, cost=Cost((before, after), gone, _attacks(release, again, one.column))) for one in found)


def _again(release: Recoded, found: tuple[Suggested, ...], progress: Progress | None) -> Recoded:
    """The same release with the suggested criteria required too."""
    roles, policy, asked = release.roles, release.policy, release.request
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # all was told when the release was made
        return anonymize(
            release.original,
            quasi=[list(names) for names in policy.quasi],
            identifying=roles.identifying,
            sensitive=roles.sensitive,
            insensitive=roles.insensitive,
            weight=roles.weight,
            rest="release",  # what is released has been decided on
            normalise=list(asked.normalised),
            ends=policy.ends,
            require=[*policy.require, *(one.criterion for one in found)],
            search=release.search,
            loss=policy.loss,
            suppression=policy.suppression,
            hierarchies=release.hierarchies,
            levels=asked.levels,
            seed=asked.seed,
            progress=progress,
        )


def _attacks(release: Recoded, again: Recoded, column: str) -> dict[str, tuple[float, float, float]]:
    """Each attack on a column: its success before, after, and by guessing; of several sets, the worst."""
    found: dict[str, tuple[float, float, float]] = {}
    for attack in release.reach.attacks:
        name, of = attack["name"], attack["details"].get("column")
        later = [a["success"] for a in again.reach.attacks if (a["name"], a["details"].get("column")) == (name, column)]
        if of == column and later:
            found[name] = max(found.get(name, (0.0, 0.0, 0.0)), (attack["success"], max(later), attack["baseline"]))
    return found
