"""Embeddings: their maps as the papers have them, and searches over their coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from histories import CONDITIONAL
from histories import DOMAINS
from histories import Ledger
from histories import affordable
from histories import make_domain

from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.embeddings.embedding import Embedding
from optuna_hdbo._core.embeddings.inside import KEY
from optuna_hdbo._core.embeddings.inside import inside
from optuna_hdbo._core.maximise.queries import EnsembleQueries
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.baselines.hesbo import HeSBO
from optuna_hdbo.methods.baselines.rembo import REMBO


def test_rembo_clips_a_normal_map() -> None:
    """Algorithm 2 of Wang et al. (2013): x = p_X(A y), y in [-sqrt(d), sqrt(d)]^d."""
    domain = Domain.continuous(400)
    embedding = Embedding.gaussian(domain, 4, key=3)
    A = embedding.matrix
    assert A.mean() == pytest.approx(0.0, abs=0.08)
    assert A.std() == pytest.approx(1.0, abs=0.05)
    U = np.random.default_rng(0).random((5, 4))
    for u, x in zip(U, embedding.points(U), strict=True):
        y = 2.0 * (2.0 * u - 1.0)  # sqrt(4) = 2
        expected = [
            min(1.0, max(-1.0, sum(a * b for a, b in zip(row, y, strict=True)))) for row in A
        ]
        np.testing.assert_allclose(2.0 * x - 1.0, expected, atol=1e-12)
    assert (embedding.points(U) == 0.0).any()
    np.testing.assert_allclose(embedding.units(embedding.coordinates(U)), U)


def test_hesbo_hashes_every_column() -> None:
    """Algorithm 1 of Nayebi et al. (2019): x_i = sigma(i) y_{h(i)}, nothing is clipped."""
    domain = Domain.continuous(600)
    embedding = Embedding.hashed(domain, 3, key=5)
    assert (np.abs(embedding.matrix).sum(axis=1) == 1.0).all()
    shares = np.abs(embedding.matrix).mean(axis=0)
    np.testing.assert_allclose(shares, 1 / 3, atol=0.06)
    assert (embedding.matrix.sum(axis=1) > 0).mean() == pytest.approx(0.5, abs=0.06)
    u = np.array([0.1, 0.7, 1.0])
    y = 2.0 * u - 1.0
    places, signs = np.abs(embedding.matrix).argmax(axis=1), embedding.matrix.sum(axis=1)
    expected = np.array([s * y[h] for h, s in zip(places, signs, strict=True)])
    np.testing.assert_allclose(2.0 * embedding.points(u[None])[0] - 1.0, expected, atol=1e-12)


@pytest.mark.parametrize("draw", [Embedding.gaussian, Embedding.hashed])
def test_columns_keep_their_rows_when_others_come(draw: object) -> None:
    few, many = make_domain(None, None), make_domain(None, None, 5, "3")
    for key in (1, 2):
        rows = draw(many, 2, key).matrix  # type: ignore[operator]
        np.testing.assert_array_equal(rows[:2], draw(few, 2, key).matrix)  # type: ignore[operator]
    assert not np.array_equal(rows, draw(many, 2, 1).matrix)  # type: ignore[operator]


@pytest.mark.parametrize("domain", [*DOMAINS.values(), CONDITIONAL])
def test_points_are_admissible(domain: Domain) -> None:
    X = Embedding.gaussian(domain, 2, 0).points(np.random.default_rng(0).random((20, 2)))
    np.testing.assert_array_equal(X, domain.snap(X))
    assert len(np.unique(X, axis=0)) > 1


def run(method: REMBO | HeSBO, n: int, seed: int = 0, domain: Domain | None = None) -> Ledger:
    ledger = Ledger.started(DOMAINS["mixed"] if domain is None else domain, 2)
    ledger.run(method, n, seed)
    return ledger


def test_the_process_sees_the_coordinates_and_nothing_else() -> None:
    """The query is the plain one of a study over y, without the trials outside of the map."""
    method = HeSBO(d=2, n_init=3)
    ledger = run(method, 5, domain=Domain.continuous(6))
    suggestion = method.suggest(ledger.domain, ledger.seen(), Streams(0))
    U = np.array([record.data[KEY]["u"] for record in ledger.records])
    low = Observations.from_arrays(U, np.array(ledger.values[2:]), records=ledger.records, step=7)
    queries = EnsembleQueries(
        Ensemble("matern52", True, (ALL_MATTER,), name="embedded0"), "log-ei"
    )
    rng = Streams(0).generator("hesbo", 7)
    memory = Memory(low.records)
    u, _ = queries.query(Domain.continuous(2), low, memory, 1.0, rng, ConstraintModels())
    assert suggestion.record is not None
    np.testing.assert_allclose(suggestion.record[KEY]["u"], u, atol=1e-9)


def test_trials_that_were_moved_do_not_count() -> None:
    ledger = run(REMBO(d=2, n_init=9), 4)
    embedding = Embedding.gaussian(ledger.domain, 2, ledger.records[0].data[KEY]["key"])
    key = ledger.records[0].data[KEY]["key"]
    assert len(inside(embedding, ledger.seen(), key, 0).X) == 4
    ledger.X[3] = ledger.domain.sample(np.random.default_rng(5), 1)[0]
    assert inside(embedding, ledger.seen(), key, 0).numbers.tolist() == [2, 4, 5]


def test_a_study_keeps_its_embedding_under_another_seed() -> None:
    ledger = run(REMBO(d=2, n_init=2), 4)
    keys = {record.data[KEY]["key"] for record in ledger.records}
    ledger.run(REMBO(d=2, n_init=2), 2, seed=1)
    assert {record.data[KEY]["key"] for record in ledger.records} == keys
    assert {record.data[KEY]["key"] for record in run(REMBO(d=2), 2, seed=1).records} != keys


def test_embeddings_take_turns() -> None:
    """Interleaved REMBO: every embedding has its own points, and its own process."""
    ledger = run(REMBO(d=2, n_init=2, n_embeddings=3), 9)
    parts = [record.data[KEY]["part"] for record in ledger.records]
    assert parts == [2, 0, 1] * 3
    fits = {key for record in ledger.records for key in record.data if key != KEY}
    assert fits == {f"embedded{part}:inverse-square" for part in range(3)}


def test_running_trials_are_pending_in_the_embedding() -> None:
    ledger = run(HeSBO(d=2, n_init=1), 3)
    suggestion = HeSBO(d=2, n_init=1).suggest(ledger.domain, ledger.seen(), Streams(0))
    ledger.keep(suggestion, "running")
    seen = ledger.seen(pending=[suggestion.x])
    key = ledger.records[0].data[KEY]["key"]
    low = inside(Embedding.hashed(ledger.domain, 2, key), seen, key, 0)
    assert suggestion.record is not None
    assert low.pending.tolist() == [suggestion.record[KEY]["u"]]


def test_an_optimum_over_few_of_many_columns_is_found() -> None:
    domain = Domain.continuous(40)
    key = int(Streams(0).generator("hesbo:embedding", 0).integers(2**31))
    first, second, *_ = np.abs(Embedding.hashed(domain, 5, key).matrix).argmax(axis=1)
    assert first != second  # else the embedding has no optimum of these two columns
    ledger = Ledger.started(domain, 1, lambda x: -float((x[0] - 0.7) ** 2 + (x[1] - 0.4) ** 2))
    ledger.run(HeSBO(d=5, n_init=5), affordable(25, 8))
    assert max(ledger.values) > affordable(-1e-3, -0.3)
