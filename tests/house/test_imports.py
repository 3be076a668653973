"""Who may import what: the layers, the third-party packages of each box, and an import that costs nothing."""

import sys

import pytest

from tests.house.source_tree import PACKAGE, imported_names, parsed, python_files, run_python, shown

# Third-party packages that each pure place may import. A place that is not listed is free: a store imports its driver.
ALLOWED_THIRD_PARTY: dict[str, set[str]] = {
    "errors.py": set(),
    "types": set(),
    "rules": set(),
    "rules/privacy.py": {"phonenumbers", "stdnum", "email_validator"},  # checks of real-world number formats
    "proof": {"cryptography"},
    "providers": {"numpy"},  # a model's own package is imported by name where it is first used
}


def allowed_for(relative_path: str) -> set[str] | None:
    """The packages of the most specific place that holds this file, or None when the place is free."""
    places = [place for place in ALLOWED_THIRD_PARTY if relative_path == place or relative_path.startswith(f"{place}/")]
    return ALLOWED_THIRD_PARTY[max(places, key=len)] if places else None


def test_layers_are_kept_as_the_architecture_says():
    """The contracts of pyproject.toml hold."""
    result = run_python("-c", "from importlinter.cli import lint_imports_command as run; run(['--no-cache', '--no-logo'])")
    assert result.returncode == 0, result.stdout + result.stderr


def test_pure_packages_import_no_third_party_package():
    """types and rules use the standard library only; proof adds cryptography."""
    wrong = []
    for path in python_files(PACKAGE):
        allowed = allowed_for(path.relative_to(PACKAGE).as_posix())
        if allowed is None:
            continue
        for name, node in imported_names(parsed(path)):
            top = name.partition(".")[0]
            if top not in {"witnesstree", *sys.stdlib_module_names, *allowed}:
                wrong.append(f"{shown(path, node)} imports {top}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", ["apsw", "numpy", "cryptography", "click"])
def test_importing_witnesstree_does_not_import(package: str):
    """`import witnesstree` costs nothing; heavy packages come when something is used."""
    script = f"import sys, witnesstree; sys.exit({package!r} in sys.modules)"
    result = run_python("-c", script)
    assert result.returncode == 0, result.stderr or f"`import witnesstree` imports {package}"
