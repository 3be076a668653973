"""The tables of results: nothing is typed by hand, so what is printed has to be what was measured."""

from dataclasses import asdict

from bench.figures import Figure
from bench.report import README, TABLES, between_marks, load, topic_of
from bench.tables import all_figures, peer_table, table

OURS = "Witnesstree (words)"
PEER = "Peer 1.0 (words)"


def part(*figures: Figure, command: str = "python -m bench peers") -> dict:
    """What a results file holds of one module."""
    rows = [asdict(figure) | {"met": figure.met} for figure in figures]
    return {"command": command, "date": "2026-12-01", "machine": {"cores": 2}, "figures": rows}


def results() -> dict:
    """Two systems, one of which failed in one of the modules."""
    quality = [
        Figure("p", "R@10", 78.64, "%", system=OURS),
        Figure("p", "measured", 0.0, "", 1.0, at_least=True, system=PEER, note="Peer failed at add"),
    ]
    speed = [
        Figure("p", "search p50, 10,000 rows, CPU", 1.234, "ms", system=OURS),
        Figure("p", "search p50, 10,000 rows, CPU", 2.5, "ms", system=PEER),
        Figure("p", "search, 10,000 rows: words, over Peer", 0.49, "times", 1.5),
    ]
    return {"peers_quality": part(*quality, command="python -m bench peers_quality"), "peers": part(*speed)}


def test_a_line_a_system_holds_what_was_measured_of_it():
    lines = peer_table(results()).splitlines()
    assert lines[2] == f"| {OURS} | 78.6 % | – | 1.23 ms | – | – | – | – |"
    assert len([line for line in lines if line.startswith("|")]) == 4


def test_a_peer_that_failed_shows_as_an_error_and_is_not_left_out():
    lines = peer_table(results()).splitlines()
    assert lines[3] == f"| {PEER} | error | error | 2.5 ms | – | – | – | – |"
    assert "error: Peer failed at add" in all_figures(results())


def test_the_table_of_peers_names_the_commands_that_made_it():
    text = peer_table(results())
    assert "`python -m bench peers_quality` and `python -m bench peers`" in text
    assert "2026-12-01" in text


def test_a_missed_bar_is_marked_in_the_table_of_all_figures():
    text = all_figures({"peers": part(Figure("p", "slow", 2.0, "s", 1.0), Figure("p", "fast", 0.5, "s", 1.0))})
    slow, fast = (line for line in text.splitlines() if line.startswith("| p |"))
    assert "**missed**" in slow
    assert "| met |" in fast


def test_a_stroke_in_a_cell_does_not_end_the_cell():
    assert table(["a"], [["x|y"]]).splitlines()[-1] == "| x\\|y |"


def test_only_the_text_between_the_marks_is_replaced():
    text = "before\n<!-- x: begin -->\nold\n<!-- x: end -->\nafter\n"
    assert between_marks(text, "x", "new") == "before\n<!-- x: begin -->\nnew\n<!-- x: end -->\nafter\n"


def test_marks_are_added_where_there_are_none():
    once = between_marks("before\n", "x", "new")
    assert once == "before\n\n<!-- x: begin -->\nnew\n<!-- x: end -->\n"
    assert between_marks(once, "x", "new") == once


def test_each_module_has_one_results_file():
    assert topic_of("peers") == "retrieval"
    assert topic_of("writes") == "integrity"


def test_tables_in_readme_and_results_are_what_the_bench_prints() -> None:
    """Nobody writes a figure by hand: the text between the marks is made from the kept results."""
    wanted = peer_table(load("retrieval"))
    for path in (README, TABLES):
        text = path.read_text("utf-8")
        between = text.partition("<!-- peers: begin -->\n")[2].partition("\n<!-- peers: end -->")[0]
        assert between == wanted, f"{path.name}: run python -m bench.report"
