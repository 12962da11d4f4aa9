"""Model files that were cut off, changed by chance or put together of several: refused at little cost."""

from __future__ import annotations

import random
import time
import tracemalloc
from zipfile import ZipFile

import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import PlugIn, load, save
from tests.files.forging import Forgery, archive_of, members_of, outcome, warm_up

# Few rows are enough for files, and leave none for review.
pytestmark = pytest.mark.filterwarnings("ignore:a coverage of .* leaves less than one")

SOURCES = ("logistic", "histogram", "lightgbm")


def truncations(content):
    """Files that end early, and a few that start late."""
    n_bytes = len(content)
    for number in range(120):
        yield f"cut off at {number}/120", content[: number * n_bytes // 120]
    for number in range(1, 21):
        yield f"starts at {number}/21", content[number * n_bytes // 21 :]
    for number in range(1, 41):
        yield f"cut off {number} bytes before its end", content[:-number]


def flips(content, rng):
    """Files with changed bits: one, a byte, a run of zeros."""
    for number in range(240):
        changed = bytearray(content)
        # The directory at the end and the first header are small, so half of the flips aim at them.
        place = rng.randrange(len(content)) if number % 2 else rng.choice((rng.randrange(400), -rng.randrange(1, 900)))
        changed[place] ^= 1 << rng.randrange(8)
        yield f"bit of byte {place}", bytes(changed)
    for _ in range(80):
        changed = bytearray(content)
        place = rng.randrange(len(content) - 64)
        changed[place : place + 64] = bytes(64)
        yield f"zeros from {place}", bytes(changed)


def exchanges(members, others, rng):
    """Files with members of another file, in another order, missing or twice."""
    for number, (name, _) in enumerate(members):
        if number < len(others) and members[number][1] != others[number][1]:
            yield (
                f"{name} of another file",
                archive_of([*members[:number], (name, others[number][1]), *members[number + 1 :]]),
            )
        yield f"without {name}", archive_of([*members[:number], *members[number + 1 :]])
    for _ in range(30):
        first, second = sorted(rng.sample(range(len(members)), 2))
        if members[first][1] != members[second][1]:
            swapped = [content for _, content in members]
            swapped[first], swapped[second] = swapped[second], swapped[first]
            names = [name for name, _ in members]
            yield f"{names[first]} and {names[second]} exchanged", archive_of(list(zip(names, swapped, strict=True)))


@pytest.mark.attack("model file, damaged")
@pytest.mark.parametrize("source", SOURCES)
def test_a_damaged_file_is_refused_with_a_sentence_and_at_little_cost(source, tmp_path, full_size, attacked):
    warm_up(tmp_path, [source])
    rng = random.Random(source)
    content = Forgery(source, tmp_path).content()
    others = members_of(Forgery("forest", tmp_path).content())
    damaged = [*truncations(content), *flips(content, rng), *exchanges(members_of(content), others, rng)]
    damaged = damaged if full_size else rng.sample(damaged, 150)
    path, wrong = tmp_path / "damaged.aucross", []
    for name, changed in damaged:
        path.write_bytes(changed)
        tracemalloc.start()
        start = time.process_time()
        answer, reason = outcome(path)
        seconds, memory = time.process_time() - start, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if reason is None and answer == "loaded" and not _is_bookkeeping(content, changed):
            reason = "it was loaded"
        if reason is None and (memory > 2**26 or seconds > 5):
            reason = f"it took {memory:,} bytes and {seconds:.1f} seconds"
        if reason is not None:
            wrong.append(f"{source}, {name}: {reason}")
    attacked(len(damaged), wrong)


def _is_bookkeeping(content, changed):
    """Whether all members of a changed archive are still what they were: only the notes of the packer differ."""
    return members_of(changed) == members_of(content)


def test_a_size_that_no_compression_can_hold_is_damage(tmp_path):
    path = tmp_path / "clf.aucross"
    save(PlugIn(LogisticRegression(), random_state=0).fit(*make_classification(200, random_state=0)), path)
    content = bytearray(path.read_bytes())
    with ZipFile(path) as archive:
        member, directory = archive.infolist()[-1], archive.start_dir
    size = (1033 * (member.compress_size + 1)).to_bytes(4, "little")
    entry = content.index(member.filename.encode(), directory) - 46
    content[member.header_offset + 22 : member.header_offset + 26] = content[entry + 24 : entry + 28] = size
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{member.filename} declares more bytes than can be packed into it"):
        load(path)
