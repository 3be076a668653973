"""The bars that compare: medians of one run over each other, and a bar that could not be measured is missed."""

from bench.figures import Figure
from bench.peers.driver import OURS, OURS_WORDS, SYSTEMS, VERAMEM, VEREL, PeerError, error_figure
from bench.peers.latency import ratios
from bench.quality import Tally, gold_of
from bench.scale import Owner
from bench.scale import ratios as scale_ratios


def measured(**medians: float) -> dict:
    """Times of every compared system at both sizes, around the given medians."""
    keys = {
        (system, size): medians.get(f"{name}_{size}", 100.0)
        for name, system in (("ours", OURS), ("words", OURS_WORDS), ("verel", VEREL), ("veramem", VERAMEM))
        for size in (10_000, 50_000)
    }
    return {key: [value / 2, value, value * 9] for key, value in keys.items()}


def test_a_ratio_is_our_median_over_the_peers_median():
    times = measured(ours_10000=150.0, verel_10000=100.0)
    found = {figure.name: figure for figure in ratios(times, times)}
    figure = found["search, 10,000 rows: words and meaning, over Verel 1.13.0"]
    assert (figure.value, figure.limit, figure.met) == (1.5, 1.5, True)


def test_both_of_our_modes_are_held_against_every_bar():
    found = list(ratios(measured(), measured()))
    assert len(found) == 8
    assert sum("words and meaning" in figure.name for figure in found) == 4
    assert all(figure.limit is not None for figure in found)


def test_growth_is_our_larger_size_over_our_smaller_one():
    times = measured(ours_10000=10.0, ours_50000=51.0)
    figure = next(figure for figure in ratios(times, times) if figure.name.startswith("search: words and meaning"))
    assert (figure.value, figure.met) == (5.1, False)


def test_a_peer_that_is_missing_misses_its_bar():
    times = {key: values for key, values in measured().items() if key[0] != VERAMEM}
    figure = next(figure for figure in ratios(times, times) if "VeraMem" in figure.name)
    assert figure.met is False
    assert figure.note == "could not be measured"


def test_a_system_that_failed_is_a_missed_line_and_never_silent():
    figure = error_figure("p", VERAMEM, PeerError("veramem could not be installed"))
    assert figure.met is False
    assert "could not be installed" in figure.note


def test_every_system_has_a_title_of_its_own():
    assert len({system.title for system in SYSTEMS}) == len(SYSTEMS)


def test_the_store_around_an_owner_and_the_rows_of_an_owner_have_bars():
    small = Owner("", "tenth", 1_000, "a store of 10,000 rows")
    beside = Owner("", "small", 1_000, "a store of 1,000,000 rows")
    large = Owner("", "tenth", 100_000, "a store of 1,000,000 rows")
    crowd = Owner("", "small", 1_000, "a store of 20,001 owners")
    found = list(scale_ratios({small: 2.0, beside: 3.0, large: 90.0, crowd: 2.2}))
    assert [(figure.value, figure.met) for figure in found] == [(1.5, True), (1.1, True), (45.0, False)]


def test_recall_ndcg_and_mrr_of_a_known_ranking():
    tally = Tally()
    tally.take(["a", "x", "b"], {"a", "b"})
    tally.take(["x", "y"], {"a"})
    means = tally.means()
    assert (means["R@1"], means["R@5"], means["MRR"]) == (25.0, 50.0, 50.0)
    assert round(means["nDCG@10"], 2) == 45.99


def test_a_question_without_an_answer_has_no_gold_turn():
    assert gold_of({"category": 5, "evidence": ["a"]}, {"a"}) == set()
    assert gold_of({"category": 1, "evidence": ["a", "malformed"]}, {"a"}) == {"a"}


def test_a_figure_names_its_system_first():
    assert Figure("p", "search", 1.0, "ms", system="Peer").line().startswith("p  Peer: search")
    assert Figure("p", "search", 1.0, "ms").title == "search"
