"""The folder of overrides: which file is read, when it is read again, and that nothing outside it is used."""

import os
import re
import threading
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.prompt.overrides.kit import GUIDANCE, prompt, write
from toolhaft.errors import PromptValidationError
from toolhaft.prompt import OverrideStore
from toolhaft.prompt.overrides.parse import Overrides

FILE = "prompts/demo/stable.json"


def says(text, file=FILE):
    write({"sections": {"guidance": {"digest": GUIDANCE, "text": text}}}, file)


def settle(file=FILE):
    """Make a file look as old as one that nobody has just written."""
    past = Path(file).stat().st_mtime_ns - 3_600_000_000_000
    os.utime(file, ns=(past, past))


def text_of(store, name="demo"):
    found = store.load(name)
    return None if found is None else found.sections["guidance"].text


def told(store, name="demo"):
    with pytest.raises(PromptValidationError) as caught:
        store.load(name)
    return str(caught.value)


def test_without_a_file_there_are_no_overrides():
    store = OverrideStore("prompts")
    assert store.load("demo") is None
    Path("prompts/demo").mkdir(parents=True)
    assert store.load("demo") is None


def test_each_prompt_and_tag_has_its_file():
    says("A", "prompts/demo/stable.json")
    says("B", "prompts/demo/draft.json")
    says("C", "prompts/other/stable.json")
    assert text_of(OverrideStore("prompts")) == "A"
    assert text_of(OverrideStore(Path("prompts"), tag="draft")) == "B"
    assert text_of(OverrideStore("prompts"), "other") == "C"
    assert OverrideStore("prompts", tag="none").load("demo") is None


@pytest.mark.parametrize("said", ["prompts", "./prompts", "../{name}/prompts"])
def test_the_file_is_named_as_the_folder_was_written(said, tmp_path):
    says("A")
    said = said.format(name=tmp_path.name)
    assert OverrideStore(said).load("demo").file == f"{said}/demo/stable.json"


def test_a_folder_that_cannot_be_shown_is_escaped():
    write("{", "pro\nmpts/demo/stable.json")
    assert told(OverrideStore("pro\nmpts")).startswith(r"'pro\nmpts/demo/stable.json': this is not JSON")


def test_the_end_of_a_long_folder_is_shown():
    message = told(OverrideStore("deep/" * 2000))
    assert message.startswith("...")
    assert message.endswith(
        "/deep/demo/stable.json: the file cannot be read: File name too long. Fix: check the path and its permissions"
    )
    assert len(message) < 500


def test_an_unchanged_file_gives_the_same_object():
    says("A")
    store = OverrideStore("prompts")
    first = store.load("demo")
    assert store.load("demo") is first  # still young: read again, and found to be the same
    settle()
    assert store.load("demo") is first


def test_an_old_unchanged_file_is_not_read_again(monkeypatch):
    says("A")
    store = OverrideStore("prompts")
    later = Path(FILE).stat().st_ctime_ns + 10_000_000_000
    monkeypatch.setattr("toolhaft.prompt.overrides.store.time.time_ns", lambda: later)
    first = store.load("demo")
    with monkeypatch.context() as patch:
        patch.setattr("toolhaft.prompt.overrides.store.os.open", None)  # nobody can read any more
        assert store.load("demo") is first
    says("Another")
    assert text_of(store) == "Another"


def test_an_edited_file_is_loaded():
    says("A")
    store = OverrideStore("prompts")
    assert text_of(store) == "A"
    says("Another")
    assert text_of(store) == "Another"


def test_an_edit_of_the_same_size_and_time_is_loaded():
    says("A")
    facts = Path(FILE).stat()
    store = OverrideStore("prompts")
    assert text_of(store) == "A"
    says("B")
    os.utime(FILE, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert text_of(store) == "B"


def test_an_edit_within_one_clock_tick_is_loaded(monkeypatch):
    monkeypatch.setattr("toolhaft.prompt.overrides.store._stamp", lambda file, facts: (file,))
    says("A")
    store = OverrideStore("prompts")
    assert text_of(store) == "A"
    says("B")
    assert text_of(store) == "B"


def test_a_file_that_replaces_another_is_loaded():
    says("A")
    says("B", "prompts/demo/new.json")
    store = OverrideStore("prompts")
    assert text_of(store) == "A"
    os.replace("prompts/demo/new.json", FILE)  # noqa: PTH105 -- as an editor does
    assert text_of(store) == "B"


def test_a_removed_or_renamed_file_is_noticed():
    says("A")
    store = OverrideStore("prompts")
    first = store.load("demo")
    Path(FILE).rename("prompts/demo/stable.yaml")
    again = store.load("demo")
    assert (first.file, again.file) == (FILE, "prompts/demo/stable.yaml")
    assert first.sections == again.sections
    Path("prompts/demo/stable.yaml").unlink()
    assert store.load("demo") is None


def test_an_invalid_file_is_reported_each_time_until_it_is_fixed():
    says("A")
    store = OverrideStore("prompts")
    assert text_of(store) == "A"
    write("{")
    assert told(store) == told(store)
    says("B")
    assert text_of(store) == "B"


def test_an_edit_is_in_the_next_rendering():
    asked = prompt(OverrideStore("prompts"))
    assert "Be brief." in asked.render().text
    says("Be long.")
    assert "Be long." in asked.render().text
    Path(FILE).unlink()
    assert "Be brief." in asked.render().text


def test_two_files_for_one_prompt_and_tag_are_refused_and_both_named():
    says("A")
    says("B", "prompts/demo/stable.yaml")
    assert told(OverrideStore("prompts")) == (
        "prompts/demo/stable.json: the prompt has another file: prompts/demo/stable.yaml. Fix: keep one of them"
    )
    says("C", "prompts/demo/stable.yml")
    assert "prompts/demo/stable.yaml, prompts/demo/stable.yml" in told(OverrideStore("prompts"))


UNSAFE = ["", ".", "..", "../demo", "a/b", "/etc", "a\\b", ".hidden", "dot.", "a\0b", "a\nb", "é", "x" * 129, "C:", "~", None, 5, b"a"]  # fmt: skip


@each_case("name", UNSAFE, ids=lambda name: repr(name)[:12])
def test_a_name_or_tag_that_could_leave_the_folder_is_refused(name):
    says("A")
    message = told(OverrideStore("prompts"), name)
    assert "cannot be the name of a prompt in a store of overrides" in message
    assert "Fix: use 1 to 128 letters" in message
    with pytest.raises(PromptValidationError, match="cannot be the tag in a store of overrides"):
        OverrideStore("prompts", tag=name)


@each_case("name", ["a", "v1.2", "_x", "-", "a-b_c", "x" * 128])
def test_a_name_of_letters_digits_and_punctuation_is_accepted(name):
    says("A", f"prompts/{name}/{name}.json")
    assert text_of(OverrideStore("prompts", tag=name), name) == "A"


OUT = "a link leads out of the folder of overrides. Fix: put the file itself there"


def test_a_link_that_leaves_the_folder_is_refused():
    says("A", "elsewhere/demo/stable.json")
    Path("prompts/demo").mkdir(parents=True)
    Path(FILE).symlink_to("../../elsewhere/demo/stable.json")
    Path("prompts/whole").symlink_to("../elsewhere/demo", target_is_directory=True)
    assert told(OverrideStore("prompts")) == f"{FILE}: {OUT}"
    assert told(OverrideStore("prompts"), "whole") == f"prompts/whole/stable.json: {OUT}"


def test_a_folder_with_a_longer_name_is_not_inside():
    says("A", "prompts2/demo/stable.json")
    Path("prompts").mkdir()
    Path("prompts/demo").symlink_to("../prompts2/demo", target_is_directory=True)
    assert OUT in told(OverrideStore("prompts"))


def test_a_link_that_stays_inside_is_followed_and_so_is_one_to_the_folder():
    says("A", "prompts/shared/v1.json")
    Path("prompts/demo").mkdir()
    Path(FILE).symlink_to("../shared/v1.json")
    Path("linked").symlink_to("prompts", target_is_directory=True)
    assert text_of(OverrideStore("prompts")) == text_of(OverrideStore("linked")) == "A"


def test_a_link_changed_to_point_outside_is_refused():
    says("A", "prompts/shared/v1.json")
    says("B", "elsewhere.json")
    Path("prompts/demo").mkdir()
    Path(FILE).symlink_to("../shared/v1.json")
    store = OverrideStore("prompts")
    assert text_of(store) == "A"
    Path(FILE).unlink()
    Path(FILE).symlink_to("../../elsewhere.json")
    assert OUT in told(store)


def test_a_special_file_is_refused_without_waiting():
    Path(FILE).mkdir(parents=True)
    assert (
        told(OverrideStore("prompts"))
        == f"{FILE}: this is not a regular file. Fix: replace it with a file, or remove it"
    )
    Path(FILE).rmdir()
    os.mkfifo(FILE)
    assert "this is not a regular file" in told(OverrideStore("prompts"))


def test_a_file_where_a_folder_should_be_is_reported_without_its_real_path(tmp_path):
    write("x", "prompts/demo")
    message = told(OverrideStore("prompts"))
    assert (
        message
        == f"{FILE}: the file cannot be read: Not a directory. Fix: check the path and its permissions"
    )


def test_a_loop_of_links_is_reported():
    Path("prompts/demo").mkdir(parents=True)
    Path(FILE).symlink_to("stable.json")
    assert "the file cannot be read: Too many levels of symbolic links" in told(OverrideStore("prompts"))


def test_an_impossible_folder_name_is_reported():
    assert re.search("the file cannot be read: .*embedded null", told(OverrideStore("a\0b")))


def test_a_file_that_disappears_meanwhile_is_reported(monkeypatch):
    says("A")

    def gone(*args):
        raise FileNotFoundError(2, "No such file or directory", "/secret/place")

    monkeypatch.setattr("toolhaft.prompt.overrides.store.os.open", gone)
    message = told(OverrideStore("prompts"))
    assert message.startswith(f"{FILE}: the file cannot be read: No such file or directory. Fix:")
    assert "secret" not in message


def test_many_threads_read_one_store():
    says("A")
    store = OverrideStore("prompts")
    found: list[Overrides | None] = []
    threads = [threading.Thread(target=lambda: found.append(store.load("demo"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(one == found[0] for one in found)


def test_repr_shows_folder_and_tag():
    assert repr(OverrideStore("prompts")) == "OverrideStore('prompts', tag='stable')"


def test_only_the_start_of_a_huge_file_is_read(monkeypatch):
    sizes = []
    monkeypatch.setattr(
        "toolhaft.prompt.overrides.store.read_document", lambda data, _: sizes.append(len(data)) or {}
    )
    Path(FILE).parent.mkdir(parents=True)
    with Path(FILE).open("wb") as stream:
        stream.truncate(3_000_000)
    assert OverrideStore("prompts").load("demo").sections == {}
    assert sizes == [1_000_001]
