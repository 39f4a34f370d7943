"""Jackson's classes under the name that Iceberg's runtime calls them by.

The one runtime of Iceberg on the package index was built without them. They are those
of PySpark (Apache License 2.0), in which each name of a class's constants is written
anew: ``python shaded_jackson.py JAR`` by the Python that has PySpark.
"""

from __future__ import annotations

import importlib.util
import re
import struct
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

PREFIX = b"org/apache/iceberg/shaded/"
# Bytes after the tag of each kind of constant, by the class file format (JVMS, 4.4).
UTF8, WIDE = 1, (5, 6)
SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2}
SIZES |= {17: 4, 18: 4, 19: 2, 20: 2}


def renamed(text: bytes) -> bytes:
    """Return a constant, in which names of Jackson's have the prefix before them."""
    return re.sub(
        rb"(com([/.])fasterxml[/.]jackson)\b",
        lambda found: PREFIX.replace(b"/", found[2]) + found[1],
        text,
    )


def renamed_class(code: bytes) -> bytes:
    """Return a class file whose constants are renamed; nothing else says a name."""
    (count,) = struct.unpack_from(">H", code, 8)
    at, number, parts = 10, 1, [code[:10]]
    while number < count:
        tag = code[at]
        if tag == UTF8:
            (length,) = struct.unpack_from(">H", code, at + 1)
            text = renamed(code[at + 3 : at + 3 + length])
            parts.append(struct.pack(">BH", UTF8, len(text)) + text)
            at += 3 + length
        else:
            parts.append(code[at : at + 1 + SIZES[tag]])
            at += 1 + SIZES[tag]
        number += 2 if tag in WIDE else 1
    return b"".join([*parts, code[at:]])


def write_jar(jar: Path) -> None:
    """Write the classes into one jar."""
    (pyspark,) = importlib.util.find_spec("pyspark").submodule_search_locations
    with ZipFile(jar, "w", ZIP_DEFLATED) as shaded:
        for part in ("annotations", "core", "databind"):
            (own,) = Path(pyspark, "jars").glob(f"jackson-{part}-2*.jar")
            with ZipFile(own) as jackson:
                for name in jackson.namelist():
                    if not name.endswith(".class") or "module-info" in name:
                        continue
                    code = renamed_class(jackson.read(name))
                    shaded.writestr(renamed(name.encode()).decode(), code)


if __name__ == "__main__":
    write_jar(Path(sys.argv[1]))
