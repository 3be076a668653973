"""What a SQLite store reads. Every value comes back as bytes whatever type an attacker gave it; nothing becomes no bytes."""

from __future__ import annotations

from typing import Final

ROW: Final = (
    "SELECT seq,"
    " ifnull(CAST(owner AS BLOB), x''),"
    " ifnull(CAST(content AS BLOB), x''),"
    " ifnull(CAST(seal AS BLOB), x''),"
    " ifnull(CAST(vector AS BLOB), x'')"
    " FROM memory"
)
HEAD: Final = (
    "SELECT"
    " ifnull(CAST(store_id AS BLOB), x''),"
    " ifnull(CAST(note AS BLOB), x''),"
    " ifnull(CAST(frontier AS BLOB), x'')"
    " FROM head WHERE one = 1"
)
ENTRIES: Final = "SELECT ifnull(CAST(entry AS BLOB), x'') FROM log WHERE seq >= ? AND seq < ? ORDER BY seq"
LEAF: Final = "SELECT ifnull(CAST(leaf AS BLOB), x'') FROM leaf WHERE owner = ?"
LEAVES: Final = "SELECT ifnull(CAST(owner AS BLOB), x''), ifnull(CAST(leaf AS BLOB), x'') FROM leaf ORDER BY owner"
NODE: Final = "SELECT ifnull(CAST(node AS BLOB), x'') FROM node WHERE path = ?"
NODES: Final = "SELECT ifnull(CAST(path AS BLOB), x''), ifnull(CAST(node AS BLOB), x'') FROM node ORDER BY path"
ROW_AT: Final = ROW + " WHERE seq = ?"
ROWS_OF_OWNER: Final = ROW + " WHERE owner = ? AND seq > ? ORDER BY seq"
ALL_ROWS: Final = ROW + " NOT INDEXED ORDER BY seq"
LOG_POSITIONS: Final = "SELECT count(*) FROM log"
