"""Limits on what is read from files and headers, and on how long a request may take."""

from types import SimpleNamespace

import pytest

from toolhaft.define.running.environment import read_env_file
from toolhaft.define.running.http_handler import clean_message, one_line, request_timeout_s
from toolhaft.define.running.platform_access import hop_token, read_hops
from toolhaft.define.running.platform_settings import platform_in_settings
from toolhaft.errors import DefinitionError, ToolExecutionError


def test_settings_over_their_limit_are_refused_and_not_read_in_part(tmp_path):
    file = tmp_path / "toolhaft.toml"
    for size, is_read in ((99_000, True), (101_000, False)):
        file.write_text(f'#{"x" * size}\nplatform_url = "https://platform.example"\n', encoding="utf-8")
        if is_read:
            assert platform_in_settings(str(tmp_path)) == "https://platform.example"
        else:
            with pytest.raises(ToolExecutionError, match="of the project cannot be read"):
                platform_in_settings(str(tmp_path))


def test_a_file_of_variables_over_its_limit_is_refused(tmp_path):
    file = tmp_path / ".env"
    file.write_text(f"A=1\n#{'x' * 999_990}", encoding="utf-8")
    assert read_env_file(file) == {"A": "1"}
    file.write_text(f"A=1\n#{'x' * 1_000_000}", encoding="utf-8")
    with pytest.raises(DefinitionError, match="larger than 1 MB"):
        read_env_file(file)


def test_only_the_first_hops_of_a_header_are_read():
    tokens = [hop_token("platform", f"tool-{number}") for number in range(100)]
    assert read_hops(",".join(tokens)) == tuple(tokens[:64])
    assert read_hops(f"odd, {tokens[0]} ,{tokens[1]}x") == (tokens[0],)


def test_a_request_has_at_most_a_day():
    context = SimpleNamespace(time_limit=SimpleNamespace(remaining=lambda: 10.0**9))
    assert request_timeout_s(context) == 86_400.0
    assert request_timeout_s(None) == 10.0


def test_untrusted_texts_are_cut():
    assert one_line("a\n" * 200) == f"{('a ' * 200)[:300]}..."
    assert one_line("a\x07b") == "a?b"
    assert clean_message("a\n" * 1_500) == f"{('a' + chr(10)) * 1_000}..."
