"""Two tools, one of them to be careful with, and what of them ran."""

from toolhaft import tool


def make_tools():
    ran = []

    @tool
    def wipe(path: str, force: bool = False) -> str:
        """Wipe a disk."""
        ran.append(("wipe", path, force))
        return f"wiped {path}"

    @tool
    def look(path: str = ".") -> str:
        """Look around."""
        ran.append(("look", path))
        return path

    return wipe, look, ran
