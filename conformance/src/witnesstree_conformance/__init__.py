"""One yardstick for the integrity of memory stores: attacks, controls, verdicts and reports (``PROTOCOL.md``)."""

__version__ = "0.1.0"
