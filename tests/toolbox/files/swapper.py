"""A process that replaces a path by a link to the outside, and back, as fast as it can.

Run by `test_races.py` as a program of its own, so that it works beside the tools and not in turn with them. Ends when
its input does, everything back in place, and prints how often it swapped.
"""
# ruff: noqa: PTH104, PTH108, PTH112, PTH114, PTH211 -- plain calls, as fast as can be

import ctypes
import os
import select
import shutil
import sys

_EXCHANGE = 2
_HERE = -100


def exchange(one, other):
    """Two names change places in one step, so that there is no moment at which a name is missing."""
    call = ctypes.CDLL(None, use_errno=True).renameat2
    if call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def exchanged(place, link, target):
    """The very thing and the link change places, in one step."""
    exchange(place, link)
    if not os.path.islink(place) and not os.path.islink(link):
        os.symlink(target, f"{link}.copy")  # a tool has replaced the link by a file
        os.rename(f"{link}.copy", link)


def replaced(place, link, target):
    """A file is replaced by a link, and the link by the file."""
    aside = f"{place}.aside"
    os.link(place, aside)
    os.symlink(target, f"{link}.copy")
    os.rename(f"{link}.copy", place)
    os.rename(aside, place)


def moved(place, link, target):
    """A directory is moved away, a link is put in its place, and it comes back."""
    aside = f"{place}.aside"
    os.rename(place, aside)
    os.symlink(target, place)
    os.unlink(place)
    os.rename(aside, place)


WAYS = {"exchanged": exchanged, "replaced": replaced, "moved": moved}


def main(way, place, link, target):
    swap, count = WAYS[way], 0
    print("ready", flush=True)  # noqa: T201 -- what the test reads
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(20):
            try:
                swap(place, link, target)
                count += 1
            except OSError:  # a tool has just written there
                tidy(place)
    if os.path.islink(place) and way == "exchanged":
        exchange(place, link)
    print(count)  # noqa: T201 -- what the test reads


def tidy(place):
    """Begin anew after a tool has made a directory or file where there was none for a moment."""
    aside = f"{place}.aside"
    if os.path.islink(place):
        os.unlink(place)
    if not os.path.lexists(place):
        os.rename(aside, place)
    elif os.path.isdir(aside):
        shutil.rmtree(aside)
    elif os.path.lexists(aside):
        os.unlink(aside)


if __name__ == "__main__":
    main(*sys.argv[1:])
