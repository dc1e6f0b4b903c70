"""The vector under every slice behaves like a list that is copied for each change."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import in_case
from toolhaft.errors import SessionError
from toolhaft.session.persistent_vector import EMPTY, KeyIndex, PersistentVector

# around the widths at which a leaf is full and the tree gets one more level
SIZES = [0, 1, 2, 31, 32, 33, 64, 1023, 1024, 1025, 1056, 1057, 32_767, 32_768, 32_800, 32_801, 33_900]


@dataclass(frozen=True)
class Item:
    id: int
    text: str = ""


def grown(size):
    vector = EMPTY
    for number in range(size):
        vector = vector.append(number)
    return vector


def test_appending_one_by_one_equals_building_from_a_list():
    for size in SIZES:
        with in_case(size):
            one_by_one, at_once = grown(size), PersistentVector.of(range(size))
            assert list(one_by_one) == list(at_once) == list(range(size))
            assert len(one_by_one) == len(at_once) == size


def test_replacing_a_position_leaves_the_old_vector_unchanged():
    for size in SIZES[1:]:
        with in_case(size):
            vector = PersistentVector.of(range(size))
            for position in {0, size // 2, size - 1, max(0, size - 33)}:
                changed = vector.replace_at(position, "new")
                assert vector.at(position) == position
                assert changed.at(position) == "new"
                assert list(changed) == [*range(position), "new", *range(position + 1, size)]


def test_appending_to_a_vector_built_from_a_list():
    for size in SIZES[1:]:
        with in_case(size):
            vector = PersistentVector.of(range(size))
            for number in range(size, size + 70):
                vector = vector.append(number)
            assert list(vector) == list(range(size + 70))
            assert vector.latest() == size + 69


def test_keep_latest_releases_dropped_items():
    vector = EMPTY
    for number in range(5_000):
        vector = vector.append(number).keep_latest(100)
        assert len(vector) == min(number + 1, 100)
    assert list(vector) == list(range(4_900, 5_000))
    assert vector.start <= 100 + 33, "positions start anew before more is held than twice what is kept"
    assert vector.at(vector.start) == 4_900


def test_keep_latest_with_zero_and_with_more_than_present():
    vector = PersistentVector.of(range(10))
    assert vector.keep_latest(10) is vector
    assert vector.keep_latest(0) is EMPTY
    assert list(vector.keep_latest(3).replace_latest("new")) == [7, 8, "new"]


class Model:
    """The same as a plain list; None for what is not looked up."""

    def __init__(self, items=()):
        self.items = list(items)

    def append(self, item):
        return Model([*self.items, item])

    def replace_latest(self, item):
        return Model([*self.items[:-1], item])

    def keep_latest(self, count):
        return Model(self.items[-count:])

    def upsert(self, item, by):
        key = by if callable(by) else lambda item: getattr(item, by)
        for place in reversed(range(len(self.items))):
            if key(self.items[place]) == key(item):
                return Model([*self.items[:place], item, *self.items[place + 1 :]])
        return self.append(item)


def by_text(item):
    return item.text


items = st.builds(Item, id=st.integers(0, 12), text=st.sampled_from("abc"))
steps = st.one_of(
    st.tuples(st.just("append"), items),
    st.tuples(st.just("replace_latest"), items),
    st.tuples(st.just("keep_latest"), st.integers(1, 9)),
    st.tuples(st.just("upsert"), items, st.sampled_from(["id", by_text])),
)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10_000), steps), max_size=60), st.lists(items, max_size=40))
def test_every_version_behaves_like_a_list(changes, start):
    """Versions branch at random and share their indexes; none sees the items of another."""
    versions = [(PersistentVector.of(start), Model(start))]
    for choice, (verb, *arguments) in changes:
        vector, model = versions[choice % len(versions)]
        versions.append((getattr(vector, verb)(*arguments), getattr(model, verb)(*arguments)))
    for vector, model in versions:
        assert list(vector) == model.items
        assert [vector.at(vector.start + place) for place in range(len(vector))] == model.items


def test_index_is_built_once_and_shared_by_later_versions():
    vector = PersistentVector.of(Item(number) for number in range(100))
    first = vector.upsert(Item(5, "new"), "id")
    (index,) = vector.indexes
    assert first.indexes == (index,)
    assert first.append(Item(100)).upsert(Item(100, "again"), "id").indexes == (index,)


def test_inefficient_index_is_rebuilt():
    vector = PersistentVector.of(Item(number) for number in range(10))
    for number in range(200):
        vector.upsert(Item(1_000 + number), "id")
    assert vector.indexes[0].is_efficient(10)
    changed = vector.upsert(Item(3, "new"), "id")
    assert [item.text for item in changed].count("new") == 1


def test_moved_key_is_found_at_its_new_position():
    vector = PersistentVector.of([Item(0)])
    versions = []
    for number in range(1, 20):  # the key 99 at another position each time, in a version that is dropped
        versions.append(vector.upsert(Item(99, str(number)), "id"))
        vector = vector.upsert(Item(number), "id")
    assert [item.text for item in vector.upsert(Item(99, "last"), "id")][-1] == "last"
    for version in versions:
        assert len(version.upsert(Item(99, "new"), "id")) == len(version)


def test_new_key_functions_keep_a_bounded_number_of_indexes():
    vector = PersistentVector.of(Item(number) for number in range(5))
    for number in range(20):
        vector = vector.upsert(Item(number % 5), lambda item: item.id)
    assert len(vector.indexes) <= 4
    assert len(vector) == 5


def test_item_without_a_key_drops_the_index_but_is_appended():
    vector = PersistentVector.of([Item(1)]).upsert(Item(2), "id").append("no id")
    assert vector.indexes == ()
    with pytest.raises(SessionError, match="'id'"):
        vector.upsert(Item(1), "id")


@pytest.mark.parametrize("start", [(), (Item(1),)])
def test_unhashable_key_error_names_the_key(start):
    with pytest.raises(SessionError, match=r"Item has no key by .*unhashable.*Fix: "):
        PersistentVector.of(start).upsert(Item([1]), "id")


def test_empty_vector_gets_no_indexes():
    EMPTY.upsert(Item(1), "id").upsert(Item(2), "id")
    EMPTY.build_indexes_of(PersistentVector.of([Item(1)]).upsert(Item(1), "id"))
    assert EMPTY.indexes == ()


def test_index_built_for_an_earlier_version_covers_its_items():
    base = PersistentVector.of(Item(number) for number in range(50))
    later = base.append(Item(50)).upsert(Item(3, "new"), "id")
    assert base.indexes == ()
    base.build_indexes_of(later)
    assert len(base.upsert(Item(49, "new"), "id")) == 50


def test_index_is_not_built_if_an_item_has_no_key():
    base = PersistentVector.of([Item(1), "no id"])
    base.build_indexes_of(PersistentVector.of([Item(1)]).upsert(Item(2), "id"))
    assert base.indexes == ()


def test_index_replaced_by_another_thread_does_not_miss_an_item():
    base = PersistentVector.of([Item(1)])

    def by_id(item):
        if item.id == 2:  # in the middle of our upsert, as another thread may
            base.indexes = (KeyIndex(by_id, base, 0),)
        return item.id

    changed = base.upsert(Item(2), by_id)
    assert list(changed.upsert(Item(2, "again"), by_id)) == [Item(1), Item(2, "again")]


def test_equal_keys_of_different_types_are_one_key():
    vector = PersistentVector.of([Item(1)]).upsert(Item(True, "yes"), "id")
    assert list(vector) == [Item(True, "yes")]
    nan = float("nan")
    assert len(PersistentVector.of([Item(nan)]).upsert(Item(nan, "same"), "id")) == 1


def test_positions_of_a_key_are_newest_first():
    index = KeyIndex("id", [Item(1), Item(2), Item(1)], 10)
    index.add(1, 12)
    assert list(index.positions(1)) == [12, 10]
    assert list(index.positions(3)) == []
    assert replace(Item(1), text="x") == Item(1, "x")
