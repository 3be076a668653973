"""Rules for the tests themselves: names that are sentences, nothing skipped, no stop-watch."""

import ast

from tests.house.source_tree import TESTS, Function, collected_tests, parsed, python_files, shown

MIN_WORDS = 3

SKIPS = {"skip", "skipif", "skipIf", "skipUnless", "importorskip", "SkipTest"}
CLOCKS = {"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time"}
STOPWATCHES = {"timeit", "default_timer", "repeat"}


def test_names_of_tests_are_sentences():
    """`test_` and at least three words, so that the list of tests reads as a list of promises."""
    wrong = [
        f"{shown(path, node)} {node.name}"
        for path, node in collected_tests()
        if len([word for word in node.name.removeprefix("test_").split("_") if word]) < MIN_WORDS
    ]
    assert not wrong, "\n".join(wrong)


def skips(tree: ast.Module):
    """Every use of a skip: pytest.skip, pytest.mark.skipif, unittest.skip, and their bare imported names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in SKIPS:
            found = ast.unparse(node.value) in {"pytest", "pytest.mark", "mark", "unittest"}
        elif isinstance(node, ast.ImportFrom) and node.module in {"pytest", "_pytest.outcomes", "unittest"}:
            found = bool(SKIPS & {alias.name for alias in node.names})
        else:
            found = False
        if found:
            yield node


def test_no_test_is_ever_skipped():
    """An engine that is listed and down is a failure, never a skip that nobody sees."""
    wrong = [shown(path, node) for path in python_files(TESTS) for node in skips(parsed(path))]
    assert not wrong, f"a test may not skip: {wrong}"


def is_clock(node: ast.AST) -> bool:
    """Whether a node reads a clock: time.perf_counter(), monotonic(), timeit.default_timer(), ..."""
    if not isinstance(node, ast.Call):
        return False
    module, _, name = ast.unparse(node.func).rpartition(".")
    return (name in STOPWATCHES and module in {"", "timeit"}) or (name in CLOCKS and module in {"", "time"})


def holds_duration(node: ast.AST, starts: set[str], durations: set[str]) -> bool:
    """Whether an expression holds a measured duration: a known one, or a clock or its reading minus something."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in durations:
            return True
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
            inner = list(ast.walk(part))
            if any(is_clock(n) or (isinstance(n, ast.Name) and n.id in starts) for n in inner):
                return True
    return False


def stopwatch_asserts(function: Function):
    """Every assert in a test that compares a measured duration with something."""
    starts: set[str] = set()
    durations: set[str] = set()
    for node in sorted(ast.walk(function), key=lambda n: getattr(n, "lineno", 0)):
        if isinstance(node, ast.Assign):
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            if holds_duration(node.value, starts, durations):
                durations |= names
            elif any(is_clock(part) for part in ast.walk(node.value)):
                starts |= names
        elif isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare) and holds_duration(node.test, starts, durations):
            yield node


def test_no_test_asserts_on_elapsed_seconds():
    """A slow machine is not a defect: count steps or calls instead, and measure in bench/."""
    wrong = [shown(path, node) for path, function in collected_tests() for node in stopwatch_asserts(function)]
    assert not wrong, f"a test may not hold a stop-watch: {wrong}"
