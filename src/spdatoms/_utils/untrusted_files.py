"""What is read of the data files of strangers; whatever is not allowed here is refused before it is read.

Data are numbers, truth values and text. Some formats can also hold Python objects, whose reading runs code;
name programs (codecs, filters) that unpack them; or lead to other files. `SECURITY.md` promises that none of
this happens. The readers of all formats refuse it by the words of this module, which imports nothing of the
package, so that the child process of `reading_child` can use it, too.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

#: Kinds of NumPy's types: truth values, numbers and text; nothing that could hold an object.
PLAIN = "biufcUS"
#: A type by its name in a file: as above, and times, which are left out when they have been read.
PLAIN_TYPE = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f(?:2|4|8)|c(?:8|16)|[US]\d+|[mM]8(?:\[\w+\])?)")

#: Codecs of Zarr by their names in numcodecs: they pack bytes or numbers, and "vlen-utf8" text.
NUMCODECS = {
    *("blosc", "zlib", "gzip", "bz2", "lzma", "zstd", "lz4"),
    *("shuffle", "delta", "fixedscaleoffset", "quantize", "bitround"),
    *("crc32", "adler32", "fletcher32", "vlen-utf8"),
}
#: Codecs of Zarr 3, where those of numcodecs have a prefix.
ZARR_CODECS = {
    *("bytes", "transpose", "blosc", "gzip", "zstd", "crc32c", "sharding_indexed", "vlen-utf8"),
    *(f"numcodecs.{name}" for name in NUMCODECS),
}
#: Bytes of the types of Zarr 3; text of any length counts as a pointer, and None is said by the array.
ZARR_TYPES = {
    "bool": 1,
    **{f"{kind}{8 * size}": size for kind in ("int", "uint") for size in (1, 2, 4, 8)},
    **{f"float{8 * size}": size for size in (2, 4, 8)},
    **{f"complex{8 * size}": size for size in (8, 16)},
    "string": 8,
    "fixed_length_utf32": None,
    "null_terminated_bytes": None,
}
#: Filters that the library of HDF5 or h5py itself has: deflate, shuffle, fletcher32, szip, nbit, scaleoffset, lzf.
HDF5_FILTERS = {1, 2, 3, 4, 5, 6, 32000}

#: Formats of Pillow, whatever a file is called: of its others, EPS runs a program on what is in the file.
IMAGE_FORMATS = ("PNG", "JPEG", "GIF", "TIFF", "BMP", "PPM")
#: The most bytes of an image that is packed by bzip2, which has no bound of its own.
MOST_UNPACKED = 1 << 28

#: What is read in parts may be larger than memory, if its file has one byte for this many.
_PACKED = 100
#: Deflate, the method of gzip, packs no more bytes than this into one.
_DEFLATE = 1032


class RefusedError(ValueError):
    """A file that holds what is not allowed; the message follows the name of the file."""


def memory() -> float:
    """Return the bytes of memory of this machine; inf where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def check_memory(shape: Iterable[int], itemsize: int) -> None:
    """Refuse an array that does not fit into memory, before that is allocated."""
    if math.prod(shape) * itemsize > memory():
        raise MemoryError


def check_size(shape: Iterable[int], itemsize: int, stored: int) -> None:
    """Refuse an array, read in parts, that is larger than memory and than the bytes that are ``stored`` explain."""
    if math.prod(shape) * itemsize > max(memory(), _PACKED * stored):
        raise MemoryError


def check_there(promised: int, path: Path) -> None:
    """Refuse more bytes than the file can hold, where gzip may have packed them."""
    packing = _DEFLATE if path.suffix.lower() == ".gz" else 1
    if promised > packing * path.stat().st_size:
        raise RefusedError(
            "is damaged: it promises more numbers than it can hold. Get or write the file anew"
        )


def check_links(folder: str) -> None:
    """Refuse a folder with anything in it but files and folders: links lead elsewhere, pipes wait for ever."""
    for place, folders, files in os.walk(folder):
        for name in folders + files:
            kind = stat.S_IFMT(os.lstat(os.path.join(place, name)).st_mode)
            if kind not in (stat.S_IFREG, stat.S_IFDIR):
                raise RefusedError(
                    f"holds {name!r}, a link or no file, and what is outside the folder is not read. Make "
                    "a copy of the folder with files in place of links, as 'cp -rL' does"
                )
