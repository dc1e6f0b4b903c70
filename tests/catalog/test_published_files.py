"""A published file shadows nothing until it is edited."""

import pytest

from tests.catalog.kit import KEY, OPERATOR, loopback_platform, make_project, yaml_text
from toolhaft import Catalog
from toolhaft.catalog.embedded import EmbeddedPlatform
from toolhaft.catalog.remote import RemotePlatform

pytestmark = pytest.mark.external

ECHO = "{argv: [echo, one]}"


@pytest.fixture(params=["embedded", "remote"])
def made(request, tmp_path):
    project = make_project(tmp_path)
    if request.param == "embedded":
        platform = EmbeddedPlatform(project)
        yield project, platform
        platform.close()
        return
    with loopback_platform() as there:
        yield project, RemotePlatform(there.url, KEY)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Does something useful", "Does quite another thing"),
        ("echo", "other"),
        ("is_active: true", "is_active: false"),
        ("Input value", "Output value"),
    ],
)
def test_edited_file_shadows_the_published_tool(made, old, new):
    project, platform = made
    published = platform.put(yaml_text("mine", run=ECHO), base=None)
    assert old in published.text
    file = project.tools_folder / "mine.yaml"
    file.write_text(published.text)
    assert Catalog(project=project, platform=platform).listing("mine").shadows == ()
    file.write_text(published.text.replace(old, new))
    catalog = Catalog(project=project, platform=platform)
    assert catalog.listing("mine").shadows == (f"platform ({platform.url})",)
    assert catalog.shadowed == (f"mine ({platform.url})",)


def test_added_comment_is_not_an_edit(made):
    project, platform = made
    published = platform.put(yaml_text("mine", run=ECHO), base=None)
    (project.tools_folder / "mine.yaml").write_text(f"# my own\n{published.text}")
    assert Catalog(project=project, platform=platform).listing("mine").shadows == ()


def test_different_endpoint_is_not_an_edit(made):
    """The file keeps the endpoint of its author; the published document has the platform's."""
    project, platform = made
    published = platform.put(yaml_text("mine", run=ECHO), base=None)
    file = project.tools_folder / "mine.yaml"
    file.write_text(published.text.replace(platform.url, "https://tools.example.com"))
    assert Catalog(project=project, platform=platform).listing("mine").shadows == ()
    file.write_text(published.text.replace(f"{platform.url}/v3/tool/mine", "https://else.example/where"))
    assert Catalog(project=project, platform=platform).listing("mine").shadows == ()


def test_listing_without_fields_counts_as_a_different_tool(tmp_path):
    project = make_project(tmp_path)
    with loopback_platform() as there:
        platform = RemotePlatform(there.url, KEY)
        published = platform.put(yaml_text("mine", run=ECHO), base=None)
        assert there.store.list(OPERATOR)
        (project.tools_folder / "mine.yaml").write_text(published.text)
        there.say = lambda *_: (
            200,
            {"Content-Type": "application/json"},
            f'{{"tools": [{{"id": "mine", "updated_at": "{published.updated_at}"}}], "next": null}}'.encode(),
        )
        assert Catalog(project=project, platform=platform).listing("mine").shadows != ()
